"""Passes over the rows of a sibling hinge problem: pricing the siblings along each path, and ascent on its simplex.

    min_w  penalty(w) + sum_i c_i max(0, max over rivals j of row i of 1 - (w_own(j) - w_j) . x_i)
    max_alpha  sum alpha_ij - 1/2 tr(Z' Q Z),   alpha_i >= 0, sum_j alpha_ij <= c_i

with w = Q z, row i adding alpha_ij x_i to z_own(j) and taking it from z_j. The rivals of a row are the siblings of the
nodes on the path of its class. All that a row needs are its products with the vectors, and its square.

Rows keep slots as in `simplex_passes`: the units with positive alpha, and the worst violators that pricing found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.simplex_passes import MAX_NEW_CLASSES, MAX_STEPS_PER_CLASS, ROW_TOL
from taxolearn.kernels.simplex_rows import add_some_scores, add_to_some, pairwise_steps, row_gap


class Siblings(NamedTuple):
    """The units group_start[g] .. group_start[g + 1] - 1 are siblings; class y passes the groups step_group[k], k from
    step_indptr[y] to step_indptr[y + 1] - 1, at the units step_own[k]."""

    group_start: Any
    step_indptr: Any
    step_group: Any
    step_own: Any


class Metric(NamedTuple):
    """Q, in dense blocks: block b has the units members[indptr[b] : indptr[b + 1]] and the numbers from start[b] on."""

    block: Any  # of each unit
    place: Any  # of each unit within its block
    indptr: Any
    members: Any
    start: Any
    data: Any


@kernel
def metric_at(metric, a, b):
    """Q[a, b]."""
    block = metric.block[a]
    if metric.block[b] != block:
        return 0.0
    width = metric.indptr[block + 1] - metric.indptr[block]
    return metric.data[metric.start[block] + metric.place[a] * width + metric.place[b]]


@kernel
def _own_of(siblings, y, unit):
    """The unit that must beat this one in rows of class y."""
    for k in range(siblings.step_indptr[y], siblings.step_indptr[y + 1]):
        group = siblings.step_group[k]
        if siblings.group_start[group] <= unit < siblings.group_start[group + 1]:
            return siblings.step_own[k]
    return -1


@kernel
def _price_row(rows, i, y, c, siblings, weights, bias, bias_feature, slots, chosen, scores, gradient):
    """Score row i at the siblings along its path: `gradient` becomes the margins violated there, by unit.

    Its slot gets the worst violators. Returns max(0, max_j g_j) and the row's gap.
    """
    size = 0
    for k in range(siblings.step_indptr[y], siblings.step_indptr[y + 1]):
        group = siblings.step_group[k]
        for unit in range(siblings.group_start[group], siblings.group_start[group + 1]):
            chosen[size] = unit
            scores[size] = bias[unit] * bias_feature
            size += 1
    add_some_scores(rows, i, weights, chosen, size, scores)
    at = 0
    highest = 0.0
    for k in range(siblings.step_indptr[y], siblings.step_indptr[y + 1]):
        group = siblings.step_group[k]
        first = siblings.group_start[group]
        own = siblings.step_own[k]
        mine = scores[at + own - first]
        for unit in range(first, siblings.group_start[group + 1]):
            gradient[unit] = 1.0 - mine + scores[at]
            if unit == own:
                gradient[unit] = -np.inf
            elif gradient[unit] > highest:
                highest = gradient[unit]
            at += 1
    first = slots.indptr[i]
    end = first + slots.count[i]
    spent = 0.0
    left = c
    lowest = np.inf  # among the units that hold mass: what is above it could take some over
    for k in range(first, end):
        g = gradient[slots.classes[k]]
        spent += slots.alpha[k] * g
        left -= slots.alpha[k]
        lowest = min(lowest, g)
    if left > 0.0:
        lowest = min(lowest, 0.0)
    # the few largest newcomers, kept in order by insertion
    room = min(slots.indptr[i + 1] - end, MAX_NEW_CLASSES)
    found = 0
    bar = lowest
    for q in range(size):
        unit = chosen[q]
        g = gradient[unit]
        if g > bar:
            known = False
            for k in range(first, end):
                if slots.classes[k] == unit:
                    known = True
            if not known:
                found = min(found + 1, room)
                at = end + found - 1
                while at > end and gradient[slots.classes[at - 1]] < g:
                    slots.classes[at] = slots.classes[at - 1]
                    at -= 1
                slots.classes[at] = unit
                if found == room:
                    bar = max(lowest, gradient[slots.classes[end + room - 1]])
    for k in range(end, end + found):
        slots.alpha[k] = 0.0
    slots.count[i] += found
    return highest, max(0.0, c * highest - spent)


@kernel
def price(rows, label, cost, siblings, weights, bias, bias_feature, slots, chosen_rows, gaps, report, stop):
    """Score the chosen rows along their paths, at frozen vectors, and put the worst violators into their slots.

    gaps[i] becomes the gap of row i; report[0] += sum of the losses, report[1] += sum of the gaps.
    """
    n_units = weights.shape[1]
    chosen = np.empty(n_units, dtype=np.int64)
    scores = np.empty(n_units)
    gradient = np.empty(n_units)
    for r in range(chosen_rows.shape[0]):
        if stop[0] != 0:
            return
        i = chosen_rows[r]
        highest, gaps[i] = _price_row(
            rows, i, label[i], cost[i], siblings, weights, bias, bias_feature, slots, chosen, scores, gradient
        )
        report[0] += cost[i] * highest
        report[1] += gaps[i]


@kernel
def _slot_scores(rows, i, units, own, size, weights, bias, bias_feature, chosen, scores, gradient):
    """The margins violated at the units of a work set only; entry 0 is the slack of the sum."""
    for p in range(1, size):
        chosen[2 * p - 2] = units[p]
        chosen[2 * p - 1] = own[p]
        scores[2 * p - 2] = bias[units[p]] * bias_feature
        scores[2 * p - 1] = bias[own[p]] * bias_feature
    add_some_scores(rows, i, weights, chosen, 2 * size - 2, scores)
    for p in range(1, size):
        gradient[p] = 1.0 - scores[2 * p - 1] + scores[2 * p - 2]


@kernel
def _row_gram(metric, units, own, size, square, out):
    """out[p, q] = |x|^2 (e_own(p) - e_p)' Q (e_own(q) - e_q); entry 0 is the slack, which moves nothing."""
    for p in range(size):
        out[p, 0] = 0.0
        out[0, p] = 0.0
    for p in range(1, size):
        for q in range(1, p + 1):
            value = metric_at(metric, own[p], own[q]) - metric_at(metric, own[p], units[q])
            value += metric_at(metric, units[p], units[q]) - metric_at(metric, units[p], own[q])
            out[p, q] = square * value
            out[q, p] = out[p, q]


@kernel
def _spread(
    rows, i, units, own, change, size, metric, weights, bias, bias_feature, pulls, touched, chosen, values
):
    """Add to the vectors what a change of alpha adds: Q times the pulls. `pulls` is zero before and after, and
    `touched` false, one entry per block."""
    for p in range(1, size):
        pulls[units[p]] -= change[p]
        pulls[own[p]] += change[p]
    m = 0
    for p in range(1, 2 * size - 1):
        unit = units[p] if p < size else own[p - size + 1]
        block = metric.block[unit]
        if touched[block]:
            continue
        touched[block] = True
        first = metric.indptr[block]
        width = metric.indptr[block + 1] - first
        for a in range(width):
            chosen[m + a] = metric.members[first + a]
            values[m + a] = 0.0
        for b in range(width):
            pull = pulls[metric.members[first + b]]
            if pull != 0.0:
                at = metric.start[block] + b * width
                for a in range(width):
                    values[m + a] += pull * metric.data[at + a]
        m += width
    for p in range(1, size):
        for unit in (units[p], own[p]):
            pulls[unit] = 0.0
            touched[metric.block[unit]] = False
    for q in range(m):
        bias[chosen[q]] += values[q] * bias_feature
    add_to_some(rows, i, weights, chosen, m, values)


@kernel
def ascend(
    rows,
    square,
    label,
    cost,
    siblings,
    metric,
    weights,
    bias,
    bias_feature,
    slots,
    order,
    full,
    gaps,
    report,
    stop,
):
    """Improve the duals of the rows in `order`, one after the other, each on the units of its slot.

    With `full` each row is priced first. `slots.alpha`, `weights` and `bias` change together. gaps[i] is what row i had
    when it was visited; report[0] += c_i max_j g_ij (priced rows only), report[1] += its gap.
    """
    n_units = weights.shape[1]
    widest = 1
    for r in range(order.shape[0]):
        widest = max(widest, slots.indptr[order[r] + 1] - slots.indptr[order[r]] + 1)
    units = np.empty(widest, dtype=np.int64)
    own = np.empty(widest, dtype=np.int64)
    gradient = np.empty(widest)
    alpha = np.empty(widest)
    change = np.empty(widest)
    gram = np.empty((widest, widest))
    chosen = np.empty(max(n_units, 2 * widest), dtype=np.int64)
    values = np.empty(max(n_units, 2 * widest))
    priced = np.empty(n_units)
    pulls = np.zeros(n_units)
    touched = np.zeros(metric.indptr.shape[0], dtype=np.bool_)
    for r in range(order.shape[0]):
        if stop[0] != 0:
            return
        i = order[r]
        c = cost[i]
        y = label[i]
        if full:
            highest, gaps[i] = _price_row(
                rows, i, y, c, siblings, weights, bias, bias_feature, slots, chosen, values, priced
            )
            report[0] += c * highest
            report[1] += gaps[i]
        first = slots.indptr[i]
        size = slots.count[i] + 1
        alpha[0] = c
        gradient[0] = 0.0
        for p in range(1, size):
            units[p] = slots.classes[first + p - 1]
            own[p] = _own_of(siblings, y, units[p])
            alpha[p] = slots.alpha[first + p - 1]
            alpha[0] -= alpha[p]
            if full:
                gradient[p] = priced[units[p]]
        alpha[0] = max(alpha[0], 0.0)
        if not full:
            _slot_scores(rows, i, units, own, size, weights, bias, bias_feature, chosen, values, gradient)
            gaps[i] = row_gap(gradient, alpha, size, c)
            report[1] += gaps[i]
        if gaps[i] <= 0.0 or size == 1:
            continue
        _row_gram(metric, units, own, size, square[i], gram)
        if pairwise_steps(gram, gradient, alpha, size, c, ROW_TOL * gaps[i], MAX_STEPS_PER_CLASS * size) == 0:
            continue
        for p in range(1, size):
            change[p] = alpha[p] - slots.alpha[first + p - 1]
            slots.alpha[first + p - 1] = alpha[p]
        _spread(
            rows,
            i,
            units,
            own,
            change,
            size,
            metric,
            weights,
            bias,
            bias_feature,
            pulls,
            touched,
            chosen,
            values,
        )
