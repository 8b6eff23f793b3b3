"""What scikit-learn's habits ask of X, y and parameters before a Problem is made."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from taxolearn.errors import DataError, LabelError
from taxolearn.problem import Matrix, check_matrix
from taxolearn.problem.inputs import check_sparse_indices
from taxolearn.structure.names import show

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))  # in the byte order of the machine
_LONG_NAME = 1000  # characters; names are codes and titles


class DataTypeError(DataError, TypeError):
    """X holds something that is not a number.

    >>> issubclass(DataTypeError, TypeError)
    True
    """


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Matrix:
    """X through scikit-learn's checks (feature names and counts) and taxolearn's own.

    >>> from taxolearn import OneVsRestSVM
    >>> check_rows(OneVsRestSVM(), [[1.0, 2.0]], reset=True).shape
    (1, 2)
    """
    if reset and _is_plain(X):
        estimator.n_features_in_ = X.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_  # of an earlier fit
        return check_matrix(X)
    if sp.issparse(X):
        check_sparse_indices(X)  # scikit-learn converts first and would follow a damaged index
    try:
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    except TypeError as error:
        raise DataTypeError(_one_line(error)) from None
    except Exception as error:  # noqa: BLE001  whatever the objects inside X raise: it is about X
        raise DataError(_one_line(error)) from None
    return check_matrix(checked)


def _is_plain(X: Any) -> bool:
    """Whether X is an array to which scikit-learn's checks would do nothing: they take a tenth of a small fit."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in _FLOATS
        and min(X.shape) > 0
        and X.flags.c_contiguous
    )


def _one_line(error: Exception) -> str:
    """scikit-learn's message without the dump of the data."""
    text = str(error) or type(error).__name__
    if text.startswith("The feature names should match"):
        return text  # a list of names, one a line
    if text.startswith("Complex data not supported"):
        return "Complex data not supported: X holds complex numbers; give real ones"
    text = " ".join(text.split())
    return text if len(text) <= 400 else f"{text[:200]} ... {text[-200:]}"


def check_targets(estimator: Any, y: Any) -> Any:
    """y as it was given, unless scikit-learn's conventions say otherwise: a column is flattened, real
    numbers are refused.

    >>> from taxolearn import OneVsRestSVM
    >>> check_targets(OneVsRestSVM(), np.array([0.5, 0.7]))
    Traceback (most recent call last):
    ...
    taxolearn.errors.LabelError: Unknown label type: y holds real numbers; labels are names or whole numbers
    """
    if y is None:
        raise LabelError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind == "f" and estimator.taxonomy is None:
        if not np.isfinite(y).all():
            row = int(np.flatnonzero(~np.isfinite(y))[0])
            raise LabelError(
                f"y holds {'NaN' if np.isnan(y[row]) else 'inf'} at row {row}; every row needs a label"
            )
        try:
            check_classification_targets(y)
        except ValueError:
            raise LabelError(
                "Unknown label type: y holds real numbers; labels are names or whole numbers"
            ) from None
    return y


def names_array(names: Sequence[Hashable], like: Any = None) -> npt.NDArray[Any]:
    """Names as an array: of y's own type where that is a plain one, of objects where names are mixed or tuples.

    Of objects too where one name is very long: numpy makes room for it at each of the others.

    >>> names_array(["a", "b"]).dtype.kind, names_array([("a", 1), "b"]).dtype.kind
    ('U', 'O')
    >>> names_array(["a", "b" * 2000]).dtype.kind
    'O'
    """
    if any(isinstance(name, str | bytes) and len(name) > _LONG_NAME for name in names):
        return _objects(names)
    of_y = isinstance(like, np.ndarray) and like.ndim == 1 and like.dtype.kind in "biufUS"
    if of_y and not any(isinstance(name, tuple) for name in names):
        same = np.array(names, dtype=like.dtype)
        if same.tolist() == list(names):  # names of classes without rows may be longer than those in y
            return same
    kinds = {type(name) for name in names}
    if (
        len(kinds) == 1
        and kinds <= {str, int, float, bool}
        and not (isinstance(like, np.ndarray) and like.dtype == object)
    ):
        plain = np.array(names)
        if plain.dtype.kind in "biufU" and plain.tolist() == list(names):
            return plain
    return _objects(names)


def _objects(names: Sequence[Hashable]) -> npt.NDArray[Any]:
    out = np.empty(len(names), dtype=object)
    for i, name in enumerate(names):
        out[i] = name
    return out


def check_seed(random_state: Any) -> int:
    """A seed drawn from scikit-learn's random_state: None, a whole number or a RandomState.

    >>> check_seed(-1)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: random_state=-1 is not allowed; give None, a RandomState or 0 to 2**32 - 1
    """
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except Exception:  # noqa: BLE001  scikit-learn puts the value into its message, whatever its repr does
        raise DataError(
            f"random_state={show(random_state)} is not allowed; give None, a RandomState or 0 to 2**32 - 1"
        ) from None
