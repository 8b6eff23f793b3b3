"""Taxonomies and weights as the header entries and arrays of a model, checked on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.errors import ModelError, TaxolearnError
from taxolearn.models.names import decode_names, encode_names
from taxolearn.models.weights import LinearWeights
from taxolearn.structure import Taxonomy

Arrays = dict[str, np.ndarray[Any, Any]]
_CHUNK = 2**20
_MAX_FEATURES = 2**48


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


def pack_weights(weights: LinearWeights, prefix: str = "weights") -> tuple[dict[str, Any], Arrays]:
    """Return the header entry and the arrays (named `prefix`/...) of class weights.

    >>> header, arrays = pack_weights(LinearWeights(np.eye(2), np.zeros(2)))
    >>> header, sorted(arrays)
    ({'storage': 'dense', 'n_classes': 2, 'n_features': 2}, ['weights/coef', 'weights/intercept'])
    """
    coef = weights.coef
    _check_finite(coef.data if weights.is_sparse else coef, prefix)
    _check_finite(weights.intercept, prefix)
    storage = "csr" if weights.is_sparse else "dense"
    header = {"storage": storage, "n_classes": weights.n_classes, "n_features": weights.n_features}
    arrays = {f"{prefix}/intercept": weights.intercept}
    if weights.is_sparse:
        if not coef.has_canonical_format:
            coef = coef.copy()
            coef.sum_duplicates()
        arrays |= {f"{prefix}/{part}": getattr(coef, part) for part in ("data", "indices", "indptr")}
    else:
        arrays[f"{prefix}/coef"] = coef
    return header, arrays


def unpack_weights(header: Any, arrays: Arrays, prefix: str = "weights") -> LinearWeights:
    """Undo `pack_weights` without a copy; sizes, index ranges and finiteness are checked.

    >>> weights = unpack_weights(*pack_weights(LinearWeights(np.eye(2), np.zeros(2)).sparsified(0.5)))
    >>> weights.coef.toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    storage = _entry(header, "storage", str, prefix)
    n_classes, n_features = (_entry(header, key, int, prefix) for key in ("n_classes", "n_features"))
    intercept = _array(arrays, f"{prefix}/intercept", (np.float64,), 1)
    if intercept.size != n_classes or not 0 <= n_features <= _MAX_FEATURES:
        raise ModelError(f"stored {prefix}: the number of classes or features does not fit")
    _check_finite(intercept, prefix)
    if storage == "dense":
        coef = _array(arrays, f"{prefix}/coef", (np.float32, np.float64), 2)
        if coef.shape != (n_classes, n_features):
            raise ModelError(f"stored {prefix}: the shape is {coef.shape}, not {(n_classes, n_features)}")
        _check_finite(coef, prefix)
        return LinearWeights(coef, intercept)
    if storage != "csr":
        raise ModelError(f"stored {prefix}: the storage {storage[:40]!r} is unknown")
    data = _array(arrays, f"{prefix}/data", (np.float32, np.float64), 1)
    indices = _array(arrays, f"{prefix}/indices", (np.int32, np.int64), 1)
    indptr = _array(arrays, f"{prefix}/indptr", (np.int32, np.int64), 1)
    # These keep SciPy's compiled loops inside their memory, so they are never left out.
    _check_indptr(indptr, n_classes, indices.size, prefix)
    _check_range(indices, n_features, prefix)
    _check_sorted(indices, indptr, prefix)
    if data.size != indices.size:
        raise ModelError(f"stored {prefix}: there are {indices.size:,} indices for {data.size:,} values")
    _check_finite(data, prefix)
    return LinearWeights(sparse.csr_array((data, indices, indptr), shape=(n_classes, n_features)), intercept)


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
    for first in range(1, indices.size, _CHUNK):
        last = min(first + _CHUNK, indices.size)
        falls = first + np.flatnonzero(indices[first:last] <= indices[first - 1 : last - 1])
        if np.any(indptr[np.searchsorted(indptr, falls)] != falls):
            raise ModelError(f"stored {what}: the indices of a row are not sorted")


def _check_finite(values: np.ndarray[Any, Any], what: str) -> None:
    flat = values.reshape(-1)
    for first in range(0, flat.size, _CHUNK):
        if not np.isfinite(flat[first : first + _CHUNK]).all():
            raise ModelError(f"{what}: a value is NaN or infinite")
