"""Pegasos (Shalev-Shwartz, Singer, Srebro 2007) on the structured hinge: one subgradient step a row."""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.rows import add_row_scores
from taxolearn.kernels.simplex_passes import _spread
from taxolearn.kernels.simplex_rows import delta_column, margin_of, scaling_of


@kernel
def subgradient_pass(
    rows, label, cost, tie, costs, sums, bias, bias_feature, order, step, factor, scores, picks, stop
):
    """One step for each row of `order`; picks[i] becomes the class that row i was moved away from, or -1.

    After t steps the weights are factor / t times `sums`, which collects c_i S a_n x_i of the classes picked: with the
    step 1 / (lambda t) the shrinkage of the old weights is all in the factor, and no weight is ever rescaled.
    `step` counts the steps made before; returns how many have been made by now.
    """
    n_classes = tie.indptr.shape[0] - 1
    costs_of = np.empty(n_classes)
    marks = np.zeros(costs.paths.weight.shape[0])
    place = np.full(sums.shape[1], -1, dtype=np.int64)
    chosen = np.empty(sums.shape[1], dtype=np.int64)
    values = np.empty(sums.shape[1])
    classes = np.empty(2, dtype=np.int64)
    change = np.empty(2)
    for r in range(order.shape[0]):
        if stop[0] != 0:
            break
        i = order[r]
        y = label[i]
        shrunk = factor / max(1, step)
        step += 1
        for n in range(scores.shape[0]):
            scores[n] = bias[n] * bias_feature
        add_row_scores(rows, i, sums, scores)
        own = 0.0
        for p in range(tie.indptr[y], tie.indptr[y + 1]):
            own += scores[tie.nodes[p]]
        delta_column(costs, y, marks, costs_of)
        highest = 0.0
        picks[i] = -1
        for other in range(n_classes):
            score = 0.0
            for p in range(tie.indptr[other], tie.indptr[other + 1]):
                score += scores[tie.nodes[p]]
            value = costs_of[other]
            violation = margin_of(costs.rescaling, value)
            violation -= scaling_of(costs.rescaling, value) * shrunk * (own - score)
            if other != y and violation > highest:
                highest = violation
                picks[i] = other
        if picks[i] >= 0:
            classes[0] = y
            classes[1] = picks[i]
            change[1] = cost[i] * scaling_of(costs.rescaling, costs_of[picks[i]])
            _spread(rows, i, classes, change, 2, tie, sums, bias, bias_feature, place, chosen, values)
    return step
