"""Sparse rows whose last columns are full, as those of n-grams with an embedding after them: two parts, one dense."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

# Fewer full columns than these are not worth a product of their own.
_LEAST = 16


def full_columns(X: Any) -> int:
    """How many of the last columns every row of a CSR matrix has; 0 for fewer than 16, or unsorted rows.

    >>> full_columns(sparse.csr_array(np.hstack([np.eye(3), np.ones((3, 20))])))
    20
    >>> full_columns(sparse.csr_array(np.eye(3)))
    0
    """
    n_rows, n_columns = X.shape
    if not n_rows or X.nnz < _LEAST * n_rows or np.diff(X.indptr).min() < _LEAST:
        return 0
    # the last 16 entries of all rows first: it is nearly always decided there
    tail = X.indptr[1:, None] - np.arange(_LEAST, 0, -1)
    if not np.array_equal(
        X.indices[tail], np.broadcast_to(np.arange(n_columns - _LEAST, n_columns), tail.shape)
    ):
        return 0
    if not X.has_canonical_format:
        return 0
    counts = np.bincount(X.indices, minlength=n_columns) if n_columns < X.nnz else np.zeros(0)
    partial = np.flatnonzero(counts < n_rows)
    return int(n_columns - 1 - partial[-1]) if len(partial) else (n_columns if len(counts) else 0)


def split_rows(X: Any, full: int) -> tuple[sparse.csr_array, np.ndarray[Any, Any]]:
    """The rows without their last `full` columns, which all of them have, and these as a dense array.

    >>> rest, dense = split_rows(sparse.csr_array([[0.0, 2.0, 5.0], [0.0, 0.0, 6.0]]), 1)
    >>> rest.toarray().tolist(), dense.tolist()
    ([[0.0, 2.0], [0.0, 0.0]], [[5.0], [6.0]])
    """
    n_rows, n_columns = X.shape
    ends = X.indptr[1:].astype(np.int64)
    dense = X.data[(ends - full)[:, None] + np.arange(full)]
    kept = np.diff(X.indptr).astype(np.int64) - full
    indptr = np.concatenate([[0], np.cumsum(kept)])
    own = np.arange(indptr[-1]) + full * np.repeat(np.arange(n_rows), kept) + int(X.indptr[0])
    rest = sparse.csr_array(
        (X.data[own], X.indices[own], indptr.astype(X.indptr.dtype)), shape=(n_rows, n_columns - full)
    )
    return rest, dense
