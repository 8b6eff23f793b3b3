"""What the methods with a structured hinge share: one label per row, the tie over a taxonomy, their solvers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from taxolearn.decoders import Decoder, best_class
from taxolearn.errors import DataError, LabelError
from taxolearn.methods.parameters import check_choice, estimator, parameter
from taxolearn.methods.probabilities import CalibratedProbabilities
from taxolearn.methods.row_kernels import RowKernels
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem
from taxolearn.solvers.pegasos import PegasosSGD
from taxolearn.structure.names import show
from taxolearn.ties import PathSum, flat, path_sum

Array = npt.NDArray[np.float64]


def given_scales(name: str, values: Any) -> Array:
    """Scales of nodes that a user gave as numbers; whether they fit the taxonomy is checked by the tie.

    >>> given_scales("weights", [1, 2])
    array([1., 2.])
    """
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if numbers.ndim != 1:
        raise DataError(
            f"{name}={show(values)} is not allowed; give one number per node, or the name of a rule"
        )
    return numbers


def _solver_or_pegasos(name: str, value: Any) -> None:
    if not isinstance(value, PegasosSGD):
        check_choice(name, value, ("auto", "dual", "interior", "pegasos", "averaging"))


class _Scales:
    """What a fit over a taxonomy leaves besides."""

    _fitted: ClassVar[Mapping[str, str]] = {
        "node_weights_": "array: The scales a_n, one per node; without a taxonomy one per class."
    }
    node_weights_: Array


@estimator
class OneLabel(CalibratedProbabilities, _Scales):
    """Base of the methods that compare classes with each other: they learn from one label per row, or say more.

    >>> from taxolearn import MulticlassSVM
    >>> issubclass(MulticlassSVM, OneLabel)
    True
    """

    _decoder: ClassVar[Callable[..., Decoder]] = staticmethod(best_class)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def _objective(self, problem: Problem) -> Objective | Parts:
        self._check_labels(problem)
        return super()._objective(problem)

    def _check_labels(self, problem: Problem) -> None:
        counts = np.diff(problem.labels.indptr)
        several = np.flatnonzero(counts != 1)
        if problem.labels.multilabel and len(several):
            who = type(self).__name__ + (" with a kernel" if problem.products is not None else "")
            raise LabelError(
                f"row {several[0]} has {counts[several[0]]} labels, and {who} learns from one label per row; use a "
                "one-vs-rest or recursive method"
            )

    def _tie(self, problem: Problem) -> PathSum:
        if problem.taxonomy is None:
            self.node_weights_ = np.ones(problem.n_classes)
            return flat(problem.n_classes)
        self.node_weights_ = self._scales(problem)
        return path_sum(problem.taxonomy, problem.class_nodes, self.node_weights_)

    def _scales(self, problem: Problem) -> Array:
        """a_n of the nodes of the taxonomy."""
        raise NotImplementedError


@estimator
class StructuredMethod(RowKernels, OneLabel):
    """Base of the structured max-margin estimators that are solved in the dual, also with a kernel, or by Pegasos.

    >>> from taxolearn import MulticlassSVM
    >>> issubclass(MulticlassSVM, StructuredMethod)
    True
    """

    _solvers: ClassVar[tuple[str, ...]] = ("dual", "pegasos", "interior", "averaging")

    solver: str | PegasosSGD = parameter(
        default="auto",
        doc=(
            '"dual" goes on until the gap is certified, and so does "interior", for small dense problems on '
            'features of very different scale; "auto" takes the one that suits. "pegasos" (options: '
            "`taxolearn.solvers.PegasosSGD`), the optimiser of Choi, Sasaki and Srebro, makes a few passes and "
            "never claims to have converged: the certificate says how near it came. With"
            '  `warm_start=True` a later fit with "dual" begins '
            'where it ended. "averaging" is the regularized dual averaging of Zhou, Xiao and Wu, with bounds in '
            '`history_`, for comparison; `max_iter` counts its steps. A kernel needs "dual".'
        ),
        check=_solver_or_pegasos,
    )

    def _advice(self) -> str:
        return "solver='auto' closes it" if self._by_pegasos else super()._advice()

    @property
    def _by_pegasos(self) -> bool:
        """Whether the solver is one that does not close the gap."""
        return not isinstance(self.solver, str) or self.solver == "pegasos"
