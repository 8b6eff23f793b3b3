"""Recursive classifiers written down slowly: sibling constraints by names, objectives, and the cone programmes.

Nothing here looks at `taxolearn.losses`, `taxolearn.ties` or the kernels; rows are dense and paths are lists of names.
"""

from __future__ import annotations

import numpy as np


def with_constant(X, bias_feature: float) -> np.ndarray:
    """X with the constant feature as its last column."""
    X = np.asarray(X, dtype=np.float64)
    return np.hstack([X, np.full((len(X), 1), float(bias_feature))]) if bias_feature else X


def nodes_with_rows(taxonomy, labels) -> set:
    """The nodes at or above a label."""
    return {node for label in set(labels) for node in taxonomy.ancestors(label, include_self=True)}


def constraints(taxonomy, label, alive) -> list[tuple]:
    """(i, j): node i on the path of the label must beat its sibling j; the root and nodes without rows take no part."""
    found = []
    for node in taxonomy.ancestors(label, include_self=True):
        if node != taxonomy.root:
            found += [(node, other) for other in taxonomy.siblings(node) if other in alive and other != node]
    return found


def loss_of(W: dict, z, pairs) -> float:
    """max(0, the largest 1 - (w_i - w_j) . z)."""
    return max([0.0, *(1.0 - float((W[i] - W[j]) @ z) for i, j in pairs)])


def penalties(taxonomy, alpha: float) -> dict:
    """K of (6) by pairs of names, each pair once; the root left out."""
    K = {}
    for node in taxonomy.nodes:
        if node == taxonomy.root:
            continue
        K[node, node] = 1.0 + len(taxonomy.descendants(node))
        for above in taxonomy.ancestors(node):
            if above not in (taxonomy.root, node):
                K[above, node] = alpha
    return K


def orthogonal_penalty(W: dict, K: dict) -> float:
    """1/2 sum K_ii |w_i|^2 + sum over pairs K_ij |w_i . w_j|."""
    return sum((0.5 if i == j else 1.0) * k * abs(float(W[i] @ W[j])) for (i, j), k in K.items())


def transfer_penalty(W: dict, taxonomy) -> float:
    """1/2 sum over nodes of |w_i|^2 and of |w_i - w_child|^2."""
    total = 0.0
    for node in taxonomy.nodes:
        if node != taxonomy.root:
            total += float(W[node] @ W[node])
            total += sum(float(np.sum((W[node] - W[child]) ** 2)) for child in taxonomy.children(node))
    return 0.5 * total


def optimum(taxonomy, Z, labels, c, kind: str, K: dict | None = None) -> float:
    """The least objective by a cone programme, `kind` being "orthogonal" or "transfer".

    Omega(W) is the least 1/2 sum K_ij |G_ij| over matrices G that are not below W W' (Loewner order), because its
    maximum over signs and this minimum may change places.
    """
    import cvxpy as cp

    nodes = [node for node in taxonomy.nodes if node != taxonomy.root]
    place = {node: k for k, node in enumerate(nodes)}
    W = cp.Variable((len(nodes), Z.shape[1]))
    slack = cp.Variable(len(Z), nonneg=True)
    alive, limits = nodes_with_rows(taxonomy, labels), []
    for i, label in enumerate(labels):
        for a, b in constraints(taxonomy, label, alive):
            limits.append((W[place[a]] - W[place[b]]) @ Z[i] >= 1 - slack[i])
    if kind == "transfer":
        penalty = 0.5 * cp.sum_squares(W)
        for node in nodes:
            for child in taxonomy.children(node):
                penalty = penalty + 0.5 * cp.sum_squares(W[place[node]] - W[place[child]])
    else:
        size = len(nodes) + Z.shape[1]
        whole = cp.Variable((size, size), symmetric=True)
        limits += [whole >> 0, whole[: len(nodes), len(nodes) :] == W]
        limits.append(whole[len(nodes) :, len(nodes) :] == np.eye(Z.shape[1]))
        weights = np.zeros((len(nodes), len(nodes)))
        for (i, j), k in K.items():
            weights[place[i], place[j]] = weights[place[j], place[i]] = k
        penalty = 0.5 * cp.sum(cp.multiply(weights, cp.abs(whole[: len(nodes), : len(nodes)])))
    problem = cp.Problem(cp.Minimize(penalty + c @ slack), limits)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)
