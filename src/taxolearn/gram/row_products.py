"""The kernel of a problem's rows, which rows these are, and by how much their matrix misses being definite."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.gram.row_kernel import RowKernel

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]

# shares of the trace that may be added to the diagonal before a matrix counts as indefinite: rounding in float64,
# of long sums, and of matrices that were made in float32
_SHIFTS = (1e-14, 1e-12, 1e-10, 1e-7)
_UNEQUAL = 1e-6  # share of the largest entry by which a given matrix may miss being symmetric
_EXACT_EIGENVALUES = 2000  # rows up to which the smallest eigenvalue is found by dense algebra


@dataclass(frozen=True, eq=False)
class RowProducts:
    """How the rows of a problem are multiplied, where they are no vectors.

    `numbers` says which rows of the data they are: columns of a matrix that was given, and what explanations name.
    K + `shift` I is positive semi-definite; `matrix` is K of all rows of the data where it had to be made to know that.

    >>> products = row_products(RowKernel("rbf"), np.eye(3))
    >>> products.subset(np.array([0, 2])).numbers.tolist(), products.shift
    ([0, 2], 0.0)
    """

    kernel: RowKernel
    numbers: Ids
    cache_bytes: int = 200 * 2**20
    shift: float = 0.0
    matrix: Array | None = None

    def subset(self, rows: Ids) -> RowProducts:
        """The products of some of the rows: a part of a definite matrix is definite.

        >>> row_products(RowKernel("rbf"), np.eye(3)).subset(np.array([1])).numbers.tolist()
        [1]
        """
        return replace(self, numbers=self.numbers[rows])

    def between(self, X: Any, some: Any, others: Ids, n_jobs: int = 1) -> Array:
        """K of `some` rows, a slice or ids, and of `others`; X are the rows of the problem.

        >>> row_products(RowKernel("linear"), np.eye(3)).between(np.eye(3), slice(0, 2), np.array([1, 2]))
        array([[0., 0.],
               [1., 0.]])
        """
        if self.matrix is not None:
            return np.ascontiguousarray(self.matrix[np.ix_(self.numbers[some], self.numbers[others])])
        if self.kernel.is_precomputed:
            return given_products(X[some], self.numbers[others])
        return self.kernel.evaluate(X[some], X[others], n_jobs)


def given_products(X: Any, columns: Ids) -> Array:
    """Some columns of rows of given products, dense and in float64.

    >>> given_products(np.array([[1.0, 2.0, 3.0]]), np.array([2, 0]))
    array([[3., 1.]])
    """
    found = X[:, columns]
    return np.ascontiguousarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64)


def check_rows_of(kernel: RowKernel, X: Any) -> None:
    """Refuse rows that the kernel cannot take.

    >>> check_rows_of(RowKernel("chi2"), sp.csr_array(np.eye(2)))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: kernel 'chi2' takes no sparse rows; use X.toarray()
    """
    if kernel.is_precomputed and X.shape[0] != X.shape[1]:
        raise DataError(
            f"X has shape {X.shape}, and kernel='precomputed' needs a square matrix: the products of all rows"
        )
    if sp.issparse(X) and not kernel.takes_sparse:
        raise DataError(f"kernel {kernel.name} takes no sparse rows; use X.toarray()")


def row_products(kernel: RowKernel, X: Any, cache_bytes: int = 200 * 2**20, n_jobs: int = 1) -> RowProducts:
    """The products of rows X by a kernel; a matrix that is not positive semi-definite is an error.

    scikit-learn's kernels that are definite by what they are need no look at their values. Of all others the whole
    matrix is made, or was given, and Cholesky's factorisation says how little must be added to its diagonal.

    >>> row_products(RowKernel("precomputed"), np.array([[1.0, 2.0], [2.0, 1.0]]))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: kernel 'precomputed' is not positive semi-definite: its matrix has the eigenvalue -1 \
(the largest entry is 2), and no optimum can be certified; use another kernel, or clip the eigenvalues
    """
    kernel = kernel.for_rows(X)
    n = X.shape[0]
    products = RowProducts(kernel, np.arange(n), cache_bytes)
    check_rows_of(kernel, X)
    if kernel.is_definite:
        return products
    if kernel.is_precomputed:
        return replace(products, shift=least_shift(given_products(X, products.numbers), kernel))
    needed = 8 * n * n
    if needed > cache_bytes:
        raise DataError(
            f"kernel {kernel.name} is not known to be positive semi-definite, and to check it on {n:,} rows takes "
            f"{needed / 2**20:,.0f} MB; raise cache_size"
        )
    matrix = kernel.evaluate(X, X, n_jobs)
    return replace(products, shift=least_shift(matrix, kernel), matrix=matrix)


class DefiniteFactor(NamedTuple):
    """Cholesky's factor of a matrix with `shift` added to its diagonal, and what makes that definite for sure.

    >>> DefiniteFactor(np.eye(1), 0.0).factor
    array([[1.]])
    """

    factor: Array
    shift: float


def least_shift(matrix: Array, kernel: RowKernel) -> float:
    """A small number that, added to the diagonal, makes a symmetric matrix positive semi-definite for sure.

    >>> least_shift(np.ones((2, 2)), RowKernel("precomputed")) < 1e-12
    True
    """
    return definite_factor(matrix, kernel).shift


def definite_factor(matrix: Array, kernel: RowKernel) -> DefiniteFactor:
    """The lower factor of a symmetric matrix, with as little added to its diagonal as rounding needs.

    >>> definite_factor(np.array([[4.0]]), RowKernel("precomputed")).factor.round(6)
    array([[2.]])
    >>> definite_factor(np.array([[1.0, 0.5], [0.0, 1.0]]), RowKernel("precomputed"))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: kernel 'precomputed' is not symmetric: rows 0 and 1 have the products 0.5 and 0
    """
    from scipy.linalg import LinAlgError, cholesky

    largest = float(np.abs(matrix).max(initial=0.0))
    skew = np.abs(matrix - matrix.T)
    apart = float(skew.max(initial=0.0))
    if apart > _UNEQUAL * largest:
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(skew)), skew.shape))
        raise DataError(
            f"kernel {kernel.name} is not symmetric: rows {i} and {j} have the products {matrix[i, j]:g} and "
            f"{matrix[j, i]:g}"
        )
    del skew
    n = len(matrix)
    trace = float(np.abs(np.diagonal(matrix)).sum())
    if largest == 0.0:
        return DefiniteFactor(np.eye(n), 0.0)
    for share in _SHIFTS if trace else ():
        shifted = np.array(matrix, order="F")
        shifted += shifted.T.copy()
        shifted *= 0.5
        shifted[np.diag_indices(n)] += share * trace
        try:
            factor = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        # what Cholesky proves is off by its own rounding, at most (n + 2) units of the trace
        shift = (share + 1.01 * (n + 2) * 2.0**-53) * trace * (1.0 + 1e-9) + n * apart
        return DefiniteFactor(factor, float(shift))
    raise DataError(
        f"kernel {kernel.name} is not positive semi-definite: its matrix has the eigenvalue "
        f"{_smallest_eigenvalue(matrix):g} (the largest entry is {largest:g}), and no optimum can be certified; use "
        "another kernel, or clip the eigenvalues"
    )


def _smallest_eigenvalue(matrix: Array) -> float:
    from scipy.linalg import eigvalsh
    from scipy.sparse.linalg import eigsh

    if len(matrix) <= _EXACT_EIGENVALUES:
        return float(eigvalsh(0.5 * (matrix + matrix.T), subset_by_index=[0, 0])[0])
    return float(eigsh(matrix, k=1, which="SA", tol=1e-2, return_eigenvectors=False)[0])
