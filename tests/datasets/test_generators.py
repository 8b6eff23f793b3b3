"""Generators: exact sizes, equal data for equal seeds, classes that can be learnt and share words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from dataset_strategies import dense
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from taxolearn.datasets import (
    SHAPES,
    Shape,
    make_synthetic_balanced,
    make_synthetic_unbalanced,
    make_text_like,
    random_taxonomy,
)
from taxolearn.errors import DataError
from taxolearn.structure import Taxonomy


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 8), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_random_taxonomies_have_the_sizes_asked_for(n_inner, n_leaves, depth, dag, seed):
    assume(depth <= n_inner <= 1 + (depth - 1) * n_leaves)
    assume(depth > 1 or not dag)
    taxonomy = random_taxonomy(n_inner + n_leaves, n_leaves, depth, dag=dag, random_state=seed)
    assert (taxonomy.n_nodes, taxonomy.n_leaves, taxonomy.max_depth) == (n_inner + n_leaves, n_leaves, depth)
    assert taxonomy.is_tree != dag
    assert taxonomy.root == "n0"
    assert taxonomy == random_taxonomy(n_inner + n_leaves, n_leaves, depth, dag=dag, random_state=seed)


def test_random_taxonomy_without_depth():
    assert random_taxonomy(100, 60, random_state=0).max_depth == 5
    assert random_taxonomy(21, 20, random_state=0).max_depth == 1
    assert random_taxonomy(100, 2, random_state=0).max_depth >= 50
    assert random_taxonomy(100, 60, random_state=0) != random_taxonomy(100, 60, random_state=1)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((10, 10, 2), "found 0 inner nodes, 10 leaves"),
        ((10, 0, 2), "found 10 inner nodes, 0 leaves"),
        ((10, 8, 3), "2 inner nodes, 8 leaves allow a depth of 2 to 2, found 3"),
        ((100, 2, 3), "allow a depth of 50 to 98, found 3"),
    ],
)
def test_random_taxonomies_that_do_not_exist(sizes, message):
    with pytest.raises(DataError, match=message):
        random_taxonomy(*sizes)


def test_a_flat_dag_does_not_exist():
    with pytest.raises(DataError, match="depth 1 is a tree"):
        random_taxonomy(5, 4, 1, dag=True)


def test_synthetic_balanced_is_the_papers():
    dataset = make_synthetic_balanced(random_state=0)
    assert dataset.X.shape == (8_000, 1_000)
    tree = dataset.taxonomy
    assert (tree.n_nodes, tree.n_leaves, tree.max_depth, tree.is_tree) == (15, 8, 3, True)
    assert {len(tree.children(name)) for name in tree.nodes if name not in tree.leaves} == {2}
    assert set(dataset.y) == set(tree.leaves)
    assert abs(dataset.X.mean()) < 0.01
    assert abs(dataset.X.std() - 1.0) < 0.01


def test_synthetic_balanced_labels_are_the_largest_potential():
    """With the weights known (same draws), the label is the argmax of the sum over the path."""
    dataset = make_synthetic_balanced(300, 5, n_levels=3, random_state=3)
    rng = np.random.default_rng(3)
    weights, X = rng.standard_normal((7, 5)), rng.standard_normal((300, 5))
    np.testing.assert_array_equal(dataset.X, X)
    at = {name: k for k, name in enumerate(["r", "r0", "r1", "r00", "r01", "r10", "r11"])}
    tree = dataset.taxonomy
    for x, label in zip(X, dataset.y, strict=True):
        potential = {leaf: sum(weights[at[name]] @ x for name in tree.path(leaf)) for leaf in tree.leaves}
        assert label == max(potential, key=potential.get)


def test_synthetic_unbalanced_is_the_papers():
    dataset = make_synthetic_unbalanced(random_state=0)
    tree = dataset.taxonomy
    assert dataset.X.shape == (10_000, 1_000)
    assert (tree.n_nodes, tree.n_leaves, tree.max_depth) == (21, 11, 10)
    np.testing.assert_allclose(np.linalg.norm(dataset.X, axis=1), 1.0)
    sizes = Counter(dataset.y)
    for k in range(5):  # each cut takes half of what is left
        share = sizes[f"leaf{k}"] / 10_000
        assert abs(share - 0.5 ** (k + 1)) < 0.05
        assert len(tree.path(f"leaf{k}")) == k + 2


def test_synthetic_unbalanced_leaves_are_cut_by_hyperplanes():
    dataset = make_synthetic_unbalanced(3_000, 5, depth=3, random_state=1)
    y = np.array(dataset.y)
    first = LinearSVC(C=1e4, max_iter=100_000).fit(dataset.X, y == "leaf0")
    assert first.score(dataset.X, y == "leaf0") > 0.99


@pytest.mark.parametrize("make", [make_synthetic_balanced, make_synthetic_unbalanced])
def test_synthetic_seeds_and_errors(make):
    one, same, other = (make(50, 4, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.X, same.X)
    assert one.y == same.y
    assert not np.array_equal(one.X, other.X)
    with pytest.raises(DataError, match="needs rows and features"):
        make(0, 4)
    with pytest.raises(DataError, match="depth must be from"):
        make(5, 4, 0)


@given(
    st.integers(1, 60),
    st.integers(2, 50),
    st.integers(1, 20),
    st.floats(1.0, 3.0),
    st.floats(1.0, 20.0),
    st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_text_like_has_the_sizes_asked_for(n_rows, n_features, n_leaves, labels, length, seed):
    dataset = make_text_like(
        n_rows,
        n_features,
        n_leaves,
        n_leaves + 6,
        labels_per_row=labels,
        mean_length=length,
        random_state=seed,
    )
    X, tree = dataset.X, dataset.taxonomy
    assert X.shape == (n_rows, n_features)
    assert (tree.n_leaves, tree.n_nodes) == (n_leaves, n_leaves + 6)
    assert (X.dtype, X.indices.dtype, X.format) == (np.float32, np.int32, "csr")
    assert X.has_canonical_format
    np.testing.assert_allclose(np.sqrt((X * X).sum(axis=1)), 1.0, rtol=1e-5)
    assert (X.data > 0).all()
    rows = dataset.label_rows()
    assert all(1 <= len(row) == len(set(row)) for row in rows)
    assert {label for row in rows for label in row} <= set(tree.leaves)
    if n_rows >= n_leaves:
        assert {label for row in rows for label in row} == set(tree.leaves)


def test_text_like_seeds():
    one, same, other = (make_text_like(40, 60, 5, 9, random_state=seed) for seed in (0, 0, 1))
    assert (one.y, one.taxonomy) == (same.y, same.taxonomy)
    assert one.X.data.tobytes() == same.X.data.tobytes()
    np.testing.assert_array_equal(one.X.indices, same.X.indices)
    assert not np.array_equal(dense(one.X), dense(other.X))


def test_text_like_over_a_given_taxonomy_and_overrides():
    dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("b", "d")])
    dataset = make_text_like(30, 20, taxonomy=dag, random_state=0)
    assert dataset.taxonomy is dag
    assert set(dataset.y) == {"c", "d"}
    small = make_text_like(shape="LSHTC-small", n_rows=50, n_features=300, random_state=0)
    assert small.X.shape == (50, 300)
    assert small.taxonomy.n_leaves == SHAPES["lshtc_small"].n_leaves
    own = make_text_like(shape=Shape(20, 30, 9, 6, 2, labels_per_row=2.0), random_state=0)
    assert own.multilabel
    assert own.taxonomy.max_depth == 2


def test_text_like_follows_zipf_and_a_power_law():
    dataset = make_text_like(4_000, 5_000, 50, 80, random_state=0)
    sizes = sorted(Counter(dataset.y).values(), reverse=True)
    assert sizes[0] > 3 * sizes[9] > 3 * sizes[-1] > 0
    in_rows = np.sort(np.bincount(dataset.X.indices, minlength=5_000))[::-1]
    assert in_rows[0] > 5 * in_rows[100] > 5 * in_rows[-1]
    assert abs(dataset.X.nnz / 4_000 - 75) < 25
    long = make_text_like(500, 5_000, 50, 80, mean_length=300, random_state=0)
    assert long.X.nnz / 500 > 150


def test_text_like_related_classes_share_words():
    """Mean rows of two classes are closer, the deeper their lowest common ancestor."""
    tree = Taxonomy.from_paths(
        [f"{a}/{a}{b}/{a}{b}{c}" for a in "xy" for b in "01" for c in "01"], root="root"
    )
    dataset = make_text_like(3_000, 2_000, taxonomy=tree, class_skew=0.0, overlap=0.0, random_state=0)
    y = np.array(dataset.y)
    mean = {leaf: dataset.X[np.flatnonzero(y == leaf)].mean(axis=0) for leaf in tree.leaves}

    def closeness(pairs):
        return np.mean(
            [mean[a] @ mean[b] / np.linalg.norm(mean[a]) / np.linalg.norm(mean[b]) for a, b in pairs]
        )

    siblings = closeness([("x00", "x01"), ("x10", "x11"), ("y00", "y01"), ("y10", "y11")])
    cousins = closeness([("x00", "x10"), ("x01", "x11"), ("y00", "y10"), ("y01", "y11")])
    strangers = closeness([("x00", "y00"), ("x01", "y01"), ("x10", "y10"), ("x11", "y11")])
    assert siblings > cousins + 0.05 > strangers + 0.1


@pytest.mark.parametrize("name", ["clef", "rcv1_ccat"])
def test_text_like_classes_can_be_learnt_but_not_at_once(name):
    dataset = make_text_like(shape=name, n_rows=3_000, random_state=0)
    y = np.array(dataset.y)
    model = LinearSVC(tol=1e-2).fit(dataset.X[:2_000], y[:2_000])
    accuracy = model.score(dataset.X[2_000:], y[2_000:])
    commonest = Counter(dataset.y).most_common(1)[0][1] / 3_000
    assert commonest + 0.15 < accuracy < 0.95


def test_overlap_makes_it_harder():
    def accuracy(overlap):
        dataset = make_text_like(2_000, 2_000, 20, 30, overlap=overlap, random_state=0)
        y = np.array(dataset.y)
        return LinearSVC(tol=1e-2).fit(dataset.X[:1_500], y[:1_500]).score(dataset.X[1_500:], y[1_500:])

    assert accuracy(0.0) > accuracy(0.3) + 0.05 > accuracy(0.6) + 0.1


def test_shapes_are_those_published_and_can_be_built():
    assert (SHAPES["ipc"].n_rows, SHAPES["ipc"].n_features) == (46_324, 541_869)
    assert (SHAPES["dmoz_2010"].n_leaves, SHAPES["dmoz_2010"].n_nodes) == (12_294, 17_221)
    for name, shape in SHAPES.items():
        if shape.n_nodes < 20_000:
            tree = random_taxonomy(shape.n_nodes, shape.n_leaves, shape.depth, dag=shape.dag, random_state=0)
            assert (tree.n_nodes, tree.n_leaves, tree.max_depth) == (
                shape.n_nodes,
                shape.n_leaves,
                shape.depth,
            ), name
    with pytest.raises(TypeError):
        SHAPES["ipc"] = SHAPES["clef"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": "imdb"}, "shape must be one of clef, .*, found 'imdb'"),
        ({"n_rows": 0, "shape": "clef"}, "need a row and two features"),
        ({"n_rows": 5, "n_features": 9}, "n_leaves and n_nodes are needed"),
        ({"shape": "clef", "overlap": 1.0}, "overlap must be in"),
        ({"shape": "clef", "labels_per_row": 0.5}, "labels_per_row and mean_length must be 1 or more"),
    ],
)
def test_text_like_errors(options, message):
    with pytest.raises(DataError, match=message):
        make_text_like(**options)
