"""Several labels per row: the classes whose score is above their threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from taxolearn.decoders.base import Answers, Arrays, Ids, check_units, stored_array
from taxolearn.decoders.scored_row import ScoredRow
from taxolearn.errors import DataError, ModelError
from taxolearn.vectors import Vectors
from taxolearn.vectors.scoring import check_beam

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Answers the classes whose score is above their threshold, ranked by score minus threshold.

    So what is predicted comes first in the ranking, and a row without a label has a ranking all the same.

    >>> from taxolearn.vectors import ClassVectors
    >>> vectors, X = ClassVectors(np.eye(3), np.zeros(3)), np.array([[1.0, 5.0, 2.0]])
    >>> decoder = Thresholds(np.array([0.0, 4.5, 3.0]))
    >>> decoder.decode(vectors, X).ids, decoder.top_k(vectors, X, 3)
    (array([0, 1], dtype=int32), (array([[0, 1, 2]], dtype=int32), array([[1., 5., 2.]])))
    """

    thresholds: Array
    name: ClassVar[str] = "thresholds"
    several: ClassVar[bool] = True

    def __post_init__(self) -> None:
        thresholds = np.array(self.thresholds, dtype=np.float64)
        if thresholds.ndim != 1 or not len(thresholds) or not np.isfinite(thresholds).all():
            raise DataError("thresholds must be one finite number per class")
        thresholds.flags.writeable = False
        object.__setattr__(self, "thresholds", thresholds)

    def __getstate__(self) -> dict[str, Any]:
        return {"thresholds": self.thresholds}  # without the vectors that were seen last

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> Thresholds(np.zeros(3)).n_classes
        3
        """
        return len(self.thresholds)

    def decode(self, vectors: Vectors, X: Any, *, beam: int | None = None, n_threads: int = 1) -> Answers:
        """The classes above their thresholds, those first that are farthest above.

        With `beam` at most so many per row are found, among those that a beam search reaches.

        >>> from taxolearn.vectors import ClassVectors
        >>> answers = Thresholds(np.zeros(2)).decode(ClassVectors(np.eye(2), np.zeros(2)), -np.eye(2))
        >>> answers.indptr, answers.ids
        (array([0, 0, 0]), array([], dtype=int32))
        """
        shifted = self._shifted(vectors)
        found = [_positive(np.empty((0, self.n_classes), dtype=vectors.dtype))]
        if beam is None:
            found += [_positive(block) for _, block in shifted.score_blocks(X, n_threads=n_threads)]
        else:
            check_beam(beam)
            ids, margins = shifted.top_k(X, min(beam, self.n_classes), beam=beam, n_threads=n_threads)
            chosen = margins > 0
            found.append((chosen.sum(axis=1), ids[chosen], margins[chosen]))
        counts, ids, margins = (np.concatenate(part) for part in zip(*found, strict=True))
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return Answers(indptr, ids, self._scores(ids, margins, vectors))

    def top_k(
        self, vectors: Vectors, X: Any, k: int, *, beam: int | None = None, n_threads: int = 1
    ) -> tuple[Ids, npt.NDArray[Any]]:
        """The k classes of each row that are farthest above their threshold, and their scores.

        >>> from taxolearn.vectors import ClassVectors
        >>> vectors = ClassVectors(np.eye(2), np.zeros(2))
        >>> Thresholds(np.array([0.0, 4.5])).top_k(vectors, np.array([[1.0, 5.0]]), 2)
        (array([[0, 1]], dtype=int32), array([[1., 5.]]))
        """
        ids, margins = self._shifted(vectors).top_k(X, k, beam=beam, n_threads=n_threads)
        return ids, self._scores(ids, margins, vectors)

    def scores(self, vectors: Vectors, X: Any, *, n_threads: int = 1) -> npt.NDArray[Any]:
        """The scores of all classes, rows x classes; thresholds are not taken off.

        >>> from taxolearn.vectors import ClassVectors
        >>> Thresholds(np.ones(2)).scores(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]]))
        array([[1., 5.]])
        """
        check_units(vectors, self.n_classes)
        return vectors.scores(X, n_threads=n_threads)

    def row_facts(self, vectors: Vectors, X: Any) -> ScoredRow:
        """How X, a single row, is decided on: by scores minus thresholds.

        >>> from taxolearn.vectors import ClassVectors
        >>> vectors = ClassVectors(np.eye(2), np.zeros(2))
        >>> Thresholds(np.ones(2)).row_facts(vectors, np.array([[1.0, 5.0]])).scores
        array([0., 4.])
        """
        return ScoredRow.of(self._shifted(vectors), X, vectors)

    def arrays(self) -> Arrays:
        """The thresholds.

        >>> Thresholds(np.ones(2)).arrays()
        {'thresholds': array([1., 1.])}
        """
        return {"thresholds": self.thresholds}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_classes: int) -> Thresholds:
        """The decoder of a stored model.

        >>> Thresholds.from_arrays({"thresholds": np.ones(2)}, 3)
        Traceback (most recent call last):
        ...
        taxolearn.errors.ModelError: stored decoder: there are 2 thresholds for 3 classes
        """
        thresholds = stored_array(arrays, "thresholds", (np.float64,))
        if len(thresholds) != n_classes:
            raise ModelError(
                f"stored decoder: there are {len(thresholds)} thresholds for {n_classes} classes"
            )
        try:
            return cls(thresholds)
        except DataError as error:
            raise ModelError(f"stored decoder: {error}") from None

    def _shifted(self, vectors: Vectors) -> Vectors:
        """Vectors that score by how far a class is above its threshold: no rows x classes matrix is needed."""
        check_units(vectors, self.n_classes)
        last = vars(self).get("_last")
        if last is None or last[0] is not vectors:
            # kept, for what large vectors find out about themselves
            last = (vectors, vectors.with_intercept(vectors.intercept - self.thresholds))
            vars(self)["_last"] = last
        shifted: Vectors = last[1]
        return shifted

    def _scores(self, ids: Ids, margins: npt.NDArray[Any], vectors: Vectors) -> npt.NDArray[Any]:
        return (margins + self.thresholds[ids]).astype(vectors.dtype)


def _positive(margins: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """How many margins of each row are positive, in which columns, and they themselves; largest first."""
    rows, columns = np.nonzero(margins > 0)
    values = margins[rows, columns]
    order = np.lexsort((columns, -values, rows))
    return np.bincount(rows, minlength=len(margins)), columns[order].astype(np.int32), values[order]


def tune_thresholds(
    scores: Array, targets: npt.NDArray[np.bool_], fallback: float = 0.1, row_weight: Array | None = None
) -> Array:
    """The threshold of each class that maximises its F1 on held-out rows (SCutFBR.1 of Lewis et al. 2004).

    Where even the best F1 is below `fallback` the held-out rows say too little about the class: its
    threshold becomes the
    highest score seen, so that only a row more certain than all of these gets the label. A row has the label when its
    score is above the threshold.

    >>> scores = np.array([[0.9], [0.6], [0.2], [-0.5]])
    >>> tune_thresholds(scores, np.array([[True], [False], [True], [False]])).tolist()
    [-0.15]
    """
    n, n_classes = scores.shape
    thresholds = np.empty(n_classes)
    weight = np.ones(n) if row_weight is None else row_weight
    for c in range(n_classes):
        order = np.argsort(-scores[:, c], kind="stable")
        ranked = scores[order, c]
        hits = np.cumsum(weight[order] * targets[order, c])
        f1 = 2.0 * hits / (np.cumsum(weight[order]) + hits[-1])
        # a cut is possible only between two different scores
        f1[:-1][ranked[:-1] == ranked[1:]] = -1.0
        best = int(np.argmax(f1))
        if f1[best] < fallback:
            thresholds[c] = ranked[0]
        elif best + 1 < n:
            thresholds[c] = 0.5 * (ranked[best] + ranked[best + 1])
        else:
            thresholds[c] = np.nextafter(ranked[best], -np.inf)
    return thresholds


def above(scores: Array, thresholds: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Which classes of each row score above their threshold, as CSR (indptr, indices).

    >>> indptr, indices = above(np.array([[1.0, -1.0], [0.5, 2.0]]), np.zeros(2))
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 3], [0, 0, 1])
    """
    rows, columns = np.nonzero(scores > thresholds)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(scores)))))
    return indptr.astype(np.int64), columns.astype(np.int32)
