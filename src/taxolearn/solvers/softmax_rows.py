"""Softmax over path sums by dual ascent on the rows: for rows with few features and many classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import gen_batches

from taxolearn.engines import ThreadEngine
from taxolearn.losses.softmax import Softmax
from taxolearn.models import NodeWeights
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.rounds import OnPass, Rounds, run_rounds
from taxolearn.solvers.smooth_terms import row_labels, simplex_dual
from taxolearn.solvers.solution import Solution, dense_start

Array = npt.NDArray[np.float64]

_LEFT = 0.05  # of the tolerated gap is left to rows that a pass passes over
_PRICED_ROWS = 256  # at a time


def solve_softmax_rows(
    problem: Problem,
    loss: Softmax,
    tie: PathSum,
    C: float,
    *,
    bias_feature: float = 1.0,
    bias_prior: float = 0.0,
    tol: float = 1e-3,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    start: sp.csr_array | None = None,
    on_pass: OnPass | None = None,
) -> Solution:
    """Minimise 1/2 sum_n ||u_n||^2 / a_n + 1/2 sum_l (b_l - b_0)^2 + sum_i c_i (log sum_l exp(s_il) - s_{i, y_i}).

    s_il = w_l . x_i + s b_l, w_l the sum of the node vectors u_n on the path of class l: recursive regularization
    (Gopal, Yang 2013, HR-LR) with softmax instead of one class against the rest, on trees and DAGs. Stochastic dual
    coordinate ascent (Shalev-Shwartz, Zhang 2013) whose coordinate is a whole row, with exact line search: the method
    of choice for sparse rows of length about one. A pass visits every row once and prices all on `n_jobs` threads.

    Stops at a relative gap of `tol`, after `max_iter` passes, `max_seconds`, or on Ctrl-C. Needs one label a row, and
    room for features x classes and rows x classes. `Solution.dual` and `start` are probabilities, rows x classes.
    `on_pass(progress, dual)` is called after each pass, from a worker thread.

    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_softmax_rows(problem, Softmax(), flat(2), C=1.0, tol=1e-8)
    >>> solution.weights.coef.round(3).tolist(), solution.status.value
    ([[-0.521], [0.521]], 'converged')
    """
    run = _Run(problem, tie, C, bias_feature, bias_prior, start)
    limits = (tol, max_iter, max_seconds, on_pass)
    rounds = run_rounds(lambda rounds: run.solve(rounds, n_jobs, seed), *limits, lambda: simplex_dual(run.p))
    return run.solution(rounds)


class _Run:
    """Class weights (features x classes), intercepts and duals of one solve."""

    def __init__(
        self,
        problem: Problem,
        tie: PathSum,
        C: float,
        bias_feature: float,
        bias_prior: float,
        start: sp.csr_array | None,
    ) -> None:
        from taxolearn.kernels import softmax_rows
        from taxolearn.kernels.rows import rows_of

        self.kernels, self.problem, self.tie = softmax_rows, problem, tie
        self.bias_feature, self.bias_prior = float(bias_feature), float(bias_prior)
        self.rows: Any = rows_of(problem.X)
        self.own, self.cost = row_labels(problem, C)
        self.paths = (tie.paths.indptr.astype(np.int64), tie.paths.indices.astype(np.int64), tie.scale)
        self.p = self._first_duals(start)
        self.rebuild()
        self.moved = 0

    def _first_duals(self, start: sp.csr_array | None) -> Array:
        """Those of `start`, or all on the row's own class: weights of zero."""
        p = dense_start(start, (self.problem.n_rows, self.problem.n_classes), "rows x classes")
        np.maximum(p, 0.0, out=p)
        sums = p.sum(axis=1)
        p[sums == 0, self.own[sums == 0]] = 1.0
        p /= p.sum(axis=1, keepdims=True)
        return p

    def rebuild(self) -> None:
        """Class weights and intercepts from the duals."""
        nodes, self.intercepts = self._of_duals()
        self.weights = np.ascontiguousarray(nodes @ self.tie.paths.T)

    def _of_duals(self) -> tuple[Array, Array]:
        """u_n = a_n sum over classes l under n of sum_i c_i (1[l = y_i] - p_il) x_i, features x nodes; intercepts."""
        signed = -self.cost[:, None] * self.p
        signed[np.arange(len(self.own)), self.own] += self.cost
        pulls = np.asarray(self.problem.X.T.astype(np.float64) @ signed)
        nodes = np.asarray(pulls @ self.tie.paths) * self.tie.scale
        return nodes, self.bias_feature * (self.bias_prior + self.bias_feature * signed.sum(axis=0))

    def solve(self, rounds: Rounds, n_jobs: int | None, seed: int) -> None:
        """Passes until the gap is small enough."""
        workers, rng = ThreadEngine(n_jobs), np.random.default_rng(seed)
        counted = max(1, int(np.count_nonzero(self.cost)))
        while rounds.go_on(*self.price(workers)):
            self.moved += self.kernels.ascend(
                self.rows,
                self.cost,
                *self.paths,
                self.bias_feature,
                rng.permutation(self.problem.n_rows),
                max(0.0, _LEFT * rounds.tol * rounds.history[-1].primal / counted),
                self.weights,
                self.intercepts,
                self.p,
                rounds.engine.stop,
            )
            rounds.done += 1

    def price(self, workers: ThreadEngine) -> tuple[float, float]:
        """Objective and gap over all rows."""
        found: list[tuple[float, float, float]] = []

        def task(rows: slice) -> tuple[float, float, float]:
            sums: tuple[float, float, float] = self.kernels.price_rows(
                self.rows, self.own, self.cost, rows.start, rows.stop, self.weights, self.intercepts, self.p
            )
            return sums

        batches = list(gen_batches(self.problem.n_rows, _PRICED_ROWS))
        workers.run(task, batches, lambda _rows, sums: found.append(sums))
        losses, gaps, twice = (float(sum(sorted(column))) for column in zip(*found, strict=True))
        return losses + 0.5 * twice, gaps

    def solution(self, rounds: Rounds) -> Solution:
        """The answer, with the reason for stopping; node vectors are made of the duals anew."""
        dual = simplex_dual(self.p)
        self.p = dual.toarray()
        nodes, intercepts = self._of_duals()
        weights = NodeWeights(nodes, self.tie.paths, intercepts)
        return Solution(weights, dual, rounds.status, rounds.done, rounds.history, {"moved": self.moved})
