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

SERVED = ("micro", "macro", "example")  # which F1 tuned thresholds are for
_TOP = 64  # classes of a row, best first, that a common threshold is tuned on
_CUTS = 200  # common thresholds that are tried


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Answers the classes whose score is above their threshold, ranked by score minus threshold.

    So what is predicted comes first in the ranking, and a row without a label has a ranking all the same. With `fill` a
    row whose classes are all below gets the first of its ranking.

    >>> from taxolearn.vectors import ClassVectors
    >>> vectors, X = ClassVectors(np.eye(3), np.zeros(3)), np.array([[1.0, 5.0, 2.0]])
    >>> decoder = Thresholds(np.array([0.0, 4.5, 3.0]))
    >>> decoder.decode(vectors, X).ids, decoder.top_k(vectors, X, 3)
    (array([0, 1], dtype=int32), (array([[0, 1, 2]], dtype=int32), array([[1., 5., 2.]])))
    """

    thresholds: Array
    fill: bool = False
    name: ClassVar[str] = "thresholds"
    several: ClassVar[bool] = True

    def __post_init__(self) -> None:
        thresholds = np.array(self.thresholds, dtype=np.float64)
        if thresholds.ndim != 1 or not len(thresholds) or not np.isfinite(thresholds).all():
            raise DataError("thresholds must be one finite number per class")
        thresholds.flags.writeable = False
        object.__setattr__(self, "thresholds", thresholds)

    def __getstate__(self) -> dict[str, Any]:
        return {"thresholds": self.thresholds, "fill": self.fill}  # without the vectors that were seen last

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
        found = [_positive(np.empty((0, self.n_classes), dtype=vectors.dtype), False)]
        if beam is None:
            found += [
                _positive(block, self.fill) for _, block in shifted.score_blocks(X, n_threads=n_threads)
            ]
        else:
            check_beam(beam)
            ids, margins = shifted.top_k(X, min(beam, self.n_classes), beam=beam, n_threads=n_threads)
            chosen = margins > 0
            chosen[:, :1] |= self.fill  # best first
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
        """The thresholds, and whether rows without a label get one.

        >>> Thresholds(np.ones(2)).arrays()
        {'thresholds': array([1., 1.])}
        """
        filled = {"fill": np.ones(1, dtype=np.uint8)} if self.fill else {}
        return {"thresholds": self.thresholds, **filled}

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
            return cls(thresholds, "fill" in arrays)
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


def _positive(
    margins: npt.NDArray[Any], fill: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """How many margins of each row are positive, in which columns, and they themselves; largest first."""
    chosen = margins > 0
    if fill and len(margins):
        empty = np.flatnonzero(~chosen.any(axis=1))
        chosen[empty, np.argmax(margins[empty], axis=1)] = True
    rows, columns = np.nonzero(chosen)
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


def common_threshold(
    scores: Array,
    targets: npt.NDArray[np.bool_],
    serve: str,
    fill: bool,
    row_weight: Array | None = None,
) -> Array:
    """One threshold for all classes, the best on held-out rows for micro-F1 or for the mean F1 of rows ("example").

    Zero is one of those tried, so that the choice is never worse than zero on these rows.

    >>> scores = np.array([[-0.1, -0.9], [-0.8, -0.2]])
    >>> common_threshold(scores, scores > -0.5, "micro", False).round(6).tolist()
    [-0.2, -0.2]
    """
    n, n_classes = scores.shape
    weight = np.ones(n) if row_weight is None else row_weight
    kept = min(n_classes, _TOP)
    top = np.argpartition(-scores, kept - 1, axis=1)[:, :kept]
    high, right = np.take_along_axis(scores, top, axis=1), np.take_along_axis(targets, top, axis=1)
    best, positives = np.argmax(high, axis=1), targets.sum(axis=1)
    found, chosen = -1.0, 0.0
    seen = high[right]
    cuts = np.unique(np.quantile(seen, np.linspace(0.0, 1.0, _CUTS))) if len(seen) else np.empty(0)
    for cut in (0.0, *np.nextafter(cuts, -np.inf).tolist()):  # a true label is just above
        answered = high > cut
        if fill:
            empty = np.flatnonzero(~answered.any(axis=1))
            answered[empty, best[empty]] = True
        hits, sizes = (answered & right).sum(axis=1), answered.sum(axis=1) + positives
        if serve == "micro":
            score = 2.0 * float(weight @ hits) / max(float(weight @ sizes), 1e-300)
        else:
            score = float(weight @ np.divide(2.0 * hits, sizes, out=np.ones(n), where=sizes > 0))
        if score > found:
            found, chosen = score, cut
    return np.full(n_classes, chosen)


def above(scores: Array, thresholds: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Which classes of each row score above their threshold, as CSR (indptr, indices).

    >>> indptr, indices = above(np.array([[1.0, -1.0], [0.5, 2.0]]), np.zeros(2))
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 3], [0, 0, 1])
    """
    rows, columns = np.nonzero(scores > thresholds)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(scores)))))
    return indptr.astype(np.int64), columns.astype(np.int32)
