"""Tied one-vs-rest and softmax objectives, minimised slowly from their definitions.

Nothing here looks at `taxolearn`: losses go by name, rows are dense, and a tie is either a 0/1 matrix of paths
with node scales or a list of weighted edges between nodes.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np

from reference.one_vs_rest_twin import loss_at


def path_root(paths: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """R with R R' the classes' covariance: w = R z, penalty 1/2 ||z||^2."""
    return paths * np.sqrt(scale)


def graph_root(
    n_nodes: int, edges: list[tuple[int, int, float]], ridge: float, pinned: set[int], class_nodes: list[int]
) -> np.ndarray:
    """The same for a graph, by inverting the whole precision matrix of the nodes that are not pinned."""
    precision = ridge * np.eye(n_nodes)
    for i, j, weight in edges:
        precision[i, i] += weight
        precision[j, j] += weight
        precision[i, j] -= weight
        precision[j, i] -= weight
    free = [node for node in range(n_nodes) if node not in pinned]
    covariance = np.zeros((n_nodes, n_nodes))
    covariance[np.ix_(free, free)] = np.linalg.inv(precision[np.ix_(free, free)])
    values, vectors = np.linalg.eigh(covariance[np.ix_(class_nodes, class_nodes)])
    return vectors * np.sqrt(np.maximum(values, 0.0))


def objective(
    name: str,
    X: np.ndarray,
    sign: np.ndarray,
    cost: np.ndarray,
    root: np.ndarray,
    z: np.ndarray,
    b: np.ndarray,
    s: float,
    b0: float,
) -> float:
    """1/2 ||z||^2 + 1/2 ||b - b0||^2 + losses; softmax reads a row's class off `sign` and its weight off `cost`."""
    scores = X @ (root @ z).T + s * b
    total = 0.5 * float((z**2).sum() + ((b - b0) ** 2).sum())
    if name == "softmax":
        for i in range(len(X)):
            own = int(np.argmax(sign[i]))
            top = scores[i].max()
            total += cost[i, own] * (np.log(np.exp(scores[i] - top).sum()) + top - scores[i, own])
        return total
    for i in range(len(X)):
        for k in range(len(root)):
            if cost[i, k] > 0:
                total += cost[i, k] * loss_at(name, sign[i, k] * scores[i, k])
    return total


def tied_optimum(
    name: str, X: Any, sign: np.ndarray, cost: np.ndarray, root: np.ndarray, s: float, b0: float = 0.0
) -> tuple[float, np.ndarray]:
    """The optimal value and the class weights there."""
    X = np.asarray(X, dtype=np.float64)
    solver = _cone if name in ("hinge", "squared_hinge") else _newton
    z, b = solver(name, X, sign, cost, root, s, b0)
    return objective(name, X, sign, cost, root, z, b, s, b0), root @ z


def _cone(
    name: str, X: np.ndarray, sign: np.ndarray, cost: np.ndarray, root: np.ndarray, s: float, b0: float
) -> tuple[np.ndarray, np.ndarray]:
    import cvxpy as cp

    z, b = cp.Variable((root.shape[1], X.shape[1])), cp.Variable(len(root))
    scores = X @ (root @ z).T + np.ones((len(X), 1)) @ cp.reshape(s * b, (1, len(root)), order="C")
    violation = cp.pos(1 - cp.multiply(sign, scores))
    losses = violation if name == "hinge" else cp.square(violation)
    penalty = 0.5 * cp.sum_squares(z) + 0.5 * cp.sum_squares(b - b0)
    programme = cp.Problem(cp.Minimize(penalty + cp.sum(cp.multiply(cost, losses))))
    for tol in (1e-11, 1e-10, 1e-9, 1e-8):
        with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
            warnings.simplefilter("ignore", UserWarning)  # about accuracy: the status tells
            programme.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            if programme.status == cp.OPTIMAL:
                return np.asarray(z.value), np.asarray(b.value)
    raise AssertionError(f"clarabel gave up: {programme.status}")


def _newton(
    name: str, X: np.ndarray, sign: np.ndarray, cost: np.ndarray, root: np.ndarray, s: float, b0: float
) -> tuple[np.ndarray, np.ndarray]:
    """Damped Newton steps with the whole Hessian: clarabel is not sure of every exponential cone."""
    n, T = sign.shape
    k, m = root.shape[1], X.shape[1]
    # scores of row i and class l as a row over (z, b)
    design = np.zeros((n, T, k * m + T))
    for i in range(n):
        for c in range(T):
            design[i, c, : k * m] = np.outer(root[c], X[i]).ravel()
            design[i, c, k * m + c] = s
    x = np.concatenate([np.zeros(k * m), np.full(T, b0)])
    centre = x.copy()

    def value(x: np.ndarray) -> float:
        return objective(name, X, sign, cost, root, x[: k * m].reshape(k, m), x[k * m :], s, b0)

    for _ in range(200):
        scores = design @ x
        slope, hessian = x - centre, np.eye(len(x))
        for i in range(n):
            if name == "softmax":
                own = int(np.argmax(sign[i]))
                p = np.exp(scores[i] - scores[i].max())
                p /= p.sum()
                slope += cost[i, own] * design[i].T @ (p - np.eye(T)[own])
                hessian += cost[i, own] * design[i].T @ (np.diag(p) - np.outer(p, p)) @ design[i]
            else:
                share = 1.0 / (1.0 + np.exp(sign[i] * scores[i]))
                slope -= design[i].T @ (cost[i] * sign[i] * share)
                hessian += (design[i].T * (cost[i] * share * (1.0 - share))) @ design[i]
        step = np.linalg.solve(hessian, slope)
        length, now = 1.0, value(x)
        while length > 1e-9 and value(x - length * step) > now:
            length *= 0.5
        x = x - length * step
        if float(slope @ step) <= 1e-16 * (1.0 + now):
            break
    return x[: k * m].reshape(k, m), x[k * m :]
