"""The Hessian that losses have in the mean, I + c_k X'X for each column k of a factor, and its inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs

Floats = npt.NDArray[np.floating[Any]]

_MOST_AXES = 2000  # principal axes of more features cost more than they save
_INVERTED = 2  # times that an inverse takes less than the axes, with which all further ones are cheap


class RowMetric:
    """Measures variables (features x columns, then a bias per class) by mean curvatures c_k.

    Dense rows of few features are taken along their principal axes, with the bias as one more feature where each column
    is a class (`apart`); others feature by feature.

    >>> metric = RowMetric(np.array([[3.0, 0.0], [0.0, 1.0]]), 0.0, (2, 1), True, 1)
    >>> metric.measure(np.array([1.0]), 1.0)
    >>> metric.applied(np.array([1.0, 1.0, 1.0]), 1.0).round(6).tolist()
    [0.1, 0.5, 1.0]
    """

    def __init__(
        self, X: Any, bias_feature: float, shape: tuple[int, int], apart: bool, n_classes: int
    ) -> None:
        self.dtype, self.shape, self.n_classes = X.dtype.type, shape, n_classes
        self.n_rows, n_features = X.shape
        self.n_theta = shape[0] * shape[1]
        self.bias_square = self.n_rows * bias_feature**2
        self.joint = apart and bias_feature != 0 and not sp.issparse(X) and n_features < _MOST_AXES
        self.axes: Floats | None = None
        self.gram: Floats | None = None  # where there are axes
        if sp.issparse(X) or n_features > _MOST_AXES:
            squares = X.multiply(X) if sp.issparse(X) else X * X
            self.values = np.asarray(squares.sum(axis=0), dtype=np.float64).ravel()
        else:
            self.gram = _gram(X, bias_feature if self.joint else 0.0)
            self.values = np.maximum(np.diag(self.gram).astype(np.float64), 0.0)
        self.curvature, self.of_class = np.ones(1), 1.0
        self._inverted = 0
        self._inverse: tuple[float, Any] | None = None

    @property
    def is_finite(self) -> bool:
        """Whether the rows have products at all in this precision."""
        return bool(np.isfinite(self.values if self.gram is None else self.gram).all())

    @property
    def size(self) -> float:
        """The curvature of the losses along the mean axis of the most curved column; that of the penalty is one."""
        return float(self.values.mean() * self.curvature.max(initial=0.0)) if len(self.values) else 0.0

    def measure(self, curvature: Floats, of_class: float) -> None:
        """Take the curvatures of one row: those of the columns (one number: of all alike), and that of a class."""
        self.curvature, self.of_class = np.asarray(curvature, dtype=np.float64), of_class
        self._inverse = None

    def narrowed(self, kept: npt.NDArray[np.bool_]) -> None:
        """Go on with some of the columns, each of which is a class."""
        self.n_classes = int(kept.sum())
        self.shape = (self.shape[0], self.n_classes)
        self.n_theta = self.shape[0] * self.shape[1]
        if len(self.curvature) > 1:
            self.measure(self.curvature[kept], self.of_class)

    def applied(self, variables: Floats, share: float) -> Floats:
        """The inverse times these variables, where only this share of the losses counts."""
        if self.joint:
            columns = variables.reshape(-1, self.shape[1])
            return np.asarray(self._times(columns, share)).ravel()
        theta = self._times(variables[: self.n_theta].reshape(self.shape), share)
        bias = variables[self.n_theta :] / self.dtype(1.0 + share * self.bias_square * self.of_class)
        return np.concatenate([theta.ravel(), bias])

    def _times(self, columns: Floats, share: float) -> Floats:
        if self._inverse is None or self._inverse[0] != share:
            self._inverse = share, self._inverted_for(share)
        inverse = self._inverse[1]
        if self.gram is None:
            return np.asarray(columns * inverse)
        if len(self.curvature) == 1:
            return np.asarray(inverse @ columns)
        assert self.axes is not None
        return np.asarray(self.axes @ (inverse * (self.axes.T @ columns)))

    def _inverted_for(self, share: float) -> Floats:
        """The inverse itself where all columns are alike, else its eigenvalues."""
        alike = len(self.curvature) == 1
        if self.gram is not None and self.axes is None:
            self._inverted += 1
            inverse = None
            if alike and self._inverted <= _INVERTED:
                inverse = _inverse(self.gram, share * float(self.curvature[0]))
            if inverse is not None:
                return inverse
            values, self.axes = np.linalg.eigh(self.gram)
            self.values = np.maximum(values.astype(np.float64), 0.0)
        scale = (1.0 / (1.0 + share * np.outer(self.values, self.curvature))).astype(self.dtype)
        if self.axes is None or not alike:
            return np.asarray(scale)
        return np.asarray((self.axes * scale.T) @ self.axes.T)


def _gram(X: Floats, bias_feature: float) -> Floats:
    """X'X, X with one more feature of this value, if it is not zero."""
    gram = X.T @ X
    if bias_feature:
        sums = X.sum(axis=0) * X.dtype.type(bias_feature)
        corner = np.array([[len(X) * bias_feature**2]], dtype=X.dtype)
        gram = np.block([[gram, sums[:, None]], [sums[None, :], corner]])
    return np.asarray(gram)


def _inverse(gram: Floats, curvature: float) -> Floats | None:
    """The inverse of I + curvature X'X; None where it is singular in this precision."""
    matrix = gram * gram.dtype.type(curvature)
    matrix.flat[:: len(gram) + 1] += 1
    factorise, invert = get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, failed = factorise(matrix, lower=True, overwrite_a=True)
    if failed:
        return None
    inverse, failed = invert(factor, lower=True, overwrite_c=True)
    if failed:
        return None
    lower = np.tril(inverse)
    return np.asarray(lower + np.tril(lower, -1).T)
