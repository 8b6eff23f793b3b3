"""The structured hinge written down slowly: costs by sets of nodes, objectives, the cone programme, a row's ascent.

Nothing here looks at `taxolearn.losses` or the kernels: rows are dense, paths are sets of nodes, loops are plain.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np


def paths_of(taxonomy, nodes) -> list[set[int]]:
    """For each node the set of its ancestors and itself."""
    found = []
    for node in nodes:
        path, waiting = set(), [int(node)]
        while waiting:
            here = waiting.pop()
            if here not in path:
                path.add(here)
                waiting += taxonomy.parent_indices[
                    taxonomy.parent_indptr[here] : taxonomy.parent_indptr[here + 1]
                ].tolist()
        found.append(path)
    return found


def walk(taxonomy, start: int, end: int) -> int:
    """The number of edges between two nodes, by breadth-first search up and down."""
    neighbours: dict[int, set[int]] = {n: set() for n in range(taxonomy.n_nodes)}
    for child in range(taxonomy.n_nodes):
        for parent in taxonomy.parent_indices[
            taxonomy.parent_indptr[child] : taxonomy.parent_indptr[child + 1]
        ]:
            neighbours[child].add(int(parent))
            neighbours[int(parent)].add(child)
    steps, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for there in neighbours[here]:
            if there not in steps:
                steps[there] = steps[here] + 1
                queue.append(there)
    return steps[end]


def cost_matrix(cost: str, taxonomy, nodes, scale) -> np.ndarray:
    """Delta between all classes."""
    paths = paths_of(taxonomy, nodes)
    delta = np.zeros((len(nodes), len(nodes)))
    for a in range(len(nodes)):
        for b in range(len(nodes)):
            apart = paths[a] ^ paths[b]
            if a == b:
                value = 0.0
            elif cost == "zero_one":
                value = 1.0
            elif cost == "tree":
                value = float(walk(taxonomy, int(nodes[a]), int(nodes[b])))
            elif cost == "normalized":
                value = math.sqrt(math.fsum(scale[n] for n in apart))
            else:
                value = math.sqrt(len(apart)) if cost == "sqrt_hamming" else float(len(apart))
            delta[a, b] = value
    return delta


def margins_and_scalings(delta: np.ndarray, rescaling: str) -> tuple[np.ndarray, np.ndarray]:
    """D and S of every pair of classes."""
    if rescaling == "slack":
        return delta, delta
    if rescaling == "unit":
        with np.errstate(divide="ignore"):
            return (delta > 0) * 1.0, np.where(delta > 0, 1.0 / delta, 0.0)
    return delta, np.ones_like(delta) - np.eye(len(delta))


def row_costs(labels: Sequence[object], C: float, sample_weight, class_weight: Mapping[object, float] | None):
    """c_i of every row."""
    factor = class_weight or {}
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
    return np.array([C * w * factor.get(label, 1.0) for w, label in zip(weight, labels, strict=True)])


def with_constant(X, bias_feature: float) -> np.ndarray:
    """X with the constant feature as its last column."""
    X = np.asarray(X, dtype=np.float64)
    return np.hstack([X, np.full((len(X), 1), float(bias_feature))])


class Twin:
    """One problem: rows Z (constant feature included), label numbers y, costs c, paths P (classes x nodes), a, D, S."""

    def __init__(self, Z, y, c, P, a, D, S):
        self.Z, self.y, self.c, self.P, self.a, self.D, self.S = Z, y, c, P, a, D, S

    def violations(self, U: np.ndarray) -> np.ndarray:
        """D(l, y_i) - S(l, y_i) (w_y - w_l) . z_i, rows x classes, zero at l = y_i; U is nodes x features."""
        scores = self.Z @ (self.P @ U).T
        found = np.zeros_like(scores)
        for i, y in enumerate(self.y):
            for k in range(scores.shape[1]):
                if k != y:
                    found[i, k] = self.D[k, y] - self.S[k, y] * (scores[i, y] - scores[i, k])
        return found

    def primal(self, U: np.ndarray) -> float:
        penalty = sum(float(u @ u) / a for u, a in zip(U, self.a, strict=True) if a > 0)
        return 0.5 * penalty + float(self.c @ np.maximum(0.0, self.violations(U).max(axis=1)))

    def node_sums(self, alpha: np.ndarray) -> np.ndarray:
        """z_n, nodes x features."""
        z = np.zeros((self.P.shape[1], self.Z.shape[1]))
        for i, y in enumerate(self.y):
            for k in range(alpha.shape[1]):
                if k != y and alpha[i, k]:
                    z += alpha[i, k] * self.S[k, y] * np.outer(self.P[y] - self.P[k], self.Z[i])
        return z

    def dual(self, alpha: np.ndarray) -> float:
        linear = sum(alpha[i, k] * self.D[k, y] for i, y in enumerate(self.y) for k in range(alpha.shape[1]))
        return float(linear - 0.5 * self.a @ (self.node_sums(alpha) ** 2).sum(axis=1))

    def optimum(self) -> float:
        """The optimal value by clarabel's interior-point method, as precise as it can be had."""
        import cvxpy as cp

        live = np.flatnonzero(self.a > 0)
        if not len(live):  # nothing to choose
            return self.primal(np.zeros((len(self.a), self.Z.shape[1])))
        V = cp.Variable((len(live), self.Z.shape[1]))  # u_n = sqrt(a_n) v_n
        W = (self.P[:, live] * np.sqrt(self.a[live])) @ V
        slack = cp.Variable(len(self.y), nonneg=True)
        every = [
            (i, y, k) for i, y in enumerate(self.y) if self.c[i] > 0 for k in range(len(self.D)) if k != y
        ]
        constraints = []
        if every:  # one constraint of many rows: cvxpy takes longer for many of a few
            row, own, other = np.array(every).T
            ahead = cp.sum(cp.multiply(W[own] - W[other], self.Z[row]), axis=1)
            constraints.append(slack[row] >= self.D[other, own] - cp.multiply(self.S[other, own], ahead))
        programme = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(V) + self.c @ slack), constraints)
        for tol in (1e-10, 1e-9, 1e-8):
            with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
                warnings.simplefilter("ignore", UserWarning)  # about accuracy: the status tells
                value = programme.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
                if programme.status == cp.OPTIMAL:
                    return float(value)
        raise AssertionError(f"clarabel gave up: {programme.status}")


def ascend_row(twin: Twin, alpha: np.ndarray, i: int, classes: Sequence[int], share: float) -> np.ndarray:
    """Row i's duals after pairwise steps on a work set, all sums made anew at each step from the definition."""
    alpha = alpha.copy()
    y = twin.y[i]
    places = [y, *classes]

    def gradient() -> np.ndarray:
        U = twin.a[:, None] * twin.node_sums(alpha)
        return np.array([twin.violations(U)[i, k] for k in places])

    def mass() -> np.ndarray:
        held = np.array([alpha[i, k] for k in places])
        held[0] = twin.c[i] - held[1:].sum()
        return held

    def gap(g: np.ndarray) -> float:
        return twin.c[i] * g.max() - float(mass() @ g)

    goal = share * gap(gradient())
    for _ in range(300 * len(places)):
        g = gradient()
        best = int(np.argmax(g))
        holders = [p for p in range(len(places)) if mass()[p] > 1e-12 * twin.c[i]]
        worst = min(holders, key=lambda p: g[p])
        if gap(g) <= goal or g[best] <= g[worst]:
            break
        direction = np.zeros_like(alpha)
        for p, sign in ((best, 1.0), (worst, -1.0)):
            if p > 0:
                direction[i, places[p]] += sign
        curvature = float(twin.a @ (twin.node_sums(direction) ** 2).sum(axis=1))
        step = mass()[worst] if curvature == 0 else min(mass()[worst], (g[best] - g[worst]) / curvature)
        alpha = np.maximum(0.0, alpha + step * direction)
    return alpha[i]


def pegasos(twin: Twin, orders: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Subgradient steps over the rows in the given orders: the last weights, and how often a row was moved away from
    each class. Of the objective over n rows, each step sees 1/n of the penalty and one row's loss."""
    n = len(orders[0])
    U = np.zeros((twin.P.shape[1], twin.Z.shape[1]))
    moved = np.zeros((len(twin.y), len(twin.P)))
    for t, i in enumerate((int(row) for order in orders for row in order), start=1):
        violation = twin.violations(U)[i]
        worst = int(np.argmax(violation))
        U = U - U / t
        if violation[worst] > 0:
            moved[i, worst] += 1
            y = twin.y[i]
            step = n * twin.c[i] / t * twin.S[worst, y]
            U = U + step * twin.a[:, None] * np.outer(twin.P[y] - twin.P[worst], twin.Z[i])
    return U, moved
