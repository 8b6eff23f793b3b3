"""Which sets of nodes are labels: closed under ancestors, something below the root, and a child where one is needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError, LabelError
from taxolearn.problem import Problem
from taxolearn.problem.node_sets import Must, ends_of, needs_child, ones_of, upward, with_ancestors
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

Ids = npt.NDArray[np.int32]
_FIELDS = {"parent_indptr": np.int32, "parent_indices": np.int32, "must": np.bool_, "class_nodes": np.int32}


@dataclass(frozen=True, eq=False)
class LabelSpace:
    """A label is a set of nodes that has all parents of its nodes, the root, and something below the root.

    Where `must` is true, a chosen node needs a chosen child; it always is for the root, and never for leaves. Node 0 is
    the root, parents have smaller numbers than their children, and the nodes of a tree are in depth-first order.

    - `parent_indptr`, `parent_indices`: the parents of each node as CSR.
    - `class_nodes`: the node of each class.
    - `unit_nodes`: the vector that scores each node, of `n_units` in all; None if all nodes have one, in their order.
    - `closed`: whether rows have their labels' ancestors as labels, too; answers then have them as well, else only the
      most specific classes of a set.

    >>> space = LabelSpace.over(Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Dog"]), ["Lion", "Lynx", "Dog"])
    >>> space.n_nodes, space.is_tree, space.must.tolist()
    (5, True, [True, True, False, False, False])
    """

    parent_indptr: Ids
    parent_indices: Ids
    must: npt.NDArray[np.bool_]
    class_nodes: Ids
    closed: bool = False
    unit_nodes: Ids | None = None
    n_units: int = 0

    def __post_init__(self) -> None:
        for name, dtype in _FIELDS.items():
            array = np.array(getattr(self, name))
            if array.ndim != 1 or (array.dtype.kind not in "iu" and array.dtype != dtype):
                raise DataError(f"{name} must be a flat array of {np.dtype(dtype).name}")
            object.__setattr__(self, name, _frozen(array.astype(dtype)))
        _check_nodes(self.parent_indptr, self.parent_indices, len(self.must))
        leaf = np.ones(self.n_nodes, dtype=bool)
        leaf[self.parent_indices] = False
        needs = self.must & ~leaf
        needs[0] = True
        object.__setattr__(self, "must", _frozen(needs))
        if not len(self.class_nodes) or len(np.unique(self.class_nodes)) < len(self.class_nodes):
            raise DataError("every class must have a node of its own, and there must be one at least")
        if np.any((self.class_nodes < 0) | (self.class_nodes >= self.n_nodes)):
            raise DataError(f"classes must sit at nodes from 0 to {self.n_nodes - 1}")
        if self.unit_nodes is None:
            object.__setattr__(self, "n_units", self.n_nodes)
            return
        units = _frozen(np.array(self.unit_nodes, dtype=np.int32))
        object.__setattr__(self, "unit_nodes", units)
        if units.shape != (self.n_nodes,) or np.any(np.diff(units) <= 0) or units[0] < 0:
            raise DataError("the units of the nodes must be rising numbers, one per node")
        if units[-1] >= self.n_units:
            raise DataError(f"a node has the unit {units[-1]}, but there are only {self.n_units}")

    @classmethod
    def over(
        cls, taxonomy: Taxonomy, classes: Any, must: npt.ArrayLike | None = None, *, closed: bool = False
    ) -> LabelSpace:
        """The labels over a taxonomy with these classes (names); nodes without a class at or below them are left out.

        `must` is one flag per node of the taxonomy; by default all inner nodes that are left need a child.

        >>> tree = Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Dog"])
        >>> LabelSpace.over(tree, ["Lion", "Cat"]).unit_nodes.tolist()  # no Lynx, no Dog
        [0, 1, 2]
        """
        class_nodes = np.asarray(taxonomy.ids_of(classes), dtype=np.int64)
        kept = np.zeros(taxonomy.n_nodes, dtype=bool)
        kept[taxonomy.ancestor_matrix(class_nodes, dtype=np.int8).indices] = True
        kept[0] = True
        nodes = np.flatnonzero(kept)
        place = np.cumsum(kept) - 1
        flags = np.ones(taxonomy.n_nodes, dtype=bool) if must is None else np.asarray(must, dtype=bool)
        # all parents of a node that is kept are kept
        counts = np.diff(taxonomy.parent_indptr)
        parents = place[taxonomy.parent_indices[np.repeat(kept, counts)]]
        indptr = np.concatenate(([0], np.cumsum(counts[kept])))
        units = None if kept.all() else nodes.astype(np.int32)
        return cls(indptr, parents, flags[nodes], place[class_nodes], closed, units, taxonomy.n_nodes)

    @classmethod
    def star(cls, n_classes: int) -> LabelSpace:
        """Any classes but none at all: class k is node k + 1, below a root that is no class.

        >>> LabelSpace.star(2).class_nodes.tolist()
        [1, 2]
        """
        indptr = np.concatenate(([0], np.arange(n_classes + 1)))
        nodes = np.arange(1, n_classes + 1, dtype=np.int32)
        return cls(indptr, np.zeros(n_classes, dtype=np.int32), np.zeros(n_classes + 1, dtype=bool), nodes)

    @classmethod
    def of(cls, problem: Problem, must: Must = "auto") -> LabelSpace:
        """The labels of a problem; without a taxonomy, all sets of classes but the empty one.

        A row's label is the set of its classes with all their ancestors. `must`: "all" inner nodes need a chosen child
        (the paper's leaves), only the "root" does, or ("auto") those where no row stops. A row that stops where a child
        is needed is refused.

        >>> from taxolearn.problem import make_problem
        >>> tree = Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Dog"])
        >>> problem = make_problem([[0.0], [1.0], [2.0]], [["Lion"], ["Cat", "Dog"], ["Lynx"]], tree)
        >>> LabelSpace.of(problem).must.tolist()  # the second row stops at Cat
        [True, False, False, False, False]
        >>> LabelSpace.of(problem, must="all")
        Traceback (most recent call last):
        ...
        taxolearn.errors.LabelError: row 1 stops at 'Cat', where must='all' asks for a label below; use must='auto'
        """
        taxonomy = problem.taxonomy
        space = cls.star(problem.n_classes) if taxonomy is None else cls.over(taxonomy, problem.classes)
        weighted = problem.row_weight > 0
        sets = space.label_sets(problem.targets)
        ends = space.ends(sets)
        rows = np.repeat(np.arange(problem.n_rows), np.diff(ends.indptr))
        stops = np.zeros(space.n_nodes, dtype=bool)
        stops[ends.indices[weighted[rows]]] = True
        inner = np.zeros_like(stops)
        inner[space.parent_indices] = True
        made = cls(
            space.parent_indptr,
            space.parent_indices,
            needs_child(must, inner, stops),
            space.class_nodes,
            _rows_are_closed(space, problem, sets, weighted),
            space.unit_nodes,
            space.n_units,
        )
        wrong = np.flatnonzero(made.must[ends.indices] & weighted[rows])
        if len(wrong):
            names = ("<root>",) if taxonomy is None else taxonomy.nodes
            node = int(ends.indices[wrong[0]])
            name = names[node if space.unit_nodes is None else space.unit_nodes[node]]
            why = f"must={must!r} asks for a label below; use must='auto'"
            if node == 0:
                why = "at the root, a label needs a node below; leave the row out"
            raise LabelError(f"row {rows[wrong[0]]} stops at {show(name)}, where {why}")
        return made

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root included.

        >>> LabelSpace.star(2).n_nodes
        3
        """
        return len(self.must)

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> LabelSpace.star(2).n_classes
        2
        """
        return len(self.class_nodes)

    @cached_property
    def is_tree(self) -> bool:
        """Whether no node has several parents.

        >>> LabelSpace.star(2).is_tree
        True
        """
        return len(self.parent_indices) == self.n_nodes - 1

    @cached_property
    def is_star(self) -> bool:
        """Whether all nodes hang at the root.

        >>> LabelSpace.star(2).is_star
        True
        """
        return not np.any(self.parent_indices)

    @cached_property
    def needs_children(self) -> bool:
        """Whether a node below the root needs a chosen child.

        >>> LabelSpace.star(2).needs_children
        False
        """
        return bool(np.any(self.must[1:]))

    @cached_property
    def parent(self) -> Ids:
        """In a tree, the parent of each node; -1 for the root.

        >>> LabelSpace.star(2).parent
        array([-1,  0,  0], dtype=int32)
        """
        if not self.is_tree:
            raise DataError("a node has several parents; see parent_indptr and parent_indices")
        parent: Ids = _frozen(np.concatenate((np.array([-1], dtype=np.int32), self.parent_indices)))
        return parent

    @cached_property
    def subtree_end(self) -> Ids:
        """In a tree, the nodes below i and itself are i .. subtree_end[i] - 1.

        >>> LabelSpace.star(2).subtree_end
        array([3, 2, 3], dtype=int32)
        """
        end: Ids = _frozen(_subtree_end(self.parent))
        return end

    @cached_property
    def dag(self) -> Any:
        """Parents and children for the kernels of DAGs.

        >>> LabelSpace.star(2).dag.child_indices
        array([1, 2], dtype=int32)
        """
        from taxolearn.kernels.closures import dag_arrays

        return dag_arrays(self.parent_indptr, self.parent_indices)

    @cached_property
    def upward(self) -> sp.csr_array:
        """Nodes x nodes: the parents of each node.

        >>> LabelSpace.star(2).upward.toarray().tolist()
        [[0, 0, 0], [1, 0, 0], [1, 0, 0]]
        """
        return upward(self.parent_indptr, self.parent_indices)

    def label_sets(self, targets: sp.csr_array) -> sp.csr_array:
        """Rows x nodes: the classes of each row with all their ancestors; nothing for a row without classes.

        >>> LabelSpace.star(2).label_sets(sp.csr_array([[0.0, 1.0], [0.0, 0.0]])).toarray().tolist()
        [[1, 0, 1], [0, 0, 0]]
        """
        ones = np.ones(len(targets.indices), dtype=np.int32)
        shape = (targets.shape[0], self.n_nodes)
        found = sp.csr_array((ones, self.class_nodes[targets.indices], targets.indptr), shape=shape)
        return with_ancestors(found, self.upward)

    def ends(self, sets: sp.csr_array) -> sp.csr_array:
        """The nodes of each set that have no child in it.

        >>> space = LabelSpace.star(2)
        >>> space.ends(space.label_sets(sp.csr_array([[0.0, 1.0]]))).toarray().tolist()
        [[0, 0, 1]]
        """
        return ends_of(sets, self.upward)

    def classes_of(self, sets: sp.csr_array) -> sp.csr_array:
        """Rows x classes: what each set answers, all its classes if `closed`, else those without another one below.

        >>> space = LabelSpace.over(Taxonomy.from_paths(["Cat/Lion", "Dog"]), ["Cat", "Lion", "Dog"])
        >>> space.classes_of(sp.csr_array([[1, 1, 1, 0]])).toarray().tolist()
        [[0, 1, 0]]
        """
        number = np.full(self.n_nodes, -1, dtype=np.int32)
        number[self.class_nodes] = np.arange(self.n_classes, dtype=np.int32)
        found = _only(sets, number[sets.indices] >= 0)
        if not self.closed:
            above = ones_of(sp.csr_array(found @ self.upward))
            known = -1
            while above.nnz != known:
                known = above.nnz
                above = ones_of(sp.csr_array(above + above @ self.upward))
            found = sp.csr_array(found - above.multiply(found))
            found.eliminate_zeros()
        ids = number[found.indices]
        answers = sp.csr_array((found.data, ids, found.indptr), shape=(found.shape[0], self.n_classes))
        answers.sort_indices()
        return answers


def _only(matrix: sp.csr_array, kept: npt.NDArray[np.bool_]) -> sp.csr_array:
    """Some of the entries."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    counts = np.bincount(rows[kept], minlength=matrix.shape[0])
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return sp.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=matrix.shape)


def _rows_are_closed(
    space: LabelSpace, problem: Problem, sets: sp.csr_array, weighted: npt.NDArray[np.bool_]
) -> bool:
    """Whether every node of a row's set but the root is one of its labels, and some label is another's ancestor."""
    below = np.diff(sets.indptr) - (np.diff(sets.indptr) > 0)
    own = np.diff(problem.targets[:, space.class_nodes > 0].indptr)
    deep = np.diff(space.ends(sets).indptr) < own
    return bool(np.all((below == own)[weighted]) and np.any(deep[weighted]))


def _check_nodes(indptr: Ids, parents: Ids, n_nodes: int) -> None:
    """Whether these are the parents of so many nodes, root first, and if it is a tree, in depth-first order."""
    if n_nodes < 2 or len(indptr) != n_nodes + 1:
        raise DataError("a label needs a root and a node below it, and there must be one flag per node")
    counts = np.diff(indptr)
    if indptr[0] != 0 or indptr[1] != 0 or indptr[-1] != len(parents) or np.any(counts[1:] < 1):
        raise DataError("every node but the first must have a parent, and the first none")
    owner = np.repeat(np.arange(n_nodes), counts)
    if np.any((parents < 0) | (parents >= owner)):
        raise DataError("parents must have smaller numbers than their children")
    if np.any((np.diff(parents) <= 0) & (np.diff(owner) == 0)):
        raise DataError("the parents of a node must be different, and in order")
    if len(parents) == n_nodes - 1:
        end = _subtree_end(np.concatenate((np.array([-1], dtype=np.int32), parents)))
        if np.any(end[1:] > end[parents]):
            raise DataError("the nodes of a tree must be in depth-first order")


def _subtree_end(parent: Ids) -> Ids:
    size = [1] * len(parent)
    for node in range(len(parent) - 1, 0, -1):
        size[parent[node]] += size[node]
    return np.arange(len(parent), dtype=np.int32) + np.array(size, dtype=np.int32)


def _frozen(array: npt.NDArray[Any]) -> Any:
    array.flags.writeable = False
    return array
