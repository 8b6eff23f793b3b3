"""The order of nodes by the classes below them, in which a beam search goes down a tree or a DAG."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

Ints = np.ndarray[Any, np.dtype[np.int64]]


class PathOrder(NamedTuple):
    """Edges from a node to those right below it, sorted by the level of the node; the tops hang at node -1, level 0.

    A node stands above another if all classes of the other are its own too (of two with the same classes the smaller
    number); in a tree that is the ancestor, in a DAG it may be a node more, which the classes have in common as well.
    The score of a node is the sum over itself and all nodes above: edge e adds those of terms[term_start[e]:...].

    >>> paths = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> order = path_order(paths, np.array([0.5, 2.0]), np.array([4.0, 9.0, 1.0]))
    >>> order.parent.tolist(), order.child.tolist(), order.bonus.tolist(), order.reach.tolist()
    ([-1, 0, 0], [0, 1, 2], [2.0, -inf, -inf], [3.0, 0.0, 0.0])
    """

    parent: Ints
    child: Ints
    level_start: Ints  # the edges from nodes of level d are level_start[d] .. level_start[d + 1] - 1
    term_start: Ints
    terms: Ints
    level: Ints  # of each node; tops have 1
    bonus: np.ndarray[Any, np.dtype[np.float64]]  # the largest intercept of a class below; -inf without one
    reach: np.ndarray[
        Any, np.dtype[np.float64]
    ]  # how far the vectors below lead at most: the root of their squares' sum
    class_start: Ints  # the classes that sit at node n are classes[class_start[n]:class_start[n + 1]]
    classes: np.ndarray[Any, np.dtype[np.int32]]
    is_tree: bool


def path_order(
    paths: sparse.csr_array, intercept: np.ndarray[Any, Any], squares: np.ndarray[Any, Any]
) -> PathOrder | None:
    """The order of the nodes of class paths (classes x nodes); None if they are flat, or not the paths of nodes.

    A matrix of other numbers than ones holds no paths.

    `squares` are the squared norms of the node vectors.

    >>> path_order(sparse.csr_array(np.eye(2)), np.zeros(2), np.zeros(2)) is None
    True
    """
    n_classes, n_nodes = paths.shape
    if not np.all(paths.data == 1):
        return None
    member = sparse.csr_array((np.ones(paths.nnz, dtype=np.int64), paths.indices, paths.indptr), paths.shape)
    above = _above(member)
    heights = np.diff(above.indptr)
    lengths = np.diff(paths.indptr)
    if above.nnz == 0 or not lengths.all():
        return None
    # a class sits at the node of its path that has all the others above it
    row = np.repeat(np.arange(n_classes), lengths)
    last = np.lexsort((heights[paths.indices], row))[paths.indptr[1:] - 1]
    seat = paths.indices[last]
    if not np.array_equal(heights[seat] + 1, lengths):
        return None
    on_path = np.bincount(paths.indices, minlength=n_nodes) > 0
    level = _levels(above, on_path)
    parent, child = _edges(above, on_path)
    by_level = np.lexsort((child, parent, np.where(parent < 0, 0, level[parent])))
    parent, child = parent[by_level], child[by_level]
    levels = np.where(parent < 0, 0, level[parent])
    term_start, terms = _terms(above, parent, child)
    bonus = np.full(n_nodes, -np.inf)
    below = seat[row] != paths.indices
    np.maximum.at(bonus, paths.indices[below], intercept[row[below]])
    longest = np.zeros(n_nodes)
    np.maximum.at(longest, paths.indices[below], (member @ squares)[row[below]])
    reach = np.sqrt(np.maximum(0.0, longest - squares - above @ squares))
    class_start = np.concatenate(([0], np.cumsum(np.bincount(seat, minlength=n_nodes))))
    return PathOrder(
        parent,
        child,
        np.searchsorted(levels, np.arange(levels.max() + 2)),
        term_start,
        terms,
        level,
        bonus,
        reach,
        class_start,
        np.argsort(seat, kind="stable").astype(np.int32),
        bool(len(child) == np.count_nonzero(on_path)),
    )


def _above(member: sparse.csr_array) -> sparse.csr_array:
    """nodes x nodes: row n has the nodes above n."""
    together = sparse.coo_array(member.T @ member)
    sizes = np.asarray(member.sum(axis=0)).ravel()
    low, high = together.coords
    inside = together.data == sizes[low]
    keep = inside & (low != high) & ((sizes[high] > sizes[low]) | (high < low))
    pairs = (np.ones(np.count_nonzero(keep), dtype=np.int64), (low[keep], high[keep]))
    above = sparse.csr_array(pairs, shape=together.shape)
    above.sort_indices()
    return above


def _levels(above: sparse.csr_array, on_path: np.ndarray[Any, Any]) -> Ints:
    """Nodes on the longest way down to each node, itself included; 0 for nodes without classes."""
    level = np.zeros(above.shape[0], dtype=np.int64)
    starts, nodes = above.indptr.tolist(), above.indices
    # whatever stands above a node has fewer nodes above itself
    for node in np.argsort(np.diff(above.indptr), kind="stable").tolist():
        if on_path[node]:
            level[node] = 1 + level[nodes[starts[node] : starts[node + 1]]].max(initial=0)
    return level


def _edges(above: sparse.csr_array, on_path: np.ndarray[Any, Any]) -> tuple[Ints, Ints]:
    """(parent, child) of all pairs with nothing in between, and (-1, top)."""
    between = above @ above
    between.data[:] = 1
    direct = sparse.coo_array(above - between)
    direct.eliminate_zeros()
    child, parent = (part.astype(np.int64) for part in direct.coords)
    tops = np.flatnonzero(on_path & (np.diff(above.indptr) == 0))
    return np.concatenate((np.full(len(tops), -1), parent)), np.concatenate((tops, child))


def _terms(above: sparse.csr_array, parent: Ints, child: Ints) -> tuple[Ints, Ints]:
    """For each edge the nodes that the child has in its score and the parent has not, the child among them."""
    whole = sparse.csr_array(above + sparse.eye_array(above.shape[0], dtype=np.int64, format="csr"))
    added = whole[child]
    tops = np.count_nonzero(parent < 0)  # these come first, with nothing above
    theirs = sparse.vstack((sparse.csr_array((tops, above.shape[0]), dtype=np.int64), whole[parent[tops:]]))
    added = sparse.csr_array(added - theirs)
    added.eliminate_zeros()
    added.sort_indices()
    return added.indptr.astype(np.int64), added.indices.astype(np.int64)
