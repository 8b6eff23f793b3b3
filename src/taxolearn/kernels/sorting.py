"""Short arrays in rising order, by Shell's sort: Numba's own takes a second to compile for each kind of array."""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel


@kernel
def sort_span(values, start, stop):
    """Sort values[start:stop] in place."""
    gap = 1
    while gap < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(start + gap, stop):
            value = values[k]
            at = k
            while at - gap >= start and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap //= 3


@kernel
def rising(values, count):
    """The numbers of the first `count` values in rising order; equal ones in the order that they stand in."""
    order = np.empty(count, np.int64)
    for k in range(count):
        order[k] = k
    gap = 1
    while gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, count):
            number = order[k]
            value = values[number]
            at = k
            while at >= gap:
                other = order[at - gap]
                if values[other] < value or (values[other] == value and other < number):
                    break
                order[at] = other
                at -= gap
            order[at] = number
        gap //= 3
    return order
