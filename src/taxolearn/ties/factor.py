"""The tie of any covariance of classes: W = L U with A = L L'."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.structure.names import show
from taxolearn.ties.base import Tie, TieFacts

_DEFINITE = 1e-4  # least singular value of L, as a share of the largest, of a covariance to invert
_ROUNDING = 1e-10  # eigenvalues above minus this share of the largest count as zero


@dataclass(frozen=True, eq=False)
class Factor(Tie):
    """W = L U with penalty 1/2 ||U||^2: the classes' covariance is A = L L' ("taxonomy matrix" of Mroueh, Poggio and
    Rosasco). `matrix` is L, classes x columns, of any finite numbers.

    >>> tie = Factor(sp.csr_array(np.array([[1.0, 1.0], [0.0, 2.0]])))
    >>> tie.covariance.tolist()
    [[2.0, 2.0], [2.0, 4.0]]
    """

    matrix: sp.csr_array

    def __post_init__(self) -> None:
        matrix = sp.csr_array(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or not np.isfinite(matrix.data).all():
            raise DataError("a factor must be a matrix of finite numbers, classes x columns")
        object.__setattr__(self, "matrix", matrix)

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> Factor(sp.csr_array(np.eye(3))).n_classes
        3
        """
        return int(self.matrix.shape[0])

    @cached_property
    def facts(self) -> TieFacts:
        """Classes share something where a column has two entries; few columns have no inverse.

        >>> Factor(sp.csr_array(np.eye(3))).facts.shares
        False
        """
        shares = bool(np.any(np.bincount(self.matrix.indices, minlength=1) > 1))
        if self.matrix.shape[1] < self.n_classes:
            return TieFacts(shares=shares)
        values = np.linalg.svd(self.matrix.toarray(), compute_uv=False)
        return TieFacts(
            shares=shares, definite=bool(values.size) and bool(values[-1] > _DEFINITE * values[0])
        )

    def factor(self) -> sp.csr_array:
        """L itself.

        >>> Factor(sp.csr_array(np.eye(2))).factor().toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return self.matrix

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The three arrays of L.

        >>> len(Factor(sp.csr_array(np.eye(2))).arrays())
        3
        """
        return self.matrix.indptr, self.matrix.indices, self.matrix.data


def covariance_tie(covariance: Any) -> Factor:
    """The tie of a covariance of classes, symmetric and positive semi-definite.

    L is Cholesky's factor where there is one, else the eigenvectors times the roots of their eigenvalues.

    >>> covariance_tie([[4.0, 2.0], [2.0, 5.0]]).matrix.toarray().tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    >>> covariance_tie([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: the covariance has the eigenvalue -1; give a positive semi-definite matrix
    """
    try:
        matrix = np.array(covariance.toarray() if sp.issparse(covariance) else covariance, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"the covariance {show(covariance)} is not a matrix of numbers") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"the covariance has shape {matrix.shape}; give a square matrix, one row per class")
    if not np.isfinite(matrix).all():
        raise DataError("the covariance holds NaN or inf; give finite numbers")
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * float(np.abs(matrix).max(initial=0.0))):
        raise DataError("the covariance is not symmetric; give a symmetric matrix")
    matrix = 0.5 * (matrix + matrix.T)
    try:
        return Factor(sp.csr_array(np.linalg.cholesky(matrix)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
    if values[0] < -_ROUNDING * max(abs(values[-1]), abs(values[0])):
        raise DataError(
            f"the covariance has the eigenvalue {values[0]:g}; give a positive semi-definite matrix"
        )
    kept = values > _ROUNDING * values[-1]
    return Factor(sp.csr_array(vectors[:, kept] * np.sqrt(values[kept])))
