"""ClassVectors against plain NumPy, for every pair of storages, dtypes and index widths."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from taxolearn.errors import DataError
from taxolearn.vectors import ClassVectors, products


def make_csr(dense: np.ndarray, index: str = "int32") -> sparse.csr_array:
    matrix = sparse.csr_array(dense)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def sample(seed: int, shape: tuple[int, int], density: float, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * (rng.random(shape) < density)).astype(dtype)


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(0, 30),
    n_classes=st.integers(1, 12),
    n_features=st.integers(1, 25),
    density=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
    x_type=st.sampled_from(["float32", "float64"]),
    coef_type=st.sampled_from(["float32", "float64"]),
    x_index=st.sampled_from(["dense", "int32", "int64"]),
    coef_index=st.sampled_from(["dense", "int32", "int64"]),
    max_bytes=st.sampled_from([1, 100, 500, 10**6]),
)
def test_scores_and_top_k_are_those_of_numpy(
    seed: int,
    n_rows: int,
    n_classes: int,
    n_features: int,
    density: float,
    x_type: str,
    coef_type: str,
    x_index: str,
    coef_index: str,
    max_bytes: int,
) -> None:
    dense_X = sample(seed, (n_rows, n_features), density, x_type)
    dense_coef = sample(seed + 1, (n_classes, n_features), density, coef_type)
    intercept = np.random.default_rng(seed).standard_normal(n_classes)
    X = dense_X if x_index == "dense" else make_csr(dense_X, x_index)
    coef = dense_coef if coef_index == "dense" else make_csr(dense_coef, coef_index)
    weights = ClassVectors(coef, intercept)

    exact = dense_X.astype(float) @ dense_coef.astype(float).T + intercept
    close = {"rtol": 1e-4, "atol": 1e-4} if coef_type == "float32" else {"rtol": 1e-6, "atol": 1e-6}
    scores = weights.scores(X)
    assert scores.dtype == coef_type
    assert scores.flags.c_contiguous
    np.testing.assert_allclose(scores, exact, **close)

    seen = []
    for rows, block in weights.score_blocks(X, max_bytes=max_bytes):
        assert block.nbytes <= max_bytes or len(block) == 1
        assert block.dtype == coef_type
        np.testing.assert_allclose(block, exact[rows], **close)
        seen += range(n_rows)[rows]
    assert seen == list(range(n_rows))

    k = 1 + seed % n_classes
    ids, best = weights.top_k(X, k)
    assert ids.dtype == np.int32
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(best, np.take_along_axis(scores, expected, axis=1))


@pytest.mark.parametrize("rows", [slice(2, 5), np.array([4, 0, 4]), [1]])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_scores_of_some_rows(rows: Any, as_sparse: bool) -> None:
    dense = sample(0, (6, 4), 0.5, "float64")
    weights = ClassVectors(sample(1, (3, 4), 1.0, "float64"), np.arange(3.0))
    X = make_csr(dense) if as_sparse else dense
    np.testing.assert_allclose(weights.scores(X, rows), weights.scores(dense)[rows])


def test_weights_too_large_for_a_copy_are_turned_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_MAX_COPY_BYTES", 1600)
    dense = sample(0, (40, 30), 0.2, "float64")
    weights = ClassVectors(sample(1, (17, 30), 1.0, "float64"), np.zeros(17))
    blocks = [block for _, block in weights.score_blocks(make_csr(dense), max_bytes=500)]
    assert len(blocks) > 5
    np.testing.assert_allclose(np.vstack(blocks), dense @ weights.coef.T)


def test_unsorted_and_repeated_entries_of_x_are_summed() -> None:
    X = sparse.csr_array((np.ones(3), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    for coef in (np.arange(6.0).reshape(2, 3), make_csr(np.arange(6.0).reshape(2, 3))):
        np.testing.assert_allclose(ClassVectors(coef, np.zeros(2)).scores(X), [[4.0, 13.0]])


@pytest.mark.parametrize("k", [2, 3, 7])
def test_equal_scores_go_to_the_smaller_class(k: int) -> None:
    rows = np.random.default_rng(0).integers(0, 3, (200, 9)).astype(float)
    ids, _ = ClassVectors(np.eye(9), np.zeros(9)).top_k(rows, k)
    np.testing.assert_array_equal(ids, np.argsort(-rows, axis=1, kind="stable")[:, :k])


def test_csr_matrix_is_welcome_as_well() -> None:
    dense = sample(0, (5, 4), 0.5, "float64")
    for coef in (sample(1, (3, 4), 1.0, "float64"), make_csr(sample(1, (3, 4), 0.5, "float64"))):
        weights = ClassVectors(coef, np.zeros(3))
        scores = weights.scores(sparse.csr_matrix(dense))
        assert type(scores) is np.ndarray
        np.testing.assert_allclose(scores, weights.scores(dense))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sparsified_keeps_every_weight(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taxolearn.vectors.class_vectors._BLOCK_BYTES", 700)
    dense = sample(3, (11, 20), 0.1, dtype)
    weights = ClassVectors(dense, np.arange(11.0))
    density = np.count_nonzero(dense) / dense.size
    assert weights.sparsified(density * 0.99) is weights
    smaller = weights.sparsified(density)
    assert smaller.is_sparse
    assert smaller.dtype == dtype
    assert smaller.n_bytes < weights.n_bytes
    assert smaller.coef.has_canonical_format
    np.testing.assert_array_equal(smaller.coef.toarray(), dense)
    np.testing.assert_array_equal(smaller.intercept, weights.intercept)
    assert smaller.sparsified(0.0) is smaller


def test_nothing_is_copied_and_nothing_can_be_changed() -> None:
    coef, intercept = np.ones((2, 3)), np.zeros(2)
    weights = ClassVectors(coef, intercept)
    assert np.shares_memory(weights.coef, coef)
    assert np.shares_memory(weights.intercept, intercept)
    matrix = sparse.csr_array(coef)
    weights = ClassVectors(matrix, intercept)
    assert np.shares_memory(weights.coef.data, matrix.data)
    assert np.shares_memory(weights.coef.indices, matrix.indices)
    assert matrix.data.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        weights.coef.data[0] = 5
    with pytest.raises(AttributeError):
        weights.coef = coef  # type: ignore[misc]
    assert weights.n_bytes == 6 * 8 + 6 * 4 + 3 * 4 + 2 * 8


def test_other_memory_orders_are_put_right() -> None:
    weights = ClassVectors(np.asfortranarray(sample(0, (4, 5), 1.0, "float32")), np.zeros(4, dtype=int))
    assert weights.coef.flags.c_contiguous
    assert weights.intercept.dtype == np.float64


def test_weights_travel_to_other_processes() -> None:
    for coef in (np.eye(3), make_csr(np.eye(3))):
        weights = ClassVectors(coef, np.arange(3.0))
        there = pickle.loads(pickle.dumps(weights))
        np.testing.assert_array_equal(there.scores(np.ones((1, 3))), weights.scores(np.ones((1, 3))))


@pytest.mark.parametrize(
    ("coef", "intercept"),
    [
        ([[1.0]], np.zeros(1)),
        (np.zeros(3), np.zeros(3)),
        (np.zeros((2, 3), dtype=int), np.zeros(2)),
        (np.zeros((2, 3)), np.zeros(3)),
        (np.zeros((2, 3)), np.zeros((2, 1))),
        (np.zeros((2, 3)), np.array(["a", "b"])),
        (sparse.csc_array(np.zeros((2, 3))), np.zeros(2)),
    ],
)
def test_bad_weights_are_data_errors(coef: Any, intercept: Any) -> None:
    with pytest.raises(DataError):
        ClassVectors(coef, intercept)


@pytest.mark.parametrize(
    "X",
    [
        [[1.0, 2.0, 3.0]],
        np.zeros(3),
        np.zeros((2, 4)),
        np.zeros((2, 3), dtype=int),
        sparse.csc_array(np.zeros((2, 3))),
        sparse.csr_array(np.zeros((2, 4))),
    ],
)
def test_bad_rows_are_data_errors(X: Any) -> None:
    weights = ClassVectors(np.zeros((2, 3)), np.zeros(2))
    for call in (weights.scores, weights.score_blocks, lambda X: weights.top_k(X, 1)):
        with pytest.raises(DataError, match="X"):
            call(X)


@pytest.mark.parametrize("k", [0, 3, -1, 1.5, None])
def test_bad_k_is_a_data_error(k: Any) -> None:
    with pytest.raises(DataError, match="k must be"):
        ClassVectors(np.zeros((2, 3)), np.zeros(2)).top_k(np.zeros((1, 3)), k)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("given", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("size", [3, 785, 20_000])
def test_unit_scores_do_not_depend_on_the_company(size: int, given: Any, stored: Any, dtype: Any) -> None:
    rng = np.random.default_rng(size)
    coef, intercept = rng.normal(size=(5, size)).astype(dtype), rng.normal(size=5)
    X = rng.normal(size=(9, size)).astype(dtype)
    vectors = ClassVectors(stored(coef), intercept)
    whole = vectors.unit_scores(given(X), slice(None))
    assert whole.dtype == dtype
    np.testing.assert_allclose(whole, vectors.scores(given(X)), rtol=1e-3, atol=1e-3)
    for units in (slice(0, 1), slice(1, 3), np.array([4, 0])):
        for rows in (slice(2, 3), slice(0, 9, 2)):
            np.testing.assert_array_equal(vectors.unit_scores(given(X[rows]), units), whole[rows][:, units])


def test_other_intercepts_leave_the_vectors_as_they_are() -> None:
    vectors = ClassVectors(np.eye(2), np.zeros(2))
    other = vectors.with_intercept([1.0, 2.0])
    assert other.coef is vectors.coef
    assert (vectors.intercept.tolist(), other.intercept.tolist()) == ([0.0, 0.0], [1.0, 2.0])
    with pytest.raises(DataError, match=r"the intercept has shape \(3,\), not \(2,\)"):
        vectors.with_intercept(np.zeros(3))
