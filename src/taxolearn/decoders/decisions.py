"""The options at each node of a taxonomy that leads to classes, as flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.structure import Taxonomy

Ids = npt.NDArray[np.int32]


def decisions_of(taxonomy: Taxonomy, class_nodes: npt.ArrayLike) -> tuple[Ids, Ids, Ids]:
    """indptr, children and classes of the options: to stop at a node that is a class, then its children in order.

    Nodes without a class below are left out.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant"])
    >>> for part in decisions_of(tree, tree.ids_of(["Cat", "Dog", "Animal"])):
    ...     print(part.tolist())
    [0, 1, 4]
    [1, -1, -1, -1]
    [-1, 2, 0, 1]
    """
    pruned = _Pruned(taxonomy, class_nodes)
    indptr, leads_to, ends_at = [0], [], []
    for node in pruned.inner_ids:
        if pruned.number[node] >= 0:
            leads_to.append(-1)
            ends_at.append(pruned.number[node])
        for child in pruned.children(node):
            leads_to.append(pruned.place[child])
            ends_at.append(-1 if pruned.inner[child] else pruned.number[child])
        indptr.append(len(leads_to))
    return tuple(np.array(part, dtype=np.int32) for part in (indptr, leads_to, ends_at))  # type: ignore[return-value]


def passing_decisions(taxonomy: Taxonomy, class_nodes: npt.ArrayLike) -> tuple[Ids, Ids, Ids, Ids]:
    """indptr, children and classes of options that never stop at an inner node: its class stands at the option that
    leads on to it. And the node of the taxonomy that each option leads to.

    Nodes without a class below are left out. Where the root is a class one option leads to it.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant"])
    >>> for part in passing_decisions(tree, tree.ids_of(["Cat", "Dog", "Animal", "Plant"])):
    ...     print(part.tolist())
    [0, 2, 4]
    [1, -1, -1, -1]
    [2, 3, 0, 1]
    [1, 4, 2, 3]
    """
    pruned = _Pruned(taxonomy, class_nodes)
    indptr, leads_to, ends_at, nodes = [0], [], [], []
    shift = int(pruned.number[0] >= 0)
    if shift:
        leads_to, ends_at, nodes, indptr = [1], [pruned.number[0]], [0], [0, 1]
    for node in pruned.inner_ids:
        for child in pruned.children(node):
            leads_to.append(pruned.place[child] + shift if pruned.inner[child] else -1)
            ends_at.append(pruned.number[child])
            nodes.append(child)
        indptr.append(len(leads_to))
    parts = (indptr, leads_to, ends_at, nodes)
    return tuple(np.array(part, dtype=np.int32) for part in parts)  # type: ignore[return-value]


class _Pruned:
    """A taxonomy without the nodes that lead to no class: the class of each node (-1: none), which nodes are `inner`,
    and their place among these."""

    def __init__(self, taxonomy: Taxonomy, class_nodes: npt.ArrayLike) -> None:
        class_nodes = np.asarray(class_nodes, dtype=np.int64)
        number = np.full(taxonomy.n_nodes, -1, dtype=np.int64)
        number[class_nodes] = np.arange(len(class_nodes))
        if not len(class_nodes) or np.count_nonzero(number >= 0) != len(class_nodes):
            raise DataError("every class must have a node of its own, and there must be one at least")
        self.number: list[int] = number.tolist()
        self.wanted = (number >= 0).tolist()
        self.inner = [False] * taxonomy.n_nodes
        self.inner[0] = True
        parents = [span.tolist() for span in np.split(taxonomy.parent_indices, taxonomy.parent_indptr[1:-1])]
        for node in range(taxonomy.n_nodes - 1, 0, -1):  # children have larger ids
            if self.wanted[node]:
                for parent in parents[node]:
                    self.wanted[parent] = self.inner[parent] = True
        self.place: list[int] = np.where(self.inner, np.cumsum(self.inner) - 1, -1).tolist()
        self.inner_ids: list[int] = np.flatnonzero(self.inner).tolist()
        ends = taxonomy.child_indptr[1:-1]
        self._children = [span.tolist() for span in np.split(taxonomy.child_indices, ends)]

    def children(self, node: int) -> list[int]:
        """The children that lead to a class, in order."""
        return [child for child in self._children[node] if self.wanted[child]]


def check_decisions(indptr: Any, children: Any, classes: Any) -> None:
    """Whether these arrays lead from node 0 to every class, and every node has an option.

    >>> check_decisions(np.array([0, 1]), np.array([0]), np.array([-1]))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: option 0 leads to node 0, which does not come after its own node 0
    """
    if any(array.ndim != 1 for array in (indptr, children, classes)) or len(children) != len(classes):
        raise DataError("indptr, children and classes must be flat arrays, the latter two of the same size")
    n_nodes = len(indptr) - 1
    if n_nodes < 1 or indptr[0] != 0 or indptr[-1] != len(children) or np.any(np.diff(indptr) < 1):
        raise DataError("indptr must rise from 0 to the number of options, with one option per node at least")
    if np.any((children < -1) | (classes < -1) | ((children < 0) & (classes < 0))):
        raise DataError(
            "every option must lead to a node or to a class, and have -1 for what it does not lead to"
        )
    owner = np.repeat(np.arange(n_nodes), np.diff(indptr))
    wrong = np.flatnonzero((children >= 0) & (children <= owner))
    if len(wrong):
        raise DataError(
            f"option {wrong[0]} leads to node {children[wrong[0]]}, "
            f"which does not come after its own node {owner[wrong[0]]}"
        )
    if not np.array_equal(np.unique(children[children >= 0]), np.arange(1, n_nodes)):
        raise DataError(
            f"the options must lead to all of the {n_nodes} nodes but the first, and to no others"
        )
    found = np.unique(classes[classes >= 0])
    if not np.array_equal(found, np.arange(len(found))):
        raise DataError(f"the options must lead to all classes from 0 to {int(classes.max())}")
    ends = np.where(children < 0, classes, -1)  # what passes a class leads to the same node as what does not
    if len(np.unique(np.stack((owner, children, ends)), axis=1).T) != len(owner):
        raise DataError("a node has the same option twice")
