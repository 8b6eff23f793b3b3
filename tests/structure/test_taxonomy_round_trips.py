"""Every builder makes the same taxonomy of the same structure."""

from __future__ import annotations

import networkx
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import taxonomies
from taxolearn.structure import Taxonomy

TABLES = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}


def one_path_per_edge(taxonomy):
    """Paths in the order of `edges`, so that children come back in the same order."""
    return [(*taxonomy.path(parent), child) for parent, child in taxonomy.edges]


@settings(max_examples=200, deadline=None)
@given(taxonomies())
def test_names_of_any_kind(taxonomy):
    assert Taxonomy.from_edges(taxonomy.edges) == taxonomy
    assert Taxonomy.from_edges([list(edge) for edge in taxonomy.edges]) == taxonomy
    assert Taxonomy.from_parents({name: list(taxonomy.parents(name)) for name in taxonomy.nodes}) == taxonomy
    assert Taxonomy.from_networkx(networkx.DiGraph(taxonomy.edges)) == taxonomy
    assert Taxonomy.from_paths(one_path_per_edge(taxonomy), repeated="merge") == taxonomy
    arrays = taxonomy.parent_indptr, taxonomy.parent_indices, taxonomy.nodes
    assert Taxonomy.from_arrays(*arrays) == taxonomy


@settings(max_examples=100, deadline=None)
@given(taxonomies(dag=False))
def test_trees_from_paths_of_leaves_and_single_parents(tree):
    assert Taxonomy.from_paths([tree.path(leaf) for leaf in tree.leaves]) == tree
    single = {name: (tree.parents(name) or (None,))[0] for name in tree.nodes}
    assert Taxonomy.from_parents(single) == tree


@settings(max_examples=100, deadline=None)
@given(taxonomies("str"))
def test_paths_written_as_strings(taxonomy):
    paths = ["/".join(path) for path in one_path_per_edge(taxonomy)]
    assert Taxonomy.from_paths(paths, repeated="merge") == taxonomy


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@settings(max_examples=100, deadline=None)  # 300 in all
@given(taxonomy=st.sampled_from(["str", "int"]).flatmap(taxonomies))
def test_tables(table, taxonomy):
    parents, children = zip(*taxonomy.edges, strict=True)
    assert Taxonomy.from_table(table({"parent": parents, "child": children})) == taxonomy
    paths = one_path_per_edge(taxonomy)
    width = max(map(len, paths))
    levels = {f"level {k}": [path[k] if k < len(path) else None for path in paths] for k in range(width)}
    assert Taxonomy.from_table(table(levels), repeated="merge") == taxonomy


@settings(max_examples=100, deadline=None)
@given(taxonomies())
def test_a_forest_gets_its_root_back(taxonomy):
    forest = [edge for edge in taxonomy.edges if edge[0] != taxonomy.root]
    parents = {
        name: [above for above in taxonomy.parents(name) if above != taxonomy.root]
        for name in taxonomy.nodes[1:]
    }
    again = Taxonomy.from_parents(parents, root=("the", "root"))
    tops = {name for name, above in parents.items() if not above}
    if len(tops) > 1:
        assert again.root == ("the", "root")
        assert set(again.children(again.root)) == tops
        assert set(again.edges) - {(again.root, top) for top in tops} == set(forest)
    else:
        assert {again.root} == tops
        assert set(again.edges) == set(forest)
