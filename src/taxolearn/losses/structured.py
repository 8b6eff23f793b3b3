"""Structured hinge: one label per row, and a cost for every wrong answer that may depend on the taxonomy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.losses.base import Array, LossFacts
from taxolearn.problem import Problem

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy

COSTS = ("zero_one", "hamming", "tree", "sqrt_hamming", "normalized")
RESCALINGS = ("margin", "slack", "unit")

_TABLE_CLASSES = 4096  # distances on a DAG are kept in a table: 128 MB at so many classes
_FEW_CLASSES = 256  # whose costs are kept: half a megabyte
_FEW_ENTRIES = 2**12  # of paths that are read as an array
_TABLE_BLOCK = 128  # its rows made at a time


@dataclass(frozen=True, eq=False)
class StructuredHinge:
    """loss_i = max(0, max over l != y of D(l, y) - S(l, y) (s_y - s_l)), with scores s and y the label of row i.

    D and S come from a cost Delta(l, y) and the way it enters (`rescaling`):

    - "margin": D = Delta, S = 1 (Cai and Hofmann 2004; (2) and (10) of Choi, Sasaki and Srebro);
    - "slack":  D = S = Delta (TREELOSS);
    - "unit":   D = 1, S = 1 / Delta ((13) of Choi, Sasaki and Srebro); classes at no distance ask for nothing.

    Delta(l, y) is the summed `node_cost` of the nodes on exactly one of the two paths (`paths`, classes x nodes), or
    its square `root`; this needs no classes x classes matrix. Distances on a DAG are no such sum and stand in `table`.

    >>> loss = StructuredHinge("zero_one", "margin", sp.csr_array(np.eye(3)), np.full(3, 0.5))
    >>> loss.costs(np.array([1])).tolist()
    [[1.0, 0.0, 1.0]]
    """

    cost: str
    rescaling: str
    paths: sp.csr_array
    node_cost: Array
    root: bool = False
    table: Array | None = None

    @property
    def facts(self) -> LossFacts:
        """What callers branch on.

        >>> StructuredHinge("zero_one", "margin", sp.csr_array(np.eye(3)), np.full(3, 0.5)).facts.kind
        'structured'
        """
        return LossFacts("structured_hinge", "structured", several_labels=False, tied_bias=True)

    def low_intercept(self, total_weight: float) -> float:
        """Classes are compared with each other: no one says no.

        >>> StructuredHinge("zero_one", "margin", sp.csr_array(np.eye(3)), np.full(3, 0.5)).low_intercept(9.0)
        0.0
        """
        return 0.0

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is.

        >>> StructuredHinge("zero_one", "margin", sp.csr_array(np.eye(3)), np.full(3, 0.5)).key()[:3]
        ('structured', 'zero_one', 'margin')
        """
        return (
            self.facts.kind,
            self.cost,
            self.rescaling,
            self.root,
            self.node_cost.tobytes(),
            self.paths.indices.tobytes(),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> StructuredHinge("zero_one", "margin", sp.csr_array(np.eye(3)), np.full(3, 0.5)).n_classes
        3
        """
        return int(self.paths.shape[0])

    def costs(self, classes: npt.NDArray[np.integer]) -> Array:
        """Delta between some classes and all of them, len(classes) x classes; Delta is symmetric.

        >>> loss = StructuredHinge("hamming", "margin", sp.csr_array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]), np.ones(3))
        >>> loss.costs(np.arange(2)).tolist()
        [[0.0, 2.0], [2.0, 0.0]]
        """
        if self.table is not None:
            return np.array(self.table[classes])
        if (
            self.cost == "zero_one"
        ):  # what the paths would give, without sparse algebra: top-down asks at every node
            found: Array = np.ones((len(classes), self.n_classes))
            found[np.arange(len(classes)), classes] = 0.0
            return found
        if self.n_classes <= _FEW_CLASSES:
            return np.array(self._all_costs[classes])
        return self._by_paths(classes)

    @cached_property
    def _all_costs(self) -> Array:
        """Delta between all classes, found once where they are few."""
        return self._by_paths(np.arange(self.n_classes))

    def _by_paths(self, classes: npt.NDArray[np.integer]) -> Array:
        totals = self.paths @ self.node_cost
        if self.paths.shape[0] * self.paths.shape[1] <= _FEW_ENTRIES:  # SciPy takes longer to begin
            paths = self.paths.toarray()
            shared = (paths[classes] * self.node_cost) @ paths.T
        else:
            shared = ((self.paths[classes] * self.node_cost[None, :]) @ self.paths.T).toarray()
        both = totals[classes][:, None] + totals[None, :]
        found: Array = both - 2.0 * shared
        found[found <= 1e-12 * both] = 0.0  # what is left of equal paths is rounding
        found[np.arange(len(classes)), classes] = 0.0
        return np.sqrt(found) if self.root else found

    def margins_and_scalings(self, classes: npt.NDArray[np.integer]) -> tuple[Array, Array]:
        """D and S between some classes and all of them; both zero between a class and itself.

        >>> loss = StructuredHinge("zero_one", "margin", sp.csr_array(np.eye(2)), np.full(2, 0.5))
        >>> [part.tolist() for part in loss.margins_and_scalings(np.array([0]))]
        [[[0.0, 1.0]], [[0.0, 1.0]]]
        """
        delta = self.costs(classes)
        if self.rescaling == "slack":
            return delta, delta.copy()
        if self.rescaling == "unit":
            apart = delta > 0
            return apart.astype(np.float64), np.divide(1.0, delta, out=np.zeros_like(delta), where=apart)
        scaling = np.ones_like(delta)
        scaling[np.arange(len(classes)), classes] = 0.0
        return delta, scaling


def structured_hinge(
    problem: Problem, tie: Any, cost: str = "zero_one", rescaling: str = "margin"
) -> StructuredHinge:
    """The structured hinge of a problem's classes with a cost by name.

    - "zero_one": 1 for every wrong class;
    - "hamming": nodes on exactly one of the two paths (each a class with all its ancestors);
    - "tree": edges between the two classes, which on a tree is the same; on a DAG the shortest way, up or down, for
      up to 4,096 classes;
    - "sqrt_hamming": the square root of "hamming";
    - "normalized": (9) of Choi, Sasaki and Srebro, the square root of the summed weights a_n (`tie.scale`) of those
      nodes.

    Without a taxonomy the paths are the classes alone. Where the tie gives classes at inner nodes a leaf of their own,
    that is on their paths here, too, and as deep as the lowest leaf below the node: it costs as many nodes.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import path_sum
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["Lion", "Lynx", "Dog"], tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.ones(tree.n_nodes))
    >>> structured_hinge(problem, tie, "tree").costs(np.array([0])).tolist()
    [[0.0, 2.0, 3.0]]
    """
    if cost not in COSTS:
        raise DataError(f"cost={cost!r} is not known; choose one of {', '.join(map(repr, COSTS))}")
    if rescaling not in RESCALINGS:
        raise DataError(
            f"rescaling={rescaling!r} is not known; choose one of {', '.join(map(repr, RESCALINGS))}"
        )
    if cost == "normalized":
        return StructuredHinge(cost, rescaling, tie.paths, tie.scale, root=True)
    ends = np.arange(problem.n_classes + 1, dtype=np.int32)
    alone = sp.csr_array((np.ones(problem.n_classes), ends[:-1], ends), shape=(problem.n_classes,) * 2)
    if cost == "zero_one":
        return StructuredHinge(cost, rescaling, alone, np.full(problem.n_classes, 0.5))
    taxonomy = problem.taxonomy
    paths = alone if taxonomy is None else sp.csr_array(taxonomy.ancestor_matrix(problem.class_nodes))
    node_cost, table = np.ones(paths.shape[1]), None
    if cost == "tree" and taxonomy is not None and not taxonomy.is_tree:
        table = _distances(taxonomy, problem.class_nodes)
    if (
        taxonomy is not None and tie.facts.paths and tie.n_nodes > taxonomy.n_nodes
    ):  # classes with a leaf of their own
        own = np.diff(tie.paths.indptr) > np.diff(paths.indptr)
        below = np.where(own, taxonomy.height[problem.class_nodes], 0)
        paths, node_cost = tie.paths, np.ones(tie.n_nodes)
        node_cost[tie.seats[own]] = below[own]
        if table is not None:
            table += below[:, None] + below[None, :]
            np.fill_diagonal(table, 0.0)
    return StructuredHinge(cost, rescaling, paths, node_cost, cost == "sqrt_hamming", table)


def _distances(taxonomy: Taxonomy, nodes: npt.NDArray[np.int32]) -> Array:
    if len(nodes) > _TABLE_CLASSES:
        raise DataError(
            f'cost="tree" on a DAG needs a table of distances between {len(nodes):,} classes, and at most '
            f'{_TABLE_CLASSES:,} fit; use cost="hamming"'
        )
    table = np.empty((len(nodes), len(nodes)))
    for first in range(0, len(nodes), _TABLE_BLOCK):
        block = nodes[first : first + _TABLE_BLOCK]
        pairs = np.repeat(block, len(nodes)), np.tile(nodes, len(block))
        table[first : first + len(block)] = taxonomy.distance(*pairs).reshape(len(block), -1)
    return table
