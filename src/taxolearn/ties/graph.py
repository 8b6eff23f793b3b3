"""The tie of classes on a graph: neighbours pull each other's weights together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from taxolearn.errors import DataError, TaxonomyError
from taxolearn.structure import ClassGraph
from taxolearn.structure.names import show
from taxolearn.ties.base import Tie, TieFacts

_DENSE_CLASSES = 10_000  # whose covariance may be factored


@dataclass(frozen=True, eq=False)
class GraphTie(Tie):
    """Penalty 1/2 (sum over edges of weight_ij ||w_i - w_j||^2 + ridge sum_i ||w_i||^2), HR-SVM and HR-LR on graphs.

    `class_nodes` holds the graph's node of every class; other nodes are latent: they have a vector but no losses.
    `pinned` nodes (bool, one a node) have the vector zero. The inverse covariance of the nodes is the Laplacian
    plus the ridge; so that it has an inverse, every component needs a ridge or a pinned node. A tree given as a
    graph, each edge weighing 1 / a_n of its lower end and the root pinned, is the path sum of that tree.

    >>> graph = ClassGraph.from_edges([("Cat", "Dog"), ("Dog", "Emu", 2.0)])
    >>> graph_tie(graph, ["Cat", "Dog", "Emu"], ridge=1.0).precision().toarray().tolist()
    [[2.0, -1.0, 0.0], [-1.0, 4.0, -2.0], [0.0, -2.0, 3.0]]
    """

    graph: ClassGraph
    class_nodes: npt.NDArray[np.int32]
    ridge: float
    pinned: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        if not (np.isfinite(self.ridge) and self.ridge >= 0):
            raise DataError(f"ridge={self.ridge!r} must be a number from zero on")
        if self.ridge == 0:
            part = sp.csgraph.connected_components(self.graph.laplacian(), directed=False)[1]
            loose = np.flatnonzero(~np.isin(part, part[self.pinned]))
            if len(loose):
                raise TaxonomyError(
                    f"nothing holds the vectors of {show(self.graph.nodes[loose[0]])} and its component in place; "
                    "give ridge > 0 or pin one of its nodes"
                )

    @property
    def free(self) -> npt.NDArray[np.intp]:
        """The nodes that are not pinned.

        >>> graph_tie(ClassGraph.from_edges([("Cat", "Dog")]), ["Dog"], pinned=["Cat"]).free.tolist()
        [1]
        """
        return np.flatnonzero(~self.pinned)

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> graph_tie(ClassGraph.from_edges([("Cat", "Dog")]), ["Dog"], ridge=1.0).n_classes
        1
        """
        return len(self.class_nodes)

    @cached_property
    def facts(self) -> TieFacts:
        """Two classes share something where edges lead from one to the other past no pinned node.

        >>> star = ClassGraph.from_edges([("Animal", "Cat"), ("Animal", "Dog")])
        >>> tie = graph_tie(star, ["Cat", "Dog"], pinned=["Animal"])
        >>> tie.facts.shares, graph_tie(star, ["Cat", "Dog"], ridge=1.0).facts.shares
        (False, True)
        """
        part = np.full(self.graph.n_nodes, -1)
        part[self.free] = sp.csgraph.connected_components(self.precision(), directed=False)[1]
        of_classes = part[self.class_nodes]
        of_classes = of_classes[of_classes >= 0]
        return TieFacts(precision=True, shares=len(np.unique(of_classes)) < len(of_classes))

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The precision, which nodes are pinned, and where the classes are.

        >>> len(graph_tie(ClassGraph.from_edges([("Cat", "Dog")]), ["Dog"], ridge=1.0).arrays())
        5
        """
        precision = self.precision()
        return self.class_nodes, self.pinned, precision.indptr, precision.indices, precision.data

    def precision(self) -> sp.csr_array:
        """Laplacian plus ridge on the free nodes: the inverse covariance of their vectors.

        >>> graph_tie(ClassGraph.from_edges([("Cat", "Dog", 3.0)]), ["Dog"], pinned=["Cat"]).precision().toarray()
        array([[3.]])
        """
        return self._precision

    @cached_property
    def _precision(self) -> sp.csr_array:
        whole = self.graph.laplacian() + self.ridge * sp.eye_array(self.graph.n_nodes)
        return sp.csr_array(sp.csr_array(whole)[self.free][:, self.free])

    def factor(self) -> sp.csr_array:
        """L with L L' the classes' covariance, dense and lower triangular.

        >>> tie = graph_tie(ClassGraph.from_edges([], nodes=["Cat", "Dog"]), ["Cat", "Dog"], ridge=0.25)
        >>> tie.factor().toarray().tolist()
        [[2.0, 0.0], [0.0, 2.0]]
        """
        n_classes = len(self.class_nodes)
        if n_classes > _DENSE_CLASSES:
            raise DataError(
                f"a graph of {n_classes} classes is too large for this loss, which needs a dense matrix classes x "
                f"classes; there is room for {_DENSE_CLASSES}"
            )
        free = np.flatnonzero(~self.pinned[self.class_nodes])  # a pinned class has no vector
        place = np.cumsum(~self.pinned) - 1
        at = place[self.class_nodes[free]]
        lower = np.zeros((n_classes, n_classes))
        if len(free):
            right = np.zeros((len(self.free), len(free)))
            right[at, np.arange(len(free))] = 1.0
            covariance = splu(sp.csc_array(self.precision())).solve(right)[at]
            lower[np.ix_(free, free)] = np.linalg.cholesky(0.5 * (covariance + covariance.T))
        return sp.csr_array(lower)


def graph_tie(
    graph: ClassGraph, classes: Sequence[Hashable], *, ridge: float = 0.0, pinned: Iterable[Hashable] = ()
) -> GraphTie:
    """The tie of classes, given by name, that are nodes of a graph; nodes of other names are latent.

    >>> graph_tie(ClassGraph.from_edges([("Cat", "Dog")]), ["Cat", "Cow"], ridge=1.0)
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: class 'Cow' is not a node of the graph; add it, with or without edges
    """
    for name in classes:
        if name not in graph:
            raise TaxonomyError(
                f"class {show(name)} is not a node of the graph; add it, with or without edges"
            )
    held = np.zeros(graph.n_nodes, dtype=bool)
    held[[graph.id_of(name) for name in pinned]] = True
    nodes = np.array([graph.id_of(name) for name in classes], dtype=np.int32)
    return GraphTie(graph, nodes, float(ridge), held)
