"""What every solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Outcome
from taxolearn.errors import DataError
from taxolearn.models import ClassWeights


class Status(StrEnum):
    """Why a solver stopped.

    >>> Status.CONVERGED.value
    'converged'
    """

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"


def status_of(converged: bool, outcome: Outcome) -> Status:
    """Why a solver stopped whose run ended so; whatever the end, what is reached counts.

    >>> status_of(False, Outcome.COMPLETED).value, status_of(True, Outcome.INTERRUPTED).value
    ('iteration limit', 'converged')
    """
    if converged:
        return Status.CONVERGED
    if outcome is Outcome.INTERRUPTED:
        return Status.INTERRUPTED
    return Status.TIME_LIMIT if outcome is Outcome.TIME_LIMIT else Status.ITERATION_LIMIT


def dense_start(start: sp.csr_array | None, shape: tuple[int, int], what: str) -> npt.NDArray[np.float64]:
    """The duals that a solve begins with, as an array to write to: those of `start`, or zero.

    >>> dense_start(None, (1, 2), "classes x rows")
    array([[0., 0.]])
    """
    if start is None:
        return np.zeros(shape)
    if start.shape != shape:
        raise DataError(f"start has shape {start.shape}, but the duals, {what}, have {shape}")
    return np.array(start.toarray(), dtype=np.float64, order="C")


class Progress(NamedTuple):
    """One entry of a history: what was known after so many seconds.

    >>> Progress(seconds=1.5, done=16, primal=10.0, dual=9.5).gap
    0.05
    """

    seconds: float
    done: int
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Relative gap (primal - dual) / primal.

        >>> Progress(0.0, 1, 0.0, 0.0).gap
        0.0
        """
        return (self.primal - self.dual) / self.primal if self.primal > 0 else 0.0


@dataclass(frozen=True)
class Solution:
    """Weights, dual, status and history of one solve.

    `dual` is classes x rows for losses of one class at a time: d_il >= 0, the weight of row i in class l being
    d_il y_il x_i. Losses of all classes together say in their own solver what it is.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import solve_one_vs_rest
    >>> solution = solve_one_vs_rest(make_problem([[0.0], [1.0], [2.0]], ["a", "b", "c"]), Hinge(), C=1.0)
    >>> solution.status
    <Status.CONVERGED: 'converged'>
    """

    weights: ClassWeights
    dual: sp.csr_array
    status: Status
    n_iter: int
    history: list[Progress] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
