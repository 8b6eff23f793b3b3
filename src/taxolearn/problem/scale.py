"""How different the columns of X are in size, offset and spread: the one measure that solvers and warnings read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.gram import Gram

if TYPE_CHECKING:
    from taxolearn.problem.problem import Problem

Array = npt.NDArray[np.float64]

UNEVEN = 100.0  # features whose unevenness is above are worth a word in a warning
_MOST_DIGITS = 280.0  # of a number before its sums leave float64, which ends at 308
_WORST = 3  # columns that a warning names


class ColumnScales(NamedTuple):
    """The size of each column, max |x|, and its spread, half the distance between its largest and smallest value.

    >>> scales = column_scales(np.array([[1.0, 5e9], [-1.0, 5e9 + 2.0], [0.5, 5e9 + 1.0]]))
    >>> scales.size.tolist(), scales.spread.tolist()
    ([1.0, 5000000002.0], [1.0, 1.0])
    """

    size: Array
    spread: Array

    def unevenness(self, constant: float = np.inf) -> float:
        """The largest size over the smallest spread of a column that varies: 2 to 6 for standardised features.

        Spreads are ranges, not deviations: a rare word or a rare category has the spread of a common one. A `constant`
        feature, whose weight is the intercept, counts as a spread.

        >>> scales = column_scales(np.array([[0.0, 0.0], [2.0, 600.0]]))
        >>> scales.unevenness(), scales.unevenness(0.5)
        (600.0, 1200.0)
        >>> column_scales(np.ones((2, 1))).unevenness()
        1.0
        """
        varying = self.spread > 0
        if not varying.any():
            return 1.0
        return float(np.max(self.size) / min(constant, np.min(self.spread[varying])))

    def worst(self) -> list[int]:
        """Up to three columns that differ most from the median spread, by a size above it or a spread below it.

        >>> X = np.array([[0.0, 1.0, 2.0, 7e9], [1.0, 0.0, 3.0, 7e9 + 1.0]])
        >>> column_scales(X).worst()
        [3]
        """
        varying = self.spread > 0
        if not varying.any():
            return []
        typical = float(np.median(self.spread[varying]))
        below = np.divide(typical, self.spread, out=np.ones_like(self.spread), where=varying)
        off = np.maximum(self.size / typical, below)
        order = np.argsort(-off, kind="stable")[:_WORST]
        # what is within the square root of the worst is not what makes features uneven
        return [int(column) for column in order if off[column] >= max(1.0, np.sqrt(off[order[0]]))]


def column_scales(X: Any) -> ColumnScales:
    """Size and spread of the columns of dense or sparse rows, in one pass.

    >>> column_scales(sp.csr_array(np.array([[0.0, 4.0], [0.0, 0.0]]))).spread.tolist()
    [0.0, 2.0]
    """
    top, bottom = X.max(axis=0), X.min(axis=0)
    if sp.issparse(top):
        top, bottom = top.toarray().ravel(), bottom.toarray().ravel()
    high, low = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    return ColumnScales(np.maximum(np.abs(high), np.abs(low)), 0.5 * high - 0.5 * low)


def check_sizes(problem: Problem, C: float, bias_feature: float) -> None:
    """Refuse numbers whose products are beyond float64, in one sentence that names the culprit.

    All solvers add up C times weights times squares of features.

    >>> from taxolearn.problem import make_problem
    >>> check_sizes(make_problem([[0.0], [1e200]], ["a", "b"]), 1.0, 1.0)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: column 0 of X reaches 1e+200, too large for sums of squares; scale the features, for \
example with sklearn.preprocessing.StandardScaler
    """
    if problem.products is not None:
        _check_products(problem, C, bias_feature)
        return
    sizes = problem.scales.size
    column = int(np.argmax(sizes))
    weight = problem.row_weight.max() * max(problem.positive_weight.max(), problem.negative_weight.max())
    logs = {
        "x": 2.0 * _log10(float(sizes[column])),
        "s": 2.0 * _log10(bias_feature),
        "c": _log10(C) + _log10(float(weight)) + _log10(float(problem.n_rows)),
    }
    if max(logs["x"], logs["s"], 0.0) + max(logs["c"], 0.0) < _MOST_DIGITS:
        return
    if logs["x"] >= max(logs["s"], logs["c"]):
        raise DataError(
            f"column {column} of X reaches {sizes[column]:.3g}, too large for sums of squares; scale the features, for "
            "example with sklearn.preprocessing.StandardScaler"
        )
    if logs["s"] >= logs["c"]:
        raise DataError(
            f"intercept_scaling={bias_feature:g} is too large for sums of squares; give a smaller one"
        )
    raise DataError(
        f"C={C:g} times a weight of {weight:g} is too large for sums over the rows; give smaller ones"
    )


def _check_products(problem: Problem, C: float, bias_feature: float) -> None:
    """The same of products of rows, which none exceeds that of some row with itself."""
    assert problem.products is not None
    largest = float(np.abs(Gram(problem.X, problem.products).diagonal()).max()) + bias_feature**2
    weight = problem.row_weight.max() * problem.positive_weight.max() * C * problem.n_rows
    if max(_log10(largest), 0.0) + max(_log10(float(weight)), 0.0) >= _MOST_DIGITS:
        raise DataError(
            f"products of rows reach {largest:.3g} and C times weights {weight:.3g}, too large for sums over the rows; "
            "scale the features or the kernel's parameters, or give a smaller C"
        )


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else -math.inf
