"""A Newton step on the free face of a dual: what ends the slow tail of coordinate descent.

Coordinate descent settles quickly which duals sit at a bound and then creeps along the rest when the rows are
correlated. On that face the dual is smooth (quadratic for the hinges), so a Newton direction, exact where that is cheap
and by conjugate gradients elsewhere, and a search that projects onto the bounds (More, Toraldo 1991) take
it to the end.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.loss_steps import conjugate_curvature, conjugate_derivative, dual_upper, loss_conjugate
from taxolearn.kernels.rows import row_add, row_dot

EXACT_SOLVE_SWEEPS = 40.0  # highest cost of an exact solve, in sweeps
GRADIENT_SWEEPS = 3  # highest cost of conjugate gradients, in sweeps


@kernel
def _solve_positive(a, x):
    """Solve a x = b in place by Cholesky; only the upper triangle of `a` is read, `x` holds b and then the answer.

    Plain loops whose inner one runs along a row: they compile in a fraction of the time that numba's LAPACK calls
    take and are fast enough for the sizes met here.
    """
    n = a.shape[0]
    for k in range(n):
        root = np.sqrt(max(a[k, k], 1e-300))
        for j in range(k, n):
            a[k, j] /= root
        for i in range(k + 1, n):
            factor = a[k, i]
            if factor != 0.0:
                for j in range(i, n):
                    a[i, j] -= factor * a[k, j]
    for k in range(n):  # forward: R' y = b
        x[k] /= a[k, k]
        for j in range(k + 1, n):
            x[j] -= a[k, j] * x[k]
    for k in range(n - 1, -1, -1):  # backward: R x = y
        total = x[k]
        for j in range(k + 1, n):
            total -= a[k, j] * x[j]
        x[k] = total / a[k, k]


@kernel
def _newton_by_solve(rows, free, sign, curvature, square, residual, n_features, bias_feature):
    """Solve (Z Z' + curvature) step = residual exactly, in the smaller dimension of Z, the signed free rows."""
    size = free.shape[0]
    width = n_features + 1
    z = np.zeros((size, width))
    for k in range(size):
        row_add(rows, free[k], sign[free[k]], z[k, :n_features])
        z[k, n_features] = sign[free[k]] * bias_feature
    step = np.empty(size)
    if size <= n_features:
        columns = np.empty((width, size))
        for k in range(size):
            for j in range(width):
                columns[j, k] = z[k, j]
        system = np.zeros((size, size))
        _add_outer_products(columns, system)
        for k in range(size):
            system[k, k] += curvature[k] + 1e-9 * square[free[k]] + 1e-300
            step[k] = residual[k]
        _solve_positive(system, step)
        return step
    # more free rows than features: the hinge's curvature of zero needs a proximal term to be solvable
    root = np.empty(size)
    for k in range(size):
        root[k] = np.sqrt(curvature[k] + 1e-4 * square[free[k]] + 1e-300)
    inner = np.zeros(width)
    for k in range(size):
        for j in range(width):
            z[k, j] /= root[k]
            inner[j] += z[k, j] * residual[k] / root[k]
    system = np.zeros((width, width))
    _add_outer_products(z, system)
    for j in range(width):
        system[j, j] += 1.0
    _solve_positive(system, inner)
    for k in range(size):
        total = 0.0
        for j in range(width):
            total += z[k, j] * inner[j]
        step[k] = (residual[k] / root[k] - total) / root[k]
    return step


@kernel
def _add_outer_products(z, out):
    """out += Z' Z, upper triangle only."""
    for k in range(z.shape[0]):
        for i in range(z.shape[1]):
            factor = z[k, i]
            if factor != 0.0:
                for j in range(i, z.shape[1]):
                    out[i, j] += factor * z[k, j]


@kernel
def _newton_by_gradients(rows, free, sign, curvature, square, residual, n_features, bias_feature, max_steps):
    """The same system by conjugate gradients with the diagonal as preconditioner."""
    size = free.shape[0]
    step = np.zeros(size)
    left = np.empty(size)
    direction = np.empty(size)
    diagonal = np.empty(size)
    applied = np.empty(size)
    shift = np.empty(n_features)
    rho = 0.0
    for k in range(size):
        diagonal[k] = square[free[k]] + curvature[k]
        left[k] = residual[k]
        direction[k] = residual[k] / diagonal[k]
        rho += left[k] * direction[k]
    target = max(1e-4 * rho, 1e-300)
    for _ in range(max_steps):
        if rho <= target:
            break
        shift[:] = 0.0
        shift_bias = 0.0
        for k in range(size):
            row_add(rows, free[k], direction[k] * sign[free[k]], shift)
            shift_bias += direction[k] * sign[free[k]] * bias_feature
        along = 0.0
        for k in range(size):
            r = free[k]
            applied[k] = (
                sign[r] * (row_dot(rows, r, shift) + shift_bias * bias_feature) + curvature[k] * direction[k]
            )
            along += direction[k] * applied[k]
        if along <= 1e-14 * rho:
            break  # flat: what is left of the residual lies outside the range
        length = rho / along
        rho_next = 0.0
        for k in range(size):
            step[k] += length * direction[k]
            left[k] -= length * applied[k]
            rho_next += left[k] * left[k] / diagonal[k]
        for k in range(size):
            direction[k] = left[k] / diagonal[k] + rho_next / rho * direction[k]
        rho = rho_next
    return step


@kernel
def face_step(loss, rows, sign, weight, square, dual, w, bias, bias_feature, per_row):
    """A Newton step of the dual on the duals strictly inside their bounds; returns whether one was taken.

    `per_row` is the mean number of stored values a row. Only a step that improves the dual is taken.
    """
    m = dual.shape[0]
    n_features = w.shape[0]
    free = np.empty(m, dtype=np.int64)
    size = 0
    for r in range(m):
        if dual[r] > 0.0 and dual[r] < dual_upper(loss, weight[r]):
            free[size] = r
            size += 1
    if size == 0:
        return False
    free = free[:size]
    residual = np.empty(size)  # minus the gradient
    curvature = np.empty(size)
    for k in range(size):
        r = free[k]
        margin = sign[r] * (row_dot(rows, r, w) + bias[0] * bias_feature)
        residual[k] = -(margin + conjugate_derivative(loss, dual[r], weight[r]))
        curvature[k] = conjugate_curvature(loss, dual[r], weight[r])
    # costs in multiply-adds, a sweep over all m rows being 2 m per_row
    small = float(min(size, n_features + 1))
    exact = small * size * (n_features + 1.0) / 4.0 + small * small * small / 3.0
    epoch = 2.0 * m * per_row
    if exact <= EXACT_SOLVE_SWEEPS * epoch:
        step = _newton_by_solve(rows, free, sign, curvature, square, residual, n_features, bias_feature)
    else:
        steps = max(4, GRADIENT_SWEEPS * m // size)
        step = _newton_by_gradients(
            rows, free, sign, curvature, square, residual, n_features, bias_feature, steps
        )

    shift = np.empty(n_features)
    moved = np.empty(size)
    length = 1.0
    for _ in range(12):
        shift[:] = 0.0
        shift_bias = 0.0
        change = 0.0  # of the (minimised) dual
        for k in range(size):
            r = free[k]
            moved[k] = min(max(dual[r] + length * step[k], 0.0), dual_upper(loss, weight[r]))
            delta = moved[k] - dual[r]
            if delta != 0.0:
                row_add(rows, r, delta * sign[r], shift)
                shift_bias += delta * sign[r] * bias_feature
                change += (
                    loss_conjugate(loss, moved[k], weight[r])
                    - loss_conjugate(loss, dual[r], weight[r])
                    - delta * (residual[k] + conjugate_derivative(loss, dual[r], weight[r]))
                )
        square_shift = shift_bias * shift_bias
        for j in range(n_features):
            square_shift += shift[j] * shift[j]
        change += 0.5 * square_shift
        if change < 0.0:
            for k in range(size):
                dual[free[k]] = moved[k]
            for j in range(n_features):
                w[j] += shift[j]
            bias[0] += shift_bias
            return True
        length *= 0.5
    return False
