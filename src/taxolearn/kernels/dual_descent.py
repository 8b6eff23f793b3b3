"""Dual coordinate descent for one-vs-rest problems, a block of classes at a time.

Problem, for each class l with signs y_il = +1 for its rows and -1 for the others:

    min_w  1/2 ||w||^2 + sum_i c_il loss(y_il w . x_i)        x_i carries the constant bias feature, if any
    max_d  -1/2 ||sum_i d_i y_il x_i||^2 - sum_i (c_il loss)*(-d_i)

Given: rows of X, the positive rows of each class, weights. The answer goes into the weight, bias and dual arrays of the
block. With w = w(d) the gap is a sum over rows, c loss(m) + (c loss)*(-d) + d m >= 0, so pricing all rows (one
read of X for the whole block) gives the exact gap and at the same time the rows worth working on.

Sweeps follow Hsieh, Chang, Lin, Keerthi, Sundararajan 2008 (LIBLINEAR): random order, exact coordinate
steps, shrinking.
Unlike LIBLINEAR a class starts from its positives and its nearest negatives, and the working set grows by pricing:
most rows of a large label set are never touched by more than the shared pricing passes.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.face_newton import face_step
from taxolearn.kernels.loss_steps import (
    conjugate_derivative,
    dual_step,
    dual_upper,
    loss_conjugate,
    loss_value,
)
from taxolearn.kernels.rows import add_scores, gather, mean_row_size, n_rows, row_add, row_dot, row_square
from taxolearn.kernels.working_rows import mark_largest

# columns of the report that a block fills, one row per class
REPORT_PRIMAL, REPORT_DUAL, REPORT_EPOCHS, REPORT_CONVERGED = 0, 1, 2, 3
REPORT_WIDTH = 4

FACE_FROM, FACE_EVERY = 10, 5  # sweeps before the first Newton step on the free face, and between two
_LONGEST = 6  # times as many, where sweeps are so short that a step would take longer
FACE_STEPS = 0  # given to `sweep`, which then takes these steps


@kernel
def row_squares(rows, bias_feature):
    """||x_i||^2 of every row, the bias feature included."""
    out = np.empty(n_rows(rows), dtype=np.float64)
    for i in range(out.shape[0]):
        out[i] = row_square(rows, i) + bias_feature * bias_feature
    return out


@kernel
def _square(w):
    total = 0.0
    for j in range(w.shape[0]):
        total += w[j] * w[j]
    return total


@kernel
def _numbers_to(n):
    """0 .. n-1; numba compiles this loop in a quarter of the time its own arange takes."""
    out = np.empty(n, dtype=np.int64)
    for i in range(n):
        out[i] = i
    return out


@kernel
def _random_below(state, n):
    """A number in 0..n-1 from a xorshift generator whose state the caller owns (threads share nothing)."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    # the upper 31 bits times n, divided by 2^31: no slow remainder
    return np.int64(((x >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))


@kernel
def sweep(
    loss, rows, sign, weight, square, dual, w, bias, bias_feature, goal, relative, max_epochs, state, stop,
    face_steps,
):  # fmt: skip
    """Sweep over all the given rows until their summed gap is at most `goal`; returns the epochs used.

    `dual`, `w` and `bias[0]` (the weight of the bias feature) are changed in place and stay consistent. With
    `face_steps` long sweeps take Newton steps on the free face between; where it is None, the code of these is not
    compiled: they are a third of what a first fit would wait for.
    """
    m = dual.shape[0]
    order = _numbers_to(m)
    active = m
    epochs = 0
    highest_old = np.inf
    lowest_old = -np.inf
    while epochs < max_epochs and stop[0] == 0:
        epochs += 1
        gap = 0.0
        primal = 0.0  # of these rows, wanted only where the goal is relative to it
        if relative > 0.0:
            primal = 0.5 * (_square(w) + bias[0] * bias[0])
        highest = -np.inf
        lowest = np.inf
        whole = active == m
        for k in range(active - 1, 0, -1):
            j = _random_below(state, k + 1)
            order[k], order[j] = order[j], order[k]
        s = 0
        while s < active:
            r = order[s]
            c = weight[r]
            d = dual[r]
            margin = sign[r] * (row_dot(rows, r, w) + bias[0] * bias_feature)
            value = c * loss_value(loss, margin)
            primal += value
            gap += value + loss_conjugate(loss, d, c) + d * margin
            gradient = margin + conjugate_derivative(loss, d, c)
            projected = gradient
            if d <= 0.0:
                if gradient > highest_old:
                    active -= 1
                    order[s], order[active] = order[active], order[s]
                    continue
                projected = min(gradient, 0.0)
            elif d >= dual_upper(loss, c):
                if gradient < lowest_old:
                    active -= 1
                    order[s], order[active] = order[active], order[s]
                    continue
                projected = max(gradient, 0.0)
            highest = max(highest, projected)
            lowest = min(lowest, projected)
            if projected != 0.0:
                fresh = dual_step(loss, d, margin, square[r], c)
                change = (fresh - d) * sign[r]
                if change != 0.0:
                    dual[r] = fresh
                    row_add(rows, r, change, w)
                    bias[0] += change * bias_feature
            s += 1
        if gap <= max(goal, relative * primal):
            if whole:
                break
            # look again at what was shrunk away before believing it
            active = m
            highest_old = np.inf
            lowest_old = -np.inf
        else:
            highest_old = highest if highest > 0.0 else np.inf
            lowest_old = lowest if lowest < 0.0 else -np.inf
            if face_steps is not None:  # noqa: SIM102  # by itself the compiler leaves the rest out
                if epochs >= FACE_FROM and epochs % FACE_EVERY == 0:
                    per_row = mean_row_size(rows)
                    face_step(loss, rows, sign, weight, square, dual, w, bias, bias_feature, per_row)
    return epochs


@kernel
def first_rows(rows, positive_indptr, positive_rows, classes, n_features, state, working):
    """Where each class starts: its positives, the negatives nearest to their centroid, and a random few."""
    width, n = working.shape
    centroids = np.zeros((n_features, width))
    scores = np.zeros((n, width))
    near = np.empty(n)
    for b in range(width):
        for p in range(positive_indptr[classes[b]], positive_indptr[classes[b] + 1]):
            row_add(rows, positive_rows[p], 1.0, centroids[:, b])
            working[b, positive_rows[p]] = 1
    add_scores(rows, centroids, scores)
    for b in range(width):
        for i in range(n):
            near[i] = scores[i, b]
        wanted = 64 + 2 * (positive_indptr[classes[b] + 1] - positive_indptr[classes[b]])
        mark_largest(near, 0.0, wanted, working[b])
        for _ in range(32):
            working[b, _random_below(state[b : b + 1], n)] = 1


@kernel
def _scores_of(rows, weights, biases, bias_feature, unsolved, n):
    """Scores of every row for the classes still open, all of them in one read of X."""
    block = np.empty((weights.shape[1], unsolved.shape[0]))
    scores = np.empty((n, unsolved.shape[0]))
    for j in range(block.shape[0]):
        for k in range(unsolved.shape[0]):
            block[j, k] = weights[unsolved[k], j]
    for i in range(n):
        for k in range(unsolved.shape[0]):
            scores[i, k] = biases[unsolved[k]] * bias_feature
    add_scores(rows, block, scores)
    return scores


@kernel
def _where(marks, cost):
    """Rows that are marked and weigh something."""
    out = np.empty(marks.shape[0], dtype=np.int64)
    size = 0
    for i in range(marks.shape[0]):
        if marks[i] != 0 and cost[i] > 0.0:
            out[size] = i
            size += 1
    return out[:size]


@kernel
def _take(values, chosen):
    """values[chosen]; numba compiles this loop in a tenth of the time its own indexing takes."""
    out = np.empty(chosen.shape[0])
    for r in range(chosen.shape[0]):
        out[r] = values[chosen[r]]
    return out


@kernel
def _set_class(positives, row_weight, positive_weight, negative_weight, sign, cost):
    """Signs and costs of all rows for one class."""
    for i in range(sign.shape[0]):
        sign[i] = -1.0
        cost[i] = row_weight[i] * negative_weight
    for i in positives:
        sign[i] = 1.0
        cost[i] = row_weight[i] * positive_weight


@kernel
def _begin(loss, interior, rows, sign, cost, bias_feature, w, bias, dual):
    """Weights and bias of the duals that a class begins with, in their bounds; whether any was given.

    Where duals live inside their bounds none begins at zero, but at a small one (Yu, Huang, Lin 2011).
    """
    given = False
    for i in range(dual.shape[0]):
        d = 0.0
        if cost[i] > 0.0:
            d = min(dual[i], dual_upper(loss, cost[i]))
            given |= d > 0.0
            if interior and d == 0.0:
                d = min(1e-3 * cost[i], 1e-8)
        dual[i] = d
        if d != 0.0:
            row_add(rows, i, d * sign[i], w)
            bias[0] += d * sign[i] * bias_feature
    return given


@kernel
def _price_class(loss, sign, cost, scores, w, bias, dual, working, losses):
    """Exact primal and gap of one class over all rows, and what rows outside the working set have of the gap.

    `losses` gets what each row contributes to the primal.
    """
    primal = 0.5 * (_square(w) + bias * bias)
    gap = 0.0
    outside = 0.0
    for i in range(scores.shape[0]):
        losses[i] = 0.0
        if cost[i] > 0.0:
            margin = sign[i] * scores[i]
            losses[i] = cost[i] * loss_value(loss, margin)
            primal += losses[i]
            gap += losses[i]
            if dual[i] != 0.0:
                gap += loss_conjugate(loss, dual[i], cost[i]) + dual[i] * margin
            if working[i] == 0:
                outside += losses[i]  # its dual is zero: the loss is all of its gap
    return primal, gap, outside


@kernel
def sweep_block(
    loss, sparse_dual, rows, squares, positive_indptr, positive_rows, classes, row_weight, positive_weight,
    negative_weight, bias_feature, begin, goals, relative, least_work, per_row, bursts, max_epochs, state, working,
    todo, stop, weights, biases, duals, report, creeping,
):  # fmt: skip
    """Sweep the classes at the places `todo` over their working rows, each until its goal or for a burst of epochs.

    Fills `creeping` with the rows that a class sweeps over where its burst was too short and more epochs are allowed,
    else with zero. A burst is up to six times as long where it else would take less than `least_work` multiplications,
    of rows with `per_row` entries. Where the classes `begin`, those with a dual are left as they are: they may be
    solved.
    """
    n = squares.shape[0]
    sign = np.empty(n)
    cost = np.empty(n)
    for b in todo:
        creeping[b] = 0
        c = classes[b]
        positives = positive_rows[positive_indptr[c] : positive_indptr[c + 1]]
        _set_class(positives, row_weight, positive_weight[c], negative_weight[c], sign, cost)
        if begin:
            bias = biases[b : b + 1]
            if _begin(loss, not sparse_dual, rows, sign, cost, bias_feature, weights[b], bias, duals[b]):
                continue
        chosen = _where(working[b], cost)
        dual = _take(duals[b], chosen)
        left = max_epochs - np.int64(report[b, REPORT_EPOCHS])
        least = np.int64(least_work / (per_row * (chosen.shape[0] + 1)))
        burst = min(left, max(bursts[b], min(least, _LONGEST * bursts[b])))
        epochs = sweep(
            loss,
            gather(rows, chosen),
            _take(sign, chosen),
            _take(cost, chosen),
            _take(squares, chosen),
            dual,
            weights[b],
            biases[b : b + 1],
            bias_feature,
            goals[b],
            relative,
            burst,
            state[b : b + 1],
            stop,
            None,
        )
        report[b, REPORT_EPOCHS] += epochs
        if epochs == burst and burst < left:
            creeping[b] = chosen.shape[0]
        for r in range(chosen.shape[0]):
            duals[b, chosen[r]] = dual[r]


@kernel
def price_block(
    loss, rows, positive_indptr, positive_rows, classes, row_weight, positive_weight, negative_weight, bias_feature,
    tol, goals, max_epochs, working, unsolved, stop, weights, biases, duals, report, losses,
):  # fmt: skip
    """Price the classes at the places `unsolved` over all rows; returns the places of those that are not solved yet.

    Those get their next goal. `losses` gets what each row of each class contributes to its primal.
    """
    n = working.shape[1]
    sign = np.empty(n)
    cost = np.empty(n)
    open_ = np.empty(unsolved.shape[0], dtype=np.int64)
    scores = _scores_of(rows, weights, biases, bias_feature, unsolved, n)
    left = 0
    for k in range(unsolved.shape[0]):
        b = unsolved[k]
        c = classes[b]
        positives = positive_rows[positive_indptr[c] : positive_indptr[c + 1]]
        _set_class(positives, row_weight, positive_weight[c], negative_weight[c], sign, cost)
        primal, gap, outside = _price_class(
            loss, sign, cost, scores[:, k], weights[b], biases[b], duals[b], working[b], losses[b]
        )
        report[b, REPORT_PRIMAL] = primal
        report[b, REPORT_DUAL] = primal - gap
        if gap <= tol * primal:
            report[b, REPORT_CONVERGED] = 1.0
        elif report[b, REPORT_EPOCHS] < max_epochs and stop[0] == 0:
            # the larger the part of the gap that the working set has not seen, the less its own end is worth;
            # once it holds every row that matters, one run of sweeps goes to the end
            goals[b] = max(0.5 * tol * primal, 0.1 * outside)
            open_[left] = b
            left += 1
    return open_[:left]
