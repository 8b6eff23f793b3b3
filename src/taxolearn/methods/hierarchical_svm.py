"""Hierarchical support vector machine of Cai and Hofmann."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.losses import StructuredHinge, structured_hinge
from taxolearn.methods.structured import StructuredMethod
from taxolearn.problem import Problem
from taxolearn.solvers import PegasosSGD
from taxolearn.structure import Taxonomy

COSTS = ("hamming", "tree", "sqrt_hamming", "zero_one")


class HierarchicalSVM(StructuredMethod):
    """Hierarchical SVM: every node has a vector, a class scores the sum along its path, mistakes cost what they
    are worth in the taxonomy (HSVM; Cai, Hofmann 2004; eq. (2) of Choi, Sasaki, Srebro).

    With w_l the sum of u_n over the ancestors n of class l and l itself, on a tree or a DAG, it minimises

        1/2 sum_n ||u_n||^2 + C sum_i c_i max(0, max over l != y_i of D(l, y_i) - S(l, y_i) (w_{y_i} - w_l) . x_i),

    x carrying the constant feature `intercept_scaling`. With margin rescaling D is the cost and S = 1; with slack
    rescaling (TREELOSS of Zhou, Xiao, Wu) D = S is the cost. C = 1 / (2 lambda) of the paper. Labels may be inner
    nodes; a leaf without rows takes part as a wrong answer to every row.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        Tree or DAG whose nodes the labels are. None: flat over the classes seen.
    cost : {"hamming", "tree", "sqrt_hamming", "zero_one"}
        Nodes by which two paths differ, edges between two classes, square root of the first, or one for any mistake.
    rescaling : {"margin", "slack"}
        How the cost enters, see above.
    C, solver, tol, max_iter, warm_start, fit_intercept, intercept_scaling, class_weight, probability, holdout
        As in `MulticlassSVM`; also n_jobs, random_state, verbose, max_seconds.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = HierarchicalSVM(tree).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Dog'], True)
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        C: float = 1.0,
        cost: str = "hamming",
        rescaling: str = "margin",
        solver: str | PegasosSGD = "dual",
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
        self.rescaling = rescaling
        self.solver = solver
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
        self._check_choice("rescaling", ("margin", "slack"))

    def _node_weights(self, problem: Problem) -> npt.NDArray[np.float64]:
        assert problem.taxonomy is not None
        return np.ones(problem.taxonomy.n_nodes)

    def _structured_loss(self, problem: Problem) -> StructuredHinge:
        return structured_hinge(problem, self._tie(problem), self.cost, self.rescaling)
