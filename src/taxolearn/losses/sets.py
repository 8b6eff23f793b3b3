"""Structured hinge over label sets: several labels per row, a set of nodes that is closed under ancestors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError, LabelError
from taxolearn.losses.base import Array, LossFacts
from taxolearn.problem import Problem
from taxolearn.problem.node_sets import MUST, Must, ends_of, needs_child, ones_of, upward, with_ancestors
from taxolearn.structure.names import show

SET_COSTS = ("hamming", "leaves", "normalized")

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SetHinge:
    """loss_i = max over sets Y of Delta(Y, Y_i) + sum of s_n over n in Y - sum of s_n over n in Y_i, s_n being scores
    of nodes and Y_i the labels of row i with all their ancestors.

    A set is a set of nodes that has the parents of all its nodes; node 0 is the root and in every set. On a tree a
    chosen node with `must` has a chosen child, the root always. On a DAG sets are all those that are closed under
    ancestors: maxima over them are exact, and so is an upper bound of what (18) and (19) of Choi, Sasaki and Srebro ask
    for. Delta is the sum of `miss` over the nodes of Y_i that are not in Y and of `false_alarm` over the nodes of Y
    that are not in Y_i.

    `class_nodes` is the node of every class. `parent_indptr` and `parent_indices` are the parents of every node, as
    CSR; parents have smaller numbers.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Dog"])
    >>> ones = np.ones(tree.n_nodes)
    >>> loss = SetHinge(tree.leaf_ids, tree.parent_indptr, tree.parent_indices, ~tree.is_leaf, ones, ones)
    >>> loss.facts.kind, loss.facts.n_units, loss.is_tree
    ('sets', 5, True)
    """

    class_nodes: Ids
    parent_indptr: Ids
    parent_indices: Ids
    must: npt.NDArray[np.bool_]
    miss: Array
    false_alarm: Array
    cost: str = "hamming"

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root included.

        >>> star_hinge(2).n_nodes
        3
        """
        return len(self.must)

    @property
    def facts(self) -> LossFacts:
        """What callers branch on.

        >>> star_hinge(2).facts.several_labels
        True
        """
        return LossFacts("set_hinge", "sets", tied_bias=True, n_units=self.n_nodes)

    def low_intercept(self, total_weight: float) -> float:
        """Sets are compared with each other: no one says no.

        >>> star_hinge(2).low_intercept(9.0)
        0.0
        """
        return 0.0

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is.

        >>> star_hinge(2).key()[:2]
        ('sets', 'hamming')
        """
        arrays = (self.class_nodes, self.parent_indptr, self.parent_indices, self.must)
        return (
            self.facts.kind,
            self.cost,
            *(part.tobytes() for part in (*arrays, self.miss, self.false_alarm)),
        )

    @cached_property
    def is_tree(self) -> bool:
        """Whether no node has several parents.

        >>> star_hinge(2).is_tree
        True
        """
        return bool(np.all(np.diff(self.parent_indptr)[1:] == 1))

    @cached_property
    def has_children(self) -> npt.NDArray[np.bool_]:
        """Which nodes have nodes below.

        >>> star_hinge(2).has_children.tolist()
        [True, False, False]
        """
        found = np.zeros(self.n_nodes, dtype=bool)
        found[self.parent_indices] = True
        return found

    @cached_property
    def upward(self) -> sp.csr_array:
        """Nodes x nodes: the parents of each node.

        >>> star_hinge(2).upward.toarray().tolist()
        [[0, 0, 0], [1, 0, 0], [1, 0, 0]]
        """
        return upward(self.parent_indptr, self.parent_indices)

    @property
    def keeps_must(self) -> bool:
        """Whether `must` holds while learning, for nodes other than the root: on trees.

        >>> star_hinge(2).keeps_must
        True
        """
        return self.is_tree

    @cached_property
    def closures(self) -> sp.csr_array:
        """For each class its node and all above, classes x nodes.

        >>> star_hinge(2).closures.toarray().tolist()
        [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
        """
        reached = sp.csr_array(
            (np.ones(len(self.class_nodes)), self.class_nodes, np.arange(len(self.class_nodes) + 1)),
            shape=(len(self.class_nodes), self.n_nodes),
        )
        return with_ancestors(reached, self.upward)

    def sets(self, problem: Problem) -> sp.csr_array:
        """Y_i of every row, rows x nodes: labels and their ancestors; empty for a row without labels.

        >>> from taxolearn.problem import make_problem
        >>> star_hinge(2).sets(make_problem([[0.0], [1.0]], [["a"], ["a", "b"]])).toarray().tolist()
        [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
        """
        found = ones_of(sp.csr_array(problem.targets @ self.closures))
        found.sort_indices()
        return found

    def weights(self, problem: Problem) -> Array:
        """The weight of every row's loss, C left out; rows without labels have none.

        >>> from taxolearn.problem import make_problem
        >>> star_hinge(2).weights(make_problem([[0.0], [1.0]], [["a"], ["a", "b"]])).tolist()
        [1.0, 1.0]
        """
        return np.asarray(problem.row_weight * (np.diff(problem.targets.indptr) > 0))

    def stops(self, sets: sp.csr_array) -> sp.csr_array:
        """The nodes of each set that have none of their children in it.

        >>> from taxolearn.problem import make_problem
        >>> loss = star_hinge(2)
        >>> loss.stops(loss.sets(make_problem([[0.0], [1.0]], [["a"], ["a", "b"]]))).toarray().tolist()
        [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
        """
        return ends_of(sets, self.upward)

    def check_sets(self, problem: Problem, names: Any = None) -> None:
        """Refuse rows whose labels end at a node that must have a chosen child.

        >>> from taxolearn.problem import make_problem
        >>> star_hinge(2).check_sets(make_problem([[0.0], [1.0]], [["a"], ["a", "b"]]))
        """
        if not self.keeps_must:
            return
        ends = self.stops(self.sets(problem))
        wrong = self.must[ends.indices] & self.has_children[ends.indices]
        wrong &= np.repeat(problem.row_weight > 0, np.diff(ends.indptr))
        if np.any(wrong):
            entry = int(np.flatnonzero(wrong)[0])
            row = int(np.searchsorted(ends.indptr, entry, side="right") - 1)
            node = int(ends.indices[entry])
            name = show(node if names is None else names(node))
            raise LabelError(
                f"y, row {row}: its labels end at {name}, which must have a chosen child; use must='auto'"
            )


def star_hinge(n_classes: int, cost: str = "hamming", miss: Any = 1.0) -> SetHinge:
    """The loss of classes that know nothing of each other: the sets are all sets of classes but the empty one.

    Node 0 is a root without a class, and class k is node k + 1. `miss` is the cost of a missed class, or one per class.

    >>> star_hinge(3).must.tolist()
    [True, False, False, False]
    """
    n = n_classes + 1
    costs = np.concatenate(([0.0], np.ones(n_classes)))
    missed = np.concatenate(([0.0], np.broadcast_to(np.asarray(miss, dtype=np.float64), n_classes)))
    must = np.zeros(n, dtype=bool)
    must[0] = True
    indptr = np.concatenate(([0], np.arange(n))).astype(np.int32)
    parents = np.zeros(n_classes, dtype=np.int32)
    return SetHinge(np.arange(1, n, dtype=np.int32), indptr, parents, must, missed, costs, cost)


def set_hinge(
    problem: Problem,
    scale: Array | None = None,
    cost: str = "hamming",
    miss_cost: float = 1.0,
    must: Must = "auto",
    *,
    flat: bool = False,
    kind: type[SetHinge] = SetHinge,
) -> SetHinge:
    """The loss over the sets of a problem's taxonomy, or with `flat` (and without a taxonomy) over sets of classes.

    `kind` is the class of the loss on DAGs.

    A false alarm at node n costs "hamming": 1; "leaves": 1 at leaves, 0 elsewhere (Delta of section 7.1 of Choi, Sasaki
    and Srebro); "normalized": the scale a_n. A miss costs `miss_cost` times as much, and at a node that is a class the
    problem's weight of that class on top. `must` says which inner nodes need a chosen child in every set that has them:
    "all" (the paper), the "root" only, or "auto": those at which the labels of no row end.

    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Dog"])
    >>> problem = make_problem([[0.0], [1.0]], [["Lion", "Lynx"], ["Dog"]], tree)
    >>> loss = set_hinge(problem, cost="leaves", miss_cost=2.0)
    >>> loss.miss.tolist(), loss.must.tolist()
    ([0.0, 0.0, 2.0, 2.0, 2.0], [True, True, False, False, False])
    """
    for name, value, known in (("cost", cost, SET_COSTS), ("must", must, MUST)):
        if value not in known:
            raise DataError(f"{name}={show(value)} is not known; choose one of {', '.join(map(repr, known))}")
    taxonomy = problem.taxonomy
    if flat or taxonomy is None:
        return star_hinge(problem.n_classes, cost, miss_cost * problem.positive_weight)
    nodes = problem.class_nodes
    costs = np.ones(taxonomy.n_nodes)
    if cost == "leaves":
        costs = taxonomy.is_leaf.astype(np.float64)
    elif cost == "normalized":
        if scale is None:
            raise DataError('cost="normalized" needs the scales of the nodes')
        costs = np.array(scale, dtype=np.float64)
    costs[0] = 0.0
    weight = np.ones(taxonomy.n_nodes)
    weight[nodes] = problem.positive_weight
    arrays = (nodes, taxonomy.parent_indptr, taxonomy.parent_indices)
    made = SetHinge if taxonomy.is_tree else kind
    loss = made(*arrays, ~taxonomy.is_leaf, miss_cost * costs * weight, costs, cost)
    stops = np.zeros(taxonomy.n_nodes, dtype=bool)
    weighted = problem.subset(np.flatnonzero(loss.weights(problem) > 0))
    stops[loss.stops(loss.sets(weighted)).indices] = True
    needs = needs_child(must if loss.keeps_must else "root", ~taxonomy.is_leaf, stops)
    loss = replace(loss, must=needs)
    loss.check_sets(problem, taxonomy.name_of)
    return loss
