"""A Newton step on the free face of a dual: what ends the slow tail of coordinate descent.

Coordinate descent settles quickly which duals sit at a bound and then creeps along the rest when the rows are
correlated. On that face the dual is smooth (quadratic for the hinges), so a Newton direction, exact where that is cheap
and by conjugate gradients elsewhere, and a search that projects onto the bounds (More, Toraldo 1991) take it to the end.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.loss_steps import conjugate_curvature, conjugate_slope, dual_upper, loss_conjugate
from taxolearn.kernels.rows import row_add, row_dot

EXACT_EPOCHS = 40.0  # an exact solve may cost as much as this many sweeps
GRADIENT_EPOCHS = 10  # conjugate gradients may visit as many rows as this many sweeps


@kernel
def _newton_by_solve(rows, free, sign, curvature, square, residual, n_features, bias_feature):  # type: ignore[no-untyped-def]
    """Solve (Z Z' + curvature) step = residual exactly, Z the signed free rows, in the smaller of its two dimensions."""
    size = free.shape[0]
    z = np.zeros((size, n_features + 1))
    for k in range(size):
        row_add(rows, free[k], sign[free[k]], z[k, :n_features])
        z[k, n_features] = sign[free[k]] * bias_feature
    if size <= n_features:
        system = np.dot(z, z.T)
        for k in range(size):
            system[k, k] += curvature[k] + 1e-9 * square[free[k]] + 1e-300
        return np.linalg.solve(system, residual)
    # more free rows than features: the hinge's curvature of zero needs a proximal term to be solvable
    d = np.empty(size)
    for k in range(size):
        d[k] = curvature[k] + 1e-4 * square[free[k]] + 1e-300
    scaled = z / d.reshape(-1, 1)
    system = np.dot(z.T, scaled)
    for j in range(n_features + 1):
        system[j, j] += 1.0
    inner = np.linalg.solve(system, np.dot(scaled.T, residual))
    return (residual - np.dot(z, inner)) / d


@kernel
def _newton_by_gradients(rows, free, sign, curvature, square, residual, n_features, bias_feature, max_steps):  # type: ignore[no-untyped-def]
    """The same system by conjugate gradients with the diagonal as preconditioner."""
    size = free.shape[0]
    residual = residual.copy()
    step = np.zeros(size)
    diagonal = np.empty(size)
    for k in range(size):
        diagonal[k] = square[free[k]] + curvature[k]
    direction = residual / diagonal
    applied = np.empty(size)
    shift = np.empty(n_features)
    rho = np.dot(residual, direction)
    target = 1e-4 * rho
    for _ in range(max_steps):
        if rho <= target or rho <= 1e-300:
            break
        shift[:] = 0.0
        shift_bias = 0.0
        for k in range(size):
            row_add(rows, free[k], direction[k] * sign[free[k]], shift)
            shift_bias += direction[k] * sign[free[k]] * bias_feature
        for k in range(size):
            r = free[k]
            applied[k] = sign[r] * (row_dot(rows, r, shift) + shift_bias * bias_feature) + curvature[k] * direction[k]
        bend = np.dot(direction, applied)
        if bend <= 1e-14 * rho:
            break  # flat: what is left of the residual lies outside the range
        length = rho / bend
        step += length * direction
        residual -= length * applied
        rho_next = np.dot(residual, residual / diagonal)
        direction = residual / diagonal + (rho_next / rho) * direction
        rho = rho_next
    return step


@kernel
def face_step(loss, rows, sign, weight, square, dual, w, bias, bias_feature, per_row):  # type: ignore[no-untyped-def]
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
        residual[k] = -(margin + conjugate_slope(loss, dual[r], weight[r]))
        curvature[k] = conjugate_curvature(loss, dual[r], weight[r])
    # costs in multiply-adds, a sweep over all m rows being 2 m per_row
    small = float(min(size, n_features + 1))
    exact = small * size * (n_features + 1.0) / 4.0 + small * small * small / 3.0
    epoch = 2.0 * m * per_row
    if exact <= EXACT_EPOCHS * epoch:
        step = _newton_by_solve(rows, free, sign, curvature, square, residual, n_features, bias_feature)
    else:
        steps = max(4, GRADIENT_EPOCHS * m // size)
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
                    - delta * (residual[k] + conjugate_slope(loss, dual[r], weight[r]))
                )
        change += 0.5 * (np.dot(shift, shift) + shift_bias * shift_bias)
        if change < 0.0:
            for k in range(size):
                dual[free[k]] = moved[k]
            for j in range(n_features):
                w[j] += shift[j]
            bias[0] += shift_bias
            return True
        length *= 0.5
    return False
