"""Hinge loss: max(0, margin - y s)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.losses.base import ROUNDING, Array, LossFacts


class Hinge(NamedTuple):
    """loss(m) = max(0, margin - m); dual term of c * loss: -margin * d on 0 <= d <= c.

    >>> Hinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [2.0, 0.5, 0.0]
    """

    margin: float = 1.0

    @property
    def facts(self) -> LossFacts:
        """What callers branch on."""
        return LossFacts("hinge", "margin")

    def low_intercept(self, total_weight: float) -> float:
        """Where the margins of all rows of other classes are met."""
        return -self.margin

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is."""
        return self.facts.kind, self

    def value(self, margins: npt.ArrayLike) -> Array:
        """The loss at each margin y * score."""
        return np.maximum(0.0, self.margin - np.asarray(margins, dtype=np.float64))

    def conjugate(self, dual: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """(weight * loss)*(-dual): infinite outside 0 <= dual <= weight."""
        d, c = np.broadcast_arrays(np.asarray(dual, dtype=np.float64), np.asarray(weight, dtype=np.float64))
        return np.where((d >= 0) & (d <= c), -self.margin * d, np.inf)

    def conjugate_slopes(self, dual: Array, weight: Array) -> tuple[Array, Array]:
        """First and second derivative of the conjugate at duals strictly inside their bounds."""
        return np.full_like(dual, -self.margin), np.zeros_like(dual)

    def conjugate_error(self, dual: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """How far `conjugate` may be from its exact value, dual and weight each being right to `ROUNDING`."""
        return 2 * ROUNDING * abs(self.margin) * np.abs(np.asarray(dual, dtype=np.float64))

    @staticmethod
    def kernel_value(loss: Any, margin: Any) -> Any:
        """Scalar `value`, compiled into solver kernels."""
        return max(0.0, loss.margin - margin)

    @staticmethod
    def kernel_conjugate(loss: Any, dual: Any, weight: Any) -> Any:
        """Scalar `conjugate` inside its domain."""
        return -loss.margin * dual

    @staticmethod
    def kernel_derivative(loss: Any, dual: Any, weight: Any) -> Any:
        """Derivative of the conjugate."""
        return -loss.margin

    @staticmethod
    def kernel_curvature(loss: Any, dual: Any, weight: Any) -> Any:
        """Second derivative of the conjugate."""
        return 0.0

    @staticmethod
    def kernel_upper(loss: Any, weight: Any) -> Any:
        """Largest feasible dual."""
        return weight

    @staticmethod
    def kernel_step(loss: Any, dual: Any, margin: Any, curvature: Any, weight: Any) -> Any:
        """Exact coordinate minimiser (LIBLINEAR: Hsieh et al. 2008, Algorithm 1)."""
        if curvature <= 0.0:  # a row of zeros without a bias feature: linear in the dual, so an end is best
            return weight if margin < loss.margin else 0.0
        return min(max(dual - (margin - loss.margin) / curvature, 0.0), weight)
