"""Vectors in the space of a kernel as the header entries and arrays of a model, checked on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.errors import ModelError, TaxolearnError
from taxolearn.gram import row_kernel
from taxolearn.storage.packed_arrays import (
    Arrays,
    canonical,
    check_finite,
    read_array,
    read_entry,
    read_matrix,
    read_pattern,
)
from taxolearn.vectors.kernel_vectors import KernelVectors

STORAGES = ("kernel-dense", "kernel-csr", "kernel-given")


def pack_kernel_vectors(vectors: KernelVectors, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Return the header entry and the arrays (named `prefix`/...) of support rows and their coefficients.

    >>> from taxolearn import MulticlassSVM
    >>> model = MulticlassSVM(kernel="rbf").fit([[-1.0], [1.0]], ["a", "b"])
    >>> header, arrays = pack_kernel_vectors(model.vectors_, "weights")
    >>> header["storage"], header["kernel"], arrays["weights/support"].tolist()
    ('kernel-dense', 'rbf', [0, 1])
    """
    kernel = vectors.kernel
    if not isinstance(kernel.function, str):
        raise ModelError(
            f"a model with the callable kernel {kernel.name} cannot be saved: a file holds no code; use a kernel by "
            "name, or kernel='precomputed' with its products"
        )
    nodes, paths = canonical(vectors.nodes), canonical(vectors.paths)
    for values in (nodes.data, paths.data, vectors.intercept):
        check_finite(values, prefix)
    header: dict[str, Any] = {
        "n_classes": vectors.n_classes,
        "n_features": vectors.n_features,
        "n_nodes": int(nodes.shape[0]),
        "kernel": kernel.function,
        "kernel_params": [[name, value] for name, value in kernel.parameters],
    }
    arrays: Arrays = {
        f"{prefix}/intercept": vectors.intercept,
        f"{prefix}/support": vectors.support,
        f"{prefix}/labels": vectors.labels,
    }
    for name, matrix in (("nodes", nodes), ("paths", paths)):
        arrays |= {f"{prefix}/{name}/{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
    if vectors.rows is None:
        return {"storage": "kernel-given", **header}, arrays
    if sparse.issparse(vectors.rows):
        rows = canonical(sparse.csr_array(vectors.rows))
        arrays |= {f"{prefix}/rows/{part}": getattr(rows, part) for part in ("data", "indices", "indptr")}
        return {"storage": "kernel-csr", **header}, arrays
    arrays[f"{prefix}/rows/coef"] = np.ascontiguousarray(vectors.rows)
    return {"storage": "kernel-dense", **header}, arrays


def unpack_kernel_vectors(
    header: Any, arrays: Arrays, prefix: str, intercept: Any, n_features: int, *, full: bool
) -> KernelVectors:
    """Undo `pack_kernel_vectors` without a copy; sizes, index ranges and finiteness are checked.

    Without `full` the entries of dense support rows are not looked at.

    >>> from taxolearn import MulticlassSVM
    >>> model = MulticlassSVM(kernel="rbf").fit([[-1.0], [1.0]], ["a", "b"])
    >>> header, arrays = pack_kernel_vectors(model.vectors_, "weights")
    >>> unpack_kernel_vectors(header, arrays, "weights", model.vectors_.intercept, 1, full=True)
    KernelVectors('rbf', 2 support rows, 2 classes, 1 features)
    """
    storage = read_entry(header, "storage", str, prefix)
    n_nodes = read_entry(header, "n_nodes", int, prefix)
    support = read_array(arrays, f"{prefix}/support", (np.int64,), 1)
    labels = read_array(arrays, f"{prefix}/labels", (np.int32,), 1)
    n, n_classes = len(support), len(intercept)
    if n_nodes < 0 or labels.size != n or (n and (np.diff(support) <= 0).any()) or (n and support[0] < 0):
        raise ModelError(f"stored {prefix}: the support rows are not valid")
    parameters = read_entry(header, "kernel_params", list, prefix)
    if not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in parameters):
        raise ModelError(f"stored {prefix}: the header has no valid 'kernel_params'")
    try:
        kernel = row_kernel(read_entry(header, "kernel", str, prefix), dict(parameters))
    except TaxolearnError as error:
        raise ModelError(f"stored {prefix}: {error}") from None
    if kernel.is_precomputed != (storage == "kernel-given"):
        raise ModelError(f"stored {prefix}: support rows belong to another kernel than {kernel.name}")
    rows: Any = None
    if storage == "kernel-given":
        if n and support[-1] >= n_features:
            raise ModelError(f"stored {prefix}: an index is out of range")
    else:
        kind = storage.removeprefix("kernel-")
        rows = read_matrix(kind, arrays, f"{prefix}/rows", (n, n_features), full or kind == "csr")
    nodes = read_matrix("csr", arrays, f"{prefix}/nodes", (n_nodes, n), True)
    indices, indptr = read_pattern(arrays, f"{prefix}/paths", (n_classes, n_nodes))
    shares = read_array(arrays, f"{prefix}/paths/data", (np.float32, np.float64), 1)
    check_finite(shares, prefix)
    if shares.size != indices.size:
        raise ModelError(f"stored {prefix}: there are {indices.size:,} indices for {shares.size:,} values")
    paths = sparse.csr_array((shares, indices, indptr), shape=(n_classes, n_nodes))
    return KernelVectors(kernel, rows, nodes, paths, intercept, support, labels, n_features)
