"""Whatever goes in, only an error of taxolearn comes out."""

from __future__ import annotations

import networkx
import pandas
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import dag_edges, taxonomies
from taxolearn.errors import TaxolearnError, TaxonomyError
from taxolearn.structure import ClassGraph, Taxonomy

EMPTY = [None, "", float("nan"), pandas.NA, pandas.NaT]
UNHASHABLE = [[], {}, set(), ["a"], ("a", []), bytearray(b"a")]
NO_PAIR = [
    None,
    3,
    1.5,
    "",
    "a",
    "ab",
    b"ab",
    (),
    ("a",),
    ("a", "b", "c"),
    {"a", "b"},
    {"a": 1, "b": 2},
    object(),
]
NO_ITERABLE = [None, 3, 1.5, "ab", b"ab", True, object(), len]

junk = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=2)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.sets(st.integers(0, 3), max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_leaves=12,
)


@st.composite
def broken_edges(draw, faults=("cycle", "duplicate", "own parent", "empty name", "unhashable", "pair")):
    """Good edges with one fault, and a word of the error that it must give."""
    edges = draw(dag_edges())
    at = draw(st.integers(0, len(edges) - 1))
    parent, child = edges[at]
    fault = draw(st.sampled_from(faults))
    if fault == "cycle":
        taxonomy = Taxonomy.from_edges(edges)
        extra = (child, draw(st.sampled_from(taxonomy.ancestors(child))))
    elif fault == "duplicate":
        extra = (parent, child)
    elif fault == "own parent":
        extra = (child, child)
    elif fault == "pair":
        extra = draw(st.sampled_from(NO_PAIR))
    else:
        bad = draw(st.sampled_from(EMPTY if fault == "empty name" else UNHASHABLE))
        extra = draw(st.sampled_from([(bad, child), (parent, bad)]))
    edges.insert(draw(st.integers(0, len(edges))), extra)
    return edges, fault


@settings(max_examples=150, deadline=None)
@given(broken_edges())
def test_broken_edges(case):
    edges, fault = case
    with pytest.raises(TaxonomyError, match=fault):
        Taxonomy.from_edges(edges)


@settings(max_examples=100, deadline=None)
@given(broken_edges(("cycle", "own parent")))
def test_broken_graphs_of_networkx(case):
    edges, fault = case
    with pytest.raises(TaxonomyError, match=fault):
        Taxonomy.from_networkx(networkx.DiGraph(edges))


@settings(max_examples=150, deadline=None)
@given(taxonomies(), st.data())
def test_broken_parents(taxonomy, data):
    parents = {name: list(taxonomy.parents(name)) for name in taxonomy.nodes}
    victim = data.draw(st.sampled_from(taxonomy.nodes[1:]))
    bad = [
        taxonomy.descendants(victim, include_self=True)[-1],  # a cycle or its own parent
        parents[victim][0],  # a duplicate
        ("nobody", "is", "called", "so"),
        *EMPTY,
        *UNHASHABLE,
    ]
    parents[victim].append(data.draw(st.sampled_from(bad)))
    with pytest.raises(TaxonomyError):
        Taxonomy.from_parents(parents)


@settings(max_examples=150, deadline=None)
@given(taxonomies(), st.data())
def test_broken_paths(taxonomy, data):
    paths = [list(taxonomy.path(name)) for name in taxonomy.nodes]
    at = data.draw(st.integers(0, len(paths) - 1))
    if data.draw(st.booleans()):
        paths[at][data.draw(st.integers(0, len(paths[at]) - 1))] = data.draw(
            st.sampled_from(EMPTY + UNHASHABLE)
        )
    else:
        paths[at] = data.draw(st.sampled_from([None, 3, 1.5, b"a", "", "a//b", [], (), {"a"}, {"a": "b"}]))
    with pytest.raises(TaxonomyError):
        Taxonomy.from_paths(paths, repeated="merge")


@settings(max_examples=150, deadline=None)
@given(taxonomies(), st.data())
def test_broken_arrays(taxonomy, data):
    """One number changed: either an error or another valid taxonomy, never a crash."""
    parts = [taxonomy.parent_indptr.tolist(), taxonomy.parent_indices.tolist(), list(taxonomy.nodes)]
    which = data.draw(st.integers(0, 2))
    at = data.draw(st.integers(0, len(parts[which]) - 1))
    if data.draw(st.booleans()):
        del parts[which][at]
    else:
        parts[which][at] = data.draw(
            st.one_of(st.integers(-3, 20), st.sampled_from([2**31, 2**70, None, "x", 0.5]))
        )
    try:
        again = Taxonomy.from_arrays(*parts)
    except TaxolearnError:
        return
    assert Taxonomy.from_parents({name: list(again.parents(name)) for name in again.nodes}).n_nodes == len(
        again
    )


@settings(max_examples=500, deadline=None)
@given(junk, st.sampled_from(["from_edges", "from_paths", "from_parents", "from_networkx", "from_table"]))
def test_junk(value, builder):
    try:
        taxonomy = getattr(Taxonomy, builder)(value)
    except TaxolearnError:
        return
    assert taxonomy.n_nodes > 0
    assert taxonomy.to_text()


@settings(max_examples=300, deadline=None)
@given(junk, junk)
def test_junk_graphs(edges, nodes):
    try:
        graph = ClassGraph.from_edges(edges, nodes=nodes)
    except TaxolearnError:
        return
    assert graph.n_nodes > 0


@settings(max_examples=150, deadline=None)
@given(taxonomies("mixed"), junk)
def test_junk_questions(taxonomy, value):
    questions = [
        *(
            getattr(taxonomy, m)
            for m in ("id_of", "ids_of", "name_of", "path", "siblings", "leaves_under", "sub")
        ),
        taxonomy.ancestor_matrix,
        lambda v: taxonomy.distance(v, 0),
        lambda v: taxonomy.lowest_common_ancestors([0, 1], v),
        lambda v: taxonomy.to_text(max_children=v, max_nodes=v, max_depth=v),
    ]
    for ask in questions:
        try:
            ask(value)
        except TaxolearnError:
            continue


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["parent", "child", "x"]), st.lists(junk, min_size=2, max_size=2), min_size=1
    )
)
def test_junk_tables(columns):
    frames = [pandas.DataFrame({name: pandas.Series(cells, dtype=object) for name, cells in columns.items()})]
    frames.append(polars.DataFrame({name: list(map(repr, cells)) for name, cells in columns.items()}))
    for frame in frames:
        try:
            Taxonomy.from_table(frame)
        except TaxolearnError:
            continue


@pytest.mark.parametrize("value", NO_ITERABLE, ids=lambda value: repr(value)[:12])
def test_wrong_types(value):
    for build in (Taxonomy.from_edges, Taxonomy.from_paths, Taxonomy.from_parents, Taxonomy.from_networkx):
        with pytest.raises(TaxonomyError):
            build(value)
    for build in (
        Taxonomy.from_table,
        ClassGraph.from_edges,
        ClassGraph.from_networkx,
        ClassGraph.from_table,
    ):
        with pytest.raises(TaxonomyError):
            build(value)
    with pytest.raises(TaxonomyError):
        ClassGraph.from_taxonomy(value)
