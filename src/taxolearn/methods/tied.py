"""What all methods of recursive regularization share, over taxonomies and over graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from taxolearn.certificates import Certificate
from taxolearn.losses import MarginLoss, Softmax, margin_loss
from taxolearn.methods.certified import CertifiedClassifier
from taxolearn.methods.checkpoint import mark_of
from taxolearn.methods.inputs import check_number
from taxolearn.methods.warm_start import Kept, Start, better_of
from taxolearn.problem import Problem
from taxolearn.solvers import Solution


class Tie(Protocol):
    """What ties classes together.

    >>> from taxolearn.regularizers import flat
    >>> tie: Tie = flat(3)
    """

    @property
    def shares(self) -> bool:
        """Whether two classes have a vector in common."""
        ...


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
    _kept: Kept

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
        weighted = max(1, int(np.count_nonzero(problem.row_weight)))
        low = -float(np.log(weighted)) if self.loss == "logistic" else -1.0
        return low / self._bias_feature

    def _settings(self, problem: Problem, tie: Tie, report: Callable[..., None] | None) -> dict[str, Any]:
        """What every solver is told."""
        return {
            "bias_feature": self._bias_feature,
            "bias_prior": self._bias_prior(problem, tie),
            "tol": float(self.tol),
            "max_iter": self._epochs,
            "max_seconds": self.max_seconds,
            "on_pass": None if report is None else lambda progress, dual: report(progress),
        }

    def _advice(self) -> str:
        return f"{super()._advice()}, bring the features to one scale, lower C"

    def _tie(self, problem: Problem) -> Any:
        """What ties the classes of a problem."""
        raise NotImplementedError

    def _tie_arrays(self, tie: Any) -> tuple[Any, ...]:
        """All that makes a tie what it is."""
        raise NotImplementedError

    def _mark(self, problem: Problem, tie: Any) -> str:
        """A hash of all that the optimum depends on."""
        prior, bias = self._bias_prior(problem, tie), self._bias_feature
        return mark_of(problem.fingerprint(), self.loss, float(self.C), *self._tie_arrays(tie), prior, bias)

    def _start(self, problem: Problem) -> Start | None:
        """The last fit, where `warm_start` asks for it and rows and labels are the same; C may have changed."""
        kept = getattr(self, "_kept", None)
        if not self.warm_start or kept is None or kept.data != problem.fingerprint():
            return None
        if (kept.loss == "softmax") != (self.loss == "softmax"):
            return None  # duals of another kind
        dual = kept.dual if self.loss == "softmax" else kept.dual * (self.C / kept.C)
        return Start(dual, kept.state, kept)

    def _keep(self, problem: Problem, solution: Solution) -> None:
        if self.warm_start:
            state = solution.details.get("state", solution.weights)
            of_data = (self.data_["fingerprint"], self.loss, float(self.C))
            self._kept = Kept(*of_data, solution.dual, solution.weights, state, problem)

    def _best_known(
        self, problem: Problem, start: Any, weights: Any, certificate: Certificate
    ) -> tuple[Any, Certificate]:
        """The better weights and the better dual of this fit and the one before: a fit stopped in a pass may lose."""
        if not self.warm_start:
            return weights, certificate
        now = self._kept._replace(mark=self._mark(problem, self._tie(problem)), certificate=certificate)
        self._kept = better_of(getattr(start, "kept", None), now)
        return self._kept.weights, self._kept.certificate
