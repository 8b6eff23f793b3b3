"""One-vs-rest support vector machine: the flat baseline, with a certificate."""

from __future__ import annotations

from typing import Any

from taxolearn.methods.calibrated import CalibratedProbabilities
from taxolearn.methods.one_vs_rest import OneVsRest
from taxolearn.structure import Taxonomy


class OneVsRestSVM(CalibratedProbabilities, OneVsRest):
    """One-vs-rest linear SVM with hinge or squared hinge loss, the tie being A = I (classes know nothing
    of each other).

    For every class l, with y_il = 1 for its rows and -1 for all others, it minimises LIBLINEAR's objective
    (Fan, Chang, Hsieh, Wang, Lin 2008, eq. 1; dual (4) by Hsieh et al. 2008)

        1/2 (||w_l||^2 + b_l^2) + C sum_i c_il loss(y_il (w_l . x_i + b_l s)),   loss(m) = max(0, 1 - m) or its square,

    where s is `intercept_scaling` and b_l s the intercept (none without `fit_intercept`). c_il is the row's
    `sample_weight`, times the `class_weight` of l for the rows of l; with two classes each row weighs as its own class.
    Every fit ends with a certificate: primal, dual and relative gap of the sum over the classes, recomputed in float64.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        Labels must be its nodes (inner ones too); used for paths and storage. None: flat over the classes seen.
    C, loss, tol, max_iter, fit_intercept, intercept_scaling, class_weight
        As in LinearSVC, except that `tol` is the certified relative gap to reach, for each class.
    thresholds : {"zero", "tuned"}
        Several labels a row: predict scores above zero, or above thresholds tuned on held-out rows (SCutFBR.1).
    probability : bool
        Fit one sigmoid a class on held-out rows (Platt), so that `predict_proba` works. With one label a row the
        probabilities are scaled to sum to one.
    holdout : float
        Share of the rows held out for thresholds and probabilities; the final weights are fitted on all rows.
    n_jobs, random_state, verbose, max_seconds
        Threads; seed of the visiting order and of held-out rows; progress lines; time limit of each fit.

    >>> model = OneVsRestSVM(taxonomy=Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]))
    >>> model.fit([[-1.0, 0.0], [1.0, 0.5]], ["Cat", "Dog"]).predict([[2.0, 0.0]]).tolist()
    ['Dog']
    >>> model.certificate_.holds(1e-4)
    True
    """

    _losses = ("squared_hinge", "hinge")

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        C: float = 1.0,
        loss: str = "squared_hinge",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        thresholds: str = "zero",
        probability: bool = False,
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
        self.probability = probability
        self.holdout = holdout
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_seconds = max_seconds
