"""Ancestor matrix, lowest common ancestors and distances, next to the set-based twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.structure_twin import GraphTwin
from strategies import dag_edges, tree_edges
from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.structure import Taxonomy, relations

any_edges = st.one_of(tree_edges(), dag_edges())
TREE = Taxonomy.from_paths(["a/b/c", "a/b/d", "a/e"])
DAG = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("b", "e"), ("c", "e")])


def all_pairs(taxonomy):
    return np.divmod(np.arange(taxonomy.n_nodes**2), taxonomy.n_nodes)


@pytest.fixture(params=["whole", "in blocks"])
def blocks(request, monkeypatch):
    """Once as users have it, once with blocks so small that every loop over blocks turns."""
    if request.param == "in blocks":
        monkeypatch.setattr(relations, "_BLOCK", 20)
        monkeypatch.setattr(relations, "_WORDS", 1)


class TestAncestorMatrix:
    @settings(max_examples=100, deadline=None)
    @given(any_edges, st.booleans(), st.booleans(), st.data())
    def test_equals_the_twin(self, edges, include_self, include_root, data):
        taxonomy, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
        ids = data.draw(st.none() | st.lists(st.integers(0, taxonomy.n_nodes - 1)))
        matrix = taxonomy.ancestor_matrix(ids, include_self=include_self, include_root=include_root)
        rows = range(taxonomy.n_nodes) if ids is None else ids
        assert matrix.shape == (len(rows), taxonomy.n_nodes)
        assert matrix.has_canonical_format
        dense = matrix.toarray()
        for row, node in enumerate(rows):
            name = taxonomy.nodes[node]
            expected = twin.ancestors(name) | ({name} if include_self else set())
            expected -= set() if include_root else {taxonomy.root}
            assert {taxonomy.nodes[i] for i in np.flatnonzero(dense[row])} == expected
            assert set(dense[row]) <= {0.0, 1.0}

    @pytest.mark.usefixtures("blocks")
    @pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "DAG"])
    def test_blocks_and_types(self, taxonomy):
        twin = GraphTwin(taxonomy.edges)
        matrix = taxonomy.ancestor_matrix(dtype=np.float32)
        assert matrix.dtype == np.float32
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
        for name, row in zip(taxonomy.nodes, matrix.toarray(), strict=True):
            assert {taxonomy.nodes[i] for i in np.flatnonzero(row)} == twin.ancestors(name) | {name}
        assert taxonomy.ancestor_matrix([]).shape == (0, taxonomy.n_nodes)
        assert taxonomy.ancestor_matrix(dtype=bool).dtype == bool

    def test_a_matrix_that_would_not_fit_is_refused(self):
        chain = [(i, i + 1) for i in range(49_999)]
        tree = Taxonomy.from_edges(chain)
        assert tree.ancestor_matrix([49_999]).nnz == 50_000
        with pytest.raises(TaxonomyError, match="more than 268,435,456 entries; ask for fewer nodes"):
            tree.ancestor_matrix()

    def test_a_dag_that_would_not_fit_is_refused(self, monkeypatch):
        monkeypatch.setattr(relations, "_MAX_ENTRIES", 10)
        assert DAG.ancestor_matrix([3, 4]).nnz == 8
        with pytest.raises(TaxonomyError, match="more than 10 entries"):
            DAG.ancestor_matrix()


class TestLowestCommonAncestors:
    @settings(max_examples=100, deadline=None)
    @given(tree_edges())
    def test_tree_equals_the_twin(self, edges):
        tree, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
        a, b = all_pairs(tree)
        found = tree.lowest_common_ancestors(a, b)
        assert found.dtype == np.int32
        for left, right, node in zip(a, b, found, strict=True):
            assert twin.lowest_common_ancestors(tree.nodes[left], tree.nodes[right]) == {tree.nodes[node]}

    @settings(max_examples=100, deadline=None)
    @given(dag_edges(max_nodes=9))
    def test_dag_equals_the_twin(self, edges):
        taxonomy, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
        if taxonomy.is_tree:
            return
        a, b = all_pairs(taxonomy)
        for left, right, nodes in zip(a, b, taxonomy.lowest_common_ancestors(a, b), strict=True):
            assert nodes == tuple(sorted(nodes))
            expected = twin.lowest_common_ancestors(taxonomy.nodes[left], taxonomy.nodes[right])
            assert {taxonomy.nodes[node] for node in nodes} == expected

    @pytest.mark.usefixtures("blocks")
    def test_dag_with_two_answers(self):
        d, e = DAG.ids_of(["d", "e"])
        both = tuple(sorted(DAG.ids_of(["b", "c"]).tolist()))
        assert DAG.lowest_common_ancestors([d, d, 0, d], [e, 0, e, d]) == [both, (0,), (0,), (int(d),)]
        assert DAG.lowest_common_ancestors([], []) == []
        assert DAG.lowest_common_ancestors(d, [e, e]) == [both, both]

    def test_shapes(self):
        every = np.arange(TREE.n_nodes)
        table = TREE.lowest_common_ancestors(every[:, None], every[None, :])
        assert table.shape == (5, 5)
        np.testing.assert_array_equal(table, table.T)
        np.testing.assert_array_equal(np.diag(table), every)
        assert TREE.lowest_common_ancestors(1, 4).tolist() == [0]
        assert TREE.lowest_common_ancestors([], []).shape == (0,)
        with pytest.raises(LabelError, match="one-dimensional on a DAG"):
            DAG.lowest_common_ancestors([[0]], [[1]])

    def test_large_trees_by_climbing(self):
        rng = np.random.default_rng(0)
        for reach in (1, 3, 5000):  # a chain, a deep tree, a flat tree
            tree = Taxonomy.from_edges([(int(rng.integers(max(0, i - reach), i)), i) for i in range(1, 5000)])
            a, b = rng.integers(0, 5000, (2, 200))
            found = tree.lowest_common_ancestors(a, b)
            for left, right, node in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
                while left != right:
                    left, right = (
                        (int(tree.parent[left]), right) if left > right else (left, int(tree.parent[right]))
                    )
                assert left == node


class TestDistance:
    @settings(max_examples=100, deadline=None)
    @given(any_edges)
    def test_equals_the_twin(self, edges):
        taxonomy, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
        a, b = all_pairs(taxonomy)
        found = taxonomy.distance(a, b)
        assert found.dtype == np.int32
        expected = {name: twin.distances(name) for name in taxonomy.nodes}
        assert found.tolist() == [
            expected[taxonomy.nodes[left]][taxonomy.nodes[right]] for left, right in zip(a, b, strict=True)
        ]

    def test_more_than_one_word_and_block(self, monkeypatch):
        """200 sources take four words; with tiny blocks they take four blocks as well."""
        rng = np.random.default_rng(1)
        edges = {(int(p), i) for i in range(1, 200) for p in rng.integers(0, i, 2)}
        taxonomy, twin = Taxonomy.from_edges(sorted(edges)), GraphTwin(edges)
        a, b = all_pairs(taxonomy)
        expected = [twin.distances(name) for name in taxonomy.nodes]
        expected = [expected[left][taxonomy.nodes[right]] for left, right in zip(a, b, strict=True)]
        assert taxonomy.distance(a, b).tolist() == expected
        monkeypatch.setattr(relations, "_WORDS", 1)
        assert taxonomy.distance(a, b).tolist() == expected

    def test_a_way_through_a_common_child_counts(self):
        dag = Taxonomy.from_edges([("r", "x"), ("x", "a"), ("r", "y"), ("y", "b"), ("a", "c"), ("b", "c")])
        assert dag.distance(dag.id_of("a"), dag.id_of("b")).tolist() == [2]

    @pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "DAG"])
    def test_shapes(self, taxonomy):
        every = np.arange(taxonomy.n_nodes)
        table = taxonomy.distance(every[:, None], every)
        assert table.shape == (taxonomy.n_nodes, taxonomy.n_nodes)
        np.testing.assert_array_equal(table, table.T)
        assert taxonomy.distance(0, 0).tolist() == [0]
        assert taxonomy.distance([], []).shape == (0,)


@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "DAG"])
@pytest.mark.parametrize(
    "ids", [[5], [-1], ["a"], [0.0], [True], None, [[0], [0, 1]], object()], ids=lambda ids: repr(ids)[:12]
)
def test_ids_that_are_none(taxonomy, ids):
    for ask in (taxonomy.distance, taxonomy.lowest_common_ancestors):
        with pytest.raises(LabelError, match="node id"):
            ask(ids, [0])
        with pytest.raises(LabelError, match="node id"):
            ask([0], ids)
    if ids is not None:
        with pytest.raises(LabelError, match="node id"):
            taxonomy.ancestor_matrix(ids)


def test_shapes_that_do_not_fit():
    with pytest.raises(LabelError, match=r"cannot pair ids of shape \(2,\) with ids of shape \(3,\)"):
        TREE.distance([0, 1], [0, 1, 2])
    with pytest.raises(LabelError, match="one-dimensional"):
        TREE.ancestor_matrix([[0]])
