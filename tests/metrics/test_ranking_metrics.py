"""Ranking metrics: against the twins, by hand, and in every form of scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_cases import cases

from reference import metrics_twin as twin
from taxolearn import metrics
from taxolearn.structure import Taxonomy

EXAMPLES = settings(deadline=None, max_examples=80)
TREE = Taxonomy.from_paths(["A/a", "A/b", "C"])  # nodes: root, A, a, b, C in some order
RANKING = (metrics.precision_at_k, metrics.ndcg_at_k)


@st.composite
def scored(draw):
    case = draw(cases())
    n = case.taxonomy.n_nodes
    score = st.sampled_from([-2.0, -0.5, 0.0, 0.5, 1.0])  # ties on purpose
    rows = draw(
        st.lists(st.lists(score, min_size=n, max_size=n), min_size=len(case.true), max_size=len(case.true))
    )
    return case, rows, draw(st.integers(1, n + 2))


def compare(case, scores, ranked, k, **options):
    options |= {"k": k, "sample_weight": case.weights}
    p = twin.propensities([*case.true, set(), set(), set()], case.taxonomy.nodes)
    arguments = case.y_true, scores, case.taxonomy
    assert metrics.precision_at_k(*arguments, **options) == pytest.approx(
        twin.precision_at_k(case.true, ranked, k, case.weights)
    )
    assert metrics.ndcg_at_k(*arguments, **options) == pytest.approx(
        twin.ndcg_at_k(case.true, ranked, k, case.weights)
    )
    psp = metrics.propensity_scored_precision_at_k(*arguments, propensities=p, **options)
    assert psp == pytest.approx(twin.psp_at_k(case.true, ranked, p, k, case.weights))


@EXAMPLES
@given(scored())
def test_dense_scores(drawn):
    case, rows, k = drawn
    compare(case, np.array(rows), twin.ranked_by(rows, case.taxonomy.nodes), k)


@EXAMPLES
@given(scored(), st.randoms(use_true_random=False))
def test_named_columns_in_any_order(drawn, random):
    case, rows, k = drawn
    columns = list(case.taxonomy.nodes)
    random.shuffle(columns)
    columns = columns[: random.randint(1, len(columns))]
    rows = [row[: len(columns)] for row in rows]
    compare(case, rows, twin.ranked_by(rows, columns), k, labels=columns)


@EXAMPLES
@given(scored())
def test_sparse_scores_rank_stored_entries_only(drawn):
    case, rows, k = drawn
    matrix = sp.csr_array(np.array(rows))  # zeros are not stored
    stored = [[score or None for score in row] for row in rows]
    compare(case, matrix, twin.ranked_by(stored, case.taxonomy.nodes), k)


@EXAMPLES
@given(scored(), st.integers(0, 4))
def test_ranked_names(drawn, shortest):
    case, rows, k = drawn
    ranked = twin.ranked_by(rows, case.taxonomy.nodes)
    ranked = [row[: shortest + i] for i, row in enumerate(ranked)]
    compare(case, ranked, ranked, k)


@EXAMPLES
@given(cases())
def test_propensities(case):
    if len(case.true) < 3:
        return
    expected = twin.propensities(case.true, case.taxonomy.nodes, a=0.6, b=2.6)
    assert metrics.propensities(case.y_true, case.taxonomy, a=0.6, b=2.6) == pytest.approx(expected)


def test_propensities_by_hand():
    p = metrics.propensities(["a"] * 8 + ["b"] * 2)
    c = (math.log(10) - 1) * 2.5**0.55
    assert p == pytest.approx({"a": 1 / (1 + c * 9.5**-0.55), "b": 1 / (1 + c * 3.5**-0.55)})
    assert p["b"] < p["a"] < 1
    unseen = metrics.propensities(["a"] * 8 + ["b"] * 2, TREE)["C"]
    assert unseen == pytest.approx(1 / (1 + c * 1.5**-0.55))


def test_values_by_hand():
    true, ranked = [["a", "b"], ["C"], []], [["b", "C", "a"], ["A", "C"], ["a"]]
    assert metrics.precision_at_k(true, ranked, TREE, k=2) == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    second = 1 / math.log2(3)
    assert metrics.ndcg_at_k(true, ranked, TREE, k=2) == pytest.approx((1 / (1 + second) + second) / 3)
    p = {"a": 0.1, "b": 0.5, "C": 1.0}
    psp = metrics.propensity_scored_precision_at_k(true, ranked, TREE, k=2, propensities=p)
    assert psp == pytest.approx((2 + 1) / (10 + 2 + 1))


def test_perfect_ranking_scores_one():
    true = [["a", "b"], ["C"]]
    p = {"a": 0.1, "b": 0.5, "C": 1.0}
    assert metrics.ndcg_at_k(true, true, TREE) == 1.0
    assert metrics.propensity_scored_precision_at_k(true, true, TREE, propensities=p) == pytest.approx(1.0)
    # k = 1 has to choose the rarer label to be perfect
    assert metrics.propensity_scored_precision_at_k(true, true, TREE, propensities=p, k=1) == pytest.approx(
        1.0
    )


@pytest.mark.parametrize("metric", RANKING)
def test_forms_of_a_ranking(metric):
    true, ranked = ["a", "b"], [["a", "C"], ["C", "b"]]
    expected = metric(true, ranked, TREE, k=2)
    assert metric(true, np.array(ranked), TREE, k=2) == expected
    assert metric(true, np.array(ranked, dtype=object), TREE, k=2) == expected
    assert metric(true, [("a", "C", "b"), ("C", "b", None)], TREE, k=2) == expected
    assert metric(true, ranked, k=2) == expected


def test_integer_names_are_a_ranking():
    assert metrics.precision_at_k([3, 5], np.array([[3, 5], [3, 4]]), k=1) == 0.5


def test_columns_without_taxonomy_follow_the_sorted_labels():
    assert metrics.precision_at_k(["b", "a"], [[0.1, 0.9], [0.2, 0.8]], k=1) == 0.5


def test_empty_sparse_rows_and_infinite_scores():
    scores = np.array([[-np.inf, 2.0], [1.0, np.inf]])
    assert metrics.precision_at_k(["a", "b"], scores, labels=["a", "b"], k=1) == 0.5
    nothing = sp.csr_array((2, 2))
    assert metrics.precision_at_k(["a", "b"], nothing, labels=["a", "b"], k=1) == 0.0


def test_k_may_exceed_everything():
    """No array of k columns is made."""
    huge = 10**12
    for scores in ([["a", "C"]], np.eye(1, TREE.n_nodes), sp.csr_array(np.eye(1, TREE.n_nodes)), [[]]):
        assert metrics.precision_at_k(["C"], scores, TREE, k=huge) <= 1 / huge
        assert 0 <= metrics.ndcg_at_k(["C"], scores, TREE, k=huge) < 1


def test_without_a_taxonomy_a_ranked_name_may_be_new():
    p = {"cat": 0.5}
    for row, score in ((["dog", "cat"], 1.0), (["dog", "cow"], 0.0)):
        assert metrics.propensity_scored_precision_at_k(["cat"], [row], propensities=p, k=2) == score
        assert metrics.precision_at_k(["cat"], [row], k=2) == score / 2


def test_rows_of_arrays():
    assert metrics.precision_at_k(["a", "b"], [np.array([0.1, 0.2])] * 2, labels=["a", "b"], k=1) == 0.5
    assert metrics.precision_at_k(["a", "b"], [np.array(["b"]), np.array(["b", "a"])], k=1) == 0.5


def test_scores_are_left_alone():
    scores = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 0]), np.array([0, 2, 3])), shape=(2, 2))
    scores.has_sorted_indices = False
    scores.has_canonical_format = False
    before = scores.data.copy(), scores.indices.copy()
    metrics.precision_at_k(["a", "b"], scores, labels=["a", "b"], k=1)
    assert np.array_equal(scores.data, before[0])
    assert np.array_equal(scores.indices, before[1])
