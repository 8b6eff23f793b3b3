"""Newton steps on the face of duals that are not zero: the end of an ascent on simplices, where rows are correlated."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.lapack import dposv

from taxolearn.objective import Objective

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[Any]

_RIDGE = 1e-10  # on the diagonal, as a share of its mean: twins among the rows make the products singular
_AT_BOUND = 1e-9  # share of a row's cost below which nothing of it is left
_MOST_STEPS = 12
_DENSE_FACTOR = 2**12  # size of a factor that is read as an array: SciPy takes longer to begin with it
_ENOUGH = 2e-2  # share of the first step's promise below which a step is not worth taking


class Face(NamedTuple):
    """Duals that are not zero: maximise linear . d - d' products d / 2 over d >= 0, sums of rows being at most `cost`.

    `row` tells whose each dual is.
    """

    row: Ids
    linear: Array
    products: Array
    cost: Array


def make_face(objective: Objective, row: Ids, unit: Ids, cost: Array) -> Face:
    """The face of the duals of a structured hinge at these pairs of row and class.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[1.0], [2.0]], ["a", "b"])
    >>> objective = Objective(problem, structured_hinge(problem, flat(2)), flat(2), bias_feature=0.0)
    >>> make_face(objective, np.array([0, 1]), np.array([1, 0]), np.ones(2)).products.tolist()
    [[2.0, -4.0], [-4.0, 8.0]]
    """
    problem = objective.problem
    rows, place = np.unique(row, return_inverse=True)
    labels, number = np.unique(problem.one_label[0][row], return_inverse=True)
    margins, scalings = objective.loss.margins_and_scalings(labels)
    factor = objective.tie.factor()
    factor = factor.toarray() if math.prod(factor.shape) <= _DENSE_FACTOR else factor
    moved = (factor[labels[number]] - factor[unit]) * scalings[number, unit][:, None]
    moved = sp.csr_array(moved) if sp.issparse(moved) else moved
    X = problem.X[rows]
    products = _dense(X @ X.T) + objective.bias_feature**2
    return Face(row, margins[number, unit], products[np.ix_(place, place)] * _dense(moved @ moved.T), cost)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def ascend_face(face: Face, alpha: Array) -> Array:
    """Better duals, some of them now zero: Newton steps, each cut back to what is feasible.

    >>> face = Face(np.array([0, 0, 1]), np.ones(3), np.eye(3) + 1.0, np.array([0.4, 9.0]))
    >>> ascend_face(face, np.array([0.1, 0.3, 2.0])).round(6).tolist()
    [0.2, 0.2, 0.3]
    """
    alpha, first = alpha.copy(), 0.0
    for _ in range(_MOST_STEPS):
        gradient = face.linear - face.products @ alpha
        direction = _direction(face, alpha, gradient)
        if direction is None:
            break
        gained, alpha = _moved(face, alpha, gradient, direction)
        first = max(first, gained)
        if gained <= _ENOUGH * first:
            break
    return alpha


def _direction(face: Face, alpha: Array, gradient: Array) -> Array | None:
    """The way to the optimum of the duals above zero, sums of rows that are at their cost staying there."""
    n = len(face.cost)
    sums = np.bincount(face.row, alpha, minlength=n)
    full = sums >= face.cost * (1 - _AT_BOUND)
    free = alpha > 0
    # where a sum is kept, the largest dual of a row takes what the others leave
    order = np.lexsort((alpha, face.row))
    last = np.full(n, -1)
    last[face.row[order]] = order
    kept = full[face.row]
    free[last[full & (last >= 0)]] = False
    some = np.flatnonzero(free)
    if not len(some):
        return None
    tied, pivot = kept[some], last[face.row[some]]
    matrix, wanted = face.products[np.ix_(some, some)], gradient[some]
    kept_too = np.flatnonzero(tied)
    if len(kept_too):
        pivots = pivot[kept_too]
        across = face.products[np.ix_(pivots, some)]
        matrix[kept_too] -= across
        matrix[:, kept_too] -= across.T
        matrix[np.ix_(kept_too, kept_too)] += face.products[np.ix_(pivots, pivots)]
        wanted[kept_too] -= gradient[pivots]
    matrix.flat[:: len(some) + 1] += _RIDGE * np.trace(matrix) / len(some) + np.finfo(float).tiny
    _, step, failed = dposv(matrix.T, wanted, overwrite_a=True)
    if failed:
        return None
    direction = np.zeros_like(alpha)
    direction[some] = step
    np.subtract.at(direction, pivot[tied], step[tied])
    return direction if np.isfinite(direction).all() else None


def _moved(face: Face, alpha: Array, gradient: Array, direction: Array) -> tuple[float, Array]:
    """What a step gains, and where it ends: projected, or as far as all duals stay feasible."""
    target = np.maximum(alpha + direction, 0.0)
    sums = np.bincount(face.row, target, minlength=len(face.cost))
    target *= np.divide(face.cost, sums, out=np.ones_like(sums), where=sums > face.cost)[face.row]
    found = [_along(face, gradient, target - alpha)]
    falls = direction < 0
    length = min(1.0, float(np.min(alpha[falls] / -direction[falls], initial=np.inf)))
    rising, sums = (np.bincount(face.row, one, minlength=len(face.cost)) for one in (direction, alpha))
    rises = (rising > 0) & (sums < face.cost * (1 - _AT_BOUND))
    length = min(length, float(np.min((face.cost - sums)[rises] / rising[rises], initial=np.inf)))
    found.append(_along(face, gradient, length * direction))
    gained, step = max(found, key=lambda one: one[0])
    if gained <= 0:
        return 0.0, alpha
    moved = alpha + step
    # what rounding leaves of a dual that has come to its end would block the next step
    return gained, np.where(moved > _AT_BOUND * face.cost[face.row], moved, 0.0)


def _along(face: Face, gradient: Array, step: Array) -> tuple[float, Array]:
    """The best of a step and of all that is shorter: the gain, and the step."""
    slope, curvature = float(gradient @ step), float(step @ (face.products @ step))
    if slope <= 0:
        return 0.0, step
    share = 1.0 if curvature <= slope else slope / curvature
    return share * slope - 0.5 * share**2 * curvature, share * step
