"""Weights that are kept as the duals they come from, where even sparse vectors would take too much memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.engines import Engine
from taxolearn.errors import DataError
from taxolearn.vectors.node_vectors import NodeVectors
from taxolearn.vectors.path_vectors import PathVectors

_VECTOR_BYTES = 64 * 2**20  # bytes of node vectors made at a time
_ROWS_AT_A_TIME = 2**13  # rows added up to a vector at a time
_SCORE_BYTES = 512 * 2**20  # bytes of scores at a time: each block of rows makes all vectors anew


@dataclass(frozen=True, eq=False)
class DualVectors(PathVectors):
    """Node n has the vector scale_n * sum over classes l under n and rows i of signed_dual[l, i] x_i.

    Class k scores the sum of the vectors on its path, plus intercept[k]. `X` are the rows that were fitted (CSR or
    dense), `signed_dual` is classes x rows, `paths` classes x nodes. Nothing is copied; vectors are made anew at every
    call, so this is for many rows at a time.

    >>> paths = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> X, dual = np.array([[1.0, 0.0], [0.0, 1.0]]), sparse.csr_array(np.array([[1.0, 0.0], [0.0, -1.0]]))
    >>> weights = DualVectors(X, dual, paths, np.array([1.0, 2.0, 2.0]), np.zeros(2))
    >>> weights.coef.toarray().tolist()
    [[3.0, -1.0], [1.0, -3.0]]
    >>> weights
    DualVectors(2 duals of 2 rows, 2 classes, 2 features)
    """

    X: Any
    signed_dual: sparse.csr_array
    paths: sparse.csr_array
    scale: np.ndarray[Any, np.dtype[np.float64]]
    intercept: np.ndarray[Any, np.dtype[np.float64]]

    def __post_init__(self) -> None:
        n_classes, n_nodes = self.paths.shape
        if self.signed_dual.shape != (n_classes, self.X.shape[0]) or self.intercept.shape != (n_classes,):
            raise DataError(f"duals and intercept must be for {n_classes} classes and {self.X.shape[0]} rows")
        if self.scale.shape != (n_nodes,):
            raise DataError(f"scale has shape {self.scale.shape}, but there are {n_nodes} nodes")
        object.__setattr__(self, "_under", self.paths.T.tocsr())

    def __repr__(self) -> str:
        sizes = f"{self.n_classes} classes, {self.n_features} features"
        return f"DualVectors({self.signed_dual.nnz} duals of {self.X.shape[0]} rows, {sizes})"

    @property
    def n_features(self) -> int:
        """Number of features a row must have.

        >>> _tiny().n_features
        2
        """
        return int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of all scores.

        >>> _tiny().dtype
        dtype('float64')
        """
        return np.dtype(np.float64)

    @property
    def is_sparse(self) -> bool:
        """Duals are stored sparse.

        >>> _tiny().is_sparse
        True
        """
        return True

    @property
    def n_bytes(self) -> int:
        """Bytes of the duals, paths and intercept; the rows belong to the caller.

        >>> _tiny().n_bytes > 100
        True
        """
        parts = [self.scale, self.intercept]
        for matrix in (self.signed_dual, self.paths):
            parts += [matrix.data, matrix.indices, matrix.indptr]
        return int(sum(part.nbytes for part in parts))

    @property
    def coef(self) -> Any:
        """Weights of the classes as a csr_array, made anew at every call.

        >>> _tiny().coef.toarray().tolist()
        [[2.0, -1.0], [1.0, -2.0]]
        """
        return sparse.csr_array(self.paths @ sparse.csr_array(self.node_rows(np.arange(self.paths.shape[1]))))

    def entries(self, number: int, columns: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The weights of one class at some features, in float64.

        >>> _tiny().entries(0, [1, 0])
        array([-1.,  2.])
        """
        path = self.paths.indices[self.paths.indptr[number] : self.paths.indptr[number + 1]]
        whole = np.asarray(self.node_rows(path).sum(axis=0)).ravel()
        found: np.ndarray[Any, Any] = whole[np.asarray(columns)]
        return found

    def node_rows(self, nodes: Any) -> Any:
        """The vectors of some nodes, nodes x features, float64; sparse if X is.

        >>> _tiny().node_rows(np.array([0])).tolist()
        [[1.0, -1.0]]
        """
        under: Any = self._under  # type: ignore[attr-defined]
        sums = under[nodes]
        # SciPy would turn all duals and all of X to float64 at every product
        classes, position = np.unique(sums.indices, return_inverse=True)
        sums = sparse.csr_array((sums.data, position, sums.indptr), shape=(len(nodes), len(classes)))
        # rows that the classes of a node share are read once
        shares = sums @ self.signed_dual[classes].astype(np.float64, copy=False)
        shares.data *= np.repeat(self.scale[nodes], np.diff(shares.indptr))
        if not sparse.issparse(self.X):
            return shares @ self.X
        used, position = np.unique(shares.indices, return_inverse=True)
        few = sparse.csr_array(
            (shares.data, position, shares.indptr), shape=(len(shares.indptr) - 1, len(used))
        )
        return few @ self.X[used]

    def node_vector(self, node: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The vector of one node, dense, in float64.

        >>> _tiny().node_vector(0)
        array([ 1., -1.])
        """
        vector = np.zeros(self.n_features)
        if self.scale[node] == 0:
            return vector
        under: Any = self._under  # type: ignore[attr-defined]
        dual, shares = self.signed_dual, np.zeros(self.X.shape[0])
        # rows that the classes of a node share are read once
        for k in under.indices[under.indptr[node] : under.indptr[node + 1]]:
            span = slice(dual.indptr[k], dual.indptr[k + 1])
            shares[dual.indices[span]] += dual.data[span]
        shares *= self.scale[node]
        used = np.flatnonzero(shares)
        for first in range(0, len(used), _ROWS_AT_A_TIME):
            few = used[first : first + _ROWS_AT_A_TIME]
            vector += self.X[few].T @ shares[few]
        return vector

    def vector_sizes(self) -> np.ndarray[Any, Any]:
        """For each node, how many entries its vector has at most: those of all rows with a dual below it.

        >>> _tiny().vector_sizes()
        array([2, 2, 2])
        """
        return self._sizes

    @cached_property
    def _sizes(self) -> np.ndarray[Any, Any]:
        row_sizes = np.diff(self.X.indptr) if sparse.issparse(self.X) else np.full(*self.X.shape)
        spans = pairwise(self.signed_dual.indptr.tolist())
        of_classes = np.array([row_sizes[self.signed_dual.indices[a:b]].sum() for a, b in spans])
        under: Any = self._under  # type: ignore[attr-defined]
        sizes: np.ndarray[Any, Any] = np.minimum(under.astype(np.int64) @ of_classes, self.n_features)
        return sizes

    def vectors_of(self, nodes: np.ndarray[Any, Any]) -> tuple[sparse.csr_array, np.ndarray[Any, Any]]:
        """A csr_array of the vectors of these nodes, and in which of its rows they stand.

        >>> _tiny().vectors_of(np.array([2]))[0].toarray()
        array([[ 0., -1.]])
        """
        made = sparse.csr_array(self.node_rows(nodes))
        made.sort_indices()
        return made, np.arange(len(nodes))

    def as_nodes(self) -> NodeVectors:
        """The same weights with one stored vector per node, in float32: what a model on disk holds.

        >>> _tiny().as_nodes().coef.toarray().tolist()
        [[2.0, -1.0], [1.0, -2.0]]
        """
        n_nodes = self.paths.shape[1]
        counts = [np.zeros(1, dtype=np.int64)]
        # Written to files without a name as they are made, and mapped: the vectors may be larger than the memory.
        with tempfile.TemporaryFile() as data, tempfile.TemporaryFile() as indices:
            for nodes in np.array_split(np.arange(n_nodes), self._cuts()):
                made, _ = self.vectors_of(nodes)
                counts.append(np.diff(made.indptr))
                made.data.astype(np.float32).tofile(data)
                made.indices.astype(np.int32).tofile(indices)
            indptr = np.cumsum(np.concatenate(counts))
            if indptr[-1] < 2**31:
                indptr = indptr.astype(np.int32)  # of two types SciPy takes the larger for both, and copies
            parts = (_mapped(data, np.float32), _mapped(indices, np.int32), indptr)
        stored = sparse.csr_array(parts, shape=(n_nodes, self.n_features))
        stored.has_sorted_indices = stored.has_canonical_format = True
        return NodeVectors(stored, self.paths, self.intercept)

    def _cuts(self) -> np.ndarray[Any, Any]:
        """Where to cut the nodes so that the vectors of each piece are not too many to be made at once."""
        pieces = np.cumsum(self.vector_sizes()) // (_VECTOR_BYTES // 16)
        return np.flatnonzero(np.diff(pieces)) + 1

    def _product(self, X: Any) -> Callable[[Any], np.ndarray[Any, Any]]:
        n_nodes = self.paths.shape[1]
        width = max(1, _VECTOR_BYTES // (8 * self.n_features))

        def product(block: Any) -> np.ndarray[Any, Any]:
            by_node = np.empty((n_nodes, block.shape[0]))
            for start in range(0, n_nodes, width):
                rows = self.node_rows(np.arange(start, min(n_nodes, start + width)))
                dense = rows.toarray() if sparse.issparse(rows) else rows
                by_node[start : start + width] = (block @ np.ascontiguousarray(dense.T)).T
            scores: np.ndarray[Any, Any] = (self.paths @ by_node).T
            return scores

        return product

    def _walks(self, X: Any) -> bool:
        return sparse.issparse(self.X) and super()._walks(X)

    def _score_blocks(
        self, X: Any, max_bytes: int, engine: Engine
    ) -> Iterator[tuple[slice, np.ndarray[Any, Any]]]:
        return super()._score_blocks(X, max(max_bytes, _SCORE_BYTES), engine)


def _mapped(file: Any, dtype: Any) -> np.ndarray[Any, Any]:
    file.flush()
    if file.tell() == 0:  # nothing cannot be mapped
        return np.empty(0, dtype=dtype)
    return np.asarray(np.memmap(file, dtype=dtype, mode="r"))


def _tiny() -> DualVectors:
    """For the examples: two classes under one parent, a row each."""
    paths = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    dual = sparse.csr_array(np.array([[1.0, 0.0], [0.0, -1.0]]))
    return DualVectors(np.eye(2), dual, paths, np.ones(3), np.zeros(2))
