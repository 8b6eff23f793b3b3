"""Thresholds against every possible threshold, one class at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from taxolearn.decoders import above, tune_thresholds

scores_and_targets = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=st.integers(-3, 3).map(float)), arrays(np.bool_, shape)
    )
)


def f1(predicted: np.ndarray, true: np.ndarray) -> float:
    total = predicted.sum() + true.sum()
    return 2.0 * (predicted & true).sum() / total if total else 0.0


@settings(max_examples=100, deadline=None)
@given(scores_and_targets)
def test_no_other_threshold_is_better(case: tuple[np.ndarray, np.ndarray]) -> None:
    scores, targets = case
    tuned = tune_thresholds(scores, targets)
    for c in range(scores.shape[1]):
        candidates = np.arange(-4.25, 4.0, 0.5)
        best = max(f1(scores[:, c] > cut, targets[:, c]) for cut in candidates)
        if best < 0.1:
            assert tuned[c] == scores[:, c].max()
            assert not (scores[:, c] > tuned[c]).any()
        else:
            assert f1(scores[:, c] > tuned[c], targets[:, c]) == best


def test_a_class_without_held_out_rows_stays_silent_below_what_was_seen() -> None:
    tuned = tune_thresholds(np.array([[0.5], [2.0]]), np.zeros((2, 1), dtype=bool))
    assert tuned.tolist() == [2.0]


def test_all_rows_positive_and_equal() -> None:
    scores = np.full((3, 1), 1.5)
    tuned = tune_thresholds(scores, np.ones((3, 1), dtype=bool))
    assert (scores > tuned).all()


@settings(max_examples=100, deadline=None)
@given(scores_and_targets)
def test_above_is_a_comparison(case: tuple[np.ndarray, np.ndarray]) -> None:
    scores, _ = case
    cuts = np.arange(scores.shape[1]) - 1.0
    indptr, indices = above(scores, cuts)
    assert len(indptr) == len(scores) + 1
    for row in range(len(scores)):
        assert indices[indptr[row] : indptr[row + 1]].tolist() == np.flatnonzero(scores[row] > cuts).tolist()


def test_above_without_rows() -> None:
    indptr, indices = above(np.zeros((0, 3)), np.zeros(3))
    assert indptr.tolist() == [0]
    assert len(indices) == 0


def test_a_row_of_weight_two_counts_as_two_rows():
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(40, 5))
    targets = scores + rng.normal(size=(40, 5)) > 0.8
    weight = rng.integers(1, 4, size=40)
    weighted = tune_thresholds(scores, targets, row_weight=weight.astype(float))
    repeated = tune_thresholds(np.repeat(scores, weight, axis=0), np.repeat(targets, weight, axis=0))
    np.testing.assert_allclose(weighted, repeated)
