"""Sums along the edges of a rooted forest, for many rows at once: nodes x rows, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[Any]


class Levels:
    """The nodes of a rooted forest in the order of their levels, roots first; `parent` has -1 for roots.

    Arrays of nodes x rows are in this order: node n is at `place[n]`.

    >>> levels = Levels(np.array([-1, 0, 1, 0]))
    >>> levels.place.tolist(), levels.n_roots
    ([0, 1, 3, 2], 1)
    """

    def __init__(self, parent: npt.ArrayLike) -> None:
        above = np.asarray(parent, dtype=np.int64)
        n_nodes = len(above)
        level = np.zeros(n_nodes, dtype=np.int64)
        climbing, nodes = above.copy(), np.flatnonzero(above >= 0)
        while len(nodes):
            level[nodes] += 1
            climbing[nodes] = above[climbing[nodes]]
            nodes = nodes[climbing[nodes] >= 0]
        # parents are in order before their children, so that the children of a node are neighbours
        order = np.lexsort((np.arange(n_nodes), level))
        self.place = np.empty(n_nodes, dtype=np.int64)
        ends = np.cumsum(np.bincount(level)) if n_nodes else np.zeros(0, dtype=np.int64)
        self._spans = [slice(int(a), int(b)) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        for span in self._spans:
            some = order[span]
            if span.start:
                some = some[np.argsort(self.place[above[some]], kind="stable")]
                order[span] = some
            self.place[some] = np.arange(span.start, span.stop)
        self.n_roots = self._spans[0].stop if self._spans else 0
        self._above = np.full(n_nodes, -1, dtype=np.int64)
        below = above[order] >= 0
        self._above[below] = self.place[above[order[below]]]
        self._to_parents: list[Any] = [None]
        for upper, span in zip(self._spans, self._spans[1:], strict=False):
            owner = self._above[span] - upper.start
            size = span.stop - span.start
            shape = (upper.stop - upper.start, size)
            self._to_parents.append(sp.csr_array((np.ones(size), (owner, np.arange(size))), shape=shape))

    @property
    def n_nodes(self) -> int:
        """Number of nodes.

        >>> Levels(np.array([-1, 0])).n_nodes
        2
        """
        return len(self.place)

    def add_up(self, values: Floats) -> Floats:
        """Each node's values become the sums over it and all nodes below it, in place.

        >>> Levels(np.array([-1, 0, 0])).add_up(np.array([[1.0], [2.0], [3.0]])).tolist()
        [[6.0], [2.0], [3.0]]
        """
        for number in range(len(self._spans) - 1, 0, -1):
            values[self._spans[number - 1]] += self._to_parents[number] @ values[self._spans[number]]
        return values

    def pass_down(self, values: Floats) -> Floats:
        """Each node's values become the sums over it and all nodes above it, in place.

        >>> Levels(np.array([-1, 0, 0])).pass_down(np.array([[1.0], [2.0], [3.0]])).tolist()
        [[1.0], [3.0], [4.0]]
        """
        for span in self._spans[1:]:
            values[span] += values[self._above[span]]
        return values


def core_and_branches(indptr: Ids, indices: Ids) -> tuple[Ids, Ids]:
    """The core of a connected undirected graph (symmetric CSR), and the parent of every other node on its way there.

    Nodes with one neighbour are taken off until there are none; what is left is the core, of a tree one node. A
    shortest path between two nodes of the core stays in it, and the others hang at it in branches that are trees.

    >>> core, parent = core_and_branches(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))  # 0 - 1 - 2
    >>> core.tolist(), parent.tolist()
    ([0], [-1, 0, 1])
    """
    n_nodes = len(indptr) - 1
    degree = np.diff(indptr).astype(np.int64)
    parent = np.full(n_nodes, -1, dtype=np.int64)
    gone = np.zeros(n_nodes, dtype=bool)
    ends = np.flatnonzero(degree == 1).tolist()
    starts, near = indptr.tolist(), indices.tolist()
    while ends:
        node = ends.pop()
        if gone[node] or degree[node] != 1 or node == 0:
            continue  # node 0 stays, so that a tree has its root as its core
        gone[node] = True
        for other in near[starts[node] : starts[node + 1]]:
            if not gone[other]:
                parent[node] = other
                degree[other] -= 1
                if degree[other] == 1:
                    ends.append(other)
    return np.flatnonzero(~gone), parent


def as_span(ids: Ids) -> Any:
    """The ids as a slice where they are a range: to take a slice copies nothing.

    >>> as_span(np.array([2, 3, 4])), as_span(np.array([2, 4]))
    (slice(2, 5, None), array([2, 4]))
    """
    if len(ids) and np.array_equal(ids, np.arange(ids[0], ids[0] + len(ids))):
        return slice(int(ids[0]), int(ids[0]) + len(ids))
    return ids
