"""The statistics of the audit against slow twins and against chance."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import Taxonomy
from taxolearn.auditing.folds import deal, splits
from taxolearn.auditing.labels import margin_noise, margins_of, ranking, suspects
from taxolearn.auditing.means import ClassMeans
from taxolearn.auditing.moves import paired_error, score
from taxolearn.auditing.places import Places, dissolved, replaced
from taxolearn.auditing.sharing import affinities_of
from taxolearn.auditing.structure import graph_of, learned_ties
from taxolearn.auditing.twins import auc
from taxolearn.metrics import hierarchical_f1
from taxolearn.problem import make_problem

sys.path.append(str(Path(__file__).parents[1] / "reference"))
import audit_twin

TREE = Taxonomy.from_paths(["r/a/a1", "r/a/a2", "r/a/a3", "r/b/b1", "r/b/b2", "r/c"])


def scored(seed: int = 0, per_class: int = 6) -> tuple[np.ndarray, sp.csr_array]:
    rng = np.random.default_rng(seed)
    targets = np.repeat(np.eye(6), per_class, axis=0)
    return rng.normal(size=targets.shape) + 0.3 * targets, sp.csr_array(targets)


def test_affinities_and_contrasts_are_those_of_the_twin() -> None:
    scores, targets = scored()
    found, has = affinities_of(scores, targets), targets.toarray() > 0
    np.testing.assert_allclose(found.rows, audit_twin.standardized(scores, has), rtol=1e-12)
    for a in range(6):
        for b in range(6):
            if a != b:
                assert found.pairs[a, b] == pytest.approx(
                    audit_twin.affinity(found.rows, has, a, b), rel=1e-12
                )
    places = Places(TREE, TREE.leaf_ids, found)
    weights = places.between(np.array([0]), np.array([3, 4]), 1.0) - places.between(
        np.array([0]), np.array([1, 2]), 1.0
    )
    estimate = found.contrast(sp.csr_array(weights))
    value, error = audit_twin.difference(found.rows, has, 0, [3, 4], [1, 2])
    assert estimate.value == pytest.approx(value, rel=1e-12)
    assert estimate.error == pytest.approx(error, rel=1e-12)


def test_the_standard_error_of_a_contrast_covers_rows_of_both_sides() -> None:
    """Of class means, whose noise is in every score: the error told is the spread over new draws."""
    steps = np.random.default_rng(7).normal(size=(6, 5))
    y = np.repeat(np.arange(6), 12)
    values, errors = [], []
    for seed in range(150):
        X = steps[y] + 2.0 * np.random.default_rng(seed).normal(size=(72, 5))
        targets = sp.csr_array(np.eye(6)[y])
        scores = ClassMeans().fit(X, y).decision_function(X)  # a row is in the mean of its own class only
        found = affinities_of(scores, targets)
        places = Places(TREE, TREE.leaf_ids, found)
        weights = places.between(np.array([0]), np.array([3, 4]), 1.0) - places.between(
            np.array([0]), np.array([1, 2]), 1.0
        )
        estimate = found.contrast(sp.csr_array(weights))
        values.append(estimate.value)
        errors.append(estimate.error)
    assert 0.8 < np.mean(errors) / np.std(values) < 1.4


def test_learned_ties_are_those_of_the_held_out_covariance() -> None:
    """Families are tied; classes that are not judged have no ties, and too many classes have no graph."""
    rng = np.random.default_rng(3)
    means = np.repeat(3.0 * rng.normal(size=(2, 20)), 3, axis=0) + rng.normal(size=(6, 20))
    y = np.repeat(np.arange(6), 8)
    X = means[y] + rng.normal(size=(48, 20))
    targets = sp.csr_array(np.eye(6)[y])
    scores = ClassMeans().fit(X[::2], y[::2]).decision_function(X)
    scores[::2] = np.nan  # rows that were not held out
    ties = learned_ties(scores, targets, np.ones(6, dtype=bool))
    assert ties is not None
    np.testing.assert_array_equal(ties, ties.T)
    same = np.equal.outer(np.arange(6) // 3, np.arange(6) // 3) & ~np.eye(6, dtype=bool)
    assert ties[same].min() > ties[~same].max() == 0.0
    some = learned_ties(scores, targets, np.arange(6) > 0)
    assert some is not None
    assert not some[0].any()
    assert not some[:, 0].any()
    assert graph_of(ties, list("abcdef")).n_edges == 6
    assert learned_ties(np.zeros((1, 301)), sp.csr_array((1, 301)), np.ones(301, dtype=bool)) is None


def test_auc_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    high, low = rng.integers(0, 8, size=15).astype(float), rng.integers(-2, 6, size=11).astype(float)
    found = auc(high, low)
    assert (found.value, found.error) == pytest.approx(audit_twin.auc(high, low), rel=1e-12)


def test_an_auc_without_spread_still_has_an_error() -> None:
    assert auc(np.ones(5) + 1.0, np.ones(5)).error > 0


def test_margins_of_one_and_of_several_labels() -> None:
    rng = np.random.default_rng(1)
    scores, has = rng.normal(size=(20, 5)), rng.random((20, 5)) < 0.4
    has[:, 0] |= ~has.any(axis=1)
    has[has.all(axis=1), 1] = False
    found = margins_of(scores, sp.csr_array(has.astype(float)))
    expected = [audit_twin.margin(scores[i], set(np.flatnonzero(has[i]))) for i in range(20)]
    np.testing.assert_allclose(found.margin, expected)
    assert ranking(found.margin).tolist() == np.argsort(expected, kind="stable").tolist()
    assert all(has[i, found.label[i]] and not has[i, found.other[i]] for i in range(20))


def test_suspects_follow_benjamini_and_hochberg() -> None:
    scores = np.column_stack([np.array([-5.0, -4.0, 0.1, 3.0]), np.zeros(4)])
    found = margins_of(scores, sp.csr_array(np.column_stack([np.ones(4), np.zeros(4)])))
    assert [one.row for one in suspects(found, 1.0, ["x", "y"], 0.05)] == [0, 1]
    assert suspects(found, 10.0, ["x", "y"], 0.05) == []
    assert suspects(found, 0.0, ["x", "y"], 0.05) == []


def test_the_noise_of_a_margin_is_that_of_a_mean_over_rows() -> None:
    """A statistic that is a mean of its training rows: the noise told is its spread over draws of the rows."""
    n_folds, n, told, seen = 5, 100, [], []
    for seed in range(300):
        values = np.random.default_rng(seed).normal(size=n)
        means = []
        for deal_number in range(2):
            order = np.random.default_rng((seed, deal_number)).permutation(n)
            means.append(values[order[: n - n // n_folds]].mean())
        told.append(margin_noise(np.array([means[0]]), np.array([means[1]]), n_folds) ** 2)
        seen.append(0.5 * sum(means))
    assert np.sqrt(np.mean(told)) == pytest.approx(np.std(seen), rel=0.15)


def test_influences_are_the_change_of_f1_by_a_row() -> None:
    rng = np.random.default_rng(2)
    names = np.array(TREE.nodes[1:])
    y, predicted = rng.choice(names, 40), rng.choice(names, 40)
    found = score(TREE, y, predicted)
    assert found.f1 == pytest.approx(hierarchical_f1(y, predicted, TREE))
    assert found.influence.sum() == pytest.approx(0.0, abs=1e-9)
    for row in range(5):
        weight = np.ones(40)
        weight[row] += 1e-5
        moved = hierarchical_f1(y, predicted, TREE, sample_weight=weight)
        assert 40 * (moved - found.f1) / 1e-5 == pytest.approx(found.influence[row], rel=1e-3, abs=1e-6)
    assert found.right.tolist() == (y == predicted).astype(float).tolist()


def test_the_paired_error_is_wider_than_that_of_independent_rows() -> None:
    difference = np.random.default_rng(0).normal(size=50)
    plain = difference.std(ddof=1) / np.sqrt(50)
    assert paired_error(difference, 5) == pytest.approx(1.5 * plain)


def test_folds_deal_every_class_evenly_and_hold_each_row_out_once() -> None:
    y = np.array(["a"] * 7 + ["b"] * 5 + ["c"] * 2)
    problem = make_problem(np.zeros((14, 1)) + np.arange(14)[:, None], y)
    fold = deal(problem, 3, seed=4)
    assert set(fold[y == "c"]) == {-1}
    for name in "ab":
        counts = np.bincount(fold[y == name], minlength=3)
        assert counts.max() - counts.min() <= 1
    held = np.concatenate([held for _, held in splits(fold)])
    assert sorted(held) == np.flatnonzero(fold >= 0).tolist()
    assert all(not set(kept) & set(held) for kept, held in splits(fold))


def test_class_means_dense_and_sparse() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 4)), np.repeat([0, 1, 2], 4)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    centre = means.mean(axis=0)
    sparse = ClassMeans().fit(sp.csr_array(X), y).decision_function(sp.csr_array(X))
    np.testing.assert_allclose(sparse, (X - centre) @ (means - centre).T, atol=1e-12)
    unit = (X - means[y]).std(axis=0)
    dense = ClassMeans().fit(X, y).decision_function(X)
    np.testing.assert_allclose(dense, ((X - centre) / unit) @ ((means - centre) / unit).T, atol=1e-12)


def test_taxonomies_after_a_move_and_a_dissolution() -> None:
    moved = replaced(TREE, "b1", "b", "a")
    assert set(moved.children("a")) == {"a1", "a2", "a3", "b1"}
    assert "b" not in replaced(moved, "b2", "b", "a")  # nothing is left below it
    flat = dissolved(TREE, "a", set())
    assert "a" not in flat
    assert set(flat.children("r")) == {"a1", "a2", "a3", "b", "c"}
    assert "a" in dissolved(TREE, "a", {"a"}).leaves
    dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("b", "y"), ("r", "y")])
    assert set(dissolved(dag, "b", set()).parents("x")) == {"a", "r"}
    assert replaced(dag, "x", "a", "y").parents("x") == ("b", "y")
