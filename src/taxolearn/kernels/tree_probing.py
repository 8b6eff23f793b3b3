"""A cheap look for rows worth working on: a tree's classes against a sample of the rows.

Pricing reads all rows for all classes; at a hundred thousand rows one sweep costs a tenth of it. Probing finds
most of the rows that a rough solution is missing before the first pricing. It says nothing about the objectives.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.loss_steps import loss_value
from taxolearn.kernels.rows import n_rows, row_dot
from taxolearn.kernels.tree_descent import add_node
from taxolearn.kernels.tree_pricing import choose_largest


@kernel
def _probe(loss, rows, active, costs, cls, sample, shift, share, most, w, values, candidates, seen, out, at):
    """Write the sampled rows of largest loss that class l does not work on to out[at:]; returns where they end."""
    for k in range(active.indptr[cls], active.indptr[cls + 1]):
        seen[active.rows[k]] = cls
    size = 0
    total = 0.0
    for t in range(sample.shape[0]):
        i = sample[t]
        if seen[i] == cls:
            continue
        value = costs.row_weight[i] * loss_value(loss, -(row_dot(rows, i, w) + shift))
        if value > 0.0:
            values[i] = value
            candidates[size] = i
            size += 1
            total += value
    choose_largest(values, candidates, size, share * total, most)
    for k in range(size):
        if candidates[k] >= 0:
            out[at] = candidates[k]
            at += 1
    return at


@kernel
def probe_tree(
    loss,
    rows,
    tree,
    active,
    costs,
    top,
    sample,
    bias_feature,
    biases,
    share,
    most,
    w,
    fresh,
    begin,
    finish,
    stop,
):
    """Hold the classes under node `top` against the rows in `sample`.

    fresh[begin[l]:finish[l]] gets rows to add to class l: as few as leave out `share` of its losses on the sample, at
    most most[l]. `biases` are b0 + beta; `w` comes and goes as zeros.
    """
    n = n_rows(rows)
    part = np.zeros(n)
    touched = np.zeros(n, dtype=np.bool_)
    values = np.empty(n)
    candidates = np.empty(sample.shape[0], dtype=np.int64)
    seen = np.full(n, -1, dtype=np.int64)
    path = np.empty(tree.end[top] - top + 1, dtype=np.int64)
    depth = 0
    node = top
    at = 0
    while node < tree.end[top]:
        add_node(rows, tree, active, node, 1.0, w, part, touched)
        path[depth] = node
        depth += 1
        for cls in range(tree.first[node], tree.own[node]):
            begin[cls] = at
            if stop[0] == 0:
                at = _probe(
                    loss,
                    rows,
                    active,
                    costs,
                    cls,
                    sample,
                    biases[cls] * bias_feature,
                    share,
                    most[cls],
                    w,
                    values,
                    candidates,
                    seen,
                    fresh,
                    at,
                )
            finish[cls] = at
        node += 1
        while depth > 0 and tree.end[path[depth - 1]] <= node:
            depth -= 1
            if depth == 0:
                w[:] = 0.0
            else:
                add_node(rows, tree, active, path[depth], -1.0, w, part, touched)
    w[:] = 0.0
