"""One-vs-rest support vector machine: the flat baseline, with a certificate."""

from __future__ import annotations

from typing import ClassVar, Literal

from taxolearn.decoders import best_or_thresholds
from taxolearn.methods.parameters import estimator, parameter, positive
from taxolearn.methods.probabilities import CalibratedProbabilities
from taxolearn.methods.several_labels import SeveralLabels
from taxolearn.problem import Problem
from taxolearn.ties import PathSum, flat


@estimator
class OneVsRestSVM(CalibratedProbabilities, SeveralLabels):
    """One-vs-rest linear SVM with hinge or squared hinge loss, each class by itself (classes know nothing
    of each other).

    For every class l, with y_il = 1 for its rows and -1 for all others, it minimises LIBLINEAR's objective
    (Fan, Chang, Hsieh, Wang, Lin 2008, eq. 1; dual (4) by Hsieh et al. 2008)

        1/2 (||w_l||^2 + b_l^2) + C sum_i c_il loss(y_il (w_l . x_i + b_l s)),   loss(m) = max(0, 1 - m) or its square,

    where s is `intercept_scaling` and b_l s the intercept (none without `fit_intercept`). c_il is the row's
    `sample_weight`, times the `class_weight` of l for the rows of l; with two classes each row weighs as its own class.
    Every fit ends with a certificate: primal, dual and relative gap of the sum over the classes, recomputed in float64.

    >>> from taxolearn import Taxonomy
    >>> model = OneVsRestSVM(taxonomy=Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]))
    >>> model.fit([[-1.0, 0.0], [1.0, 0.5]], ["Cat", "Dog"]).predict([[2.0, 0.0]]).tolist()
    ['Dog']
    >>> model.certificate_.holds(1e-4)
    True
    """

    _solvers = ("one_vs_rest", "interior")
    _decoder = staticmethod(best_or_thresholds)
    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    loss: str = parameter(
        default="squared_hinge", doc="max(0, 1 - m)^2 or max(0, 1 - m).", choices=("squared_hinge", "hinge")
    )
    tol: float = parameter(
        default=1e-4, doc="Certified relative gap to reach, for each class.", check=positive
    )

    def _tie(self, problem: Problem) -> PathSum:
        return flat(problem.n_classes)
