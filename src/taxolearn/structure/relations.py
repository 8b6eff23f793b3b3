"""Relations between nodes, on arrays of ids: ancestors, lowest common ancestors, distances.

The functions become methods of Taxonomy.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.structure.arrays import IntArray, gather_rows, row_pointer
from taxolearn.structure.names import show

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

_MAX_ENTRIES = 2**28  # about 3 GB with float64 values: more is a mistake, or a chain
_BLOCK = 2**22  # entries that temporary arrays hold at a time
_WORDS = 2**21  # the same for the words of a breadth-first search, fastest of the powers tried


def check_ids(taxonomy: Taxonomy, ids: npt.ArrayLike) -> IntArray:
    """The ids as an int32 array; LabelError when one is not a node.

    >>> from taxolearn.structure import Taxonomy
    >>> check_ids(Taxonomy.from_paths(["Animal/Cat"]), [0, 5])
    Traceback (most recent call last):
    ...
    taxolearn.errors.LabelError: unknown node id 5; ids run from 0 to 1
    """
    try:
        array = np.asarray(ids)
    except (TypeError, ValueError):
        raise LabelError(f"expected an array of node ids, found {show(ids)}") from None
    if not array.size:
        return np.zeros(array.shape, dtype=np.int32)
    if array.dtype.kind not in "iu":
        raise LabelError(f"node ids are integers, found {show(ids)}; ids_of turns names into ids")
    wrong = array[(array < 0) | (array >= taxonomy.n_nodes)]
    if wrong.size:
        raise LabelError(f"unknown node id {wrong[0]}; ids run from 0 to {taxonomy.n_nodes - 1}")
    return array.astype(np.int32, copy=False)


def _check_pairs(taxonomy: Taxonomy, a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    left, right = np.atleast_1d(check_ids(taxonomy, a)), np.atleast_1d(check_ids(taxonomy, b))
    try:
        left, right = np.broadcast_arrays(left, right)
    except ValueError:
        raise LabelError(f"cannot pair ids of shape {left.shape} with ids of shape {right.shape}") from None
    return left, right


def reach(indptr: IntArray, indices: IntArray, starts: IntArray) -> tuple[npt.NDArray[np.int64], IntArray]:
    """All nodes that can be reached from each start along CSR rows, itself included.

    Returns (position in starts, node) pairs, sorted.

    >>> reach(np.array([0, 0, 1, 2]), np.array([0, 1]), np.array([2, 0]))
    (array([0, 0, 0, 1]), array([0, 1, 2, 0], dtype=int32))
    """
    n_nodes = len(indptr) - 1
    block = max(1, _BLOCK // n_nodes)
    seen = np.zeros(min(block, len(starts)) * n_nodes, dtype=bool)
    found: list[npt.NDArray[np.int64]] = []
    total = 0
    for first in range(0, len(starts), block):
        part = starts[first : first + block].astype(np.int64)
        frontier = np.arange(len(part)) * n_nodes + part  # (row, node) in one number
        waves = []
        while frontier.size:
            seen[frontier] = True
            waves.append(frontier)
            total += frontier.size
            if total > _MAX_ENTRIES:
                raise _too_large()
            owner, above = gather_rows(indptr, indices, frontier % n_nodes)
            frontier = frontier[owner] // n_nodes * n_nodes + above
            frontier = np.unique(frontier[~seen[frontier]])
        reached = np.sort(np.concatenate(waves))
        seen[reached] = False
        found.append(reached + first * n_nodes)
    keys = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
    return keys // n_nodes, (keys % n_nodes).astype(np.int32)


def _too_large() -> TaxonomyError:
    return TaxonomyError(
        f"the ancestor matrix would hold more than {_MAX_ENTRIES:,} entries; ask for fewer nodes at a time"
    )


def climb(taxonomy: Taxonomy, nodes: IntArray) -> tuple[npt.NDArray[np.int64], IntArray]:
    """What `reach` finds along the parents of a tree, by climbing from all nodes at once.

    >>> from taxolearn.structure import Taxonomy
    >>> climb(Taxonomy.from_paths(["Animal/Cat"]), np.array([1, 0]))
    (array([0, 0, 1]), array([0, 1, 0], dtype=int32))
    """
    counts = taxonomy.depth[nodes].astype(np.int64) + 1
    if counts.sum() > _MAX_ENTRIES:
        raise _too_large()
    last = np.cumsum(counts) - 1
    columns = np.empty(counts.sum(), dtype=np.int32)
    climbing = nodes
    while climbing.size:
        columns[last] = climbing
        climbing = taxonomy.parent[climbing]
        higher = climbing >= 0
        if not higher.all():
            climbing, last = climbing[higher], last[higher]
        last = last - 1
    return np.repeat(np.arange(len(nodes)), counts), columns


def ancestor_matrix(
    taxonomy: Taxonomy,
    nodes: npt.ArrayLike | None = None,
    *,
    include_self: bool = True,
    include_root: bool = True,
    dtype: npt.DTypeLike = np.float64,
) -> sp.csr_array:
    """The 0/1 matrix whose row for each of `nodes` (ids; default all) marks the node and its ancestors.

    Columns are all nodes. `include_root=False` leaves the column of the root empty.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> tree.ancestor_matrix(tree.leaf_ids, dtype=int).toarray()
    array([[1, 1, 0],
           [1, 0, 1]])
    """
    rows_of = np.arange(taxonomy.n_nodes, dtype=np.int32) if nodes is None else check_ids(taxonomy, nodes)
    if rows_of.ndim != 1:
        raise LabelError(f"nodes must be one-dimensional, not of shape {rows_of.shape}")
    if taxonomy.is_tree:
        rows, columns = climb(taxonomy, rows_of)
    else:
        rows, columns = reach(taxonomy.parent_indptr, taxonomy.parent_indices, rows_of)
    if not include_self:
        other = columns != rows_of[rows]
        rows, columns = rows[other], columns[other]
    if not include_root:
        below = columns != 0
        rows, columns = rows[below], columns[below]
    indptr = row_pointer(rows, len(rows_of))
    return sp.csr_array(
        (np.ones(len(columns), dtype=dtype), columns, indptr), shape=(len(rows_of), taxonomy.n_nodes)
    )


def lowest_common_ancestors(taxonomy: Taxonomy, a: npt.ArrayLike, b: npt.ArrayLike) -> Any:
    """The lowest common ancestors of nodes a[k] and b[k] (ids; a node counts among its own ancestors).

    On a tree there is one: an int32 array of ids. On a DAG there may be several: a list of sorted tuples,
    the common ancestors that have no common ancestor below them.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Tiger", "Animal/Dog"])
    >>> tree.lowest_common_ancestors(tree.ids_of(["Lion", "Lion"]), tree.ids_of(["Tiger", "Dog"]))
    array([1, 0], dtype=int32)
    """
    left, right = _check_pairs(taxonomy, a, b)
    if taxonomy.is_tree:
        return _tree_lca(taxonomy, left.ravel(), right.ravel()).reshape(left.shape)
    if left.ndim != 1:
        raise LabelError(f"ids must be one-dimensional on a DAG, not of shape {left.shape}")
    return _dag_lca(taxonomy, left, right)


def _tree_lca(taxonomy: Taxonomy, a: IntArray, b: IntArray) -> IntArray:
    """In depth-first order, the lowest common ancestor of a < b is the least parent among the nodes a+1..b.

    All of these nodes lie below it, and one is its child on the way to b. The minimum over a range comes from
    two ranges of a power of two; the table of each power is used and forgotten, so no memory is kept.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    result = low.copy()
    power = (np.frexp(high - low)[1] - 1).astype(np.int8)  # floor of log2; -1 where a = b
    order = np.argsort(power, kind="stable")
    bounds = np.searchsorted(power[order], np.arange(power.max(initial=-1) + 2))
    table = taxonomy.parent
    for k in range(len(bounds) - 1):
        pairs = order[bounds[k] : bounds[k + 1]]
        result[pairs] = np.minimum(table[low[pairs] + 1], table[high[pairs] + 1 - (1 << k)])
        table = np.minimum(table[: -(1 << k)], table[1 << k :])
    return result


def _dag_lca(taxonomy: Taxonomy, a: IntArray, b: IntArray) -> list[tuple[int, ...]]:
    n_nodes = taxonomy.n_nodes
    keys, back = np.unique(
        np.minimum(a, b).astype(np.int64) * n_nodes + np.maximum(a, b), return_inverse=True
    )
    nodes, ends = np.unique(np.stack([keys // n_nodes, keys % n_nodes]), return_inverse=True)
    left, right = ends.reshape(2, -1)
    ancestors = ancestor_matrix(taxonomy, nodes, dtype=np.int32)
    to_parents = sp.csr_array(
        (np.ones(taxonomy.n_edges, np.int32), taxonomy.parent_indices, taxonomy.parent_indptr),
        shape=(n_nodes, n_nodes),
    )
    block = max(1, _BLOCK // (taxonomy.max_depth + 1))
    found: list[tuple[int, ...]] = []
    for first in range(0, len(keys), block):
        part = slice(first, first + block)
        common = ancestors[left[part]].multiply(ancestors[right[part]]).tocsr()
        # Common ancestors are closed upwards, so one that is not lowest has a common ancestor as child.
        lowest = common - common.multiply((common @ to_parents).astype(bool))
        lowest.eliminate_zeros()
        lowest.sort_indices()
        bounds, columns = lowest.indptr.tolist(), lowest.indices.tolist()
        found.extend(tuple(columns[i:j]) for i, j in pairwise(bounds))
    return [found[k] for k in back.tolist()]


def distance(taxonomy: Taxonomy, a: npt.ArrayLike, b: npt.ArrayLike) -> IntArray:
    """The number of edges on a shortest path between nodes a[k] and b[k] (ids), up or down.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Tiger", "Animal/Dog"])
    >>> tree.distance(tree.id_of("Lion"), tree.ids_of(["Lion", "Tiger", "Dog"]))
    array([0, 2, 3], dtype=int32)
    """
    left, right = _check_pairs(taxonomy, a, b)
    if taxonomy.is_tree:
        depth = taxonomy.depth
        return np.asarray(
            depth[left] + depth[right] - 2 * depth[lowest_common_ancestors(taxonomy, left, right)]
        )
    n_nodes = taxonomy.n_nodes
    keys, back = np.unique(
        np.minimum(left, right).astype(np.int64).ravel() * n_nodes + np.maximum(left, right).ravel(),
        return_inverse=True,
    )
    return _dag_distance(taxonomy, keys // n_nodes, keys % n_nodes)[back].reshape(left.shape)


def _dag_distance(taxonomy: Taxonomy, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> IntArray:
    """Breadth-first search, 64 sources to a machine word: a bit of reached[node] says a source got there."""
    up, down = np.diff(taxonomy.parent_indptr), np.diff(taxonomy.child_indptr)
    every = np.arange(taxonomy.n_nodes, dtype=np.int32)
    ends = np.concatenate([np.repeat(every, up), np.repeat(every, down)])
    neighbours = np.concatenate([taxonomy.parent_indices, taxonomy.child_indices])
    neighbours = neighbours[np.argsort(ends, kind="stable")]
    start = row_pointer(ends, taxonomy.n_nodes)[:-1]
    sources, source = np.unique(a, return_inverse=True)
    by_source = np.argsort(source, kind="stable")
    result = np.empty(len(a), dtype=np.int32)
    block = 64 * max(1, _WORDS // len(neighbours))
    for first in range(0, len(sources), block):
        part = sources[first : first + block]
        bit = np.arange(len(part))
        reached = np.zeros((taxonomy.n_nodes, (len(part) + 63) // 64), dtype=np.uint64)
        reached[part, bit // 64] = np.uint64(1) << (bit % 64).astype(np.uint64)
        pending = by_source[slice(*np.searchsorted(source[by_source], [first, first + block]))]
        steps = 0
        while True:
            mine = source[pending] - first
            hit = (reached[b[pending], mine // 64] >> (mine % 64).astype(np.uint64)) & np.uint64(1) == 1
            result[pending[hit]] = steps
            pending = pending[~hit]
            if not pending.size:
                break
            reached |= np.bitwise_or.reduceat(reached[neighbours], start, axis=0)
            steps += 1
    return result
