"""Thresholds against every possible threshold, one class at a time; the decoder against its slow twin."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from decoder_cases import eighths, node_vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from reference.decoders_twin import threshold_ranking
from taxolearn.decoders import Thresholds, above, common_threshold, tune_thresholds
from taxolearn.errors import DataError, ModelError
from taxolearn.testing import check_decoder
from taxolearn.vectors import ClassVectors, path_vectors

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


def check_against_twin(decoder: Thresholds, vectors: Any, X: Any, expected: Any, beam: int | None) -> None:
    """`expected` are the scores of all classes."""
    answers = decoder.decode(vectors, X, beam=beam)
    ids, scores = decoder.top_k(vectors, X, decoder.n_classes, beam=beam)
    for row, all_scores in enumerate(expected.tolist()):
        labels, ranking = threshold_ranking(all_scores, decoder.thresholds.tolist())
        span = slice(answers.indptr[row], answers.indptr[row + 1])
        assert answers.ids[span].tolist() == labels
        assert answers.scores[span].tolist() == [all_scores[c] for c in labels]
        assert list(zip(ids[row].tolist(), scores[row].tolist(), strict=True)) == ranking


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_the_decoder_is_its_twin(n_classes: int, stored: Any, dtype: Any) -> None:
    rng = np.random.default_rng(n_classes)
    coef, intercept = eighths(rng, (n_classes, 4)).astype(dtype), eighths(rng, n_classes)
    vectors, decoder = ClassVectors(stored(coef), intercept), Thresholds(eighths(rng, n_classes))
    X = np.vstack((eighths(rng, (20, 4)), np.zeros((2, 4)))).astype(dtype)
    check_decoder(decoder, vectors, X)
    expected = X.astype(np.float64) @ coef.T.astype(np.float64) + intercept
    check_against_twin(decoder, vectors, X, expected, None)
    np.testing.assert_array_equal(decoder.scores(vectors, X), expected)


@pytest.mark.parametrize("walked", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_thresholds_count_with_and_without_a_beam(
    seed: int, walked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walked:
        monkeypatch.setattr(path_vectors, "WALK_FROM", 0)
    vectors, X = node_vectors(seed)
    decoder = Thresholds(eighths(np.random.default_rng(seed), vectors.n_classes))
    rows = sparse.csr_array(X)
    check_decoder(decoder, vectors, X)
    for beam in (None, 100):
        check_against_twin(decoder, vectors, rows, vectors.scores(rows), beam)


def test_a_narrow_beam_keeps_to_thresholds_and_to_its_width() -> None:
    vectors, X = node_vectors(3)
    scores = vectors.scores(X)
    for level in (-1.0, 0.0, 0.25):
        decoder = Thresholds(np.full(vectors.n_classes, level))
        for beam in (1, 2):
            answers = decoder.decode(vectors, X, beam=beam)
            assert np.diff(answers.indptr).max() <= beam
            rows = np.repeat(np.arange(len(X)), np.diff(answers.indptr))
            assert (scores[rows, answers.ids] > level).all()
    silent = Thresholds(np.full(vectors.n_classes, 1e6)).decode(vectors, X, beam=3)
    assert silent.indptr.tolist() == [0] * (len(X) + 1)


def test_the_label_far_above_its_threshold_comes_first() -> None:
    vectors = ClassVectors(np.eye(3), np.zeros(3))
    decoder = Thresholds(np.array([4.0, 0.0, 0.0]))
    answers = decoder.decode(vectors, np.array([[5.0, 2.0, -1.0]]))
    assert (answers.ids.tolist(), answers.scores.tolist()) == ([1, 0], [2.0, 5.0])
    facts = decoder.row_facts(vectors, np.array([[5.0, 2.0, -1.0]]))
    assert facts.contest(np.array([0, 1]), np.array([2])).best == 1


def test_other_vectors_with_the_same_decoder() -> None:
    decoder, X = Thresholds(np.array([0.5, 0.5])), np.eye(2)
    one, other = ClassVectors(np.eye(2), np.zeros(2)), ClassVectors(np.eye(2)[::-1].copy(), np.zeros(2))
    for vectors, expected in ((one, [0, 1]), (other, [1, 0]), (one, [0, 1])):
        assert decoder.decode(vectors, X).ids.tolist() == expected
    again = pickle.loads(pickle.dumps(decoder))
    assert vars(again).keys() == {"thresholds", "fill"}
    assert again.decode(other, X).ids.tolist() == [1, 0]


@pytest.mark.parametrize("thresholds", [[], [np.nan], [np.inf, 0.0], [[1.0]], 1.0])
def test_thresholds_that_are_none(thresholds: Any) -> None:
    with pytest.raises(DataError, match="thresholds must be one finite number per class"):
        Thresholds(np.array(thresholds))


@pytest.mark.parametrize(
    ("stored", "sentence"),
    [
        ({}, "'thresholds' is missing"),
        ({"thresholds": np.zeros(2, dtype=np.float32)}, "of another type"),
        ({"thresholds": np.zeros((1, 2))}, "of another type"),
        ({"thresholds": np.zeros(3)}, "there are 3 thresholds for 2 classes"),
        ({"thresholds": np.array([0.0, np.nan])}, "one finite number"),
    ],
)
def test_stored_thresholds_are_checked(stored: Any, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        Thresholds.from_arrays(stored, 2)


@pytest.mark.parametrize("beam", [0, -1, 1.5, True, "3"])
def test_a_beam_that_is_no_number_is_refused(beam: Any) -> None:
    vectors, X = node_vectors(0)
    with pytest.raises(DataError, match="beam must be a whole number from 1 on"):
        Thresholds(np.zeros(vectors.n_classes)).decode(vectors, X, beam=beam)


def test_rows_without_a_label_get_the_best_one_where_asked() -> None:
    vectors = ClassVectors(np.eye(2), np.zeros(2))
    X = np.array([[-1.0, -0.5], [1.0, 2.0], [-2.0, -2.0]])
    found = Thresholds(np.array([0.0, 0.75]), fill=True).decode(vectors, X)
    assert found.indptr.tolist() == [0, 1, 3, 4]
    assert found.ids.tolist() == [0, 1, 0, 0]  # -1 is 1 below its threshold, -0.5 is 1.25 below
    stored = Thresholds(np.zeros(2), fill=True)
    assert Thresholds.from_arrays(stored.arrays(), 2).fill
    assert not Thresholds.from_arrays(Thresholds(np.zeros(2)).arrays(), 2).fill


@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("serve", ["micro", "example"])
def test_a_common_threshold_is_no_worse_than_zero_or_any_other(serve: str, fill: bool) -> None:
    rng = np.random.default_rng(3)
    targets = rng.random((80, 6)) < 0.3
    scores = rng.normal(size=(80, 6)) + 1.5 * targets - 1.0
    weight = rng.integers(1, 4, size=80).astype(float)

    def quality(cut: float) -> float:
        answered = scores > cut
        if fill:
            for row in np.flatnonzero(~answered.any(axis=1)):
                answered[row, np.argmax(scores[row])] = True
        hits, sizes = (answered & targets).sum(axis=1), answered.sum(axis=1) + targets.sum(axis=1)
        if serve == "micro":
            return float(2 * weight @ hits / (weight @ sizes))
        return float(weight @ np.where(sizes > 0, 2 * hits / np.maximum(sizes, 1), 1.0)) / float(weight.sum())

    found = common_threshold(scores, targets, serve, fill, weight)
    assert len(set(found.tolist())) == 1
    best = quality(float(found[0]))
    assert best >= quality(0.0)
    assert best >= max(quality(cut) for cut in np.linspace(-3, 3, 61)) - 0.005
