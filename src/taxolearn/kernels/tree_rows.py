"""The rows that classes of a tree work on: dropped and added in place, and taken out of the solver.

Arrays as in `tree_descent.Active`.
"""

from __future__ import annotations

from taxolearn.kernels._jit import kernel


@kernel
def drop_rows(start, stop, indptr, keep, rows, dual, new_indptr):
    """Move what is kept of the classes start .. stop-1 to follow the classes before them, in place.

    `keep` has a flag for each of their rows, or is empty: all stay. new_indptr[stop] is where they end.
    """
    at = new_indptr[start]
    base = indptr[start]
    everything = keep.shape[0] == 0
    for cls in range(start, stop):
        for k in range(indptr[cls], indptr[cls + 1]):
            if everything or keep[k - base]:
                rows[at] = rows[k]
                dual[at] = dual[k]
                at += 1
        new_indptr[cls + 1] = at


@kernel
def add_rows(start, stop, old_indptr, indptr, fresh, fresh_start, fresh_stop, rows, dual):
    """Move the classes start .. stop-1, the last one first, to their new places, and add fresh rows at dual zero.

    In place: no class may move down, and the classes after them must have moved already.
    """
    for cls in range(stop - 1, start - 1, -1):
        old = old_indptr[cls]
        size = old_indptr[cls + 1] - old
        at = indptr[cls]
        for k in range(size - 1, -1, -1):
            rows[at + k] = rows[old + k]
            dual[at + k] = dual[old + k]
        at += size
        for k in range(fresh_start[cls], fresh_stop[cls]):
            rows[at] = fresh[k]
            dual[at] = 0.0
            at += 1


@kernel
def count_live(indptr, dual, counts):
    """Number of duals of each class that are not zero."""
    for cls in range(indptr.shape[0] - 1):
        counts[cls] = 0
        for k in range(indptr[cls], indptr[cls + 1]):
            if dual[k] != 0.0:
                counts[cls] += 1


@kernel
def take_live(indptr, dual, values, places, out):
    """Write each class's values whose duals are not zero from its place on."""
    for cls in range(indptr.shape[0] - 1):
        at = places[cls]
        for k in range(indptr[cls], indptr[cls + 1]):
            if dual[k] != 0.0:
                out[at] = values[k]
                at += 1
