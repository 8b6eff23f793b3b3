"""A certificate: an upper and a lower bound on the optimum, and their gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taxolearn.solvers.solution import Status


@dataclass(frozen=True)
class Certificate:
    """Upper and lower bound on the optimum, and their relative gap (primal - dual) / primal.

    The two arrays hold parts of the objectives that add up: one a class where classes are independent of each other,
    a single one where a tie or the loss joins them.

    >>> certificate = Certificate(np.array([2.0, 3.0]), np.array([1.9, 3.0]), Status.CONVERGED)
    >>> certificate.primal, certificate.dual, round(certificate.gap, 6)
    (5.0, 4.9, 0.02)
    >>> certificate
    Certificate(primal=5, dual=4.9, gap=2.0e-02, converged)
    """

    class_primal: npt.NDArray[np.float64]
    class_dual: npt.NDArray[np.float64]
    status: Status

    @property
    def primal(self) -> float:
        """Objective of the weights: an upper bound on the optimum.

        >>> Certificate(np.array([2.0]), np.array([1.0]), Status.CONVERGED).primal
        2.0
        """
        return float(self.class_primal.sum())

    @property
    def dual(self) -> float:
        """Objective of the dual: a lower bound on the optimum.

        >>> Certificate(np.array([2.0]), np.array([1.0]), Status.CONVERGED).dual
        1.0
        """
        return float(self.class_dual.sum())

    @property
    def gap(self) -> float:
        """Relative gap, (primal - dual) / primal.

        >>> Certificate(np.array([2.0]), np.array([1.0]), Status.CONVERGED).gap
        0.5
        >>> Certificate(np.array([np.nan]), np.array([1.0]), Status.CONVERGED).gap  # nothing is proved
        inf
        """
        primal, dual = self.primal, self.dual
        if not (np.isfinite(primal) and dual < np.inf):
            return np.inf
        return (primal - dual) / primal if primal > 0 else 0.0

    def holds(self, tol: float) -> bool:
        """Whether the gap is at most tol.

        >>> Certificate(np.array([2.0]), np.array([1.999]), Status.CONVERGED).holds(1e-3)
        True
        """
        return self.gap <= tol

    def __repr__(self) -> str:
        return f"Certificate(primal={self.primal:.9g}, dual={self.dual:.9g}, gap={self.gap:.1e}, {self.status.value})"
