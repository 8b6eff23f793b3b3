"""Flat int32 arrays of a rooted graph: CSR both ways and what one sweep over them tells."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]
AnyArray = TypeVar("AnyArray", bound=npt.NDArray[Any])


def frozen(array: AnyArray) -> AnyArray:
    """The same array, read-only.

    >>> frozen(np.zeros(2)).flags.writeable
    False
    """
    array.setflags(write=False)
    return array


def row_pointer(rows: npt.NDArray[np.integer[Any]], n_rows: int) -> IntArray:
    """The CSR row pointer of entries that lie in these rows.

    >>> row_pointer(np.array([0, 0, 2]), 3)
    array([0, 2, 2, 3], dtype=int32)
    """
    pointer = np.zeros(n_rows + 1, dtype=np.int32)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=pointer[1:])
    return pointer


def row_of_entry(indptr: IntArray) -> IntArray:
    """The row of every CSR entry.

    >>> row_of_entry(np.array([0, 2, 2, 3]))
    array([0, 0, 2], dtype=int32)
    """
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))


def gather_rows(
    indptr: IntArray, indices: IntArray, rows: IntArray
) -> tuple[npt.NDArray[np.int64], IntArray]:
    """The entries of some CSR rows, one after the other, and the position in `rows` each belongs to.

    >>> gather_rows(np.array([0, 2, 2, 3]), np.array([7, 8, 9]), np.array([2, 0]))
    (array([0, 1, 1]), array([9, 7, 8]))
    """
    counts = (indptr[rows + 1] - indptr[rows]).astype(np.int64)
    owner = np.repeat(np.arange(len(rows)), counts)
    first = np.cumsum(counts) - counts
    return owner, indices[np.arange(len(owner)) - first[owner] + indptr[rows][owner]]


class Derived(NamedTuple):
    """Everything that follows from the parents of each node.

    >>> derive(np.array([0, 0, 1, 2], np.int32), np.array([0, 0], np.int32)).depth
    array([0, 1, 1], dtype=int32)
    """

    child_indptr: IntArray
    child_indices: IntArray
    depth: IntArray
    height: IntArray
    is_leaf: npt.NDArray[np.bool_]
    leaf_ids: IntArray
    parent: IntArray | None
    subtree_end: IntArray | None


def derive(parent_indptr: IntArray, parent_indices: IntArray) -> Derived:
    """Children, depths, heights and leaves from parents; ids must be a topological order.

    >>> derive(np.array([0, 0, 1, 2], np.int32), np.array([0, 1], np.int32)).height
    array([2, 1, 0], dtype=int32)
    """
    n_nodes = len(parent_indptr) - 1
    child_of_edge = row_of_entry(parent_indptr)
    # Edges are sorted by child, so a stable sort by parent leaves every list of children sorted.
    child_indices = child_of_edge[np.argsort(parent_indices, kind="stable")]
    child_indptr = row_pointer(parent_indices, n_nodes)
    edges = list(zip(child_of_edge.tolist(), parent_indices.tolist(), strict=True))
    depth, height = [0] * n_nodes, [0] * n_nodes
    for child, parent in edges:  # parents come first in id order: depth[parent] is final here
        if depth[parent] >= depth[child]:
            depth[child] = depth[parent] + 1
    for child, parent in reversed(edges):
        if height[child] >= height[parent]:
            height[parent] = height[child] + 1
    parent_array = subtree_end = None
    if len(parent_indices) == n_nodes - 1:
        parent_array = np.concatenate([np.array([-1], dtype=np.int32), parent_indices])
        subtree_end = np.array(_subtree_sizes(edges, n_nodes), dtype=np.int32)
        subtree_end += np.arange(n_nodes, dtype=np.int32)
    is_leaf = child_indptr[1:] == child_indptr[:-1]
    return Derived(
        child_indptr,
        child_indices,
        np.array(depth, dtype=np.int32),
        np.array(height, dtype=np.int32),
        is_leaf,
        np.flatnonzero(is_leaf).astype(np.int32),
        parent_array,
        subtree_end,
    )


def _subtree_sizes(edges: list[tuple[int, int]], n_nodes: int) -> list[int]:
    sizes = [1] * n_nodes
    for child, parent in reversed(edges):
        sizes[parent] += sizes[child]
    return sizes
