"""HBLR: variances of the nodes of a taxonomy learned from the data, by turns with the vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import gammaln

from taxolearn.engines import Run
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Requires, Solution, Start, Status, check_requirements
from taxolearn.solvers.expected_softmax import (
    ExpectedLosses,
    ShiftedSoftmax,
    Uncertain,
    better_tilt,
    curvature,
    expected_losses,
)
from taxolearn.solvers.newton import solve_newton
from taxolearn.solvers.smooth import along_axes, as_given
from taxolearn.solvers.solve import solve

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]

REQUIRES = Requires(("softmax",), paths=True, by_feature=True)
_MOST_NUMBERS = 2**28  # variances of all nodes and features, and of all nodes and rows: 2 GB each
_DENSE_PATHS = 2**12  # classes x nodes, up to which paths are kept dense
_TURNS = 2  # of tilt and posterior variances per round
_SHORTEST_STEP = 1e-3  # of the posterior variances
_LEAST_VARIANCE = 1e-12  # a variance of zero could never rise again


class VarianceRules(NamedTuple):
    """What is learned, and how.

    `groups` says for each node which variance is its own, -1 for a node whose scale stays as it is. The precisions
    alpha_g have the prior Gamma(shape, rate). With `inference` "map" the means are those of the most likely vectors and
    posterior variances are those of the curvature there; with "variational" both maximise the bound. Learning ends
    after `max_rounds`, or when a round raises the bound by less than `least_gain` per row (of weight one).

    >>> VarianceRules(np.array([0, 1])).inference
    'map'
    """

    groups: Ids
    shape: float = 1e-2
    rate: float = 1e-2
    inference: Literal["map", "variational"] = "map"
    max_rounds: int = 30
    least_gain: float = 1e-2


class LearnedVariances(NamedTuple):
    """The variance of each node, the bound after every round, where a fit with these variances may start, and whether
    the bound had settled, every fit on the way being solved to its gap.

    >>> LearnedVariances(np.ones(2), [-3.0, -2.0], Start(), 4, True).bound
    -2.0
    """

    scale: Array
    bounds: list[float]
    start: Start
    passes: int
    settled: bool

    @property
    def bound(self) -> float:
        """The last one, which is the highest; minus infinity where no round was finished.

        >>> LearnedVariances(np.ones(2), [], Start(), 0, False).bound
        -inf
        """
        return self.bounds[-1] if self.bounds else -np.inf


@dataclass(frozen=True)
class Posterior:
    """Independent normal distributions of the weights of the learned nodes: their variances, features x nodes (along
    the principal axes of dense rows), and `spread`, those of u_n . x_i, rows x nodes.

    >>> Posterior(np.ones((2, 1)), np.ones((3, 1))).entropy
    1.0
    """

    variance: Array
    spread: Array

    @property
    def entropy(self) -> float:
        """Up to what the prior's own normalisation cancels: 1/2 sum (log v + 1)."""
        least = np.finfo(np.float64).tiny  # a huge feature leaves no variance that can be told from zero
        return 0.5 * float(np.sum(np.log(np.maximum(self.variance, least))) + self.variance.size)

    def towards(self, other: Posterior, step: float) -> Posterior:
        """A mixture of both, by variances."""
        return Posterior(
            self.variance + step * (other.variance - self.variance),
            self.spread + step * (other.spread - self.spread),
        )


def learn_variances(
    objective: Objective,
    rules: VarianceRules,
    limits: Limits,
    start: Start | None = None,
    *,
    asked: Any = "auto",
    among: Sequence[str] = ("newton",),
) -> LearnedVariances:
    """Variances a_n of w_n - w_parent of Hierarchical Bayesian Logistic Regression (Gopal, Yang, Bai, Niculescu-Mizil
    2012), for u_n ~ N(0, I / alpha_n), alpha_n ~ Gamma(a, b) and the softmax likelihood, raised to the power C.

    With independent normal posteriors of the u_n, of means m and variances v, the posterior of alpha_n is
    Gamma(a + d/2, b + 1/2 sum_j (m_nj^2 + v_nj)), d the features, and a_n = 1 / E[alpha_n]. By turns, what is best for
    the rest:

    - "map": m minimises the objective with these a_n, and v_nj = 1 / (1/a_n + H_nj), H the curvature of the losses;
    - "variational": m minimises it with shifted scores, H is that of the bound; every step raises the bound.

    The bound on the logarithm of the evidence is that of `expected_losses`. With "map" a round that does not raise it
    is not taken. Biases are no random variables. The scale of the tie is the first a.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/oak"])
    >>> X, y = [[1.0, 0.1], [1.0, -0.1], [-1.0, 0.0]] * 20, ["lion", "lynx", "oak"] * 20
    >>> problem = make_problem(X, y, tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    >>> rules = VarianceRules(np.array([-1, 0, 1, 2, 3]))
    >>> learned = learn_variances(Objective(problem, Softmax(), tie), rules, Limits(tol=1e-6))
    >>> learned.settled, bool(np.all(np.diff(learned.bounds) > 0))
    (True, True)
    >>> learned.scale.round().tolist()  # lions and lynxes differ by little: it takes long vectors to tell them apart
    [0.0, 2.0, 215.0, 215.0, 2.0]
    """
    check_requirements("variances", REQUIRES, objective)
    with limits.run() as run:
        return _Learning(objective, rules, limits, run, asked, among).learn(start)


class _Learning:
    """The rounds, and the best that they found."""

    def __init__(
        self,
        objective: Objective,
        rules: VarianceRules,
        limits: Limits,
        run: Run,
        asked: Any,
        among: Sequence[str],
    ) -> None:
        self.objective, self.rules, self.limits, self.run = objective, rules, limits, run
        self.asked, self.among = asked, among
        self.nodes = np.flatnonzero(rules.groups >= 0)
        self.group = rules.groups[self.nodes]
        paths = sp.csr_array(objective.tie.paths[:, self.nodes])
        # products with a small matrix take less time than SciPy takes to begin with a sparse one
        self.paths: Any = paths.toarray() if math.prod(paths.shape) <= _DENSE_PATHS else paths
        problem = objective.problem
        _check_sizes(problem, len(self.nodes))
        self.own, weight = problem.one_label
        self.cost = objective.C * weight
        self.by_feature = objective.tie.facts.by_feature
        X, _ = as_given(problem.X) if self.by_feature else along_axes(problem.X, self.cost)
        self.squares = X.multiply(X).tocsr() if sp.issparse(X) else X * X
        self.members = sp.csr_array(
            (np.ones(len(self.group)), (np.arange(len(self.group)), self.group)),
            shape=(len(self.group), int(self.group.max(initial=-1)) + 1),
        )
        members = self.members.sum(axis=0)
        self.gamma_shape = rules.shape + 0.5 * members * (1 if self.by_feature else problem.n_features)
        self.scale = np.array(objective.tie.scale)
        self.posterior: Posterior | None = None
        self.tilt = np.zeros((problem.n_rows, len(self.nodes)))
        self.offset: Array | None = None
        self.bounds: list[float] = []
        self.passes = 0

    def learn(self, start: Start | None) -> LearnedVariances:
        """Round by round, until the bound gains little more, or a limit comes."""
        start = start or Start()
        settled, solved = not len(self.nodes), True
        while not settled and len(self.bounds) < self.rules.max_rounds and not self.run.over():
            solution = self._means(start)
            self.passes += solution.n_iter
            solved = solved and solution.status is Status.CONVERGED
            start = Start(solution.dual, solution.vectors)
            if self.run.over():  # these are not the best means
                break
            uncertain = self._uncertain(solution)
            posterior, tilt, found = self._posterior(uncertain)
            squares = self._squares(solution, posterior)
            bound = self._bound(solution, posterior, found, squares)
            if self.bounds and bound <= self.bounds[-1]:
                settled = True  # the variances are those of the last round that gained
                break
            self.posterior, self.tilt, self.offset = posterior, tilt, found.offset
            enough = self.rules.least_gain * float(self.cost.sum())
            settled = bool(self.bounds) and bound - self.bounds[-1] < enough
            self.bounds.append(bound)
            self._set_scale(squares)
        return LearnedVariances(self.scale, self.bounds, start, self.passes, settled and solved)

    @property
    def variational(self) -> bool:
        """Whether means and posterior variances are those of the bound."""
        return self.rules.inference == "variational"

    @property
    def _prior(self) -> Array:
        """a_n of the learned nodes, or a_nj, features x nodes."""
        return self.scale[self.nodes].T

    def _means(self, start: Start) -> Solution:
        """The vectors for the variances as they are: the most likely ones, or those that the bound likes best."""
        limits = replace(self.limits, max_seconds=self.run.clock.left, engine=self.run.engine)
        objective = replace(self.objective, tie=replace(self.objective.tie, scale=self.scale))
        if not self.variational or self.offset is None:
            return solve(objective, limits, start, asked=self.asked, among=self.among)
        return solve_newton(replace(objective, loss=ShiftedSoftmax(self.offset)), limits, start)

    def _uncertain(self, solution: Solution) -> Uncertain:
        scores = solution.vectors.scores(self.objective.problem.X).astype(np.float64)
        spread = np.zeros_like(self.tilt) if self.posterior is None else self.posterior.spread
        return Uncertain(scores, spread, self.paths, self.own)

    def _posterior(self, uncertain: Uncertain) -> tuple[Posterior, Array, ExpectedLosses]:
        """Posterior variances, tilt and losses for new means."""
        posterior, tilt = self.posterior, self.tilt
        if posterior is None or not self.variational:
            bare = uncertain._replace(spread=np.zeros_like(tilt))
            tilt = expected_losses(bare, tilt).below
            posterior = self._of_curvature(tilt * (1.0 - tilt))
            uncertain = uncertain._replace(spread=posterior.spread)
        tilt, found = better_tilt(uncertain, tilt)
        for _ in range(_TURNS if self.variational else 0):
            posterior = self._better_posterior(posterior, uncertain, tilt, found)
            uncertain = uncertain._replace(spread=posterior.spread)
            tilt, found = better_tilt(uncertain, tilt)
        return posterior, tilt, found

    def _of_curvature(self, weights: Array) -> Posterior:
        """v_nj = 1 / (1/a_n + sum_i c_i weights_in x_ij^2)."""
        curved = np.asarray(self.squares.T @ (self.cost[:, None] * weights))
        variance = 1.0 / (curved + 1.0 / self._prior)
        return Posterior(variance, np.asarray(self.squares @ variance))

    def _better_posterior(
        self, posterior: Posterior, uncertain: Uncertain, tilt: Array, found: ExpectedLosses
    ) -> Posterior:
        """Posterior variances under which the bound is no lower, the tilt staying as it is.

        The losses are convex in the variances; those of the curvature are best for their linear part, so that a step
        towards them that is short enough gains.
        """
        other, step = self._of_curvature(curvature(tilt, found.below)), 1.0
        before = self._cost_of(posterior, found)
        while step >= _SHORTEST_STEP:
            tried = posterior.towards(other, step)
            losses = expected_losses(uncertain._replace(spread=tried.spread), tilt)
            if self._cost_of(tried, losses) < before:
                return tried
            step *= 0.5
        return posterior

    def _cost_of(self, posterior: Posterior, found: ExpectedLosses) -> float:
        """The part of the negative bound that posterior variances have to do with."""
        prior = 0.5 * float(np.sum(posterior.variance / self._prior))
        return float(self.cost @ found.losses) + prior - posterior.entropy

    def _squares(self, solution: Solution, posterior: Posterior) -> Array:
        """sum_j (m_nj^2 + v_nj) over all nodes of each group; features x groups where features are apart."""
        vectors: Any = solution.vectors
        nodes = vectors.nodes[self.nodes].T.toarray() if vectors.is_sparse else vectors.nodes[:, self.nodes]
        if self.by_feature:
            return np.asarray((nodes**2 + posterior.variance) @ self.members)
        return np.asarray(((nodes**2).sum(axis=0) + posterior.variance.sum(axis=0)) @ self.members)

    def _bound(
        self, solution: Solution, posterior: Posterior, found: ExpectedLosses, squares: Array
    ) -> float:
        """The bound on the logarithm of the evidence, with the best posterior of the precisions."""
        shape, rate = self.rules.shape, self.rules.rate
        of_precisions = gammaln(self.gamma_shape) - self.gamma_shape * np.log(rate + 0.5 * squares)
        constant = squares.size * (shape * np.log(rate) - gammaln(shape))
        bias = np.zeros(1)
        if self.objective.bias_feature:
            bias = solution.vectors.intercept / self.objective.bias_feature - self.objective.bias_prior
        return float(
            posterior.entropy
            + of_precisions.sum()
            + constant
            - self.cost @ found.losses
            - 0.5 * float(bias @ bias)
        )

    def _set_scale(self, squares: Array) -> None:
        """a_n = 1 / E[alpha_n] = (b + 1/2 sum_j (m_nj^2 + v_nj)) / (a + d/2)."""
        variances = (self.rules.rate + 0.5 * squares) / self.gamma_shape
        self.scale = self.scale.copy()
        self.scale[self.nodes] = np.maximum(variances, _LEAST_VARIANCE).T[self.group]


def _check_sizes(problem: Any, n_nodes: int) -> None:
    longest = max(problem.n_rows, problem.n_features)
    if longest * n_nodes > _MOST_NUMBERS:
        raise DataError(
            f"the variances of {n_nodes:,} nodes over {problem.n_features:,} features and {problem.n_rows:,} rows do "
            "not fit in memory; use RecursiveLogistic(loss='softmax') with given weights"
        )
