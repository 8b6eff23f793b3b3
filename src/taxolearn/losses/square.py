"""Square loss of all scores of a row: ||y - s||^2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taxolearn.losses.base import Array, LossFacts


@dataclass(frozen=True)
class Square:
    """loss(s, y) = sum over classes l of (y_l - s_l)^2, y_l being 1 for the classes of the row and 0 for all others.

    A row has one weight c for all of its classes. Its dual has a number m_l of any sign for every class; the dual term
    of c * loss is sum_l m_l^2 / (4 c) - m_l y_l.

    >>> Square().value(np.array([[1.0, 0.0], [0.5, 2.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])).tolist()
    [0.0, 4.25]
    """

    @property
    def facts(self) -> LossFacts:
        """What callers branch on."""
        return LossFacts("square", "square", smooth=True, sparse_dual=False, tied_bias=True)

    def low_intercept(self, total_weight: float) -> float:
        """Biases are tied like vectors and have no prior."""
        return 0.0

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is."""
        return self.facts.kind, self

    def value(self, scores: npt.ArrayLike, targets: npt.ArrayLike) -> Array:
        """The loss of each row; both are rows x classes."""
        rest = np.asarray(targets, dtype=np.float64) - np.asarray(scores, dtype=np.float64)
        return np.asarray(np.sum(rest * rest, axis=1))

    def conjugate(self, dual: npt.ArrayLike, targets: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """(weight * loss)*(-dual) of each row, both rows x classes; infinite for a dual of a row without weight.

        >>> Square().conjugate([[2.0, 0.0]], [[1.0, 0.0]], 1.0).tolist()
        [-1.0]
        """
        m, y = np.asarray(dual, dtype=np.float64), np.asarray(targets, dtype=np.float64)
        c = np.broadcast_to(np.asarray(weight, dtype=np.float64), m.shape[:1])[:, None]
        quarter = np.divide(m, 4.0 * c, out=np.zeros_like(m), where=c > 0) * m
        return np.asarray(np.sum(np.where((c > 0) | (m == 0), quarter - m * y, np.inf), axis=1))
