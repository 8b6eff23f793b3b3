"""Dual coordinate descent on one class among tied ones, and the sweeps and prices of solvers that tie classes.

With all other duals fixed, the vector of class l moves by K d y x when one of its duals moves by d: K is the
class's own variance (the sum of a_n along its path, or the inverse of a node's total edge weight), and the bias,
which is not tied, moves by s d y. In the scaled duals K d, with costs K c and the bias feature s / sqrt(K), that
is a one-vs-rest problem whose weights do not start at zero: (K phi)*(K z) = K phi*(z). So the sweep of
`dual_descent` serves here too.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.dual_descent import FACE_STEPS, sweep
from taxolearn.kernels.loss_steps import dual_upper, loss_conjugate, loss_value
from taxolearn.kernels.rows import add_scores, clear, gather, n_rows, row_add, row_square


@kernel
def feature_squares(rows):
    """||x_i||^2 of every row, without the bias feature."""
    out = np.empty(n_rows(rows))
    for i in range(out.shape[0]):
        out[i] = row_square(rows, i)
    return out


@kernel
def start_state(seed, class_id):
    """A random stream of its own for every class."""
    state = np.empty(1, dtype=np.uint64)
    state[0] = np.uint64(seed + class_id) * np.uint64(2654435761) + np.uint64(88172645463325252)
    return state


@kernel
def descend_class(
    loss,
    rows,
    squares,
    sign,
    cost,
    variance,
    bias_feature,
    working,
    goal,
    max_epochs,
    state,
    stop,
    w,
    bias,
    dual,
):
    """Sweep over the working rows of one class until their summed gap is at most `goal`; returns the epochs.

    `w`, the class's whole vector, `bias` (one element) and `dual` are changed in place. A class with variance
    zero has no vector to move, only its bias.
    """
    size = 0
    for i in range(cost.shape[0]):
        if working[i] != 0 and cost[i] > 0.0:
            size += 1
    chosen = np.empty(size, dtype=np.int64)
    at = 0
    for i in range(cost.shape[0]):
        if working[i] != 0 and cost[i] > 0.0:
            chosen[at] = i
            at += 1
    scale = variance if variance > 0.0 else 1.0
    root = np.sqrt(scale)
    own_sign = np.empty(size)
    own_cost = np.empty(size)
    own_square = np.empty(size)
    own_dual = np.empty(size)
    for r in range(size):
        i = chosen[r]
        own_sign[r] = sign[i]
        own_cost[r] = scale * cost[i]
        own_dual[r] = scale * dual[i]
        own_square[r] = squares[i] + bias_feature * bias_feature / scale
        if variance <= 0.0:
            own_square[r] = bias_feature * bias_feature
    own_rows = gather(rows, chosen)
    own_bias = np.empty(1)
    own_bias[0] = root * bias[0]
    if variance <= 0.0:
        clear(own_rows)  # a copy: only the bias feature is left of these rows
    epochs = sweep(
        loss,
        own_rows,
        own_sign,
        own_cost,
        own_square,
        own_dual,
        w,
        own_bias,
        bias_feature / root,
        scale * goal,
        0.0,
        max_epochs,
        state,
        stop,
        FACE_STEPS,
    )
    bias[0] = own_bias[0] / root
    for r in range(size):
        i = chosen[r]
        # dividing may step over a bound by one rounding
        dual[i] = min(own_dual[r] / scale, dual_upper(loss, cost[i]))
    return epochs


@kernel
def set_class(own_rows, counted, row_cost, positive_weight, negative_weight, sign, cost):
    """Signs and costs of all rows for one class; nothing costs in a class that does not count."""
    for i in range(sign.shape[0]):
        sign[i] = -1.0
        cost[i] = row_cost[i] * negative_weight if counted else 0.0
    for i in own_rows:
        sign[i] = 1.0
        cost[i] = row_cost[i] * positive_weight if counted else 0.0


@kernel
def sweep_paths(
    loss,
    rows,
    squares,
    positive_indptr,
    positive_rows,
    counted,
    row_cost,
    positive_weight,
    negative_weight,
    path_indptr,
    path_nodes,
    scale,
    bias_feature,
    classes,
    working,
    goals,
    max_epochs,
    seed,
    stop,
    nodes,
    biases,
    duals,
):
    """Descend on the given classes one after the other, each seeing what the ones before changed.

    `nodes` (nodes x features), `biases` and `duals` (classes x rows) are changed in place; returns the epochs.
    """
    n = squares.shape[0]
    width = nodes.shape[1]
    sign = np.empty(n)
    cost = np.empty(n)
    before = np.empty(width)
    w = np.empty(width)
    total = 0
    for c in classes:
        if not counted[c] or stop[0] != 0:
            continue
        variance = 0.0
        w[:] = 0.0
        for k in range(path_indptr[c], path_indptr[c + 1]):
            node = path_nodes[k]
            if scale[node] > 0.0:
                variance += scale[node]
                for j in range(width):
                    w[j] += nodes[node, j]
        for j in range(width):
            before[j] = w[j]
        own = positive_rows[positive_indptr[c] : positive_indptr[c + 1]]
        set_class(own, np.bool_(True), row_cost, positive_weight[c], negative_weight[c], sign, cost)
        total += descend_class(
            loss,
            rows,
            squares,
            sign,
            cost,
            variance,
            bias_feature,
            working[c],
            goals[c],
            max_epochs,
            start_state(seed, c),
            stop,
            w,
            biases[c : c + 1],
            duals[c],
        )
        if variance > 0.0:
            for j in range(width):
                before[j] = (w[j] - before[j]) / variance
            for k in range(path_indptr[c], path_indptr[c + 1]):
                node = path_nodes[k]
                if scale[node] > 0.0:
                    for j in range(width):
                        nodes[node, j] += scale[node] * before[j]
    return total


@kernel
def price_classes(
    loss,
    sparse_dual,
    rows,
    positive_indptr,
    positive_rows,
    counted,
    row_cost,
    positive_weight,
    negative_weight,
    bias_feature,
    classes,
    vectors,
    biases,
    duals,
    working,
    losses,
    gaps,
):
    """Exact losses and gaps of a block of classes over all rows, from their vectors (features x block).

    The gap of a pair, c loss(m) + (c loss)*(-d) + d m >= 0, sums to primal - dual when the vectors belong to the
    duals. Rows that lose something or have a dual become the working set of the next sweep (all rows where duals
    are dense).
    """
    n = row_cost.shape[0]
    width = classes.shape[0]
    scores = np.empty((n, width))
    for i in range(n):
        for b in range(width):
            scores[i, b] = biases[classes[b]] * bias_feature
    add_scores(rows, vectors, scores)
    sign = np.empty(n)
    cost = np.empty(n)
    for b in range(width):
        c = classes[b]
        losses[c] = 0.0
        gaps[c] = 0.0
        if not counted[c]:
            continue
        own = positive_rows[positive_indptr[c] : positive_indptr[c + 1]]
        set_class(own, np.bool_(True), row_cost, positive_weight[c], negative_weight[c], sign, cost)
        for i in range(n):
            working[c, i] = 0
            if cost[i] > 0.0:
                margin = sign[i] * scores[i, b]
                value = cost[i] * loss_value(loss, margin)
                losses[c] += value
                gaps[c] += value
                d = duals[c, i]
                if d != 0.0:
                    gaps[c] += loss_conjugate(loss, d, cost[i]) + d * margin
                if value > 0.0 or d != 0.0 or not sparse_dual:
                    working[c, i] = 1


@kernel
def fit_duals(loss, sparse_dual, own_rows, counted, row_cost, positive_weight, negative_weight, dual):
    """Bring the duals of one class within their bounds; strictly inside, where a loss asks for that."""
    n = row_cost.shape[0]
    sign = np.empty(n)
    cost = np.empty(n)
    set_class(own_rows, counted, row_cost, positive_weight, negative_weight, sign, cost)
    for i in range(n):
        if cost[i] <= 0.0:
            dual[i] = 0.0
            continue
        upper = dual_upper(loss, cost[i])
        dual[i] = min(max(dual[i], 0.0), upper)
        if not sparse_dual:
            least = min(1e-3 * cost[i], 1e-8)
            dual[i] = min(max(dual[i], least), upper - least)


@kernel
def vector_of_duals(rows, own_rows, dual, bias_feature, vector):
    """vector += sum_i d_i y_i x_i for one class; returns the bias feature's part."""
    sign = np.full(dual.shape[0], -1.0)
    for i in own_rows:
        sign[i] = 1.0
    bias = 0.0
    for i in range(dual.shape[0]):
        if dual[i] != 0.0:
            row_add(rows, i, dual[i] * sign[i], vector)
            bias += dual[i] * sign[i]
    return bias * bias_feature
