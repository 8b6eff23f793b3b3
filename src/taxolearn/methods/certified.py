"""The way of every fit: check, hold out, solve, certify, and say so when the gap asked for was not reached."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from taxolearn.certificates import Certificate
from taxolearn.decoders import fit_sigmoids, tune_thresholds
from taxolearn.engines import interrupts
from taxolearn.errors import DataError
from taxolearn.methods.base import TaxonomyClassifier
from taxolearn.methods.held_out import hold_out
from taxolearn.methods.inputs import check_positive, check_rows, check_seed, check_targets
from taxolearn.problem import Problem, make_problem
from taxolearn.solvers import Progress, Solution, Status
from taxolearn.structure.names import show


class CertifiedClassifier(TaxonomyClassifier):
    """Base of the estimators that solve one optimisation problem and certify it.

    A method says how to solve (`_solve`) and certify (`_certify`) a problem, what its own parameters may be
    (`_check_parameters`) and what else it needs of the problem (`_prepare`).

    >>> from taxolearn import OneVsRestLogistic
    >>> issubclass(OneVsRestLogistic, CertifiedClassifier)
    True
    """

    # whether leaves without rows are classes
    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    C: float
    tol: float
    max_iter: int
    fit_intercept: bool
    intercept_scaling: float
    class_weight: Any
    holdout: float
    n_jobs: int | None
    random_state: Any
    verbose: int
    max_seconds: float | None
    history_: list[Progress]
    calibration_: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights and certify them; see the class for the objective.

        Ctrl-C, `max_seconds` and `max_iter` keep the weights so far, those of the best dual: `certificate_.status` and
        `certificate_.gap` tell.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM(tol=1e-3).fit([[-1.0], [1.0]], ["a", "b"]).certificate_.holds(1e-3)
        True
        """
        self._check_parameters()
        rows = check_rows(self, X, reset=True)
        y = check_targets(self, y)
        problem = make_problem(
            rows,
            y,
            self.taxonomy,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
            empty_classes=self._empty_classes,
        )
        return self._fit_problem(problem, y, self._start(problem))

    def _fit_problem(self, problem: Problem, y: Any, start: Any) -> Self:
        """The fit proper, from `start` on if there is one; y is what the labels were given as."""
        seed = check_seed(self.random_state)
        if hasattr(self, "weights_"):
            del self.weights_  # a fit that fails from here on must not leave a mixture of two models
        self._remember_labels(problem, y)
        self.data_ = {"rows": problem.n_rows, "fingerprint": problem.fingerprint()}
        self._prepare(problem)
        with interrupts():  # Ctrl-C stops the solver at its next step, wherever it comes
            self._fit_on_held_out(problem, seed)
            solution = self._solve(problem, seed, self.verbose, start)
            self._keep(problem, solution)
            self.n_iter_ = solution.n_iter
            self.history_ = solution.history
            found = self._certify(problem, solution)
            self.weights_, self.certificate_ = self._best_known(problem, start, solution.weights, found)
        if not self.certificate_.holds(self.tol):
            status = solution.status
            reason = "rounding errors" if status is Status.CONVERGED else status.value
            warnings.warn(
                f"{type(self).__name__} stopped by {reason} at a certified relative gap of "
                f"{self.certificate_.gap:.2e}, above tol={self.tol:g}; {self._advice()}, or accept the gap",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _advice(self) -> str:
        """What would bring a fit that stopped early to the gap asked for."""
        return "raise max_iter or max_seconds"

    def _solve(self, problem: Problem, seed: int, verbose: int, start: Any = None) -> Solution:
        raise NotImplementedError

    def _certify(self, problem: Problem, solution: Solution) -> Certificate:
        raise NotImplementedError

    def _prepare(self, problem: Problem) -> None:
        """What a method works out from the structure before it solves."""

    def _start(self, problem: Problem) -> Any:
        """A dual to start from, if the method has kept one that fits the problem."""
        return None

    def _keep(self, problem: Problem, solution: Solution) -> None:
        """What a method keeps of a solution besides its weights."""

    def _best_known(
        self, problem: Problem, start: Any, weights: Any, certificate: Certificate
    ) -> tuple[Any, Certificate]:
        """The weights to keep, and their certificate: those just found, unless `start` is known to have better ones."""
        return weights, certificate

    def _check_parameters(self) -> None:
        check_positive(
            C=self.C, tol=self.tol, max_iter=self.max_iter, intercept_scaling=self.intercept_scaling
        )
        if self.max_seconds is not None:
            check_positive(max_seconds=self.max_seconds)
        if self.max_iter != int(self.max_iter):
            raise DataError(f"max_iter={show(self.max_iter)} is not allowed; give a whole number")
        if not isinstance(self.holdout, float) or not 0 < self.holdout < 1:
            raise DataError(
                f"holdout={show(self.holdout)} is not allowed; give a share of rows between 0 and 1"
            )
        self._check_choice("thresholds", ("zero", "tuned"))

    def _check_choice(self, name: str, choices: tuple[str, ...]) -> None:
        """A parameter that is one of a few words, where the method has it."""
        value = getattr(self, name, choices[0])
        if not isinstance(value, str) or value not in choices:
            known = (
                ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
                if choices[1:]
                else repr(choices[0])
            )
            raise DataError(f"{name}={show(value)} is not known; choose {known}")

    @property
    def _bias_feature(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    @property
    def _epochs(self) -> int:
        return min(int(self.max_iter), 2**31)  # the kernels count in 64 bits

    def _wants_probabilities(self) -> bool:
        return False

    def _fit_on_held_out(self, problem: Problem, seed: int) -> None:
        """Thresholds and calibration from a fit without the held-out rows; both are zero-cost when not asked for."""
        self.thresholds_ = np.zeros(problem.n_classes)
        self.calibration_ = None
        tune = getattr(self, "thresholds", "zero") == "tuned" and self._multilabel
        if not (tune or self._wants_probabilities()):
            return
        held, kept = hold_out(problem, self.holdout, seed)
        trial = self._solve(problem.subset(kept), seed, 0)
        scores = trial.weights.scores(problem.X[held]).astype(np.float64)
        targets = problem.targets[held].toarray() > 0
        if tune:
            self.thresholds_ = tune_thresholds(scores, targets, row_weight=problem.row_weight[held])
        if self._wants_probabilities():
            self.calibration_ = fit_sigmoids(scores, targets, problem.row_weight[held])
