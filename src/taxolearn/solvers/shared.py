"""Shared SVM: node vectors and node weights learned together, by turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import interrupts
from taxolearn.errors import DataError
from taxolearn.losses import StructuredHinge
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum, largest_penalty, shared_weights
from taxolearn.solvers.solution import Progress, Solution, Status
from taxolearn.solvers.structured import solve_structured
from taxolearn.structure.names import show

Array = npt.NDArray[np.float64]

_FIRST_GAP, _FINEST_GAP = 1e-2, 1e-10  # of the turns of u
_LEAST = 1e-10  # a weight of exactly zero could never rise again
_SHARE, _LEAST_SHARE = 0.2, 1e-4  # of the joint gap is the gap asked for of u
_ENOUGH, _PATIENCE = 0.02, 5  # of the joint gap should be gained in a turn, or in one of so many
_LONGEST = 16.0  # stretch of a step of a
_MIX = 0.1  # first step towards a corner


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

    which is convex in both together. By turns u for fixed a (the structured solver, started from its last dual) and a
    for fixed u (closed form on trees, a cone programme on DAGs), in steps stretched for as long as the objective falls.
    `tie.scale` is the first a: strictly positive, because u_n = 0 where a_n = 0, and then a_n stays zero. The lower
    bound is that of the joint problem: for any feasible dual, sum alpha D - 1/2 max over a of sum_n a_n ||z_n||^2.
    The learned weights are `details["scale"]`; the history's primal never rises.

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
    with interrupts():  # also between two turns
        return run.solve(tol, max_iter, max_seconds, start, on_epoch)


class _Alternation:
    """Both turns and what they found: what the best u is made of, its a, and the dual with the best lower bound."""

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
        assert problem.taxonomy is not None
        self.problem, self.loss, self.C, self.bias_feature = problem, loss, C, bias_feature
        self.taxonomy, self.n_jobs, self.seed = problem.taxonomy, n_jobs, seed
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
        began = time.monotonic()
        made_of: tuple[Array, Any, float] | None = None  # the best u: a, dual and gap of its turn
        best_scale, best_dual, vertex = self.scale, start, self.scale
        dual, epochs, primal, lower = start, 0, np.inf, -np.inf
        gap, share, stretch, mix, slow = 1.0, _SHARE, 1.0, _MIX, 0
        while True:
            left = None if max_seconds is None else max(1e-3, max_seconds - (time.monotonic() - began))
            inner = max(min(_FIRST_GAP, share * gap), _FINEST_GAP)
            solution = self._vectors(dual, inner, max(1, max_iter - epochs), left)
            dual, epochs = solution.dual, epochs + solution.n_iter
            last = solution.history[-1]
            squares = solution.details["node_squares"]  # ||u_n||^2, the bias included
            penalty = _penalty(squares, self.scale)
            fresh = self._weights(squares)
            value = last.primal - 0.5 * penalty + 0.5 * _penalty(squares, fresh)
            largest, corner = self._largest_penalty(squares)
            bound = last.dual + 0.5 * penalty - 0.5 * largest
            if bound > lower:
                lower, best_dual = bound, dual
            slow = 0 if made_of is None or primal - value > _ENOUGH * (primal - lower) else slow + 1
            gained = made_of is None or value < primal
            if gained:
                primal, best_scale, vertex = value, fresh, corner
                made_of = self.scale, dual, inner
            self.history.append(Progress(time.monotonic() - began, epochs, primal, lower))
            gap = self.history[-1].gap
            if on_epoch is not None:
                on_epoch(self.history[-1])
            late = max_seconds is not None and self.history[-1].seconds >= max_seconds
            stopped = solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED)
            if gap <= tol or late or stopped or epochs >= max_iter:
                status = Status.TIME_LIMIT if late else Status.ITERATION_LIMIT
                status = Status.CONVERGED if gap <= tol else solution.status if stopped else status
                if not gained:
                    assert made_of is not None
                    del solution
                    self.scale = made_of[0]
                    solution = self._vectors(made_of[1], made_of[2], 0, None)  # made anew, not solved
                details = {**solution.details, "scale": best_scale}
                return replace(
                    solution,
                    dual=best_dual,
                    status=status,
                    n_iter=epochs,
                    history=self.history,
                    details=details,
                )
            del solution  # duals are kept, weights are not: there is room for them once
            if slow >= _PATIENCE:
                # A weight so small that it takes ages to rise: towards the corner the objective falls for certain
                # (Frank and Wolfe), if the step is short enough.
                self.scale = self._lifted((1 - mix) * best_scale + mix * vertex)
                share, stretch, mix, slow = max(0.1 * share, _LEAST_SHARE), 1.0, 0.5 * mix, 0
            elif gained:
                self.scale = self._stretched(fresh, stretch)
                share, stretch, mix = _SHARE, min(_LONGEST, 1.5 * stretch), mix if slow else _MIX
            else:
                # too long a step, or u not good enough for its turn to gain anything
                self.scale = best_scale
                share, stretch = max(0.1 * share, _LEAST_SHARE), 1.0

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
        best = shared_weights(self.taxonomy, squares, class_nodes=self.problem.class_nodes)
        return self._lifted(best)

    def _lifted(self, scale: Array) -> Array:
        return np.where(self.used, (1 - _LEAST * self.used.sum()) * scale + _LEAST, 0.0)

    def _stretched(self, fresh: Array, stretch: float) -> Array:
        """A step of a that goes further, on a logarithmic scale, than its turn would, and stays feasible.

        Weights that go to zero do so by a constant factor a turn; taking its power takes several turns at once.
        """
        if stretch == 1.0:
            return fresh
        used = self.used
        longer = np.zeros_like(fresh)
        longer[used] = fresh[used] * np.clip((fresh[used] / self.scale[used]) ** (stretch - 1.0), 1e-2, 1e2)
        # each node is scaled down by the largest sum of the paths that it is on
        largest = (
            sp.csc_array(self.paths.multiply((self.paths @ longer)[:, None])).max(axis=0).toarray().ravel()
        )
        return self._lifted(longer / np.maximum(largest, 1.0))

    def _largest_penalty(self, squares: Array) -> tuple[float, Array]:
        """max over feasible a of sum_n a_n ||z_n||^2, with u_n = a_n z_n, and where it is reached."""
        of_dual = np.divide(squares, self.scale**2, out=np.zeros_like(squares), where=self.scale > 0)
        return largest_penalty(self.taxonomy, self.paths, of_dual)


def _penalty(squares: Array, scale: Array) -> float:
    has = squares > 0
    return float((squares[has] / scale[has]).sum())
