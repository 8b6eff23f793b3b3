"""Products of rows through kernels: values, the cache of rows, and whether a matrix is definite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels, rbf_kernel

from taxolearn.errors import DataError
from taxolearn.gram import Gram, RowKernel, row_kernel, row_products
from taxolearn.gram.row_products import least_shift

RNG = np.random.default_rng(0)
X = RNG.random((30, 4))
GIVEN = {"gamma": 0.7, "degree": 2, "coef0": 0.5}


def named(name: str) -> RowKernel:
    return row_kernel(name, {key: value for key, value in GIVEN.items() if key in KERNEL_PARAMS[name]})


@pytest.mark.parametrize("name", sorted(KERNEL_PARAMS))
def test_every_kernel_of_scikit_learn_has_its_values(name: str) -> None:
    kernel = named(name)
    expected = pairwise_kernels(X[:7], X, metric=name, **dict(kernel.parameters))
    np.testing.assert_allclose(kernel.evaluate(X[:7], X), expected, rtol=1e-14)
    np.testing.assert_allclose(kernel.evaluate(X[:7], X, n_jobs=2), expected, rtol=1e-14)
    single = kernel.evaluate(X[:7].astype(np.float32), X)
    assert single.dtype == np.float64
    if kernel.takes_sparse:
        np.testing.assert_allclose(
            kernel.evaluate(sp.csr_array(X[:7]), sp.csr_array(X)), expected, rtol=1e-12
        )


@pytest.mark.parametrize("name", sorted(set(KERNEL_PARAMS) - {"sigmoid", "additive_chi2"}))
def test_kernels_that_are_called_definite_are(name: str) -> None:
    kernel = named(name)
    assert kernel.is_definite
    assert np.linalg.eigvalsh(kernel.evaluate(X, X)).min() > -1e-12


def test_gamma_by_scale_is_that_of_svc() -> None:
    from sklearn.svm import SVC

    labels = np.arange(30) % 2
    for rows in (X, sp.csr_array(np.where(X > 0.5, X, 0.0))):
        for word in ("scale", "auto"):
            kernel = row_kernel("rbf", {"gamma": word}).for_rows(rows)
            assert dict(kernel.parameters)["gamma"] == pytest.approx(SVC(gamma=word).fit(rows, labels)._gamma)
    constant = row_kernel("rbf", {"gamma": "scale"}).for_rows(np.ones((3, 2)))
    assert constant.parameters == (("gamma", 0.5),)


@pytest.mark.parametrize("room", [0, 1, 7, 15, 30])
def test_rows_are_right_whatever_is_kept(room: int) -> None:
    kernel = named("rbf")
    products = row_products(kernel, X, cache_bytes=room * 8 * 30)
    gram = Gram(X, products)
    assert gram.capacity == room
    expected, rng = rbf_kernel(X, gamma=0.7), np.random.default_rng(1)
    asked = 0
    for _ in range(40):
        ids = rng.permutation(30)[: rng.integers(1, 20)]
        found = gram.rows(ids)
        np.testing.assert_allclose(found, expected[ids], rtol=1e-12)
        found[:] = np.nan  # what is handed out is a copy
        asked += len(ids)
    assert gram.computed == asked if room == 0 else 30 <= gram.computed < asked
    if room == 30:
        assert gram.computed == 30  # none twice
    np.testing.assert_allclose(gram.diagonal(), 1.0, rtol=1e-12)


def test_the_rows_used_last_stay() -> None:
    gram = Gram(X, row_products(named("rbf"), X, cache_bytes=3 * 8 * 30))
    for row in (0, 1, 2, 0, 3, 0, 2):
        gram.rows(np.array([row]))
    assert gram.computed == 4  # 0, 1, 2, and 3 in the place of 1
    gram.rows(np.array([1]))
    assert gram.computed == 5


@pytest.mark.parametrize("sparse", [False, True])
def test_given_products_of_some_rows(sparse: bool) -> None:
    K = rbf_kernel(X)
    given: Any = sp.csr_array(K) if sparse else K
    products = row_products(row_kernel("precomputed"), given)
    some = np.array([4, 1, 20])
    gram = Gram(given[some], products.subset(some))
    np.testing.assert_array_equal(gram.rows(np.array([2, 0])), K[np.ix_([20, 4], some)])
    np.testing.assert_array_equal(gram.diagonal(), 1.0)


def test_a_callable_is_evaluated_once() -> None:
    calls = []

    def kernel(A: Any, B: Any) -> Any:
        calls.append(len(A))
        return A @ B.T

    products = row_products(row_kernel(kernel), X)
    gram = Gram(X, products)
    np.testing.assert_allclose(gram.rows(np.arange(30)), X @ X.T)
    assert calls == [30]
    assert 0 < products.shift < 1e-10


@pytest.mark.parametrize("rank", [1, 5, 30])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_the_shift_makes_matrices_definite_and_is_small(rank: int, size: float) -> None:
    B = np.random.default_rng(rank).normal(size=(30, rank)) * size
    K = B @ B.T
    shift = least_shift(K, RowKernel("precomputed"))
    assert np.linalg.eigvalsh(K + shift * np.eye(30)).min() >= 0
    assert shift <= 1e-11 * np.trace(K)
    single = K.astype(np.float32).astype(np.float64)
    shift = least_shift(single, RowKernel("precomputed"))
    assert np.linalg.eigvalsh(single + shift * np.eye(30)).min() >= 0
    assert shift <= 1.1e-7 * np.trace(K)


def test_nothing_is_definite() -> None:
    assert least_shift(np.zeros((3, 3)), RowKernel("precomputed")) == 0.0
    with pytest.raises(DataError, match="eigenvalue -1 "):
        least_shift(np.array([[0.0, 1.0], [1.0, 0.0]]), RowKernel("precomputed"))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            row_kernel("sigmoid", {"gamma": 5.0, "coef0": -3.0}),
            "kernel 'sigmoid' is not positive semi-definite: its",
        ),
        (row_kernel("rbf", {"gamma": -1.0}), "kernel 'rbf' is not positive semi-definite"),
        (row_kernel("poly", {"degree": 1, "coef0": -9}), "not positive semi-definite"),
        (row_kernel("additive_chi2"), "not positive semi-definite"),
        (row_kernel(lambda A, B: A @ B.T - 9.0), "kernel <lambda> is not positive semi-definite"),
        (row_kernel(lambda A, B: A @ B.T + np.arange(len(B))), "<lambda> is not symmetric: rows 0 and 29"),
        (row_kernel(lambda A, B: A), "returned shape"),
        (row_kernel(lambda A, B: 1 / 0), "kernel <lambda> failed: division by zero"),
        (row_kernel("precomputed"), "needs a square matrix"),
    ],
)
def test_kernels_without_an_optimum(kernel: RowKernel, message: str) -> None:
    with pytest.raises(DataError, match=message):
        row_products(kernel, X)


def test_a_large_matrix_is_not_made_behind_the_back() -> None:
    with pytest.raises(DataError, match=r"to check it on 30 rows takes 0 MB; raise cache_size"):
        row_products(row_kernel("sigmoid"), X, cache_bytes=100)
    with pytest.raises(DataError, match="kernel 'chi2' takes no sparse rows"):
        row_products(row_kernel("chi2"), sp.csr_array(X))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("rfb", {}, "kernel='rfb' is not known"),
        ("rbf", {"degree": 2}, "no parameter of kernel 'rbf'; it takes gamma"),
        ("linear", {"gamma": 2}, "it takes none"),
        ("rbf", {"gamma": "wide"}, "give a number, 'scale' or 'auto'"),
        ("poly", {"degree": True}, "give a number$"),
        ("rbf", {"gamma": np.nan}, "give a number"),
        ("rbf", [1], "kernel_params must be a dict"),
        (3, {}, "kernel=int is not allowed"),
    ],
)
def test_wrong_parameters(name: Any, parameters: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        row_kernel(name, parameters)
