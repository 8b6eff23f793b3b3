"""Arrays and header entries of a stored model, each checked before anything trusts it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.errors import ModelError

Arrays = dict[str, np.ndarray[Any, Any]]
_CHUNK = 2**20


def canonical(matrix: sparse.csr_array) -> sparse.csr_array:
    """A CSR whose rows are sorted and without repetitions.

    >>> canonical(sparse.csr_array((np.ones(2), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))).indices.tolist()
    [0, 1]
    """
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def read_matrix(storage: str, arrays: Arrays, prefix: str, shape: tuple[int, int], read: bool) -> Any:
    """The stored matrix; `read` looks at every entry.

    >>> read_matrix("dense", {"weights/coef": np.eye(2)}, "weights", (2, 2), True).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if storage == "dense":
        values = read_array(arrays, f"{prefix}/coef", (np.float32, np.float64), 2)
        if values.shape != shape:
            raise ModelError(f"stored {prefix}: the shape is {values.shape}, not {shape}")
        if read:
            check_finite(values, prefix)
        return values
    data = read_array(arrays, f"{prefix}/data", (np.float32, np.float64), 1)
    indices, indptr = read_pattern(arrays, prefix, shape, read)
    if data.size != indices.size:
        raise ModelError(f"stored {prefix}: there are {indices.size:,} indices for {data.size:,} values")
    if read:
        check_finite(data, prefix)
    if indices.dtype == np.int32 and data.size < 2**31:
        indptr = indptr.astype(
            np.int32, copy=False
        )  # of two types SciPy takes the larger for both, and copies
    matrix = sparse.csr_array((data, indices, indptr), shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = (
        True  # as was checked, or else SciPy would read them all
    )
    return matrix


def read_pattern(arrays: Arrays, prefix: str, shape: tuple[int, int], read: bool = True) -> tuple[Any, Any]:
    """Columns and row pointers of a CSR; these checks keep SciPy's compiled loops inside their memory.

    >>> arrays = {"weights/indices": np.array([1]), "weights/indptr": np.array([0, 1])}
    >>> [part.tolist() for part in read_pattern(arrays, "weights", (1, 2))]
    [[1], [0, 1]]
    """
    indices = read_array(arrays, f"{prefix}/indices", (np.int32, np.int64), 1)
    indptr = read_array(arrays, f"{prefix}/indptr", (np.int32, np.int64), 1)
    check_indptr(indptr, shape[0], indices.size, prefix)
    if read:
        check_range(indices, shape[1], prefix)
        _check_sorted(indices, indptr, prefix)
    return indices, indptr


def read_entry(header: Any, key: str, kind: type, what: str) -> Any:
    """An entry of a header, which must be there and of exactly that type.

    >>> read_entry({"n_nodes": 3}, "n_nodes", int, "weights")
    3
    """
    value = header.get(key) if type(header) is dict else None
    if type(value) is not kind:
        raise ModelError(f"stored {what}: the header has no valid {key!r}")
    return value


def read_array(arrays: Arrays, name: str, dtypes: tuple[type, ...], ndim: int) -> np.ndarray[Any, Any]:
    """An array, which must be there, of one of these types and of so many dimensions.

    >>> read_array({}, "support", (np.int64,), 1)
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: the array 'support' is missing in the model
    """
    array = arrays.get(name)
    if array is None:
        raise ModelError(f"the array {name!r} is missing in the model")
    if array.dtype not in dtypes or array.ndim != ndim:
        raise ModelError(f"the array {name!r} has an unexpected dtype or number of dimensions")
    return array


def check_indptr(indptr: np.ndarray[Any, Any], n_rows: int, n_entries: int, what: str) -> None:
    """Row pointers of a CSR must rise from 0 to the number of entries.

    >>> check_indptr(np.array([0, 1]), 1, 1, "weights")
    """
    if (
        indptr.size != n_rows + 1
        or indptr[0] != 0
        or indptr[-1] != n_entries
        or np.any(indptr[1:] < indptr[:-1])
    ):
        raise ModelError(f"stored {what}: the row pointers are not valid")


def check_range(indices: np.ndarray[Any, Any], limit: int, what: str) -> None:
    """Indices must be from 0 on and below the limit.

    >>> check_range(np.array([0, 5]), 6, "weights")
    """
    if indices.size and not (indices.min() >= 0 and indices.max() < limit):
        raise ModelError(f"stored {what}: an index is out of range")


def _check_sorted(indices: np.ndarray[Any, Any], indptr: np.ndarray[Any, Any], what: str) -> None:
    """Inside a row indices must rise; they may fall only where a row starts."""
    for first in range(1, indices.size, _CHUNK):
        last = min(first + _CHUNK, indices.size)
        falls = first + np.flatnonzero(indices[first:last] <= indices[first - 1 : last - 1])
        if np.any(indptr[np.searchsorted(indptr, falls)] != falls):
            raise ModelError(f"stored {what}: the indices of a row are not sorted")


def check_finite(values: np.ndarray[Any, Any], what: str) -> None:
    """Numbers must be finite.

    >>> check_finite(np.array([np.inf]), "weights")
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: weights: a value is NaN or infinite
    """
    flat = values.reshape(-1)
    for first in range(0, flat.size, _CHUNK):
        if not np.isfinite(flat[first : first + _CHUNK]).all():
            raise ModelError(f"{what}: a value is NaN or infinite")
