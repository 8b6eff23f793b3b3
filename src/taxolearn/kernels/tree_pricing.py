"""Pricing of a tree's classes against all rows: exact objectives, best biases, and the rows worth working on.

Weights are led along the tree as in `tree_descent`; the vectors of a block of classes are laid side by side
(features x block), so that one read of X scores them all. The row of a pair that no class works on has dual zero
and adds its whole loss to the gap: those losses are what pricing has to find.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.loss_steps import loss_conjugate, loss_value
from taxolearn.kernels.rows import add_scores, n_rows
from taxolearn.kernels.tree_columns import scale_columns, transpose, turn_rows
from taxolearn.kernels.tree_descent import pass_node

# columns of the report, one row per class
LOSSES, QUADRATIC, CONJUGATES, BIAS, LEFT_OUT = 0, 1, 2, 3, 4
REPORT_WIDTH = 5

_CLASSES_AT_A_TIME = 16  # classes whose scores are transposed at a time
_BIAS_ROUNDS = 3  # steps per bias, each to the vertex of a parabola through three points
_LOSS_BINS = 1024  # bins of the histogram by which the largest losses are found


@kernel
def _add_losses(loss, scores, row_weight, biases, out):
    """out[b] += sum_i weight_i loss(-(score_ib + bias_b)), every row taken as a negative."""
    width = biases.shape[0]
    for i in range(scores.shape[0]):
        weight = row_weight[i]
        if weight > 0.0:
            line = scores[i]
            for b in range(width):
                out[b] += weight * loss_value(loss, -(line[b] + biases[b]))


@kernel
def _total_losses(loss, scores, active, costs, start, biases, bias_feature, out):
    """Losses of a block of classes (the first is `start`) at the given biases."""
    width = biases.shape[0]
    shift = np.empty(width)
    for b in range(width):
        out[b] = 0.0
        shift[b] = biases[b] * bias_feature
    _add_losses(loss, scores, costs.row_weight, shift, out)
    for b in range(width):
        cls = start + b
        out[b] *= costs.negative[cls]
        for k in range(active.indptr[cls], active.indptr[cls] + active.positive[cls]):
            i = active.rows[k]
            score = scores[i, b] + shift[b]
            out[b] += costs.row_weight[i] * (
                costs.positive[cls] * loss_value(loss, score) - costs.negative[cls] * loss_value(loss, -score)
            )


@kernel
def _polish_biases(loss, scores, active, costs, start, bias_feature, bias_prior, biases, losses):
    """Move each class's bias to a lower 1/2 (b - b0)^2 + losses; `losses` gets its losses there.

    A parabola through three points, a few times over; only points that were tried and found better are taken.
    """
    width = biases.shape[0]
    step = np.full(width, 0.02)
    trial = biases.copy()
    middle = np.empty(width)
    below = np.empty(width)
    found = np.empty(width)
    # where it stands, then below, above and at the vertex, over and over; one call of the losses compiles once
    looks = 1 if bias_feature == 0.0 else 1 + 3 * _BIAS_ROUNDS
    for look in range(looks):
        _total_losses(loss, scores, active, costs, start, trial, bias_feature, found)
        for b in range(width):
            value = found[b] + 0.5 * (trial[b] - bias_prior) * (trial[b] - bias_prior)
            if look % 3 == 1:
                below[b] = value
                trial[b] = biases[b] + step[b]
            elif look % 3 == 2:
                curvature = below[b] + value - 2.0 * middle[b]
                most = 16.0 * step[b]
                move = most if below[b] > value else -most
                if curvature > 0.0:
                    vertex = 0.5 * step[b] * (below[b] - value) / curvature
                    move = max(-most, min(most, vertex))
                trial[b] = biases[b] + move
            else:
                move = abs(trial[b] - biases[b])
                if look == 0 or value < middle[b]:
                    biases[b] = trial[b]
                    losses[b] = found[b]
                    middle[b] = value
                if look > 0:
                    # held back: look as far again; else closer
                    step[b] = move if move >= 16.0 * step[b] else max(0.25 * move, 0.02 * step[b])
                trial[b] = biases[b] - step[b]


@kernel
def _bin_of(value, scale):
    return min(_LOSS_BINS - 1, np.int64(value * scale))


@kernel
def _choose(values, candidates, size, allowed, most):
    """Mark with a negative number the candidates not to take; returns the sum of their values.

    values[k] > 0 is that of candidates[k]. Takes the largest: as few as leave at most `allowed` untaken, and never
    more than `most`. Values are sorted into bins; of the bin that the bar falls into, any are taken.
    """
    highest = 0.0
    for k in range(size):
        highest = max(highest, values[k])
    counts = np.zeros(_LOSS_BINS, dtype=np.int64)
    sums = np.zeros(_LOSS_BINS)
    scale = _LOSS_BINS / highest if highest > 0.0 else 0.0
    for k in range(size):
        bin = _bin_of(values[k], scale)
        counts[bin] += 1
        sums[bin] += values[k]
    bar = 0
    above = size - counts[0]
    left = sums[0]
    while bar < _LOSS_BINS - 1 and (above > most or left + sums[bar + 1] <= allowed):
        bar += 1
        above -= counts[bar]
        left += sums[bar]
    # the bins above the bar fit in, those below are left; of its own bin what there is room for
    room = most - above if left > allowed else 0
    left = 0.0
    for k in range(size):
        bin = _bin_of(values[k], scale)
        if bin > bar:
            continue
        if bin == bar and room > 0:
            room -= 1
        else:
            left += values[k]
            candidates[k] = -1
    return left


@kernel
def _select(
    loss, scores, active, costs, cls, shift, ahead, allowed, most, out, at, values, candidates, report
):
    """Write the rows that class l should work on besides its own to out[at:]; returns where they end.

    `scores` are those of the class, one a row; used up.
    """
    n = scores.shape[0]
    negative = costs.negative[cls]
    for k in range(active.indptr[cls], active.indptr[cls + 1]):
        scores[active.rows[k]] = -np.inf  # works on it already
    size = np.int64(0)
    ignored = 0.0
    least = 0.1 * allowed / n
    for i in range(n):
        score = scores[i]
        if score != -np.inf:
            value = negative * costs.row_weight[i] * loss_value(loss, -(score + shift + ahead))
            if value > least:
                values[size] = value
                candidates[size] = i
                size += 1
            else:
                ignored += value
    report[cls, LEFT_OUT] = ignored + _choose(values, candidates, size, 0.9 * allowed, most)
    for k in range(size):
        if candidates[k] >= 0:
            out[at] = candidates[k]
            at += 1
    return at


@kernel
def price_classes(
    loss,
    rows,
    tree,
    active,
    costs,
    top,
    start,
    stop,
    bias_feature,
    bias_prior,
    ahead,
    share,
    most,
    w,
    wide,
    columns,
    scores,
    biases,
    keep,
    fresh,
    fresh_start,
    fresh_stop,
    report,
    slot,
    stored,
    halt,
):
    """Price the classes start .. stop-1, all under node `top` or the tops after it.

    Fills `report`; `keep`, which begins with class `start`, with False for rows of dual and loss zero;
    fresh[fresh_start[l]:fresh_stop[l]] with rows to add to class l, at most most[l] of them, leaving out losses of at
    most `share` of its objective, with scores taken as larger by `ahead`: weights move on, and rows that are about
    to have a loss are not looked for twice.
    `biases` are b0 + beta. `w` comes and goes as zeros; wide, columns and scores (the latter two flat) are room to
    work in, and so is `stored`, for the vectors of the nodes that have a slot (see `sweep_tree`). Ends early where
    halt[0] is raised: nothing that it wrote is of use then.
    """
    n = n_rows(rows)
    n_features = w.shape[0]
    room = min(columns.shape[0] // n_features, scores.shape[0] // n)
    part = np.zeros(n)
    touched = np.zeros(n, dtype=np.bool_)
    filled = np.zeros(stored.shape[0], dtype=np.bool_)
    path = np.empty(tree.end.shape[0] + 1, dtype=np.int64)
    values = np.empty(n)
    candidates = np.empty(n, dtype=np.int64)
    steps = np.empty(room, dtype=scores.dtype)
    strip = np.empty((min(_CLASSES_AT_A_TIME, room), n), dtype=scores.dtype)
    depth = 0
    node = top
    at = np.int64(0)
    done = start  # classes priced so far
    laid = start  # classes whose vectors stand in the block
    ready = start  # classes whose vectors stand in the block or in `wide`
    width = min(room, stop - done)
    block = columns[: n_features * width].reshape((n_features, width))
    while done < stop and halt[0] == 0:
        if tree.last[node] <= start:
            node = tree.end[node]
        else:
            pass_node(rows, tree, active, node, 1.0, w, part, touched, slot, stored, filled)
            path[depth] = node
            depth += 1
            for _ in range(max(start, tree.first[node]), min(stop, tree.own[node])):
                for j in range(n_features):
                    wide[ready - laid, j] = w[j]
                ready += 1
                full = ready - done == width
                if full or ready - laid == wide.shape[0]:
                    transpose(wide, ready - laid, block, steps, laid - done)
                    laid = ready
                if full:
                    found = scores[: n * width].reshape((n, width))
                    found[:, :] = 0.0
                    add_scores(rows, block, found)
                    if block.itemsize == 2:
                        scale_columns(found, steps[:width])
                    at = _price_block(
                        loss,
                        active,
                        costs,
                        done,
                        bias_feature,
                        bias_prior,
                        ahead,
                        share,
                        most,
                        found,
                        biases,
                        active.indptr[start],
                        keep,
                        fresh,
                        fresh_start,
                        fresh_stop,
                        at,
                        strip,
                        values,
                        candidates,
                        report,
                    )
                    done = ready
                    width = min(room, stop - done)
                    block = columns[: n_features * width].reshape((n_features, width))
            node += 1
        while depth > 0 and tree.end[path[depth - 1]] <= node:
            depth -= 1
            if depth == 0:
                w[:] = 0.0
            else:
                pass_node(rows, tree, active, path[depth], -1.0, w, part, touched, slot, stored, filled)
    w[:] = 0.0


@kernel
def _price_block(
    loss,
    active,
    costs,
    start,
    bias_feature,
    bias_prior,
    ahead,
    share,
    most,
    scores,
    biases,
    base,
    keep,
    fresh,
    fresh_start,
    fresh_stop,
    at,
    strip,
    values,
    candidates,
    report,
):
    """Price the classes whose scores (rows x block) are given; returns where their fresh rows end.

    keep[k - base] tells whether the stored row k stays. `strip`, values and candidates are room to work in.
    """
    width = scores.shape[1]
    for b in range(width):
        cls = start + b
        report[cls, :] = 0.0
        own = active.indptr[cls] + active.positive[cls]
        for k in range(active.indptr[cls], active.indptr[cls + 1]):
            d = np.float64(active.dual[k])
            if d != 0.0:
                i = active.rows[k]
                y = 1.0 if k < own else -1.0
                c = costs.row_weight[i] * (costs.positive[cls] if k < own else costs.negative[cls])
                report[cls, QUADRATIC] += d * y * scores[i, b]
                report[cls, CONJUGATES] += loss_conjugate(loss, d, c)
    bias = biases[start : start + width].copy()
    losses = np.empty(width)
    _polish_biases(loss, scores, active, costs, start, bias_feature, bias_prior, bias, losses)
    for b in range(width):
        cls = start + b
        if b % strip.shape[0] == 0:
            turn_rows(scores, b, strip)
        mine = strip[b % strip.shape[0]]
        # rows with a loss at the polished bias stand in the primal's way, those with one at the dual's in the dual's
        shift = max(bias[b] * bias_feature, biases[cls] * bias_feature)
        report[cls, LOSSES] = losses[b]
        report[cls, BIAS] = bias[b]
        for k in range(active.indptr[cls] + active.permanent[cls], active.indptr[cls + 1]):
            score = mine[active.rows[k]] + shift
            keep[k - base] = active.dual[k] != 0.0 or loss_value(loss, -score) > 0.0
        objective = (
            losses[b] + 0.5 * report[cls, QUADRATIC] + 0.5 * (bias[b] - bias_prior) * (bias[b] - bias_prior)
        )
        fresh_start[cls] = at
        at = _select(
            loss,
            mine,
            active,
            costs,
            cls,
            shift,
            ahead,
            share * objective,
            most[cls],
            fresh,
            at,
            values,
            candidates,
            report,
        )
        fresh_stop[cls] = at
    return at
