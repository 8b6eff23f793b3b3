"""Class weights, dense or sparse, and the scores they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.errors import DataError
from taxolearn.models.products import row_product
from taxolearn.models.scoring import FLOATS, ClassWeights

_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class LinearWeights(ClassWeights):
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
        return f"LinearWeights({kind} {self.dtype}, {self.n_classes} classes, {self.n_features} features)"

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

    def entries(self, number: int, columns: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The weights of one class at some features, in float64.

        >>> LinearWeights(np.array([[1.0, 2.0, 3.0]]), np.zeros(1)).entries(0, [2, 0])
        array([3., 1.])
        """
        # one class as a whole: SciPy is slow to pick columns of a sparse row
        row = self.coef[[number]].toarray()[0] if self.is_sparse else self.coef[number]
        found: np.ndarray[Any, Any] = row[columns].astype(np.float64)
        return found

    def _product(self, X: Any) -> Callable[[Any], np.ndarray[Any, Any]]:
        return row_product(self.coef, X)


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _read_only_coef(coef: Any) -> Any:
    if isinstance(coef, np.ndarray):
        return read_only(np.ascontiguousarray(coef))
    parts = (read_only(coef.data), read_only(coef.indices), read_only(coef.indptr))
    return sparse.csr_array(parts, shape=coef.shape)
