"""Rows that walk down a tree of decisions: each scores the options of the nodes that it passes, and no others."""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel


@kernel
def walk(indptr, indices, data, coef, intercept, node_start, children, unit_start, first, last, options):
    """options[i] becomes the last option of rows first .. last - 1 of CSR rows; at each node the best unit wins.

    `coef` is units x features. A score is added up in the order of the row's entries, in the precision of `coef`, as
    SciPy's product does, so that it is the same to the last bit. Equal options go to the first; NaN is last of all.
    """
    for i in range(first, last):
        node = 0
        while True:
            best = node_start[node]
            if node_start[node + 1] - best > 1:
                highest = np.float64(-np.inf)
                start = unit_start[node]
                for unit in range(start, unit_start[node + 1]):
                    score = coef.dtype.type(0.0)
                    for k in range(indptr[i], indptr[i + 1]):
                        score += data[k] * coef[unit, indices[k]]
                    score += coef.dtype.type(intercept[unit])
                    if score > highest:
                        highest = score
                        best = node_start[node] + unit - start
            node = children[best]
            if node < 0:
                options[i] = best
                break
