"""The structured hinge over relaxed label sets: linear programmes between a feasible point and their duals."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.rounding import PAIRWISE, TINY, UNIT, Array, Ball, gamma
from taxolearn.certificates.scores import Scores
from taxolearn.certificates.sets import adjoint_of
from taxolearn.certificates.sums import Adjoint
from taxolearn.engines import Run
from taxolearn.objective import Objective

_UP = 1.0 + 1e-12  # more than what sums of so many terms are rounded by
_SCORE_BYTES = 8 * 2**20  # of scores at a time


def losses(objective: Objective, scores: Scores, classes: npt.NDArray[np.bool_], run: Run) -> Ball:
    """sum_i c_i max over z of sum_n theta_in (z_n - y_in), z being relaxed label sets.

    HiGHS solves the linear programme of each row, and is not believed: its z, moved into the bounds, gives a lower
    bound, and its multipliers y >= 0 an upper one, b . y + sum_n max(0, (theta - A' y)_n).
    """
    problem, loss = objective.problem, objective.loss
    own, weight = loss.sets(problem), loss.weights(problem)
    height = max(1, _SCORE_BYTES // (8 * loss.n_nodes))
    values, errors = np.zeros(problem.n_rows), np.zeros(problem.n_rows)
    for first in range(0, problem.n_rows, height):
        last = min(first + height, problem.n_rows)
        theta, off = scores.of_rows(first, last)
        off = np.broadcast_to(off, (len(theta), np.shape(off)[-1]))
        for k in range(last - first):
            i = first + k
            if weight[i] > 0:
                values[i], errors[i] = _loss_of(
                    loss, theta[k], off[k], own.indices[own.indptr[i] : own.indptr[i + 1]]
                )
    total = Ball(weight * values, weight * errors * (1 + gamma(2)) + np.where(weight > 0, TINY, 0.0)).sum()
    error = total.error + 2 * UNIT * float(np.abs(weight * values).sum())
    return Ball(total.value, error) * objective.C


def _loss_of(loss: Any, scores: Array, errors: Array, own: Any) -> tuple[float, float]:
    """The loss of one row and how far it may be off."""
    n = loss.n_nodes
    is_own = np.zeros(n, dtype=bool)
    is_own[own] = True
    theta = np.where(is_own, scores - loss.miss, scores + loss.false_alarm)
    theta[0] = 0.0
    if not (np.isfinite(theta).all() and np.isfinite(errors).all()):
        return 0.0, np.inf
    low, high = _programme(loss, theta)
    mine = float(theta[is_own].sum())
    size = float(np.abs(theta).sum())
    # every z and y lies in [0, 1]: theta that is off by e changes the loss by e at most
    off = float(np.sum(np.broadcast_to(errors, n))) + 2 * UNIT * size
    off += gamma(2 * n + PAIRWISE) * size + 2 * n * TINY
    value = max(0.0, 0.5 * (low + high) - mine)
    return value, max(0.0, high - mine - value, value - max(0.0, low - mine)) + off


def _programme(loss: Any, theta: Array) -> tuple[float, float]:
    """A lower and an upper bound on the largest theta . z, rounding included."""
    from scipy.optimize import linprog

    A, b = loss.constraints
    limits = np.zeros((loss.n_nodes, 2))
    limits[:, 1] = 1.0
    limits[0, 0] = 1.0
    found = linprog(-theta, A_ub=A, b_ub=b, bounds=limits, method="highs-ds")
    if found.x is None or found.ineqlin is None:
        return -np.inf, np.inf
    y = np.maximum(0.0, -np.asarray(found.ineqlin.marginals))
    if not np.isfinite(y).all():
        return -np.inf, np.inf
    left = theta - A.T @ y
    sizes = np.abs(theta) + np.abs(A).T @ y
    high = float(b @ y) + float(left[0]) + float(np.maximum(0.0, left[1:]).sum())
    rounded = gamma(A.shape[0] + loss.n_nodes + 8) * (float(sizes.sum()) + float(np.abs(b) @ y))
    z = np.array(found.x)
    if not np.isfinite(_moved_row(loss, z)):
        return -np.inf, high + rounded
    low = float(theta @ z)
    return low - gamma(loss.n_nodes + 2) * float(np.abs(theta) @ z) - loss.n_nodes * TINY, high + rounded


def adjoint(objective: Objective, dual: sp.csr_array, classes: npt.NDArray[np.bool_]) -> Adjoint:
    """c_i (y_in - mu_in), and minus sum_i c_i Delta(mu_i, y_i), the dual being c_i |mu_in - y_in|.

    The marginals must be relaxed label sets; where rounding alone can have moved them out they are moved back.
    """
    return adjoint_of(objective, dual, _moved_back)


def _moved_back(loss: Any, mu: sp.csr_array) -> tuple[sp.csr_array, Array]:
    """Marginals exactly within their bounds, and how far those of each row have moved."""
    dense = mu.toarray()
    moved = np.array([_moved_row(loss, row) for row in dense])
    places = mu.copy()
    row = np.repeat(np.arange(mu.shape[0]), np.diff(mu.indptr))
    places.data = dense[row, mu.indices]
    outside = dense.copy()
    outside[row, mu.indices] = 0.0
    moved[outside.any(axis=1)] = np.inf
    return places, moved


def _moved_row(loss: Any, mu: Array) -> float:
    """Move one row into its bounds, in place; by how much, infinite where this way does not lead there.

    No node above its parents, from the top down; then none above the sum of its children where it needs one, from below
    up, which breaks nothing: that sum is not below any child. Then all below the root grow by one factor, capped at 1,
    until the sums that must be 1 are: all else stays true.
    """
    before = mu.copy()
    np.clip(mu, 0.0, 1.0, out=mu)
    mu[0] = 1.0
    up = loss.upward
    down = loss.downward
    for n in range(1, loss.n_nodes):
        mu[n] = min(mu[n], mu[up.indices[up.indptr[n] : up.indptr[n + 1]]].min())
    for n in range(loss.n_nodes - 1, 0, -1):
        if loss.must[n]:
            children = mu[down.indices[down.indptr[n] : down.indptr[n + 1]]]
            mu[n] = min(mu[n], max(children.max(), children.sum() / _UP))
    tops = down.indices[down.indptr[0] : down.indptr[1]]
    least = min(float(mu[tops].sum()), float(mu[~loss.must].sum()))
    reached = mu[tops].max() >= 1.0 and mu[~loss.must].max() >= 1.0
    if not reached and least < _UP:
        if least <= 0.5:
            return np.inf
        mu[1:] = np.minimum(1.0, mu[1:] * (_UP**2 / min(least, 1.0)))
    return float(np.abs(mu - before).max())
