"""What the one-vs-rest methods share: fit, the held-out rows, and the certificate."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from taxolearn.certificates import certify_one_vs_rest
from taxolearn.decoders import fit_sigmoids, tune_thresholds
from taxolearn.engines import current_listener
from taxolearn.errors import DataError
from taxolearn.losses import MarginLoss, margin_loss
from taxolearn.methods.base import TaxonomyClassifier
from taxolearn.methods.inputs import check_positive, check_rows, check_seed, check_targets
from taxolearn.problem import Problem, make_problem
from taxolearn.solvers import Progress, Solution, solve_one_vs_rest
from taxolearn.structure.names import show

_HELD_OUT_BYTES = 512 * 2**20  # of held-out scores


class OneVsRest(TaxonomyClassifier):
    """Base of the one-vs-rest estimators; see OneVsRestSVM and OneVsRestLogistic.

    >>> from taxolearn import OneVsRestLogistic
    >>> issubclass(OneVsRestLogistic, OneVsRest)
    True
    """

    _losses: tuple[str, ...]
    loss: str
    C: float
    tol: float
    max_iter: int
    fit_intercept: bool
    intercept_scaling: float
    class_weight: Any
    thresholds: str
    holdout: float
    n_jobs: int | None
    random_state: Any
    verbose: int
    max_seconds: float | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn one weight vector a class and certify it; see the class for the objective.

        Ctrl-C, `max_seconds` and `max_iter` keep the best weights so far: `certificate_.status` and
        `certificate_.gap` tell.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM(tol=1e-3).fit([[-1.0], [1.0]], ["a", "b"]).certificate_.holds(1e-3)
        True
        """
        loss = self._check_parameters()
        rows = check_rows(self, X, reset=True)
        y = check_targets(self, y)
        problem = make_problem(
            rows, y, self.taxonomy, sample_weight=sample_weight, class_weight=self.class_weight
        )
        seed = check_seed(self.random_state)
        if hasattr(self, "weights_"):
            del self.weights_  # a fit that fails from here on must not leave a mixture of two models
        self._remember_labels(problem, y)
        self.data_ = {"rows": problem.n_rows, "fingerprint": problem.fingerprint()}
        self._fit_on_held_out(problem, loss, seed)
        solution = self._solve(problem, loss, seed, self.verbose)
        self.weights_ = solution.weights
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.certificate_ = certify_one_vs_rest(problem, solution, loss, self.C, self._bias_feature)
        if not self.certificate_.holds(self.tol):
            warnings.warn(
                f"{type(self).__name__} stopped by {solution.status.value} at a certified relative gap of "
                f"{self.certificate_.gap:.2e}, above tol={self.tol:g}; "
                "raise max_iter or max_seconds, or accept the gap",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    @property
    def _bias_feature(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _check_parameters(self) -> MarginLoss:
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
        if not isinstance(self.thresholds, str) or self.thresholds not in ("zero", "tuned"):
            raise DataError(f"thresholds={show(self.thresholds)} is not known; choose 'zero' or 'tuned'")
        if not isinstance(self.loss, str):
            raise DataError(
                f"loss={show(self.loss)} is not known; choose one of {', '.join(map(repr, self._losses))}"
            )
        return margin_loss(self.loss, self._losses)

    def _solve(self, problem: Problem, loss: MarginLoss, seed: int, verbose: int) -> Solution:
        return solve_one_vs_rest(
            problem,
            loss,
            float(self.C),
            bias_feature=self._bias_feature,
            tol=float(self.tol),
            max_iter=min(int(self.max_iter), 2**31),  # epochs; the kernels count in 64 bits
            n_jobs=self.n_jobs,
            max_seconds=self.max_seconds,
            seed=seed,
            on_block=_block_reporter(bool(verbose)),
        )

    def _wants_probabilities(self) -> bool:
        return False

    def _fit_on_held_out(self, problem: Problem, loss: MarginLoss, seed: int) -> None:
        """Thresholds and calibration from a fit without the held-out rows; both are zero-cost when not asked for."""
        self.thresholds_ = np.zeros(problem.n_classes)
        self.calibration_: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
        tune = self.thresholds == "tuned" and self._multilabel
        if not (tune or self._wants_probabilities()):
            return
        held, kept = hold_out(problem, self.holdout, seed)
        trial = self._solve(problem.subset(kept), loss, seed, 0)
        scores = trial.weights.scores(problem.X[held]).astype(np.float64)
        targets = problem.targets[held].toarray() > 0
        if tune:
            self.thresholds_ = tune_thresholds(scores, targets, row_weight=problem.row_weight[held])
        if self._wants_probabilities():
            self.calibration_ = fit_sigmoids(scores, targets, problem.row_weight[held])


def hold_out(problem: Problem, share: float, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows to hold out and rows to keep; every class keeps at least one row.

    >>> problem = make_problem([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "b", "b"])
    >>> held, kept = hold_out(problem, 0.5, 0)
    >>> len(held), 0 in kept
    (2, True)
    """
    n = problem.n_rows
    order = np.random.default_rng(seed).permutation(n)
    targets = problem.targets
    left = np.asarray(targets.sum(axis=0)).ravel()
    wanted = min(round(share * n), max(1, _HELD_OUT_BYTES // (8 * problem.n_classes)))
    held = np.zeros(n, dtype=bool)
    for i in order:
        if wanted == 0:
            break
        mine = targets.indices[targets.indptr[i] : targets.indptr[i + 1]]
        if problem.row_weight[i] > 0 and np.all(left[mine] > 1):
            left[mine] -= 1
            held[i] = True
            wanted -= 1
    if not held.any():
        raise DataError(
            "no row can be held out: every class has a single row; give more rows, "
            "or do without tuned thresholds and probabilities"
        )
    return np.flatnonzero(held), np.flatnonzero(~held)


def _block_reporter(verbose: bool) -> Callable[[int, int, Progress], None] | None:
    """Whoever hears of finished blocks: a listener, else lines on standard error when asked for."""
    listener = current_listener()
    if listener is not None:
        return lambda done, total, progress: listener(done, total, progress.gap)
    return _report_block if verbose else None


def _report_block(done: int, total: int, progress: Progress) -> None:
    left = progress.seconds / done * (total - done)
    print(
        f"taxolearn: block {done}/{total}, {progress.done} classes, gap {progress.gap:.1e}, "
        f"{progress.seconds:.1f} s, about {left:.0f} s left",
        file=sys.stderr,
        flush=True,
    )
