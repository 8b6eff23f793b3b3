"""ClassGraph: an undirected weighted graph over class names, frozen into flat arrays."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import TaxonomyError
from taxolearn.structure import graph_views
from taxolearn.structure.arrays import IntArray, frozen, row_of_entry, row_pointer
from taxolearn.structure.builders import Index, ends_of, require_networkx
from taxolearn.structure.names import NamedNodes, check_iterable, show
from taxolearn.structure.tables import columns_of, read_table
from taxolearn.structure.taxonomy import Taxonomy

FloatArray = npt.NDArray[np.float64]
Edge = tuple[Hashable, Hashable] | tuple[Hashable, Hashable, float]


class ClassGraph(NamedNodes):
    """An undirected graph over classes with positive weights on its edges.

    Nodes have ids 0 .. n_nodes - 1 in order of first appearance; `nodes` is the tuple of their names. The
    neighbours of every node are a sorted CSR: `indptr` and `indices` (int32), `weights` (float64), each
    edge stored in both directions. All arrays are read-only.

    >>> graph = ClassGraph.from_edges([("Cat", "Dog"), ("Cat", "Lion", 2.5)])
    >>> graph
    ClassGraph(3 nodes, 2 edges)
    >>> graph.neighbours("Cat")
    ('Dog', 'Lion')
    """

    __slots__ = ("indices", "indptr", "weights")

    indptr: IntArray
    indices: IntArray
    weights: FloatArray

    to_text = graph_views.to_text
    to_taxonomy = graph_views.to_taxonomy
    compare = graph_views.compare

    def __init__(self) -> None:
        raise TaxonomyError("build a ClassGraph with from_edges, from_taxonomy, from_networkx or from_table")

    @classmethod
    def from_edges(cls, edges: Iterable[Edge], *, nodes: Iterable[Hashable] = ()) -> ClassGraph:
        """A graph from (a, b) or (a, b, weight); the weight is 1 when not given.

        `nodes` come first in the order of ids and may be without edges.

        >>> ClassGraph.from_edges([("Cat", "Dog", 0.5)], nodes=["Emu"]).nodes
        ('Emu', 'Cat', 'Dog')
        """
        index = Index("node")
        for position, node in enumerate(check_iterable(nodes, "nodes")):
            index.add(node, position)
        index.where = "edge"
        left: list[int] = []
        right: list[int] = []
        weights: list[float] = []
        for position, edge in enumerate(check_iterable(edges, "edges")):
            a, b, *rest = ends_of(edge, position, (2, 3), "(a, b) or (a, b, weight)")
            left.append(index.add(a, position))
            right.append(index.add(b, position))
            weights.append(_weight(rest[0], position) if rest else 1.0)
        return cls._assembled(index.names, left, right, weights)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str = "weight") -> ClassGraph:
        """A graph from an undirected networkx Graph; `weight` is the edge attribute, 1 where it is missing.

        >>> import networkx
        >>> ClassGraph.from_networkx(networkx.Graph([("Cat", "Dog")])).edges
        (('Cat', 'Dog', 1.0),)
        """
        require_networkx(graph, directed=False)
        edges = ((a, b, data.get(weight, 1.0)) for a, b, data in graph.edges(data=True))
        return cls.from_edges(edges, nodes=graph.nodes)

    @classmethod
    def from_taxonomy(cls, taxonomy: Taxonomy) -> ClassGraph:
        """The graph of a taxonomy's edges, each of weight 1; node ids stay the same.

        >>> ClassGraph.from_taxonomy(Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])).degree
        array([2., 1., 1.])
        """
        if not isinstance(taxonomy, Taxonomy):
            raise TaxonomyError(f"expected a Taxonomy, found {show(taxonomy)} ({type(taxonomy).__name__})")
        children = row_of_entry(taxonomy.parent_indptr)
        weights = np.ones(taxonomy.n_edges)
        return cls._assembled(taxonomy.nodes, taxonomy.parent_indices, children, weights)

    @classmethod
    def from_table(
        cls, table: Any, *, source: str = "source", target: str = "target", weight: str | None = None
    ) -> ClassGraph:
        """A graph from a pandas, polars or pyarrow table with one edge a row.

        Weights are in the column `weight`; when not named, in a column called "weight" if there is one.

        >>> import pandas
        >>> table = pandas.DataFrame({"source": ["Cat"], "target": ["Dog"], "weight": [0.5]})
        >>> ClassGraph.from_table(table).edges
        (('Cat', 'Dog', 0.5),)
        """
        frame = read_table(table)
        columns = [source, target]
        if weight is not None or "weight" in frame.columns:
            columns.append("weight" if weight is None else weight)
        return cls.from_edges(zip(*columns_of(frame, columns, "source and target"), strict=True))

    @classmethod
    def _assembled(cls, names: Iterable[Hashable], left: Any, right: Any, weights: Any) -> ClassGraph:
        nodes = tuple(names)
        if not nodes:
            raise TaxonomyError("the graph is empty; give at least one node")
        left, right = np.asarray(left, dtype=np.int32), np.asarray(right, dtype=np.int32)
        loops = np.flatnonzero(left == right)
        if loops.size:
            culprit = show(nodes[left[loops[0]]])
            raise TaxonomyError(
                f"node {culprit} is its own neighbour; remove the self-loop ({culprit}, {culprit})"
            )
        rows, columns = np.concatenate([left, right]), np.concatenate([right, left])
        order = np.lexsort((columns, rows))
        rows, columns = rows[order], columns[order]
        twice = np.flatnonzero((rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1]))
        if twice.size:
            a, b = show(nodes[rows[twice[0]]]), show(nodes[columns[twice[0]]])
            raise TaxonomyError(f"duplicate edge ({a}, {b}); give each edge once, in one direction")
        both = np.concatenate([weights, weights]).astype(np.float64)[order]
        return cls._trusted(row_pointer(rows, len(nodes)), columns, both, nodes)

    @classmethod
    def _trusted(
        cls, indptr: IntArray, indices: IntArray, weights: FloatArray, nodes: tuple[Hashable, ...]
    ) -> ClassGraph:
        graph = object.__new__(cls)
        values: dict[str, Any] = {
            "nodes": nodes,
            "_lookup": None,
            "indptr": frozen(indptr),
            "indices": frozen(indices),
            "weights": frozen(weights),
        }
        for attribute, value in values.items():
            object.__setattr__(graph, attribute, value)
        return graph

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (np.array(self.indptr), np.array(self.indices), np.array(self.weights))
        return ClassGraph._trusted, (*arrays, self.nodes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassGraph):
            return NotImplemented
        return self is other or (
            self.nodes == other.nodes
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.weights, other.weights)
        )

    def __hash__(self) -> int:
        return hash((self.nodes, self.indices.tobytes(), self.weights.tobytes()))

    def __repr__(self) -> str:
        nodes = f"{self.n_nodes} node{'s' * (self.n_nodes != 1)}"
        return f"ClassGraph({nodes}, {self.n_edges} edge{'s' * (self.n_edges != 1)})"

    @property
    def n_edges(self) -> int:
        """Number of undirected edges.

        >>> ClassGraph.from_edges([("Cat", "Dog"), ("Cat", "Lion")]).n_edges
        2
        """
        return len(self.indices) // 2

    @property
    def edges(self) -> tuple[tuple[Hashable, Hashable, float], ...]:
        """All (a, b, weight), the node with the smaller id first.

        >>> ClassGraph.from_edges([("Cat", "Dog"), ("Lion", "Cat", 2.0)]).edges
        (('Cat', 'Dog', 1.0), ('Cat', 'Lion', 2.0))
        """
        rows = row_of_entry(self.indptr)
        once = rows < self.indices
        triples = zip(
            rows[once].tolist(), self.indices[once].tolist(), self.weights[once].tolist(), strict=True
        )
        return tuple((self.nodes[a], self.nodes[b], weight) for a, b, weight in triples)

    @property
    def degree(self) -> FloatArray:
        """The sum of the weights at every node.

        >>> ClassGraph.from_edges([("Cat", "Dog"), ("Cat", "Lion", 2.0)]).degree
        array([3., 1., 2.])
        """
        sums = np.bincount(row_of_entry(self.indptr), weights=self.weights, minlength=self.n_nodes)
        return sums.astype(np.float64, copy=False)

    @property
    def n_components(self) -> int:
        """Number of connected components.

        >>> ClassGraph.from_edges([("Cat", "Dog")], nodes=["Emu"]).n_components
        2
        """
        from scipy.sparse.csgraph import connected_components

        return int(connected_components(self._adjacency(), directed=False)[0])

    def neighbours(self, name: Hashable) -> tuple[Hashable, ...]:
        """The names of the nodes that share an edge with a node, in id order.

        >>> ClassGraph.from_edges([("Cat", "Dog"), ("Lion", "Cat")]).neighbours("Cat")
        ('Dog', 'Lion')
        """
        node = self.id_of(name)
        return tuple(self.nodes[i] for i in self.indices[self.indptr[node] : self.indptr[node + 1]].tolist())

    def laplacian(self) -> sp.csr_array:
        """The graph Laplacian: degrees on the diagonal, minus the weights beside it.

        >>> ClassGraph.from_edges([("Cat", "Dog", 2.0)]).laplacian().toarray()
        array([[ 2., -2.],
               [-2.,  2.]])
        """
        return sp.csr_array(sp.diags_array(self.degree) - self._adjacency())

    def _adjacency(self) -> sp.csr_array:
        return sp.csr_array((self.weights, self.indices, self.indptr), shape=(self.n_nodes, self.n_nodes))


def _weight(value: object, position: int) -> float:
    try:
        weight = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        weight = math.inf
    if math.isfinite(weight) and weight > 0:
        return weight
    raise TaxonomyError(f"edge {position}: the weight must be a positive finite number, not {show(value)}")
