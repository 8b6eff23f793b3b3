"""What methods share that take several labels per row, and those whose intercepts are tied to a prior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.decoders import Decoder, common_threshold, tune_thresholds
from taxolearn.decoders.thresholds import SERVED
from taxolearn.losses import LOSSES, Loss
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.parameters import estimator, number_or, parameter
from taxolearn.problem import Problem
from taxolearn.ties import Tie

Array = npt.NDArray[np.float64]


@estimator
class SeveralLabels(CertifiedClassifier):
    """Methods that take several labels per row: sets of classes above thresholds.

    >>> from taxolearn import OneVsRestSVM
    >>> issubclass(OneVsRestSVM, SeveralLabels)
    True
    """

    thresholds: str = parameter(
        default="zero",
        doc="Several labels per row: predict scores above zero, or above thresholds tuned on held-out rows.",
        choices=("zero", "tuned"),
    )
    serve: str = parameter(
        default="micro",
        doc=(
            'Which F1 tuned thresholds are for. "micro" (over all pairs of row and label) and "example" (the mean over '
            'rows) take one threshold for all classes, "macro" (the mean over classes) one for each (SCutFBR.1), which '
            "costs micro-F1 where classes are small."
        ),
        choices=SERVED,
    )
    empty_sets: str = parameter(
        default="auto",
        doc=(
            'Rows with no score above its threshold: "fill" gives them the best label, "allow" none; "auto" fills, '
            "unless y has rows without labels."
        ),
        choices=("auto", "fill", "allow"),
    )

    def _untuned_decoder(self, problem: Problem) -> Decoder:
        return self._filling(problem, self._decoder(problem))

    def _tuned_decoder(self, problem: Problem, scores: Array, held: Any) -> Decoder:
        targets, weight = problem.targets[held].toarray() > 0, problem.row_weight[held]
        if self.serve == "macro":
            thresholds = tune_thresholds(scores, targets, row_weight=weight)
        else:
            fill = self._fills(problem)
            thresholds = common_threshold(scores, targets, self.serve, fill, row_weight=weight)
        return self._filling(problem, self._decoder(problem, thresholds))

    def _fills(self, problem: Problem) -> bool:
        labelled = np.diff(problem.labels.indptr) > 0
        return self.empty_sets == "fill" or (self.empty_sets == "auto" and bool(labelled.all()))

    def _filling(self, problem: Problem, decoder: Decoder) -> Decoder:
        return replace(decoder, fill=self._fills(problem)) if decoder.several else decoder  # type: ignore[type-var]


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
