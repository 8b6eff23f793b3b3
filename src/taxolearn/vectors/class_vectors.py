"""Class weights, dense or sparse, and the scores they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.engines import ThreadEngine, running
from taxolearn.errors import DataError
from taxolearn.vectors.products import row_product, turned
from taxolearn.vectors.scoring import FLOATS, Vectors, picked

_FEWEST_WALKS = 256  # rows that are worth the loading of a kernel
_BLOCK_BYTES = 64 * 2**20  # bytes of indices at a time while zeros are dropped


@dataclass(frozen=True, eq=False)
class ClassVectors(Vectors):
    """One weight vector and one intercept per class: class k scores coef[k] . x + intercept[k] on row x.

    `coef` is n_classes x n_features, a C-contiguous array or a `scipy.sparse.csr_array`, float32 or float64;
    `intercept` is float64. In this form neither is copied; both are seen as read-only. Scores have the dtype
    of `coef`.

    >>> weights = ClassVectors(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.5, 0.0]))
    >>> weights.scores(np.array([[3.0, 1.0]]))
    array([[3.5, 2. ]])
    >>> weights
    ClassVectors(dense float64, 2 classes, 2 features)
    """

    coef: Any
    intercept: np.ndarray[Any, np.dtype[np.float64]]

    def __post_init__(self) -> None:
        coef, intercept = self.coef, np.asarray(self.intercept)
        if not isinstance(coef, (np.ndarray, sparse.csr_array)) or coef.ndim != 2:
            raise DataError("coef must be a 2-D NumPy array or a scipy.sparse.csr_array")
        if coef.dtype not in FLOATS or intercept.dtype.kind not in "fiu":
            raise DataError(f"coef must be float32 or float64, not {coef.dtype}, and the intercept numeric")
        if intercept.shape != (coef.shape[0],):
            raise DataError(
                f"the intercept has shape {intercept.shape}, but there are {coef.shape[0]} classes in coef"
            )
        object.__setattr__(self, "coef", _read_only_coef(coef))
        object.__setattr__(self, "intercept", read_only(intercept.astype(np.float64, copy=False)))

    def __repr__(self) -> str:
        kind = f"sparse {self.coef.nnz} entries" if self.is_sparse else "dense"
        return f"ClassVectors({kind} {self.dtype}, {self.n_classes} classes, {self.n_features} features)"

    @property
    def n_features(self) -> int:
        """Number of features a row must have.

        >>> ClassVectors(np.zeros((2, 5)), np.zeros(2)).n_features
        5
        """
        return int(self.coef.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of `coef` and of all scores.

        >>> ClassVectors(np.zeros((2, 5), dtype=np.float32), np.zeros(2)).dtype
        dtype('float32')
        """
        dtype: np.dtype[Any] = self.coef.dtype
        return dtype

    @property
    def is_sparse(self) -> bool:
        """Whether `coef` is stored sparse.

        >>> ClassVectors(np.zeros((2, 5)), np.zeros(2)).is_sparse
        False
        """
        return not isinstance(self.coef, np.ndarray)

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays.

        >>> ClassVectors(np.zeros((2, 5)), np.zeros(2)).n_bytes
        96
        """
        coef = self.coef
        arrays = (coef.data, coef.indices, coef.indptr) if self.is_sparse else (coef,)
        return int(sum(array.nbytes for array in arrays) + self.intercept.nbytes)

    def sparsified(self, max_density: float) -> ClassVectors:
        """Return the same weights stored sparse, if at most this share of them is not zero; else self.

        >>> ClassVectors(np.eye(4), np.zeros(4)).sparsified(0.3)
        ClassVectors(sparse 4 entries float64, 4 classes, 4 features)
        """
        if self.is_sparse or np.count_nonzero(self.coef) > max_density * self.coef.size:
            return self
        # In blocks of classes: SciPy needs two int64 per entry on the way.
        step = max(1, _BLOCK_BYTES // max(1, 16 * self.n_features))
        blocks = [
            sparse.csr_array(self.coef[first : first + step]) for first in range(0, self.n_classes, step)
        ]
        coef = sparse.vstack(blocks, format="csr") if blocks else sparse.csr_array(self.coef)
        return ClassVectors(coef, self.intercept)

    def entries(self, number: int, columns: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The weights of one class at some features, in float64.

        >>> ClassVectors(np.array([[1.0, 2.0, 3.0]]), np.zeros(1)).entries(0, [2, 0])
        array([3., 1.])
        """
        if self.is_sparse:
            mine = slice(self.coef.indptr[number], self.coef.indptr[number + 1])
            return picked(self.coef.indices[mine], self.coef.data[mine], columns)
        found: np.ndarray[Any, Any] = self.coef[number][columns].astype(np.float64)
        return found

    def unit_scores(self, X: Any, units: Any) -> np.ndarray[Any, Any]:
        """The scores of some classes, picked by a slice or an index array, on all rows of X.

        >>> ClassVectors(np.eye(3), np.zeros(3)).unit_scores(np.array([[1.0, 5.0, 2.0]]), [2, 0])
        array([[2., 1.]])
        """
        coef, block = self.coef[units], self._checked(X).astype(self.dtype, copy=False)
        if sparse.issparse(coef) or sparse.issparse(block):
            scores = np.ascontiguousarray(row_product(coef, block, in_any_company=True)(block))
        else:
            # BLAS rounds a row otherwise in other company, and so does einsum where the result is one number
            pair = coef if len(coef) > 1 else np.repeat(coef, 2, axis=0)
            scores = np.einsum("ij,kj->ik", block, pair)[:, : len(coef)]
        scores += self.intercept[units]
        return scores

    def walked(self, X: Any, decisions: tuple[Any, Any, Any], n_threads: int = 1) -> Any:
        """As `Vectors.walked`, for many sparse rows and dense vectors: a row reads the options that it passes.

        >>> rows = sparse.csr_array(np.tile(np.eye(2), (200, 1)))
        >>> ClassVectors(np.eye(2), np.zeros(2)).walked(rows, ([0, 2], [-1, -1], [0, 2]))[:3].tolist()
        [0, 1, 0]
        """
        X = self._checked(X)
        if self.is_sparse or not sparse.issparse(X) or X.shape[0] < _FEWEST_WALKS:
            return None
        rows = X.astype(self.dtype, copy=False)
        options = np.empty(X.shape[0], dtype=np.int64)
        indptr, children, unit_start = (np.asarray(part, dtype=np.int64) for part in decisions)
        arrays = rows.indptr, rows.indices, rows.data, self.coef, self.intercept, indptr, children, unit_start
        cuts = np.linspace(0, X.shape[0], max(1, n_threads) + 1).astype(int).tolist()
        with ThreadEngine(max(1, n_threads)) as engine, running(engine) as run:
            run.map(_walk, (arrays, options), list(pairwise(cuts)), light=n_threads <= 1)
        return options

    def _product(self, X: Any) -> Callable[[Any], np.ndarray[Any, Any]]:
        return row_product(self.coef, X, by_feature=self._by_feature)

    def prepare_for_few_rows(self, max_bytes: int = 2**29) -> bool:
        """As `Vectors.prepare_for_few_rows`.

        >>> ClassVectors(np.eye(2), np.zeros(2)).prepare_for_few_rows()
        False
        """
        object.__setattr__(self, "_by_feature", turned(self.coef, max_bytes))
        return self._by_feature is not None


def _walk(shared: Any, span: tuple[int, int], clock: Any) -> None:
    from taxolearn.kernels.walking_rows import walk

    arrays, options = shared
    walk(*arrays, *span, options)


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _read_only_coef(coef: Any) -> Any:
    if isinstance(coef, np.ndarray):
        return read_only(np.ascontiguousarray(coef))
    parts = (read_only(coef.data), read_only(coef.indices), read_only(coef.indptr))
    return sparse.csr_array(parts, shape=coef.shape)
