"""How far down one may go with a promise for each group of labels, not only on average."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.ladders import Floats, Ids, Ladders, covered_by
from taxolearn.structure import Taxonomy

Rows = npt.NDArray[np.bool_]


def group_limits(
    limit_of: Callable[[Rows], float], groups: npt.NDArray[np.integer], n_groups: int, needed: int
) -> tuple[Floats, Rows]:
    """A limit for each group of labels, of calibration rows of these groups (-1: of none), and which ones share theirs.

    `limit_of` is the limit by some of the rows, which are `needed` at least for anything but the root.

    A group stands alone if it has `needed` rows and the new one at least. The others are taken together, and where
    even these are too few, with the smallest group that could stand alone: what is promised, is promised for all of
    them together. Who is with whom depends on how many rows each group has with the new row among them, whichever group
    it may belong to, and on nothing else. So all rows are treated alike, as exchangeability asks (Vovk's Mondrian
    taxonomies may depend on the bag of all rows, not on their order).

    >>> from taxolearn.decoders.coverage import coverage_limit
    >>> misses, groups = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.6, 0.7]), np.array([0, 0, 0, 1, 1, 1, 1])
    >>> group_limits(lambda rows: coverage_limit(misses[rows], 0.5), groups, 2, needed=1)
    (array([0.4, 0.2]), array([False, False]))
    """
    counts = np.bincount(groups[groups >= 0], minlength=n_groups)
    # of a new row in another group, those with as many rows as are needed besides it do not stand alone
    pooled = (groups >= 0) & (counts <= needed)[groups]
    n_pooled = int(pooled.sum())
    large = np.flatnonzero(counts > needed)
    mine = pooled
    if n_pooled < needed and len(large):
        mine = pooled | (groups == large[np.argmin(counts[large])])
    limits = np.full(n_groups, limit_of(mine))
    shared = counts < needed
    for group in np.flatnonzero(~shared):
        mine = groups == group
        others = n_pooled - (counts[group] if counts[group] <= needed else 0)
        larger = [(counts[other], other) for other in large if other != group]
        if 0 < others <= needed and (counts[group] + 1, group) <= min(larger, default=(np.inf, 0)):
            mine = mine | pooled
            shared[group] = True
        limits[group] = limit_of(mine)
    return limits, shared


class GroupLimits(NamedTuple):
    """A limit per group of labels, the group of each class, and the nodes of the classes.

    >>> GroupLimits(np.array([0.3, 0.2]), np.array([0, 1]), np.array([1, 2], np.int32)).limits.tolist()
    [0.3, 0.2]
    """

    limits: Floats
    groups: npt.NDArray[np.integer]
    class_nodes: Ids

    def of_edges(self, taxonomy: Taxonomy) -> Floats:
        """For each edge (in the order of `parent_indices`) the doubt below which one may go down it.

        A step may be taken where its doubt is below the limit of every group that has a class below the parent, and not
        below the child.

        >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
        >>> GroupLimits(np.array([0.3, 0.2, 0.1]), np.arange(3), tree.leaf_ids).of_edges(tree).tolist()
        [0.1, 0.2, 0.3, 0.2]
        """
        below, child = self._below(taxonomy), _children(taxonomy)
        dropped = sp.csr_array(below[taxonomy.parent_indices] - below[child])
        dropped.eliminate_zeros()
        found = np.full(len(child), np.inf)
        some = np.flatnonzero(np.diff(dropped.indptr))
        if len(some):
            found[some] = np.minimum.reduceat(self.limits[dropped.indices], dropped.indptr[some])
        return found

    def of_edges_for_risk(self, taxonomy: Taxonomy) -> Floats:
        """The same for losses: a step is below the limit of every group that has a class which is not below the child,
        as the answer moves away from labels that were left out before, too.

        >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
        >>> GroupLimits(np.array([0.3, 0.2, 0.1]), np.arange(3), tree.leaf_ids).of_edges_for_risk(tree).tolist()
        [0.1, 0.1, 0.1, 0.2]
        """
        below, child = self._below(taxonomy), _children(taxonomy)
        sizes = np.bincount(self.groups, minlength=len(self.limits))
        order = np.argsort(np.where(sizes > 0, self.limits, np.inf), kind="stable")
        lowest = np.full(taxonomy.n_nodes, self.limits[order[0]])
        # all that is below few nodes: those above every class of the group of the lowest limit
        for node in np.flatnonzero(below[:, [order[0]]].toarray().ravel() == sizes[order[0]]):
            inside = below[[node]].toarray().ravel() == sizes
            outside = order[~inside[order]]
            lowest[node] = self.limits[outside[0]] if len(outside) else np.inf
        return np.asarray(lowest[child])

    def of_rungs(self, ladders: Ladders, taxonomy: Taxonomy) -> Floats:
        """What the doubt at each rung must stay below where answers are sets of nodes, rows x rungs: the limits of all
        groups that have a class which the rung above covers, and this one does not.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Animal/Cow"])
        >>> nodes = np.array([[[0, -1], [1, 2], [1, -1]]], np.int32)
        >>> limits = GroupLimits(np.array([0.3, 0.2, 0.1]), np.arange(3), tree.leaf_ids)
        >>> limits.of_rungs(Ladders(nodes, np.zeros((1, 3))), tree).tolist()
        [[inf, 0.1, 0.2]]
        """
        covers = sp.csr_array(taxonomy.ancestor_matrix(self.class_nodes, dtype=bool).T)
        found = np.full(ladders.doubt.shape, np.inf)
        above = covered_by(ladders.nodes[:, 0], covers)
        for rung in range(1, ladders.nodes.shape[1]):
            here = covered_by(ladders.nodes[:, rung], covers)
            rows, classes = np.nonzero(above & ~here)
            np.minimum.at(found[:, rung], rows, self.limits[self.groups[classes]])
            above = here
        found[(ladders.nodes < 0).all(axis=2)] = -np.inf
        return found

    def _member(self) -> sp.csr_array:
        shape = (len(self.class_nodes), len(self.limits))
        return sp.csr_array((np.ones(shape[0]), (np.arange(shape[0]), self.groups)), shape=shape)

    def _below(self, taxonomy: Taxonomy) -> sp.csr_array:
        """Nodes x groups: how many classes of each group lie at or below a node."""
        return sp.csr_array(taxonomy.ancestor_matrix(self.class_nodes).T @ self._member())


def _children(taxonomy: Taxonomy) -> npt.NDArray[np.intp]:
    """The lower end of each edge, in the order of `parent_indices`."""
    return np.repeat(np.arange(taxonomy.n_nodes), np.diff(taxonomy.parent_indptr))


def limits_along(ladders: Ladders, limits: Floats, taxonomy: Taxonomy) -> Floats:
    """The limits of the edges that lead to each rung, rows x rungs of one node each; -inf past the last one.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> ladders = Ladders(np.array([[[0], [1]], [[0], [2]]], np.int32), np.array([[-np.inf, 0.3]] * 2))
    >>> limits_along(ladders, np.array([0.5, 0.2]), tree).tolist()
    [[inf, 0.5], [inf, 0.2]]
    """
    path = ladders.nodes[:, :, 0].astype(np.int64)
    n_nodes = taxonomy.n_nodes
    keys = taxonomy.parent_indices.astype(np.int64) * n_nodes + _children(taxonomy)
    order = np.argsort(keys)
    place = np.searchsorted(keys[order], path[:, :-1] * n_nodes + path[:, 1:])
    found = np.full(path.shape, np.inf)
    if len(keys):
        found[:, 1:] = limits[order][np.minimum(place, len(keys) - 1)]
    return np.where(path >= 0, found, -np.inf)
