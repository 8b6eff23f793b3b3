"""A Newton step on the free face of one class's dual: what ends the slow tail of coordinate descent.

Coordinate descent settles quickly which duals sit at a bound and then creeps along the rest when the rows are
correlated. On that face the dual is smooth (quadratic for the hinges), so a Newton direction, exact where that is cheap
and by conjugate gradients elsewhere, and a search that projects onto the bounds (More, Toraldo 1991) take it to the
end. The kernel `taxolearn.kernels.face_newton` does the same inside other kernels, for classes that are tied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.lapack import dposv

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

_EXACT_SWEEPS = 40.0  # highest cost of an exact solve, in sweeps
_BLAS_SPEED = 4.0  # times as fast that a factorisation multiplies,
_SPARSE_SLOWNESS = 4.0  # and times as slow that products of sparse rows do
_GRADIENT_SWEEPS = 3  # highest cost of conjugate gradients, in sweeps
_RIDGE = (
    1e-9  # on the diagonal, as a share of the square of a row: twins among the rows make products singular
)
_PROXIMAL = 1e-4  # the same where more duals are free than there are features
_LEAST = 1e-300
_HALVINGS = 12


class FreeRows:
    """Rows whose duals are strictly inside their bounds, times their signs, with the constant feature apart."""

    def __init__(self, rows: Any, free: Ids, sign: Array, bias_feature: float, n_features: int) -> None:
        self.constant, self.n_features, self.first = sign * bias_feature, n_features, 0
        self.entries: Any = None
        dense = rows.data
        if hasattr(rows, "indptr"):
            counts = rows.indptr[free + 1] - rows.indptr[free]
            ends = np.cumsum(counts)
            at = np.repeat(rows.indptr[free] - (ends - counts), counts) + np.arange(counts.sum())
            indptr = np.concatenate(([0], ends))
            entries = rows.data[at] * np.repeat(sign, counts), rows.indices[at].astype(np.int64), indptr
            self.entries = sp.csr_array(entries, shape=(len(free), n_features))
            dense, self.first = rows.tail, rows.first
        self.dense = dense[free] * sign[:, None] if dense.shape[1] else None

    def times(self, vector: Array, bias: float) -> Array:
        """The product of each row with a vector and the weight of the constant feature."""
        out = self.constant * bias
        if self.entries is not None:
            out += self.entries @ vector
        if self.dense is not None:
            out += self.dense @ vector[self.first :]
        return np.asarray(out)

    def summed(self, factors: Array) -> tuple[Array, float]:
        """The sum of the rows times these factors, and of their constant feature."""
        out = np.zeros(self.n_features) if self.entries is None else self.entries.T @ factors
        if self.dense is not None:
            out[self.first :] += self.dense.T @ factors
        return out, float(self.constant @ factors)

    def work_of_products(self) -> float:
        """Roughly how many multiplications `products` takes."""
        size, work = len(self.constant), 0.0
        if self.entries is not None:
            shared = np.bincount(self.entries.indices)
            work += _SPARSE_SLOWNESS * float(shared @ shared)
        return work + (0.0 if self.dense is None else size**2 * self.dense.shape[1] / _BLAS_SPEED)

    def products(self) -> Array:
        """Of each row with each."""
        out = np.outer(self.constant, self.constant)
        if self.entries is not None:
            out += (self.entries @ self.entries.T).toarray()
        if self.dense is not None:
            out += self.dense @ self.dense.T
        return np.asarray(out)

    def matrix(self) -> Array:
        """The rows, with the constant feature as the last."""
        out = np.zeros((len(self.constant), self.n_features + 1))
        if self.entries is not None:
            out[:, :-1] = self.entries.toarray()
        if self.dense is not None:
            out[:, self.first : -1] += self.dense
        out[:, -1] = self.constant
        return out


def face_step(
    loss: Any,
    rows: Any,
    sign: Array,
    weight: Array,
    square: Array,
    dual: Array,
    w: Array,
    bias: Array,
    bias_feature: float,
    sweep_work: float,
    n_swept: int,
) -> bool:
    """A Newton step of the dual on the duals strictly inside their bounds, in place; whether one was taken.

    `sweep_work` is what a sweep costs, in multiplications, and `n_swept` how many rows it visits. Only
    a step that improves the dual is taken.

    >>> from taxolearn.kernels.rows import rows_of
    >>> from taxolearn.losses import SquaredHinge
    >>> rows, one = rows_of(np.array([[2.0]])), np.ones(1)
    >>> dual, w, bias = np.array([0.1]), np.array([0.2]), np.zeros(1)
    >>> face_step(SquaredHinge(), rows, one, one, 4 * one, dual, w, bias, 0.0, 1e3, 1), dual.round(6).tolist()
    (True, [0.222222])
    """
    inside = np.flatnonzero(dual > 0)
    weights, place = np.unique(weight[inside], return_inverse=True)
    upper = _each(loss.kernel_upper, loss, weights)[place]
    within = dual[inside] < upper
    free, upper = inside[within], upper[within]
    if not len(free):
        return False
    begun, cost = dual[free], weight[free]
    z = FreeRows(rows, free, sign[free], bias_feature, len(w))
    slope, curvature = _slopes(loss, begun, cost)
    residual = -(z.times(w, float(bias[0])) + slope)
    step = _direction(z, curvature, square[free], residual, sweep_work, n_swept)
    value, length = loss.conjugate(begun, cost), 1.0
    for _ in range(_HALVINGS):
        moved = np.clip(begun + length * step, 0.0, upper)
        change = moved - begun
        shift, shift_bias = z.summed(change)
        below = np.sum(loss.conjugate(moved, cost) - value - change * (residual + slope))
        if below + 0.5 * (shift @ shift + shift_bias * shift_bias) < 0:
            dual[free] = moved
            w += shift
            bias[0] += shift_bias
            return True
        length *= 0.5
    return False


def _slopes(loss: Any, dual: Array, weight: Array) -> tuple[Array, Array]:
    """First and second derivative of the conjugate; a loss may know a faster way than one number at a time."""
    if hasattr(loss, "conjugate_slopes"):
        slope, curvature = loss.conjugate_slopes(dual, weight)
        return slope, curvature
    return _each(loss.kernel_derivative, loss, dual, weight), _each(loss.kernel_curvature, loss, dual, weight)


def _each(function: Callable[..., Any], loss: Any, *values: Array) -> Array:
    """What a loss says of each number by itself."""
    found = [function(loss, *some) for some in zip(*(value.tolist() for value in values), strict=True)]
    return np.array(found, dtype=np.float64)


def _direction(
    z: FreeRows, curvature: Array, square: Array, residual: Array, sweep_work: float, n_rows: int
) -> Array:
    """The solution of (Z Z' + curvature) step = residual, exact where that costs no more than some sweeps."""
    size, width = len(residual), z.n_features + 1
    budget = _EXACT_SWEEPS * sweep_work
    if size < width:
        if size**3 / (3 * _BLAS_SPEED) <= budget and z.work_of_products() <= budget:
            return by_products(z, curvature + _RIDGE * square, residual)
    elif (size * width**2 / 2 + width**3 / 3) / _BLAS_SPEED <= budget:
        return by_features(z, curvature + _PROXIMAL * square, residual)
    return by_gradients(z, curvature, square, residual, max(4, _GRADIENT_SWEEPS * n_rows // size))


def by_products(z: FreeRows, diagonal: Array, residual: Array) -> Array:
    """Solve (Z Z' + diagonal) step = residual from the products of the rows."""
    system = z.products()
    system.ravel()[:: len(residual) + 1] += diagonal + _LEAST
    return _solved(system, residual)


def by_features(z: FreeRows, diagonal: Array, residual: Array) -> Array:
    """The same in the dimension of the features."""
    root = np.sqrt(diagonal + _LEAST)
    scaled, wanted = z.matrix() / root[:, None], residual / root
    system = scaled.T @ scaled
    system.ravel()[:: len(system) + 1] += 1.0
    return np.asarray((wanted - scaled @ _solved(system, scaled.T @ wanted)) / root)


def by_gradients(z: FreeRows, curvature: Array, square: Array, residual: Array, most: int) -> Array:
    """The same system without its ridge by conjugate gradients, with the diagonal as preconditioner."""
    diagonal = square + curvature
    step, left = np.zeros_like(residual), residual.copy()
    direction = residual / diagonal
    rho = float(left @ direction)
    target = max(1e-4 * rho, _LEAST)
    for _ in range(most):
        if rho <= target:
            break
        applied = z.times(*z.summed(direction)) + curvature * direction
        along = float(direction @ applied)
        if along <= 1e-14 * rho:
            break  # flat: what is left of the residual lies outside the range
        step += rho / along * direction
        left -= rho / along * applied
        scaled = left / diagonal
        rho, before = float(left @ scaled), rho
        direction = scaled + rho / before * direction
    return step


def _solved(system: Array, wanted: Array) -> Array:
    """A zero step where rounding has left the system indefinite: it improves nothing, and is not taken."""
    _, found, failed = dposv(system.T, wanted, overwrite_a=True)
    return np.zeros_like(wanted) if failed or not np.isfinite(found).all() else np.asarray(found)
