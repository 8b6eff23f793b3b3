"""What the one-vs-rest methods share: their solver and its certificate."""

from __future__ import annotations

from typing import Any

from taxolearn.certificates import Certificate, certify_one_vs_rest
from taxolearn.losses import MarginLoss, margin_loss
from taxolearn.methods.certified import CertifiedClassifier
from taxolearn.methods.progress import block_reporter
from taxolearn.problem import Problem
from taxolearn.solvers import Solution, solve_one_vs_rest


class OneVsRest(CertifiedClassifier):
    """Base of the one-vs-rest estimators; see OneVsRestSVM and OneVsRestLogistic.

    >>> from taxolearn import OneVsRestLogistic
    >>> issubclass(OneVsRestLogistic, OneVsRest)
    True
    """

    _losses: tuple[str, ...]
    loss: str

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_choice("loss", self._losses)

    def _margin_loss(self) -> MarginLoss:
        return margin_loss(self.loss, self._losses)

    def _solve(self, problem: Problem, seed: int, verbose: int, start: Any = None) -> Solution:
        return solve_one_vs_rest(
            problem,
            self._margin_loss(),
            float(self.C),
            bias_feature=self._bias_feature,
            tol=float(self.tol),
            max_iter=self._epochs,
            n_jobs=self.n_jobs,
            max_seconds=self.max_seconds,
            seed=seed,
            on_block=block_reporter(bool(verbose)),
        )

    def _certify(self, problem: Problem, solution: Solution) -> Certificate:
        return certify_one_vs_rest(problem, solution, self._margin_loss(), self.C, self._bias_feature)
