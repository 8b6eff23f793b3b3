"""HBLR's updates and bound, slowly and from the equations: one row, one class, one node at a time.

Nothing here looks at `taxolearn`. `paths` is a 0/1 matrix, classes x nodes; a node's weights are independent normal
with means `mean` and variances `variance` (nodes x features); a row's `tilt` is a number per class.
"""

from __future__ import annotations

from math import exp, lgamma, log
from typing import Any

import numpy as np
from scipy.optimize import minimize

Array = Any


def softmax(scores: Array) -> Array:
    top = max(scores)
    parts = [exp(s - top) for s in scores]
    return np.array([part / sum(parts) for part in parts])


def row_bound(scores: Array, spread: Array, paths: Array, own: int, tilt: Array) -> float:
    """a . s + log sum_l exp(s_l - a . s + 1/2 var(s_l - a . s)) - s_own, by the covariance matrix of the scores."""
    covariance = paths @ np.diag(spread) @ paths.T
    terms = []
    for k in range(len(scores)):
        way = -np.array(tilt)
        way[k] += 1.0
        terms.append(scores[k] - tilt @ scores + 0.5 * way @ covariance @ way)
    top = max(terms)
    return float(tilt @ scores + top + log(sum(exp(term - top) for term in terms)) - scores[own])


def scores_of(x: Array, mean: Array, bias: Array, paths: Array) -> Array:
    return np.array(
        [sum(paths[k, n] * (mean[n] @ x) for n in range(len(mean))) + bias[k] for k in range(len(paths))]
    )


def spread_of(x: Array, variance: Array) -> Array:
    return np.array([sum(v * xj**2 for v, xj in zip(row, x, strict=True)) for row in variance])


def bound(
    X: Array,
    own: Array,
    cost: Array,
    paths: Array,
    mean: Array,
    bias: Array,
    variance: Array,
    tilts: Array,
    shape: float,
    rate: float,
) -> float:
    """E[log p(y | u)] + E[log p(u | alpha)] + E[log p(alpha)] - E[log q(u)] - E[log q(alpha)] - 1/2 b . b, with the
    best q(alpha_n), Gamma(tau, upsilon); every term by its definition but for E[log p(y | u)], which is bounded."""
    from scipy.special import digamma

    total = -0.5 * float(bias @ bias)
    for x, y, c, tilt in zip(X, own, cost, tilts, strict=True):
        scores = scores_of(x, mean, bias, paths)
        total -= c * row_bound(scores, spread_of(x, variance), paths, y, tilt)
    for m, v in zip(mean, variance, strict=True):
        d = len(m)
        tau, upsilon = shape + d / 2, rate + 0.5 * float(np.sum(m**2 + v))
        precision, log_precision = tau / upsilon, digamma(tau) - log(upsilon)
        total += 0.5 * d * (log_precision - log(2 * np.pi)) - 0.5 * precision * float(np.sum(m**2 + v))
        total += shape * log(rate) - lgamma(shape) + (shape - 1) * log_precision - rate * precision
        total += 0.5 * float(np.sum(np.log(2 * np.pi * v) + 1))
        total -= tau * log(upsilon) - lgamma(tau) + (tau - 1) * log_precision - upsilon * precision
    return float(total)


def most_likely(X: Array, own: Array, cost: Array, paths: Array, scale: Array) -> tuple[Array, Array]:
    """Vectors of nodes and biases that minimise 1/2 sum ||u_n||^2 / a_n + 1/2 ||b||^2 + the softmax losses."""
    n_classes, n_nodes, d = *paths.shape, X.shape[1]

    def value(z: Array) -> tuple[float, Array]:
        u, b = z[: n_nodes * d].reshape(n_nodes, d), z[n_nodes * d :]
        S = X @ (paths @ u).T + b
        top = S.max(axis=1, keepdims=True)
        P = np.exp(S - top)
        sums = P.sum(axis=1, keepdims=True)
        rows = np.arange(len(X))
        loss = float(cost @ (np.log(sums[:, 0]) + top[:, 0] - S[rows, own]))
        G = P / sums
        G[rows, own] -= 1.0
        G *= cost[:, None]
        gradient = np.concatenate([(u / scale[:, None] + paths.T @ (G.T @ X)).ravel(), b + G.sum(axis=0)])
        return 0.5 * float(np.sum(u**2 / scale[:, None]) + b @ b) + loss, gradient

    z = minimize(value, np.zeros(n_nodes * d + n_classes), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    return z[: n_nodes * d].reshape(n_nodes, d), z[n_nodes * d :]


def map_round(
    X: Array,
    own: Array,
    cost: Array,
    paths: Array,
    scale: Array,
    shape: float,
    rate: float,
    siblings: Array = None,
) -> tuple[Array, Array]:
    """One round of the shortcut: the next a_n = (||u_n||^2 + sum_j a_n / (1 + a_n H_nj) + 2 b) / (d + 2 a), and H.

    With `siblings`, a number per node, the variances are one per feature, of all siblings together (M1).
    """
    mean, bias = most_likely(X, own, cost, paths, scale)
    H = np.zeros_like(mean)
    for x, c in zip(X, cost, strict=True):
        p = softmax(scores_of(x, mean, bias, paths))
        for n in range(len(mean)):
            below = sum(p[k] for k in range(len(p)) if paths[k, n])
            for j in range(len(x)):
                H[n, j] += c * below * (1 - below) * x[j] ** 2
    d = X.shape[1]
    if siblings is not None:
        by_feature = np.zeros_like(mean)
        for n in range(len(mean)):
            group = [k for k in range(len(mean)) if siblings[k] == siblings[n]]
            for j in range(d):
                sums = sum(mean[k, j] ** 2 + scale[k] / (1 + scale[k] * H[k, j]) for k in group)
                by_feature[n, j] = (sums + 2 * rate) / (len(group) + 2 * shape)
        return by_feature, H
    after = [
        (mean[n] @ mean[n] + sum(scale[n] / (1 + scale[n] * H[n, j]) for j in range(d)) + 2 * rate)
        / (d + 2 * shape)
        for n in range(len(mean))
    ]
    return np.array(after), H
