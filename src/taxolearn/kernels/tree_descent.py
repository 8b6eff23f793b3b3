"""Dual coordinate descent for one-vs-rest losses tied along the paths of a tree.

    max_d  -1/2 sum_n a_n ||z_n||^2 - 1/2 sum_l beta_l^2 - b0 sum_l beta_l - sum_il (c_il loss)*(-d_il)
    z_n = sum over classes l under n of v_l,  v_l = sum_i d_il y_il x_i,  beta_l = s sum_i d_il y_il

Given: rows of X, a tree in depth-first order (`TreeArrays`), and for every class the rows it works on with their duals
(`Active`). Weights are never stored: one vector w is led along the tree. Entering node n adds a_n z_n, so that at
a class w is the class's own weight vector; a step of a dual there adds K_l y delta x to it, K_l being the sum of the
scales on the path; leaving n takes a_n z_n away, now with the new duals. What is left is exactly what the
classes still to come have to see (K_l - a_l = K_parent), so one rule serves leaves, inner nodes and labels at
inner nodes. A DAG is walked in the same way once it is unfolded into a tree, where a node may stand at several places:
each of them adds and takes away the same a_n z_n, over all classes under n wherever they are, and at a class w has
exactly the nodes of its path.

Trees whose top nodes hang at a pinned root share nothing: each may be swept by another thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.loss_steps import (
    conjugate_derivative,
    dual_step,
    dual_upper,
    loss_conjugate,
    loss_value,
)
from taxolearn.kernels.rows import n_rows, row_add, row_dot


class TreeArrays(NamedTuple):
    """Nodes in depth-first order: the nodes below n are n+1 .. end[n]-1; classes are numbered along that order.

    The classes in the tree below n are first[n] .. last[n]-1, those that sit at n itself first[n] .. own[n]-1. The
    classes that have n on their path are those of spans[span_first[n]:span_last[n]]: in a tree the same ones, in a DAG,
    where n may stand at several places, more.
    """

    end: Any
    first: Any
    own: Any
    last: Any
    scale: Any
    reach: Any  # the sum of the scales from the top down to the node: K of a class that sits there
    span_first: Any
    span_last: Any
    spans: Any  # (from, to) pairs of classes


class Active(NamedTuple):
    """The rows that each class works on: rows[indptr[l]:indptr[l+1]], the first `positive[l]` of them its own.

    The first `permanent[l]` are never dropped.
    """

    indptr: Any
    positive: Any
    rows: Any
    dual: Any
    permanent: Any


class Costs(NamedTuple):
    """Cost of (row, class): row_weight times positive[l] for rows of the class, negative[l] for others."""

    row_weight: Any
    positive: Any
    negative: Any


@kernel
def random_below(state, n):
    """A number in 0..n-1 from a xorshift generator whose state the caller owns (threads share nothing)."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    # the upper 31 bits times n, divided by 2^31: no slow remainder
    return np.int64(((x >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))


@kernel
def add_node(rows, tree, active, n, factor, w, share, touched):
    """w += factor * a_n z_n; `share` comes and goes as zeros, `touched` as all False, one a row."""
    scale = factor * tree.scale[n]
    if scale == 0.0:
        return
    spans = tree.spans[tree.span_first[n] : tree.span_last[n]]
    if spans.shape[0] == 1 and spans[0, 1] - spans[0, 0] == 1:
        cls = spans[0, 0]
        own = active.indptr[cls] + active.positive[cls]
        for k in range(active.indptr[cls], active.indptr[cls + 1]):
            if active.dual[k] != 0.0:
                signed = np.float64(active.dual[k]) * (1.0 if k < own else -1.0)
                row_add(rows, active.rows[k], scale * signed, w)
        return
    # classes under n share rows: add up their duals, then read each row once
    most = 0
    for s in range(spans.shape[0]):
        most += active.indptr[spans[s, 1]] - active.indptr[spans[s, 0]]
    found = np.empty(min(most, share.shape[0]), dtype=np.int64)
    size = 0
    for s in range(spans.shape[0]):
        for cls in range(spans[s, 0], spans[s, 1]):
            own = active.indptr[cls] + active.positive[cls]
            for k in range(active.indptr[cls], active.indptr[cls + 1]):
                if active.dual[k] != 0.0:
                    i = active.rows[k]
                    if not touched[i]:
                        touched[i] = True
                        found[size] = i
                        size += 1
                    share[i] += active.dual[k] * (1.0 if k < own else -1.0)
    for t in range(size):
        i = found[t]
        row_add(rows, i, scale * share[i], w)
        share[i] = 0.0
        touched[i] = False


@kernel
def _visit(
    loss, rows, squares, active, costs, cls, reach, bias_feature, epochs, goal, w, biases, state, order
):
    """Coordinate descent on the duals of class l, at most so many epochs; returns its gap at the first one."""
    start = active.indptr[cls]
    size = active.indptr[cls + 1] - start
    n_own = active.positive[cls]
    bias = biases[cls]
    for k in range(size):
        order[k] = k
    first_gap = 0.0
    for epoch in range(epochs):
        for k in range(size - 1, 0, -1):
            j = random_below(state, k + 1)
            order[k], order[j] = order[j], order[k]
        gap = 0.0
        kept = 0
        for t in range(size):
            k = order[t]
            i = active.rows[start + k]
            y = 1.0 if k < n_own else -1.0
            c = costs.row_weight[i] * (costs.positive[cls] if k < n_own else costs.negative[cls])
            if c <= 0.0:
                continue
            d = np.float64(active.dual[start + k])
            margin = y * (row_dot(rows, i, w) + bias * bias_feature)
            gap += c * loss_value(loss, margin) + loss_conjugate(loss, d, c) + d * margin
            gradient = margin + conjugate_derivative(loss, d, c)
            # a dual that its bound holds back is left alone for the rest of this visit
            if (d > 0.0 or gradient < 0.0) and (d < dual_upper(loss, c) or gradient > 0.0):
                order[kept] = k
                kept += 1
                fresh = dual_step(loss, d, margin, reach * squares[i] + bias_feature * bias_feature, c)
                active.dual[start + k] = fresh
                # as it is stored, which may be in single precision
                change = (np.float64(active.dual[start + k]) - d) * y
                if change != 0.0:
                    row_add(rows, i, change * reach, w)
                    bias += change * bias_feature
        size = kept
        if epoch == 0:
            first_gap = gap
        if gap <= goal:
            break
    biases[cls] = bias
    return first_gap


@kernel
def pass_node(rows, tree, active, node, sign, w, share, touched, slot, stored, filled):
    """w += sign * a_n z_n; where n has a slot, z_n is added up once, and stored there."""
    at = slot[node]
    if at < 0:
        add_node(rows, tree, active, node, sign, w, share, touched)
        return
    line = stored[at]
    if not filled[at]:
        filled[at] = True
        line[:] = 0.0
        add_node(rows, tree, active, node, 1.0 / tree.scale[node], line, share, touched)
    factor = sign * tree.scale[node]
    for j in range(w.shape[0]):
        w[j] += factor * line[j]


@kernel
def _keep_up(rows, active, cls, before, path, depth, slot, stored):
    """Add what a visit has changed of class l to the stored vectors of the nodes on its path."""
    start = active.indptr[cls]
    for k in range(active.indptr[cls + 1] - start):
        change = np.float64(active.dual[start + k]) - before[k]
        if change != 0.0:
            signed = change if k < active.positive[cls] else -change
            for d in range(depth):
                if slot[path[d]] >= 0:
                    row_add(rows, active.rows[start + k], signed, stored[slot[path[d]]])


@kernel
def sweep_tree(
    loss,
    rows,
    squares,
    tree,
    active,
    costs,
    top,
    bias_feature,
    sweeps,
    epochs,
    goals,
    w,
    biases,
    seed,
    slot,
    stored,
    stop,
):
    """Sweep the tree below node `top` so many times; returns the sum of its classes' gaps at the last one.

    Changes `active.dual` and `biases` (b0 + beta) in place; `w` comes and goes as zeros. Nodes with slot[n] >= 0 have
    their z_n in stored[slot[n]] for the time of the sweeps, and it is kept up to date: for nodes of a DAG that stand at
    many places, where adding up the rows under them at each of these would be most of the work.
    """
    n = n_rows(rows)
    state = np.empty(1, dtype=np.uint64)
    state[0] = np.uint64(seed + top) * np.uint64(2654435761) + np.uint64(88172645463325252)
    share = np.zeros(n)
    touched = np.zeros(n, dtype=np.bool_)
    longest = 0
    for cls in range(tree.first[top], tree.last[top]):
        longest = max(longest, active.indptr[cls + 1] - active.indptr[cls])
    order = np.empty(longest, dtype=np.int64)
    path = np.empty(tree.end[top] - top + 1, dtype=np.int64)
    before = np.empty(longest if stored.shape[0] > 0 else 0)
    filled = np.zeros(stored.shape[0], dtype=np.bool_)
    gap = 0.0
    for _ in range(sweeps):
        gap = 0.0
        depth = 0
        node = top
        while node < tree.end[top] and stop[0] == 0:
            pass_node(rows, tree, active, node, 1.0, w, share, touched, slot, stored, filled)
            path[depth] = node
            depth += 1
            for cls in range(tree.first[node], tree.own[node]):
                for k in range(before.shape[0] and active.indptr[cls + 1] - active.indptr[cls]):
                    before[k] = active.dual[active.indptr[cls] + k]
                gap += _visit(
                    loss,
                    rows,
                    squares,
                    active,
                    costs,
                    cls,
                    tree.reach[node],
                    bias_feature,
                    epochs,
                    goals[cls],
                    w,
                    biases,
                    state,
                    order,
                )
                if before.shape[0] > 0:
                    _keep_up(rows, active, cls, before, path, depth, slot, stored)
            node += 1
            while depth > 0 and tree.end[path[depth - 1]] <= node:
                depth -= 1
                if depth == 0:
                    w[:] = 0.0
                else:
                    pass_node(rows, tree, active, path[depth], -1.0, w, share, touched, slot, stored, filled)
        if stop[0] != 0:
            break
    w[:] = 0.0
    return gap


@kernel
def class_vectors(rows, tree, active, top, place, w, out):
    """Write the weights of class l under `top` to out[place[l]], for every l; `w` comes and goes as zeros."""
    share = np.zeros(n_rows(rows))
    touched = np.zeros(share.shape[0], dtype=np.bool_)
    path = np.empty(tree.end[top] - top + 1, dtype=np.int64)
    depth = 0
    node = top
    while node < tree.end[top]:
        add_node(rows, tree, active, node, 1.0, w, share, touched)
        path[depth] = node
        depth += 1
        for cls in range(tree.first[node], tree.own[node]):
            line = out[place[cls]]
            for j in range(w.shape[0]):
                line[j] = w[j]
        node += 1
        while depth > 0 and tree.end[path[depth - 1]] <= node:
            depth -= 1
            add_node(rows, tree, active, path[depth], -1.0, w, share, touched)
    w[:] = 0.0
