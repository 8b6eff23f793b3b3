"""A certificate: an upper and a lower bound on the optimum, and their gap."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from taxolearn.solvers.base import Status

_SHOWN = 1e-9  # an error above this share of its value is printed
_NOTHING = 1e-300  # what underflow alone makes of an error


@dataclass(frozen=True)
class Certificate:
    """Upper and lower bound on the optimum, and their relative gap.

    The two arrays hold parts of the objectives that add up: one per class where classes are independent of each other,
    a single one where a tie or the loss joins them. The exact primal objective of the vectors lies within `primal` -
    `primal_error` and `primal` + `primal_error`, and the exact dual objective likewise: what the evaluation may have
    lost by rounding is in the gap.

    >>> certificate = Certificate(np.array([2.0, 3.0]), np.array([1.9, 3.0]), Status.CONVERGED)
    >>> certificate.primal, certificate.dual, round(certificate.gap, 6)
    (5.0, 4.9, 0.02)
    >>> certificate
    Certificate(primal=5, dual=4.9, gap=2.0e-02, converged)
    >>> Certificate(np.array([5.0]), np.array([4.9]), Status.CONVERGED, primal_error=0.01)
    Certificate(primal=5 ± 0.01, dual=4.9, gap=2.2e-02, converged)
    """

    class_primal: npt.NDArray[np.float64]
    class_dual: npt.NDArray[np.float64]
    status: Status
    primal_error: float = 0.0
    dual_error: float = 0.0

    @cached_property
    def primal(self) -> float:
        """Objective of the vectors, as evaluated.

        >>> Certificate(np.array([2.0]), np.array([1.0]), Status.CONVERGED).primal
        2.0
        """
        return _total(self.class_primal)

    @cached_property
    def dual(self) -> float:
        """Objective of the dual, as evaluated.

        >>> Certificate(np.array([2.0]), np.array([1.0]), Status.CONVERGED).dual
        1.0
        """
        return _total(self.class_dual)

    @property
    def upper(self) -> float:
        """No optimum is above: primal + primal_error.

        >>> Certificate(np.array([2.0]), np.array([1.0]), Status.CONVERGED, primal_error=0.5).upper
        2.5
        """
        return self.primal + self.primal_error

    @property
    def lower(self) -> float:
        """No optimum is below: dual - dual_error.

        >>> Certificate(np.array([2.0]), np.array([1.0]), Status.CONVERGED, dual_error=0.5).lower
        0.5
        """
        return self.dual - self.dual_error

    @property
    def gap(self) -> float:
        """Relative gap, (upper - lower) / upper; infinite where nothing is proved.

        >>> Certificate(np.array([2.0]), np.array([1.0]), Status.CONVERGED).gap
        0.5
        >>> Certificate(np.array([np.nan]), np.array([1.0]), Status.CONVERGED).gap
        inf
        >>> Certificate(np.array([1.0]), np.array([2.0]), Status.CONVERGED).gap  # one of the two must be wrong
        inf
        """
        upper, lower = self.upper, self.lower
        if not (math.isfinite(upper) and math.isfinite(lower) and upper >= lower):
            return math.inf
        if upper == lower:
            return 0.0
        return (upper - lower) / upper if upper > 0 else math.inf

    def holds(self, tol: float) -> bool:
        """Whether the gap is at most tol, all roundings of the evaluation included.

        >>> Certificate(np.array([2.0]), np.array([1.999]), Status.CONVERGED).holds(1e-3)
        True
        """
        gap = self.gap
        return math.isfinite(gap) and gap <= tol

    def decided(self, tol: float) -> Certificate:
        """The same with the status that it proves: converged if it holds, and only then.

        >>> Certificate(np.array([2.0]), np.array([1.0]), Status.CONVERGED).decided(1e-3).status.value
        'rounding errors'
        >>> Certificate(np.array([1.0]), np.array([1.0]), Status.TIME_LIMIT).decided(1e-3).status.value
        'converged'
        """
        status = self.status
        if self.holds(tol):
            status = Status.CONVERGED
        elif status is Status.CONVERGED:
            status = Status.ROUNDING
        return self if status is self.status else replace(self, status=status)

    def __repr__(self) -> str:
        primal, dual = _shown(self.primal, self.primal_error), _shown(self.dual, self.dual_error)
        return f"Certificate(primal={primal}, dual={dual}, gap={self.gap:.1e}, {self.status.value})"


def _total(parts: npt.NDArray[np.float64]) -> float:
    with np.errstate(all="ignore"):
        return float(np.sum(parts))


def _shown(value: float, error: float) -> str:
    return f"{value:.9g} ± {error:.1g}" if error > max(_SHOWN * abs(value), _NOTHING) else f"{value:.9g}"
