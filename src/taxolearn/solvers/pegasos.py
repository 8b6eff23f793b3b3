"""Pegasos for the structured hinge: what the paper used, for comparison and for a quick start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Outcome, ThreadEngine
from taxolearn.errors import DataError
from taxolearn.losses.structured import StructuredHinge
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.solution import Progress, Solution
from taxolearn.solvers.structured import StructuredRun
from taxolearn.structure.names import show

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PegasosSGD:
    """Options of Pegasos (Shalev-Shwartz, Singer, Srebro 2007), as `solver` of the structured methods takes them:
    how many `passes` it makes over the rows.

    >>> from taxolearn import MulticlassSVM
    >>> model = MulticlassSVM(solver=PegasosSGD(passes=20), tol=0.5).fit([[-1.0], [1.0]], ["a", "b"])
    >>> model.predict([[2.0]]).tolist(), model.certificate_.status.value
    (['b'], 'iteration limit')
    """

    passes: int = 5

    def __post_init__(self) -> None:
        whole = isinstance(self.passes, int | np.integer) and not isinstance(self.passes, bool)
        if not whole or self.passes < 1:
            raise DataError(f"passes={show(self.passes)} is not allowed; give a whole number, at least 1")


def solve_pegasos(
    problem: Problem,
    loss: StructuredHinge,
    tie: PathSum,
    C: float,
    options: PegasosSGD | None = None,
    *,
    bias_feature: float = 1.0,
    max_seconds: float | None = None,
    seed: int = 0,
    on_epoch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Stochastic subgradient steps on the objective of `solve_structured` (section 7.1 of Choi, Sasaki and Srebro).

    Each pass goes over the rows in a new random order, with step 1 / (lambda t) and lambda = 1 / (C n). There is no
    stopping rule, and the status is never CONVERGED. The steps shrink all that came before alike, so that in the last
    weights every visit to a row has the same share: alpha_il = c_i / passes times the passes in which row i was moved
    away from class l, a feasible dual. Scaled down to where its value is highest, it certifies the weights, weakly, and
    can start `solve_structured`. Stopped inside a pass, rows visited more often than others are cut back to c_i.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_pegasos(problem, structured_hinge(problem, flat(2)), flat(2), 1.0, bias_feature=0.0)
    >>> solution.weights.scores(problem.X).argmax(axis=1)
    array([0, 1])
    """
    options = PegasosSGD() if options is None else options
    run = _PegasosRun(problem, loss, tie, C, bias_feature, 1.0, ThreadEngine(1, max_seconds), seed)
    return run.descend(options.passes, on_epoch)


class _PegasosRun(StructuredRun):
    """The same rows, costs and node weights, moved by other steps."""

    def descend(self, max_passes: int, on_epoch: Callable[[Progress], None] | None) -> Solution:
        self.tol = -np.inf  # whatever gap it reaches, nothing watched for it
        visits: list[tuple[Ids, Ids]] = []
        passes = step = 0
        try:
            while passes < max_passes and len(self.live) and not self.over():
                step = self._pass(step, visits)
                passes += 1
        except KeyboardInterrupt:  # between two runs of the engine
            self.outcome = Outcome.INTERRUPTED
        self.engine.stop[0], self.engine.deadline = 0, None  # the weights are still to be made
        rows, classes = (np.concatenate(parts) for parts in zip((self.live[:0],) * 2, *visits, strict=True))
        each = self.cost[rows] * len(self.live) / max(1, step)  # what a visit adds to the dual
        shape = (self.problem.n_rows, self.problem.n_classes)
        self.begin_with(sp.csr_array((each, (rows, classes)), shape=shape))
        solution = self._raised(self.solution(self.certified(passes, None), passes))
        if on_epoch is not None:
            on_epoch(solution.history[-1])
        return solution

    def _raised(self, solution: Solution) -> Solution:
        """The same weights with the dual scaled down to where its value is highest: never below zero."""
        linear, exact = solution.details["linear"], solution.history[-1]
        quadratic = linear - exact.dual  # of a multiple f of the dual the value is f linear - f^2 quadratic
        factor = linear / (2.0 * quadratic) if linear < 2.0 * quadratic else 1.0
        history = [exact._replace(dual=factor * linear - factor**2 * quadratic)]
        details = {**solution.details, "linear": factor * linear}
        return replace(solution, dual=solution.dual * factor, history=history, details=details)

    def _pass(self, before: int, visits: list[tuple[Ids, Ids]]) -> int:
        """One step for every row; notes the rows moved and the classes they were moved away from."""
        from taxolearn.kernels.pegasos import subgradient_pass

        order = self.rng.permutation(self.live)
        picks = np.full(self.problem.n_rows, -1, dtype=np.int64)

        def one_pass(order: Ids) -> int:
            return int(
                subgradient_pass(
                    self.rows, self.label, self.cost, self.paths, self.costs, self.nodes, self.bias, self.bias_feature,
                    order, before, float(len(self.live)), self.scores(), picks, self.engine.stop,
                )
            )  # fmt: skip

        after = max(self.work(one_pass, [order]), default=before)  # nothing: stopped before it began
        moved = np.flatnonzero(picks >= 0)
        visits.append((moved, picks[moved]))
        return after
