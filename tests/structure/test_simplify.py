"""Transitive reduction and merging of duplicates, next to the set-based twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.structure_twin import GraphTwin
from strategies import dag_edges, tree_edges
from taxolearn.structure import Taxonomy

any_edges = st.one_of(tree_edges(), dag_edges())


@settings(max_examples=150, deadline=None)
@given(any_edges)
def test_transitive_reduction(edges):
    taxonomy, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
    reduced = taxonomy.transitive_reduction()
    assert set(reduced.edges) == twin.transitive_reduction()
    assert reduced.transitive_reduction() == reduced
    for name in taxonomy.nodes:
        assert set(reduced.ancestors(name)) == twin.ancestors(name)


def test_reducing_a_tree_returns_it():
    tree = Taxonomy.from_paths(["a/b/c", "a/d"])
    assert tree.transitive_reduction() is tree


@settings(max_examples=150, deadline=None)
@given(any_edges)
def test_merge_duplicates(edges):
    taxonomy, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
    merged, new_id = taxonomy.merge_duplicates()
    assert new_id.dtype == np.int32
    assert new_id.shape == (taxonomy.n_nodes,)
    groups = {}
    for node, name in enumerate(taxonomy.nodes):
        groups.setdefault(int(new_id[node]), []).append(name)
    assert {frozenset(group) for group in groups.values()} == twin.duplicate_groups()
    for new, group in groups.items():
        assert merged.nodes[new] == group[-1]  # the largest id of the group
    assert set(merged.leaves) == set(taxonomy.leaves)
    place = dict(zip(taxonomy.nodes, new_id.tolist(), strict=True))
    expected = {
        (merged.nodes[place[p]], merged.nodes[place[c]]) for p, c in twin.edges if place[p] != place[c]
    }
    assert set(merged.edges) == expected
    for name in merged.nodes:
        assert set(merged.leaves_under(name)) == twin.leaves_under(name)
    again, same = merged.merge_duplicates()
    assert again == merged
    assert same.tolist() == list(range(merged.n_nodes))


def test_two_nodes_beside_each_other_with_the_same_leaves():
    dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("r", "z"), *((p, c) for p in "ab" for c in "xy")])
    merged, new_id = dag.merge_duplicates()
    assert new_id[dag.id_of("a")] == new_id[dag.id_of("b")] == merged.id_of("b")
    assert merged.is_tree
    assert set(merged.nodes) == {"r", "b", "x", "y", "z"}
