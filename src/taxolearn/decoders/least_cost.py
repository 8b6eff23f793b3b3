"""One label per row: the answer of least expected cost, by the probabilities of the classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from taxolearn.decoders.base import Answers, Arrays, Decoder, Ids, RowFacts, one_per_row
from taxolearn.decoders.expected_cost import ExpectedCost
from taxolearn.decoders.links import Link
from taxolearn.errors import DataError, ModelError
from taxolearn.vectors import Vectors
from taxolearn.vectors.scoring import _best_columns as best_columns
from taxolearn.vectors.scoring import check_k

Floats = npt.NDArray[np.float64]
BLOCK_BYTES = 6 * 2**20  # of probabilities at a time
_SCORE_BYTES = 64 * 2**20  # of scores at a time
_EQUAL = 1e-12  # difference of two costs that is rounding: they are equal


def probability_blocks(
    decoder: Decoder,
    link: Link,
    vectors: Vectors,
    X: Any,
    n_threads: int = 1,
    width: int = 0,
    dtype: Any = np.float64,
) -> Iterator[tuple[slice, Floats]]:
    """Some rows at a time and the probabilities of their classes, rows x classes; `width` is how many numbers of a row
    the caller has in hand at once, if more than classes. `dtype` None: they are as precise as the scores.

    >>> from taxolearn.decoders import Best
    >>> from taxolearn.decoders.links import Temperature
    >>> from taxolearn.vectors import ClassVectors
    >>> blocks = probability_blocks(Best(2), Temperature(1.0), ClassVectors(np.eye(2), np.zeros(2)), np.zeros((1, 2)))
    >>> [(rows, p.tolist()) for rows, p in blocks]
    [(slice(0, 1, None), [[0.5, 0.5]])]
    """
    n, size = X.shape[0], 8 * max(1, decoder.n_classes)
    # scoring has a price per call, and wants many rows; probabilities are passed several times, and want few
    many, few = max(1, _SCORE_BYTES // size), max(1, BLOCK_BYTES // max(size, 8 * width))
    for start in range(0, n, many):
        end = min(start + many, n)
        scores = decoder.scores(vectors, X if many >= n else X[start:end], n_threads=n_threads)
        for first in range(start, end, few):
            rows = slice(first, min(first + few, end))
            some = scores[rows.start - start : rows.stop - start]
            yield rows, link.probabilities(some if dtype is None else some.astype(dtype))


@dataclass(frozen=True, eq=False)
class LeastCost:
    """Answers what costs least in expectation; scores are minus expected costs, of equal ones the first is best.

    `plain` scores the classes, `link` makes probabilities of scores, and `cost` costs of probabilities, for
    `n_classes` answers: the classes themselves, or nodes.

    >>> from taxolearn.decoders import Best
    >>> from taxolearn.decoders.expected_cost import cost_by_table
    >>> from taxolearn.decoders.links import Temperature
    >>> from taxolearn.vectors import ClassVectors
    >>> cost = cost_by_table([[0.0, 1.0], [5.0, 0.0]], 2, 2)  # the second class is dear to miss
    >>> decoder = LeastCost(Best(2), Temperature(1.0), cost, 2)
    >>> decoder.decode(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 0.0], [3.0, 0.0]])).ids
    array([1, 0], dtype=int32)
    """

    plain: Decoder
    link: Link
    cost: ExpectedCost
    n_classes: int
    name: ClassVar[str] = "least_cost"
    several: ClassVar[bool] = False

    def decode(self, vectors: Vectors, X: Any, *, beam: int | None = None, n_threads: int = 1) -> Answers:
        """The answer of least expected cost of each row; `beam` must be left out.

        >>> from taxolearn.decoders import Best
        >>> from taxolearn.decoders.expected_cost import cost_by_table
        >>> from taxolearn.decoders.links import Temperature
        >>> from taxolearn.vectors import ClassVectors
        >>> decoder = LeastCost(Best(2), Temperature(1.0), cost_by_table(1 - np.eye(2), 2, 2), 2)
        >>> decoder.decode(ClassVectors(np.eye(2), np.zeros(2)), np.zeros((1, 2))).scores
        array([-0.5])
        """
        ids, scores = self.top_k(vectors, X, 1, beam=beam, n_threads=n_threads)
        return one_per_row(ids[:, 0], scores[:, 0])

    def top_k(
        self, vectors: Vectors, X: Any, k: int, *, beam: int | None = None, n_threads: int = 1
    ) -> tuple[Ids, Floats]:
        """The k answers of least expected cost of each row, and minus these costs.

        >>> from taxolearn.decoders import Best
        >>> from taxolearn.decoders.expected_cost import cost_by_table
        >>> from taxolearn.decoders.links import Temperature
        >>> from taxolearn.vectors import ClassVectors
        >>> decoder = LeastCost(Best(2), Temperature(1.0), cost_by_table(1 - np.eye(2), 2, 2), 2)
        >>> decoder.top_k(ClassVectors(np.eye(2), np.zeros(2)), np.array([[0.0, 1.0]]), 2)[0]
        array([[1, 0]], dtype=int32)
        """
        if beam is not None:
            raise DataError(
                "expected costs are over all classes, a beam sees a few; leave beam or decision out"
            )
        check_k(k, self.n_classes)
        ids = np.empty((X.shape[0], k), dtype=np.int32)
        best = np.empty((X.shape[0], k))
        for rows, costs in self._costs(vectors, X, n_threads):
            least = costs.min(axis=1, keepdims=True)
            if k == 1:
                ids[rows, 0] = np.argmax(costs <= least + _EQUAL, axis=1)
                best[rows] = -least
                continue
            scores = -np.where(costs <= least + _EQUAL, least, costs)
            ids[rows] = best_columns(scores, int(k))
            best[rows] = np.take_along_axis(scores, ids[rows].astype(np.intp), axis=1)
        return ids, best

    def scores(self, vectors: Vectors, X: Any, *, n_threads: int = 1) -> Floats:
        """Minus the expected costs of all answers, rows x answers.

        >>> from taxolearn.decoders import Best
        >>> from taxolearn.decoders.expected_cost import cost_by_table
        >>> from taxolearn.decoders.links import Temperature
        >>> from taxolearn.vectors import ClassVectors
        >>> decoder = LeastCost(Best(2), Temperature(1.0), cost_by_table(1 - np.eye(2), 2, 2), 2)
        >>> decoder.scores(ClassVectors(np.eye(2), np.zeros(2)), np.zeros((1, 2)))
        array([[-0.5, -0.5]])
        """
        found = np.empty((X.shape[0], self.n_classes))
        for rows, costs in self._costs(vectors, X, n_threads):
            found[rows] = -costs
        return found

    def _costs(self, vectors: Vectors, X: Any, n_threads: int) -> Iterator[tuple[slice, Floats]]:
        """Some rows at a time and the costs of all answers, rows x answers."""
        width = 2 * self.n_classes
        for rows, p in probability_blocks(self.plain, self.link, vectors, X, n_threads, width, None):
            yield rows, np.ascontiguousarray(self.cost(p.T).T)

    def row_facts(self, vectors: Vectors, X: Any) -> RowFacts:
        """How X, a single row, is scored: probabilities, and with them costs, are made of these scores.

        >>> from taxolearn.decoders import Best
        >>> from taxolearn.decoders.expected_cost import cost_by_table
        >>> from taxolearn.decoders.links import Temperature
        >>> from taxolearn.vectors import ClassVectors
        >>> decoder = LeastCost(Best(2), Temperature(1.0), cost_by_table(1 - np.eye(2), 2, 2), 2)
        >>> decoder.row_facts(ClassVectors(np.eye(2), np.zeros(2)), np.array([[0.0, 1.0]])).scores
        array([0., 1.])
        """
        return self.plain.row_facts(vectors, X)

    def arrays(self) -> Arrays:
        """Nothing: it is made anew for every question, of what the model keeps.

        >>> from taxolearn.decoders import Best
        >>> from taxolearn.decoders.links import Temperature
        >>> LeastCost(Best(2), Temperature(1.0), lambda p: -p, 2).arrays()
        {}
        """
        return {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_classes: int) -> LeastCost:
        """It is not stored.

        >>> LeastCost.from_arrays({}, 2)
        Traceback (most recent call last):
        ...
        taxolearn.errors.ModelError: stored decoder: expected costs are not stored
        """
        raise ModelError("stored decoder: expected costs are not stored")
