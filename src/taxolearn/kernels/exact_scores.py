"""Scores and sums of rows for certificates, in double precision: written on their own, and used by nobody else.

A mistake in the kernels of the solvers is then not one of the certificates as well.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel


@kernel
def multiply(indptr, indices, data, columns, out):
    """out = X columns for CSR rows X; `columns` (features x block) and `out` are contiguous.

    All products and sums are in float64; columns that are stored in float32 take half of the memory's time.
    """
    width = columns.shape[1]
    for i in range(out.shape[0]):
        line = out[i]
        for b in range(width):
            line[b] = 0.0
        k = indptr[i]
        last = indptr[i + 1]
        # four features at a time: the memory of all is fetched at once
        while k + 3 < last:
            one = columns[indices[k]]
            two = columns[indices[k + 1]]
            three = columns[indices[k + 2]]
            four = columns[indices[k + 3]]
            p = np.float64(data[k])
            q = np.float64(data[k + 1])
            r = np.float64(data[k + 2])
            s = np.float64(data[k + 3])
            for b in range(width):
                line[b] += (p * one[b] + q * two[b]) + (r * three[b] + s * four[b])
            k += 4
        while k < last:
            one = columns[indices[k]]
            p = np.float64(data[k])
            for b in range(width):
                line[b] += p * one[b]
            k += 1


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
