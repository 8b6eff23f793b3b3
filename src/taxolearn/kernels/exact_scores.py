"""Scores and sums of rows for certificates, in double precision: written on their own, and used by nobody else.

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


@kernel
def squares_of_sums(first, numbers, factors, indptr, indices, data, room, squares):
    """squares[n] = ||sum_i factors_ni x_i||^2 for CSR factors and CSR rows x_i; `room` has one element per feature."""
    for n in range(squares.shape[0]):
        room[:] = 0.0
        for e in range(first[n], first[n + 1]):
            i = numbers[e]
            for k in range(indptr[i], indptr[i + 1]):
                room[indices[k]] += factors[e] * np.float64(data[k])
        total = 0.0
        for j in range(room.shape[0]):
            total += room[j] * room[j]
        squares[n] = total
