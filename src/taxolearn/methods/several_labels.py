"""What methods share that take several labels per row, and those whose intercepts are tied to a prior."""

from __future__ import annotations

from typing import Any

from taxolearn.losses import LOSSES, Loss
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.parameters import estimator, number_or, parameter
from taxolearn.problem import Problem
from taxolearn.ties import Tie


@estimator
class SeveralLabels(CertifiedClassifier):
    """Methods that take several labels per row: sets of classes above thresholds.

    >>> from taxolearn import OneVsRestSVM
    >>> issubclass(OneVsRestSVM, SeveralLabels)
    True
    """

    thresholds: str = parameter(
        default="zero",
        doc=(
            "Several labels per row: predict scores above zero, or above thresholds tuned on held-out rows "
            "(SCutFBR.1)."
        ),
        choices=("zero", "tuned"),
    )


@estimator
class TiedIntercepts(SeveralLabels):
    """Methods whose classes share vectors, and whose intercepts are tied to a prior.

    >>> from taxolearn import GraphRecursiveSVM, RecursiveSVM
    >>> issubclass(RecursiveSVM, TiedIntercepts), issubclass(GraphRecursiveSVM, TiedIntercepts)
    (True, True)
    """

    intercept_prior: float | str = parameter(
        default="auto",
        doc=(
            "Where intercepts are tied to: 1/2 (b_l - intercept_prior)^2. With 0, saying no to the rows of "
            "others is paid for in duals of those rows, which push shared vectors away from the rows under "
            'them. "auto" is 0 where classes share nothing, and else the intercept of a class that knows '
            "nothing and says no: -1 for hinge losses, minus the logarithm of the summed weight of the rows "
            "for the logistic loss, 0 for softmax."
        ),
        check=number_or("auto"),
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = LOSSES[self.loss].facts.several_labels
        return tags

    def _bias_prior(self, problem: Problem, loss: Loss, tie: Tie) -> float:
        if not isinstance(self.intercept_prior, str):
            return float(self.intercept_prior)
        if not tie.facts.shares:
            return 0.0
        return loss.low_intercept(float(problem.row_weight.sum())) / float(self.intercept_scaling)
