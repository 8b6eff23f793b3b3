"""Normalized Hierarchical SVM of Choi, Sasaki and Srebro."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.losses import StructuredHinge, structured_hinge
from taxolearn.methods.structured import StructuredMethod, given_weights
from taxolearn.problem import Problem
from taxolearn.regularizers import node_weights
from taxolearn.solvers import PegasosSGD
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show


class NormalizedHierarchicalSVM(StructuredMethod):
    """Hierarchical SVM whose node weights and margins are normalised, so that deep classes do not come cheaper
    than shallow ones (NHSVM; Choi, Sasaki, Srebro, sections 5 and 5.1).

    With node weights a_n that sum to one along every path (4), u_n = sqrt(a_n) W_n of the paper, and w_l the sum of u_n
    over the path of class l, it minimises objective (10), written as (11),

        1/2 sum_n ||u_n||^2 / a_n + C sum_i c_i max(0, max over l != y_i of D(l, y_i) - (w_{y_i} - w_l) . x_i),

    D(l, y) = sqrt(sum of a_n over the nodes n on one of the two paths only) being the cost (9); or objective (13),
    which divides inside the max by that cost: max(0, 1 - (w_{y_i} - w_l) . x_i / D(l, y_i)). C = 1 / (2 lambda) of
    the paper; x carries the constant feature `intercept_scaling`. Labels may be inner nodes, and leaves may have no
    rows.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        Tree or DAG whose nodes the labels are. None: flat over the classes seen.
    weights : {"maxmin", "rho", "uniform", "leaf"} or array of one number a node
        The rule of `taxolearn.node_weights`: (7), (6), or the ends of the scale, HSVM's and the flat ones.
    rho, directional, T
        Of the rule "rho" only: its power, whether no parent may weigh more than its child, and the relaxed sum (8) for
        DAGs.
    objective : {10, 13}
        The equation of the paper.
    C, solver, tol, max_iter, warm_start, fit_intercept, intercept_scaling, class_weight, probability, holdout
        As in `MulticlassSVM`; also n_jobs, random_state, verbose, max_seconds.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = NormalizedHierarchicalSVM(tree).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Dog'], True)
    >>> model.node_weights_.round(2).tolist()
    [0.33, 0.33, 0.33, 0.33, 0.67]
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        C: float = 1.0,
        weights: Any = "maxmin",
        rho: float = 2.0,
        directional: bool = False,
        T: float | None = None,
        objective: int = 10,
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
        self.weights = weights
        self.rho = rho
        self.directional = directional
        self.T = T
        self.objective = objective
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
        if isinstance(self.weights, str):
            self._check_choice("weights", ("maxmin", "rho", "uniform", "leaf"))
        if isinstance(self.objective, bool) or self.objective not in (10, 13):
            raise DataError(f"objective={show(self.objective)} is not known; choose 10 or 13")
        by_rho = isinstance(self.weights, str) and self.weights == "rho"
        for name, default in (("rho", 2.0), ("directional", False), ("T", None)):
            value = getattr(self, name)
            if not by_rho and value != default:
                raise DataError(
                    f"{name}={show(value)} belongs to weights='rho' and has no part in weights={show(self.weights)}; "
                    "leave it out"
                )

    def _node_weights(self, problem: Problem) -> npt.NDArray[np.float64]:
        assert problem.taxonomy is not None
        if not isinstance(self.weights, str):
            return given_weights("weights", self.weights)
        rule: Any = self.weights
        by_power: dict[str, Any] = (
            {"rho": self.rho, "directional": self.directional, "T": self.T} if self.weights == "rho" else {}
        )
        return node_weights(problem.taxonomy, rule, class_nodes=problem.class_nodes, **by_power)

    def _structured_loss(self, problem: Problem) -> StructuredHinge:
        rescaling = "margin" if self.objective == 10 else "unit"
        return structured_hinge(problem, self._tie(problem), "normalized", rescaling)
