"""Structured hinge over relaxed label sets: linear programmes by HiGHS, and pairwise steps between their answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Rounds,
    Solution,
    Start,
    Watch,
    check_requirements,
    check_start,
)
from taxolearn.vectors import NodeVectors

REQUIRES = Requires(("relaxed_sets",), paths=True, independent=True)

_SWEEPS = 10  # over the answers known, between two rounds of linear programmes
_STEPS = 20  # pairwise steps of a row in a sweep, at most
_SETTLED = 1e-13  # a slope below this share of a row's scores is rounding
_WHOLE = 1e-9  # HiGHS leaves whole numbers by less
_FEASIBLE = 1e-9  # by which marginals of a start may break a bound; else a row begins with its own set
_LIMITS = Limits(tol=1e-3)

Array = npt.NDArray[np.float64]


def solve_relaxed_sets(
    objective: Objective, limits: Limits = _LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise 1/2 sum_n ||u_n||^2 / a_n + sum_i c_i max over z of sum_n theta_in (z_n - y_in), for z see
    `RelaxedSetHinge`, for theta the solver of label sets.

    A row's dual mu_i is a mixture of answers of its linear programme. Each round asks the programmes of all rows at
    the vectors as they stand, which gives the exact gap and an answer more for each row; then the mixtures are improved
    by pairwise steps, row by row. One programme a row and round: for some thousands of rows and a thousand nodes.

    >>> from taxolearn.losses import RelaxedSetHinge, set_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.structure import Taxonomy
    >>> from taxolearn.ties import PathSum, flat
    >>> dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("r", "c")])
    >>> problem = make_problem([[-1.0], [1.0]], [["x"], ["c"]], dag)
    >>> loss = set_hinge(problem, kind=RelaxedSetHinge)
    >>> tie = PathSum(flat(loss.n_nodes).paths, np.ones(loss.n_nodes))
    >>> solve_relaxed_sets(Objective(problem, loss, tie, C=10.0), Limits(tol=1e-6)).status.value
    'converged'
    """
    check_requirements("relaxed_sets", REQUIRES, objective)
    rows = _Rows(objective, None if start is None else start.dual)
    rng = np.random.default_rng(limits.seed)
    with limits.run() as run:
        rounds = Rounds(limits, run, watch, rows.dual)
        while rounds.another(*rows.ask()):
            for _ in range(_SWEEPS):
                for i in rng.permutation(rows.weighted).tolist():
                    rows.improve(i)
                if run.over():
                    break
            rows.make_vectors()
    tie = objective.tie
    vectors = NodeVectors(
        np.ascontiguousarray(rows.nodes[:, :-1].T), tie.paths, objective.bias_feature * rows.nodes[:, -1]
    )
    state = {"node_bias": rows.nodes[:, -1].copy()}
    return Solution(vectors, rows.dual(), rounds.status, rounds.done, rounds.history, state)


class _Rows:
    """Marginals of all rows as mixtures of answers, and the node vectors that they make; the bias comes last."""

    def __init__(self, objective: Objective, dual: sp.csr_array | None) -> None:
        problem, loss, tie = objective.problem, objective.loss, objective.tie
        self.loss = loss
        self.scale = np.asarray(tie.paths @ tie.scale, dtype=np.float64)
        self.own = loss.sets(problem).toarray()
        self.cost = objective.C * loss.weights(problem)
        self.weighted = np.flatnonzero(self.cost > 0)
        X = problem.X.toarray() if sp.issparse(problem.X) else np.asarray(problem.X)
        last = np.full((problem.n_rows, 1), objective.bias_feature)
        self.X = np.hstack([X.astype(np.float64), last])
        self.square = np.einsum("ij,ij->i", self.X, self.X)
        self.mu = self._begun(dual)
        self.answers = [mu[None, :].copy() for mu in self.mu]
        self.shares = [np.ones(1) for _ in self.mu]
        self.make_vectors()

    def _begun(self, dual: sp.csr_array | None) -> Array:
        """The marginals of a dual; rows that these do not suit begin with their own set."""
        check_start(dual, self.own.shape[::-1])
        if dual is None:
            return np.array(self.own)
        cost = self.cost[:, None]
        moved = np.divide(dual.T.toarray(), cost, out=np.zeros(self.own.shape), where=cost > 0)
        mu = np.where(self.own > 0, 1.0 - moved, moved)
        A, b = self.loss.constraints
        fits = np.all(mu @ A.T <= b + _FEASIBLE, axis=1) & np.all(
            (mu >= -_FEASIBLE) & (mu <= 1 + _FEASIBLE), axis=1
        )
        fits &= np.abs(mu[:, 0] - 1.0) <= _FEASIBLE
        return np.asarray(np.where(fits[:, None], np.clip(mu, 0.0, 1.0), self.own))

    def make_vectors(self) -> None:
        """The vectors that the marginals make."""
        self.nodes = self.scale[:, None] * ((self.cost[:, None] * (self.own - self.mu)).T @ self.X)

    def _theta(self, i: int) -> Array:
        theta = self.nodes @ self.X[i]
        theta += np.where(self.own[i] > 0, -self.loss.miss, self.loss.false_alarm)
        theta[0] = 0.0
        return np.asarray(theta)

    def ask(self) -> tuple[float, float]:
        """The linear programme of every row: the objective and its gap. Each row has its answer from now on."""
        has = self.scale > 0
        primal = 0.5 * float(np.sum(self.nodes[has] ** 2 / self.scale[has, None]))
        gap = 0.0
        for i in self.weighted.tolist():
            theta = self._theta(i)
            answer = best_relaxed(self.loss, theta)
            best = float(theta @ answer)
            primal += self.cost[i] * max(0.0, best - float(theta @ self.own[i]))
            gap += self.cost[i] * max(0.0, best - float(theta @ self.mu[i]))
            if not np.any(np.all(self.answers[i] == answer, axis=1)):
                self.answers[i] = np.vstack([self.answers[i], answer])
                self.shares[i] = np.append(self.shares[i], 0.0)
        return primal, gap

    def improve(self, i: int) -> None:
        """Pairwise steps on the mixture of row i: some share of its worst answer goes to its best."""
        answers, shares = self.answers[i], self.shares[i]
        if len(answers) < 2:
            return
        theta, curvature = self._theta(i), self.cost[i] * self.square[i] * self.scale
        before = self.mu[i].copy()
        slopes = answers @ theta
        for _ in range(_STEPS):
            up = int(np.argmax(slopes))
            down = int(np.argmin(np.where(shares > 0, slopes, np.inf)))
            rise = slopes[up] - slopes[down]
            if rise <= _SETTLED * (1.0 + np.abs(theta).sum()):
                break
            way = answers[up] - answers[down]
            bend = float(curvature @ way**2)
            step = min(float(shares[down]), rise / bend) if bend > 0 else float(shares[down])
            shares[up] += step
            shares[down] -= step
            self.mu[i] += step * way
            slopes = slopes - step * (answers @ (curvature * way))
        kept = shares > 0
        self.answers[i], self.shares[i] = answers[kept], shares[kept] / shares[kept].sum()
        self.mu[i] = np.clip(self.shares[i] @ self.answers[i], 0.0, 1.0)
        change = self.cost[i] * self.scale * (before - self.mu[i])
        moved = np.flatnonzero(change)
        self.nodes[moved] += np.multiply.outer(change[moved], self.X[i])

    def dual(self) -> sp.csr_array:
        """c_i |mu_in - y_in|, nodes x rows."""
        return sp.csr_array((self.cost[:, None] * np.abs(self.mu - self.own)).T)


def best_relaxed(loss: Any, theta: Array) -> Array:
    """z of the largest theta . z, by HiGHS.

    >>> from taxolearn.losses import RelaxedSetHinge, star_hinge
    >>> star = star_hinge(2)
    >>> loss = RelaxedSetHinge(*(getattr(star, name) for name in star.__dataclass_fields__))
    >>> best_relaxed(loss, np.array([0.0, -1.0, -2.0])).tolist()
    [1.0, 1.0, 0.0]
    """
    from scipy.optimize import linprog

    A, b = loss.constraints
    limits = np.zeros((loss.n_nodes, 2))
    limits[:, 1] = 1.0
    limits[0, 0] = 1.0
    found = linprog(-theta, A_ub=A, b_ub=b, bounds=limits, method="highs-ds")
    if found.status != 0:
        raise DataError(f"HiGHS could not solve the relaxation: {found.message}")
    z = np.clip(found.x, 0.0, 1.0)
    whole = np.round(z)
    return np.asarray(np.where(np.abs(z - whole) <= _WHOLE, np.abs(whole), z))
