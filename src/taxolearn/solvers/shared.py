"""Shared SVM: node vectors and node weights learned together, by turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.losses import StructuredHinge
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum, largest_penalty, shared_weights
from taxolearn.solvers.solution import Progress, Solution, Status
from taxolearn.solvers.structured import solve_structured
from taxolearn.structure.names import show

Array = npt.NDArray[np.float64]

_FIRST_GAP, _FINEST_GAP = 1e-2, 1e-9  # of the turns of u
_LEAST = 1e-10  # a weight of exactly zero could never rise again


def solve_shared(
    problem: Problem,
    loss: StructuredHinge,
    tie: PathSum,
    C: float,
    *,
    bias_feature: float = 1.0,
    tol: float = 1e-3,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    start: Any = None,
    on_epoch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Minimise (14) of Choi, Sasaki and Srebro over node vectors u and weights a,

        1/2 sum_n ||u_n||^2 / a_n + sum_i c_i max(0, max_l D(l, y_i) - S(l, y_i) (w_{y_i} - w_l) . x_i),
        sum of a_n along every path at most one,

    which is convex in both together. By turns u for fixed a (the structured solver, started from its last dual) and a for
    fixed u (closed form on trees, a cone programme on DAGs). `tie.scale` is the first a: strictly positive, because u_n = 0
    where a_n = 0, and then a_n stays zero. The lower bound is that of the joint problem: for any feasible dual,
    sum alpha D - 1/2 max over a of sum_n a_n ||z_n||^2. The learned weights are `details["scale"]`; the history's primal
    never rises.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import path_sum
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> problem = make_problem([[-1.0], [1.0]], ["Cat", "Dog"], tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.array([0.5, 0.5, 0.5]))
    >>> solution = solve_shared(problem, structured_hinge(problem, tie, "zero_one"), tie, C=1.0)
    >>> solution.details["scale"].round(3).tolist()
    [0.0, 1.0, 1.0]
    """
    assert problem.taxonomy is not None
    used = np.asarray(tie.paths.sum(axis=0)).ravel() > 0
    zero = np.flatnonzero(used & ~(tie.scale > 0))
    if len(zero):
        raise DataError(
            f"the first weight of {show(problem.taxonomy.name_of(zero[0]))} is {tie.scale[zero[0]]:g}, and a weight of "
            "zero can never rise; start from strictly positive weights"
        )
    run = _Alternation(problem, loss, tie, C, bias_feature, n_jobs, seed)
    return run.solve(tol, max_iter, max_seconds, start, on_epoch)


class _Alternation:
    def __init__(
        self,
        problem: Problem,
        loss: StructuredHinge,
        tie: PathSum,
        C: float,
        bias_feature: float,
        n_jobs: int | None,
        seed: int,
    ) -> None:
        self.problem, self.loss, self.C, self.bias_feature = problem, loss, C, bias_feature
        self.n_jobs, self.seed = n_jobs, seed
        self.paths, self.scale = tie.paths, tie.scale
        self.used = np.asarray(tie.paths.sum(axis=0)).ravel() > 0
        self.history: list[Progress] = []

    def solve(
        self,
        tol: float,
        max_iter: int,
        max_seconds: float | None,
        start: Any,
        on_epoch: Callable[[Progress], None] | None,
    ) -> Solution:
        assert self.problem.taxonomy is not None
        began = time.monotonic()
        dual, epochs, lower = start, 0, -np.inf
        inner = _FIRST_GAP
        while True:
            left = None if max_seconds is None else max(1e-3, max_seconds - (time.monotonic() - began))
            solution = self._vectors(dual, inner, max(1, max_iter - epochs), left)
            dual, epochs = solution.dual, epochs + solution.n_iter
            squares = solution.details["node_squares"]  # ||u_n||^2, the bias included
            losses = solution.history[-1].primal - 0.5 * _penalty(squares, self.scale)
            fresh = self._weights(squares)
            primal = losses + 0.5 * _penalty(squares, fresh)
            linear = solution.details["linear"]  # sum alpha D
            with np.errstate(divide="ignore", invalid="ignore"):
                of_dual = np.where(self.scale > 0, squares / self.scale**2, 0.0)
            lower = max(lower, linear - 0.5 * largest_penalty(self.problem.taxonomy, self.paths, of_dual))
            last = self.history[-1].primal if self.history else np.inf
            ended = solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED) or epochs >= max_iter
            if primal > last and inner > _FINEST_GAP and not ended:
                inner *= 0.1  # u was not good enough for its turn to gain anything
                continue
            self.scale = fresh
            self.history.append(Progress(time.monotonic() - began, epochs, primal, lower))
            gap = self.history[-1].gap
            if on_epoch is not None:
                on_epoch(self.history[-1])
            if gap <= tol or ended:
                status = Status.CONVERGED if gap <= tol else solution.status
                if status is Status.CONVERGED and gap > tol:
                    status = Status.ITERATION_LIMIT
                details = {**solution.details, "scale": self.scale}
                return replace(solution, status=status, n_iter=epochs, history=self.history, details=details)
            inner = max(min(inner, 0.2 * gap), _FINEST_GAP)

    def _vectors(self, dual: Any, gap: float, epochs: int, seconds: float | None) -> Solution:
        """The turn of u."""
        return solve_structured(
            self.problem,
            self.loss,
            PathSum(self.paths, self.scale),
            self.C,
            bias_feature=self.bias_feature,
            tol=gap,
            max_iter=epochs,
            n_jobs=self.n_jobs,
            max_seconds=seconds,
            seed=self.seed,
            start=dual,
        )

    def _weights(self, squares: Array) -> Array:
        """The turn of a, kept strictly positive where a class passes."""
        assert self.problem.taxonomy is not None
        best = shared_weights(self.problem.taxonomy, squares, class_nodes=self.problem.class_nodes)
        used = self.used
        return np.where(used, (1 - _LEAST * used.sum()) * best + _LEAST, 0.0)


def _penalty(squares: Array, scale: Array) -> float:
    has = squares > 0
    return float((squares[has] / scale[has]).sum())
