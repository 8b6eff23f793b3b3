"""What each node of a tree matters to the best label set, and the best set with a limited number of ends; many rows.

Potentials, trees, `must` and sets are those of `tree_sets`.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.growing import longer
from taxolearn.kernels.tree_sets import climb_tree


@kernel
def tree_marginals(potentials, parent, subtree_end, must, out):
    """Max-marginals into `out`, rows x nodes: the best value of a set with n, less the best of one without n.

    Infinite for nodes that every set has. One pass up and one down, with

        with_n    = v_n + outside_n,  outside_c = outside_p + r_p + sum of the positive v_s of its siblings s
        without_c = max(without_p, outside_p + r_p + what the siblings of c bring without it)
    """
    n_rows, n_nodes = potentials.shape
    value = np.empty(n_nodes)
    pick = np.empty(n_nodes, np.int32)
    gain = np.zeros(n_nodes)
    best = np.full(n_nodes, -np.inf)
    best_child = np.full(n_nodes, -1, np.int32)
    positive = np.empty(n_nodes)  # sum of the positive children
    count = np.empty(n_nodes, np.int32)  # how many of them there are
    first = np.empty(n_nodes)  # the best child
    second = np.empty(n_nodes)  # the best of the others
    outside = np.empty(n_nodes)
    without = np.empty(n_nodes)
    for row in range(n_rows):
        potential = potentials[row]
        climb_tree(potential, parent, subtree_end, must, value, pick, gain, best, best_child)
        for node in range(n_nodes):
            positive[node] = 0.0
            count[node] = 0
            first[node] = -np.inf
            second[node] = -np.inf
        for node in range(1, n_nodes):
            above = parent[node]
            if value[node] > 0.0:
                positive[above] += value[node]
                count[above] += 1
            if value[node] > first[above]:
                second[above] = first[above]
                first[above] = value[node]
            elif value[node] > second[above]:
                second[above] = value[node]
        outside[0] = 0.0
        without[0] = -np.inf
        out[row, 0] = np.inf
        for node in range(1, n_nodes):
            above = parent[node]
            others = positive[above]
            left = count[above]
            if value[node] > 0.0:
                others -= value[node]
                left -= 1
            if left == 0:
                others = 0.0
            here = outside[above] + potential[above]
            outside[node] = here + others
            if left == 0 and (must[above] or above == 0):
                others = second[above] if value[node] == first[above] else first[above]
            without[node] = max(without[above], here + others)
            if without[node] == -np.inf:
                out[row, node] = np.inf
            else:
                out[row, node] = value[node] + outside[node] - without[node]


@kernel
def best_tree_sets_of(potentials, parent, subtree_end, must, most):
    """As `best_tree_sets`, with at most `most` ends: chosen nodes without a chosen child.

    f_n(j) is the best value of n and what is below it with at most j ends; children join one by one, j shared out.
    Equals: fewer ends go to children of smaller ids, a child is left out rather than taken.
    """
    n_rows, n_nodes = potentials.shape
    values = np.full(n_rows, -np.inf)
    indptr = np.zeros(n_rows + 1, np.int64)
    indices = np.empty(16 * n_rows, np.int32)
    if n_nodes < 2:
        return values, indptr, indices[:0]
    joined = np.empty((n_nodes, most + 1))  # of the children so far, at least one of them chosen
    given = np.empty((n_nodes, most + 1), np.int32)  # of j ends, how many go to this child; 0: not taken
    alone = np.empty((n_nodes, most + 1), np.bool_)  # and none to those of larger ids
    value = np.empty(most + 1)
    share = np.empty(n_nodes, np.int32)
    size = np.int64(0)
    for row in range(n_rows):
        for node in range(n_nodes):
            for j in range(most + 1):
                joined[node, j] = -np.inf
        for node in range(n_nodes - 1, 0, -1):
            stop = subtree_end[node] == node + 1 or not must[node]
            for j in range(1, most + 1):
                below = joined[node, j]
                value[j] = potentials[row, node] + (max(below, 0.0) if stop else below)
            _join(joined[parent[node]], value, given[node], alone[node], most)
        if size + n_nodes > indices.shape[0]:
            indices = longer(indices, size, n_nodes)
        first = size
        _pick_ends(potentials[row], parent, subtree_end, must, joined, given, alone, share, most)
        total = 0.0
        for node in range(n_nodes):
            if share[node] > 0:
                indices[size] = node
                size += 1
                total += potentials[row, node]
        values[row] = total if size > first else -np.inf
        indptr[row + 1] = size
    return values, indptr, indices[:size]


@kernel
def _join(joined, value, given, alone, most):
    """Let one more child join, of which `value` is f; larger numbers of ends first, which need the smaller ones."""
    for j in range(most, 0, -1):
        best = joined[j]
        given[j] = 0
        alone[j] = False
        if value[j] > best:
            best = value[j]
            given[j] = j
            alone[j] = True
        for i in range(1, j):
            if joined[j - i] + value[i] > best:
                best = joined[j - i] + value[i]
                given[j] = i
                alone[j] = False
        joined[j] = best


@kernel
def _pick_ends(potential, parent, subtree_end, must, joined, given, alone, share, most):
    """How many ends each node has below it, or is, in the best set: 0 where it is not chosen."""
    n_nodes = potential.shape[0]
    left = share  # of a chosen node: what its children of larger ids may still have; afterwards any positive number
    left[0] = most
    for node in range(1, n_nodes):
        left[node] = 0
    rest = np.zeros(n_nodes, np.int32)
    rest[0] = most
    for node in range(1, n_nodes):
        above = parent[node]
        j = rest[above]
        if left[above] == 0 or j == 0:
            continue
        i = given[node, j]
        if i == 0:
            continue
        rest[above] = 0 if alone[node, j] else j - i
        left[node] = i
        stop = subtree_end[node] == node + 1 or not must[node]
        rest[node] = 0 if stop and joined[node, i] <= 0.0 else i
