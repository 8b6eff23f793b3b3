"""Softmax on sparse rows: an ascent on the duals, and Newton's method where that does not end soon."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import scipy.sparse as sp

from taxolearn.engines import Clock
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Progress, Requires, Solution, Start, Status, Watch
from taxolearn.solvers.newton import solve_newton
from taxolearn.solvers.softmax_rows import ascend_until

REQUIRES = Requires(("softmax",), paths=True)
LIMITS = Limits(tol=1e-3)
_FIRST_LOOK, _LOOK_BACK = 60, 20  # passes before their speed is looked at, and those that tell it
_PASSES_OF_NEWTON = 300  # that take about as long as Newton's method from where the ascent is


def solve_rows_then_newton(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """`solve_softmax_rows`, and `solve_newton` from its duals as soon as the passes left would take longer.

    Duals of rows that are all but certain creep along their bounds, at a large C or with an intercept that hardly
    counts in the penalty. Newton's method goes on from the vectors of these duals.

    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_rows_then_newton(Objective(problem, Softmax(), flat(2)), Limits(tol=1e-8))
    >>> solution.vectors.coef.round(3).tolist(), solution.status.value
    ([[-0.521], [0.521]], 'converged')
    """
    clock = Clock(limits.max_seconds)
    first = ascend_until(objective, limits, start, watch, lambda history: _creeps(history, limits.tol))
    if first.status is not Status.ITERATION_LIMIT or first.n_iter >= limits.max_iter:
        return first
    seconds = first.history[-1].seconds

    def later(progress: Progress) -> Progress:
        return progress._replace(seconds=progress.seconds + seconds, done=progress.done + first.n_iter)

    def tell(progress: Progress, dual: Callable[[], sp.csr_array]) -> None:
        if watch is not None:
            watch(later(progress), dual)

    rest = replace(limits, max_iter=limits.max_iter - first.n_iter, max_seconds=clock.left)
    found = solve_newton(objective, rest, Start(first.dual), tell)
    history = first.history + [later(one) for one in found.history]
    return replace(found, n_iter=first.n_iter + found.n_iter, history=history)


def _creeps(history: Sequence[Progress], tol: float) -> bool:
    """Whether, by the speed of the last passes, those that are left would take longer than Newton's method."""
    done = len(history)
    if done < _FIRST_LOOK or done % _LOOK_BACK:
        return False
    now, before = history[-1].gap, history[-1 - _LOOK_BACK].gap
    fall = math.log(before / now) if now < before else 0.0
    return fall * _PASSES_OF_NEWTON < math.log(max(now / max(tol, 1e-300), 1.0)) * _LOOK_BACK
