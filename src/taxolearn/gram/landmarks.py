"""Rows described by their products with a few of them: a kernel for many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.gram.row_kernel import RowKernel
from taxolearn.gram.row_products import Array, Ids, check_rows_of, definite_factor, given_products

_BLOCK_BYTES = 32 * 2**20  # of products of rows and landmarks at a time


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Features phi(x) = F^-1 k(L, x) of m landmarks L, rows of the data, with F F' = k(L, L) (Williams, Seeger 2001,
    "Using the Nystroem Method to Speed Up Kernel Machines").

    Products of the features are those of the kernel where one of the two rows is a landmark, and of all others the
    best that functions of the landmarks can do. `rows` are the landmarks (None: products are given), `numbers` which
    rows of the data they are.

    >>> marks = landmarks_of(RowKernel("rbf"), np.array([[0.0], [1.0], [2.0]]), np.array([0, 2]))
    >>> features = marks.features(np.array([[0.0], [2.0]]))
    >>> (features @ features.T).round(3)
    array([[1.   , 0.018],
           [0.018, 1.   ]])
    """

    kernel: RowKernel
    rows: Any
    numbers: Ids
    factor: Array

    def features(self, X: Any, n_jobs: int = 1) -> Array:
        """One row of features per row of X.

        >>> landmarks_of(RowKernel("linear"), np.array([[2.0], [3.0]]), np.array([0])).features(np.array([[5.0]]))
        array([[5.]])
        """
        from scipy.linalg import solve_triangular

        found = np.empty((X.shape[0], len(self.numbers)))
        height = max(1, _BLOCK_BYTES // (8 * len(self.numbers)))
        for first in range(0, X.shape[0], height):
            block = X[first : first + height]
            if self.rows is None:
                products = given_products(block, self.numbers)
            else:
                products = self.kernel.evaluate(block, self.rows, n_jobs)
            turned = solve_triangular(
                self.factor, products.T, lower=True, overwrite_b=True, check_finite=False
            )
            found[first : first + height] = turned.T
        return found

    def coefficients(self, weights: Any) -> Array:
        """Weights of the features, vectors x features, as coefficients of the landmarks: they score the same.

        >>> marks = landmarks_of(RowKernel("linear"), np.array([[2.0], [3.0]]), np.array([0]))
        >>> marks.coefficients(np.array([[5.0]]))
        array([[2.5]])
        """
        from scipy.linalg import solve_triangular

        dense = weights.toarray() if sp.issparse(weights) else np.asarray(weights)
        turned = solve_triangular(
            self.factor, dense.astype(np.float64).T, lower=True, trans="T", check_finite=False
        )
        return np.ascontiguousarray(turned.T)

    def key(self) -> tuple[object, ...]:
        """All that the features hang on, besides the rows.

        >>> landmarks_of(RowKernel("linear"), np.array([[2.0], [3.0]]), np.array([1])).key()
        (('linear', ()), (1,))
        """
        return self.kernel.key(), tuple(self.numbers.tolist())


def landmarks_of(kernel: RowKernel, X: Any, numbers: npt.NDArray[np.intp], n_jobs: int = 1) -> Landmarks:
    """Some rows of X as landmarks; if their products are not positive semi-definite, that is an error.

    >>> landmarks_of(RowKernel("sigmoid"), np.array([[1.0], [4.0]]), np.array([0, 1]))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: kernel 'sigmoid' is not positive semi-definite: its matrix has the eigenvalue \
-0.0180572 (the largest entry is 1), and no optimum can be certified; use another kernel, or clip the eigenvalues
    """
    kernel = kernel.for_rows(X)
    check_rows_of(kernel, X)
    rows = None if kernel.is_precomputed else X[numbers]
    products = given_products(X[numbers], numbers) if rows is None else kernel.evaluate(rows, rows, n_jobs)
    return Landmarks(kernel, rows, numbers, definite_factor(products, kernel).factor)
