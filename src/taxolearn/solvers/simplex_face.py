"""Newton steps on the face of duals that are not zero: the end of an ascent on simplices, where rows are correlated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.lapack import dposv

from taxolearn.objective import Objective

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[Any]

_RIDGE = 1e-10  # on the diagonal, as a share of its mean: twins among the rows make the products singular
_TINY = float(np.finfo(float).tiny)
_AT_BOUND = 1e-9  # share of a row's cost below which nothing of it is left
_MOST_STEPS = 12
_MOST_TURNS = 8  # in which duals that leave their bounds are put there,
_MOST_WRONG = 0.1  # unless they are this share of all: twins among the rows drive them anywhere
_DENSE_FACTOR = 2**12  # size of a factor that is read as an array: SciPy takes longer to begin with it
_ENOUGH = 2e-2  # share of the first step's promise below which a step is not worth taking


class Face(NamedTuple):
    """Duals that are not zero: maximise linear . d - d' products d / 2 over d >= 0, sums of rows being at most `cost`.

    `row` tells whose each dual is, rows without one being left out of `row` and `cost`.
    """

    row: Ids
    linear: Array
    products: Array
    cost: Array

    def sums(self, alpha: Array) -> Array:
        """Those of the rows."""
        return np.asarray(np.bincount(self.row, alpha, minlength=len(self.cost)), dtype=np.float64)


def make_face(objective: Objective, row: Ids, unit: Ids, cost: Array) -> Face:
    """The face of the duals of a structured hinge at these pairs of row and class; `cost` is that of all rows.

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
    tie = objective.tie
    small = tie.paths.shape[0] * tie.paths.shape[1] <= _DENSE_FACTOR
    factor = tie.dense_factor if small else tie.factor()
    moved = (factor[labels[number]] - factor[unit]) * scalings[number, unit][:, None]
    moved = sp.csr_array(moved) if sp.issparse(moved) else moved
    X = problem.X[rows]
    products = _dense(X @ X.T) + objective.bias_feature**2
    if len(rows) < len(row):
        products = products[place[:, None], place]
    return Face(place, margins[number, unit], products * _dense(moved @ moved.T), cost[rows])


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def ascend_face(face: Face, alpha: Array) -> Array:
    """Better duals, some of them now zero: Newton steps, each cut back to what is feasible.

    >>> face = Face(np.array([0, 0, 1]), np.ones(3), np.eye(3) + 1.0, np.array([0.4, 9.0]))
    >>> ascend_face(face, np.array([0.1, 0.3, 2.0])).round(6).tolist()
    [0.2, 0.2, 0.3]
    """
    alpha, first, turns = alpha.copy(), 0.0, _MOST_TURNS
    for _ in range(_MOST_STEPS):
        gained, moved, turns = _step(face, alpha, turns)
        first = max(first, gained)
        if gained > 0:
            # what rounding leaves of a dual that has come to its end would block the next step
            alpha = np.where(moved > _AT_BOUND * face.cost[face.row], moved, 0.0)
        if not turns or gained <= _ENOUGH * first:
            break
    return alpha


def _step(face: Face, alpha: Array, turns: int) -> tuple[float, Array, int]:
    """What a step gains, where it leads, and how many turns the next step should have: none at the optimum.

    A turn puts the duals that would leave their bounds there, and looks for the others anew. The step goes to where
    none would, or as far as all duals stay feasible on the way of the first turn; if that is better, turns do not help.
    """
    steepest = gradient = face.linear - face.products @ alpha
    point = target = alpha
    short, ended = (0.0, np.zeros_like(alpha)), False
    for turn in range(turns):
        room = face.cost - face.sums(point)
        full = room <= _AT_BOUND * face.cost
        direction = _direction(face, point, gradient, full)
        if direction is None:
            break
        if turn == 0:
            length = _feasible(face, alpha, direction, np.where(full, np.inf, room))
            short = _along(face, steepest, length * direction)
        target, wrong = _projected(face, point + direction)
        ended = not wrong.any()
        if ended or np.count_nonzero(wrong) > _MOST_WRONG * len(wrong):
            break
        point = np.where(wrong, target, point)
        gradient = face.linear - face.products @ point
    far = _along(face, steepest, target - alpha)
    if far[0] < short[0]:
        return short[0], alpha + short[1], 1
    return far[0], alpha + far[1], 0 if ended else turns


def _direction(face: Face, alpha: Array, gradient: Array, full: npt.NDArray[np.bool_]) -> Array | None:
    """The way to the optimum of the duals above zero, sums of `full` rows, which are at their cost, staying there."""
    # where a sum is kept, the largest dual of a row takes what the others leave
    if len(face.row) == len(face.cost):  # of two classes a row has one dual
        last = np.argsort(face.row)
    else:
        last = np.lexsort((alpha, face.row))[np.cumsum(np.bincount(face.row)) - 1]
    free = alpha > 0
    free[last[full]] = False
    some = free.nonzero()[0]
    if not len(some):
        return None
    matrix, wanted = face.products[some[:, None], some], gradient[some]
    tied = full[face.row[some]].nonzero()[0]
    pivots = last[face.row[some[tied]]]
    if len(tied):
        across = face.products[pivots[:, None], some]
        matrix[tied] -= across
        matrix[:, tied] -= across.T
        matrix[tied[:, None], tied] += face.products[pivots[:, None], pivots]
        wanted[tied] -= gradient[pivots]
    diagonal = matrix.ravel()[:: len(some) + 1]
    diagonal += _RIDGE * diagonal.mean() + _TINY
    _, step, failed = dposv(matrix.T, wanted, overwrite_a=True)
    if failed or not np.isfinite(step).all():
        return None
    direction = np.zeros_like(alpha)
    direction[some] = step
    if len(tied):
        np.subtract.at(direction, pivots, step[tied])
    return direction


def _feasible(face: Face, alpha: Array, direction: Array, room: Array) -> float:
    """The share of a direction up to which all duals stay feasible; `room` is what sums of rows may rise by, those that
    stay where they are left out."""
    falls, rising = direction < 0, face.sums(direction)
    rises = rising > 0
    return min(
        1.0,
        float((alpha[falls] / -direction[falls]).min(initial=np.inf)),
        float((room[rises] / rising[rises]).min(initial=np.inf)),
    )


def _projected(face: Face, ahead: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Feasible duals near those given, and which of these were not."""
    target = np.maximum(ahead, 0.0)
    sums, wrong = face.sums(target), ahead < 0
    above = sums > face.cost * (1 + _AT_BOUND)
    if above.any():
        target *= np.divide(face.cost, sums, out=np.ones_like(sums), where=above)[face.row]
        wrong |= above[face.row]
    return target, wrong


def _along(face: Face, gradient: Array, step: Array) -> tuple[float, Array]:
    """The best of a step and of all that is shorter: the gain, and the step."""
    slope, curvature = float(gradient @ step), float(step @ (face.products @ step))
    if slope <= 0:
        return 0.0, step
    share = 1.0 if curvature <= slope else slope / curvature
    return share * slope - 0.5 * share**2 * curvature, share * step
