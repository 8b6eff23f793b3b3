"""What all methods of recursive regularization share, over taxonomies and over graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from taxolearn.losses import MarginLoss, Softmax, margin_loss
from taxolearn.methods.certified import CertifiedClassifier
from taxolearn.methods.inputs import check_number
from taxolearn.models import NodeWeights
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum


class Tie(Protocol):
    """What ties classes together.

    >>> from taxolearn.regularizers import flat
    >>> tie: Tie = flat(3)
    """

    @property
    def shares(self) -> bool:
        """Whether two classes have a vector in common."""
        ...


def if_of_tie(weights: Any, tie: PathSum) -> NodeWeights | None:
    """The weights, if they hold a vector for every node of this very tie: then a solver can start from them.

    >>> from taxolearn.regularizers import flat
    >>> weights = NodeWeights(np.zeros((1, 3)), flat(3).paths, np.zeros(3))
    >>> if_of_tie(weights, flat(3)) is weights, if_of_tie(weights, flat(2)), if_of_tie(None, flat(2))
    (True, None, None)
    """
    if not isinstance(weights, NodeWeights) or weights.paths.shape != tie.paths.shape:
        return None
    old, new = weights.paths, tie.paths
    same = all(
        np.array_equal(getattr(old, part), getattr(new, part)) for part in ("indptr", "indices", "data")
    )
    return weights if same else None


class TiedClassifier(CertifiedClassifier):
    """Base of the recursive methods: a loss by name, and intercepts that are tied to a prior.

    >>> from taxolearn import GraphRecursiveSVM, RecursiveSVM
    >>> issubclass(RecursiveSVM, TiedClassifier), issubclass(GraphRecursiveSVM, TiedClassifier)
    (True, True)
    """

    _losses: tuple[str, ...]

    loss: str
    intercept_prior: float | str
    warm_start: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.loss != "softmax"
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_choice("loss", self._losses)
        check_number("intercept_prior", self.intercept_prior, "auto")

    def _loss(self) -> MarginLoss | Softmax:
        return Softmax() if self.loss == "softmax" else margin_loss(self.loss, self._losses)

    def _bias_prior(self, problem: Problem, tie: Tie) -> float:
        """b_0 of the penalty 1/2 (b_l - b_0)^2, the intercept being `intercept_scaling` times b_l.

        With b_0 = 0 an intercept that says no to most rows is paid for by duals of those rows, about one a class; where
        classes share vectors these duals add up there, and push what is shared away from the very rows under it.
        "auto" is then the intercept of a class that knows nothing and says no: -1 for hinge losses, where all margins
        are met, minus the logarithm of the number of rows for the logistic loss. Without shared vectors it is 0: plain
        one-vs-rest.
        """
        if not isinstance(self.intercept_prior, str):
            return float(self.intercept_prior)
        if self.loss == "softmax" or not self._bias_feature or not tie.shares:
            return 0.0
        low = -float(np.log(problem.n_rows)) if self.loss == "logistic" else -1.0
        return low / self._bias_feature

    def _settings(self, problem: Problem, tie: Tie, on_pass: Callable[..., None] | None) -> dict[str, Any]:
        """What every solver is told."""
        return {
            "bias_feature": self._bias_feature,
            "bias_prior": self._bias_prior(problem, tie),
            "tol": float(self.tol),
            "max_iter": self._epochs,
            "max_seconds": self.max_seconds,
            "on_pass": on_pass,
        }
