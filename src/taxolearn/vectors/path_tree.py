"""The order in which the nodes of class paths are visited: depth-first where they form a tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class PathTree(NamedTuple):
    """Nodes in depth-first order, their depths, and the classes at each: classes[class_start[p]:class_start[p + 1]].

    >>> path_tree(sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))).depth.tolist()
    [0, 1, 1]
    """

    order: np.ndarray[Any, np.dtype[np.int64]]
    depth: np.ndarray[Any, np.dtype[np.int32]]
    class_start: np.ndarray[Any, np.dtype[np.int64]]
    classes: np.ndarray[Any, np.dtype[np.int32]]


def path_tree(paths: sparse.csr_array) -> PathTree | None:
    """The tree whose paths these are (classes x nodes, parents numbered before children).

    None for a DAG, and for a matrix of other numbers than ones.

    >>> path_tree(sparse.csr_array(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))) is None
    True
    """
    lengths = np.diff(paths.indptr)
    if not paths.has_sorted_indices:
        paths = paths.sorted_indices()
    if not lengths.size or not lengths.all() or not np.all(paths.data == 1):
        return None
    nodes, tops = paths.indices, paths.indptr[:-1]
    above = np.empty(len(nodes), dtype=np.int64)
    above[1:] = nodes[:-1]
    above[tops] = -1
    parent = np.full(paths.shape[1], -2, dtype=np.int64)  # -2: no class is there
    parent[nodes] = above
    if not np.array_equal(parent[nodes], above):
        return None  # a node has two parents
    order, depth = _depth_first(parent.tolist())
    at = np.empty(paths.shape[1], dtype=np.int64)
    at[order] = np.arange(len(order))
    own = at[nodes[paths.indptr[1:] - 1]]  # where each class sits: at the last node of its path
    counts = np.bincount(own, minlength=len(order))
    start = np.concatenate(([0], np.cumsum(counts)))
    return PathTree(order, depth, start, np.argsort(own, kind="stable").astype(np.int32))


def products_only(n_nodes: int) -> PathTree:
    """Every node as a tree and a class of its own: its score is its product with the row.

    >>> products_only(2).class_start.tolist()
    [0, 1, 2]
    """
    every = np.arange(n_nodes)
    return PathTree(every, np.zeros(n_nodes, dtype=np.int32), np.arange(n_nodes + 1), every.astype(np.int32))


def _depth_first(parent: list[int]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    children: list[list[int]] = [[] for _ in parent]
    waiting = []
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0:
            children[parent[node]].append(node)
        elif parent[node] == -1:
            waiting.append((node, 0))
    order, depths = [], []
    while waiting:
        node, depth = waiting.pop()
        order.append(node)
        depths.append(depth)
        waiting += [(child, depth + 1) for child in children[node]]
    return np.array(order, dtype=np.int64), np.array(depths, dtype=np.int32)
