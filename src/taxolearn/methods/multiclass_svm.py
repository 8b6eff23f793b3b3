"""Multi-class support vector machine of Crammer and Singer: the flat end of the structured methods."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from taxolearn.losses import StructuredHinge, structured_hinge
from taxolearn.methods.structured import StructuredMethod
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum, flat
from taxolearn.solvers import PegasosSGD
from taxolearn.structure import Taxonomy


class MulticlassSVM(StructuredMethod):
    """Multi-class SVM over the classes seen, which know nothing of each other (Crammer, Singer 2001, eq. 6;
    "FlatSVM" of Choi, Sasaki, Srebro).

    It minimises, with s_l(x) = w_l . x + b_l s and x carrying the constant feature s = `intercept_scaling`,

        1/2 sum_l (||w_l||^2 + b_l^2) + C sum_i c_i max(0, max over l != y_i of 1 - s_{y_i}(x_i) + s_l(x_i)),

    c_i being the row's `sample_weight` times the `class_weight` of its class. Unlike one-vs-rest, classes are compared
    with each other, as `predict` does. Every fit ends with a certificate recomputed in float64.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        Labels must be its nodes; used for paths, metrics and storage, not for learning.
    C : float
        Weight of the losses; 1 / (2 lambda) of the paper, whose losses are summed, too.
    solver : {"dual", "pegasos"} or PegasosSGD
        "dual" goes on until the gap is certified. "pegasos" (options: `taxolearn.solvers.PegasosSGD`), the optimiser of
        the paper, makes a few passes and never claims to have converged: the certificate says how near it came. With
        `warm_start=True` a later fit with "dual" begins where it ended.
    tol : float
        Certified relative gap to reach.
    max_iter : int
        Passes over the rows.
    warm_start : bool
        Start from the dual of the last fit when rows and labels are the same (C may differ); see also `fit_path`.
    fit_intercept, intercept_scaling, class_weight, probability, holdout, n_jobs, random_state, verbose, max_seconds
        As in `OneVsRestSVM`.

    >>> model = MulticlassSVM().fit([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], ["a", "b", "c"])
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['c'], True)
    """

    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        C: float = 1.0,
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

    def _node_weights(self, problem: Problem) -> npt.NDArray[np.float64]:
        return np.ones(problem.n_classes)

    def _tie(self, problem: Problem) -> PathSum:
        return flat(problem.n_classes)

    def _structured_loss(self, problem: Problem) -> StructuredHinge:
        return structured_hinge(problem, self._tie(problem), "zero_one")
