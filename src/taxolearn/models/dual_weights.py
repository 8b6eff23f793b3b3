"""Weights that are kept as the duals they come from, where even sparse vectors would take too much memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.errors import DataError
from taxolearn.models.node_weights import NodeWeights
from taxolearn.models.scoring import ClassWeights

_VECTOR_BYTES = 64 * 2**20  # of node vectors made at a time
_SCORE_BYTES = 512 * 2**20  # of scores at a time: each block of rows makes all vectors anew


@dataclass(frozen=True, eq=False)
class DualWeights(ClassWeights):
    """Node n has the vector scale_n * sum over classes l under n and rows i of signed_dual[l, i] x_i.

    Class k scores the sum of the vectors on its path, plus intercept[k]. `X` are the rows that were fitted (CSR or
    dense), `signed_dual` is classes x rows, `paths` classes x nodes. Nothing is copied; vectors are made anew at every
    call, so this is for many rows at a time.

    >>> paths = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> X, dual = np.array([[1.0, 0.0], [0.0, 1.0]]), sparse.csr_array(np.array([[1.0, 0.0], [0.0, -1.0]]))
    >>> weights = DualWeights(X, dual, paths, np.array([1.0, 2.0, 2.0]), np.zeros(2))
    >>> weights.coef.toarray().tolist()
    [[3.0, -1.0], [1.0, -3.0]]
    >>> weights
    DualWeights(2 duals of 2 rows, 2 classes, 2 features)
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
        return f"DualWeights({self.signed_dual.nnz} duals of {self.X.shape[0]} rows, {sizes})"

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
        shares = under[nodes] @ self.signed_dual  # rows that the classes of a node share are read once
        shares.data *= np.repeat(self.scale[nodes], np.diff(shares.indptr))
        if not sparse.issparse(self.X):
            return shares @ self.X
        # SciPy would turn all of X to float64 at every product
        used, position = np.unique(shares.indices, return_inverse=True)
        few = sparse.csr_array(
            (shares.data, position, shares.indptr), shape=(len(shares.indptr) - 1, len(used))
        )
        return few @ self.X[used]

    def as_nodes(self) -> NodeWeights:
        """The same weights with a stored vector a node, in float32: what a model on disk holds.

        >>> _tiny().as_nodes().coef.toarray().tolist()
        [[2.0, -1.0], [1.0, -2.0]]
        """
        n_nodes = self.paths.shape[1]
        width = max(1, _VECTOR_BYTES // (8 * self.n_features))
        blocks = [
            sparse.csr_array(self.node_rows(np.arange(first, min(n_nodes, first + width))), dtype=np.float32)
            for first in range(0, n_nodes, width)
        ]
        return NodeWeights(sparse.csr_array(sparse.vstack(blocks, format="csr")), self.paths, self.intercept)

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

    def _score_blocks(self, X: Any, max_bytes: int) -> Iterator[tuple[slice, np.ndarray[Any, Any]]]:
        return super()._score_blocks(X, max(max_bytes, _SCORE_BYTES))


def _tiny() -> DualWeights:
    """For the examples: two classes under one parent, a row each."""
    paths = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    dual = sparse.csr_array(np.array([[1.0, 0.0], [0.0, -1.0]]))
    return DualWeights(np.eye(2), dual, paths, np.ones(3), np.zeros(2))
