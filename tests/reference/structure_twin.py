"""Slow, obvious relations of a rooted graph given as (parent, child) pairs of names: sets and searches."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable

Edge = tuple[Hashable, Hashable]


class GraphTwin:
    """Set-based answers about one taxonomy."""

    def __init__(self, edges: Iterable[Edge], nodes: Iterable[Hashable] = ()) -> None:
        self.edges = set(edges)
        self.nodes = set(nodes) | {end for edge in self.edges for end in edge}

    def parents(self, node: Hashable) -> set[Hashable]:
        return {p for p, c in self.edges if c == node}

    def children(self, node: Hashable) -> set[Hashable]:
        return {c for p, c in self.edges if p == node}

    def siblings(self, node: Hashable) -> set[Hashable]:
        return {c for p in self.parents(node) for c in self.children(p)} - {node}

    def ancestors(self, node: Hashable) -> set[Hashable]:
        """Proper ancestors: the transitive closure of `parents`."""
        found: set[Hashable] = set()
        queue = deque(self.parents(node))
        while queue:
            above = queue.popleft()
            if above not in found:
                found.add(above)
                queue.extend(self.parents(above))
        return found

    def descendants(self, node: Hashable) -> set[Hashable]:
        return {other for other in self.nodes if node in self.ancestors(other)}

    def leaves(self) -> set[Hashable]:
        return self.nodes - {p for p, _ in self.edges}

    def leaves_under(self, node: Hashable) -> set[Hashable]:
        return (self.descendants(node) | {node}) & self.leaves()

    def depth(self, node: Hashable) -> int:
        """The longest path from the root."""
        return max((1 + self.depth(p) for p in self.parents(node)), default=0)

    def height(self, node: Hashable) -> int:
        """The longest path down to a leaf."""
        return max((1 + self.height(c) for c in self.children(node)), default=0)

    def distances(self, source: Hashable) -> dict[Hashable, int]:
        """Breadth-first search in the undirected graph."""
        found = {source: 0}
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for other in self.parents(node) | self.children(node):
                if other not in found:
                    found[other] = found[node] + 1
                    queue.append(other)
        return found

    def shortest_path_length(self, node: Hashable) -> int:
        """Edges on a shortest way from the root down to the node."""
        return min((1 + self.shortest_path_length(p) for p in self.parents(node)), default=0)

    def lowest_common_ancestors(self, a: Hashable, b: Hashable) -> set[Hashable]:
        """Common ancestors none of whose descendants is a common ancestor."""
        common = (self.ancestors(a) | {a}) & (self.ancestors(b) | {b})
        return {node for node in common if not self.descendants(node) & common}

    def transitive_reduction(self) -> set[Edge]:
        """Edges without which the child is no longer a descendant."""
        return {
            (p, c)
            for p, c in self.edges
            if p not in GraphTwin(self.edges - {(p, c)}, self.nodes).ancestors(c)
        }

    def duplicate_groups(self) -> set[frozenset[Hashable]]:
        """Nodes with the same leaves under them."""
        by_leaves: dict[frozenset[Hashable], set[Hashable]] = {}
        for node in self.nodes:
            by_leaves.setdefault(frozenset(self.leaves_under(node)), set()).add(node)
        return {frozenset(group) for group in by_leaves.values()}
