"""How the best label set of one row is decided on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from taxolearn.decoders.base import Contest
from taxolearn.decoders.label_space import LabelSpace
from taxolearn.vectors import Vectors

Nodes = frozenset[int]
Units = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SetRow:
    """`RowFacts` of a row with these potentials of nodes, whose best set is `chosen`, and its classes `answers`.

    A node wins by the sum of the best set with it against that of the best set without it; on DAGs by what adding or
    dropping it changes, as in `Sets`. So a node's margin says by how much its score must fall for it to be dropped.

    >>> from taxolearn.decoders import Sets
    >>> from taxolearn.vectors import ClassVectors
    >>> decoder, X = Sets(LabelSpace.star(2)), np.array([[0.0, 1.0, -2.0]])
    >>> decoder.row_facts(ClassVectors(np.eye(3), np.zeros(3)), X).contest(np.array([0]), np.array([1]))
    Contest(best=0, units=(1,), rival=1, rival_units=(2,), compared=(1,))
    """

    deciding: Vectors
    space: LabelSpace
    potential: npt.NDArray[np.float64]
    chosen: npt.NDArray[np.int32]
    answers: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float64]
    node_by_node: ClassVar[bool] = False

    @property
    def scored(self) -> Vectors:
        """Scores are reported as they are compared: the offset is part of them."""
        return self.deciding

    def parts(self, number: int) -> tuple[Units, Units]:
        """The nodes that only the set with the class has, and those that only the set without it has."""
        mine, theirs = self._sides(int(self.space.class_nodes[number]))
        return self._units(mine), self._units(theirs)

    def contest(self, own: npt.NDArray[Any], others: npt.NDArray[Any], node: int | None = None) -> Contest:
        """The set with the node against the set without it; the rival is a class that would take its place."""
        here = self._place(own, node)
        best = int(min(own.tolist(), key=self._rank))
        units = self._units(frozenset((here,)))
        with_it, without = self._nodes_of(here)
        if without is None:
            return Contest(best, units)
        mine, theirs = with_it - without, without - with_it
        instead = [c for c, at in enumerate(self.space.class_nodes.tolist()) if at in theirs]
        rival = min(instead, key=self._rank) if instead else None
        return Contest(best, units, rival, self._units(theirs), self._units(mine))

    def _rank(self, number: int) -> tuple[bool, float, int]:
        """The place of a class in the ranking: predicted ones first, then by score."""
        return number not in self.answers, -float(self.scores[number]), number

    def _place(self, own: npt.NDArray[Any], node: int | None) -> int:
        if node is None:
            return int(self.space.class_nodes[own[0]])
        if (
            self.space.is_star
        ):  # nodes of a taxonomy that was not learned from: the best class under it speaks
            return 0 if node == 0 else int(self.space.class_nodes[min(own.tolist(), key=self._rank)])
        units = self.space.unit_nodes
        return int(node) if units is None else int(np.searchsorted(units, node))

    def _units(self, nodes: Nodes) -> Units:
        units = self.space.unit_nodes
        return tuple(n if units is None else int(units[n]) for n in sorted(nodes))

    def _sides(self, node: int) -> tuple[Nodes, Nodes]:
        """The nodes whose potentials add up to what a node matters, and those whose are taken off."""
        with_it, without = self._nodes_of(node)
        if without is None:
            return frozenset(self.chosen.tolist()), frozenset()
        return with_it - without, without - with_it

    def _nodes_of(self, node: int) -> tuple[Nodes, Nodes | None]:
        """The best set with the node, and the best one without it, None if there is none."""
        from taxolearn.kernels.dag_set_changes import add_node, drop_node

        if self.space.is_tree:
            return self._with_in_tree(node), self._without_in_tree(node)
        chosen = frozenset(self.chosen.tolist())
        room, dag = self._room, self.space.dag
        here = np.int32(node)  # as kernels call each other: compiled once
        if node not in chosen:
            _, end = add_node(self.potential, dag, here, 0, room)
            return chosen | frozenset(room.nodes[:end].tolist()), chosen
        lost, dropped, end = drop_node(self.potential, dag, self.space.must, self.chosen, here, room)
        if np.isinf(lost):
            return chosen, None
        left = chosen - frozenset(room.nodes[:dropped].tolist())
        return chosen, left | frozenset(room.nodes[dropped:end].tolist())

    @cached_property
    def _room(self) -> Any:
        from taxolearn.kernels.dag_set_changes import find_chains, make_room

        room = make_room(self.space.n_nodes)
        room.chosen[self.chosen] = True
        find_chains(self.potential, self.space.dag, self.space.must, -1, room)
        return room

    @cached_property
    def _climbed(self) -> tuple[list[float], list[int]]:
        """The value of each node with what is below it, and the child that it needs, -1 if none."""
        from taxolearn.kernels.tree_sets import climb_tree

        n = self.space.n_nodes
        value, pick = np.empty(n), np.empty(n, dtype=np.int32)
        room = np.zeros(n), np.full(n, -np.inf), np.full(n, -1, dtype=np.int32)
        climb_tree(
            self.potential, self.space.parent, self.space.subtree_end, self.space.must, value, pick, *room
        )
        return value.tolist(), pick.tolist()

    def _children(self, node: int) -> list[int]:
        dag = self.space.dag
        found: list[int] = dag.child_indices[dag.child_indptr[node] : dag.child_indptr[node + 1]].tolist()
        return found

    def _below(self, node: int) -> set[int]:
        """A node with what is best below it."""
        value, pick = self._climbed
        found, waiting = set(), [node]
        while waiting:
            here = waiting.pop()
            found.add(here)
            waiting += [c for c in self._children(here) if value[c] > 0.0 or pick[here] == c]
        return found

    def _path(self, node: int) -> list[int]:
        path = [node]
        while path[-1] > 0:
            path.append(int(self.space.parent[path[-1]]))
        return path

    def _beside(self, path: list[int]) -> set[int]:
        """The nodes of a path up to the root, and what is best beside them below its upper nodes."""
        value, _ = self._climbed
        found = set(path)
        for on_path, above in pairwise(path):
            for child in self._children(above):
                if child != on_path and value[child] > 0.0:
                    found |= self._below(child)
        return found

    def _with_in_tree(self, node: int) -> Nodes:
        return frozenset(self._beside(self._path(node)) | self._below(node))

    def _without_in_tree(self, node: int) -> Nodes | None:
        value, _ = self._climbed
        found: list[set[int]] = []
        path = self._path(node)
        for at, above in pairwise(path):
            others = [c for c in self._children(above) if c != at]
            taken = [c for c in others if value[c] > 0.0]
            if not taken and self.space.must[above]:
                if not others:
                    continue
                taken = [max(others, key=value.__getitem__)]
            found.append(self._beside(self._path(above)).union(*(self._below(c) for c in taken)))
        if not found:
            return None
        return frozenset(max(found, key=lambda nodes: self.potential[sorted(nodes)].sum()))
