"""The structured hinge over label sets written down slowly: sets by enumeration, objectives, the cone programme.

Nothing here looks at `taxolearn.losses` or the kernels: rows are dense, sets are listed, loops are plain.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings

import numpy as np
import scipy.sparse as sp


def all_sets(parents: list[list[int]], must: list[bool], tree: bool) -> np.ndarray:
    """Every set as a row of zeros and ones: the root, all parents of its nodes, and a child where one is needed."""
    n = len(parents)
    children = [[c for c in range(n) if p in parents[c]] for p in range(n)]
    found = []
    for rest in itertools.product((0, 1), repeat=n - 1):
        z = (1, *rest)
        if any(z[c] and not all(z[p] for p in parents[c]) for c in range(n)):
            continue
        if tree and any(
            z[k] and must[k] and children[k] and not any(z[c] for c in children[k]) for k in range(n)
        ):
            continue
        found.append(z)
    return np.array(found, dtype=float)


def closed(parents: list[list[int]], nodes) -> np.ndarray:
    """The set of some nodes with all their ancestors."""
    z = np.zeros(len(parents))
    waiting = list(nodes)
    while waiting:
        n = waiting.pop()
        if not z[n]:
            z[n] = 1.0
            waiting += parents[n]
    return z


def costs(sets: np.ndarray, own: np.ndarray, miss: np.ndarray, false_alarm: np.ndarray) -> np.ndarray:
    """Delta between every set and a row's own."""
    return (1 - sets) @ (own * miss) + sets @ ((1 - own) * false_alarm)


def primal(X, own, weight, sets, miss, false_alarm, scale, U, bias, bias_feature) -> float:
    """The objective of vectors U, nodes x features, and their biases, from the definition."""
    total = 0.0
    for n in range(1, len(scale)):
        total += 0.5 * (U[n] @ U[n] + bias[n] ** 2) / scale[n]
    for x, y, c in zip(X, own, weight, strict=True):
        score = U @ x + bias * bias_feature
        total += c * max(costs(sets, y, miss, false_alarm) + sets @ score - y @ score)
    return total


def optimum(X, own, weight, sets, miss, false_alarm, scale, bias_feature) -> float:
    """The least objective, by a cone programme with one constraint per row and set."""
    import cvxpy as cp

    rows = np.hstack([X, np.full((len(X), 1), bias_feature)])
    n_nodes = len(scale)
    U = cp.Variable((n_nodes - 1, rows.shape[1]))
    slack = cp.Variable(len(X))
    limits = []
    for i in range(len(X)):
        scores = U @ rows[i]
        delta = costs(sets, own[i], miss, false_alarm)
        limits.append(slack[i] >= delta + (sets - own[i])[:, 1:] @ scores)
    penalty = cp.sum(cp.multiply(1.0 / scale[1:, None], cp.square(U)))
    problem = cp.Problem(cp.Minimize(0.5 * penalty + weight @ slack), limits)
    with contextlib.redirect_stdout(None), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)


def row_optimum(parents: list[list[int]], must: list[bool], tree: bool, g, h) -> np.ndarray:
    """max of g . mu - 1/2 h . mu^2 over the hull of the sets, by clarabel."""
    import clarabel

    n = len(parents)
    children = [[c for c in range(n) if p in parents[c]] for p in range(n)]
    lines = []
    for k in range(1, n):
        lines.append({k: -1.0})
        lines += [{k: 1.0, p: -1.0} for p in parents[k]]
    for k in range(n):
        if tree and must[k] and children[k]:
            lines.append({k: 1.0, **dict.fromkeys(children[k], -1.0)})
    A = np.zeros((len(lines) + 1, n))
    A[0, 0] = 1.0
    for at, line in enumerate(lines):
        for k, value in line.items():
            A[at + 1, k] = value
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    curvature, slope = np.array(h, dtype=float), -np.array(g, dtype=float)
    curvature[0] = slope[0] = 0.0
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(lines))]
    right = np.concatenate(([1.0], np.zeros(len(lines))))
    P, matrix = sp.csc_matrix(np.diag(curvature)), sp.csc_matrix(A)
    return np.array(clarabel.DefaultSolver(P, slope, matrix, right, cones, settings).solve().x)
