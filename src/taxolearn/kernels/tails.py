"""The tail of a row: its last columns, which every row has, as a dense part after the sparse one.

Values without column numbers take a third of the memory of entries and go through the processor's vectors. All tails
are in single precision, whatever the entries are: one type, so that kernels are compiled once, for rows with a tail and
for rows without (a tail of no columns).
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._called import any_order, apart, scalar
from taxolearn.kernels.lanes import add_block, add_line

NO_TAIL = np.zeros((0, 0), dtype=np.float32)
NO_TAIL.flags.writeable = False


@any_order
def tail_dot(tail, i, first, w):
    """tail_i . w[first:] in double precision."""
    total = 0.0
    start = np.uint64(first)  # no views, which are counted, and no test for negative places
    for j in range(np.uint64(tail.shape[1])):
        total += np.float64(tail[i, j]) * w[start + np.uint64(j)]
    return total


@apart
def tail_square(tail, i):
    """||tail_i||^2 in double precision."""
    total = 0.0
    for j in range(tail.shape[1]):
        value = np.float64(tail[i, j])  # numba leaves float(float32) in single precision
        total += value * value
    return total


@scalar
def tail_add(tail, i, first, scale, w):
    """w[first:] += scale * tail_i, in place."""
    start = np.uint64(first)
    for j in range(np.uint64(tail.shape[1])):
        w[start + np.uint64(j)] += scale * np.float64(tail[i, j])


@apart
def copy_tails(tail, chosen):
    """The tails of the chosen rows side by side."""
    width = tail.shape[1]
    out = np.empty((chosen.shape[0] if width > 0 else 0, width), dtype=np.float32)
    for r in range(out.shape[0]):
        x = tail[chosen[r]]
        y = out[r]
        for j in range(width):
            y[j] = x[j]
    return out


@apart
def add_tail_scores(tail, first, weights, out):
    """out += tail weights[first:] for all rows, four of them at a time."""
    if tail.shape[1] > 0:
        n, width = out.shape
        whole = n - n % 4
        narrow = width - width % 8
        for i in range(0, whole, 4):
            for at in range(0, narrow, 8):
                add_block(tail, i, first, weights, at, out)
        for i in range(whole, n):
            for at in range(0, narrow, 8):
                add_line(tail, i, first, weights, at, out)
        if narrow < width:
            for i in range(n):
                line = out[i]
                for j in range(tail.shape[1]):
                    some = weights[first + j]
                    value = line.dtype.type(tail[i, j])
                    for b in range(narrow, width):
                        line[b] += value * line.dtype.type(some[b])


@scalar
def add_dense(x, weights, first, out):
    """out += weights[first:]' x."""
    width = out.shape[0]
    whole = x.shape[0] - x.shape[0] % 4
    for j in range(0, whole, 4):  # as for sparse rows
        a = weights[first + j]
        b = weights[first + j + 1]
        c = weights[first + j + 2]
        d = weights[first + j + 3]
        p = out.dtype.type(x[j])
        q = out.dtype.type(x[j + 1])
        r = out.dtype.type(x[j + 2])
        s = out.dtype.type(x[j + 3])
        for n in range(width):
            out[n] += (p * a[n] + q * b[n]) + (r * c[n] + s * d[n])
    for j in range(whole, x.shape[0]):
        a = weights[first + j]
        p = out.dtype.type(x[j])
        for n in range(width):
            out[n] += p * a[n]


@scalar
def spread_dense(x, first, change, weights):
    """weights[first:] += x change'."""
    for j in range(x.shape[0]):
        value = x[j]
        target = weights[first + j]
        for b in range(change.shape[0]):
            target[b] += value * change[b]
