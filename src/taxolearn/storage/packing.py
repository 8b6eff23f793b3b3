"""Taxonomies and weights as the header entries and arrays of a model, checked on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.errors import ModelError, TaxolearnError
from taxolearn.storage.kernel_packing import STORAGES, pack_kernel_vectors, unpack_kernel_vectors
from taxolearn.storage.names import decode_names, encode_names
from taxolearn.storage.packed_arrays import (
    Arrays,
    canonical,
    check_finite,
    check_indptr,
    check_range,
    read_array,
    read_entry,
    read_matrix,
    read_pattern,
)
from taxolearn.storage.terms import pack_terms, unpack_terms
from taxolearn.structure import Taxonomy
from taxolearn.vectors.class_vectors import ClassVectors
from taxolearn.vectors.dual_vectors import DualVectors
from taxolearn.vectors.kernel_vectors import KernelVectors
from taxolearn.vectors.node_vectors import NodeVectors
from taxolearn.vectors.path_vectors import WALK_FROM
from taxolearn.vectors.scoring import Vectors

_MAX_FEATURES = 2**48  # stored numbers above it are damage


def pack_taxonomy(taxonomy: Taxonomy, prefix: str = "taxonomy") -> tuple[dict[str, Any], Arrays]:
    """Return the header entry and the arrays (named `prefix`/...) of a taxonomy.

    >>> header, arrays = pack_taxonomy(Taxonomy.from_edges([("animal", "cat"), ("animal", "dog")]))
    >>> header["names"][0], sorted(arrays)
    ('animal', ['taxonomy/parent_indices', 'taxonomy/parent_indptr'])
    """
    header: dict[str, Any] = {"names": encode_names(taxonomy.nodes)}
    if taxonomy.terms:
        header["terms"] = pack_terms(taxonomy)
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
    names = decode_names(read_entry(header, "names", list, prefix))
    indptr = read_array(arrays, f"{prefix}/parent_indptr", (np.int32, np.int64), 1)
    indices = read_array(arrays, f"{prefix}/parent_indices", (np.int32, np.int64), 1)
    check_indptr(indptr, len(names), indices.size, prefix)
    check_range(indices, len(names), prefix)
    try:
        taxonomy = Taxonomy.from_arrays(indptr, indices, names)
        return taxonomy if header.get("terms") is None else unpack_terms(header["terms"], taxonomy)
    except TaxolearnError as error:
        raise ModelError(f"stored {prefix}: {error}") from None


def pack_vectors(weights: Vectors, prefix: str = "weights") -> tuple[dict[str, Any], Arrays]:
    """Return the header entry and the arrays (named `prefix`/...) of class or node weights.

    >>> header, arrays = pack_vectors(ClassVectors(np.eye(2), np.zeros(2)))
    >>> header, sorted(arrays)
    ({'storage': 'dense', 'n_classes': 2, 'n_features': 2}, ['weights/coef', 'weights/intercept'])
    """
    if isinstance(weights, KernelVectors):
        return pack_kernel_vectors(weights, prefix)
    if isinstance(weights, DualVectors):
        weights = weights.as_nodes()  # a model on disk does not need the rows it was fitted on
    check_finite(weights.intercept, prefix)
    header: dict[str, Any] = {"n_classes": weights.n_classes, "n_features": weights.n_features}
    arrays = {f"{prefix}/intercept": weights.intercept}
    if isinstance(weights, NodeVectors):
        header["n_nodes"] = weights.n_nodes
        paths = canonical(weights.paths)
        arrays |= {f"{prefix}/paths/{part}": getattr(paths, part) for part in ("indices", "indptr")}
        arrays[f"{prefix}/squares"] = weights.squares
        storage, values = "nodes-", weights.nodes
        if not np.all(paths.data == 1):  # no paths, but any matrix classes x columns
            check_finite(paths.data, prefix)
            arrays[f"{prefix}/paths/data"] = paths.data
            storage = "factor-"
    else:
        storage, values = "", weights.coef
    if weights.is_sparse:
        values = canonical(values)
        check_finite(values.data, prefix)
        arrays |= {f"{prefix}/{part}": getattr(values, part) for part in ("data", "indices", "indptr")}
    else:
        check_finite(values, prefix)
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
    storage = read_entry(header, "storage", str, prefix)
    n_classes, n_features = (read_entry(header, key, int, prefix) for key in ("n_classes", "n_features"))
    intercept = read_array(arrays, f"{prefix}/intercept", (np.float64,), 1)
    if intercept.size != n_classes or not 0 <= n_features <= _MAX_FEATURES:
        raise ModelError(f"stored {prefix}: the number of classes or features does not fit")
    check_finite(intercept, prefix)
    if storage in STORAGES:
        return unpack_kernel_vectors(header, arrays, prefix, intercept, n_features, full=full)
    if storage not in ("dense", "csr", "nodes-dense", "nodes-csr", "factor-dense", "factor-csr"):
        raise ModelError(f"stored {prefix}: the storage {storage[:40]!r} is unknown")
    if "-" not in storage:
        read = full or storage == "csr"  # SciPy trusts indices, so that these must be right
        return ClassVectors(read_matrix(storage, arrays, prefix, (n_classes, n_features), read), intercept)
    n_nodes = read_entry(header, "n_nodes", int, prefix)
    if n_nodes < 0:
        raise ModelError(f"stored {prefix}: the number of nodes does not fit")
    indices, indptr = read_pattern(arrays, f"{prefix}/paths", (n_classes, n_nodes))
    kind, storage = storage.split("-")
    shares = np.ones(indices.size)
    if kind == "factor":
        shares = read_array(arrays, f"{prefix}/paths/data", (np.float32, np.float64), 1)
        check_finite(shares, prefix)
    if shares.size != indices.size:
        raise ModelError(f"stored {prefix}: there are {indices.size:,} indices for {shares.size:,} values")
    paths = sparse.csr_array((shares, indices, indptr), shape=(n_classes, n_nodes))
    dense = storage == "dense"
    shape = (n_features, n_nodes) if dense else (n_nodes, n_features)
    read = full or (not dense and arrays.get(f"{prefix}/data", intercept).size < WALK_FROM)
    matrix = read_matrix(storage, arrays, prefix, shape, read)
    weights = NodeVectors(matrix, paths, intercept)
    if f"{prefix}/squares" in arrays:
        squares = read_array(arrays, f"{prefix}/squares", (np.float64,), 1)
        check_finite(squares, prefix)
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
    matrix: sparse.csr_array = read_matrix("csr", named, what, shape, read=True)
    return matrix
