"""What every answer is expected to cost, from the probabilities of classes of which exactly one applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.levels import Levels, as_span, core_and_branches
from taxolearn.errors import DataError
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[Any]
# from probabilities that sum to one, classes x rows, to costs, answers x rows
ExpectedCost = Callable[[Floats], Floats]
_DISTANCES = 512  # rows of distances that are made floats at a time


class NodeSums:
    """The probability of every node: the sum over the classes at or below it, each counted once.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Rock"])
    >>> sums = NodeSums(tree, tree.ids_of(["Cat", "Dog", "Rock"]))
    >>> sums(np.array([[0.5], [0.25], [0.25]])).ravel().tolist()  # <root>, Animal, Cat, Dog, Rock
    [1.0, 0.75, 0.5, 0.25, 0.25]
    """

    def __init__(self, taxonomy: Taxonomy, class_nodes: npt.ArrayLike) -> None:
        self._nodes = np.asarray(class_nodes, dtype=np.int64)
        self._levels = Levels(taxonomy.parent) if taxonomy.is_tree else None
        self._below: Any = None
        if self._levels is None:
            self._below = sp.csr_array(taxonomy.ancestor_matrix(self._nodes).T)

    def __call__(self, p: Floats) -> Floats:
        """From classes x rows to nodes x rows."""
        if self._levels is None:
            return np.asarray(self._below @ p)
        sums = np.zeros((self._levels.n_nodes, p.shape[1]))
        sums[self._levels.place[self._nodes]] = p
        return self._levels.add_up(sums)[self._levels.place]


class TreeLoss:
    """Half the number of edges between the true and the answered node, in expectation; trees and DAGs.

    A tree is passed twice. At the root the expected number of edges is the sum of the probabilities P_n of all other
    nodes; and from a node to its child n it changes by 1 - 2 P_n, the answer coming nearer to what is below n, and
    farther from all else. In a DAG, where a shortest path may run through a common child, the same holds for branches
    (see `core_and_branches`); distances within the core are known in pairs.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Rock"])
    >>> nodes = tree.ids_of(["Cat", "Dog", "Rock"])
    >>> TreeLoss(tree, nodes, nodes)(np.array([[0.5], [0.25], [0.25]])).ravel().tolist()
    [0.625, 0.875, 1.125]
    """

    def __init__(self, taxonomy: Taxonomy, class_nodes: npt.ArrayLike, answers: npt.ArrayLike) -> None:
        nodes, asked = np.asarray(class_nodes, dtype=np.int64), np.asarray(answers, dtype=np.int64)
        self._distances: Any = None
        if taxonomy.is_tree:
            self._levels, number = _levels_above(taxonomy, nodes, asked)
            nodes, asked = number[nodes], number[asked]
        else:
            self._levels = self._levels_of_branches(taxonomy)
        self._classes = as_span(self._levels.place[nodes])
        self._answers = as_span(self._levels.place[asked])

    def _levels_of_branches(self, taxonomy: Taxonomy) -> Levels:
        """Of a DAG; distances within its core are found, too."""
        from scipy.sparse.csgraph import shortest_path

        n_nodes = taxonomy.n_nodes
        child = np.repeat(np.arange(n_nodes), np.diff(taxonomy.parent_indptr))
        ones = np.ones(len(child))
        up = sp.csr_array((ones, (child, taxonomy.parent_indices)), shape=(n_nodes, n_nodes))
        graph = sp.csr_array(up + up.T)
        core, parent = core_and_branches(graph.indptr, graph.indices)
        levels = Levels(parent)
        if len(core) > 1:
            core = core[np.argsort(levels.place[core])]
            found = shortest_path(graph[core][:, core], unweighted=True, directed=False)
            self._distances = found.astype(np.min_scalar_type(int(found.max())))
        return levels

    def __call__(self, p: Floats) -> Floats:
        """From classes x rows to answers x rows."""
        levels, roots = self._levels, self._levels.n_roots
        below = np.zeros((levels.n_nodes, p.shape[1]))
        below[self._classes] = p
        levels.add_up(below)
        away = 0.5 * below[roots:].sum(axis=0)
        masses = below[:roots].copy()
        cost = np.subtract(0.5, below, out=below)
        cost[:roots] = away
        if self._distances is not None:
            for first in range(0, roots, _DISTANCES):
                some = slice(first, min(first + _DISTANCES, roots))
                cost[some] += 0.5 * (self._distances[some].astype(np.float64) @ masses)
        found: Floats = levels.pass_down(cost)[self._answers]
        return found


class HierarchicalF1:
    """1 - 2 |A & B| / (|A| + |B|), A and B being the true and the answered node with all ancestors but the root.

    For answers with s ancestors the expected F1 is the sum over their ancestors n of the classes below n, each counting
    2 p / (s + its own number of ancestors): one pass over the nodes for each s that occurs. Where both are empty,
    F1 is 1, as in `metrics.hierarchical_f1(average="samples")`.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Rock"])
    >>> nodes = tree.ids_of(["Cat", "Dog", "Rock"])
    >>> HierarchicalF1(tree, nodes, nodes)(np.array([[0.5], [0.25], [0.25]])).ravel().tolist()
    [0.375, 0.5, 0.75]
    """

    def __init__(self, taxonomy: Taxonomy, class_nodes: npt.ArrayLike, answers: npt.ArrayLike) -> None:
        nodes, asked = np.asarray(class_nodes, dtype=np.int64), np.asarray(answers, dtype=np.int64)
        self._sizes = np.diff(taxonomy.ancestor_matrix(nodes, include_root=False, dtype=np.int8).indptr)
        above = taxonomy.ancestor_matrix(asked, include_root=False)
        sizes = np.diff(above.indptr)
        groups = [(int(size), np.flatnonzero(sizes == size)) for size in np.unique(sizes)]
        self._n_answers = len(asked)
        self._even = len(np.unique(self._sizes)) == 1
        self._levels: Levels | None = None
        if not taxonomy.is_tree:
            self._sums = NodeSums(taxonomy, nodes)
            self._groups: list[Any] = [(size, as_span(some), above[some]) for size, some in groups]
        else:
            self._levels, number = _levels_above(taxonomy, nodes, asked)
            place = self._levels.place
            self._classes = as_span(place[number[nodes]])
            self._groups = [
                (size, as_span(some), as_span(place[number[asked[some]]])) for size, some in groups
            ]

    def __call__(self, p: Floats) -> Floats:
        """From classes x rows to answers x rows."""
        if len(self._groups) == 1:
            return self._group(p, *self._groups[0][::2])
        cost = np.empty((self._n_answers, p.shape[1]))
        for size, places, asked in self._groups:
            cost[places] = self._group(p, size, asked)
        return cost

    def _group(self, p: Floats, size: int, asked: Any) -> Floats:
        """The costs of answers that have so many ancestors."""
        if size == 0:
            return np.asarray(1.0 - p[self._sizes == 0].sum(axis=0, keepdims=True))
        weight = (2.0 / (size + self._sizes))[:, None]
        if self._levels is None:
            return np.asarray(1.0 - asked @ self._sums(p * weight))
        shares = np.zeros((self._levels.n_nodes, p.shape[1]))
        shares[self._classes] = p if self._even else p * weight
        self._levels.add_up(shares)[0] = 0.0  # the root does not count
        found: Floats = self._levels.pass_down(shares)[asked]
        if self._even:
            found *= weight[0]
        return np.subtract(1.0, found, out=found)


def _levels_above(taxonomy: Taxonomy, *nodes: Ids) -> tuple[Levels, Ids]:
    """The levels of the part of a tree that is at or above some nodes, and the number of each node in this part, -1
    for those that are not in it: thousands of classes without rows cost nothing."""
    used = np.zeros(taxonomy.n_nodes, dtype=bool)
    used[0] = True  # the root
    for some in nodes:
        while len(some := some[~used[some]]):
            used[some] = True
            some = taxonomy.parent[some]
    kept = np.flatnonzero(used)
    number = np.full(taxonomy.n_nodes, -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    above = taxonomy.parent[kept]
    return Levels(np.where(above >= 0, number[above], -1)), number


def cost_by_table(costs: npt.ArrayLike, n_classes: int, n_answers: int) -> ExpectedCost:
    """What answers are expected to cost by a table: a row per true class, a column per answer.

    >>> cost_by_table([[0.0, 1.0], [5.0, 0.0]], 2, 2)(np.array([[0.75], [0.25]])).ravel().tolist()
    [1.25, 0.75]
    """
    try:
        table = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"decision={show(costs)} is not a table of costs; give numbers") from None
    if table.shape != (n_classes, n_answers) or not np.isfinite(table).all():
        raise DataError(
            f"a table of costs must hold finite numbers, a row per true class and a column per answer, "
            f"{n_classes} x {n_answers}; this one has shape {table.shape}"
        )
    answers = np.ascontiguousarray(table.T)
    return lambda p: np.asarray(answers @ p)
