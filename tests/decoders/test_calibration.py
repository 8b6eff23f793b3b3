"""Sigmoids against scipy's minimiser of the same cross-entropy, and against scikit-learn's calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.calibration import _sigmoid_calibration

from taxolearn.decoders import fit_sigmoids, normalized, sigmoid
from taxolearn.decoders.links import Sigmoids


def sample(n: int, slope: float, offset: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = 2.0 * rng.normal(size=n)
    return scores, rng.random(n) < 1.0 / (1.0 + np.exp(-(slope * scores + offset)))


def platt_loss(parameters: np.ndarray, scores: np.ndarray, positive: np.ndarray) -> float:
    n_positive, n_negative = positive.sum(), (~positive).sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    logits = parameters[0] * scores + parameters[1]
    return float((np.logaddexp(0, logits) - target * logits).sum())


@settings(max_examples=30, deadline=None)
@given(st.floats(0.3, 4.0), st.floats(-2.0, 2.0), st.integers(0, 10**6))
def test_the_minimum_of_platts_cross_entropy(slope: float, offset: float, seed: int) -> None:
    scores, positive = sample(200, slope, offset, seed)
    if not 5 <= positive.sum() <= 195:
        return
    (a,), (b,) = fit_sigmoids(scores[:, None], positive[:, None])
    best = minimize(platt_loss, [1.0, 0.0], args=(scores, positive))
    if best.x[0] <= 0:
        return
    assert platt_loss(np.array([a, b]), scores, positive) <= best.fun * (1 + 1e-8)


def test_as_scikit_learn_calibrates() -> None:
    scores, positive = sample(500, 1.5, -0.5, 1)
    (a,), (b,) = fit_sigmoids(scores[:, None], positive[:, None])
    theirs = _sigmoid_calibration(scores, positive.astype(int))  # p = 1 / (1 + exp(a s + b))
    assert (a, b) == pytest.approx((-theirs[0], -theirs[1]), abs=1e-3)


def test_classes_with_few_rows_share_a_sigmoid() -> None:
    scores, positive = sample(300, 2.0, 0.0, 2)
    rare = np.zeros((300, 3), dtype=bool)
    rare[:, 0] = positive
    rare[np.argsort(-scores)[:3], 1] = True
    slopes, offsets = fit_sigmoids(np.stack([scores] * 3, axis=1), rare)
    assert slopes[1] == slopes[2]
    assert offsets[1] == offsets[2]
    assert slopes[0] != slopes[1]


def test_scores_that_mislead_give_the_share_of_the_class() -> None:
    scores, positive = sample(400, 2.0, 0.0, 3)
    slopes, offsets = fit_sigmoids(-scores[:, None], positive[:, None])
    assert slopes.tolist() == [0.0]
    assert sigmoid(offsets)[0] == pytest.approx(positive.mean(), abs=0.01)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_scores_of_any_size(size: float) -> None:
    scores, positive = sample(300, 2.0, 0.5, 4)
    (a,), (b,) = fit_sigmoids(size * scores[:, None], positive[:, None])
    (c,), (d,) = fit_sigmoids(scores[:, None], positive[:, None])
    assert a * size == pytest.approx(c, rel=1e-4)
    assert b == pytest.approx(d, rel=1e-3, abs=1e-4)


def test_scores_that_separate_or_do_not_vary() -> None:
    scores = np.array([-1.0] * 10 + [1.0] * 10)
    (a,), (b,) = fit_sigmoids(scores[:, None], (scores > 0)[:, None])
    assert np.isfinite([a, b]).all()
    assert a > 0
    (a,), (b,) = fit_sigmoids(np.zeros((20, 1)), (scores > 0)[:, None])
    assert sigmoid(np.array([b]))[0] == pytest.approx(0.5)
    assert np.isfinite(a)


def test_rows_of_probabilities() -> None:
    rows = normalized(np.array([[0.2, 0.6], [0.0, 0.0], [1e-300, 1e-300]]))
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    np.testing.assert_allclose(rows, [[0.25, 0.75], [0.5, 0.5], [0.5, 0.5]])


def test_a_row_of_weight_two_counts_as_two_rows():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(60, 2))
    targets = rng.random((60, 2)) < sigmoid(2 * scores)
    weight = rng.integers(1, 3, size=60)
    weighted = fit_sigmoids(scores, targets, weight.astype(float))
    repeated = fit_sigmoids(np.repeat(scores, weight, axis=0), np.repeat(targets, weight, axis=0))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)
    assert not np.allclose(weighted, fit_sigmoids(scores, targets), rtol=1e-3)


def test_models_of_older_versions_scale_each_class_by_its_own_slope_and_offset() -> None:
    slopes, offsets, scores = (
        np.array([1.0, 2.0, 0.5]),
        np.array([0.5, -1.0, 0.0]),
        np.array([[0.0, 1.0, 2.0]]),
    )
    single = [1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(-1.0)), 1 / (1 + math.exp(-1.0))]
    several = Sigmoids(slopes, offsets).probabilities(scores)
    np.testing.assert_allclose(several, [single], rtol=1e-12)
    one = Sigmoids(slopes, offsets, one=True).probabilities(scores)
    np.testing.assert_allclose(one, [[p / sum(single) for p in single]], rtol=1e-12)
