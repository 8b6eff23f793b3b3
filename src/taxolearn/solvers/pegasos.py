"""Pegasos for the structured hinge: what the paper used, for comparison and for a quick start."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Clock
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Requires, Solution, Start, Watch, check_requirements, status_of
from taxolearn.solvers.row_ascent import RowAscent
from taxolearn.solvers.structured import Arrays, StructuredRun
from taxolearn.structure.names import show

REQUIRES = Requires(("structured",), paths=True, starts=False)

_LIMITS = Limits()

Ids = npt.NDArray[np.intp]


@dataclass(frozen=True)
class PegasosSGD:
    """Pegasos (Shalev-Shwartz, Singer, Srebro 2007) with so many `passes` over the rows, as `solver` of the structured
    methods takes it.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> objective = Objective(problem, structured_hinge(problem, flat(2)), flat(2))
    >>> solution = PegasosSGD(passes=20).solve(objective)
    >>> solution.n_iter, solution.status.value
    (20, 'iteration limit')
    """

    passes: int = 5

    def __post_init__(self) -> None:
        whole = isinstance(self.passes, int | np.integer) and not isinstance(self.passes, bool)
        if not whole or self.passes < 1:
            raise DataError(f"passes={show(self.passes)} is not allowed; give a whole number, at least 1")

    def solve(
        self,
        objective: Objective,
        limits: Limits = _LIMITS,
        start: Start | None = None,
        watch: Watch | None = None,
    ) -> Solution:
        """Stochastic subgradient steps on the objective of `solve_structured` (section 7.1 of Choi, Sasaki and Srebro).

        Each pass goes over the rows in a new random order, with step 1 / (lambda t) and lambda = 1 / (C n). There is no
        stopping rule but `passes` and the limits, and the status is never CONVERGED. The steps shrink all that came
        before alike, so that in the last vectors every visit to a row has the same share: alpha_il = c_i / passes times
        the passes in which row i was moved away from class l, a feasible dual. Scaled down to where its value is
        highest, it certifies the vectors, weakly, and can start `solve_structured`. Stopped inside a pass, rows
        visited more often than others are cut back to c_i. The steps begin at zero: there is no use for a start, and
        only the end is watched.
        """
        check_requirements("pegasos", REQUIRES, objective)
        with limits.run() as run:
            descent = _PegasosRun(objective, replace(limits, tol=1.0), run, watch)  # any gap will do
            return descent.descend(min(self.passes, limits.max_iter))


def solve_pegasos(
    objective: Objective, limits: Limits = _LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Pegasos as the paper used it, with five passes; `PegasosSGD` makes more or fewer.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> objective = Objective(problem, structured_hinge(problem, flat(2)), flat(2), bias_feature=0.0)
    >>> solve_pegasos(objective).vectors.scores(problem.X).argmax(axis=1)
    array([0, 1])
    """
    return PegasosSGD().solve(objective, limits, start, watch)


def _subgradient_steps(
    arrays: Arrays, task: tuple[Ids, int], clock: Clock
) -> tuple[int, npt.NDArray[np.int64]]:
    """One step for each row; how many have been made by now, and the class that each row was moved away from, or -1."""
    from taxolearn.kernels.pegasos import subgradient_pass

    a, (order, before) = arrays, task
    picks = np.full(len(a.label), -1, dtype=np.int64)
    scores = np.empty(a.nodes.shape[1], dtype=a.nodes.dtype)
    after = subgradient_pass(
        a.rows, a.label, a.cost, a.paths, a.costs, a.nodes, a.bias, a.bias_feature, order, before,
        float(len(order)), scores, picks, clock.stop,
    )  # fmt: skip
    return int(after), picks


class _PegasosRun(StructuredRun):
    """The same rows, costs and node vectors, moved by other steps."""

    bounds = RowAscent.bounds  # its vectors are those of its last step

    def descend(self, max_passes: int) -> Solution:
        moved: list[Ids] = [self.weighted[:0]]
        classes: list[npt.NDArray[np.int64]] = [self.arrays.label[:0]]
        step = 0
        while self.done < max_passes and len(self.weighted) and not self.run.over():
            order = self.rng.permutation(self.weighted)
            (result,) = self.run.map(_subgradient_steps, self.arrays, [(order, step)], light=self.light)
            if result is None:
                break  # stopped before it began
            step, picks = result
            moved.append(np.flatnonzero(picks >= 0))
            classes.append(picks[moved[-1]])
            self.done += 1
        rows = np.concatenate(moved)
        each = self.arrays.cost[rows] * len(self.weighted) / max(1, step)  # what a visit adds to the dual
        shape = self.shape[::-1]
        watch, self.watch = self.watch, None
        with self.to_the_end():
            self.begin_with(sp.csr_array((each, (np.concatenate(classes), rows)), shape=shape))
            self.exact = self.price()
        solution = self._scaled_down(self.solution())
        if watch is not None:
            watch(solution.history[-1], lambda: solution.dual)
        return solution

    def _scaled_down(self, solution: Solution) -> Solution:
        """The same vectors with the dual scaled down to where its value is highest: never below zero."""
        linear, exact = solution.details["linear"], solution.history[-1]
        quadratic = linear - exact.dual  # of a multiple f of the dual the value is f linear - f^2 quadratic
        factor = linear / (2.0 * quadratic) if linear < 2.0 * quadratic else 1.0
        history = [exact._replace(dual=factor * linear - factor**2 * quadratic)]
        details = {**solution.details, "linear": factor * linear}
        status = status_of(False, self.run.outcome)  # whatever gap it reaches, nothing watched for it
        dual = solution.dual * factor
        return replace(solution, dual=dual, status=status, history=history, details=details)
