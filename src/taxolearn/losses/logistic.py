"""Logistic loss: log(1 + exp(margin - y s))."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.losses.base import ROUNDING, Array, LossFacts


class Logistic(NamedTuple):
    """loss(m) = log(1 + exp(margin - m)); dual term of c * loss: d log d + (c-d) log(c-d) - c log c - margin d.

    >>> Logistic().value(np.array([0.0])).round(6).tolist()
    [0.693147]
    """

    margin: float = 0.0

    @property
    def facts(self) -> LossFacts:
        """What callers branch on."""
        return LossFacts("logistic", "margin", smooth=True, sparse_dual=False, likelihood=True)

    def low_intercept(self, total_weight: float) -> float:
        """The logit of one row in so many."""
        return -math.log(max(1.0, total_weight))

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is."""
        return self.facts.kind, self

    def value(self, margins: npt.ArrayLike) -> Array:
        """The loss at each margin y * score."""
        return np.logaddexp(0.0, self.margin - np.asarray(margins, dtype=np.float64))

    def value_and_slope(self, margins: npt.NDArray[Any]) -> tuple[Any, Any]:
        """The loss at each margin and minus its derivative, in the precision of the margins."""
        x = margins.dtype.type(self.margin) - margins
        small = np.exp(-np.abs(x))
        above = 1 + small
        slope = np.where(x > 0, margins.dtype.type(1), small) / above
        return np.maximum(x, 0) + np.log(above), slope

    def second_slope(self, margins: npt.NDArray[Any]) -> Any:
        """The second derivative at each margin, in the precision of the margins."""
        small = np.exp(-np.abs(margins.dtype.type(self.margin) - margins))
        return small / (1 + small) ** 2

    def conjugate(self, dual: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """(weight * loss)*(-dual): infinite outside 0 <= dual <= weight."""
        d, c = np.broadcast_arrays(np.asarray(dual, dtype=np.float64), np.asarray(weight, dtype=np.float64))
        inside = (d >= 0) & (d <= c)
        # c * (p log p + (1-p) log(1-p)), p = d/c, is the same sum without cancellation
        p = np.divide(d, c, out=np.zeros_like(d), where=inside & (c > 0))
        p_log_p = np.multiply(p, np.log(p, out=np.zeros_like(p), where=p > 0))
        q_log_q = np.multiply(1.0 - p, np.log1p(-p, out=np.zeros_like(p), where=p < 1))
        return np.where(inside, c * (p_log_p + q_log_q) - self.margin * d, np.inf)

    def conjugate_slopes(self, dual: Array, weight: Array) -> tuple[Array, Array]:
        """First and second derivative of the conjugate at duals strictly inside their bounds."""
        rest = weight - dual
        return np.log(dual / rest) - self.margin, weight / np.maximum(dual * rest, 1e-300)

    def conjugate_error(self, dual: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """How far `conjugate` may be from its exact value, dual and weight each being right to `ROUNDING`.

        p = dual / weight is off by 2 ROUNDING p, and so is 1 - p. x log x moves by at most (1 + |log x|) times what
        x does, and by at most |y log y| for a move of y near zero, where the slope is infinite.
        """
        d, c = np.broadcast_arrays(np.asarray(dual, dtype=np.float64), np.asarray(weight, dtype=np.float64))
        p = np.clip(np.divide(d, c, out=np.zeros_like(d), where=c > 0), 0.0, 1.0)
        steep = -np.log(np.maximum(p, 1e-320)) - np.log(np.maximum(1.0 - p, ROUNDING))
        return np.asarray(8 * ROUNDING * p * c * (2.0 + steep + abs(self.margin)))

    @staticmethod
    def kernel_value(loss: Any, margin: Any) -> Any:
        """Scalar `value`, compiled into solver kernels."""
        x = loss.margin - margin
        if x > 0.0:
            return x + math.log1p(math.exp(-x))
        return math.log1p(math.exp(x))

    @staticmethod
    def kernel_conjugate(loss: Any, dual: Any, weight: Any) -> Any:
        """Scalar `conjugate` inside its domain."""
        p = dual / weight
        total = 0.0
        if p > 0.0:
            total += p * math.log(p)
        if p < 1.0:
            total += (1.0 - p) * math.log1p(-p)
        return weight * total - loss.margin * dual

    @staticmethod
    def kernel_derivative(loss: Any, dual: Any, weight: Any) -> Any:
        """Derivative of the conjugate (finite numbers stand for the infinite ends)."""
        if dual <= 0.0:
            return -1e30
        if dual >= weight:
            return 1e30
        return math.log(dual / (weight - dual)) - loss.margin

    @staticmethod
    def kernel_curvature(loss: Any, dual: Any, weight: Any) -> Any:
        """Second derivative of the conjugate, strictly inside its domain."""
        return weight / max(dual * (weight - dual), 1e-300)  # a dual near the smallest float underflows

    @staticmethod
    def kernel_upper(loss: Any, weight: Any) -> Any:
        """Largest feasible dual."""
        return weight

    @staticmethod
    def kernel_step(loss: Any, dual: Any, margin: Any, curvature: Any, weight: Any) -> Any:
        """Coordinate minimiser (Yu, Huang, Lin 2011), by Newton steps on the log-odds t of dual / weight.

        f(t) = margin + curvature (weight s(t) - dual) - loss.margin + t with s the sigmoid rises with slope at
        least 1, so its root lies between the two values of t that the ends s = 0, 1 give; a step that leaves
        them, or that does not halve the one before (Newton may circle where s bends), falls back to the middle.
        """
        offset = margin - loss.margin - curvature * dual
        full = curvature * weight
        low = -offset - full
        high = -offset
        if dual > 0.0 and dual < weight:
            t = min(max(math.log(dual / (weight - dual)), low), high)
        else:
            t = min(max(loss.margin - margin, low), high)
        last = high - low
        for _ in range(100):
            if t >= 0.0:
                sigmoid = 1.0 / (1.0 + math.exp(-t))
            else:
                e = math.exp(t)
                sigmoid = e / (1.0 + e)
            f = offset + full * sigmoid + t
            if f > 0.0:
                high = t
            else:
                low = t
            step = f / (1.0 + full * sigmoid * (1.0 - sigmoid))
            if t - step < low or t - step > high or abs(step) > 0.5 * last:
                last = abs(0.5 * (low + high) - t)
                t = 0.5 * (low + high)
                continue
            last = abs(step)
            t -= step
            if last <= 1e-5 * (1.0 + abs(t)):
                break  # Newton squares the error: what is left is below 1e-10
        if t >= 0.0:
            return weight / (1.0 + math.exp(-t))
        return weight * (math.exp(t) / (1.0 + math.exp(t)))
