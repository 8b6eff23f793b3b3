"""ClassGraph: builders, arrays, Laplacian and errors."""

from __future__ import annotations

import copy
import pickle
import re

import networkx
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import names, taxonomies
from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.structure import ClassGraph

GRAPH = ClassGraph.from_edges([("a", "b"), ("c", "a", 2.5)], nodes=["z"])
TABLES = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}


@st.composite
def graphs(draw, kind=None):
    """Names and a dictionary (a, b) -> weight, each pair once in either direction."""
    labels = draw(names(kind, min_size=2))
    ends = st.lists(st.integers(0, len(labels) - 1), min_size=2, max_size=2, unique=True).map(tuple)
    pairs = draw(st.lists(ends, min_size=1, max_size=15, unique_by=frozenset))
    weights = draw(st.lists(st.floats(1e-3, 1e3), min_size=len(pairs), max_size=len(pairs)))
    return labels, {(labels[a], labels[b]): w for (a, b), w in zip(pairs, weights, strict=True)}


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_arrays_laplacian_and_components(case):
    labels, weights = case
    graph = ClassGraph.from_edges(((a, b, w) for (a, b), w in weights.items()), nodes=labels)
    assert graph.nodes == tuple(labels)
    assert (graph.n_nodes, graph.n_edges, len(graph)) == (len(labels), len(weights), len(labels))
    dense = np.zeros((len(labels), len(labels)))
    for (a, b), w in weights.items():
        dense[labels.index(a), labels.index(b)] = dense[labels.index(b), labels.index(a)] = w
    np.testing.assert_allclose(graph.degree, dense.sum(axis=1))
    np.testing.assert_allclose(graph.laplacian().toarray(), np.diag(dense.sum(axis=1)) - dense)
    assert graph.laplacian().format == "csr"
    twin = networkx.Graph(list(weights))
    twin.add_nodes_from(labels)
    assert graph.n_components == networkx.number_connected_components(twin)
    for node, name in enumerate(labels):
        row = slice(graph.indptr[node], graph.indptr[node + 1])
        np.testing.assert_array_equal(graph.indices[row], np.flatnonzero(dense[node]))
        np.testing.assert_array_equal(graph.weights[row], dense[node][dense[node] > 0])
        assert graph.neighbours(name) == tuple(labels[i] for i in np.flatnonzero(dense[node]))
        assert graph.id_of(name) == node
        assert name in graph


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_round_trips(case):
    labels, weights = case
    graph = ClassGraph.from_edges([(a, b, w) for (a, b), w in weights.items()], nodes=labels)
    assert ClassGraph.from_edges(graph.edges, nodes=graph.nodes) == graph
    assert ClassGraph.from_edges([(b, a, w) for a, b, w in graph.edges], nodes=graph.nodes) == graph
    twin = networkx.Graph()
    twin.add_nodes_from(graph.nodes)
    twin.add_weighted_edges_from(graph.edges)
    assert ClassGraph.from_networkx(twin) == graph
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    assert hash(again) == hash(graph)
    assert not again.weights.flags.writeable


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@settings(max_examples=50, deadline=None)
@given(case=graphs("str"))
def test_tables(table, case):
    _, weights = case
    graph = ClassGraph.from_edges([(a, b, w) for (a, b), w in weights.items()])
    ends = {"source": [a for a, _ in weights], "target": [b for _, b in weights]}
    assert ClassGraph.from_table(table({**ends, "weight": list(weights.values())})) == graph
    assert ClassGraph.from_table(table({**ends, "w": list(weights.values())}), weight="w") == graph
    renamed = table({"x": ends["source"], "y": ends["target"]})
    assert ClassGraph.from_table(renamed, source="x", target="y") == ClassGraph.from_edges(weights)


@settings(max_examples=50, deadline=None)
@given(taxonomies())
def test_from_taxonomy(taxonomy):
    graph = ClassGraph.from_taxonomy(taxonomy)
    assert graph == ClassGraph.from_edges(taxonomy.edges, nodes=taxonomy.nodes)
    assert graph.n_components == 1


def test_facts():
    assert repr(GRAPH) == "ClassGraph(4 nodes, 2 edges)"
    assert repr(ClassGraph.from_edges([], nodes=["a"])) == "ClassGraph(1 node, 0 edges)"
    assert GRAPH.nodes == ("z", "a", "b", "c")
    assert GRAPH.edges == (("a", "b", 1.0), ("a", "c", 2.5))
    assert GRAPH.n_components == 2
    assert GRAPH.ids_of(["c", "z"]).tolist() == [3, 0]
    assert GRAPH.indptr.dtype == GRAPH.indices.dtype == np.int32
    assert GRAPH.weights.dtype == np.float64
    assert copy.deepcopy(GRAPH) is GRAPH
    assert ClassGraph.from_edges([("a", "b"), ("c", "a", 2.0)], nodes=["z"]) != GRAPH
    assert GRAPH != "graph"
    assert not any(array.flags.writeable for array in (GRAPH.indptr, GRAPH.indices, GRAPH.weights))
    with pytest.raises(AttributeError, match="frozen"):
        GRAPH.weights = None
    with pytest.raises(TaxonomyError, match="from_edges"):
        ClassGraph()
    with pytest.raises(LabelError, match="unknown name 'q'; correct it, or add it to the ClassGraph"):
        GRAPH.neighbours("q")


def test_the_laplacian_may_be_changed():
    laplacian = GRAPH.laplacian()
    laplacian.data[:] = 0
    assert GRAPH.weights.tolist() == [1.0, 2.5, 1.0, 2.5]
    assert ClassGraph.from_edges([], nodes=["a"]).laplacian().toarray().tolist() == [[0.0]]


@pytest.mark.parametrize("weight", [1, 2.5, np.float32(2.5), np.int64(3)])
def test_weights_of_any_number_type(weight):
    assert ClassGraph.from_edges([("a", "b", weight)]).edges == (("a", "b", float(weight)),)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b"), ("c", "c")], "node 'c' is its own neighbour; remove the self-loop ('c', 'c')"),
        ([("a", "b"), ("a", "b")], "duplicate edge ('a', 'b')"),
        ([("a", "b"), ("b", "a", 2)], "duplicate edge ('a', 'b'); give each edge once, in one direction"),
        ([("a", "b"), ("b", "")], "edge 1: empty name ''"),
        ([("a", "b"), (None, "c")], "edge 1: empty name None"),
        ([("a", "b"), ("b", [])], "edge 1: the name [] is unhashable"),
        ([("a",)], "edge 0: expected a pair (a, b) or (a, b, weight), found ('a',)"),
        (["ab"], "edge 0: expected a pair (a, b) or (a, b, weight), found 'ab'"),
        *(
            (
                [("a", "b"), ("a", "c", weight)],
                f"edge 1: the weight must be a positive finite number, not {weight!r}",
            )
            for weight in (0, -1.5, float("nan"), float("inf"), "2", None, [1], 1j)
        ),
        ([("a", "b", 10**400)], "edge 0: the weight must be a positive finite number, not 1000"),
        ([], "the graph is empty"),
        (None, "edges must be an iterable, not None"),
    ],
)
def test_errors_name_the_culprit(edges, message):
    with pytest.raises(TaxonomyError, match=re.escape(message)):
        ClassGraph.from_edges(edges)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ClassGraph.from_edges([], nodes=["a", ""]), "node 1: empty name ''"),
        (lambda: ClassGraph.from_edges([], nodes="ab"), "nodes must be an iterable, not 'ab'"),
        (
            lambda: ClassGraph.from_networkx(networkx.DiGraph([("a", "b")])),
            "expected a networkx Graph (undirected)",
        ),
        (lambda: ClassGraph.from_networkx(networkx.MultiGraph([("a", "b"), ("a", "b")])), "duplicate edge"),
        (lambda: ClassGraph.from_networkx(networkx.Graph([("a", "b", {"weight": -1})])), "not -1"),
        (lambda: ClassGraph.from_taxonomy([("a", "b")]), "expected a Taxonomy"),
        (lambda: ClassGraph.from_table(pandas.DataFrame({"source": ["a"]})), "has no column 'target'"),
        (lambda: ClassGraph.from_table(3), "expected a pandas, polars or pyarrow table, found 3"),
    ],
)
def test_other_builders_name_the_culprit(build, message):
    with pytest.raises(TaxonomyError, match=re.escape(message)):
        build()
