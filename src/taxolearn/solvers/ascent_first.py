"""Structured hinges on few dense rows: an ascent on the duals, and interior points where it does not end soon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import scipy.sparse as sp

from taxolearn.engines import Clock
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Progress, Requires, Solution, Start, Status, Watch
from taxolearn.solvers.interior import solve_interior
from taxolearn.solvers.structured import solve_structured

REQUIRES = Requires(("structured",), paths=True, starts=False)
LIMITS = Limits()
# passes that take about as long as a dozen steps of an interior point, which cost so many multiplications each
_PASSES, _FEW_PASSES, _FEW_STEPS = 200, 12, 2**21


def solve_ascent_first(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Passes of `solve_structured`, and `solve_interior` where they have not reached the gap.

    Mostly few rows matter, and Newton steps on their duals end an ascent at once. Rows that no vectors can tell apart
    are the exception: at a large C their duals take hundreds of passes to get there.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> objective = Objective(problem, structured_hinge(problem, flat(2)), flat(2), C=10.0, bias_feature=0.0)
    >>> solve_ascent_first(objective).vectors.coef.round(3).tolist()
    [[-0.5], [0.5]]
    """
    clock = Clock(limits.max_seconds)
    width = (objective.problem.n_features + 1) * objective.n_units
    few = 0.5 * objective.problem.n_rows * float(width) ** 2 + float(width) ** 3 / 3 <= _FEW_STEPS
    passes = min(limits.max_iter, _FEW_PASSES if few else _PASSES)
    first = solve_structured(objective, replace(limits, max_iter=passes), start, watch)
    if first.status != Status.ITERATION_LIMIT or passes == limits.max_iter:
        return first
    rest = replace(limits, max_iter=limits.max_iter - passes, max_seconds=clock.left)
    seconds = first.history[-1].seconds

    def later(progress: Progress) -> Progress:
        return progress._replace(seconds=progress.seconds + seconds, done=progress.done + passes)

    def tell(progress: Progress, dual: Callable[[], sp.csr_array]) -> None:
        if watch is not None:
            watch(later(progress), dual)

    found = solve_interior(objective, rest, None, tell)
    history = first.history + [later(one) for one in found.history]
    return replace(found, n_iter=found.n_iter + passes, history=history)
