"""One-vs-rest logistic regression: the flat baseline with probabilities, and a certificate."""

from __future__ import annotations

from typing import ClassVar, Literal

from taxolearn.decoders import best_or_thresholds
from taxolearn.methods.parameters import estimator, parameter, positive
from taxolearn.methods.probabilities import LikelihoodProbabilities
from taxolearn.methods.several_labels import SeveralLabels
from taxolearn.problem import Problem
from taxolearn.ties import PathSum, flat


@estimator
class OneVsRestLogistic(LikelihoodProbabilities, SeveralLabels):
    """One-vs-rest logistic regression, each class by itself (classes know nothing of each other).

    For every class l, with y_il = 1 for its rows and -1 for all others, it minimises (Yu, Huang, Lin 2011,
    eq. 1; dual (3))

        1/2 (||w_l||^2 + b_l^2) + C sum_i c_il log(1 + exp(-y_il (w_l . x_i + b_l s))),

    where s is `intercept_scaling` and b_l s the intercept (none without `fit_intercept`). c_il is the row's
    `sample_weight`, times the `class_weight` of l for the rows of l; with two classes each row weighs as its own class.
    Every fit ends with a certificate: primal, dual and relative gap of the sum over the classes, recomputed in float64.

    >>> from taxolearn import Taxonomy
    >>> model = OneVsRestLogistic(taxonomy=Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]), C=10.0)
    >>> model.fit([[-1.0, 0.0], [1.0, 0.5]], ["Cat", "Dog"]).predict_proba([[2.0, 0.0]]).shape
    (1, 2)
    """

    _solvers = ("one_vs_rest", "interior")
    _decoder = staticmethod(best_or_thresholds)
    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    loss: str = parameter(default="logistic", doc="log(1 + exp(-m)).", choices=("logistic",))
    tol: float = parameter(
        default=1e-4, doc="Certified relative gap to reach, for each class.", check=positive
    )

    def _tie(self, problem: Problem) -> PathSum:
        return flat(problem.n_classes)
