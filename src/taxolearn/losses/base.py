"""What every one-vs-rest loss offers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class MarginLoss(Protocol):
    """A loss of the margin y * score, convex and non-increasing: a NamedTuple of floats with these members.

    `value` and `conjugate` are the definition, vectorised in float64; the static `kernel_*` methods (see
    `taxolearn.kernels.loss_steps`) are scalar twins that numba compiles into the solvers.

    >>> from taxolearn.losses import Hinge
    >>> loss: MarginLoss = Hinge()
    >>> loss.smooth, loss.sparse_dual
    (False, True)
    """

    @property
    def smooth(self) -> bool:
        """Whether the loss has a derivative everywhere."""

    @property
    def sparse_dual(self) -> bool:
        """Whether rows with a large margin have a dual of exactly zero."""

    @property
    def name(self) -> str:
        """The word users pass as `loss=`."""

    def value(self, margins: npt.ArrayLike) -> Array:
        """The loss at each margin."""

    def conjugate(self, dual: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """(weight * loss)*(-dual), the term that enters the dual; infinite outside its domain."""
