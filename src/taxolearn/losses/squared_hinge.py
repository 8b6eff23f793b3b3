"""Squared hinge loss: max(0, margin - y s)^2."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.losses.base import ROUNDING, Array, LossFacts


class SquaredHinge(NamedTuple):
    """loss(m) = max(0, margin - m)^2; dual term of c * loss: -margin * d + d^2 / (4 c) on d >= 0.

    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 0.0]
    """

    margin: float = 1.0

    @property
    def facts(self) -> LossFacts:
        """What callers branch on."""
        return LossFacts("squared_hinge", "margin", smooth=True)

    def low_intercept(self, total_weight: float) -> float:
        """Where the margins of all rows of other classes are met."""
        return -self.margin

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is."""
        return self.facts.kind, self

    def value(self, margins: npt.ArrayLike) -> Array:
        """The loss at each margin y * score."""
        return np.maximum(0.0, self.margin - np.asarray(margins, dtype=np.float64)) ** 2

    def value_and_slope(self, margins: npt.NDArray[Any]) -> tuple[Any, Any]:
        """The loss at each margin and minus its derivative, in the precision of the margins."""
        violation = np.maximum(0, margins.dtype.type(self.margin) - margins)
        return violation * violation, 2 * violation

    def second_slope(self, margins: npt.NDArray[Any]) -> Any:
        """The second derivative at each margin, in the precision of the margins."""
        return 2 * (margins < self.margin).astype(margins.dtype)

    def steepness(self, values: Array) -> tuple[Array, float]:
        """|loss'| where the loss has these values, and the largest second derivative; for bounds on rounding."""
        return 2.0 * np.sqrt(values), 2.0

    def conjugate(self, dual: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """(weight * loss)*(-dual): infinite for a negative dual, and for any dual of a row without weight."""
        d, c = np.broadcast_arrays(np.asarray(dual, dtype=np.float64), np.asarray(weight, dtype=np.float64))
        inside = (d >= 0) & ((c > 0) | (d == 0))
        return np.where(inside, -self.margin * d + _quarter(d, c), np.inf)

    def conjugate_slopes(self, dual: Array, weight: Array) -> tuple[Array, Array]:
        """First and second derivative of the conjugate at duals strictly inside their bounds."""
        curvature = 0.5 / weight
        return curvature * dual - self.margin, curvature

    def conjugate_error(self, dual: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """How far `conjugate` may be from its exact value, dual and weight each being right to `ROUNDING`."""
        d, c = np.broadcast_arrays(np.asarray(dual, dtype=np.float64), np.asarray(weight, dtype=np.float64))
        return np.asarray(4 * ROUNDING * (abs(self.margin) * np.abs(d) + _quarter(d, c)))

    @staticmethod
    def kernel_value(loss: Any, margin: Any) -> Any:
        """Scalar `value`, compiled into solver kernels."""
        violation = max(0.0, loss.margin - margin)
        return violation * violation

    @staticmethod
    def kernel_conjugate(loss: Any, dual: Any, weight: Any) -> Any:
        """Scalar `conjugate` inside its domain."""
        return dual * (dual / (4.0 * weight) - loss.margin)

    @staticmethod
    def kernel_derivative(loss: Any, dual: Any, weight: Any) -> Any:
        """Derivative of the conjugate."""
        return dual / (2.0 * weight) - loss.margin

    @staticmethod
    def kernel_curvature(loss: Any, dual: Any, weight: Any) -> Any:
        """Second derivative of the conjugate."""
        return 0.5 / weight

    @staticmethod
    def kernel_upper(loss: Any, weight: Any) -> Any:
        """Largest feasible dual."""
        return math.inf

    @staticmethod
    def kernel_step(loss: Any, dual: Any, margin: Any, curvature: Any, weight: Any) -> Any:
        """Exact coordinate minimiser (Hsieh et al. 2008 with D_ii = 1/(2C))."""
        ridge = 0.5 / weight
        return max(dual - (margin - loss.margin + dual * ridge) / (curvature + ridge), 0.0)


def _quarter(dual: Array, weight: Array) -> Array:
    """dual^2 / (4 weight), where the square of a small dual would underflow; zero without weight."""
    ratio = np.divide(dual, weight, out=np.zeros_like(dual), where=weight > 0)
    return np.asarray(0.25 * ratio * dual)
