"""Pegasos for the structured hinge: what the paper used, for comparison and for a quick start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import ThreadEngine
from taxolearn.losses.structured import StructuredHinge
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.solution import Progress, Solution
from taxolearn.solvers.structured import StructuredRun

Ids = npt.NDArray[np.int64]


def solve_pegasos(
    problem: Problem,
    loss: StructuredHinge,
    tie: PathSum,
    C: float,
    *,
    bias_feature: float = 1.0,
    max_iter: int = 5,
    average: bool = False,
    max_seconds: float | None = None,
    seed: int = 0,
) -> Solution:
    """Stochastic subgradient steps on the objective of `solve_structured` (section 7.1 of Choi, Sasaki and Srebro).

    `max_iter` passes over the rows, each in a new random order, with step 1 / (lambda t) and lambda = 1 / (C n). The
    weights are the last ones or, with `average`, the mean over all steps. There is no stopping rule and no gap; since
    each row is visited once a pass, the classes picked make a feasible dual all the same, which can start
    `solve_structured` or certify the weights.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_pegasos(problem, structured_hinge(problem, flat(2)), flat(2), 1.0, bias_feature=0.0)
    >>> solution.weights.scores(problem.X).argmax(axis=1)
    array([0, 1])
    """
    from taxolearn.kernels.pegasos import subgradient_pass

    run = StructuredRun(problem, loss, tie, C, bias_feature, 1.0, ThreadEngine(1, max_seconds), seed)
    n, step = len(run.live), 0
    visits: list[
        tuple[Ids, Ids, Ids]
    ] = []  # rows moved, the classes they were moved away from, at which step
    passes = 0
    while passes < max_iter and n and not run.over():
        order = run.rng.permutation(run.live)
        picks = np.full(problem.n_rows, -1, dtype=np.int64)

        def one_pass(order: Ids, picks: Ids = picks, before: int = step) -> int:
            return int(
                subgradient_pass(
                    run.rows, run.label, run.cost, run.paths, run.costs, run.nodes, run.bias, run.bias_feature,
                    order, before, float(n), run.scores(), picks, run.engine.stop,
                )
            )  # fmt: skip

        (after,) = run.work(one_pass, [order])
        moved = np.flatnonzero(picks[order] >= 0)
        visits.append((order[moved], picks[order[moved]], step + 1 + moved))
        step, passes = after, passes + 1
    nothing = (run.live[:0],) * 3
    rows, classes, steps = (np.concatenate(parts) for parts in zip(nothing, *visits, strict=True))
    each = run.cost[rows] * n / max(1, step)  # what a visit adds to the dual
    shape = (problem.n_rows, problem.n_classes)
    run.begin_with(sp.csr_array((each, (rows, classes)), shape=shape))
    solution = run.solution(Progress(run.engine.seconds, passes, np.inf, -np.inf), passes)
    if not average:
        return solution
    # step k adds to the weights after k, k + 1, ..., T: to their mean it adds what it adds to the last, times
    # the sum of 1/t over t = k .. T
    tails = np.cumsum(1.0 / np.arange(max(1, step), 0, -1))[::-1]
    run.make_weights(sp.csr_array((each * tails[steps - 1], (rows, classes)), shape=shape))
    mean = run.solution(Progress(run.engine.seconds, passes, np.inf, -np.inf), passes)
    return replace(mean, dual=solution.dual)
