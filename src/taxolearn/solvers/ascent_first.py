"""Structured hinges on dense rows: an ascent on the duals, and Newton steps of some kind where it does not end soon."""

from __future__ import annotations

import math
from dataclasses import replace

from taxolearn.engines import Clock
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Solution,
    Start,
    Watch,
    check_requirements,
)
from taxolearn.solvers.choice import suits_interior
from taxolearn.solvers.in_turn import gone_on
from taxolearn.solvers.interior import solve_interior
from taxolearn.solvers.proximal import inverse_covariance, solve_proximal
from taxolearn.solvers.structured import StructuredRun

REQUIRES = Requires(("structured",), paths=True, starts=False)
LIMITS = Limits()
# passes that take about as long as a dozen steps of an interior point, which cost so many multiplications each
_PASSES, _FEW_PASSES, _FEW_STEPS = 200, 12, 2**21
_LOOK, _FAR = 5, 0.5  # after so many passes a gap above this share of the objective is not closed by a dozen
_FIRST_LOOK, _LOOK_BACK = 20, 10  # passes before their speed is looked at, and those that tell it
# Newton steps to proximal points: these, and so many more for each decimal that the gap is to fall by
_STEPS, _STEPS_PER_DECIMAL = 20, 17
_PRODUCTS = 24  # of all rows with all vectors in such a step,
_QUICKER = 8  # BLAS being so much quicker at them than a pass


def solve_ascent_first(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Passes of `solve_structured`, and another solver where they have not reached the gap.

    Mostly few rows matter, and Newton steps on their duals end an ascent at once. Rows that no vectors can tell apart
    are the exception: at a large C their duals take hundreds of passes to get there. `solve_interior` follows where its
    steps are cheap or features uneven. Elsewhere it is `solve_proximal`, as soon as the passes left would take longer.

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
    interior = few or suits_interior(objective, begun=False)
    own: type[StructuredRun] = _FewPasses if few else StructuredRun if interior else _WhileQuick
    passes = min(limits.max_iter, _FEW_PASSES if few else _PASSES if interior else limits.max_iter)
    with limits.run() as run:
        ascent = own(objective, replace(limits, max_iter=passes), run, watch)
        if start is not None and start.dual is not None:
            ascent.begin_with(start.dual)
        first = ascent.solve()

    def second(rest: Limits, tell: Watch) -> Solution:
        if interior:
            return solve_interior(objective, rest, None, tell)
        return solve_proximal(objective, rest, Start(first.dual), tell)

    return gone_on(first, second, limits, clock, watch)


class _FewPasses(StructuredRun):
    """An ascent that takes Newton steps early, and looks early whether these help."""

    first_face, every_face = 3, 2

    def hopeless(self) -> bool:
        """Most of the gap is left after the first steps on the face."""
        return self.done == _LOOK and self.history[-1].gap > _FAR


class _WhileQuick(StructuredRun):
    """An ascent that ends as soon as proximal points would take less time than the passes that are left."""

    def hopeless(self) -> bool:
        """The passes left, as guessed from the last ones, take longer than Newton steps to proximal points."""
        gaps = {one.done: one.gap for one in self.history[-2 * _LOOK_BACK :]}
        now, before = gaps.get(self.done, 0.0), gaps.get(self.done - _LOOK_BACK)
        if self.done < _FIRST_LOOK or before is None or self.on_face or now <= self.limits.tol:
            return False
        left = math.log(now / self.limits.tol)
        passes = left / max(math.log(before / now), 1e-9) * _LOOK_BACK
        n, width = self.objective.problem.X.shape
        products, factors = (
            float(n * width * self.objective.n_units),
            float(width) ** 3 * self.objective.n_units,
        )
        steps = _STEPS + _STEPS_PER_DECIMAL * left / math.log(10.0)
        longer = passes * self.steps > steps * (_PRODUCTS * products + factors) / _QUICKER
        return longer and inverse_covariance(self.objective) is not None
