"""The way of every fit: check, join the objective, hold out, solve, certify, keep the better of two fits, say so."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from taxolearn.certificates import Certificate, certify, expected_seconds
from taxolearn.decoders import Decoder, best_class, fit_link
from taxolearn.engines import ThreadEngine, interrupts
from taxolearn.errors import DataError
from taxolearn.losses import LOSSES, Loss
from taxolearn.methods.checkpoint import Checkpoint, highest_dual
from taxolearn.methods.empty_classes import on_empty_classes, with_borrowed_intercepts
from taxolearn.methods.held_out import held_out_parts
from taxolearn.methods.inputs import check_rows, check_seed, check_targets
from taxolearn.methods.landmark_kernels import LandmarkKernels
from taxolearn.methods.migrating import migrate
from taxolearn.methods.parameters import (
    check_parameters,
    estimator,
    parameter,
    positive,
    positive_or_none,
    share,
    whole,
)
from taxolearn.methods.progress import reporter
from taxolearn.methods.stopping import fit_and_calibrate
from taxolearn.methods.used_nodes import on_classes_nodes, with_all_nodes
from taxolearn.methods.warm_start import Kept, better_of, keep, mark_of, start_from
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem, make_problem
from taxolearn.problem.scale import UNEVEN, check_sizes
from taxolearn.solvers import Limits, Progress, Solution, Start, Watch
from taxolearn.solvers.solve import solve
from taxolearn.structure.names import show
from taxolearn.ties import Tie

_LEAST_SHARE_OF_TIME = 0.2  # of max_seconds that the solver gets, however long the certificate takes


def _folder_or_none(name: str, value: Any) -> None:
    if not isinstance(value, str | PathLike | None):
        raise DataError(f"{name}={show(value)} is not allowed; give a folder")


@estimator
class CertifiedClassifier(LandmarkKernels):
    """Base of the estimators: one optimisation problem, solved and certified.

    A method names its four slots: its loss (`_loss`, by the parameter `loss` unless it says otherwise), its tie
    (`_tie`), its solvers (`_solvers`, from which `solver="auto"` chooses) and its decoder (`_decoder`).

    >>> from taxolearn import OneVsRestLogistic
    >>> issubclass(OneVsRestLogistic, CertifiedClassifier)
    True
    """

    _solvers: ClassVar[tuple[str, ...]]
    _decoder: ClassVar[Callable[..., Decoder]] = staticmethod(best_class)
    # whether leaves without rows are classes
    _empty_classes: ClassVar[Literal["drop", "keep"]] = "keep"
    migrate = migrate

    C: float = parameter(
        default=1.0, doc="Weight of the losses against the penalty.", check=positive, kw_only=False
    )
    tol: float = parameter(default=1e-3, doc="Certified relative gap to reach.", check=positive)
    max_iter: int = parameter(
        default=1000, doc="Most passes over the rows, or over all classes.", check=whole
    )
    fit_intercept: bool = parameter(default=True, doc="Whether classes have intercepts.")
    intercept_scaling: float = parameter(
        default=1.0,
        doc=(
            "Value s of the constant feature whose weight is the intercept's: the larger, the less it is "
            "regularized."
        ),
        check=positive,
    )
    leaf_only: bool = parameter(
        default=False,
        doc=(
            "Whether only leaves of the taxonomy are answers; rows that are labelled at inner nodes are then not "
            "learned from."
        ),
    )
    class_weight: Any = parameter(
        default=None, doc='Weights of the classes: a dict from name to number, "balanced", or None for ones.'
    )
    holdout: float = parameter(
        default=0.2,
        doc="Share of the rows held out for thresholds and probabilities; the final fit is on all rows.",
        check=share,
    )
    warm_start: bool = parameter(
        default=False,
        doc=(
            "Start from the last fit when rows and labels are the same (C may differ). Of two fits of the "
            "same problem the better vectors and the better bound stay, also when the second is stopped."
        ),
    )
    checkpoint: str | Path | None = parameter(
        default=None,
        doc=(
            "Folder for the duals: written after a pass that ends `checkpoint_seconds` after the last time, "
            "and a later fit of the same problem goes on from them, also when the first was killed."
        ),
        check=_folder_or_none,
    )
    checkpoint_seconds: float = parameter(default=120.0, doc="See `checkpoint`.", check=positive)
    random_state: Any = parameter(default=None, doc="Seed of the visiting order and of held-out rows.")
    verbose: int = parameter(default=0, doc="Progress lines on standard error.")
    max_seconds: float | None = parameter(
        default=None,
        doc=(
            "Time limit of the fit: the solver gets what the certificate is expected to leave, and what it "
            "has then is kept."
        ),
        check=positive_or_none,
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the vectors and certify them; see the class for the objective.

        Ctrl-C, `max_seconds` and `max_iter` keep the vectors so far, those of the best dual: `certificate_.status`
        and `certificate_.gap` tell.

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
            empty_classes=on_empty_classes(self),
            checked=True,
            build=True,
            leaf_only=self.leaf_only,
        )
        if self.coverage_holdout:
            fit_and_calibrate(self, problem, y)
            return self
        return self._fit_problem(self._with_products(problem), y)

    def _with_products(self, problem: Problem) -> Problem:
        """The problem, with products of its rows where a kernel stands for vectors."""
        return problem

    def _fit_problem(self, problem: Problem, y: Any, start: Start | None = None) -> Self:
        """The fit proper, from `start` on if there is one; y is what the labels were given as."""
        seed = check_seed(self.random_state)
        data = problem.fingerprint()
        given, learned = problem, self._learned_rows(problem, seed)
        problem, same = learned.problem, data + learned.mark
        if start is not None and problem is not given:
            start = Start(start.dual, None)  # what else a solver goes on from is about the columns given
        # Ctrl-C stops the solver at its next step, and nothing after it: what was learned is certified and kept
        with interrupts() as request, ThreadEngine(self.n_jobs) as engine:
            if hasattr(self, "vectors_"):
                del self.vectors_  # a fit that fails from here on must not leave a mixture of two models
            self._remember_labels(problem, y)
            self.data_ = {**problem.counts(), "fingerprint": data}
            objective = self._objective(problem)
            check_sizes(problem, float(self.C), self._bias_feature)
            limits = self._limits(objective, seed, engine)
            if self.warm_start and start is None:
                start = start_from(getattr(self, "_kept", None), objective, same)
            objective, limits, start = self._settled(objective, limits, start)
            objective = self._fit_on_held_out(objective, limits)
            watch = reporter(bool(self.verbose), limits.tol)
            small, nodes = on_classes_nodes(objective)
            solution = self._solve(small, limits, *self._checkpointed(objective, same, start, watch))
            certificate = certify(small, solution, engine)
            self._accept(objective, given, same, with_all_nodes(objective, solution, nodes), certificate)
            self.vectors_ = learned.given(self.vectors_)
            request.heard = True
        if not self.certificate_.holds(self.tol):
            warnings.warn(self._complaint(given), ConvergenceWarning, stacklevel=3)
        return self

    def _accept(
        self,
        objective: Objective | Parts,
        given: Problem,
        data: str,
        solution: Solution,
        certificate: Certificate,
    ) -> None:
        """Take over a solution, or with a warm start the better of it and the one before, with the rows given."""
        self.n_iter_, self.history_ = solution.n_iter, solution.history
        vectors, state = solution.vectors, solution.state
        if self.warm_start:
            now = keep(objective, data, solution, certificate)._replace(problem=given)
            self._kept: Kept = better_of(getattr(self, "_kept", None), now)
            vectors, state, certificate = self._kept.vectors, self._kept.state, self._kept.certificate
        self._learn(objective, state)
        self.certificate_ = certificate.decided(self.tol)
        self.vectors_ = vectors

    def _limits(self, objective: Objective | Parts, seed: int, engine: ThreadEngine) -> Limits:
        """What the solver may take: of `max_seconds` the certificate gets its part."""
        seconds = self.max_seconds
        if seconds is not None:
            proof = expected_seconds(objective, engine.n_workers)
            if proof > (1.0 - _LEAST_SHARE_OF_TIME) * seconds:
                warnings.warn(
                    f"the certificate alone takes about {proof:.0f} s, and max_seconds is {seconds:g}: the fit takes "
                    "longer; give more seconds or more threads",
                    ConvergenceWarning,
                    stacklevel=4,
                )
            seconds = max(_LEAST_SHARE_OF_TIME * seconds, seconds - proof)
        return Limits(float(self.tol), min(int(self.max_iter), 2**31), seconds, seed, engine)

    def _complaint(self, problem: Problem) -> str:
        said = (
            f"{type(self).__name__} stopped by {self.certificate_.status.value} at a certified relative gap of "
            f"{self.certificate_.gap:.2e}, above tol={self.tol:g}; {self._advice()}, or accept the gap"
        )
        scales = problem.scales
        given = problem.products is not None and problem.products.kernel.is_precomputed
        worst = scales.worst() if not given and scales.unevenness() > UNEVEN else []
        if not worst:
            return said
        names = getattr(self, "feature_names_in_", None)
        columns = ", ".join(
            f"{j if names is None else show(names[j])} (spread {scales.spread[j]:.2g}, up to {scales.size[j]:.2g})"
            for j in worst
        )
        return f"{said}. Columns of X differ widely in scale: {columns}; use sklearn.preprocessing.StandardScaler"

    def _advice(self) -> str:
        """What would bring a fit that stopped early to the gap asked for."""
        return "raise max_iter or max_seconds, bring the features to one scale, lower C"

    def _objective(self, problem: Problem) -> Objective | Parts:
        """What this method minimises, made once per fit."""
        tie = self._tie(problem)
        loss = self._loss(problem, tie)
        prior = self._bias_prior(problem, loss, tie) if self._bias_feature else 0.0
        return Objective(problem, loss, tie, float(self.C), self._bias_feature, prior)

    def _settled(
        self, objective: Objective | Parts, limits: Limits, start: Start | None
    ) -> tuple[Objective | Parts, Limits, Start | None]:
        """The convex objective that is solved and certified, with all that rows decide before (a C by leave-one-out, a
        learned tie, learned scales); what is left of the limits; and where to start."""
        return objective, limits, start

    @property
    def _bias_feature(self) -> float:
        """The value s of the feature whose weight is the bias; 0: there is none."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _tie(self, problem: Problem) -> Tie:
        """How the structure holds the vectors of classes together."""
        raise NotImplementedError

    def _loss(self, problem: Problem, tie: Tie) -> Loss:
        """What the parameter `loss` names."""
        return LOSSES[self.loss]  # type: ignore[no-any-return]

    def _bias_prior(self, problem: Problem, loss: Loss, tie: Tie) -> float:
        """b_0 of the penalty 1/2 (b_l - b_0)^2, the intercept being `intercept_scaling` times b_l."""
        return 0.0

    def _solve(
        self, objective: Objective | Parts, limits: Limits, start: Start | None, watch: Watch | None
    ) -> Solution:
        asked = getattr(self, "solver", "auto")
        solution = solve(
            objective, limits, start, watch, asked=asked, among=self._solvers, goes_on=self._goes_on
        )
        return with_borrowed_intercepts(objective, solution)

    @property
    def _goes_on(self) -> bool:
        """Whether a solver must be able to go on from duals."""
        return self.checkpoint is not None

    def _learn(self, objective: Objective | Parts, state: Any) -> None:
        """What a method reads off the state of its solution, besides the vectors."""

    def _checkpointed(
        self, objective: Objective | Parts, data: str, start: Start | None, watch: Watch | None
    ) -> tuple[Start | None, Watch | None]:
        """Where to start and whom to tell: the folder `checkpoint`, if there is one, comes in between."""
        if self.checkpoint is None:
            return start, watch
        shape = (objective.n_units, objective.problem.n_rows)
        folder = Checkpoint(self.checkpoint, mark_of(objective, data), shape, float(self.checkpoint_seconds))
        last = folder.read(highest_dual(objective, shape))
        if last is not None:
            start = Start(last, None)

        def tell(progress: Progress, dual: Callable[[], sp.csr_array]) -> None:
            if watch is not None:
                watch(progress, dual)
            if folder.due() or (progress.complete and progress.gap <= self.tol):
                folder.write(dual())

        return start, tell

    def _check_parameters(self) -> None:
        check_parameters(self)
        self._check_kernel()
        if self.checkpoint is not None and self.kernel is not None and not isinstance(self.kernel, str):
            raise DataError(
                "checkpoint needs a kernel by name: nobody can tell whether a callable is the same one tomorrow"
            )

    def _wants_probabilities(self) -> bool:
        return False

    def _untuned_decoder(self, problem: Problem) -> Decoder:
        return self._decoder(problem)

    def _tuned_decoder(self, problem: Problem, scores: npt.NDArray[np.float64], held: Any) -> Decoder:
        """The decoder with thresholds that suit the scores of the held-out rows."""
        raise NotImplementedError

    def _fit_on_held_out(self, objective: Objective | Parts, limits: Limits) -> Objective | Parts:
        """The decoder, its thresholds and the calibration; without them, no row is held out.

        Returns the objective to solve on all rows: a method may have left a part of it to be chosen here.
        """
        problem = objective.problem
        self.decoder_, self.calibration_ = self._untuned_decoder(problem), None
        tune = self.decoder_.several and getattr(self, "thresholds", "zero") == "tuned"
        wanted = self._wants_probabilities()
        if not (tune or wanted):
            return objective
        parts = held_out_parts(problem, self.holdout, limits.seed, once=not wanted)
        if limits.max_seconds is not None:
            limits = replace(limits, max_seconds=limits.max_seconds / len(parts))
        found = []
        for held, kept in parts:
            trial = self._solve(on_classes_nodes(objective.restricted(kept))[0], limits, None, None)
            found.append(self.decoder_.scores(trial.vectors, problem.X[held]).astype(np.float64))
        held, scores = np.concatenate([part[0] for part in parts]), np.concatenate(found)
        if tune:
            self.decoder_ = self._tuned_decoder(problem, scores, held)
        if wanted:
            weight = problem.row_weight[held]
            self.calibration_ = fit_link(scores, problem.targets[held], weight, self.decoder_.several)
        return objective

    def fit_path(self, X: Any, y: Any, Cs: Sequence[float], sample_weight: Any = None) -> Iterator[Self]:
        """Fit for every C in turn, smallest first, each started from the last; yields the fitted model.

        With lambda of the papers, C = 1 / (2 lambda). It is one model, fitted again and again: take from each what you
        need before the next one.

        >>> from taxolearn import MulticlassSVM
        >>> X, y = [[-1.0], [0.0], [1.0]], ["a", "b", "c"]
        >>> [(model.C, model.certificate_.holds(1e-3)) for model in MulticlassSVM().fit_path(X, y, [10.0, 0.1])]
        [(0.1, True), (10.0, True)]
        """
        if isinstance(Cs, str | bytes) or not hasattr(Cs, "__iter__"):
            raise DataError(f"Cs={show(Cs)} is not allowed; give a list of positive numbers")
        values = list(Cs)
        for C in values:
            positive("C", C)
        model = clone(self).set_params(warm_start=True)
        for C in sorted(values):
            model.set_params(C=C)
            model.fit(X, y, sample_weight=sample_weight)
            yield model
