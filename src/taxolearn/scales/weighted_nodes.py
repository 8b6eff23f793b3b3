"""The variables of a programme over node weights: which nodes have a weight, and which share one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import LabelError
from taxolearn.structure import Taxonomy
from taxolearn.structure.arrays import row_of_entry
from taxolearn.structure.relations import check_ids

FloatArray = npt.NDArray[np.float64]
IdArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WeightedNodes:
    """One variable for each node, or each set of duplicated nodes, that has a class at it or below it.

    - `variable`: for each node of the taxonomy its variable, -1 for a node whose weight is zero;
    - `parents`, `children`: the edges between variables;
    - `parent`: of a forest, the parent of each variable (-1 at the top, else a smaller number), None of a DAG;
    - `paths`: of a DAG, the variables on the path of each lowest class, rows of ones; None of a forest;
    - `ends`: the variables of the lowest classes, those with no class below them, in the order of `paths`.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"])
    >>> nodes = weighted_nodes(tree, tree.ids_of(["Dog"]), root_has_weight=True, merge=False)
    >>> nodes.variable.tolist(), nodes.parent.tolist(), nodes.ends.tolist()
    ([0, -1, -1, 1], [-1, 0], [1])
    """

    variable: IdArray
    parents: IdArray
    children: IdArray
    ends: IdArray
    parent: IdArray | None
    paths: sp.csr_array | None

    @property
    def n_variables(self) -> int:
        """Number of variables.

        >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion"])
        >>> weighted_nodes(tree, tree.leaf_ids, root_has_weight=True, merge=True).n_variables
        1
        """
        return int(self.variable.max()) + 1

    def path_matrix(self) -> sp.csr_array:
        """`paths`, made from the parents where it is not there.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> nodes = weighted_nodes(tree, tree.leaf_ids, root_has_weight=True, merge=False)
        >>> nodes.path_matrix().toarray().tolist()
        [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
        """
        if self.paths is not None:
            return self.paths
        assert self.parent is not None
        rows, columns = [np.arange(len(self.ends))], [self.ends]
        while len(rows[-1]):
            above = self.parent[columns[-1]]
            rows.append(rows[-1][above >= 0])
            columns.append(above[above >= 0])
        row, column = np.concatenate(rows), np.concatenate(columns)
        return sp.csr_array((np.ones(len(row)), (row, column)), shape=(len(self.ends), self.n_variables))

    def spread(self, values: npt.NDArray[Any]) -> FloatArray:
        """The weight of every node, the value of a variable being shared evenly by its nodes.

        An even split has the least cost in (6), and any split gives the same class covariance.

        >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion"])
        >>> weighted_nodes(tree, tree.leaf_ids, root_has_weight=True, merge=True).spread(np.ones(1)).round(3)
        array([0.333, 0.333, 0.333])
        """
        has_weight = self.variable >= 0
        size = np.bincount(self.variable[has_weight], minlength=self.n_variables)
        weights = np.zeros(len(self.variable))
        weights[has_weight] = (values / size)[self.variable[has_weight]]
        return weights


def check_classes(taxonomy: Taxonomy, class_nodes: npt.ArrayLike | None) -> IdArray:
    """Sorted ids of the classes, by default the leaves.

    >>> check_classes(Taxonomy.from_paths(["Animal/Cat"]), None).tolist()
    [1]
    """
    if class_nodes is None:
        return taxonomy.leaf_ids.astype(np.int64)
    found = np.unique(check_ids(taxonomy, class_nodes)).astype(np.int64)
    if not len(found):
        raise LabelError("class_nodes is empty; give the ids of the nodes that are classes")
    return found


def weighted_nodes(
    taxonomy: Taxonomy, classes: IdArray, *, root_has_weight: bool, merge: bool
) -> WeightedNodes:
    """The variables of a taxonomy whose classes are the nodes `classes` (sorted ids).

    >>> dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("b", "e")])
    >>> weighted_nodes(dag, dag.leaf_ids, root_has_weight=False, merge=False).paths.toarray().tolist()
    [[1.0, 1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0, 1.0]]
    """
    paths = None if taxonomy.is_tree else sp.csc_array(taxonomy.ancestor_matrix(classes))
    if paths is None:
        group = _tree_groups(taxonomy, classes, merge)
    else:
        group = _dag_groups(paths, merge)
    if not root_has_weight:
        group = np.where(group == group[0], -1, group)
        if group.max() < 0:
            raise LabelError("a pinned root leaves no node that could have a weight; use root='free'")
    variable = np.unique(group, return_inverse=True)[1] - int((group < 0).any())
    first = np.unique(variable, return_index=True)[1][-(variable.max() + 1) :]
    parents, children = _edges(taxonomy, variable)
    ends = np.setdiff1d(np.arange(variable.max() + 1), parents)
    if paths is None:
        parent = np.full(variable.max() + 1, -1)
        parent[children] = parents
        return WeightedNodes(variable, parents, children, ends, parent, None)
    of_class = variable[classes]
    lowest = np.flatnonzero(np.isin(of_class, ends))
    rows = sp.csr_array(sp.csr_array(paths[:, first])[lowest])
    return WeightedNodes(variable, parents, children, of_class[lowest], None, rows)


def _tree_groups(taxonomy: Taxonomy, classes: IdArray, merge: bool) -> IdArray:
    """A number for each node, the same for duplicates, growing with the id; -1 where no class is below."""
    before = np.zeros(taxonomy.n_nodes + 1, dtype=np.int64)
    before[classes + 1] = 1
    before = np.cumsum(before)
    below = before[taxonomy.subtree_end] - before[:-1]
    fresh = below > 0
    if merge:
        # A duplicate has as many classes as its parent. Other children of the parent have none: among the
        # nodes with classes it comes next in depth-first order, and takes over its parent's number.
        fresh[1:] &= below[1:] != below[taxonomy.parent[1:]]
    return np.where(below > 0, np.cumsum(fresh) - 1, -1)


def _dag_groups(paths: sp.csc_array, merge: bool) -> IdArray:
    """The same on a DAG, from the columns of its path matrix."""
    below = np.diff(paths.indptr)
    if not merge:
        return np.where(below > 0, np.arange(len(below)), -1)
    paths.sort_indices()
    number: dict[bytes, int] = {}
    columns = (paths.indices[i:j].tobytes() for i, j in pairwise(paths.indptr.tolist()))
    group = np.array([number.setdefault(column, len(number)) for column in columns])
    return np.where(below > 0, group, -1)


def _edges(taxonomy: Taxonomy, variable: IdArray) -> tuple[IdArray, IdArray]:
    parents, children = variable[taxonomy.parent_indices], variable[row_of_entry(taxonomy.parent_indptr)]
    if (
        len(variable) == variable[-1] + 1
    ):  # each node is a variable of its own: no edge is lost, and none doubled
        order = np.lexsort((children, parents))
        return parents[order], children[order]
    inside = (parents >= 0) & (children >= 0) & (parents != children)
    n_variables = int(variable.max()) + 1
    keys = np.unique(parents[inside] * n_variables + children[inside])
    return keys // n_variables, keys % n_variables
