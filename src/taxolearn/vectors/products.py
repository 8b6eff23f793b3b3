"""X times the transposed class weights, in the orientation that is fast for each pair of storages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.full_columns import full_columns, split_rows

# A feature-major copy of dense weights is kept for all row blocks up to this size, else made block by block.
_MAX_COPY_BYTES = 512 * 2**20
_MAX_DENSE_BYTES = 256 * 2**20  # of sparse weights that are multiplied as an array
_DENSE_SHARE = 0.03  # of their entries: one that is looked up costs as much as 30 in an array
_DENSE_PRODUCTS = 0.1  # with this many products per entry of the array, or more, making it pays
_FEW_FEATURES = 2**23  # number of features up to which an array over all of them is cheap

Product = Callable[[Any], np.ndarray[Any, Any]]


def turned(coef: Any, max_bytes: int) -> sparse.csr_array | None:
    """Sparse weights feature by feature, for `row_product(..., by_feature=)`; None where that is no gain or too large.

    >>> turned(sparse.csr_array([[0.0, 2.0], [3.0, 0.0]]), 1000).toarray().tolist()
    [[0.0, 3.0], [2.0, 0.0]]
    """
    if not sparse.issparse(coef) or coef.shape[1] > _FEW_FEATURES:
        return None
    size = coef.data.nbytes + coef.indices.nbytes + coef.indptr.itemsize * (coef.shape[1] + 1)
    return coef.T.tocsr() if size <= max_bytes else None


def row_product(coef: Any, X: Any, *, in_any_company: bool = False, by_feature: Any = None) -> Product:
    """Return the function that maps a block of rows of `X` to the dense block of rows of `X @ coef.T`.

    `in_any_company`: scores of sparse rows are to the last bit the same whatever other rows there are.
    `by_feature`: the same weights as `turned` makes them; a few rows then read their own features alone.

    >>> coef, X = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0], [0.0, 1.0]])
    >>> row_product(coef, X)(X[:1])
    array([[3., 7.]])
    """
    if not sparse.issparse(X):
        if not sparse.issparse(coef):
            return lambda block: np.matmul(block, coef.T)
        # SciPy multiplies sparse by dense along rows of the dense matrix: here a feature over the block.
        return lambda block: (coef @ np.ascontiguousarray(block.T)).T
    full = 0 if in_any_company else full_columns(X)
    if full:
        return _in_two_parts(coef, X, full)
    if by_feature is not None and X.nnz <= coef.shape[1]:
        return lambda block: (block @ by_feature).toarray()
    if sparse.issparse(coef):
        if coef.shape[1] > _FEW_FEATURES + 4 * (X.nnz + coef.nnz):
            return _by_few_features(coef)
        if X.nnz > coef.shape[1]:
            by_feature = coef.T.tocsr() if by_feature is None else by_feature
            if _better_dense(by_feature, X):
                by_feature = by_feature.toarray()
                return lambda block: np.asarray(block @ by_feature)
            return lambda block: (block @ by_feature).toarray()
        # With few entries in X, turning the weights round would cost more than the product.
        return lambda block: (coef @ block.T.tocsr()).toarray().T
    return _sparse_by_dense(coef, X)


def _better_dense(by_feature: Any, X: Any) -> bool:
    """Whether zeros among sparse weights are better multiplied than skipped: few of them, and many rows."""
    size = by_feature.shape[0] * by_feature.shape[1]
    if by_feature.nnz < _DENSE_SHARE * size or size * by_feature.dtype.itemsize > _MAX_DENSE_BYTES:
        return False
    products = X.nnz * (by_feature.nnz / max(1, by_feature.shape[0]))
    return bool(products >= _DENSE_PRODUCTS * size)


def _in_two_parts(coef: Any, X: Any, full: int) -> Product:
    """The last columns are full: these are a dense product, many times faster than entry by entry."""
    before = coef.shape[1] - full
    dense = coef[:, before:]
    weights = np.ascontiguousarray((dense.toarray() if sparse.issparse(dense) else dense).T)
    others = row_product(coef[:, :before], split_rows(X, full)[0])

    def product(block: Any) -> np.ndarray[Any, Any]:
        rest, vectors = split_rows(block, full)
        scores: np.ndarray[Any, Any] = vectors @ weights
        scores += others(rest)
        return scores

    return product


def _by_few_features(coef: Any) -> Product:
    """Of very many features few have a weight: these alone are numbered, or SciPy would keep a number for each."""
    columns, position = np.unique(coef.indices, return_inverse=True)
    shape = (coef.shape[0], columns.size + 1)
    small = sparse.csr_array((coef.data, position, coef.indptr), shape=shape)

    def product(block: Any) -> np.ndarray[Any, Any]:
        places = np.searchsorted(columns, block.indices)
        places[np.append(columns, -1)[places] != block.indices] = columns.size  # no class has a weight there
        rows = sparse.csr_array((block.data, places, block.indptr), shape=(block.shape[0], columns.size + 1))
        return np.asarray((small @ rows.T.tocsr()).toarray().T)

    return product


def _sparse_by_dense(coef: np.ndarray[Any, Any], X: Any) -> Product:
    """Sparse rows by dense weights: one entry of X adds a multiple of its feature's weights of all classes.

    That wants the weights feature by feature, and only of features that occur.
    """
    n_classes, item = coef.shape[0], coef.dtype.itemsize
    columns, position = _used_columns(X)
    if columns.size * n_classes * item <= _MAX_COPY_BYTES:
        by_feature = np.empty((columns.size, n_classes), dtype=coef.dtype)
        step = _classes_at_once(columns.size * item)
        for first in range(0, n_classes, step):
            by_feature[:, first : first + step] = coef[first : first + step, columns].T
        return lambda block: _renumbered(block, columns, position) @ by_feature

    def product(block: Any) -> np.ndarray[Any, Any]:
        columns, position = _used_columns(block)
        block = _renumbered(block, columns, position)
        result = np.empty((block.shape[0], n_classes), dtype=coef.dtype)
        step = _classes_at_once(columns.size * item)
        for first in range(0, n_classes, step):
            classes = slice(first, first + step)
            result[:, classes] = block @ np.ascontiguousarray(coef[classes, columns].T)
        return result

    return product


def _used_columns(X: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the columns of X with an entry, and for each column its position among them."""
    used = np.zeros(X.shape[1], dtype=bool)
    used[X.indices] = True
    return np.flatnonzero(used), np.cumsum(used, dtype=X.indices.dtype) - 1


def _renumbered(block: Any, columns: np.ndarray[Any, Any], position: np.ndarray[Any, Any]) -> Any:
    shape = (block.shape[0], columns.size)
    return sparse.csr_array((block.data, position[block.indices], block.indptr), shape=shape)


def _classes_at_once(bytes_per_class: int) -> int:
    return max(1, _MAX_COPY_BYTES // 16 // max(1, bytes_per_class))
