"""Regularized dual averaging with optimality bounds, Algorithm 1 of Zhou, Xiao and Wu (2011)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.averaging_terms import terms_of
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Rounds,
    Solution,
    Start,
    Watch,
    check_requirements,
)
from taxolearn.structure.names import show
from taxolearn.vectors import ClassVectors

REQUIRES = Requires(("structured", "siblings"), absolute=True, starts=False)

_LIMITS = Limits()

Array = npt.NDArray[np.float64]
Phi = Callable[[Array], tuple[float, Array]]  # w -> phi(w) and a subgradient there
Psi = Callable[[Array], tuple[Array, float]]  # g -> the w that makes g . w + Psi(w) least, and Psi(w)


class Averaged(NamedTuple):
    """The best point found, bounds on the least value, and both bounds after each step.

    >>> Averaged(np.zeros(1), 1.0, 0.5, [(1.0, 0.5)]).upper
    1.0
    """

    point: Array
    upper: float
    lower: float
    history: list[tuple[float, float]]


@dataclass
class RegularizedDualAveraging:
    """Minimise phi(w) + Psi(w), phi convex and Psi strongly convex, from two callables (Algorithm 1, as printed).

    `phi(w)` gives the value and a subgradient; `psi(g)` the w that makes g . w + Psi(w) least, and Psi(w). For
    Psi = sigma / 2 ||w||^2 that is w = -g / sigma, equation (11). Each step asks both once. It ends when the bounds are
    `gap` apart, or after `max_iter` steps.

    >>> def phi(w):  # |w - 1|
    ...     return abs(w[0] - 1.0), np.sign(w - 1.0)
    >>> def psi(g):  # w^2 / 2
    ...     return -g, 0.5 * float(g @ g)
    >>> found = RegularizedDualAveraging(gap=1e-3).minimise(phi, psi, np.zeros(1))
    >>> found.point.round(2).tolist(), bool(found.lower <= 0.5 <= found.upper)
    ([1.0], True)
    """

    gap: float = 1e-3
    max_iter: int = 1000

    def __post_init__(self) -> None:
        whole = isinstance(self.max_iter, int | np.integer) and not isinstance(self.max_iter, bool)
        if not whole or self.max_iter < 1:
            raise DataError(f"max_iter={show(self.max_iter)} is not allowed; give a whole number, at least 1")
        if not (isinstance(self.gap, int | float) and self.gap >= 0):
            raise DataError(f"gap={show(self.gap)} is not allowed; give a number from zero on")

    def minimise(self, phi: Phi, psi: Psi, start: Array) -> Averaged:
        """The best point of so many steps from `start`, whose value is the first upper bound.

        >>> RegularizedDualAveraging(max_iter=1).minimise(lambda w: (0.0, w), lambda g: (-g, 0.0), np.ones(2)).upper
        0.0
        """
        steps = Steps(phi, psi, start)
        while len(steps.history) < self.max_iter and steps.upper - steps.lower > self.gap:
            steps.step()
        return Averaged(steps.best, steps.upper, steps.lower, steps.history)


@dataclass
class Steps:
    """The steps of Algorithm 1, one at a time.

    >>> steps = Steps(lambda w: (0.5 * float(w @ w), w), lambda g: (-g, 0.5 * float(g @ g)), np.ones(1))
    >>> steps.step(), bool(steps.upper >= 0.0 >= steps.lower)
    (None, True)
    """

    phi: Phi
    psi: Psi
    best: Array
    upper: float = np.inf
    lower: float = -np.inf
    history: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._mean = np.zeros_like(self.best)  # g-bar
        self._delta = 0.0
        self._point, (self._value, self._slope) = self.best, self.phi(self.best)

    def step(self) -> None:
        """Steps 1 to 4 of the algorithm."""
        t = len(self.history) + 1
        kept, new = (t - 1) / t, 1 / t
        self._mean = kept * self._mean + new * self._slope
        inner = float(np.vdot(self._slope, self._point))
        self._delta = kept * self._delta + new * (self._value - inner)
        self._point, strong = self.psi(self._mean)
        self._value, self._slope = self.phi(self._point)
        if self._value + strong < self.upper:
            self.upper, self.best = self._value + strong, self._point
        below = self._delta + float(np.vdot(self._mean, self._point)) + strong
        self.lower = max(self.lower, below)
        self.history.append((self.upper, self.lower))


def solve_dual_averaging(
    objective: Objective, limits: Limits = _LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Algorithm 1 on a structured or a sibling hinge, phi being the losses and Psi the penalty.

    A quadratic penalty is 1/2 ||U||^2 with W = L U, and the steps are on U. Of orthogonal transfer phi has
    Omega(w) - lambda / 2 ||w||^2 as well, and Psi = lambda / 2 ||w||^2 with lambda the smallest eigenvalue of the
    comparison matrix (section 4.3). The bounds of the history are those of the algorithm. Each step counts as a pass.
    The dual is made of the shares of steps in which a row's worst rival was moved; it is at least as good as the
    algorithm's own lower bound. The steps begin at zero: there is no use for a start.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> objective = Objective(problem, structured_hinge(problem, flat(2)), flat(2), bias_feature=0.0)
    >>> solve_dual_averaging(objective, Limits(tol=1e-2)).vectors.coef.round(1).tolist()
    [[-0.5], [0.5]]
    """
    check_requirements("averaging", REQUIRES, objective)
    terms = terms_of(objective)
    with limits.run() as run:
        steps = Steps(terms.phi, terms.psi, terms.start())
        rounds = Rounds(limits, run, watch, terms.dual)
        upper = terms.value_at_zero
        while rounds.another(upper, upper - max(steps.lower, 0.0)):
            steps.step()
            terms.count()
            upper = min(upper, steps.upper)
    vectors, intercept = terms.vectors(steps.best if steps.upper < terms.value_at_zero else terms.start())
    solution = ClassVectors(np.ascontiguousarray(vectors), intercept)
    dual = terms.dual()
    return Solution(solution, dual, rounds.status, rounds.done, rounds.history, terms.details(dual))
