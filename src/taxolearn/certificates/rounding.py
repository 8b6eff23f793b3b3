"""Numbers with a bound on their rounding error, and sums whose bound is small.

A bound is itself rounded, by far less than a thousandth: `Ball.safe` enlarges it by that at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

UNIT = 2.0**-53  # largest relative error of one operation
TINY = 5e-324  # largest absolute error of one operation that underflows
PAIRWISE = 64  # roundings that reach one product in NumPy's pairwise sums, of up to 2**40 terms
LEAST_COST = 1e-290  # a smaller weight of a loss may have lost digits by underflow
_SUMMED = 64  # rows added up one after the other


def gamma(n: Any) -> Any:
    """A bound on the relative error of n operations in any order, sums of terms of one sign included.

    >>> 1e-16 < gamma(1) < 2e-16
    True
    """
    return 1.01 * UNIT * n


def pairwise(n: Any) -> Any:
    """Roundings that reach one product in a pairwise sum of n of them: as many as terms where these are few.

    >>> [int(pairwise(n)) for n in (3, 10**6)]
    [3, 64]
    """
    return np.minimum(n, PAIRWISE)[()]


@dataclass(eq=False, slots=True)
class Ball:
    """Numbers and bounds on their errors: the exact ones lie within value - error and value + error.

    >>> third = Ball(1.0) / 3.0
    >>> (third * 3.0).value, bool(0 < (third * 3.0).error < 1e-15)
    (1.0, True)
    """

    value: Any
    error: Any = 0.0

    def __add__(self, other: Ball) -> Ball:
        value = self.value + other.value
        return Ball(value, self.error + other.error + UNIT * abs(value))

    def __sub__(self, other: Ball) -> Ball:
        return self + Ball(-other.value, other.error)

    def __mul__(self, factor: Any) -> Ball:
        if not isinstance(factor, Ball):
            value = self.value * factor
            return Ball(value, abs(factor) * self.error + _of_product(value, self.value, factor))
        value = self.value * factor.value
        error = abs(self.value) * factor.error + (abs(factor.value) + factor.error) * self.error
        return Ball(value, error + _of_product(value, self.value, factor.value))

    def __truediv__(self, divisor: Any) -> Ball:
        """By exact numbers."""
        value = self.value / divisor
        return Ball(value, self.error / abs(divisor) + _of_product(value, self.value, 1.0))

    def __getitem__(self, place: Any) -> Ball:
        return Ball(self.value[place], np.broadcast_to(self.error, np.shape(self.value))[place])

    def sum(self) -> Ball:
        """The sum of all.

        >>> Ball(np.array([1.0, 2.0])).sum().value
        3.0
        """
        values = np.ascontiguousarray(self.value, dtype=np.float64).ravel()
        error = float(np.sum(self.error)) if np.ndim(self.error) else self.error * values.size
        return Ball(float(values.sum()), error + gamma(pairwise(values.size)) * float(np.abs(values).sum()))

    @property
    def safe(self) -> Any:
        """The bound, enlarged by what it may itself be off; infinite where there is none.

        >>> Ball(1.0, float("nan")).safe
        inf
        """
        error = np.where(np.isnan(self.error), np.inf, 1.001 * np.asarray(self.error))
        return error if error.ndim else float(error)


def square(root: Ball) -> Ball:
    """The square of each.

    >>> square(Ball(3.0)).value
    9.0
    """
    return root * root


def square_norm(value: Any, error: Any, relative: Any) -> Ball:
    """||z||^2 of vectors of which `value` was found, right to `relative`, the vectors themselves off by `error`.

    >>> float(square_norm(4.0, 0.5, 0.0).error)
    2.25
    """
    return Ball(value, relative * value + error * (2.0 * np.sqrt(value) + error))


def _of_product(value: Any, one: Any, other: Any) -> Any:
    """The error of one multiplication; none where a factor is zero."""
    return UNIT * abs(value) + TINY * ((one != 0) & (other != 0))


def segment_sums(values: Array, indptr: npt.NDArray[Any]) -> Array:
    """The sum of each stretch values[indptr[k]:indptr[k + 1]], pairwise.

    >>> segment_sums(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 2, 3])).tolist()
    [3.0, 0.0, 3.0]
    """
    starts, filled = indptr[:-1], indptr[1:] > indptr[:-1]
    if filled.all() and len(starts):
        return np.asarray(np.add.reduceat(values[: indptr[-1]], starts), dtype=np.float64)
    sums = np.zeros(len(starts))
    if filled.any():
        sums[filled] = np.add.reduceat(values[: indptr[-1]], starts[filled])
    return sums


def weighted_sums(weight: Array, values: Array) -> Array:
    """weight @ values, in blocks of rows; right to gamma(2 * PAIRWISE) times the same sum of absolute values.

    >>> weighted_sums(np.array([1.0, 2.0]), np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [5.0, 3.0]
    """
    n, width = values.shape
    whole = n // _SUMMED
    if whole == 0:
        return np.asarray(weight @ values)
    cut = whole * _SUMMED
    blocks = weight[:cut].reshape(whole, 1, _SUMMED) @ values[:cut].reshape(whole, _SUMMED, width)
    sums = np.add.reduce(np.ascontiguousarray(blocks[:, 0].T), axis=1)
    return np.asarray(sums + weight[cut:] @ values[cut:])


def norm_bounds(squares: Any, n_terms: Any) -> Any:
    """Roots of sums of that many squares, rounded up.

    >>> bool(norm_bounds(4.0, 2) >= 2.0)
    True
    """
    return np.sqrt(squares + n_terms * TINY) * (1.0 + 1e-9 + gamma(n_terms))
