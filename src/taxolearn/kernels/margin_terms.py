"""Values, gradients and curvatures of a smooth loss of the margin, for all rows and classes at once.

They follow from what a loss offers to dual solvers: the dual that belongs to a margin, -c loss'(m), is the
coordinate step without curvature, and the curvature c loss''(m) is the inverse of the conjugate's at that dual.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.loss_steps import conjugate_curvature, dual_step, loss_value


@kernel
def margin_terms(
    loss, scores, indptr, indices, row_cost, positive_weight, negative_weight, first, last, dual, curvature
):
    """Fill dual and curvature (rows x classes) from the scores of the rows first .. last - 1; returns summed losses.

    `indptr` and `indices` hold the classes of each row. A pair that weighs nothing gets zeros.
    """
    n_classes = scores.shape[1]
    own = np.zeros(n_classes, dtype=np.uint8)
    total = 0.0
    for i in range(first, last):
        for k in range(indptr[i], indptr[i + 1]):
            own[indices[k]] = 1
        for c in range(n_classes):
            if own[c] != 0:
                margin = scores[i, c]
                weight = row_cost[i] * positive_weight[c]
            else:
                margin = -scores[i, c]
                weight = row_cost[i] * negative_weight[c]
            dual[i, c] = 0.0
            curvature[i, c] = 0.0
            if weight > 0.0:
                total += weight * loss_value(loss, margin)
                d = dual_step(loss, 0.0, margin, 0.0, weight)
                dual[i, c] = d
                inverse = conjugate_curvature(loss, d, weight) if d > 0.0 else 0.0
                if inverse > 0.0:  # weights near the largest number underflow in it
                    curvature[i, c] = 1.0 / inverse
        for k in range(indptr[i], indptr[i + 1]):
            own[indices[k]] = 0
    return total
