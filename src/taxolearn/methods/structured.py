"""What the methods with a structured hinge share: one label a row, their solver, its certificate, a path of C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from taxolearn.certificates import Certificate, certify_structured
from taxolearn.errors import DataError, LabelError
from taxolearn.losses import StructuredHinge
from taxolearn.methods.calibrated import CalibratedProbabilities
from taxolearn.methods.inputs import check_positive
from taxolearn.methods.progress import pass_reporter
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum, flat, path_sum
from taxolearn.solvers import PegasosSGD, Solution, solve_pegasos, solve_structured
from taxolearn.structure.names import show


def given_weights(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Node weights that a user gave as numbers; whether they fit the taxonomy is checked by the tie.

    >>> given_weights("weights", [1, 2])
    array([1., 2.])
    """
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if numbers.ndim != 1:
        raise DataError(
            f"{name}={show(values)} is not allowed; give one number a node, or the name of a rule"
        )
    return numbers


class StructuredMethod(CalibratedProbabilities):
    """Base of the structured max-margin estimators; see MulticlassSVM, HierarchicalSVM and their kin.

    Each says its tie (`_tie`) and its loss (`_structured_loss`).

    >>> from taxolearn import MulticlassSVM
    >>> issubclass(MulticlassSVM, StructuredMethod)
    True
    """

    _empty_classes: ClassVar[Literal["drop", "keep"]] = "keep"

    solver: str | PegasosSGD = "dual"  # of methods without the parameter, too
    warm_start: bool
    node_weights_: npt.NDArray[np.float64]
    _dual: tuple[str, float, sp.csr_array]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    @property
    def _multilabel(self) -> bool:
        return False  # also where y is an indicator or a list of lists, with one label in each row

    def predict(self, X: Any, *, beam: int | None = None) -> Any:
        """The best class of each row, in the form in which y was given to `fit`; `beam` as in `top_k`.

        >>> from taxolearn import MulticlassSVM
        >>> MulticlassSVM().fit([[-1.0], [1.0]], [["a"], ["b"]]).predict([[2.0]])
        [['b']]
        """
        check_is_fitted(self)
        if self.label_form_ not in ("sets", "indicator"):
            return super().predict(X, beam=beam)
        rows = self._rows(X)
        best = self._best(rows, 1, beam)[0][:, 0]
        if self._indicator is not None:
            return self._as_indicator([(np.arange(len(best) + 1), best)], len(best))
        return [[name] for name in self.classes_[best].tolist()]

    def _tie(self, problem: Problem) -> PathSum:
        """The tie of the classes, with the scales kept in `node_weights_`."""
        if problem.taxonomy is None:
            return flat(problem.n_classes)
        return path_sum(problem.taxonomy, problem.class_nodes, self.node_weights_)

    def _node_weights(self, problem: Problem) -> npt.NDArray[np.float64]:
        raise NotImplementedError

    def _structured_loss(self, problem: Problem) -> StructuredHinge:
        raise NotImplementedError

    def _prepare(self, problem: Problem) -> None:
        several = np.flatnonzero(np.diff(problem.labels.indptr) != 1)
        if problem.labels.multilabel and len(several):
            raise LabelError(
                f"row {several[0]} has {np.diff(problem.labels.indptr)[several[0]]} labels, and "
                f"{type(self).__name__} learns from one label a row; use a one-vs-rest or recursive method"
            )
        self.node_weights_ = (
            np.ones(problem.n_classes) if problem.taxonomy is None else self._node_weights(problem)
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.solver, PegasosSGD):
            self._check_choice("solver", ("dual", "pegasos"))

    @property
    def _pegasos(self) -> PegasosSGD | None:
        """Its options, where it is the solver."""
        if self.solver == "dual":
            return None
        return self.solver if isinstance(self.solver, PegasosSGD) else PegasosSGD()

    def _advice(self) -> str:
        return super()._advice() if self._pegasos is None else "solver='dual' closes it"

    def _solve(self, problem: Problem, seed: int, verbose: int, start: Any = None) -> Solution:
        loss, tie = self._structured_loss(problem), self._tie(problem)
        report = pass_reporter(bool(verbose), float(self.tol))
        if self._pegasos is not None:  # its steps begin at zero: there is no use for a start
            return solve_pegasos(
                problem,
                loss,
                tie,
                float(self.C),
                replace(self._pegasos, passes=min(self._pegasos.passes, self._epochs)),
                bias_feature=self._bias_feature,
                max_seconds=self.max_seconds,
                seed=seed,
                on_epoch=report,
            )
        return solve_structured(
            problem,
            loss,
            tie,
            float(self.C),
            bias_feature=self._bias_feature,
            tol=float(self.tol),
            max_iter=self._epochs,
            n_jobs=self.n_jobs,
            max_seconds=self.max_seconds,
            seed=seed,
            start=start,
            on_epoch=report,
        )

    def _certify(self, problem: Problem, solution: Solution) -> Certificate:
        loss = self._structured_loss(problem)
        return certify_structured(problem, solution, loss, self._tie(problem), self.C, self._bias_feature)

    def _start(self, problem: Problem) -> sp.csr_array | None:
        """The last dual, where `warm_start` asks for it and rows and labels are the same; C may have changed."""
        kept = getattr(self, "_dual", None)
        if not self.warm_start or kept is None:
            return None
        mark, C, dual = kept
        return dual * (self.C / C) if mark == problem.fingerprint() else None

    def _keep(self, problem: Problem, solution: Solution) -> None:
        if self.warm_start:
            self._dual = (self.data_["fingerprint"], float(self.C), solution.dual)

    def fit_path(self, X: Any, y: Any, Cs: Sequence[float], sample_weight: Any = None) -> Iterator[Self]:
        """Fit for every C in turn, smallest first, each started from the dual of the last; yields fitted copies.

        With lambda of the paper, C = 1 / (2 lambda). Copies of the weights are yielded, so take from each what
        you need before the next one.

        >>> from taxolearn import MulticlassSVM
        >>> X, y = [[-1.0], [0.0], [1.0]], ["a", "b", "c"]
        >>> [(model.C, model.certificate_.holds(1e-3)) for model in MulticlassSVM().fit_path(X, y, [10.0, 0.1])]
        [(0.1, True), (10.0, True)]
        """
        from sklearn.base import clone

        if isinstance(Cs, str | bytes) or not hasattr(Cs, "__iter__"):
            raise DataError(f"Cs={show(Cs)} is not allowed; give a list of positive numbers")
        values = list(Cs)
        for C in values:
            check_positive(C=C)
        model = clone(self).set_params(warm_start=True)
        for C in sorted(values):
            model.set_params(C=C)
            model.fit(X, y, sample_weight=sample_weight)
            yield model
