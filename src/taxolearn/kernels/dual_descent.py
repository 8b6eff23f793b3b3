"""Dual coordinate descent for one-vs-rest problems, a block of classes at a time.

Problem, for each class l with signs y_il = +1 for its rows and -1 for the others:

    min_w  1/2 ||w||^2 + sum_i c_il loss(y_il w . x_i)        x_i carries the constant bias feature, if any
    max_d  -1/2 ||sum_i d_i y_il x_i||^2 - sum_i (c_il loss)*(-d_i)

Given: rows of X, the positive rows of each class, weights. The answer goes into the weight, bias and dual arrays of the
block. With w = w(d) the gap is a sum over rows, c loss(m) + (c loss)*(-d) + d m >= 0, so pricing all rows (one
read of X for the whole block) gives the exact gap and at the same time the rows worth working on.

Sweeps follow Hsieh, Chang, Lin, Keerthi, Sundararajan 2008 (LIBLINEAR): random order, exact coordinate steps, shrinking.
Unlike LIBLINEAR a class starts from its positives and its nearest negatives, and the working set grows by pricing:
most rows of a large label set are never touched by more than the shared pricing passes.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.loss_steps import (
    conjugate_curvature,
    conjugate_slope,
    dual_step,
    dual_upper,
    loss_conjugate,
    loss_value,
)
from taxolearn.kernels.rows import add_scores, gather, mean_row_size, n_rows, row_add, row_dot, row_square

# columns of the report that a block fills, one row a class
REPORT_PRIMAL, REPORT_DUAL, REPORT_EPOCHS, REPORT_CONVERGED = 0, 1, 2, 3
REPORT_WIDTH = 4

FACE_FROM = 20
FACE_EVERY = 10
EXACT_EPOCHS = 40.0
CG_EPOCHS = 10


@kernel
def row_squares(rows, bias_feature):  # type: ignore[no-untyped-def]
    """||x_i||^2 of every row, the bias feature included."""
    out = np.empty(n_rows(rows), dtype=np.float64)
    for i in range(out.shape[0]):
        out[i] = row_square(rows, i) + bias_feature * bias_feature
    return out


@kernel
def _random_below(state, n):  # type: ignore[no-untyped-def]
    """A number in 0..n-1 from a xorshift generator whose state the caller owns (threads share nothing)."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(n))


@kernel
def _newton_by_solve(rows, free, sign, curvature, square, residual, n_features, bias_feature):  # type: ignore[no-untyped-def]
    """Solve (Z Z' + curvature) step = residual exactly, Z the signed free rows, in the smaller of its two dimensions."""
    size = free.shape[0]
    z = np.zeros((size, n_features + 1))
    for k in range(size):
        row_add(rows, free[k], sign[free[k]], z[k, :n_features])
        z[k, n_features] = sign[free[k]] * bias_feature
    if size <= n_features:
        system = np.dot(z, z.T)
        for k in range(size):
            system[k, k] += curvature[k] + 1e-9 * square[free[k]] + 1e-300
        return np.linalg.solve(system, residual)
    # more free rows than features: the hinge's curvature of zero needs a proximal term to be solvable
    d = np.empty(size)
    for k in range(size):
        d[k] = curvature[k] + 1e-4 * square[free[k]] + 1e-300
    scaled = z / d.reshape(-1, 1)
    system = np.dot(z.T, scaled)
    for j in range(n_features + 1):
        system[j, j] += 1.0
    inner = np.linalg.solve(system, np.dot(scaled.T, residual))
    return (residual - np.dot(z, inner)) / d


@kernel
def _newton_by_gradients(rows, free, sign, curvature, square, residual, n_features, bias_feature, max_steps):  # type: ignore[no-untyped-def]
    """The same system by conjugate gradients with the diagonal as preconditioner."""
    size = free.shape[0]
    residual = residual.copy()
    step = np.zeros(size)
    diagonal = np.empty(size)
    for k in range(size):
        diagonal[k] = square[free[k]] + curvature[k]
    direction = residual / diagonal
    applied = np.empty(size)
    shift = np.empty(n_features)
    rho = np.dot(residual, direction)
    target = 1e-4 * rho
    for _ in range(max_steps):
        if rho <= target or rho <= 1e-300:
            break
        shift[:] = 0.0
        shift_bias = 0.0
        for k in range(size):
            row_add(rows, free[k], direction[k] * sign[free[k]], shift)
            shift_bias += direction[k] * sign[free[k]] * bias_feature
        for k in range(size):
            r = free[k]
            applied[k] = sign[r] * (row_dot(rows, r, shift) + shift_bias * bias_feature) + curvature[k] * direction[k]
        bend = np.dot(direction, applied)
        if bend <= 1e-14 * rho:
            break  # flat: what is left of the residual lies outside the range
        length = rho / bend
        step += length * direction
        residual -= length * applied
        rho_next = np.dot(residual, residual / diagonal)
        direction = residual / diagonal + (rho_next / rho) * direction
        rho = rho_next
    return step


@kernel
def face_step(loss, rows, sign, weight, square, dual, w, bias, bias_feature, per_row):  # type: ignore[no-untyped-def]
    """A Newton step of the dual on the duals strictly inside their bounds; returns its cost in epochs.

    Coordinate descent settles quickly which duals sit at a bound and then creeps along the rest when the rows are
    correlated. On that face the dual is smooth (quadratic for the hinges), so a Newton direction, exact where that is
    cheap and by conjugate gradients elsewhere, and a search that projects onto the bounds (More, Toraldo 1991) take
    it to the end. Only steps that improve the dual are taken.
    """
    m = dual.shape[0]
    n_features = w.shape[0]
    free = np.empty(m, dtype=np.int64)
    size = 0
    for r in range(m):
        if dual[r] > 0.0 and dual[r] < dual_upper(loss, weight[r]):
            free[size] = r
            size += 1
    if size == 0:
        return 0
    free = free[:size]
    residual = np.empty(size)  # minus the gradient
    curvature = np.empty(size)
    for k in range(size):
        r = free[k]
        margin = sign[r] * (row_dot(rows, r, w) + bias[0] * bias_feature)
        residual[k] = -(margin + conjugate_slope(loss, dual[r], weight[r]))
        curvature[k] = conjugate_curvature(loss, dual[r], weight[r])
    # costs in multiply-adds, a sweep over all m rows being 2 m per_row
    small = float(min(size, n_features + 1))
    exact = small * size * (n_features + 1.0) / 4.0 + small * small * small / 3.0
    epoch = 2.0 * m * per_row
    if exact <= EXACT_EPOCHS * epoch:
        step = _newton_by_solve(rows, free, sign, curvature, square, residual, n_features, bias_feature)
        cost = exact / epoch
    else:
        steps = max(4, CG_EPOCHS * m // size)
        step = _newton_by_gradients(
            rows, free, sign, curvature, square, residual, n_features, bias_feature, steps
        )
        cost = float(steps) * size / m

    shift = np.empty(n_features)
    moved = np.empty(size)
    length = 1.0
    for _ in range(12):
        shift[:] = 0.0
        shift_bias = 0.0
        change = 0.0  # of the (minimised) dual
        for k in range(size):
            r = free[k]
            moved[k] = min(max(dual[r] + length * step[k], 0.0), dual_upper(loss, weight[r]))
            delta = moved[k] - dual[r]
            if delta != 0.0:
                row_add(rows, r, delta * sign[r], shift)
                shift_bias += delta * sign[r] * bias_feature
                change += (
                    loss_conjugate(loss, moved[k], weight[r])
                    - loss_conjugate(loss, dual[r], weight[r])
                    - delta * (residual[k] + conjugate_slope(loss, dual[r], weight[r]))
                )
        cost += 0.5 * size / m
        change += 0.5 * (np.dot(shift, shift) + shift_bias * shift_bias)
        if change < 0.0:
            for k in range(size):
                dual[free[k]] = moved[k]
            for j in range(n_features):
                w[j] += shift[j]
            bias[0] += shift_bias
            break
        length *= 0.5
    return np.int64(np.ceil(cost))


@kernel
def sweep(loss, rows, sign, weight, square, dual, w, bias, bias_feature, goal, relative, max_epochs, state, stop):  # type: ignore[no-untyped-def]
    """Sweep over all the given rows until their summed gap is at most `goal`; returns the epochs used.

    `dual`, `w` and `bias[0]` (the weight of the bias feature) are changed in place and stay consistent.
    """
    m = dual.shape[0]
    order = np.arange(m)
    active = m
    epochs = 0
    swept = 0
    per_row = mean_row_size(rows)
    highest_old = np.inf
    lowest_old = -np.inf
    while epochs < max_epochs and stop[0] == 0:
        epochs += 1
        gap = 0.0
        primal = 0.0  # of these rows, wanted only where the goal is relative to it
        if relative > 0.0:
            primal = 0.5 * (np.dot(w, w) + bias[0] * bias[0])
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
            slope = margin + conjugate_slope(loss, d, c)
            projected = slope
            if d <= 0.0:
                if slope > highest_old:
                    active -= 1
                    order[s], order[active] = order[active], order[s]
                    continue
                projected = min(slope, 0.0)
            elif d >= dual_upper(loss, c):
                if slope < lowest_old:
                    active -= 1
                    order[s], order[active] = order[active], order[s]
                    continue
                projected = max(slope, 0.0)
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
            swept += 1
            if swept >= FACE_FROM and swept % FACE_EVERY == 0:
                epochs += face_step(
                    loss, rows, sign, weight, square, dual, w, bias, bias_feature, per_row
                )
    return epochs


@kernel
def _largest(values, chosen, count):  # type: ignore[no-untyped-def]
    """The `count` of `chosen` with the largest values (all when there are fewer), in ascending position."""
    if chosen.shape[0] <= count:
        return chosen
    picked = values[chosen]
    bar = np.partition(picked, chosen.shape[0] - count)[chosen.shape[0] - count]
    out = np.empty(count, dtype=chosen.dtype)
    k = 0
    for r in range(chosen.shape[0]):
        if picked[r] > bar:
            out[k] = chosen[r]
            k += 1
    for r in range(chosen.shape[0]):
        if k == count:
            break
        if picked[r] == bar:
            out[k] = chosen[r]
            k += 1
    return np.sort(out)


@kernel
def _first_rows(rows, positives, count, near, state, use_all):  # type: ignore[no-untyped-def]
    """Where a class starts: its positives, the negatives nearest to their centroid, and a random few."""
    n = count
    if use_all or n <= 512:
        return np.arange(n)
    taken = np.zeros(n, dtype=np.uint8)
    for i in positives:
        taken[i] = 1
        near[i] = -np.inf
    wanted = min(n - positives.shape[0], 64 + 2 * positives.shape[0])
    negatives = np.flatnonzero(near > 0.0)
    for i in _largest(near, negatives, wanted):
        taken[i] = 1
    for _ in range(32):
        taken[_random_below(state, n)] = 1
    return np.flatnonzero(taken)


@kernel
def solve_block(  # type: ignore[no-untyped-def]
    loss,
    sparse_dual,
    rows,
    squares,
    positive_indptr,
    positive_rows,
    classes,
    row_weight,
    positive_weight,
    negative_weight,
    bias_feature,
    tol,
    max_epochs,
    seed,
    stop,
    weights,
    biases,
    duals,
    report,
):
    """Solve the one-vs-rest problems of `classes`; fills weights (block x features), biases, duals (block x rows), report."""
    n = squares.shape[0]
    n_features = weights.shape[1]
    width = classes.shape[0]
    state = np.zeros(1, dtype=np.uint64)
    state[0] = np.uint64(seed) * np.uint64(2654435761) + np.uint64(88172645463325252)
    sign = np.empty(n, dtype=np.float64)
    cost = np.empty(n, dtype=np.float64)
    in_work = np.zeros((width, n), dtype=np.uint8)
    open_classes = np.arange(width)
    goals = np.zeros(width)
    grow = sparse_dual and n > 512

    block = np.zeros((n_features, width))
    scores = np.zeros((n, width))
    if grow:
        for b in range(width):
            l = classes[b]
            for i in positive_rows[positive_indptr[l] : positive_indptr[l + 1]]:
                row_add(rows, i, 1.0, block[:, b])
        add_scores(rows, block, scores)
    for b in range(width):
        l = classes[b]
        chosen = _first_rows(
            rows, positive_rows[positive_indptr[l] : positive_indptr[l + 1]], n, scores[:, b].copy(), state, not grow
        )
        in_work[b, chosen] = 1

    first = True
    first_relative = 0.2 if grow else 0.5 * tol
    while open_classes.shape[0] > 0:
        for b in open_classes:
            l = classes[b]
            for i in range(n):
                sign[i] = -1.0
                cost[i] = row_weight[i] * negative_weight[l]
            for i in positive_rows[positive_indptr[l] : positive_indptr[l + 1]]:
                sign[i] = 1.0
                cost[i] = row_weight[i] * positive_weight[l]
            w = weights[b]
            bias = biases[b : b + 1]
            mine = duals[b]
            if first and not sparse_dual:
                # an interior start: a small dual for every row (Yu, Huang, Lin 2011)
                for i in range(n):
                    if cost[i] > 0.0:
                        mine[i] = min(1e-3 * cost[i], 1e-8)
                        row_add(rows, i, mine[i] * sign[i], w)
                        bias[0] += mine[i] * sign[i] * bias_feature
            for i in range(n):
                if cost[i] <= 0.0:
                    in_work[b, i] = 0
            chosen = np.flatnonzero(in_work[b])
            left = max_epochs - np.int64(report[b, 2])
            if not first or chosen.shape[0] > 0:
                part = gather(rows, chosen)
                dual = mine[chosen]
                used = sweep(
                    loss,
                    part,
                    sign[chosen],
                    cost[chosen],
                    squares[chosen],
                    dual,
                    w,
                    bias,
                    bias_feature,
                    goals[b],
                    first_relative if first else 0.0,
                    left,
                    state,
                    stop,
                )
                report[b, 2] += used
                mine[chosen] = dual

        # price every row for the classes still open
        m = open_classes.shape[0]
        block = np.empty((n_features, m))
        scores = np.empty((n, m))
        for k in range(m):
            b = open_classes[k]
            block[:, k] = weights[b]
            scores[:, k] = biases[b] * bias_feature
        add_scores(rows, block, scores)

        still = np.zeros(m, dtype=np.bool_)
        for k in range(m):
            b = open_classes[k]
            l = classes[b]
            mine = duals[b]
            for i in range(n):
                sign[i] = -1.0
                cost[i] = row_weight[i] * negative_weight[l]
            for i in positive_rows[positive_indptr[l] : positive_indptr[l + 1]]:
                sign[i] = 1.0
                cost[i] = row_weight[i] * positive_weight[l]
            half = biases[b] * biases[b]
            for j in range(n_features):
                half += weights[b, j] * weights[b, j]
            primal = 0.5 * half
            gap = 0.0
            losses = np.zeros(n)
            for i in range(n):
                if cost[i] <= 0.0:
                    continue
                margin = sign[i] * scores[i, k]
                value = cost[i] * loss_value(loss, margin)
                primal += value
                if mine[i] != 0.0:
                    gap += value + loss_conjugate(loss, mine[i], cost[i]) + mine[i] * margin
                else:
                    gap += value
                if in_work[b, i] == 0:
                    losses[i] = value
            report[b, 0] = primal
            report[b, 1] = primal - gap
            if gap <= tol * primal:
                report[b, 3] = 1.0
                continue
            if report[b, 2] >= max_epochs or stop[0] != 0:
                continue
            still[k] = True
            goals[b] = max(0.5 * tol * primal, 0.1 * gap)
            if grow:
                violators = np.flatnonzero(losses > 0.01 * tol * primal / n)
                working = np.int64(np.sum(in_work[b]))
                for i in _largest(losses, violators, max(256, working)):
                    in_work[b, i] = 1
        open_classes = open_classes[still]
        first = False
