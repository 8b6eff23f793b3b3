"""What the methods with a sibling hinge share: vectors at the nodes, recursive prediction, their solvers."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from taxolearn.decoders import passing_decoder, unit_nodes
from taxolearn.losses import sibling_hinge
from taxolearn.methods.parameters import check_choice, estimator, parameter
from taxolearn.methods.row_kernels import RowKernels
from taxolearn.methods.structured import OneLabel
from taxolearn.objective import Objective
from taxolearn.problem import Problem
from taxolearn.ties import Tie


def _solver(name: str, value: Any) -> None:
    check_choice(name, value, ("auto", "dual", "averaging", "interior"))


@estimator
class SiblingMethod(RowKernels, OneLabel):
    """Base of the estimators whose nodes must beat their siblings along the path of each row's class.

    >>> from taxolearn import TransferSVM
    >>> issubclass(TransferSVM, SiblingMethod)
    True
    """

    _decoder = staticmethod(passing_decoder)
    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"
    _solvers: ClassVar[tuple[str, ...]] = ("dual", "averaging", "interior")

    solver: Any = parameter(
        default="auto",
        doc=(
            '"dual" goes on until the gap is certified, and so does "interior", for small dense problems on rows of '
            'any size and offset; "auto" takes what suits. "averaging" is the regularized dual averaging of Zhou, Xiao '
            "and Wu, with bounds in `history_`, for comparison; `max_iter` counts its steps."
        ),
        check=_solver,
    )

    def _objective(self, problem: Problem) -> Objective:
        self._check_labels(problem)
        loss = sibling_hinge(passing_decoder(problem).choices(), problem.n_classes)
        tie = self._unit_tie(problem, unit_nodes(problem))
        return Objective(problem, loss, tie, float(self.C), self._bias_feature)

    def _unit_tie(self, problem: Problem, nodes: npt.NDArray[np.int32]) -> Tie:
        """How the vectors of these nodes hold together; without a taxonomy they are the classes."""
        raise NotImplementedError
