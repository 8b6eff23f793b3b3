"""Dual ascent for the softmax loss over path sums, one row at a time.

    max_p  -1/2 tr(M' X' A X M) - s^2/2 ||1' M||^2 - sum_i c_i sum_l p_il log p_il,   M_il = c_i (1[l = y_i] - p_il)

A = P diag(a) P', P being the paths of the classes; p_i is a point of the simplex. At a row the dual moves from p
towards q = softmax(its scores), the point that would be optimal if the weights stood still, by the best step
between 0 and 1: along that line the dual is a parabola plus an entropy, and a few Newton steps find its top. The gap
of a row is c KL(p, q), and the gaps of all rows add up to that of the whole problem.

Class weights are kept, features x classes: what a row reads and writes is contiguous.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.rows import add_row_scores, add_to_features, row_square

_MAX_NEWTON_STEPS = 20  # Newton steps of a line search, at most
_LINE_SEARCH_TOL = 1e-3  # gradient at which a line search ends, as a share of the row's gap


@kernel
def _towards(scores, p, d):
    """d = softmax(scores) - p; returns log sum exp(scores) and KL(p, softmax(scores))."""
    n_classes = scores.shape[0]
    top = scores[0]
    for k in range(n_classes):
        top = max(top, scores[k])
    total = 0.0
    for k in range(n_classes):
        d[k] = np.exp(scores[k] - top)
        total += d[k]
    level = top + np.log(total)
    divergence = 0.0
    for k in range(n_classes):
        if p[k] > 0.0:
            divergence += p[k] * (np.log(p[k]) - scores[k] + level)
        d[k] = d[k] / total - p[k]
    return level, max(0.0, divergence)


@kernel
def _spread(d, path_indptr, path_nodes, scale, sums, out):
    """out = A d for the classes' d; `sums`, one a node, comes and goes as zeros. Returns d' A d."""
    for k in range(d.shape[0]):
        for e in range(path_indptr[k], path_indptr[k + 1]):
            sums[path_nodes[e]] += d[k]
    total = 0.0
    for k in range(d.shape[0]):
        value = 0.0
        for e in range(path_indptr[k], path_indptr[k + 1]):
            value += scale[path_nodes[e]] * sums[path_nodes[e]]
        out[k] = value
        total += d[k] * value
    for k in range(d.shape[0]):
        for e in range(path_indptr[k], path_indptr[k + 1]):
            sums[path_nodes[e]] = 0.0
    return total


@kernel
def _best_step(p, d, rise, quadratic, small):
    """The t in (0, 1] at which rise t - quadratic t^2 / 2 - sum_k (p_k + t d_k) log(p_k + t d_k) is highest.

    Up to where its gradient is at most `small`.
    """
    gradient = rise - quadratic
    for k in range(p.shape[0]):
        if p[k] + d[k] > 0.0:
            gradient -= d[k] * np.log(p[k] + d[k])
    if gradient >= 0.0:
        return 1.0
    low, high, t = 0.0, 1.0, 0.5
    for _ in range(_MAX_NEWTON_STEPS):
        gradient = rise - quadratic * t
        curvature = -quadratic
        for k in range(p.shape[0]):
            point = p[k] + t * d[k]
            if point > 0.0:
                gradient -= d[k] * np.log(point)
                curvature -= d[k] * d[k] / point
        if abs(gradient) <= small:
            break
        if gradient > 0.0:
            low = t
        else:
            high = t
        t = t - gradient / curvature
        if not low < t < high:
            t = 0.5 * (low + high)
    return t


@kernel
def ascend(
    rows, cost, path_indptr, path_nodes, scale, bias_feature, order, enough, weights, intercepts, p, stop
):
    """Visit rows in the given order; returns how many duals were moved.

    Rows whose gap is at most `enough` are left alone. `weights` (features x classes), `intercepts` (s b_l) and the
    duals `p` (rows x classes) are changed in place and stay in step. Ends early where stop[0] is raised.
    """
    n_classes = p.shape[1]
    scores = np.empty(n_classes)
    d = np.empty(n_classes)
    spread = np.empty(n_classes)
    sums = np.zeros(scale.shape[0])
    moved = 0
    for place in range(order.shape[0]):
        i = order[place]
        c = cost[i]
        if c <= 0.0:
            continue
        if stop[0] != 0:
            break
        for k in range(n_classes):  # compiles in a tenth of the time of scores[:] = intercepts
            scores[k] = intercepts[k]
        add_row_scores(rows, i, weights, scores)
        mine = p[i]
        _, divergence = _towards(scores, mine, d)
        if c * divergence <= enough:
            continue
        square = row_square(rows, i)
        quadratic = square * _spread(d, path_indptr, path_nodes, scale, sums, spread)
        rise = 0.0
        for k in range(n_classes):
            rise += d[k] * scores[k]
            quadratic += bias_feature * bias_feature * d[k] * d[k]
        step = _best_step(mine, d, rise, c * quadratic, _LINE_SEARCH_TOL * divergence)
        for k in range(n_classes):
            mine[k] = max(0.0, mine[k] + step * d[k])
            spread[k] *= -c * step
            intercepts[k] -= c * step * bias_feature * bias_feature * d[k]
        add_to_features(rows, i, spread, weights)
        moved += 1
    return moved


@kernel
def price_rows(rows, own, cost, first, last, weights, intercepts, p):
    """Of the rows first .. last-1: sum of losses, of gaps, and of M_il times the scores (twice the penalty)."""
    n_classes = p.shape[1]
    scores = np.empty(n_classes)
    d = np.empty(n_classes)
    losses = 0.0
    gaps = 0.0
    twice = 0.0
    for i in range(first, last):
        if cost[i] > 0.0:
            for k in range(n_classes):
                scores[k] = intercepts[k]
            add_row_scores(rows, i, weights, scores)
            level, divergence = _towards(scores, p[i], d)
            losses += cost[i] * (level - scores[own[i]])
            gaps += cost[i] * divergence
            mean = 0.0
            for k in range(n_classes):
                mean += p[i, k] * scores[k]
            twice += cost[i] * (scores[own[i]] - mean)
    return losses, gaps, twice
