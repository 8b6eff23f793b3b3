"""The walk of the tree kernels against the paths that it stands for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strategies import taxonomies
from taxolearn import Taxonomy
from taxolearn.solvers.tree_forest import Forest, make_forest
from taxolearn.ties import PathSum, flat, merge_nodes, path_sum


@st.composite
def ties(draw: st.DrawFn, dag: bool | None = None) -> tuple[PathSum, np.ndarray]:
    """A tie over some nodes of a taxonomy, a third of the scales being zero, and which classes count."""
    taxonomy = draw(taxonomies(dag=dag))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    nodes = np.flatnonzero(rng.random(taxonomy.n_nodes) < 0.7)
    scale = rng.uniform(0.5, 2.0, taxonomy.n_nodes) * (rng.random(taxonomy.n_nodes) < 0.67)
    return path_sum(taxonomy, nodes, scale), rng.random(len(nodes)) < 0.8


def under(forest: Forest, node: int) -> list[int]:
    """Positions of the classes that have a node of the forest on their path."""
    spans = forest.spans[forest.span_first[node] : forest.span_last[node]]
    return [k for first, last in spans.tolist() for k in range(first, last)]


def path_of(forest: Forest, position: int) -> list[int]:
    """The nodes on the way down to a class."""
    first, last = forest.first <= position, forest.last > position
    return np.flatnonzero(first & last).tolist()


@given(ties())
def test_merged_nodes_leave_the_covariance_as_it_is(made):
    tie, _ = made
    merged, number = merge_nodes(tie)
    np.testing.assert_allclose(merged.covariance, tie.covariance, rtol=1e-12)
    columns = merged.paths.toarray().T
    assert len({column.tobytes() for column in columns}) == len(columns)
    whole = tie.paths.toarray().T
    for node, new in enumerate(number):
        if new < 0:
            assert tie.scale[node] == 0 or not whole[node].any()
        else:
            np.testing.assert_array_equal(whole[node], columns[new])


@given(ties())
def test_the_covariance_of_the_walk_is_that_of_the_paths(made):
    tie, counted = made
    forest = make_forest(tie, counted)
    assert sorted(forest.classes.tolist()) == np.flatnonzero(counted).tolist()
    n = len(forest.classes)
    found = np.zeros((n, n))
    for k in range(n):
        path = path_of(forest, k)
        for node in path:
            found[k, under(forest, node)] += forest.scale[node]
        sits = path[-1]
        assert forest.first[sits] <= k < forest.own[sits]
        np.testing.assert_allclose(forest.reach[sits], found[k, k], rtol=1e-12)
    expected = tie.covariance[np.ix_(forest.classes, forest.classes)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(ties())
def test_trees_of_different_tops_share_nothing_and_cover_all_classes(made):
    tie, counted = made
    forest = make_forest(tie, counted)
    covariance = tie.covariance[np.ix_(forest.classes, forest.classes)]
    ends = [0]
    for top in forest.tops:
        first, last = forest.first[top], forest.last[top]
        assert first == ends[-1]
        ends.append(last)
        assert not covariance[first:last, :first].any()
        # its spans stand together, so that a task can take them out
        nodes = slice(top, forest.end[top])
        filled = forest.span_first[nodes] < forest.span_last[nodes]
        if filled.any():
            own = slice(forest.span_first[nodes][filled].min(), forest.span_last[nodes][filled].max())
            assert first <= forest.spans[own].min()
            assert forest.spans[own].max() <= last
    assert ends[-1] == len(forest.classes)


@given(ties())
def test_every_node_with_a_vector_stands_somewhere(made):
    tie, counted = made
    forest = make_forest(tie, counted)
    users = tie.paths.tocsc()
    for node in range(tie.n_nodes):
        classes = [k for k in users.indices[users.indptr[node] : users.indptr[node + 1]] if counted[k]]
        if tie.scale[node] == 0 or not classes:
            assert forest.member[node] == -1
        else:
            assert sorted(forest.classes[under(forest, forest.member[node])].tolist()) == sorted(classes)


@given(ties(dag=False))
def test_a_tree_is_walked_as_it_is(made):
    forest = make_forest(*made)
    positive = forest.scale > 0
    spans = forest.spans[forest.span_first[positive]]
    np.testing.assert_array_equal(forest.span_last[positive] - forest.span_first[positive], 1)
    np.testing.assert_array_equal(spans, np.stack((forest.first[positive], forest.last[positive]), axis=1))
    assert sorted(set(forest.member[forest.member >= 0])) == np.flatnonzero(positive).tolist()
    assert forest.unfolding == (1.0 if len(spans) else 0.0)


def test_a_node_with_two_parents_stands_below_both():
    dag = Taxonomy.from_edges(
        [("all", "a"), ("all", "b"), ("a", "x"), ("b", "x"), ("a", "y"), ("b", "z"), ("all", "c")]
    )
    tie = path_sum(dag, dag.ids_of(["x", "y", "z", "c"]), np.array([0.0, *np.ones(dag.n_nodes - 1)]))
    forest = make_forest(tie, np.ones(4, dtype=bool))
    # a over (b over x) and y, then b over z: b twice; a and b hang at a node without a vector; c alone
    assert forest.scale.tolist() == [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert [forest.first[top] for top in forest.tops] == [0, 3]
    assert sorted(len(under(forest, node)) for node in range(8)) == [0, 1, 1, 1, 1, 2, 2, 2]
    assert forest.unfolding == 10 / 8  # two of b's classes are counted twice


def test_nothing_shared_and_nothing_at_all():
    assert make_forest(flat(3), np.ones(3, dtype=bool)).tops.tolist() == [0, 1, 2]
    empty = make_forest(flat(3), np.zeros(3, dtype=bool))
    assert len(empty.classes) == len(empty.tops) == len(empty.spans) == 0
