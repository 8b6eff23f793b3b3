"""Shared SVM of Choi, Sasaki and Srebro: node weights learned from the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.certificates import Certificate, certify_shared
from taxolearn.errors import DataError
from taxolearn.losses import StructuredHinge, structured_hinge
from taxolearn.methods.hierarchical_svm import COSTS
from taxolearn.methods.progress import pass_reporter
from taxolearn.methods.structured import StructuredMethod, given_weights
from taxolearn.problem import Problem
from taxolearn.regularizers import node_weights, path_sum
from taxolearn.solvers import Solution, solve_shared
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show


class SharedSVM(StructuredMethod):
    """Hierarchical SVM that learns how much each node of the taxonomy weighs (SSVM; Choi, Sasaki, Srebro,
    section 6).

    It minimises (14) over node vectors u and node weights a >= 0 together, a convex problem,

        1/2 sum_n ||u_n||^2 / a_n + C sum_i c_i max(0, max over l != y_i of D(l, y_i) - (w_{y_i} - w_l) . x_i),
        with sum of a_n <= 1 along the path of every class,

    w_l being the sum of u_n over the path of class l: regularization by the structured shared norm (16), which
    shares where sharing pays and is flat where it does not. By turns: u for fixed a, and a for fixed u, in closed
    form on trees (Algorithm 1, corrected) and, beyond the paper, by the cone programme (20) on DAGs. The
    certificate's lower bound is that of the joint problem. C = 1 / (2 lambda) of the paper.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        Tree or DAG whose nodes the labels are. None: flat over the classes seen.
    cost : {"zero_one", "hamming", "tree", "sqrt_hamming"}
        The fixed cost D; the paper does not say which it used.
    first_weights : {"maxmin", "rho"} or array of one number a node
        Where the weights start: strictly positive on every path, because a weight of zero could never rise.
    C, tol, max_iter, warm_start, fit_intercept, intercept_scaling, class_weight, probability, holdout, n_jobs
        As in `MulticlassSVM`; also random_state, verbose, max_seconds.

    Attributes
    ----------
    node_weights_ : array of float
        The learned weights.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = SharedSVM(tree).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Dog'], True)
    """

    _learned: npt.NDArray[np.float64]  # where a warm start begins

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        C: float = 1.0,
        cost: str = "zero_one",
        first_weights: Any = "maxmin",
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        probability: bool = False,
        holdout: float = 0.2,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        max_seconds: float | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.cost = cost
        self.first_weights = first_weights
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.probability = probability
        self.holdout = holdout
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_seconds = max_seconds

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_choice("cost", COSTS)
        if isinstance(self.first_weights, str):
            self._check_choice("first_weights", ("maxmin", "rho"))

    def _node_weights(self, problem: Problem) -> npt.NDArray[np.float64]:
        assert problem.taxonomy is not None
        if isinstance(self.first_weights, str):
            rule: Any = self.first_weights
            return node_weights(problem.taxonomy, rule, class_nodes=problem.class_nodes)
        first = given_weights("first_weights", self.first_weights)
        sums = path_sum(problem.taxonomy, problem.class_nodes, first).paths @ first
        if (sums > 1 + 1e-9).any():
            name = show(problem.classes[int(np.argmax(sums))])
            raise DataError(
                f"first_weights sum to {sums.max():g} along the path of {name}; at most 1 is allowed"
            )
        return first

    def _structured_loss(self, problem: Problem) -> StructuredHinge:
        return structured_hinge(problem, self._tie(problem), self.cost)

    def _solve(self, problem: Problem, seed: int, verbose: int, start: Any = None) -> Solution:
        if problem.taxonomy is None:
            return super()._solve(problem, seed, verbose, start)
        tie = self._tie(problem)
        if start is not None:
            tie = path_sum(problem.taxonomy, problem.class_nodes, self._learned)
        return solve_shared(
            problem,
            self._structured_loss(problem),
            tie,
            float(self.C),
            bias_feature=self._bias_feature,
            tol=float(self.tol),
            max_iter=self._epochs,
            n_jobs=self.n_jobs,
            max_seconds=self.max_seconds,
            seed=seed,
            start=start,
            on_epoch=pass_reporter(bool(verbose), float(self.tol)),
        )

    def _keep(self, problem: Problem, solution: Solution) -> None:
        super()._keep(problem, solution)
        self._learned = self.node_weights_ = solution.details.get("scale", self.node_weights_)

    def _certify(self, problem: Problem, solution: Solution) -> Certificate:
        if problem.taxonomy is None:
            return super()._certify(problem, solution)
        loss, tie = self._structured_loss(problem), self._tie(problem)
        return certify_shared(problem, solution, loss, tie, self.C, self._bias_feature)
