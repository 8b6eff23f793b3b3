"""How one row is decided on where classes are compared by their own scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from taxolearn.decoders.base import Contest
from taxolearn.vectors import Vectors


@dataclass(frozen=True, eq=False)
class ScoredRow:
    """`RowFacts` of classes that are compared by `scores`, those of `deciding` on the row; `scored` reports them.

    >>> from taxolearn.vectors import ClassVectors
    >>> row = ScoredRow.of(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]]))
    >>> row.parts(0), row.contest(np.array([0, 1]), np.array([], dtype=int))
    (((0,), ()), Contest(best=1, units=(1,), rival=None, rival_units=(), compared=None))
    """

    deciding: Vectors
    scores: npt.NDArray[Any]
    scored: Vectors
    node_by_node: ClassVar[bool] = False

    @classmethod
    def of(cls, deciding: Vectors, X: Any, scored: Vectors | None = None) -> ScoredRow:
        """The facts of X, a single row; scores are reported by other vectors if these are given.

        >>> from taxolearn.vectors import ClassVectors
        >>> ScoredRow.of(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]])).scores
        array([1., 5.])
        """
        return cls(deciding, deciding.scores(X)[0], deciding if scored is None else scored)

    def parts(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """A class scores by its own vector."""
        return (number,), ()

    def contest(self, own: npt.NDArray[Any], others: npt.NDArray[Any], node: int | None = None) -> Contest:
        """The best class under the node against the best one beside it."""
        best = int(own[np.argmax(self.scores[own])])
        if not len(others):
            return Contest(best, (best,))
        rival = int(others[np.argmax(self.scores[others])])
        return Contest(best, (best,), rival, (rival,))
