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
    alive = nodes_with_rows(taxonomy, labels)
    # one constraint of many rows: cvxpy takes seconds for many of one row
    every = [
        (i, place[a], place[b])
        for i, label in enumerate(labels)
        for a, b in constraints(taxonomy, label, alive)
    ]
    row, own, rival = (list(part) for part in zip(*every, strict=True))
    ahead = cp.sum(cp.multiply(W[own] - W[rival], Z[row]), axis=1)
    limits = [ahead >= 1 - slack[row]]
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


def companion(taxonomy, Z, labels, C: float, kind: str) -> float:
    """FLATMULT ("flat"), TREELOSS ("tree loss") or HIERMULT ("top-down") by cone programmes; labels are leaves."""
    if kind != "top-down":
        return _flat_or_tree_loss(taxonomy, Z, labels, C, tree_loss=kind == "tree loss")
    alive, total = nodes_with_rows(taxonomy, labels), 0.0
    for node in alive:
        children = [child for child in taxonomy.children(node) if child in alive]
        if len(children) < 2:
            continue
        below = [set(taxonomy.leaves_under(child)) for child in children]
        rows = [i for i, label in enumerate(labels) if any(label in some for some in below)]
        own = [next(k for k, some in enumerate(below) if labels[i] in some) for i in rows]
        total += _multiclass(Z[rows], own, np.eye(len(children)), C, 1.0 - np.eye(len(children)))
    return total


def _flat_or_tree_loss(taxonomy, Z, labels, C: float, tree_loss: bool) -> float:
    if not tree_loss:
        classes = sorted(set(labels), key=str)
        own = [classes.index(label) for label in labels]
        return _multiclass(Z, own, np.eye(len(classes)), C, 1.0 - np.eye(len(classes)))
    classes = list(taxonomy.leaves)
    nodes = list(taxonomy.nodes)
    paths = [set(taxonomy.ancestors(name, include_self=True)) for name in classes]
    P = np.array([[float(node in path) for node in nodes] for path in paths])
    cost = np.array([[0.5 * len(a ^ b) for b in paths] for a in paths])
    return _multiclass(Z, [classes.index(label) for label in labels], P, C, cost)


def _multiclass(Z, own, P, C: float, cost) -> float:
    """1/2 |U|^2 + C sum max_l cost (1 - (w_y - w_l) . z), W = P U."""
    import cvxpy as cp

    U = cp.Variable((P.shape[1], Z.shape[1]))
    slack = cp.Variable(len(Z), nonneg=True)
    W = P @ U
    every = [(i, y, k) for i, y in enumerate(own) for k in range(len(P)) if k != y and cost[y, k] > 0]
    row, right, rival = (list(part) for part in zip(*every, strict=True))
    ahead = cp.sum(cp.multiply(W[right] - W[rival], Z[row]), axis=1)
    limits = [cp.multiply(cost[right, rival], 1 - ahead) <= slack[row]]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(U) + C * cp.sum(slack)), limits)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value)
