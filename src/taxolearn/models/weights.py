"""Class weights, dense or sparse, and the scores they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.errors import DataError
from taxolearn.models.products import row_product

_BLOCK_BYTES = 64 * 2**20
_FLOATS = (np.float32, np.float64)


@dataclass(frozen=True, eq=False)
class LinearWeights:
    """One weight vector and one intercept per class: class k scores coef[k] . x + intercept[k] on row x.

    `coef` is n_classes x n_features, a C-contiguous array or a `scipy.sparse.csr_array`, float32 or float64;
    `intercept` is float64. In this form neither is copied; both are seen as read-only. Scores have the dtype
    of `coef`.

    >>> weights = LinearWeights(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.5, 0.0]))
    >>> weights.scores(np.array([[3.0, 1.0]]))
    array([[3.5, 2. ]])
    >>> weights
    LinearWeights(dense float64, 2 classes, 2 features)
    """

    coef: Any
    intercept: np.ndarray[Any, np.dtype[np.float64]]

    def __post_init__(self) -> None:
        coef, intercept = self.coef, np.asarray(self.intercept)
        if not isinstance(coef, (np.ndarray, sparse.csr_array)) or coef.ndim != 2:
            raise DataError("coef must be a 2-D NumPy array or a scipy.sparse.csr_array")
        if coef.dtype not in _FLOATS or intercept.dtype.kind not in "fiu":
            raise DataError(f"coef must be float32 or float64, not {coef.dtype}, and the intercept numeric")
        if intercept.shape != (coef.shape[0],):
            raise DataError(
                f"the intercept has shape {intercept.shape}, but there are {coef.shape[0]} classes in coef"
            )
        object.__setattr__(self, "coef", _read_only_coef(coef))
        object.__setattr__(self, "intercept", _read_only(intercept.astype(np.float64, copy=False)))

    def __repr__(self) -> str:
        kind = f"sparse {self.coef.nnz} entries" if self.is_sparse else "dense"
        return f"LinearWeights({kind} {self.dtype}, {self.n_classes} classes, {self.n_features} features)"

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> LinearWeights(np.zeros((2, 5)), np.zeros(2)).n_classes
        2
        """
        return int(self.coef.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features a row must have.

        >>> LinearWeights(np.zeros((2, 5)), np.zeros(2)).n_features
        5
        """
        return int(self.coef.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of `coef` and of all scores.

        >>> LinearWeights(np.zeros((2, 5), dtype=np.float32), np.zeros(2)).dtype
        dtype('float32')
        """
        dtype: np.dtype[Any] = self.coef.dtype
        return dtype

    @property
    def is_sparse(self) -> bool:
        """Whether `coef` is stored sparse.

        >>> LinearWeights(np.zeros((2, 5)), np.zeros(2)).is_sparse
        False
        """
        return not isinstance(self.coef, np.ndarray)

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays.

        >>> LinearWeights(np.zeros((2, 5)), np.zeros(2)).n_bytes
        96
        """
        coef = self.coef
        arrays = (coef.data, coef.indices, coef.indptr) if self.is_sparse else (coef,)
        return int(sum(array.nbytes for array in arrays) + self.intercept.nbytes)

    def scores(self, X: Any, rows: Any = None) -> np.ndarray[Any, Any]:
        """Return the dense scores of all rows of X, or of those picked by a slice or an index array.

        >>> LinearWeights(np.eye(2), np.zeros(2)).scores(np.array([[1.0, 2.0], [3.0, 4.0]]), rows=[1])
        array([[3., 4.]])
        """
        X = self._checked(X)
        if rows is not None:
            X = X[rows]
        return self._finished(row_product(self.coef, X), X)

    def score_blocks(
        self, X: Any, *, max_bytes: int = _BLOCK_BYTES
    ) -> Iterator[tuple[slice, np.ndarray[Any, Any]]]:
        """Yield (slice of rows, dense scores of these rows), in blocks of at most `max_bytes`, or one row.

        >>> weights = LinearWeights(np.eye(2), np.zeros(2))
        >>> [(rows, block.shape) for rows, block in weights.score_blocks(np.zeros((3, 2)), max_bytes=32)]
        [(slice(0, 2, None), (2, 2)), (slice(2, 3, None), (1, 2))]
        """
        return self._score_blocks(self._checked(X), max_bytes)

    def top_k(self, X: Any, k: int) -> tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, Any]]:
        """Return the k best classes of each row, best first, and their scores; equals go to the smaller id.

        >>> ids, scores = LinearWeights(np.eye(3), np.zeros(3)).top_k(np.array([[1.0, 5.0, 1.0]]), 2)
        >>> ids, scores
        (array([[1, 0]], dtype=int32), array([[5., 1.]]))
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= self.n_classes:
            raise DataError(f"k must be between 1 and the number of classes, {self.n_classes}, not {k}")
        X = self._checked(X)
        ids = np.empty((X.shape[0], k), dtype=np.int32)
        best = np.empty((X.shape[0], k), dtype=self.dtype)
        for rows, block in self._score_blocks(X, _BLOCK_BYTES):
            ids[rows] = _best_columns(block, k)
            best[rows] = np.take_along_axis(block, ids[rows], axis=1)
        return ids, best

    def sparsified(self, max_density: float) -> LinearWeights:
        """Return the same weights stored sparse, if at most this share of them is not zero; else self.

        >>> LinearWeights(np.eye(4), np.zeros(4)).sparsified(0.3)
        LinearWeights(sparse 4 entries float64, 4 classes, 4 features)
        """
        if self.is_sparse or np.count_nonzero(self.coef) > max_density * self.coef.size:
            return self
        # In blocks of classes: SciPy needs two int64 per entry on the way.
        step = max(1, _BLOCK_BYTES // max(1, 16 * self.n_features))
        blocks = [
            sparse.csr_array(self.coef[first : first + step]) for first in range(0, self.n_classes, step)
        ]
        coef = sparse.vstack(blocks, format="csr") if blocks else sparse.csr_array(self.coef)
        return LinearWeights(coef, self.intercept)

    def _score_blocks(self, X: Any, max_bytes: int) -> Iterator[tuple[slice, np.ndarray[Any, Any]]]:
        product = row_product(self.coef, X)
        step = max(1, max_bytes // max(1, self.n_classes * self.dtype.itemsize))
        for first in range(0, X.shape[0], step):
            rows = slice(first, min(first + step, X.shape[0]))
            yield rows, self._finished(product, X[rows])

    def _finished(self, product: Any, block: Any) -> np.ndarray[Any, Any]:
        # The weights set the precision: casting rows is cheap, casting all the weights is not.
        scores = np.ascontiguousarray(product(block.astype(self.dtype, copy=False)))
        scores += self.intercept
        return scores

    def _checked(self, X: Any) -> Any:
        if sparse.issparse(X):
            if X.format != "csr":
                raise DataError(f"X must be a dense array or CSR, not {X.format.upper()}; use X.tocsr()")
            X = sparse.csr_array(X)
        elif not isinstance(X, np.ndarray):
            raise DataError(f"X must be a NumPy array or a SciPy CSR array, not {type(X).__qualname__}")
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise DataError(f"X has shape {X.shape}, but the weights are for {self.n_features} features")
        if X.dtype not in _FLOATS:
            raise DataError(f"X must be float32 or float64, not {X.dtype}")
        return X


def _best_columns(scores: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
    """Return the columns of the k largest entries of each row, largest first, equals by column."""
    if k == 1:
        first: np.ndarray[Any, Any] = np.argmax(scores, axis=1, keepdims=True)
        return first
    n_columns = scores.shape[1]
    if k == n_columns:
        return np.argsort(-scores, axis=1, kind="stable")
    columns = np.sort(np.argpartition(scores, n_columns - k, axis=1)[:, n_columns - k :], axis=1)
    chosen = np.take_along_axis(scores, columns, axis=1)
    best = np.take_along_axis(columns, np.argsort(-chosen, axis=1, kind="stable"), axis=1)
    # Where more than k reach the k-th score, the partition has picked any of them.
    tied = np.flatnonzero(np.count_nonzero(scores >= chosen.min(axis=1)[:, None], axis=1) > k)
    best[tied] = np.argsort(-scores[tied], axis=1, kind="stable")[:, :k]
    return best


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _read_only_coef(coef: Any) -> Any:
    if isinstance(coef, np.ndarray):
        return _read_only(np.ascontiguousarray(coef))
    parts = (_read_only(coef.data), _read_only(coef.indices), _read_only(coef.indptr))
    return sparse.csr_array(parts, shape=coef.shape)
