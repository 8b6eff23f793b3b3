"""One-vs-rest objectives, coordinate descent and the cone programme, written down slowly from their definitions.

Nothing here looks at `taxolearn.losses` or the kernels: losses go by name, rows are dense, loops are plain.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

LOSSES = ("hinge", "squared_hinge", "logistic")


def loss_at(name: str, margin: float) -> float:
    """The loss of one margin y * score."""
    if name == "hinge":
        return max(0.0, 1.0 - margin)
    if name == "squared_hinge":
        return max(0.0, 1.0 - margin) ** 2
    return math.log1p(math.exp(-abs(margin))) + max(0.0, -margin)


def loss_slope(name: str, margin: float) -> float:
    """A derivative of the loss (any subgradient at the hinge's corner)."""
    if name == "hinge":
        return -1.0 if margin < 1.0 else 0.0
    if name == "squared_hinge":
        return -2.0 * max(0.0, 1.0 - margin)
    return -1.0 / (1.0 + math.exp(margin)) if margin < 500.0 else 0.0


def conjugate_at(name: str, dual: float, weight: float) -> float:
    """sup over m of -dual m - weight loss(m), in closed form; infinite where the supremum is."""
    if name == "squared_hinge":
        if dual < 0.0 or (weight == 0.0 and dual > 0.0):
            return math.inf
        return -dual + (dual**2 / (4.0 * weight) if dual > 0.0 else 0.0)
    if dual < 0.0 or dual > weight:
        return math.inf
    if name == "hinge":
        return -dual
    return _x_log_x(dual) + _x_log_x(weight - dual) - _x_log_x(weight)


def _x_log_x(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0


def with_constant(X: np.ndarray, bias_feature: float) -> np.ndarray:
    """X with the constant feature as its last column."""
    X = np.asarray(X, dtype=np.float64)
    return np.hstack([X, np.full((len(X), 1), float(bias_feature))])


def primal_of(name: str, Z: np.ndarray, sign: np.ndarray, cost: np.ndarray, v: np.ndarray) -> float:
    """1/2 ||v||^2 + sum_i c_i loss(y_i v . z_i), z_i being rows with the constant feature."""
    margins = sign * (Z @ v)
    losses = [c * loss_at(name, m) for c, m in zip(cost, margins, strict=True)]
    return 0.5 * float(v @ v) + math.fsum(losses)


def dual_of(name: str, Z: np.ndarray, sign: np.ndarray, cost: np.ndarray, dual: np.ndarray) -> float:
    """-1/2 ||sum_i d_i y_i z_i||^2 - sum_i (c_i loss)*(-d_i)."""
    v = Z.T @ (dual * sign)
    conjugates = [conjugate_at(name, d, c) for d, c in zip(dual, cost, strict=True)]
    return -0.5 * float(v @ v) - sum(conjugates)


def signs_and_costs(
    labels: Sequence[object],
    classes: Sequence[object],
    C: float,
    sample_weight: Sequence[float] | None = None,
    class_weight: Mapping[object, float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """y_il and c_il, rows x classes; `labels` holds a name a row, or a collection of names a row.

    LIBLINEAR's class weights: with two classes of one label per row, each row weighs as its own class; otherwise the
    weight of class l goes to the rows of l in the problem of l, and the rest weighs 1.
    """
    several = any(isinstance(label, (list, set, tuple)) for label in labels)
    binary = len(classes) == 2 and not several
    sign = np.empty((len(labels), len(classes)))
    cost = np.empty((len(labels), len(classes)))
    for i, label in enumerate(labels):
        mine = set(label) if several else {label}
        for k, name in enumerate(classes):
            sign[i, k] = 1.0 if name in mine else -1.0
            factor = 1.0 if class_weight is None else class_weight.get(name, 1.0)
            if name not in mine:
                factor = 1.0
                if binary and class_weight is not None:
                    factor = class_weight.get(classes[1 - k], 1.0)
            cost[i, k] = C * factor * (1.0 if sample_weight is None else sample_weight[i])
    return sign, cost


def best_coordinate(name: str, dual: float, margin: float, square: float, cost: float) -> float:
    """The d that minimises (d - dual) margin + square (d - dual)^2 / 2 + conjugate(d), by halving on its derivative."""
    low, high = 0.0, cost
    if name == "squared_hinge":  # the derivative is positive beyond: the conjugate's own slope is d / 2c - 1
        high = dual + 2.0 * cost * (1.0 + abs(margin)) + 1.0

    def derivative(d: float) -> float:
        slope = margin + square * (d - dual)
        if name == "logistic":
            return slope + (
                math.log(d / (cost - d)) if 0.0 < d < cost else math.copysign(math.inf, d - cost / 2)
            )
        return slope - 1.0 + (d / (2.0 * cost) if name == "squared_hinge" else 0.0)

    if derivative(low) >= 0.0:
        return low
    if derivative(high) <= 0.0:
        return high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if derivative(middle) > 0.0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def coordinate_descent(
    name: str, Z: np.ndarray, sign: np.ndarray, cost: np.ndarray, tol: float, epochs: int
) -> tuple[np.ndarray, np.ndarray]:
    """(v, dual) by cyclic exact coordinate descent, until the relative gap is at most tol."""
    dual = np.zeros(len(Z))
    if name == "logistic":
        dual = 0.5 * cost
    v = Z.T @ (dual * sign)
    for _ in range(epochs):
        for i in range(len(Z)):
            if cost[i] > 0.0:
                fresh = best_coordinate(name, dual[i], sign[i] * float(Z[i] @ v), float(Z[i] @ Z[i]), cost[i])
                v = v + (fresh - dual[i]) * sign[i] * Z[i]
                dual[i] = fresh
        primal = primal_of(name, Z, sign, cost, v)
        if primal - dual_of(name, Z, sign, cost, dual) <= tol * primal:
            break
    return v, dual


def cone_optimum(name: str, Z: np.ndarray, sign: np.ndarray, cost: np.ndarray) -> float:
    """The optimal value by clarabel's interior-point method, as precise as it can be had."""
    import cvxpy as cp

    Z, sign, cost = Z[cost > 0.0], sign[cost > 0.0], cost[cost > 0.0]
    v = cp.Variable(Z.shape[1])
    margins = cp.multiply(sign, Z @ v)
    losses = {
        "hinge": lambda: cp.pos(1 - margins),
        "squared_hinge": lambda: cp.square(cp.pos(1 - margins)),
        "logistic": lambda: cp.logistic(-margins),
    }[name]()
    programme = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(v) + cost @ losses))
    for tol in (1e-10, 1e-9, 1e-8):
        with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
            warnings.simplefilter("ignore", UserWarning)  # about accuracy: the status tells
            value = programme.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            if programme.status == cp.OPTIMAL:
                return float(value)
    raise AssertionError(f"clarabel gave up: {programme.status}")


def newton_optimum(Z: np.ndarray, sign: np.ndarray, cost: np.ndarray) -> float:
    """The optimal value of the logistic problem by damped Newton steps on the primal."""
    v = np.zeros(Z.shape[1])
    value = primal_of("logistic", Z, sign, cost, v)
    for _ in range(200):
        share = 1.0 / (1.0 + np.exp(sign * (Z @ v)))
        gradient = v - Z.T @ (cost * sign * share)
        hessian = np.eye(len(v)) + Z.T @ (Z * (cost * share * (1.0 - share))[:, None])
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        while length > 1e-9 and primal_of("logistic", Z, sign, cost, v - length * step) > value:
            length *= 0.5
        v = v - length * step
        value = min(value, primal_of("logistic", Z, sign, cost, v))
        if float(gradient @ step) <= 1e-14 * value:
            break
    return value
