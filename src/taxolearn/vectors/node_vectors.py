"""Vectors kept at the nodes of a taxonomy: a class scores the sum along its path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.errors import DataError, ModelError
from taxolearn.vectors.class_vectors import read_only
from taxolearn.vectors.path_vectors import WALK_FROM, PathVectors
from taxolearn.vectors.products import row_product, turned
from taxolearn.vectors.scoring import FLOATS, added_up, picked
from taxolearn.vectors.walking import bad_index


@dataclass(frozen=True, eq=False)
class NodeVectors(PathVectors):
    """One vector per node: class k scores sum over n in path(k) of nodes_n . x, plus intercept[k].

    `nodes` is a C-contiguous array FEATURES x nodes, or a `scipy.sparse.csr_array` NODES x features, float32 or
    float64; `paths` is classes x nodes, a CSR of ones. None of them is copied; all are seen as read-only. With other
    numbers than ones in `paths`, class k scores sum_n paths[k, n] nodes_n . x; then there are no paths to search along.

    >>> paths = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> weights = NodeVectors(np.array([[1.0, 2.0, 3.0]]), paths, np.zeros(2))
    >>> weights.scores(np.array([[2.0]])), weights.coef.tolist()
    (array([[6., 8.]]), [[3.0], [4.0]])
    >>> weights
    NodeVectors(dense float64, 3 nodes, 2 classes, 1 features)
    """

    nodes: Any
    paths: sparse.csr_array
    intercept: np.ndarray[Any, np.dtype[np.float64]]

    def __post_init__(self) -> None:
        nodes, paths, intercept = self.nodes, self.paths, np.asarray(self.intercept)
        if not isinstance(nodes, (np.ndarray, sparse.csr_array)) or nodes.ndim != 2:
            raise DataError("nodes must be a 2-D NumPy array or a scipy.sparse.csr_array")
        if nodes.dtype not in FLOATS:
            raise DataError(f"nodes must be float32 or float64, not {nodes.dtype}")
        if not isinstance(paths, sparse.csr_array) or paths.shape != (len(intercept), self.n_nodes):
            raise DataError(f"paths must be a csr_array of {len(intercept)} classes by {self.n_nodes} nodes")
        if isinstance(nodes, np.ndarray):
            nodes = read_only(np.ascontiguousarray(nodes))
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "paths", paths.astype(nodes.dtype, copy=False))
        object.__setattr__(self, "intercept", read_only(intercept.astype(np.float64, copy=False)))

    def __repr__(self) -> str:
        kind = f"sparse {self.nodes.nnz} entries" if self.is_sparse else "dense"
        sizes = f"{self.n_nodes} nodes, {self.n_classes} classes, {self.n_features} features"
        return f"NodeVectors({kind} {self.dtype}, {sizes})"

    @property
    def is_sparse(self) -> bool:
        """Whether the node vectors are stored sparse.

        >>> NodeVectors(sparse.csr_array((2, 5)), sparse.csr_array(np.eye(2)), np.zeros(2)).is_sparse
        True
        """
        return not isinstance(self.nodes, np.ndarray)

    @property
    def n_nodes(self) -> int:
        """Number of nodes.

        >>> NodeVectors(np.zeros((5, 2)), sparse.csr_array(np.eye(2)), np.zeros(2)).n_nodes
        2
        """
        return int(self.nodes.shape[0 if self.is_sparse else 1])

    @property
    def n_features(self) -> int:
        """Number of features a row must have.

        >>> NodeVectors(np.zeros((5, 2)), sparse.csr_array(np.eye(2)), np.zeros(2)).n_features
        5
        """
        return int(self.nodes.shape[1 if self.is_sparse else 0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the node vectors and of all scores.

        >>> NodeVectors(np.zeros((5, 2)), sparse.csr_array(np.eye(2)), np.zeros(2)).dtype
        dtype('float64')
        """
        dtype: np.dtype[Any] = self.nodes.dtype
        return dtype

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays.

        >>> NodeVectors(np.zeros((5, 2)), sparse.csr_array(np.eye(2)), np.zeros(2)).n_bytes
        132
        """
        stored = [self.paths, self.nodes] if self.is_sparse else [self.paths]
        parts = [part for matrix in stored for part in (matrix.data, matrix.indices, matrix.indptr)]
        parts += [self.intercept] if self.is_sparse else [self.intercept, self.nodes]
        return int(sum(part.nbytes for part in parts))

    @property
    def coef(self) -> Any:
        """Weights of the classes, classes x features, added up anew at every call.

        >>> NodeVectors(np.ones((3, 2)), sparse.csr_array([[1.0, 1.0]]), np.zeros(1)).coef
        array([[2., 2., 2.]])
        """
        if self.is_sparse:
            return sparse.csr_array(self.paths @ self._in_range)
        return np.ascontiguousarray(self.paths @ self.nodes.T)

    def entries(self, number: int, columns: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The weights of one class at some features, in float64.

        >>> NodeVectors(np.eye(2), sparse.csr_array([[1.0, 1.0]]), np.zeros(1)).entries(0, [1])
        array([1.])
        """
        span = slice(self.paths.indptr[number], self.paths.indptr[number + 1])
        path, shares = self.paths.indices[span], self.paths.data[span].astype(np.float64)
        columns = np.asarray(columns)
        if self.is_sparse:
            indices, values = self._stored(path)
            return picked(indices, values * np.repeat(shares, self.vector_sizes()[path]), columns)
        found: np.ndarray[Any, Any] = (self.nodes[columns[:, None], path] * shares).sum(axis=1)
        return found

    def mean_entries(self, classes: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The mean weights of some classes: features in which one has a weight, rising, and the means there.

        >>> NodeVectors(np.eye(2), sparse.csr_array([[1.0, 1.0]]), np.zeros(1)).mean_entries([0])
        (array([0, 1]), array([1., 1.]))
        """
        if not self.is_sparse:
            return super().mean_entries(classes)
        shares = np.asarray(self.paths[classes].sum(axis=0)).ravel() / len(classes)
        used = np.flatnonzero(shares)
        indices, values = self._stored(used)
        return added_up(indices, values * np.repeat(shares[used], self.vector_sizes()[used]))

    def _stored(self, nodes: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Features and entries of the sparse vectors of some nodes, one after the other."""
        spans = [slice(self.nodes.indptr[node], self.nodes.indptr[node + 1]) for node in nodes]
        for node, span in zip(nodes, spans, strict=True):
            mine = self.nodes.indices[span]
            if mine.size and (mine.min() < 0 or mine.max() >= self.n_features):
                raise bad_index(int(node))
        indices = [self.nodes.indices[:0], *(self.nodes.indices[span] for span in spans)]
        values = [np.zeros(0), *(self.nodes.data[span] for span in spans)]
        return np.concatenate(indices), np.concatenate(values)

    def node_vector(self, node: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The vector of one node, dense, in float64.

        >>> NodeVectors(np.eye(2), sparse.csr_array(np.eye(2)), np.zeros(2)).node_vector(1)
        array([0., 1.])
        """
        if not self.is_sparse:
            return np.array(self.nodes[:, node], dtype=np.float64)
        return np.asarray(self._in_range[[node]].toarray()[0], dtype=np.float64)

    def vector_sizes(self) -> np.ndarray[Any, Any]:
        """For each node, how many entries its vector has.

        >>> NodeVectors(np.zeros((5, 2)), sparse.csr_array(np.eye(2)), np.zeros(2)).vector_sizes()
        array([5, 5])
        """
        return np.diff(self.nodes.indptr) if self.is_sparse else np.full(self.n_nodes, self.n_features)

    def vectors_of(self, nodes: np.ndarray[Any, Any]) -> tuple[sparse.csr_array, np.ndarray[Any, Any]]:
        """A csr_array in which the vectors of these nodes stand, and in which of its rows; sparse ones are not copied.

        >>> weights = NodeVectors(np.eye(2), sparse.csr_array(np.eye(2)), np.zeros(2))
        >>> weights.vectors_of(np.array([1]))[0].toarray()
        array([[0., 1.]])
        """
        if self.is_sparse:
            if not self.nodes.has_sorted_indices:
                self.nodes.sort_indices()
            return self.nodes, nodes
        return sparse.csr_array(np.ascontiguousarray(self.nodes[:, nodes].T)), np.arange(len(nodes))

    @cached_property
    def _in_range(self) -> sparse.csr_array:
        """The sparse vectors for SciPy, which trusts indices; those of a large mapped file may be unread."""
        indices = self.nodes.indices
        if indices.size >= WALK_FROM and (indices.min() < 0 or indices.max() >= self.n_features):
            raise ModelError("a stored node vector has an index out of range; the model is damaged")
        return self.nodes

    def _product(self, X: Any) -> Callable[[Any], np.ndarray[Any, Any]]:
        if self.is_sparse:
            product = row_product(self._in_range, X, by_feature=self._by_feature)
            return lambda block: (self.paths @ product(block).T).T
        return lambda block: (self.paths @ (block @ self.nodes).T).T

    def prepare_for_few_rows(self, max_bytes: int = 2**29) -> bool:
        """As `Vectors.prepare_for_few_rows`; nothing where vectors are walked along.

        >>> vectors = NodeVectors(sparse.csr_array([[3.0, 4.0], [0.0, 1.0]]), sparse.csr_array(np.eye(2)), np.zeros(2))
        >>> vectors.prepare_for_few_rows()
        True
        """
        if self.is_sparse and self.nodes.nnz < WALK_FROM:
            object.__setattr__(self, "_by_feature", turned(self._in_range, max_bytes))
        return self._by_feature is not None
