"""The two tasks of a tree solve, on plain arrays: sweep some trees, and price some classes of them.

A task gets the arrays that never change (`Shared`) and the state of the trees it is about: the rows that their classes
work on with their duals, and their biases. It returns what is new of them. Trees share nothing, so a task is exact
whatever the others do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Clock, frozen
from taxolearn.engines.memory import share_of_memory

_EPOCHS = 2  # epochs over the rows of a class at one visit
_TRANSPOSED = 8  # vectors that are transposed into columns at a time
_BLOCK_CLASSES = 64  # most classes that one read of X prices
_STORED_BYTES = 2**29  # of vectors of a DAG's nodes that a task stores
_LEAST_BYTES = 80 * 2**20  # of the vectors and scores of a block, however little memory there is
_SHARE_OF_MEMORY = 0.5  # of what is there, for the blocks of all cores
_COARSE_TOL = 1e-3  # gaps from this one on do not see the rounding of single precision
_MANY_PRODUCTS = 2**28  # of a pricing: about a tenth of a second
_CACHED_BYTES = 2**20  # of a block's vectors in double precision that stay beside the core

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Shared(NamedTuple):
    """What all tasks of a solve read; classes are numbered along the walk of the forest."""

    loss: Any
    rows: Any
    squares: Array
    tree: Any  # TreeArrays of the whole forest
    costs: Any  # Costs of all classes
    n_features: int
    bias_feature: float
    bias_prior: float
    ahead: float  # rows that miss a loss by less are taken in too
    left_out: float  # losses that may be left out, as a share of the objective
    single: bool  # whether pricing is in single precision


class Part(NamedTuple):
    """Some neighbouring trees as they are: nodes start .. stop-1, and the state of the classes under them."""

    start: int
    stop: int
    active: Any  # Active of these classes
    biases: Array


class SweepTask(NamedTuple):
    """Sweep trees of a part: those at `tops`, numbers of nodes."""

    part: Part
    tops: Ints
    goals: Array  # gap of each class at which a visit ends
    sweeps: int
    seed: int


class Swept(NamedTuple):
    """The new duals and biases of a part."""

    dual: npt.NDArray[Any]
    biases: Array


class PriceTask(NamedTuple):
    """Price the classes first .. last-1 of a part, counted from its first one, adding at most so many rows to each."""

    part: Part
    first: int
    last: int
    most: Ints


class Priced(NamedTuple):
    """What pricing found: the report of each class, which of its rows stay, as bits, and fresh ones.

    Those of the k-th class are fresh[fresh_start[k]:fresh_stop[k]].
    """

    report: Array
    keep: npt.NDArray[np.uint8]
    fresh: npt.NDArray[np.int32]
    fresh_start: Ints
    fresh_stop: Ints


def prices_in_single(X: Any, n_classes: int, tol: float) -> bool:
    """Whether pricing is in single precision, and of sparse rows reads weights in 16 bits.

    It pays where blocks of vectors come from memory, or rows are dense, and there are many products. Elsewhere it would
    save a few per cent, and bounds are exact.

    >>> rows = sp.csr_array((2**16, 2**16))
    >>> prices_in_single(rows, 2**20, 5e-2)
    False
    """
    if tol < _COARSE_TOL:
        return False
    if not sp.issparse(X):
        return bool(X.size * n_classes >= _MANY_PRODUCTS)
    block = 8 * X.shape[1] * min(_BLOCK_CLASSES, n_classes)
    return bool(X.nnz * n_classes >= _MANY_PRODUCTS and block > _CACHED_BYTES)


def part_of(tree: Any, active: Any, biases: Array, start: int, stop: int) -> Part:
    """The whole trees of the nodes start .. stop-1 with views of their state."""
    first, last = int(tree.first[start]), int(tree.last[stop - 1])
    ends = active.indptr[first : last + 1]
    entries = slice(int(ends[0]), int(ends[-1]))
    own = type(active)(
        ends - ends[0],
        active.positive[first:last],
        active.rows[entries],
        active.dual[entries],
        active.permanent[first:last],
    )
    return Part(start, stop, own, biases[first:last])


def _cut(shared: Shared, start: int, stop: int) -> tuple[Any, Any]:
    """Tree and costs of the nodes start .. stop-1, nodes and classes being counted from their first ones."""
    tree, costs = shared.tree, shared.costs
    nodes = slice(start, stop)
    first, last = tree.first[start], tree.last[stop - 1]
    from_span, to_span = tree.span_first[nodes], tree.span_last[nodes]
    filled = from_span < to_span  # nodes without a vector have none
    low, high = (from_span[filled].min(), to_span[filled].max()) if filled.any() else (0, 0)
    part = type(tree)(
        tree.end[nodes] - start,
        tree.first[nodes] - first,
        tree.own[nodes] - first,
        tree.last[nodes] - first,
        tree.scale[nodes],
        tree.reach[nodes],
        np.where(filled, from_span - low, 0),
        np.where(filled, to_span - low, 0),
        tree.spans[low:high] - first,
    )
    some = type(costs)(costs.row_weight, costs.positive[first:last], costs.negative[first:last])
    return frozen(part), frozen(some)


def sweep_task(shared: Shared, task: SweepTask, clock: Clock) -> Swept:
    """Coordinate descent over some trees; where the clock stops it, what is reached counts."""
    from taxolearn.kernels.tree_descent import sweep_tree

    part = task.part
    tree, costs = _cut(shared, part.start, part.stop)
    active = frozen(part.active)._replace(dual=part.active.dual.copy())
    biases, w = part.biases.copy(), np.zeros(shared.n_features)
    slot, n_stored = _slots(shared, tree, active)
    stored = np.empty((n_stored, shared.n_features))
    for top in (task.tops - part.start).tolist():
        sweep_tree(
            shared.loss,
            shared.rows,
            shared.squares,
            tree,
            active,
            costs,
            top,
            shared.bias_feature,
            task.sweeps,
            _EPOCHS,
            task.goals,
            w,
            biases,
            task.seed + part.start,  # the order of a tree's rows is its own, whatever part it is in
            slot,
            stored,
            clock.stop,
        )
    return Swept(active.dual, biases)


def _slots(shared: Shared, tree: Any, active: Any) -> tuple[Ints, int]:
    """The slots of a DAG's nodes whose vectors are stored for the time of a task, -1 for none; and how many they are.

    Those that stand at several places and have many rows to work on under them, as many as there is room for. The room
    does not depend on the machine: digits would, otherwise.
    """
    slot = np.full(len(tree.end), -1, dtype=np.int64)
    nodes = np.flatnonzero((tree.scale > 0) & (tree.span_first < tree.span_last))
    groups, place, counts = np.unique(tree.span_first[nodes], return_inverse=True, return_counts=True)
    if np.all(counts == 1):
        return slot, 0  # a tree
    of_group = nodes[np.unique(place, return_index=True)[1]]
    ends = active.indptr[tree.spans]
    sums = np.concatenate(([0], np.cumsum(ends[:, 1] - ends[:, 0])))
    rows = sums[tree.span_last[of_group]] - sums[tree.span_first[of_group]]
    entries = shared.rows.data.size / max(1, len(shared.squares))
    worth = np.where((counts > 1) & (rows * entries > 2 * shared.n_features), (counts - 1) * rows, 0)
    best = np.argsort(-worth, kind="stable")[: _STORED_BYTES // (8 * shared.n_features)]
    best = best[worth[best] > 0]
    number = np.full(len(groups), -1, dtype=np.int64)
    number[best] = np.arange(len(best))
    slot[nodes] = number[place]
    return slot, len(best)


def price_task(shared: Shared, task: PriceTask, clock: Clock) -> Priced | None:
    """Objectives of some classes over all rows, and the rows that they should work on; None if it was stopped."""
    from taxolearn.kernels import tree_pricing

    part, first, last = task.part, task.first, task.last
    tree, costs = _cut(shared, part.start, part.stop)
    active = frozen(part.active)
    indptr, n = active.indptr, len(part.biases)
    keep = np.ones(indptr[last] - indptr[first], dtype=np.bool_)
    fresh = np.empty(int(task.most[first:last].sum()), dtype=np.int32)
    fresh_start, fresh_stop = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    report = np.zeros((n, tree_pricing.REPORT_WIDTH))
    slot, n_stored = _slots(shared, tree, active)
    scratch = _SCRATCH.take(shared)
    tree_pricing.price_classes(
        shared.loss,
        shared.rows,
        tree,
        active,
        costs,
        0,
        first,
        last,
        shared.bias_feature,
        shared.bias_prior,
        shared.ahead,
        shared.left_out,
        task.most,
        *scratch,
        part.biases.copy(),
        keep,
        fresh,
        fresh_start,
        fresh_stop,
        report,
        slot,
        np.empty((n_stored, shared.n_features)),
        clock.stop,
    )
    _SCRATCH.put_back(scratch, shared)
    if clock.stop[0]:
        return None
    # copies: views would keep the arrays of the whole part
    own = slice(first, last)
    return Priced(
        report[own].copy(),
        np.packbits(keep),
        fresh[: fresh_stop[last - 1]].copy(),
        fresh_start[own].copy(),
        fresh_stop[own].copy(),
    )


class _Scratch:
    """Memory that pricing tasks of this process use again: fresh memory is slow at the first touch."""

    def __init__(self) -> None:
        self._spare: list[tuple[Any, ...]] = []

    def take(self, shared: Shared) -> tuple[Any, ...]:
        """Room for the vector that is led along the tree, and for vectors and scores of a block of classes."""
        width, n = shared.n_features, len(shared.squares)
        sparse = hasattr(shared.rows, "indptr")
        dtype = np.dtype(np.float32 if shared.single else np.float64)
        short = np.dtype(np.int16) if shared.single and sparse else dtype
        while True:
            try:
                found = self._spare.pop()
            except IndexError:  # several threads take from it
                break
            if (len(found[0]), found[4], found[1].dtype) == (width, n, dtype):
                return found[:4]
        bytes_each = dtype.itemsize * n + short.itemsize * width
        room = max(_LEAST_BYTES, share_of_memory(_SHARE_OF_MEMORY)) // bytes_each
        block = max(1, min(_BLOCK_CLASSES, len(shared.costs.negative), room))
        return (
            np.zeros(width),
            np.empty((_TRANSPOSED, width), dtype=dtype),
            np.empty(width * block, dtype=short),
            np.empty(n * block, dtype=dtype),
        )

    def put_back(self, scratch: tuple[Any, ...], shared: Shared) -> None:
        """For the next task."""
        self._spare.append((*scratch, len(shared.squares)))

    def clear(self) -> None:
        """Let go of it."""
        self._spare.clear()


_SCRATCH = _Scratch()
release_scratch = _SCRATCH.clear
