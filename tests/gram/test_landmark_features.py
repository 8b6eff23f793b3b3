"""Features by landmarks: their products are those of the kernel, as far as the landmarks can say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from taxolearn.errors import DataError
from taxolearn.gram import RowKernel, landmarks_of
from taxolearn.gram import landmarks as module

X = np.random.default_rng(0).normal(size=(40, 3))
NEW = np.random.default_rng(1).normal(size=(9, 3))
RBF = RowKernel("rbf", (("gamma", 0.7),))
SOME = np.array([3, 4, 11, 29, 30, 38])


def test_products_of_features_are_the_projection_of_the_kernel() -> None:
    marks = landmarks_of(RBF, X, SOME)
    found = marks.features(NEW) @ marks.features(X).T
    across, within = rbf_kernel(NEW, X[SOME], gamma=0.7), rbf_kernel(X[SOME], X[SOME], gamma=0.7)
    expected = across @ np.linalg.pinv(within) @ rbf_kernel(X[SOME], X, gamma=0.7)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(found[:, SOME], across, atol=1e-9)


def test_all_rows_as_landmarks_give_the_kernel_itself() -> None:
    features = landmarks_of(RBF, X, np.arange(len(X))).features(X)
    np.testing.assert_allclose(features @ features.T, rbf_kernel(X, gamma=0.7), atol=1e-7)


def test_scikit_learn_draws_other_axes_through_the_same_points() -> None:
    peer = Nystroem(gamma=0.7, n_components=len(X), random_state=0).fit(X)
    theirs = peer.transform(NEW)
    ours = landmarks_of(RBF, X, np.arange(len(X))).features(NEW)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda rows: rows.astype(np.float32)])
def test_any_rows_in_blocks_and_as_given_products(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    close = 1e-4 if form(X).dtype == np.float32 else 1e-9
    expected = landmarks_of(RBF, X, SOME).features(NEW)
    np.testing.assert_allclose(landmarks_of(RBF, form(X), SOME).features(form(NEW)), expected, atol=close)
    given = landmarks_of(RowKernel("precomputed"), rbf_kernel(X, gamma=0.7), SOME)
    assert given.rows is None
    np.testing.assert_allclose(given.features(rbf_kernel(NEW, X, gamma=0.7)), expected, atol=1e-9)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * len(SOME) * 4)
    np.testing.assert_allclose(landmarks_of(RBF, X, SOME).features(NEW), expected, atol=1e-12)


def test_weights_of_features_are_coefficients_of_landmarks() -> None:
    marks = landmarks_of(RBF, X, SOME)
    weights = np.random.default_rng(2).normal(size=(5, len(SOME)))
    expected = marks.features(NEW) @ weights.T
    for given in (weights, sp.csr_array(weights), weights.astype(np.float32)):
        found = rbf_kernel(NEW, X[SOME], gamma=0.7) @ marks.coefficients(given).T
        np.testing.assert_allclose(found, expected, atol=1e-4 if given.dtype == np.float32 else 1e-9)


def test_the_same_row_twice_is_no_reason_to_fail() -> None:
    twice = np.vstack([X, X[:5], X[:5]])
    features = landmarks_of(RBF, twice, np.arange(len(twice))).features(NEW)
    assert np.isfinite(features).all()
    own = landmarks_of(RBF, X, np.arange(len(X))).features(NEW)
    np.testing.assert_allclose(features @ features.T, own @ own.T, atol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "rows", "message"),
    [
        (RowKernel("sigmoid", (("gamma", 1.0),)), X, "'sigmoid' is not positive semi-definite"),
        (RowKernel("chi2"), sp.csr_array(np.abs(X)), "takes no sparse rows"),
        (RowKernel("precomputed"), X, "needs a square matrix"),
    ],
)
def test_what_cannot_be(kernel: RowKernel, rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        landmarks_of(kernel, rows, SOME)
