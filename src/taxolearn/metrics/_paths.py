"""Lowest common ancestors and the paths down from them, for arrays of node pairs: on trees and on DAGs."""

from __future__ import annotations

import numpy as np

from taxolearn.metrics._rows import IntArray, distinct, ranges
from taxolearn.structure import Taxonomy


class TreePaths:
    """On a tree the LCA is one node and every path is unique."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        self._depth = taxonomy.depth.astype(np.int64)
        self._parent = taxonomy.parent.astype(np.int64)

    def meets(self, a: IntArray, b: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """(pair, LCA, distance of the pair) for every LCA of every pair."""
        node = self._taxonomy.lowest_common_ancestors(a, b).astype(np.int64)
        return np.arange(len(a)), node, self._depth[a] + self._depth[b] - 2 * self._depth[node]

    def climb(self, end: IntArray, top: IntArray) -> tuple[IntArray, IntArray]:
        """(position in `end`, node) for every node of the path from end up to its ancestor top."""
        owner, node = np.arange(len(end)), end
        owners, nodes = [owner], [node]
        while True:
            below = node != top[owner]
            owner, node = owner[below], self._parent[node[below]]
            if not owner.size:
                return np.concatenate(owners), np.concatenate(nodes)
            owners.append(owner)
            nodes.append(node)


class DagPaths:
    """On a DAG: a table of (node, ancestor) entries with length and first step of a shortest path up."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._n = taxonomy.n_nodes
        above = taxonomy.ancestor_matrix(dtype=np.int32)
        above.sort_indices()
        self._start = above.indptr.astype(np.int64)
        self._ancestor = above.indices.astype(np.int64)
        self._node = np.repeat(np.arange(self._n), np.diff(self._start))
        self._key = self._node * self._n + self._ancestor
        self._up = taxonomy.parent_indptr.astype(np.int64), taxonomy.parent_indices.astype(np.int64)
        self._length = self._lengths()
        self._next = self._steps()

    def meets(self, a: IntArray, b: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """(pair, LCA, distance of the pair) for every LCA of every pair."""
        distinct, of_pair = np.unique(a * self._n + b, return_inverse=True)
        pair, node, distance = self._distinct_meets(distinct // self._n, distinct % self._n)
        # Each given pair takes over all the LCAs of its distinct pair.
        count = np.bincount(pair, minlength=len(distinct))
        first = np.cumsum(count) - count
        owner, at = ranges(first[of_pair], count[of_pair])
        return owner, node[at], distance[at]

    def _distinct_meets(self, a: IntArray, b: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        size = self._start[a + 1] - self._start[a]
        pair, entry = ranges(self._start[a], size)
        key = b[pair] * self._n + self._ancestor[entry]
        other = self._find(key)
        common = self._key[other] == key
        pair, entry, other = pair[common], entry[common], other[common]
        distance = self._length[entry] + self._length[other]
        # The root is common to all, so every pair has an entry.
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        least = np.repeat(np.minimum.reduceat(distance, first), np.diff(first, append=len(pair)))
        at = distance == least
        return pair[at], self._ancestor[entry[at]], distance[at]

    def climb(self, end: IntArray, top: IntArray) -> tuple[IntArray, IntArray]:
        """(position in `end`, node) for every node of a shortest path from end up to its ancestor top."""
        owner, entry = np.arange(len(end)), self._find(end * self._n + top)
        owners, nodes = [owner], [self._node[entry]]
        while True:
            below = self._length[entry] > 0
            owner, entry = owner[below], self._next[entry[below]]
            if not owner.size:
                return np.concatenate(owners), np.concatenate(nodes)
            owners.append(owner)
            nodes.append(self._node[entry])

    def _find(self, key: IntArray) -> IntArray:
        """The entry of a key; some other entry where the key has none."""
        return np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)

    def _parents(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """(position in `nodes`, parent) for every parent of every given node."""
        indptr, indices = self._up
        position, at = ranges(indptr[nodes], indptr[nodes + 1] - indptr[nodes])
        return position, indices[at]

    def _lengths(self) -> IntArray:
        """Breadth first from all nodes at once: edges of a shortest way up from node to ancestor."""
        length = np.full(len(self._key), -1, dtype=np.int64)
        entry = self._find(np.arange(self._n) * (self._n + 1))
        steps = 0
        while entry.size:
            length[entry] = steps
            position, parent = self._parents(self._ancestor[entry])
            reached = distinct(self._node[entry[position]] * self._n + parent)
            entry = self._find(reached)
            entry = entry[length[entry] < 0]
            steps += 1
        return length

    def _steps(self) -> IntArray:
        """For entry (node, ancestor), the entry (parent, ancestor) one step nearer; parent of smallest id."""
        entry, parent = self._parents(self._node)
        key = parent * self._n + self._ancestor[entry]
        above = self._find(key)
        nearer = (self._key[above] == key) & (self._length[above] == self._length[entry] - 1)
        entry, parent, above = entry[nearer], parent[nearer], above[nearer]
        step = np.arange(len(self._key))
        # Written from the largest parent to the smallest: the last write stays.
        order = np.argsort(-parent, kind="stable")
        step[entry[order]] = above[order]
        return step
