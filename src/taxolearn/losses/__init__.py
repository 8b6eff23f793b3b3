"""Losses, one file each."""

from typing import Any

from taxolearn.errors import DataError
from taxolearn.losses.base import Loss, LossFacts, MarginLoss
from taxolearn.losses.hinge import Hinge
from taxolearn.losses.logistic import Logistic
from taxolearn.losses.relaxed_sets import RelaxedSetHinge
from taxolearn.losses.sets import SetHinge, set_hinge, star_hinge
from taxolearn.losses.sibling import SiblingHinge, sibling_hinge
from taxolearn.losses.softmax import Softmax
from taxolearn.losses.square import Square
from taxolearn.losses.squared_hinge import SquaredHinge
from taxolearn.losses.structured import StructuredHinge, structured_hinge

MARGIN_LOSSES: dict[str, MarginLoss] = {
    loss.facts.name: loss for loss in (Hinge(), SquaredHinge(), Logistic())
}

# every loss that a user can name
LOSSES: dict[str, Any] = {**MARGIN_LOSSES, "softmax": Softmax(), "square": Square()}


def margin_loss(name: str, allowed: tuple[str, ...] = tuple(MARGIN_LOSSES)) -> MarginLoss:
    """The one-vs-rest loss of that name.

    >>> margin_loss("hinge")
    Hinge(margin=1.0)
    """
    if name not in allowed:
        raise DataError(f"loss={name!r} is not known here; choose one of {', '.join(map(repr, allowed))}")
    return MARGIN_LOSSES[name]


__all__ = [
    "LOSSES",
    "MARGIN_LOSSES",
    "Hinge",
    "Logistic",
    "Loss",
    "LossFacts",
    "MarginLoss",
    "RelaxedSetHinge",
    "SetHinge",
    "SiblingHinge",
    "Softmax",
    "Square",
    "SquaredHinge",
    "StructuredHinge",
    "margin_loss",
    "set_hinge",
    "sibling_hinge",
    "star_hinge",
    "structured_hinge",
]
