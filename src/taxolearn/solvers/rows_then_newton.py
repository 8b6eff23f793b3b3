"""Softmax on sparse rows: an ascent on the duals, and Newton's method where that does not end soon."""

from __future__ import annotations

import math
from collections.abc import Sequence

from taxolearn.engines import Clock
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Progress, Requires, Solution, Start, Watch
from taxolearn.solvers.in_turn import gone_on
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
    return gone_on(
        first, lambda rest, tell: solve_newton(objective, rest, Start(first.dual), tell), limits, clock, watch
    )


def _creeps(history: Sequence[Progress], tol: float) -> bool:
    """Whether, by the speed of the last passes, those that are left would take longer than Newton's method."""
    done = len(history)
    if done < _FIRST_LOOK or done % _LOOK_BACK:
        return False
    now, before = history[-1].gap, history[-1 - _LOOK_BACK].gap
    fall = math.log(before / now) if now < before else 0.0
    return fall * _PASSES_OF_NEWTON < math.log(max(now / max(tol, 1e-300), 1.0)) * _LOOK_BACK
