"""Softmax over path sums by dual ascent on the rows: for rows with few features and many classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import gen_batches

from taxolearn.engines import Clock, Run, running
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Progress,
    Requires,
    Rounds,
    Solution,
    Start,
    Watch,
    check_requirements,
    dense_start,
)
from taxolearn.solvers.newton_terms import simplex_dual
from taxolearn.solvers.tied_classes import LIGHT_WORK
from taxolearn.vectors import NodeVectors

Array = npt.NDArray[np.float64]

REQUIRES = Requires(("softmax",), paths=True)
LIMITS = Limits(tol=1e-3)
_PASSED_OVER = 0.05  # gap of rows that a pass leaves alone, as a share of the tolerated one
_EXPONENTIAL_WORK = 16  # additions that take as long as the exponential and logarithm of one score


class SoftmaxRows(NamedTuple):
    """Rows, their classes and costs, and the paths of the classes: plain arrays that every task reads."""

    rows: Any
    own: npt.NDArray[np.int64]
    cost: Array
    path_indptr: npt.NDArray[np.int64]
    path_nodes: npt.NDArray[np.int64]
    scale: Array
    bias_feature: float


class Iterate(NamedTuple):
    """Class vectors (features x classes), intercepts (s b_l) and the duals p (rows x classes) they belong to."""

    weights: Array
    intercepts: Array
    p: Array


class PassTask(NamedTuple):
    """One pass over the rows in some order, leaving alone those whose gap is at most `enough`.

    The task takes the iterate over and gives it back; whoever made it uses what comes back.
    """

    order: npt.NDArray[np.int64]
    enough: float
    iterate: Iterate


def ascend_rows(shared: SoftmaxRows, task: PassTask, clock: Clock) -> tuple[int, Iterate]:
    """How many duals were moved, and the iterate, which no one else may use meanwhile: it is not copied here."""
    from taxolearn.kernels import softmax_rows

    weights, intercepts, p = (np.require(part, requirements=["C", "W"]) for part in task.iterate)
    moved = softmax_rows.ascend(
        shared.rows,
        shared.cost,
        shared.path_indptr,
        shared.path_nodes,
        shared.scale,
        shared.bias_feature,
        task.order,
        task.enough,
        weights,
        intercepts,
        p,
        clock.stop,
    )
    return int(moved), Iterate(weights, intercepts, p)


def price_rows(
    shared: tuple[SoftmaxRows, Iterate], rows: tuple[int, int], clock: Clock
) -> tuple[float, float, float]:
    """Of some rows: sum of losses, of gaps, and of M_il times the scores (twice the penalty)."""
    from taxolearn.kernels import softmax_rows

    problem, iterate = shared
    found: tuple[float, float, float] = softmax_rows.price_rows(
        problem.rows, problem.own, problem.cost, *rows, *iterate
    )
    return found


def solve_softmax_rows(
    objective: Objective,
    limits: Limits = LIMITS,
    start: Start | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Recursive regularization (Gopal, Yang 2013, HR-LR) with softmax instead of one class against the rest.

    On trees and DAGs. Stochastic dual coordinate ascent (Shalev-Shwartz, Zhang 2013) whose coordinate is a whole row,
    with exact line search: the method of choice for sparse rows of length about one. A pass visits every row once, and
    prices all on the workers of the engine. Needs one label per row, and room for features x classes and rows x
    classes.

    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_softmax_rows(Objective(problem, Softmax(), flat(2)), Limits(tol=1e-8))
    >>> solution.vectors.coef.round(3).tolist(), solution.status.value
    ([[-0.521], [0.521]], 'converged')
    """
    return ascend_until(objective, limits, start, watch, lambda history: False)


def ascend_until(
    objective: Objective,
    limits: Limits,
    start: Start | None,
    watch: Watch | None,
    enough: Callable[[Sequence[Progress]], bool],
) -> Solution:
    """The same, ended by what its history says, too, as by a limit of passes.

    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[-1.0], [1.0]], ["a", "b"]), Softmax(), flat(2))
    >>> ascend_until(objective, Limits(tol=1e-8), None, None, lambda history: len(history) == 2).n_iter
    1
    """
    check_requirements("softmax_rows", REQUIRES, objective)
    ascent = _Ascent(objective, start or Start())
    with limits.run() as run, running(run.engine, to_the_end=True) as pricing:
        rng = np.random.default_rng(limits.seed)
        rounds = Rounds(limits, run, watch, lambda: simplex_dual(ascent.iterate.p))
        while rounds.another(*ascent.price(pricing)):
            if enough(rounds.history):
                rounds.done -= 1  # the pass that was allowed is not made
                break
            ascent.ascend(run, rng, _PASSED_OVER * limits.tol * rounds.history[-1].primal)
    return ascent.solution(rounds)


class _Ascent:
    """The iterate of one solve."""

    def __init__(self, objective: Objective, start: Start) -> None:
        from taxolearn.kernels.rows import rows_of

        self.problem, self.tie, self.bias_prior = objective.problem, objective.tie, objective.bias_prior
        own, weight = self.problem.one_label
        paths = (self.tie.paths.indptr.astype(np.int64), self.tie.paths.indices.astype(np.int64))
        rows: Any = rows_of(self.problem.X)
        self.shared = SoftmaxRows(
            rows, own, objective.C * weight, *paths, self.tie.scale, objective.bias_feature
        )
        self.iterate = self._iterate(self._first_duals(start))
        entries = self.problem.X.nnz if sp.issparse(self.problem.X) else self.problem.X.size
        row_work = entries / self.problem.n_rows + _EXPONENTIAL_WORK  # of one look at a row, for one class
        self.row_work = max(1, int(row_work * self.problem.n_classes))
        self.moved = 0

    def _first_duals(self, start: Start) -> Array:
        """Those of the start, or all on the row's own class: vectors of zero."""
        own = self.shared.own
        p = dense_start(start.dual, (self.problem.n_classes, self.problem.n_rows)).T
        p = np.maximum(p, 0.0, order="C")
        sums = p.sum(axis=1)
        p[sums == 0, own[sums == 0]] = 1.0
        p /= p.sum(axis=1, keepdims=True)
        return p

    def _iterate(self, p: Array) -> Iterate:
        pulls, intercepts = self._pulls(p)
        return Iterate(self._times_rows(pulls @ self.tie.paths.T), intercepts, p)

    def _pulls(self, p: Array) -> tuple[Array, Array]:
        """a_n sum over classes l under n of c_i (1[l = y_i] - p_il), rows x nodes; intercepts."""
        own, cost, bias_feature = self.shared.own, self.shared.cost, self.shared.bias_feature
        signed = -cost[:, None] * p
        signed[np.arange(len(own)), own] += cost
        pulls = np.asarray(signed @ self.tie.paths) * self.tie.scale
        return pulls, bias_feature * (self.bias_prior + bias_feature * signed.sum(axis=0))

    def _times_rows(self, pulls: Array) -> Array:
        """X' times rows x units: the only step as large as features x units."""
        if not np.any(pulls):  # as at the first duals
            return np.zeros((self.problem.n_features, pulls.shape[1]))
        return np.asarray(self.problem.X.T.astype(np.float64) @ pulls, order="C")

    def ascend(self, run: Run, rng: np.random.Generator, left: float) -> None:
        """One pass over all rows, which may leave this much of the gap to rows that it passes over."""
        n_rows = self.problem.n_rows
        enough = max(0.0, left / max(1, int(np.count_nonzero(self.shared.cost))))
        task = PassTask(rng.permutation(n_rows), enough, self.iterate)
        (found,) = run.map(ascend_rows, self.shared, [task], light=n_rows * self.row_work <= LIGHT_WORK)
        if found is not None:
            moved, self.iterate = found
            self.moved += moved

    def price(self, run: Run) -> tuple[float, float]:
        """Objective and gap over all rows."""
        n_rows = self.problem.n_rows
        batches = gen_batches(n_rows, max(1, LIGHT_WORK // self.row_work))
        tasks = [(rows.start, rows.stop) for rows in batches]
        found = run.map(price_rows, (self.shared, self.iterate), tasks, light=len(tasks) == 1)
        losses, gaps, twice = (float(sum(column)) for column in zip(*found, strict=True))
        return losses + 0.5 * twice, gaps

    def solution(self, rounds: Rounds) -> Solution:
        """The answer, with the reason for stopping; node vectors are made of the duals anew."""
        dual = simplex_dual(self.iterate.p)
        pulls, intercepts = self._pulls(np.ascontiguousarray(dual.toarray().T))
        vectors = NodeVectors(self._times_rows(pulls), self.tie.paths, intercepts)
        return Solution(vectors, dual, rounds.status, rounds.done, rounds.history, {"moved": self.moved})
