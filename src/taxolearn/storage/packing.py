"""Taxonomies and weights as the header entries and arrays of a model, checked on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.errors import ModelError, TaxolearnError
from taxolearn.storage.names import decode_names, encode_names
from taxolearn.structure import Taxonomy
from taxolearn.vectors.class_vectors import ClassVectors
from taxolearn.vectors.dual_vectors import DualVectors
from taxolearn.vectors.node_vectors import NodeVectors
from taxolearn.vectors.path_vectors import WALK_FROM
from taxolearn.vectors.scoring import Vectors

Arrays = dict[str, np.ndarray[Any, Any]]
_ENTRIES_AT_A_TIME = 2**20  # entries checked at a time
_MAX_FEATURES = 2**48  # stored numbers above it are damage


def pack_taxonomy(taxonomy: Taxonomy, prefix: str = "taxonomy") -> tuple[dict[str, Any], Arrays]:
    """Return the header entry and the arrays (named `prefix`/...) of a taxonomy.

    >>> header, arrays = pack_taxonomy(Taxonomy.from_edges([("animal", "cat"), ("animal", "dog")]))
    >>> header["names"][0], sorted(arrays)
    ('animal', ['taxonomy/parent_indices', 'taxonomy/parent_indptr'])
    """
    header = {"names": encode_names(taxonomy.nodes)}
    arrays = {
        f"{prefix}/parent_indptr": taxonomy.parent_indptr,
        f"{prefix}/parent_indices": taxonomy.parent_indices,
    }
    return header, arrays


def unpack_taxonomy(header: Any, arrays: Arrays, prefix: str = "taxonomy") -> Taxonomy:
    """Undo `pack_taxonomy`; whatever is not a taxonomy is a `ModelError`.

    >>> taxonomy = Taxonomy.from_edges([("animal", "cat"), ("animal", "dog")])
    >>> unpack_taxonomy(*pack_taxonomy(taxonomy)) == taxonomy
    True
    """
    names = decode_names(_entry(header, "names", list, prefix))
    indptr = _array(arrays, f"{prefix}/parent_indptr", (np.int32, np.int64), 1)
    indices = _array(arrays, f"{prefix}/parent_indices", (np.int32, np.int64), 1)
    _check_indptr(indptr, len(names), indices.size, prefix)
    _check_range(indices, len(names), prefix)
    try:
        return Taxonomy.from_arrays(indptr, indices, names)
    except TaxolearnError as error:
        raise ModelError(f"stored {prefix}: {error}") from None


def pack_vectors(weights: Vectors, prefix: str = "weights") -> tuple[dict[str, Any], Arrays]:
    """Return the header entry and the arrays (named `prefix`/...) of class or node weights.

    >>> header, arrays = pack_vectors(ClassVectors(np.eye(2), np.zeros(2)))
    >>> header, sorted(arrays)
    ({'storage': 'dense', 'n_classes': 2, 'n_features': 2}, ['weights/coef', 'weights/intercept'])
    """
    if isinstance(weights, DualVectors):
        weights = weights.as_nodes()  # a model on disk does not need the rows it was fitted on
    _check_finite(weights.intercept, prefix)
    header: dict[str, Any] = {"n_classes": weights.n_classes, "n_features": weights.n_features}
    arrays = {f"{prefix}/intercept": weights.intercept}
    if isinstance(weights, NodeVectors):
        header["n_nodes"] = weights.n_nodes
        paths = _canonical(weights.paths)
        arrays |= {f"{prefix}/paths/{part}": getattr(paths, part) for part in ("indices", "indptr")}
        arrays[f"{prefix}/squares"] = weights.squares
        storage, values = "nodes-", weights.nodes
        if not np.all(paths.data == 1):  # no paths, but any matrix classes x columns
            _check_finite(paths.data, prefix)
            arrays[f"{prefix}/paths/data"] = paths.data
            storage = "factor-"
    else:
        storage, values = "", weights.coef
    if weights.is_sparse:
        values = _canonical(values)
        _check_finite(values.data, prefix)
        arrays |= {f"{prefix}/{part}": getattr(values, part) for part in ("data", "indices", "indptr")}
    else:
        _check_finite(values, prefix)
        arrays[f"{prefix}/coef"] = values
    return {"storage": storage + ("csr" if weights.is_sparse else "dense"), **header}, arrays


def unpack_vectors(header: Any, arrays: Arrays, prefix: str = "weights", *, full: bool = True) -> Vectors:
    """Undo `pack_vectors` without a copy; sizes, index ranges and finiteness are checked.

    Without `full` the entries of dense weights and of large sparse node vectors are not looked at, so that a mapped
    file is not read through; `NodeVectors` checks the ranges of such vectors when it uses them.

    >>> weights = unpack_vectors(*pack_vectors(ClassVectors(np.eye(2), np.zeros(2)).sparsified(0.5)))
    >>> weights.coef.toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    storage = _entry(header, "storage", str, prefix)
    n_classes, n_features = (_entry(header, key, int, prefix) for key in ("n_classes", "n_features"))
    intercept = _array(arrays, f"{prefix}/intercept", (np.float64,), 1)
    if intercept.size != n_classes or not 0 <= n_features <= _MAX_FEATURES:
        raise ModelError(f"stored {prefix}: the number of classes or features does not fit")
    _check_finite(intercept, prefix)
    if storage not in ("dense", "csr", "nodes-dense", "nodes-csr", "factor-dense", "factor-csr"):
        raise ModelError(f"stored {prefix}: the storage {storage[:40]!r} is unknown")
    if "-" not in storage:
        read = full or storage == "csr"  # SciPy trusts indices, so that these must be right
        return ClassVectors(_matrix(storage, arrays, prefix, (n_classes, n_features), read), intercept)
    n_nodes = _entry(header, "n_nodes", int, prefix)
    if n_nodes < 0:
        raise ModelError(f"stored {prefix}: the number of nodes does not fit")
    indices, indptr = _pattern(arrays, f"{prefix}/paths", (n_classes, n_nodes))
    kind, storage = storage.split("-")
    shares = np.ones(indices.size)
    if kind == "factor":
        shares = _array(arrays, f"{prefix}/paths/data", (np.float32, np.float64), 1)
        _check_finite(shares, prefix)
    if shares.size != indices.size:
        raise ModelError(f"stored {prefix}: there are {indices.size:,} indices for {shares.size:,} values")
    paths = sparse.csr_array((shares, indices, indptr), shape=(n_classes, n_nodes))
    dense = storage == "dense"
    shape = (n_features, n_nodes) if dense else (n_nodes, n_features)
    read = full or (not dense and arrays.get(f"{prefix}/data", intercept).size < WALK_FROM)
    matrix = _matrix(storage, arrays, prefix, shape, read)
    weights = NodeVectors(matrix, paths, intercept)
    if f"{prefix}/squares" in arrays:
        squares = _array(arrays, f"{prefix}/squares", (np.float64,), 1)
        _check_finite(squares, prefix)
        if squares.size != n_nodes or (squares < 0).any():
            raise ModelError(f"stored {prefix}: there are no {n_nodes:,} squared norms of nodes")
        vars(weights)["squares"] = squares  # found without reading the vectors
    return weights


def unpack_sparse(arrays: Arrays, shape: tuple[int, int], what: str) -> sparse.csr_array:
    """The sparse matrix in the arrays `data`, `indices` and `indptr`, without a copy and checked like weights.

    >>> arrays = {"data": np.ones(1), "indices": np.array([5]), "indptr": np.array([0, 1])}
    >>> unpack_sparse(arrays, (1, 2), "duals")
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: stored duals: an index is out of range
    """
    named = {f"{what}/{name}": array for name, array in arrays.items()}
    matrix: sparse.csr_array = _matrix("csr", named, what, shape, read=True)
    return matrix


def _canonical(matrix: sparse.csr_array) -> sparse.csr_array:
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _matrix(storage: str, arrays: Arrays, prefix: str, shape: tuple[int, int], read: bool) -> Any:
    """The stored matrix; `read` looks at every entry."""
    if storage == "dense":
        values = _array(arrays, f"{prefix}/coef", (np.float32, np.float64), 2)
        if values.shape != shape:
            raise ModelError(f"stored {prefix}: the shape is {values.shape}, not {shape}")
        if read:
            _check_finite(values, prefix)
        return values
    data = _array(arrays, f"{prefix}/data", (np.float32, np.float64), 1)
    indices, indptr = _pattern(arrays, prefix, shape, read)
    if data.size != indices.size:
        raise ModelError(f"stored {prefix}: there are {indices.size:,} indices for {data.size:,} values")
    if read:
        _check_finite(data, prefix)
    if indices.dtype == np.int32 and data.size < 2**31:
        indptr = indptr.astype(
            np.int32, copy=False
        )  # of two types SciPy takes the larger for both, and copies
    matrix = sparse.csr_array((data, indices, indptr), shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = (
        True  # as was checked, or else SciPy would read them all
    )
    return matrix


def _pattern(arrays: Arrays, prefix: str, shape: tuple[int, int], read: bool = True) -> tuple[Any, Any]:
    """Columns and row pointers of a CSR; these checks keep SciPy's compiled loops inside their memory."""
    indices = _array(arrays, f"{prefix}/indices", (np.int32, np.int64), 1)
    indptr = _array(arrays, f"{prefix}/indptr", (np.int32, np.int64), 1)
    _check_indptr(indptr, shape[0], indices.size, prefix)
    if read:
        _check_range(indices, shape[1], prefix)
        _check_sorted(indices, indptr, prefix)
    return indices, indptr


def _entry(header: Any, key: str, kind: type, what: str) -> Any:
    value = header.get(key) if type(header) is dict else None
    if type(value) is not kind:
        raise ModelError(f"stored {what}: the header has no valid {key!r}")
    return value


def _array(arrays: Arrays, name: str, dtypes: tuple[type, ...], ndim: int) -> np.ndarray[Any, Any]:
    array = arrays.get(name)
    if array is None:
        raise ModelError(f"the array {name!r} is missing in the model")
    if array.dtype not in dtypes or array.ndim != ndim:
        raise ModelError(f"the array {name!r} has an unexpected dtype or number of dimensions")
    return array


def _check_indptr(indptr: np.ndarray[Any, Any], n_rows: int, n_entries: int, what: str) -> None:
    if (
        indptr.size != n_rows + 1
        or indptr[0] != 0
        or indptr[-1] != n_entries
        or np.any(indptr[1:] < indptr[:-1])
    ):
        raise ModelError(f"stored {what}: the row pointers are not valid")


def _check_range(indices: np.ndarray[Any, Any], limit: int, what: str) -> None:
    if indices.size and not (indices.min() >= 0 and indices.max() < limit):
        raise ModelError(f"stored {what}: an index is out of range")


def _check_sorted(indices: np.ndarray[Any, Any], indptr: np.ndarray[Any, Any], what: str) -> None:
    """Inside a row indices must rise; they may fall only where a row starts."""
    for first in range(1, indices.size, _ENTRIES_AT_A_TIME):
        last = min(first + _ENTRIES_AT_A_TIME, indices.size)
        falls = first + np.flatnonzero(indices[first:last] <= indices[first - 1 : last - 1])
        if np.any(indptr[np.searchsorted(indptr, falls)] != falls):
            raise ModelError(f"stored {what}: the indices of a row are not sorted")


def _check_finite(values: np.ndarray[Any, Any], what: str) -> None:
    flat = values.reshape(-1)
    for first in range(0, flat.size, _ENTRIES_AT_A_TIME):
        if not np.isfinite(flat[first : first + _ENTRIES_AT_A_TIME]).all():
            raise ModelError(f"{what}: a value is NaN or infinite")
