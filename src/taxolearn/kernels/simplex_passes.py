"""Passes over the rows of a structured hinge problem: pricing all classes, and ascent on each row's simplex.

    min_u  1/2 sum_n ||u_n||^2 / a_n + sum_i c_i max(0, max_{l != y} D[l, y] - S[l, y] (w_y - w_l) . x_i)
    max_alpha  sum alpha_il D[l, y_i] - 1/2 sum_n a_n ||z_n||^2,   alpha_i >= 0, sum_l alpha_il <= c_i

with w_l = sum of u_n along the path of l and u_n = a_n z_n. Given: rows of X, labels, costs, paths. At any weights u
and feasible alpha the gap is the sum over rows of c_i max_l g_il - sum_l alpha_il g_il, g being the margin violated,
plus 1/2 sum_n ||u_n - a_n z_n||^2 / a_n, so one read of all rows at frozen weights yields primal and dual.

Each row keeps a slot: the classes with positive alpha, and the worst violators that pricing found. Ascent
works on slots only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.dual_descent import _random_below
from taxolearn.kernels.rows import add_row_scores
from taxolearn.kernels.simplex_rows import (
    add_some_scores,
    add_stretched,
    add_to_some,
    delta,
    delta_column,
    margin_of,
    pairwise_steps,
    rank_slot,
    row_gap,
    row_gram,
    scaling_of,
)

MAX_NEW_CLASSES = 6  # classes that pricing may add to a row's work set
ROW_TOL = 0.1  # gap at which the steps of a row end, as a share of its gap before them
MAX_STEPS_PER_CLASS = 20  # steps of a row per class of its work set, at most
LARGE_GAP = 0.5  # times the mean gap from which on a row is visited again
HUGE_GAP = (
    5.0  # the same for further visits, of few rows: twins with different labels trade mass in small steps
)
HUGE_TURNS = 30  # such visits, at most


class Slots(NamedTuple):
    """Row i works on `classes[indptr[i] : indptr[i] + count[i]]`, with duals `alpha` at the same places."""

    indptr: Any
    count: Any
    classes: Any
    alpha: Any


@kernel
def repack(slots, room):
    """The same duals without their zeros, with `room` free places after each row's."""
    n = slots.count.shape[0]
    indptr = np.empty(n + 1, dtype=np.int64)
    count = np.zeros(n, dtype=np.int32)
    indptr[0] = 0
    for i in range(n):
        for k in range(slots.indptr[i], slots.indptr[i] + slots.count[i]):
            if slots.alpha[k] > 0.0:
                count[i] += 1
        indptr[i + 1] = indptr[i] + count[i] + room
    classes = np.zeros(indptr[n], dtype=np.int32)
    alpha = np.zeros(indptr[n])
    for i in range(n):
        at = indptr[i]
        for k in range(slots.indptr[i], slots.indptr[i] + slots.count[i]):
            if slots.alpha[k] > 0.0:
                classes[at] = slots.classes[k]
                alpha[at] = slots.alpha[k]
                at += 1
    return Slots(indptr, count, classes, alpha)


@kernel
def _price_row(
    rows, i, y, c, tie, costs, nodes, bias, bias_feature, slots, scores, costs_of, marks, gradient,
    stretches, report,
):  # fmt: skip
    """Score row i at all classes: `gradient` becomes the margins violated, its slot gets the worst violators.

    report[0] += c max(0, max_l g_l), report[1] += the row's gap, which is returned, and report[2:] += the same loss
    with vectors that are longer by factors, `stretches`, the largest first.
    """
    n_classes = gradient.shape[0]
    for n in range(scores.shape[0]):
        scores[n] = bias[n] * bias_feature
    add_row_scores(rows, i, nodes, scores)
    delta_column(costs, y, marks, costs_of)
    own = 0.0
    for p in range(tie.indptr[y], tie.indptr[y + 1]):
        own += scores[tie.nodes[p]]
    highest = 0.0
    worst = y
    for other in range(n_classes):
        score = 0.0
        for p in range(tie.indptr[other], tie.indptr[other + 1]):
            score += scores[tie.nodes[p]]
        value = costs_of[other]
        gradient[other] = margin_of(costs.rescaling, value) - scaling_of(costs.rescaling, value) * (
            own - score
        )
        if gradient[other] > highest and other != y:
            highest = gradient[other]
            worst = other
    gradient[y] = 0.0
    if worst != y and stretches.shape[0] > 0:
        add_stretched(gradient, costs_of, costs.rescaling, worst, c, stretches, report[2:])
    first = slots.indptr[i]
    end = first + slots.count[i]
    spent = 0.0
    left = c
    lowest = np.inf  # among the classes that hold mass: what is above it could take some over
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
    for other in range(n_classes):
        g = gradient[other]
        if g > bar and other != y:
            known = False
            for k in range(first, end):
                if slots.classes[k] == other:
                    known = True
            if not known:
                found = min(found + 1, room)
                at = end + found - 1
                while at > end and gradient[slots.classes[at - 1]] < g:
                    slots.classes[at] = slots.classes[at - 1]
                    at -= 1
                slots.classes[at] = other
                if found == room:
                    bar = max(lowest, gradient[slots.classes[end + room - 1]])
    for k in range(end, end + found):
        slots.alpha[k] = 0.0
    slots.count[i] += found
    gap = max(0.0, c * highest - spent)
    report[0] += c * highest
    report[1] += gap
    return gap


@kernel
def price(
    rows, label, cost, tie, costs, nodes, bias, bias_feature, slots, chosen, scores, gaps, stretches, report, stop
):  # fmt: skip
    """Score the chosen rows at all classes, at frozen weights, and put the worst violators into their slots.

    gaps[i] becomes the gap of row i; report[0] += sum of the losses c_i max_l g_il, report[1] += sum of the gaps, and
    report[2:] += the losses with vectors that are longer by `stretches`.
    """
    gradient = np.empty(tie.indptr.shape[0] - 1)
    costs_of = np.empty(gradient.shape[0])
    marks = np.zeros(costs.paths.weight.shape[0])
    for r in range(chosen.shape[0]):
        if stop[0] != 0:
            return
        i = chosen[r]
        gaps[i] = _price_row(
            rows, i, label[i], cost[i], tie, costs, nodes, bias, bias_feature, slots, scores, costs_of, marks,
            gradient, stretches, report,
        )  # fmt: skip


@kernel
def _slot_scores(rows, i, classes, size, tie, nodes, bias, bias_feature, place, chosen, values, out):
    """Scores of row i at the classes of its work set only; `place` is -1 at every node, before and after."""
    m = 0
    for p in range(size):
        for q in range(tie.indptr[classes[p]], tie.indptr[classes[p] + 1]):
            n = tie.nodes[q]
            if place[n] < 0:
                place[n] = m
                chosen[m] = n
                values[m] = bias[n] * bias_feature
                m += 1
    add_some_scores(rows, i, nodes, chosen, m, values)
    for p in range(size):
        out[p] = 0.0
        for q in range(tie.indptr[classes[p]], tie.indptr[classes[p] + 1]):
            out[p] += values[place[tie.nodes[q]]]
    for q in range(m):
        place[chosen[q]] = -1


@kernel
def _spread(rows, i, classes, change, size, tie, nodes, bias, bias_feature, place, chosen, values):
    """Add to the node vectors what a change of S_l alpha_l adds: a_n x_i on the path of y, less on the paths of the l.

    classes[0] is y. `place` is -1 at every node, before and after.
    """
    m = 0
    total = 0.0
    for p in range(1, size):
        total += change[p]
    change[0] = -total
    for p in range(size):
        if change[p] == 0.0:
            continue
        for q in range(tie.indptr[classes[p]], tie.indptr[classes[p] + 1]):
            n = tie.nodes[q]
            if tie.weight[n] > 0.0:
                if place[n] < 0:
                    place[n] = m
                    chosen[m] = n
                    values[m] = 0.0
                    m += 1
                values[place[n]] -= change[p]
    kept = 0
    for q in range(m):
        n = chosen[q]
        place[n] = -1
        amount = values[q] * tie.weight[n]
        if abs(values[q]) > 1e-15 * abs(total):  # on a common ancestor the changes cancel
            chosen[kept] = n
            values[kept] = amount
            bias[n] += amount * bias_feature
            kept += 1
    add_to_some(rows, i, nodes, chosen, kept, values)


@kernel
def _rows_of_large_gaps(order, gaps, bar, state, out):
    """Write the rows whose gaps are large among those in `order`, shuffled, and tell how many they are."""
    total = 0.0
    for r in range(order.shape[0]):
        total += gaps[order[r]]
    size = 0
    for r in range(order.shape[0]):
        if gaps[order[r]] * order.shape[0] > bar * total:
            out[size] = order[r]
            size += 1
    # visited in the order of the pass before, rows gain less
    for r in range(size - 1, 0, -1):
        other = _random_below(state, r + 1)
        out[r], out[other] = out[other], out[r]
    return size


@kernel
def ascend(
    rows, square, label, cost, tie, costs, nodes, bias, bias_feature, slots, order, full, again, scores, gaps,
    stretches, report, stop,
):  # fmt: skip
    """Improve the duals of the rows in `order`, one after the other, each on the classes of its slot.

    With `full` each row is priced first. Then the rows with large gaps are visited `again` so many times, on their
    slots, and those with huge ones further times. `slots.alpha`, `nodes` and `bias` change together. gaps[i] is what
    row i had when it was visited last; report[0] += c_i max_l g_il, and report[2:] the losses with longer vectors
    (priced rows only), report[1] += its gap at the first visit.
    """
    n_nodes = nodes.shape[1]
    n_classes = tie.indptr.shape[0] - 1
    widest = 1
    for r in range(order.shape[0]):
        widest = max(widest, slots.indptr[order[r] + 1] - slots.indptr[order[r]] + 1)
    classes = np.empty(widest, dtype=np.int64)
    scaling = np.empty(widest)
    gradient = np.empty(widest)
    alpha = np.empty(widest)
    change = np.empty(widest)
    gram = np.empty((widest, widest))
    place = np.full(n_nodes, -1, dtype=np.int64)
    chosen = np.empty(n_nodes, dtype=np.int64)
    values = np.empty(n_nodes)
    priced = np.empty(n_classes)
    costs_of = np.empty(n_classes)
    marks = np.zeros(costs.paths.weight.shape[0])
    state = np.empty(1, dtype=np.uint64)
    state[0] = np.uint64(order[0] if order.shape[0] else 0) * np.uint64(2654435761) + np.uint64(
        88172645463325252
    )
    visited = order.copy()
    n_visited = order.shape[0]
    left = order.shape[0] // 2  # visits to rows with huge gaps
    for turn in range(1 + again + (HUGE_TURNS if again > 0 else 0)):
        if turn > 0:
            large = LARGE_GAP if turn <= again else HUGE_GAP
            n_visited = _rows_of_large_gaps(order, gaps, large, state, visited)
            full = False
            if turn > again:
                left -= n_visited
                if n_visited == 0 or left < 0:
                    return
        for r in range(n_visited):
            if stop[0] != 0:
                return
            i = visited[r]
            c = cost[i]
            y = label[i]
            if full:
                gaps[i] = _price_row(
                    rows, i, y, c, tie, costs, nodes, bias, bias_feature, slots, scores, costs_of, marks, priced,
                    stretches, report,
                )  # fmt: skip
            first = slots.indptr[i]
            size = slots.count[i] + 1
            rank_slot(tie, slots.classes[first : first + size - 1], slots.alpha[first : first + size - 1])
            classes[0] = y
            scaling[0] = 0.0
            alpha[0] = c
            for p in range(1, size):
                classes[p] = slots.classes[first + p - 1]
                alpha[p] = slots.alpha[first + p - 1]
                alpha[0] -= alpha[p]
            alpha[0] = max(alpha[0], 0.0)
            if not full:
                _slot_scores(
                    rows, i, classes, size, tie, nodes, bias, bias_feature, place, chosen, values, gradient
                )
            own = gradient[0]
            gradient[0] = 0.0
            for p in range(1, size):
                value = delta(costs, classes[p], y)
                scaling[p] = scaling_of(costs.rescaling, value)
                if full:
                    gradient[p] = priced[classes[p]]
                else:
                    gradient[p] = margin_of(costs.rescaling, value) - scaling[p] * (own - gradient[p])
            if not full:
                gaps[i] = row_gap(gradient, alpha, size, c)
                if turn == 0:
                    report[1] += gaps[i]
            if gaps[i] <= 0.0 or size == 1:
                continue
            row_gram(tie, y, classes, scaling, size, square[i], gram)
            if (
                pairwise_steps(gram, gradient, alpha, size, c, ROW_TOL * gaps[i], MAX_STEPS_PER_CLASS * size)
                == 0
            ):
                continue
            for p in range(1, size):
                change[p] = (alpha[p] - slots.alpha[first + p - 1]) * scaling[p]
                slots.alpha[first + p - 1] = alpha[p]
            _spread(rows, i, classes, change, size, tie, nodes, bias, bias_feature, place, chosen, values)


@kernel
def weights_of(rows, label, tie, costs, nodes, bias, bias_feature, slots, stop):
    """Make `nodes` and `bias` anew from the duals: what rounding, or threads that wrote at once, have blurred."""
    n_nodes = nodes.shape[1]
    nodes[:] = 0.0
    bias[:] = 0.0
    widest = 1
    for i in range(label.shape[0]):
        widest = max(widest, slots.count[i] + 1)
    classes = np.empty(widest, dtype=np.int64)
    change = np.empty(widest)
    place = np.full(n_nodes, -1, dtype=np.int64)
    chosen = np.empty(n_nodes, dtype=np.int64)
    values = np.empty(n_nodes)
    for i in range(label.shape[0]):
        if stop[0] != 0:
            return
        size = slots.count[i] + 1
        if size == 1:
            continue
        classes[0] = label[i]
        for p in range(1, size):
            classes[p] = slots.classes[slots.indptr[i] + p - 1]
            value = delta(costs, classes[p], label[i])
            change[p] = slots.alpha[slots.indptr[i] + p - 1] * scaling_of(costs.rescaling, value)
        _spread(rows, i, classes, change, size, tie, nodes, bias, bias_feature, place, chosen, values)


@kernel
def node_squares(nodes, bias):
    """||u_n||^2 of every node, the weight of the bias feature included, in double precision."""
    out = bias * bias
    for j in range(nodes.shape[0]):
        row = nodes[j]
        for n in range(out.shape[0]):
            value = np.float64(row[n])
            out[n] += value * value
    return out


@kernel
def linear_part(label, costs, slots):
    """sum_i sum_l alpha_il D(l, y_i)."""
    total = 0.0
    for i in range(label.shape[0]):
        for k in range(slots.indptr[i], slots.indptr[i] + slots.count[i]):
            value = delta(costs, slots.classes[k], label[i])
            total += slots.alpha[k] * margin_of(costs.rescaling, value)
    return total
