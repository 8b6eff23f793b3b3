"""Where scikit-learn has the same metric, the numbers agree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from taxolearn import metrics

EXAMPLES = settings(deadline=None, max_examples=60)
labels = st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcdef")), min_size=1, max_size=30)
indicators = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.int8, (n, 5), elements=st.integers(0, 1)),
        hnp.arrays(np.int8, (n, 5), elements=st.integers(0, 1)),
    )
)


@EXAMPLES
@given(labels, st.integers(0, 2**32 - 1))
def test_one_label_a_row(pairs, seed):
    true, pred = map(list, zip(*pairs, strict=True))
    weights = np.random.default_rng(seed).uniform(0.1, 2, len(true))
    for sample_weight in (None, weights):
        same = {"sample_weight": sample_weight}
        assert metrics.accuracy(true, pred, **same) == pytest.approx(sk.accuracy_score(true, pred, **same))
        assert metrics.zero_one_loss(true, pred, **same) == pytest.approx(
            sk.zero_one_loss(true, pred, **same)
        )
        micro = sk.f1_score(true, pred, average="micro", **same)
        macro = sk.f1_score(true, pred, average="macro", **same)
        assert metrics.micro_f1(true, pred, **same) == pytest.approx(micro)
        assert metrics.macro_f1(true, pred, **same) == pytest.approx(macro)
    chosen = ["a", "f", "z"]
    expected = sk.f1_score(true, pred, average="macro", labels=chosen, zero_division=0)
    assert metrics.macro_f1(true, pred, labels=chosen) == pytest.approx(expected)


@EXAMPLES
@given(indicators)
def test_several_labels_a_row(pair):
    true, pred = pair
    lists = [[[int(i) for i in np.flatnonzero(row)] for row in matrix] for matrix in pair]
    assert metrics.accuracy(*lists) == pytest.approx(sk.accuracy_score(true, pred))
    assert metrics.jaccard(*lists) == pytest.approx(
        sk.jaccard_score(true, pred, average="samples", zero_division=1)
    )
    assert metrics.micro_f1(*lists) == pytest.approx(
        sk.f1_score(true, pred, average="micro", zero_division=1)
    )
    assert metrics.example_f1(*lists) == pytest.approx(
        sk.f1_score(true, pred, average="samples", zero_division=1)
    )
    seen = np.flatnonzero((true + pred).any(axis=0))
    if seen.size:
        macro = sk.f1_score(true, pred, average="macro", labels=seen, zero_division=0)
        assert metrics.macro_f1(*lists) == pytest.approx(macro)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_ndcg_and_precision(k):
    rng = np.random.default_rng(k)
    true = rng.random((40, 7)) < 0.3
    true[0] = False  # both count a row without labels as 0
    scores = rng.normal(size=(40, 7))
    lists = [np.flatnonzero(row).tolist() for row in true]
    weights = rng.uniform(0.5, 2, 40)
    expected = sk.ndcg_score(true, scores, k=k, sample_weight=weights)
    found = metrics.ndcg_at_k(lists, scores, k=k, labels=range(7), sample_weight=weights)
    assert found == pytest.approx(expected)
    stored = sp.csr_array(scores)
    assert metrics.ndcg_at_k(lists, stored, k=k, labels=range(7), sample_weight=weights) == pytest.approx(
        expected
    )


def test_precision_at_one_is_top_one_accuracy():
    rng = np.random.default_rng(3)
    true, scores = rng.integers(0, 6, 50), rng.normal(size=(50, 6))
    expected = sk.top_k_accuracy_score(true, scores, k=1, labels=range(6))
    assert metrics.precision_at_k(true, scores, k=1, labels=range(6)) == pytest.approx(expected)
