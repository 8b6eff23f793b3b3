"""The best ancestor-closed set of nodes in a tree, for many rows: an exact programme of one pass up and one down.

    values, indptr, indices = best_tree_sets(potentials, parent, subtree_end, must)

- `potentials`: rows x nodes, float64 and finite; any strides, fastest if a row is contiguous.
- `parent`, `subtree_end`: those of `Taxonomy`, int32: depth-first order, the root is node 0 with parent -1.
- `must`: bool per node: if n is chosen, one of its children must be. It is not looked at for leaves, and taken as true
  for the root: a set always has the root and something below it.
- `values`: the sum of the potentials of each row's best set, the root's included.
- `indptr` (int64), `indices` (int32): the sets as CSR, the root included, ids ascending.

With v_n the best value of n and what is below it, n being chosen,

    v_n = r_n + (sum of the positive v_c if there are any, else max v_c if must_n, else 0)

Equals: a child of value 0 is left out unless one is needed, and of the equal ones that are needed the smallest id is
taken. So the set is the same on every run. A tree of the root alone has no set: its value is -inf, the set is empty.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.growing import longer


@kernel
def best_tree_sets(potentials, parent, subtree_end, must):
    """The best set of each row: (values, indptr, indices); see the head of this file."""
    n_rows, n_nodes = potentials.shape
    values = np.full(n_rows, -np.inf)
    indptr = np.zeros(n_rows + 1, np.int64)
    indices = np.empty(16 * n_rows, np.int32)
    if n_nodes < 2:
        return values, indptr, indices[:0]
    value = np.empty(n_nodes)
    pick = np.empty(n_nodes, np.int32)
    gain = np.zeros(n_nodes)  # sum of the positive children so far
    best = np.full(n_nodes, -np.inf)  # the best child so far
    best_child = np.full(n_nodes, -1, np.int32)
    size = np.int64(0)
    for row in range(n_rows):
        climb_tree(potentials[row], parent, subtree_end, must, value, pick, gain, best, best_child)
        if size + n_nodes > indices.shape[0]:
            indices = longer(indices, size, n_nodes)
        indices[size] = 0
        size += 1
        total = potentials[row, 0]
        node = 1
        while node < n_nodes:
            if value[node] > 0.0 or pick[parent[node]] == node:
                indices[size] = node
                size += 1
                total += potentials[row, node]
                node += 1
            else:
                node = subtree_end[node]
        values[row] = total
        indptr[row + 1] = size
    return values, indptr, indices[:size]


@kernel
def climb_tree(potential, parent, subtree_end, must, value, pick, gain, best, best_child):
    """v_n of all nodes into `value`, and the child that is needed, -1 if none is, into `pick`.

    `gain`, `best` and `best_child` must come, and are left, as 0, -inf and -1.
    """
    for node in range(potential.shape[0] - 1, -1, -1):
        total = potential[node]
        pick[node] = -1
        if subtree_end[node] > node + 1:
            if gain[node] > 0.0:
                total += gain[node]
            elif must[node] or node == 0:
                total += best[node]
                pick[node] = best_child[node]
            gain[node] = 0.0
            best[node] = -np.inf
        value[node] = total
        if node > 0:
            above = parent[node]
            if total > 0.0:
                gain[above] += total
            elif total >= best[above]:  # ids fall: the last of equals is the smallest
                best[above] = total
                best_child[above] = node
