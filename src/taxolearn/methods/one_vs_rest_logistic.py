"""One-vs-rest logistic regression: the flat baseline with native probabilities."""

from __future__ import annotations

from typing import Any

from taxolearn.methods.one_vs_rest import OneVsRest
from taxolearn.methods.probabilities import LogisticProbabilities
from taxolearn.structure import Taxonomy


class OneVsRestLogistic(LogisticProbabilities, OneVsRest):
    """One-vs-rest logistic regression, the tie being A = I (classes know nothing of each other).

    For every class l, with y_il = 1 for its rows and -1 for all others, it minimises (Yu, Huang, Lin 2011,
    eq. 1; dual (3))

        1/2 (||w_l||^2 + b_l^2) + C sum_i c_il log(1 + exp(-y_il (w_l . x_i + b_l s))),

    where s is `intercept_scaling` and b_l s the intercept (none without `fit_intercept`). c_il is the row's
    `sample_weight`, times the `class_weight` of l for the rows of l; with two classes each row weighs as its own class.
    Every fit ends with a certificate: primal, dual and relative gap of the sum over the classes, recomputed in float64.

    Parameters are those of OneVsRestSVM; `loss` has one choice, and `predict_proba` needs no calibration.

    >>> model = OneVsRestLogistic(taxonomy=Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]), C=10.0)
    >>> model.fit([[-1.0, 0.0], [1.0, 0.5]], ["Cat", "Dog"]).predict_proba([[2.0, 0.0]]).shape
    (1, 2)
    """

    _losses = ("logistic",)

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        C: float = 1.0,
        loss: str = "logistic",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        thresholds: str = "zero",
        holdout: float = 0.2,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        max_seconds: float | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.thresholds = thresholds
        self.holdout = holdout
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_seconds = max_seconds
