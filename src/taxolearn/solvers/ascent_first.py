"""Structured hinges on few dense rows: an ascent on the duals, and interior points where it does not end soon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import scipy.sparse as sp

from taxolearn.engines import Clock
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Progress,
    Requires,
    Solution,
    Start,
    Status,
    Watch,
    check_requirements,
)
from taxolearn.solvers.interior import solve_interior
from taxolearn.solvers.structured import StructuredRun

REQUIRES = Requires(("structured",), paths=True, starts=False)
LIMITS = Limits()
# passes that take about as long as a dozen steps of an interior point, which cost so many multiplications each
_PASSES, _FEW_PASSES, _FEW_STEPS = 200, 12, 2**21
_LOOK, _FAR = 5, 0.5  # after so many passes a gap above this share of the objective is not closed by a dozen


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
    check_requirements("ascent_first", REQUIRES, objective)
    clock = Clock(limits.max_seconds)
    width = (objective.problem.n_features + 1) * objective.n_units
    few = 0.5 * objective.problem.n_rows * float(width) ** 2 + float(width) ** 3 / 3 <= _FEW_STEPS
    passes = min(limits.max_iter, _FEW_PASSES if few else _PASSES)
    with limits.run() as run:
        ascent = (_FewPasses if few else StructuredRun)(
            objective, replace(limits, max_iter=passes), run, watch
        )
        if start is not None and start.dual is not None:
            ascent.begin_with(start.dual)
        first = ascent.solve()
    passes = first.n_iter
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


class _FewPasses(StructuredRun):
    """An ascent that takes Newton steps early, and looks early whether these help."""

    first_face, every_face = 3, 2

    def hopeless(self) -> bool:
        """Most of the gap is left after the first steps on the face."""
        return self.done == _LOOK and self.history[-1].gap > _FAR
