"""The checks on X and on weights: what comes out is safe to hand to a kernel."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError, LabelError
from taxolearn.structure.names import hint, show

Matrix: TypeAlias = Any  # a C-contiguous array or a csr_array; scipy has no types to say so
Array = npt.NDArray[np.float64]


def check_matrix(X: Any, what: str = "X") -> Matrix:
    """X as a C-contiguous array or a canonical CSR of finite float32/64; copied only where it has to be.

    >>> check_matrix([[1, 2], [3, 4]]).dtype
    dtype('float64')
    >>> check_matrix([[1.0, float("nan")]])
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: X holds NaN at row 0, column 1; impute or drop it first
    """
    if sp.issparse(X):
        return _check_sparse(X, what)
    try:
        dense = np.asarray(X)
        if dense.dtype not in (np.float32, np.float64):
            if dense.dtype.kind == "c":
                raise DataError(f"{what} holds complex numbers; give real ones")
            dense = dense.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{what} cannot be read as numbers: {error}") from None
    if dense.ndim != 2:
        raise DataError(
            f"{what} has {dense.ndim} dimensions; give rows x features (one row: X.reshape(1, -1))"
        )
    dense = np.ascontiguousarray(dense)
    _check_finite(dense, lambda at: (at // dense.shape[1], at % dense.shape[1]), what)
    return dense


def check_sparse_indices(X: Any, what: str = "X") -> None:
    """Refuse a sparse matrix whose index arrays were damaged: SciPy and the kernels would read or write foreign memory.

    >>> rows = sp.csr_array([[1.0, 2.0]])
    >>> rows.indices[0] = 9
    >>> check_sparse_indices(rows)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: X is a corrupted CSR matrix: a column index lies outside 0..1; rebuild it
    """
    kind = X.format.upper()
    if kind == "COO":
        for axis, (coords, size) in enumerate(zip(X.coords, X.shape, strict=True)):
            if len(coords) != len(X.data):
                raise DataError(
                    f"{what} is a corrupted COO matrix: its coordinates do not fit its values; rebuild it"
                )
            _check_range(coords, size, f"{what} is a corrupted COO matrix: an index of axis {axis}")
        return
    if kind not in ("CSR", "CSC", "BSR") or len(X.shape) != 2:
        return
    block = X.blocksize if kind == "BSR" else (1, 1)
    size = [length // step for length, step in zip(X.shape, block, strict=True)]
    major, minor = size[::-1] if kind == "CSC" else size
    indptr, n_values = X.indptr, len(X.data)
    sound = len(indptr) == major + 1 and len(X.indices) == n_values
    sound = sound and indptr[0] == 0 and indptr[-1] <= n_values and bool(np.all(np.diff(indptr) >= 0))
    if not sound:
        raise DataError(
            f"{what} is a corrupted {kind} matrix: indptr does not fit its {n_values} values; rebuild it"
        )
    axis_name = "row" if kind == "CSC" else "column"
    _check_range(X.indices[: indptr[-1]], minor, f"{what} is a corrupted {kind} matrix: a {axis_name} index")


def _check_range(indices: npt.NDArray[Any], size: int, told: str) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        raise DataError(f"{told} lies outside 0..{size - 1}; rebuild it")


def _check_sparse(X: Any, what: str) -> sp.csr_array:
    check_sparse_indices(X, what)
    try:
        # the constructor shares memory with a CSR of the right type and converts anything else
        matrix = sp.csr_array(X, dtype=X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    except (TypeError, ValueError, IndexError) as error:
        raise DataError(f"{what} is not a sparse matrix that can be read: {error}") from None
    if matrix.ndim != 2:
        raise DataError(f"{what} has {matrix.ndim} dimensions; give rows x features")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()

    def place(at: int) -> tuple[int, int]:
        return int(np.searchsorted(matrix.indptr, at, side="right")) - 1, int(matrix.indices[at])

    _check_finite(matrix.data, place, what)
    return matrix


def _check_finite(values: npt.NDArray[Any], place: Any, what: str) -> None:
    # a sum is finite for finite values of any sane size: the usual case in one pass without a temporary
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = np.flatnonzero(~np.isfinite(values.ravel()))
    if len(bad):
        row, column = place(int(bad[0]))
        culprit = "NaN" if np.isnan(values.ravel()[bad[0]]) else "inf"
        raise DataError(f"{what} holds {culprit} at row {row}, column {column}; impute or drop it first")


def check_sample_weight(sample_weight: Any, n_rows: int) -> Array | None:
    """Weights of the rows as float64, or None.

    >>> check_sample_weight([1, 2, -3], 3)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: sample_weight is -3.0 at row 2; weights must be zero or positive
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"sample_weight cannot be read as numbers: {error}") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise DataError(
            f"sample_weight must be 1D array or scalar, one weight per row, not of shape {weights.shape}"
        )
    if len(weights) != n_rows:
        raise DataError(f"sample_weight has {len(weights)} entries, but X has {n_rows} rows")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise DataError(
            f"sample_weight is {weights[bad[0]]} at row {bad[0]}; weights must be zero or positive"
        )
    if not weights.any():
        raise DataError("sample_weight is zero for every row; give at least one row a weight")
    return weights


def check_class_weight(
    class_weight: Any, classes: Sequence[Hashable], counts: npt.NDArray[np.float64]
) -> Array:
    """One positive weight per class: ones, "balanced" (n / (classes * count)) or from a mapping.

    >>> check_class_weight({"cat": 2}, ["cat", "dog"], np.array([1.0, 3.0])).tolist()
    [2.0, 1.0]
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise DataError(f"class_weight={class_weight!r} is not known; use 'balanced', a mapping or None")
        with np.errstate(divide="ignore"):
            return np.where(counts > 0, counts.sum() / (len(classes) * counts), 1.0)
    if not isinstance(class_weight, Mapping):
        raise DataError(f"class_weight must be 'balanced', a mapping or None, not {show(class_weight)}")
    place = {name: i for i, name in enumerate(classes)}
    weights = np.ones(len(classes))
    for name, weight in class_weight.items():
        if name not in place:
            raise LabelError(f"class_weight names the unknown class {show(name)}{hint(name, classes)}")
        try:
            weights[place[name]] = float(weight)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"class_weight of {show(name)} is {show(weight)}; give a positive number"
            ) from None
        if not (np.isfinite(weights[place[name]]) and weights[place[name]] > 0):
            raise DataError(f"class_weight of {show(name)} is {show(weight)}; give a positive number")
    return weights
