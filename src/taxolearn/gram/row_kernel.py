"""A kernel function of two rows: scikit-learn's by name, a callable, or products that are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError

Array = npt.NDArray[np.float64]

PRECOMPUTED = "precomputed"
_WITHOUT_BLAS = {"laplacian", "chi2", "additive_chi2"}  # threads of ours help where BLAS has none
_DENSE_ONLY = {"chi2", "additive_chi2"}


@dataclass(frozen=True)
class RowKernel:
    """k(x, z): the name of one of scikit-learn's `pairwise_kernels`, "precomputed", or a function of two matrices of
    rows that returns the matrix of their products, as `sklearn.svm.SVC` takes it; and its parameters.

    >>> RowKernel("rbf", (("gamma", 0.5),)).evaluate(np.array([[0.0], [2.0]]), np.array([[0.0]])).round(3)
    array([[1.   ],
           [0.135]])
    """

    function: str | Callable[..., Any]
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """How messages call it.

        >>> RowKernel("rbf").name, RowKernel(np.dot).name
        ("'rbf'", 'dot')
        """
        if isinstance(self.function, str):
            return repr(self.function)
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def is_precomputed(self) -> bool:
        """Whether rows are given as their products with all rows that were fitted.

        >>> RowKernel("precomputed").is_precomputed
        True
        """
        return self.function == PRECOMPUTED

    @property
    def is_linear(self) -> bool:
        """Whether it is x . z, so that vectors have coefficients of features.

        >>> RowKernel("rbf").is_linear
        False
        """
        return self.function == "linear"

    @property
    def takes_sparse(self) -> bool:
        """Whether rows may be sparse.

        >>> RowKernel("rbf").takes_sparse, RowKernel("chi2").takes_sparse
        (True, False)
        """
        return self.function not in _DENSE_ONLY

    @property
    def is_definite(self) -> bool:
        """Whether it is positive semi-definite by what it is, for any rows; else the matrix must be looked at.

        >>> RowKernel("rbf").is_definite, RowKernel("sigmoid").is_definite
        (True, False)
        >>> [RowKernel("poly", (("degree", degree),)).is_definite for degree in (2, 2.5)]
        [True, False]
        """
        given = dict(self.parameters)
        gamma = given.get("gamma")
        rising = gamma is None or gamma >= 0
        if self.function in ("poly", "polynomial"):
            degree, constant = given.get("degree", 3), given.get("coef0", 1)
            return bool(rising and constant >= 0 and degree == int(degree))
        return self.function in ("linear", "cosine") or (
            self.function in ("rbf", "laplacian", "chi2") and rising
        )

    def key(self) -> tuple[object, ...]:
        """All that makes this kernel what it is; of a callable what tells it apart while it is kept.

        >>> RowKernel("rbf", (("gamma", 0.5),)).key()
        ('rbf', (('gamma', 0.5),))
        """
        function = self.function if isinstance(self.function, str) else (self.name, id(self.function))
        return function, self.parameters

    def for_rows(self, X: Any) -> RowKernel:
        """The same kernel with numbers for the words "scale" and "auto" of gamma, which depend on the rows.

        >>> kernel = RowKernel("rbf", (("gamma", "scale"),)).for_rows(np.array([[0.0, 0.0], [2.0, 2.0]]))
        >>> kernel.parameters
        (('gamma', 0.5),)
        """
        given = dict(self.parameters)
        if given.get("gamma") not in ("scale", "auto"):
            return self
        spread = 1.0
        if given["gamma"] == "scale":
            values = X.data if sp.issparse(X) else X
            size = float(X.shape[0] * X.shape[1])
            mean = float(values.sum(dtype=np.float64)) / size
            spread = float(np.square(values, dtype=np.float64).sum()) / size - mean * mean
        given["gamma"] = 1.0 / (X.shape[1] * (spread if spread > 0 else 1.0))
        return replace(self, parameters=tuple(sorted(given.items())))

    def evaluate(self, X: Any, Y: Any, n_jobs: int = 1) -> Array:
        """k(x, z) for all rows x of X and z of Y, in float64; what is not a finite matrix of that shape is an error.

        >>> RowKernel(lambda X, Y: X[:, :1]).evaluate(np.eye(2), np.eye(2))
        Traceback (most recent call last):
        ...
        taxolearn.errors.DataError: kernel <lambda> returned shape (2, 1) for 2 and 2 rows, not (2, 2)
        """
        X, Y = _in_double(X), _in_double(Y)
        shape = (X.shape[0], Y.shape[0])
        if shape[0] == 0 or shape[1] == 0:
            return np.zeros(shape)
        try:
            if isinstance(self.function, str):
                from sklearn.metrics.pairwise import pairwise_kernels

                jobs = n_jobs if self.function in _WITHOUT_BLAS else 1
                found = pairwise_kernels(X, Y, metric=self.function, n_jobs=jobs, **dict(self.parameters))
            else:
                found = self.function(X, Y, **dict(self.parameters))
            matrix = np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64)
        except Exception as error:  # whatever a callable raises: it is about the kernel
            raise DataError(f"kernel {self.name} failed: {' '.join(str(error).split())[:300]}") from error
        if matrix.shape != shape:
            raise DataError(
                f"kernel {self.name} returned shape {matrix.shape} for {shape[0]} and {shape[1]} rows, not {shape}"
            )
        if not np.isfinite(matrix).all():
            raise DataError(
                f"kernel {self.name} gives NaN or inf for these rows; scale them or its parameters"
            )
        return np.ascontiguousarray(matrix)


def row_kernel(function: Any, parameters: Mapping[str, Any] | None = None) -> RowKernel:
    """The kernel of a name or a callable, and of its parameters, all checked.

    >>> row_kernel("rbf", {"gamma": 0.5})
    RowKernel(function='rbf', parameters=(('gamma', 0.5),))
    >>> row_kernel("rbf", {"degree": 2})
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: kernel_params has 'degree', which is no parameter of kernel 'rbf'; it takes gamma
    """
    if parameters is not None and not isinstance(parameters, Mapping):
        raise DataError("kernel_params must be a dict from name to number, or None")
    given = dict(parameters or {})
    if isinstance(function, str):
        _check_named(function, given)
    elif not callable(function):
        raise DataError(
            f"kernel={type(function).__name__} is not allowed; give a name, a callable or 'precomputed'"
        )
    return RowKernel(function, tuple(sorted(given.items(), key=lambda entry: str(entry[0]))))


def _check_named(name: str, given: dict[str, Any]) -> None:
    from sklearn.metrics.pairwise import KERNEL_PARAMS

    known = {PRECOMPUTED: frozenset[str](), **KERNEL_PARAMS}
    if name not in known:
        raise DataError(
            f"kernel={name[:40]!r} is not known; choose one of {', '.join(map(repr, known))}, or a callable"
        )
    for key, value in given.items():
        if key not in known[name]:
            takes = ", ".join(sorted(known[name])) or "none"
            raise DataError(
                f"kernel_params has {str(key)[:40]!r}, which is no parameter of kernel {name!r}; it takes {takes}"
            )
        number = (
            isinstance(value, int | float | np.number) and not isinstance(value, bool) and np.isfinite(value)
        )
        if not number and not (key == "gamma" and (value is None or value in ("scale", "auto"))):
            words = ", 'scale' or 'auto'" if key == "gamma" else ""
            raise DataError(f"kernel_params has {key}={str(value)[:40]!r}; give a number{words}")


def _in_double(X: Any) -> Any:
    return X if X.dtype == np.float64 else X.astype(np.float64)
