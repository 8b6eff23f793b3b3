"""Which rows a one-vs-rest class works on: those of the largest values."""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel


@kernel
def mark_largest(values, least, count, marks):
    """Set `marks` at about the `count` largest of the unmarked values above `least` (at all when there are fewer).

    The bar is found by halving an interval: ties and the last halving may leave a few out, which the next round sees.
    """
    found = np.empty(values.shape[0], dtype=np.int64)
    size = 0
    high = least
    for i in range(values.shape[0]):
        if values[i] > least and marks[i] == 0:
            found[size] = i
            size += 1
            high = max(high, values[i])
    bar = least
    if size > count:
        low = least
        for _ in range(30):
            bar = 0.5 * (low + high)
            above = 0
            for k in range(size):
                if values[found[k]] > bar:
                    above += 1
            if above > count:
                low = bar
            elif above < count - count // 4:
                high = bar
            else:
                break
    left = count
    for k in range(size):
        if left > 0 and values[found[k]] >= bar:
            marks[found[k]] = 1
            left -= 1


@kernel
def grow_rows(losses, least, working):
    """Take the rows that lose most into the working set, at most doubling it."""
    size = 0
    for i in range(working.shape[0]):
        if working[i] != 0:  # adding the bytes themselves would wrap around with the compiler off
            size += 1
    mark_largest(losses, least, max(256, size), working)
