"""What the solver kernels ask of a loss, chosen at compile time from the loss's own class.

A loss is a NamedTuple of floats (see `taxolearn.losses`) whose static methods `kernel_value`, `kernel_conjugate`,
`kernel_derivative`, `kernel_curvature`, `kernel_upper` and `kernel_step` are plain scalar Python. Numba
compiles the one that belongs to the type of
`loss`; this file never names a loss, so a new loss is one new file elsewhere.
"""

from __future__ import annotations

from typing import Any

from numba import types

from taxolearn.kernels._called import part


def _method(loss: Any, name: str) -> Any:
    if isinstance(loss, types.BaseNamedTuple):
        return getattr(loss.instance_class, name, None)  # type: ignore[attr-defined]
    return None


def loss_value(loss: Any, margin: Any) -> Any:
    """The loss at a margin y * score."""
    return type(loss).kernel_value(loss, margin)


@part(loss_value)
def _loss_value(loss: Any, margin: Any) -> Any:
    return _method(loss, "kernel_value")


def loss_conjugate(loss: Any, dual: Any, weight: Any) -> Any:
    """phi*(-dual) for phi = weight * loss: the dual's own term."""
    return type(loss).kernel_conjugate(loss, dual, weight)


@part(loss_conjugate)
def _loss_conjugate(loss: Any, dual: Any, weight: Any) -> Any:
    return _method(loss, "kernel_conjugate")


def conjugate_derivative(loss: Any, dual: Any, weight: Any) -> Any:
    """Derivative of `loss_conjugate` by the dual; margin + this is the dual gradient."""
    return type(loss).kernel_derivative(loss, dual, weight)


@part(conjugate_derivative)
def _conjugate_derivative(loss: Any, dual: Any, weight: Any) -> Any:
    return _method(loss, "kernel_derivative")


def conjugate_curvature(loss: Any, dual: Any, weight: Any) -> Any:
    """Second derivative of `loss_conjugate` by the dual."""
    return type(loss).kernel_curvature(loss, dual, weight)


@part(conjugate_curvature)
def _conjugate_curvature(loss: Any, dual: Any, weight: Any) -> Any:
    return _method(loss, "kernel_curvature")


def dual_upper(loss: Any, weight: Any) -> Any:
    """The largest value a dual may take (infinity for squared hinge)."""
    return type(loss).kernel_upper(loss, weight)


@part(dual_upper)
def _dual_upper(loss: Any, weight: Any) -> Any:
    return _method(loss, "kernel_upper")


def dual_step(loss: Any, dual: Any, margin: Any, curvature: Any, weight: Any) -> Any:
    """The exact minimiser of the dual along one coordinate."""
    return type(loss).kernel_step(loss, dual, margin, curvature, weight)


@part(dual_step)
def _dual_step(loss: Any, dual: Any, margin: Any, curvature: Any, weight: Any) -> Any:
    return _method(loss, "kernel_step")
