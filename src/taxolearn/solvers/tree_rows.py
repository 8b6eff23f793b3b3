"""The rows that classes of a tree work on: dropped and added in place, and taken out of the solver.

Arrays as in `taxolearn.kernels.tree_descent.Active`. All goes by some classes at a time: what is copied stays small
beside the arrays, which may take most of the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]

_ROWS_AT_A_TIME = 2**20


def _some_classes(indptr: Ids, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Spans of the classes start .. stop-1 with no more rows than are worked on at a time, or with one class."""
    while start < stop:
        end = int(np.searchsorted(indptr, indptr[start] + _ROWS_AT_A_TIME, side="right")) - 1
        end = min(stop, max(start + 1, end))
        yield start, end
        start = end


def _each_place(starts: Ids, counts: Ids) -> Ids:
    """starts[0], starts[0] + 1 ..., so many for each."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


def drop_rows(start: int, stop: int, indptr: Ids, keep: Any, rows: Any, dual: Any, new_indptr: Ids) -> None:
    """Move what is kept of the classes start .. stop-1 to follow the classes before them, in place.

    `keep` has a flag for each of their rows, or is empty: all stay. new_indptr[stop] is where they end.
    """
    base = indptr[start]
    for a, b in _some_classes(indptr, start, stop):
        first, last, at = indptr[a], indptr[b], new_indptr[a]
        ends = indptr[a + 1 : b + 1] - first
        kept: Any = slice(None)
        if len(keep):
            flags = keep[first - base : last - base] != 0
            ends = np.concatenate(([0], np.cumsum(flags)))[ends]
            kept = np.flatnonzero(flags)
        new_indptr[a + 1 : b + 1] = at + ends
        for array in (rows, dual):
            array[at : new_indptr[b]] = array[first:last][kept]


def add_rows(
    start: int,
    stop: int,
    old_indptr: Ids,
    indptr: Ids,
    fresh: Any,
    fresh_start: Ids,
    fresh_stop: Ids,
    rows: Any,
    dual: Any,
) -> None:
    """Move the classes start .. stop-1, the last one first, to their new places, and add fresh rows at dual zero.

    In place: no class may move down, and the classes after them must have moved already.
    """
    for a, b in reversed(list(_some_classes(indptr, start, stop))):
        begun, before = indptr[a:b], old_indptr[a : b + 1]
        sizes, added = np.diff(before), fresh_stop[a:b] - fresh_start[a:b]
        moved, new = _each_place(begun, sizes), _each_place(begun + sizes, added)
        source = _each_place(fresh_start[a:b], added)
        for array, values in ((rows, fresh[source]), (dual, 0.0)):
            array[moved] = array[before[0] : before[-1]].copy()
            array[new] = values


def count_live(indptr: Ids, dual: Any, counts: Ids) -> None:
    """Number of duals of each class that are not zero."""
    for a, b in _some_classes(indptr, 0, len(indptr) - 1):
        live = np.concatenate(([0], np.cumsum(dual[indptr[a] : indptr[b]] != 0)))
        counts[a:b] = np.diff(live[indptr[a : b + 1] - indptr[a]])


def take_live(indptr: Ids, dual: Any, values: Any, places: Ids, out: Any) -> None:
    """Write each class's values whose duals are not zero from its place on."""
    counts = np.empty(len(indptr) - 1, dtype=np.int64)
    count_live(indptr, dual, counts)
    for a, b in _some_classes(indptr, 0, len(counts)):
        some = slice(indptr[a], indptr[b])
        out[_each_place(places[a:b], counts[a:b])] = values[some][dual[some] != 0]
