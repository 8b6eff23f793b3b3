"""Numbers and rows of numbers as text that reads back bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from taxolearn.datasets.dataset import Dataset
from taxolearn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse


def number_texts(values: NDArray[Any]) -> list[str]:
    """The shortest text of each number that reads back as the same number of the same type.

    >>> number_texts(np.array([0.1, 2.0])), number_texts(np.array([0.1], dtype=np.float32))
    (['0.1', '2.0'], ['0.1'])
    """
    if values.dtype == np.float32:
        return [str(value) for value in values]
    return [repr(value) for value in values.astype(np.float64).tolist()]


def csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> sparse.csr_array:
    """A CSR array with 32-bit indices where they suffice: several solvers take no others.

    >>> csr(np.ones(1), np.array([2]), np.array([0, 1]), (1, 3)).indptr.dtype
    dtype('int32')
    """
    from scipy import sparse

    width = np.int32 if max(data.size, *shape) < 2**31 else np.int64
    indices, indptr = indices.astype(width, copy=False), indptr.astype(width, copy=False)
    return sparse.csr_array((data, indices, indptr), shape=shape)


def parse_number(text: str) -> float:
    """`float(text)`, but underscores between digits, which `float` allows, are an error.

    >>> parse_number("1e3")
    1000.0
    """
    return float("_" if "_" in text else text)


def features_of(dataset: Dataset, what: str) -> sparse.csr_array | NDArray[Any]:
    """The dataset's X: a 2-D array, or a CSR array with sorted, unique indices."""
    from scipy import sparse

    if dataset.X is None:
        raise DataError(f"the dataset has texts but no X; {what} holds features")
    if not sparse.issparse(dataset.X):
        return np.asarray(dataset.X)
    X = sparse.csr_array(dataset.X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def sparse_rows(
    dataset: Dataset, what: str, *, first_index: int, between: str = ":", join: str = " "
) -> Iterator[str]:
    """Each row's `index:value` pairs: what is not zero of a dense X, what is stored of a sparse one."""
    X = features_of(dataset, what)
    for row in range(dataset.n_rows):
        if isinstance(X, np.ndarray):
            indices = np.flatnonzero(X[row])
            values = X[row][indices]
        else:
            span = slice(X.indptr[row], X.indptr[row + 1])
            indices, values = X.indices[span], X.data[span]
        pairs = zip((indices + first_index).tolist(), number_texts(values), strict=True)
        yield join.join([f"{index}{between}{value}" for index, value in pairs])
