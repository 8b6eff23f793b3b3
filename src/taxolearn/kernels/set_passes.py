"""Passes over the rows of a structured hinge over label sets.

    min_u   1/2 sum_n ||u_n||^2 / a_n + sum_i c_i max over sets z of sum_n theta_in (z_n - y_in)
    max_mu  sum_i c_i Delta(mu_i, y_i) - 1/2 sum_n a_n ||sum_i c_i (y_in - mu_in) x_i||^2

with theta_in = u_n . x_i + false_alarm_n where y_in = 0 and - miss_n where it is 1, and mu_i in the convex hull of the
sets. At u_n = a_n sum_i c_i (y_in - mu_in) x_i the gap is the sum over rows of
c_i (max_z theta_i . z - theta_i . mu_i).

Each row keeps a slot: the nodes of y_i and those with positive mu, in rising order. A full visit scores all nodes and
makes the slot anew; other visits work on the nodes of the slot alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.closure_rows import closure_of, dag_step, new_flow, payers
from taxolearn.kernels.rows import add_row_scores
from taxolearn.kernels.set_rows import Tree, best_value, new_room, tree_step
from taxolearn.kernels.simplex_rows import add_some_scores, add_to_some
from taxolearn.kernels.sorting import sort_span

_SETTLED = 1e-12  # a gap below this share of a row's largest loss is rounding


class Space(NamedTuple):
    """The sets: of a tree, or the closed ones of a DAG; and what nodes cost."""

    is_tree: Any
    tree: Any
    dag: Any
    miss: Any
    false_alarm: Any
    scale: Any
    curvature: Any


class Sets(NamedTuple):
    """y_i: nodes[indptr[i] : indptr[i + 1]], in rising order."""

    indptr: Any
    nodes: Any


class Slots(NamedTuple):
    """Row i has `nodes[start[i] : start[i] + count[i]]` with marginals `mu` at the same places."""

    start: Any
    count: Any
    nodes: Any
    mu: Any


@kernel
def _best(space, size, theta, room, flow):
    """max over sets of sum_n theta_n, the root left out."""
    if space.is_tree:
        return best_value(space.tree, size, theta, room)
    count = payers(space.dag, flow, size, theta, flow.nodes)
    _, _, value = closure_of(space.dag, flow, flow.nodes, np.int64(0), count, theta)
    return value


@kernel
def _thetas(space, sets_start, sets_end, set_nodes, scores, theta):
    """theta of all nodes from their scores; the sum of those in y."""
    for n in range(theta.shape[0]):
        theta[n] = scores[n] + space.false_alarm[n]
    theta[0] = 0.0
    own = 0.0
    for k in range(sets_start, sets_end):
        n = set_nodes[k]
        if n > 0:
            theta[n] = scores[n] - space.miss[n]
            own += theta[n]
    return own


@kernel
def price(rows, sets, cost, space, nodes, bias, bias_feature, slots, chosen, scores, gaps, report, stop):
    """Score the chosen rows at all nodes, at frozen weights, in the precision of `scores`.

    gaps[i] becomes the gap of row i; report[0] += its loss, report[1] += its gap.
    """
    size = nodes.shape[1]
    room = new_room(size)
    flow = new_flow(size, space.dag.parents.shape[0])
    theta = np.empty(size)
    for r in range(chosen.shape[0]):
        if stop[0] != 0:
            return
        i = chosen[r]
        for n in range(size):
            scores[n] = bias[n] * bias_feature
        add_row_scores(rows, i, nodes, scores)
        own = _thetas(space, sets.indptr[i], sets.indptr[i + 1], sets.nodes, scores, theta)
        best = _best(space, size, theta, room, flow)
        spent = 0.0
        for k in range(slots.start[i], slots.start[i] + slots.count[i]):
            spent += slots.mu[k] * theta[slots.nodes[k]]
        gaps[i] = max(0.0, cost[i] * (best - spent))
        report[0] += cost[i] * max(0.0, best - own)
        report[1] += gaps[i]


@kernel
def _enough(nodes, mu, need):
    """Slots with room for so many entries."""
    if need <= nodes.shape[0]:
        return nodes, mu
    size = max(need, 2 * nodes.shape[0])
    more = np.empty(size, dtype=nodes.dtype)
    values = np.empty(size)
    for k in range(nodes.shape[0]):  # slices would compile in ten times the time
        more[k] = nodes[k]
        values[k] = mu[k]
    return more, values


@kernel
def ascend_all(
    rows, square, sets, cost, space, nodes, bias, bias_feature, slots, order, scores, gaps, report, stop
):
    """Visit the rows in `order`: score all nodes, make the best step, move the weights.

    Returns the slots of these rows, in their order: how many entries each has, their nodes and marginals. gaps[i] is
    what row i had when it was visited; report[0] += its loss then, report[1] += its gap. When told to stop, the
    remaining rows keep what they have.
    """
    size = nodes.shape[1]
    room = new_room(size)
    flow = new_flow(size, space.dag.parents.shape[0])
    ts, psis = np.empty(1024), np.empty(1024)
    theta, g, h = np.empty(size), np.empty(size), np.empty(size)
    before, after = np.zeros(size), np.zeros(size)
    chosen = np.empty(size, dtype=np.int64)
    change = np.empty(size)
    filled = np.int64(0)
    counts = np.zeros(order.shape[0], dtype=np.int32)
    kept_nodes, kept_mu = (
        np.empty(8 * order.shape[0] + size, dtype=np.int32),
        np.empty(8 * order.shape[0] + size),
    )
    for r in range(order.shape[0]):
        i = order[r]
        kept_nodes, kept_mu = _enough(kept_nodes, kept_mu, filled + size)
        c = cost[i]
        moves = stop[0] == 0 and c > 0.0
        found = 0
        first, last = slots.start[i], slots.start[i] + slots.count[i]
        if moves:
            for n in range(size):
                scores[n] = bias[n] * bias_feature
            add_row_scores(rows, i, nodes, scores)
            own = _thetas(space, sets.indptr[i], sets.indptr[i + 1], sets.nodes, scores, theta)
            best = _best(space, size, theta, room, flow)
            spent = 0.0
            for k in range(first, last):
                spent += slots.mu[k] * theta[slots.nodes[k]]
                before[slots.nodes[k]] = slots.mu[k]
            gaps[i] = max(0.0, c * (best - spent))
            report[0] += c * max(0.0, best - own)
            report[1] += gaps[i]
            moves = gaps[i] > _SETTLED * c * (abs(best) + abs(spent))
        if not moves:
            for k in range(first, last):
                before[slots.nodes[k]] = 0.0
                kept_nodes[filled] = slots.nodes[k]
                kept_mu[filled] = slots.mu[k]
                filled += 1
            counts[r] = last - first
            continue
        push = c * square[i]
        for n in range(size):
            h[n] = max(push * space.scale[n], space.curvature[n])
            g[n] = theta[n] + h[n] * before[n]
        if space.is_tree:
            found, ts, psis = tree_step(space.tree, size, g, h, room, ts, psis)
            positive = 0
            for q in range(found):
                if room.mu[q] > 0.0:
                    chosen[positive] = room.queue[q]
                    after[room.queue[q]] = room.mu[q]
                    positive += 1
            found = positive
        else:
            count = payers(space.dag, flow, size, g, flow.nodes)
            found = dag_step(space.dag, flow, count, g, h) + 1
            chosen[0] = 0
            after[0] = 1.0
            for q in range(1, found):
                chosen[q] = flow.nodes[q - 1]
                after[chosen[q]] = flow.mu[chosen[q]]
        start = filled
        filled = _keep(sets, i, chosen, found, after, kept_nodes, kept_mu, filled)
        counts[r] = filled - start
        _move(
            rows, i, c, space, nodes, bias, bias_feature, first, last, slots, chosen, found, before, after, change
        )  # fmt: skip
    return counts, kept_nodes[:filled], kept_mu[:filled]


@kernel
def _keep(sets, i, chosen, found, after, kept_nodes, kept_mu, filled):
    """Write the new slot of row i, in rising order: nodes that are positive now, and those of y."""
    start = filled
    for q in range(found):
        kept_nodes[filled] = chosen[q]
        filled += 1
    for k in range(sets.indptr[i], sets.indptr[i + 1]):
        if after[sets.nodes[k]] <= 0.0:
            kept_nodes[filled] = sets.nodes[k]
            filled += 1
    sort_span(kept_nodes, start, filled)
    for k in range(start, filled):
        kept_mu[k] = after[kept_nodes[k]]
    return filled


@kernel
def _move(
    rows, i, c, space, nodes, bias, bias_feature, first, last, slots, chosen, found, before, after, change
):  # fmt: skip
    """Add to the weights what the step changed; `before` and `after` are left zero."""
    for k in range(first, last):  # what was and is no more
        n = slots.nodes[k]
        if after[n] <= 0.0 and before[n] > 0.0:
            chosen[found] = n
            found += 1
    moved = 0
    for q in range(found):
        n = chosen[q]
        amount = c * (before[n] - after[n]) * space.scale[n]
        before[n] = 0.0
        after[n] = 0.0
        if amount != 0.0 and n > 0:
            chosen[moved] = n
            change[moved] = amount
            bias[n] += amount * bias_feature
            moved += 1
    add_to_some(rows, i, nodes, chosen, moved, change)


@kernel
def ascend_some(rows, square, sets, cost, space, nodes, bias, bias_feature, slots, order, gaps, report, stop):
    """Visit the rows in `order`: make the best step on the nodes of their slots, others staying at zero.

    gaps[i] is what row i had among these when it was visited; report[1] += that.
    """
    size = np.int64(1)
    for r in range(order.shape[0]):
        size = max(size, slots.count[order[r]])
    widest = nodes.shape[1]
    room = new_room(size)
    flow = new_flow(widest, space.dag.parents.shape[0])
    ts, psis = np.empty(1024), np.empty(1024)
    place = np.full(widest, -1, dtype=np.int64)
    theta, g, h = np.empty(size), np.empty(size), np.empty(size)
    far_g, far_h = np.empty(widest), np.empty(widest)
    mu, change = np.empty(size), np.empty(size)
    chosen = np.empty(size, dtype=np.int64)
    local = Tree(
        np.empty(size + 1, dtype=np.int64), np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.bool_),
    )  # fmt: skip
    for r in range(order.shape[0]):
        if stop[0] != 0:
            return
        i = order[r]
        first, m = slots.start[i], np.int64(slots.count[i])
        c = cost[i]
        if m < 2 or c <= 0.0:
            continue
        for q in range(m):
            n = slots.nodes[first + q]
            chosen[q] = n
            theta[q] = bias[n] * bias_feature + space.false_alarm[n]
            place[n] = q
        add_some_scores(rows, i, nodes, chosen, m, theta)
        for k in range(sets.indptr[i], sets.indptr[i + 1]):
            n = sets.nodes[k]
            theta[place[n]] -= space.miss[n] + space.false_alarm[n]
        push = c * square[i]
        spent = 0.0
        theta[0] = 0.0
        for q in range(m):
            h[q] = max(push * space.scale[chosen[q]], space.curvature[chosen[q]])
            g[q] = theta[q] + h[q] * slots.mu[first + q]
            spent += theta[q] * slots.mu[first + q]
            mu[q] = 0.0
        if space.is_tree:
            _local_tree(space.tree, chosen, m, place, local)
            best = best_value(local, m, theta, room)
        else:
            for q in range(1, m):
                flow.nodes[q - 1] = chosen[q]
                far_g[chosen[q]] = theta[q]
            _, _, best = closure_of(space.dag, flow, flow.nodes, np.int64(0), m - 1, far_g)
        gaps[i] = max(0.0, c * (best - spent))
        report[1] += gaps[i]
        if gaps[i] > _SETTLED * c * (abs(best) + abs(spent)):
            if space.is_tree:
                found, ts, psis = tree_step(local, m, g, h, room, ts, psis)
                for q in range(found):
                    mu[room.queue[q]] = room.mu[q]
            else:
                for q in range(1, m):
                    flow.nodes[q - 1] = chosen[q]
                    far_g[chosen[q]] = g[q]
                    far_h[chosen[q]] = h[q]
                found = dag_step(space.dag, flow, m - 1, far_g, far_h)
                for q in range(found):
                    mu[place[flow.nodes[q]]] = flow.mu[flow.nodes[q]]
            mu[0] = 1.0
            moved = 0
            for q in range(m):
                n = chosen[q]
                place[n] = -1
                amount = c * (slots.mu[first + q] - mu[q]) * space.scale[n]
                slots.mu[first + q] = mu[q]
                if amount != 0.0 and q > 0:
                    chosen[moved] = n
                    change[moved] = amount
                    bias[n] += amount * bias_feature
                    moved += 1
            add_to_some(rows, i, nodes, chosen, moved, change)
        else:
            for q in range(m):
                place[chosen[q]] = -1


@kernel
def _local_tree(tree, chosen, m, place, local):
    """The tree of some nodes that have all their ancestors among them, in rising order; `place` is where each is."""
    for q in range(m + 1):
        local.indptr[q] = 0
    for q in range(m):
        local.must[q] = tree.must[chosen[q]]
        local.parent[q] = -1
        if q > 0:
            local.parent[q] = place[tree.parent[chosen[q]]]
            local.indptr[local.parent[q] + 1] += 1
    for q in range(m):
        local.indptr[q + 1] += local.indptr[q]
    for q in range(m - 1, 0, -1):  # from the back, so that children come out in rising order
        p = local.parent[q]
        local.indptr[p + 1] -= 1
        local.children[local.indptr[p + 1]] = q
    for q in range(m):  # the starts have moved one place
        local.indptr[q] = local.indptr[q + 1]
    local.indptr[m] = m - 1


@kernel
def weights_of(rows, sets, cost, space, nodes, bias, bias_feature, slots, stop):
    """Make `nodes` and `bias` anew from the marginals: what rounding, or threads that wrote at once, have blurred."""
    nodes[:] = 0.0
    bias[:] = 0.0
    size = nodes.shape[1]
    own = np.zeros(size)
    chosen = np.empty(size, dtype=np.int64)
    change = np.empty(size)
    for i in range(cost.shape[0]):
        if stop[0] != 0:
            return
        for k in range(sets.indptr[i], sets.indptr[i + 1]):
            own[sets.nodes[k]] = 1.0
        moved = 0
        for k in range(slots.start[i], slots.start[i] + slots.count[i]):
            n = slots.nodes[k]
            amount = cost[i] * (own[n] - slots.mu[k]) * space.scale[n]
            if amount != 0.0 and n > 0:
                chosen[moved] = n
                change[moved] = amount
                bias[n] += amount * bias_feature
                moved += 1
        for k in range(sets.indptr[i], sets.indptr[i + 1]):
            own[sets.nodes[k]] = 0.0
        add_to_some(rows, i, nodes, chosen, moved, change)
