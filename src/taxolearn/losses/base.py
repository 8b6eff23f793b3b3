"""What a loss declares and offers: facts that callers branch on, its value, its conjugate."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ROUNDING = 2.0**-50  # relative error of duals and weights that `conjugate_error` allows for

Kind = Literal["margin", "softmax", "square", "structured", "siblings", "sets", "relaxed_sets"]


class LossFacts(NamedTuple):
    """What callers branch on, never on the name or class of a loss.

    - `name`: the word users pass as `loss=`.
    - `kind`: "margin", a loss of each score y s by itself; "softmax", of all scores of a row together; "square", of
      their squared distance from targets; "structured", of the largest violation among the classes; "siblings", of the
      largest among the siblings of the nodes on the path of the row's class; "sets", of the largest among sets of
      nodes; "relaxed_sets", of the largest of a linear programme over nodes. It says what the dual is (see `Solution`),
      and which solvers and certificates apply.
    - `smooth`: whether it has a derivative everywhere.
    - `sparse_dual`: whether rows with a large margin have duals of exactly zero.
    - `several_labels`: whether a row may have several labels.
    - `likelihood`: whether scores are logits, so that probabilities need no calibration.
    - `tied_bias`: whether intercepts are tied like vectors, as the weight of one more feature, not one per class.
    - `dual_grows_with_C`: whether a dual for C serves for another C after multiplication with their ratio.
    - `n_units`: how many vectors it scores rows by, if these are not those of the classes (nodes, say); the tie is then
      over these units, duals are units x rows, and the decoder makes classes of units.

    >>> LossFacts("hinge", "margin").several_labels
    True
    """

    name: str
    kind: Kind
    smooth: bool = False
    sparse_dual: bool = True
    several_labels: bool = True
    likelihood: bool = False
    tied_bias: bool = False
    dual_grows_with_C: bool = True
    n_units: int | None = None


class Loss(Protocol):
    """Any loss.

    >>> from taxolearn.losses import Softmax
    >>> loss: Loss = Softmax()
    >>> loss.facts.kind
    'softmax'
    """

    @property
    def facts(self) -> LossFacts:
        """What callers branch on."""

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is."""

    def low_intercept(self, total_weight: float) -> float:
        """The intercept of a class that knows nothing and says no; zero where classes are compared with each other."""


class MarginLoss(Protocol):
    """A loss of the margin y * score, convex and non-increasing: a NamedTuple of floats with these members.

    `value` and `conjugate` are the definition, vectorised in float64; the static `kernel_*` methods (see
    `taxolearn.kernels.loss_steps`) are scalar twins that numba compiles into the solvers.

    >>> from taxolearn.losses import Hinge
    >>> loss: MarginLoss = Hinge()
    >>> loss.facts.smooth, loss.facts.sparse_dual
    (False, True)
    """

    @property
    def facts(self) -> LossFacts:
        """What callers branch on."""

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is."""

    def low_intercept(self, total_weight: float) -> float:
        """The intercept of a class that knows nothing and says no to rows of this summed weight."""

    def value(self, margins: npt.ArrayLike) -> Array:
        """The loss at each margin."""

    def conjugate(self, dual: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """(weight * loss)*(-dual), the term that enters the dual; infinite outside its domain."""

    def conjugate_error(self, dual: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """How far `conjugate` may be from its exact value, dual and weight each being right to `ROUNDING`."""

    @staticmethod
    def kernel_upper(loss: Any, weight: Any) -> Any:
        """Largest feasible dual of a row of this weight."""
