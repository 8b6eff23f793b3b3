"""Scores for certificates in double precision: written on their own, and used by nobody else.

A mistake in the kernels of the solvers is then not one of the certificates as well.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel


@kernel
def multiply(indptr, indices, data, columns, out):
    """out = X columns for CSR rows X; `columns` (features x block) and `out` are contiguous and in float64."""
    width = columns.shape[1]
    for i in range(out.shape[0]):
        line = out[i]
        for b in range(width):
            line[b] = 0.0
        k = indptr[i]
        last = indptr[i + 1]
        # two features at a time: the memory of both is fetched at once
        while k + 1 < last:
            one = columns[indices[k]]
            two = columns[indices[k + 1]]
            p = np.float64(data[k])
            q = np.float64(data[k + 1])
            for b in range(width):
                line[b] += p * one[b] + q * two[b]
            k += 2
        if k < last:
            one = columns[indices[k]]
            p = np.float64(data[k])
            for b in range(width):
                line[b] += p * one[b]
