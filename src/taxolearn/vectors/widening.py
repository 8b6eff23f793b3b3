"""Vectors that were learned on the columns in use, for rows that have all columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.vectors.class_vectors import ClassVectors
from taxolearn.vectors.dual_vectors import DualVectors
from taxolearn.vectors.node_vectors import NodeVectors
from taxolearn.vectors.scoring import Vectors

Columns = npt.NDArray[np.intp]

_ROWS_TOGETHER = 64  # laid out side by side at a time
_DENSE_BYTES = 64 * 2**20  # dense vectors stay dense up to this size; above, zeros are not stored


def widened(vectors: Any, columns: Columns, n_features: int) -> Vectors:
    """Vectors over some columns (in rising order) as vectors over all of them; they are zero at the others.

    >>> few = ClassVectors(np.array([[1.0, 2.0]]), np.zeros(1))
    >>> widened(few, np.array([1, 3]), 5).coef.tolist()
    [[0.0, 1.0, 0.0, 2.0, 0.0]]
    """
    if isinstance(vectors, DualVectors):
        return replace(vectors, X=_moved(vectors.X, columns, n_features))
    if isinstance(vectors, ClassVectors):
        return replace(vectors, coef=_spread(vectors.coef, columns, n_features))
    assert isinstance(vectors, NodeVectors)
    if vectors.is_sparse:
        return replace(vectors, nodes=_moved(vectors.nodes, columns, n_features))
    spread = _spread(vectors.nodes.T, columns, n_features)
    return replace(vectors, nodes=spread if sparse.issparse(spread) else np.ascontiguousarray(spread.T))


def with_unused_nodes(vectors: NodeVectors, used: Columns, paths: sparse.csr_array) -> NodeVectors:
    """Vectors of the nodes that classes use as vectors of all nodes that `paths` knows; those of the others are zero.

    >>> few = NodeVectors(np.array([[1.0, 2.0]]), sparse.csr_array([[1.0, 1.0]]), np.zeros(1))
    >>> with_unused_nodes(few, np.array([0, 2]), sparse.csr_array([[1.0, 0.0, 1.0]])).nodes.tolist()
    [[1.0, 0.0, 2.0]]
    """
    nodes, n_nodes = vectors.nodes, paths.shape[1]
    if not vectors.is_sparse:
        if nodes.shape[0] * n_nodes * nodes.itemsize <= _DENSE_BYTES:
            return replace(vectors, nodes=np.ascontiguousarray(_spread(nodes, used, n_nodes)), paths=paths)
        nodes = _compressed(nodes.T, np.arange(nodes.shape[0]), nodes.shape[0])
    counts = np.zeros(n_nodes, dtype=nodes.indptr.dtype)
    counts[used] = np.diff(nodes.indptr)
    ends = np.concatenate((nodes.indptr[:1], np.cumsum(counts, dtype=counts.dtype)))
    wide = sparse.csr_array((nodes.data, nodes.indices, ends), shape=(n_nodes, nodes.shape[1]))
    return replace(vectors, nodes=wide, paths=paths)


def _spread(matrix: Any, columns: Columns, n_features: int) -> Any:
    """The matrix with its columns where they belong, dense if it is and all of it is not large."""
    if sparse.issparse(matrix):
        return _moved(matrix, columns, n_features)
    if len(matrix) * n_features * matrix.itemsize > _DENSE_BYTES:
        return _compressed(matrix, columns, n_features)
    wide = np.zeros((len(matrix), n_features), dtype=matrix.dtype)
    wide[:, columns] = matrix
    return wide


def _compressed(matrix: Any, columns: Columns, n_features: int) -> Any:
    """A dense matrix without its zeros: row by row, which takes a fraction of SciPy's way through coordinates."""
    counts = np.count_nonzero(matrix, axis=1)
    ends = np.concatenate(([0], np.cumsum(counts)))
    kind = np.int32 if max(ends[-1], n_features) < 2**31 else np.int64
    values, places = np.empty(ends[-1], dtype=matrix.dtype), np.empty(ends[-1], dtype=kind)
    numbers = columns.astype(kind)
    # node vectors come turned: their rows are far apart in memory
    for start in range(0, len(matrix), _ROWS_TOGETHER):
        block = slice(start, start + _ROWS_TOGETHER)
        spans = zip(ends[:-1][block].tolist(), ends[1:][block].tolist(), strict=True)
        for row, (first, last) in zip(np.ascontiguousarray(matrix[block]), spans, strict=True):
            there = row != 0
            values[first:last], places[first:last] = row[there], numbers[there]
    return sparse.csr_array((values, places, ends.astype(kind)), shape=(len(matrix), n_features))


def _moved(matrix: Any, columns: Columns, n_features: int) -> Any:
    places = columns.astype(matrix.indices.dtype)[matrix.indices]
    return sparse.csr_array((matrix.data, places, matrix.indptr), shape=(matrix.shape[0], n_features))
