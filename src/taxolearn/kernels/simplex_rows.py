"""What a row of a structured hinge problem needs: its scores at the nodes, costs of all classes, and its dual steps.

Node weights are feature-major (features x nodes): the scores of one row at all nodes are then a sum of
contiguous vectors, one a stored feature, which the compiler turns into SIMD, and its scores at a few nodes touch one
cache line per feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._called import scalar
from taxolearn.kernels._jit import kernel
from taxolearn.kernels.rows import GramRows, SparseRows, _by_layout

MARGIN, SLACK, UNIT = 0, 1, 2  # how a cost Delta enters: (D, S) = (Delta, 1), (Delta, Delta), (1, 1 / Delta)


class Paths(NamedTuple):
    """The nodes of every class, ascending, and a number per node: the tie's scale, or the cost of missing the node."""

    indptr: Any
    nodes: Any
    weight: Any
    rank: Any  # of every class from left to right in a tree; empty on a DAG


class Costs(NamedTuple):
    """Delta(l, y): a table (classes x classes), or where that is empty the path costs it can be computed from."""

    table: Any
    paths: Paths
    totals: Any  # summed cost of each class's path
    root: Any  # 1: the square root of the summed cost
    rescaling: Any


@scalar
def _some_dense(x, first, nodes, chosen, size, out):
    """out[q] += x . nodes[first:, chosen[q]]."""
    whole = x.shape[0] - x.shape[0] % 4
    for q in range(size):  # four sums at once: none waits for the one before
        n = chosen[q]
        a = b = c = d = 0.0
        for j in range(0, whole, 4):
            a += np.float64(x[j]) * nodes[first + j, n]
            b += np.float64(x[j + 1]) * nodes[first + j + 1, n]
            c += np.float64(x[j + 2]) * nodes[first + j + 2, n]
            d += np.float64(x[j + 3]) * nodes[first + j + 3, n]
        for j in range(whole, x.shape[0]):
            a += np.float64(x[j]) * nodes[first + j, n]
        out[q] += (a + b) + (c + d)


def _some_scores_sparse(rows, i, nodes, chosen, size, out):
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        source = nodes[rows.indices[k]]
        value = np.float64(rows.data[k])
        for q in range(size):
            out[q] += value * source[chosen[q]]
    if rows.tail.shape[1] > 0:
        _some_dense(rows.tail[i], rows.first, nodes, chosen, size, out)


def _some_scores_dense(rows, i, nodes, chosen, size, out):
    _some_dense(rows.data[i], 0, nodes, chosen, size, out)


def _some_scores_gram(rows, i, nodes, chosen, size, out):
    for q in range(size):
        out[q] += nodes[i, chosen[q]]


@_by_layout(_some_scores_sparse, _some_scores_dense, _some_scores_gram)
def add_some_scores(rows, i, nodes, chosen, size, out):
    """out[q] += x_i . nodes[:, chosen[q]] for q < size, in double precision."""
    if isinstance(rows, SparseRows):
        _some_scores_sparse(rows, i, nodes, chosen, size, out)
    elif isinstance(rows, GramRows):
        _some_scores_gram(rows, i, nodes, chosen, size, out)
    else:
        _some_scores_dense(rows, i, nodes, chosen, size, out)


@scalar
def _add_dense_to_some(x, first, nodes, chosen, size, change):
    """nodes[first:, chosen[q]] += change[q] x."""
    for j in range(x.shape[0]):
        target = nodes[first + j]
        value = np.float64(x[j])
        for q in range(size):
            target[chosen[q]] += value * change[q]


def _add_to_some_sparse(rows, i, nodes, chosen, size, change):
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        target = nodes[rows.indices[k]]
        value = np.float64(rows.data[k])
        for q in range(size):
            target[chosen[q]] += value * change[q]
    if rows.tail.shape[1] > 0:
        _add_dense_to_some(rows.tail[i], rows.first, nodes, chosen, size, change)


def _add_to_some_dense(rows, i, nodes, chosen, size, change):
    _add_dense_to_some(rows.data[i], 0, nodes, chosen, size, change)


def _add_to_some_gram(rows, i, nodes, chosen, size, change):
    here = rows.place[i]
    for q in range(size):
        rows.moved[here, chosen[q]] += change[q]
    for r in range(rows.ids.shape[0]):
        target = nodes[rows.ids[r]]
        value = rows.gram[here, r]
        for q in range(size):
            target[chosen[q]] += value * change[q]


@_by_layout(_add_to_some_sparse, _add_to_some_dense, _add_to_some_gram)
def add_to_some(rows, i, nodes, chosen, size, change):
    """nodes[:, chosen[q]] += change[q] x_i for q < size."""
    if isinstance(rows, SparseRows):
        _add_to_some_sparse(rows, i, nodes, chosen, size, change)
    elif isinstance(rows, GramRows):
        _add_to_some_gram(rows, i, nodes, chosen, size, change)
    else:
        _add_to_some_dense(rows, i, nodes, chosen, size, change)


@kernel
def shared_weight(paths, a, b):
    """Summed weight of the nodes on the paths of both classes; with the tie's scale, the covariance A[a, b]."""
    total = 0.0
    p, p_end = paths.indptr[a], paths.indptr[a + 1]
    q, q_end = paths.indptr[b], paths.indptr[b + 1]
    while p < p_end and q < q_end:
        left = paths.nodes[p]
        right = paths.nodes[q]
        if left == right:
            total += paths.weight[left]
            p += 1
            q += 1
        elif left < right:
            p += 1
        else:
            q += 1
    return total


@kernel
def _from_path_costs(costs, other, y, shared):
    sum_of_both = costs.totals[other] + costs.totals[y]
    value = sum_of_both - 2.0 * shared
    if value <= 1e-12 * sum_of_both:  # what is left of equal paths is rounding
        return 0.0
    return np.sqrt(value) if costs.root == 1 else value


@kernel
def delta(costs, other, y):
    """Delta(l, y), the cost of answering l where y is right."""
    if other == y:
        return 0.0
    if costs.table.shape[0] > 0:
        return costs.table[y, other]
    return _from_path_costs(costs, other, y, shared_weight(costs.paths, other, y))


@kernel
def delta_column(costs, y, marks, out):
    """Delta(l, y) of all classes l; `marks` is zero at every node, before and after."""
    n_classes = out.shape[0]
    if costs.table.shape[0] > 0:
        for other in range(n_classes):
            out[other] = costs.table[y, other]
        return
    paths = costs.paths
    for p in range(paths.indptr[y], paths.indptr[y + 1]):
        marks[paths.nodes[p]] = paths.weight[paths.nodes[p]]
    for other in range(n_classes):
        shared = 0.0
        for p in range(paths.indptr[other], paths.indptr[other + 1]):
            shared += marks[paths.nodes[p]]
        out[other] = _from_path_costs(costs, other, y, shared)
    out[y] = 0.0
    for p in range(paths.indptr[y], paths.indptr[y + 1]):
        marks[paths.nodes[p]] = 0.0


@kernel
def margin_of(rescaling, value):
    """D, the margin that a cost asks for."""
    if rescaling == UNIT:
        return 1.0 if value > 0.0 else 0.0
    return value


@kernel
def scaling_of(rescaling, value):
    """S, the factor on the difference of scores; classes that (13) cannot tell apart ask for nothing."""
    if rescaling == MARGIN:
        return 1.0
    if rescaling == SLACK:
        return value
    return 1.0 / value if value > 0.0 else 0.0


@kernel
def row_gram(tie, y, classes, scaling, size, square, out):
    """out[p, q] = S_p S_q |x|^2 <e_y - e_p, e_y - e_q>_A of the classes of a work set; entry 0 stands for y itself.

    Classes of a tree, in the order of their ranks from entry 1 on, share the least that neighbours between them share.
    """
    own = shared_weight(tie, y, y)
    ranked = tie.rank.shape[0] > 0
    cross = np.empty(size)
    link = np.empty(size)
    for p in range(size):
        cross[p] = shared_weight(tie, y, classes[p])
        link[p] = shared_weight(tie, classes[p], classes[p - 1]) if p > 1 and ranked else 0.0
    for p in range(size):
        out[0, p] = 0.0
        out[p, 0] = 0.0
    for p in range(1, size):
        factor = scaling[p] * square
        common = shared_weight(tie, classes[p], classes[p])
        out[p, p] = factor * scaling[p] * (own - 2.0 * cross[p] + common)
        for q in range(p - 1, 0, -1):
            common = min(common, link[q + 1]) if ranked else shared_weight(tie, classes[p], classes[q])
            out[p, q] = factor * scaling[q] * (own - cross[p] - cross[q] + common)
            out[q, p] = out[p, q]


@kernel
def rank_slot(tie, classes, alpha):
    """Put the classes of a slot, with their duals, in the order of their ranks; most of them are."""
    if tie.rank.shape[0] == 0:
        return
    for k in range(1, classes.shape[0]):
        here = classes[k]
        mass = alpha[k]
        at = k
        while at > 0 and tie.rank[classes[at - 1]] > tie.rank[here]:
            classes[at] = classes[at - 1]
            alpha[at] = alpha[at - 1]
            at -= 1
        classes[at] = here
        alpha[at] = mass


@kernel
def row_gap(gradient, alpha, size, cost):
    """cost max_l g_l - sum_l alpha_l g_l over the work set: how much this row alone keeps primal and dual apart."""
    highest = gradient[0]
    total = 0.0
    for p in range(size):
        highest = max(highest, gradient[p])
        total += alpha[p] * gradient[p]
    return max(0.0, cost * highest - total)


@kernel
def pairwise_steps(gram, gradient, alpha, size, cost, goal, max_steps):
    """Move mass from the worst to the best class of the work set until the row's gap is at most `goal`.

    Maximises g' d - d' gram d / 2 over alpha + d >= 0, sum alpha + d = cost (entry 0 is the slack of the sum).
    `alpha` and `gradient` change in place; returns the number of steps.
    """
    for step in range(max_steps):
        best = 0
        worst = -1
        total = 0.0
        for p in range(size):
            total += alpha[p] * gradient[p]
            if gradient[p] > gradient[best]:
                best = p
            if alpha[p] > 0.0 and (worst < 0 or gradient[p] < gradient[worst]):
                worst = p
        rise = gradient[best] - gradient[worst] if worst >= 0 else 0.0
        if rise <= 0.0 or cost * gradient[best] - total <= goal:
            return step
        curvature = gram[best, best] + gram[worst, worst] - 2.0 * gram[best, worst]
        move = alpha[worst]
        if rise < curvature * move:
            move = rise / curvature
            alpha[worst] -= move
        else:
            alpha[worst] = 0.0
        alpha[best] += move
        for p in range(size):
            gradient[p] -= move * (gram[p, best] - gram[p, worst])
    return max_steps


@kernel
def add_stretched(gradient, costs_of, rescaling, worst, c, stretches, losses):
    """losses[k] += c max(0, max_l D_l - t_k (D_l - g_l)), t_k being the k-th of `stretches`, the largest first."""
    # another class can be the worst one at t only where it is behind by less than (1 - 1 / t) times the margin of this
    share = 1.0 - 1.0 / stretches[0]
    bar = max(0.0, gradient[worst] - share * margin_of(rescaling, costs_of[worst]))
    largest = np.zeros(stretches.shape[0])
    for other in range(gradient.shape[0]):
        g = gradient[other]
        if g > bar or other == worst:
            ahead = margin_of(rescaling, costs_of[other]) - g
            for k in range(stretches.shape[0]):
                largest[k] = max(largest[k], g - (stretches[k] - 1.0) * ahead)
    for k in range(stretches.shape[0]):
        losses[k] += c * largest[k]
