"""Published losses of the margin as kernels take them: one type, so that a kernel is compiled once for all three."""

from __future__ import annotations

from typing import Any, NamedTuple

from taxolearn.kernels._called import scalar
from taxolearn.losses.hinge import Hinge
from taxolearn.losses.logistic import Logistic
from taxolearn.losses.squared_hinge import SquaredHinge

_HINGE, _SQUARED_HINGE, _LOGISTIC = 0, 1, 2
_NUMBERS: dict[Any, int] = {Hinge: _HINGE, SquaredHinge: _SQUARED_HINGE, Logistic: _LOGISTIC}


def _compiled(name: str) -> tuple[Any, Any, Any]:
    hinge, squared, logistic = (scalar(getattr(loss, name)) for loss in _NUMBERS)
    return hinge, squared, logistic


_hinge_value, _squared_value, _logistic_value = _compiled("kernel_value")
_hinge_conjugate, _squared_conjugate, _logistic_conjugate = _compiled("kernel_conjugate")
_hinge_derivative, _squared_derivative, _logistic_derivative = _compiled("kernel_derivative")
_hinge_curvature, _squared_curvature, _logistic_curvature = _compiled("kernel_curvature")
_hinge_upper, _squared_upper, _logistic_upper = _compiled("kernel_upper")
_hinge_step, _squared_step, _logistic_step = _compiled("kernel_step")


class Published(NamedTuple):
    """Which of the published losses it is, and its margin."""

    number: int
    margin: float

    @staticmethod
    def kernel_value(loss: Any, margin: Any) -> Any:
        """The loss at a margin."""
        if loss.number == _HINGE:
            return _hinge_value(loss, margin)
        if loss.number == _SQUARED_HINGE:
            return _squared_value(loss, margin)
        return _logistic_value(loss, margin)

    @staticmethod
    def kernel_conjugate(loss: Any, dual: Any, weight: Any) -> Any:
        """The dual's own term."""
        if loss.number == _HINGE:
            return _hinge_conjugate(loss, dual, weight)
        if loss.number == _SQUARED_HINGE:
            return _squared_conjugate(loss, dual, weight)
        return _logistic_conjugate(loss, dual, weight)

    @staticmethod
    def kernel_derivative(loss: Any, dual: Any, weight: Any) -> Any:
        """Derivative of the conjugate."""
        if loss.number == _HINGE:
            return _hinge_derivative(loss, dual, weight)
        if loss.number == _SQUARED_HINGE:
            return _squared_derivative(loss, dual, weight)
        return _logistic_derivative(loss, dual, weight)

    @staticmethod
    def kernel_curvature(loss: Any, dual: Any, weight: Any) -> Any:
        """Second derivative of the conjugate."""
        if loss.number == _HINGE:
            return _hinge_curvature(loss, dual, weight)
        if loss.number == _SQUARED_HINGE:
            return _squared_curvature(loss, dual, weight)
        return _logistic_curvature(loss, dual, weight)

    @staticmethod
    def kernel_upper(loss: Any, weight: Any) -> Any:
        """Largest feasible dual."""
        if loss.number == _HINGE:
            return _hinge_upper(loss, weight)
        if loss.number == _SQUARED_HINGE:
            return _squared_upper(loss, weight)
        return _logistic_upper(loss, weight)

    @staticmethod
    def kernel_step(loss: Any, dual: Any, margin: Any, curvature: Any, weight: Any) -> Any:
        """Coordinate minimiser."""
        if loss.number == _HINGE:
            return _hinge_step(loss, dual, margin, curvature, weight)
        if loss.number == _SQUARED_HINGE:
            return _squared_step(loss, dual, margin, curvature, weight)
        return _logistic_step(loss, dual, margin, curvature, weight)


def for_kernels(loss: Any) -> Any:
    """A published loss as `Published`; a loss of somebody else as it is: kernels are compiled for it alone.

    >>> for_kernels(SquaredHinge(2.0))
    Published(number=1, margin=2.0)
    """
    number = _NUMBERS.get(type(loss))
    return loss if number is None else Published(number, float(loss.margin))
