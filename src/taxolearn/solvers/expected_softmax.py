"""What softmax costs on average where the vectors of nodes are uncertain: a bound, exact to second order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.losses import LossFacts, Softmax

Array = npt.NDArray[np.float64]

_TILTS = 5  # steps of the tilt per call: each gains a fraction of what the last one did
_LEAST_GAIN = 1e-6  # by which a row's bound must fall for another step of its tilt
_STEPS = (1.0, 0.5, 0.25, 0.125)  # lengths of a step that are tried until the bound falls


class ExpectedLosses(NamedTuple):
    """Bounds on the expected loss of each row, and what they were made with.

    `below` is rows x nodes: the probability of the classes below a node at the shifted scores; `offset`, rows x
    classes, is that shift.
    """

    losses: Array
    below: Array
    offset: Array


class Uncertain(NamedTuple):
    """Scores of rows and their uncertainty: s_il is normal with mean `scores`, and the node vectors are independent.

    `spread` is rows x nodes, the variance t_in of u_n . x_i; `paths` classes x nodes, sparse or dense, and `own` the
    class of each row.
    """

    scores: Array
    spread: Array
    paths: Any
    own: npt.NDArray[np.int64]

    def some(self, rows: Any) -> Uncertain:
        """The same of some of the rows, in their order."""
        if len(rows) == len(self.scores):
            return self
        return Uncertain(self.scores[rows], self.spread[rows], self.paths, self.own[rows])


def expected_losses(rows: Uncertain, tilt: Array) -> ExpectedLosses:
    """The tilted bound of Knowles and Minka (2011) on E[log sum_l exp(s_l) - s_y], for any tilt A (rows x nodes):

        1/2 sum_n t_n A_n^2 + log sum_l exp(s_l + o_l) - s_y,   o_l = 1/2 sum over n in path(l) of t_n (1 - 2 A_n).

    With A_n the probability of the classes below n it adds 1/2 sum_n t_n A_n (1 - A_n) to the loss, to second order:
    the curvature times the variance.

    >>> import scipy.sparse as sp
    >>> rows = Uncertain(np.zeros((1, 2)), np.zeros((1, 2)), sp.csr_array(np.eye(2)), np.array([0]))
    >>> expected_losses(rows, np.full((1, 2), 0.5)).losses.round(6)
    array([0.693147])
    """
    offset = 0.5 * np.asarray((rows.spread * (1.0 - 2.0 * tilt)) @ rows.paths.T)
    shifted = rows.scores + offset
    top = shifted.max(axis=1)
    p = np.exp(shifted - top[:, None])
    total = p.sum(axis=1)
    tilted = 0.5 * (rows.spread * tilt * tilt).sum(axis=1)
    losses = tilted + np.log(total) + (top - rows.scores[np.arange(len(p)), rows.own])
    p /= total[:, None]
    return ExpectedLosses(losses, np.asarray(p @ rows.paths), offset)


def better_tilt(rows: Uncertain, tilt: Array) -> tuple[Array, ExpectedLosses]:
    """A tilt under which no row's bound is higher, and these bounds.

    The bound is convex in the tilt, and best where the tilt is the probability below each node: a step towards it that
    is short enough lowers the bound.

    >>> import scipy.sparse as sp
    >>> rows = Uncertain(np.zeros((1, 2)), np.ones((1, 2)), sp.csr_array(np.eye(2)), np.array([0]))
    >>> better_tilt(rows, np.array([[0.9, 0.1]]))[0].round(1).tolist()
    [[0.5, 0.5]]
    """
    found, moving = expected_losses(rows, tilt), np.arange(len(tilt))
    for _ in range(_TILTS):
        tilt, before = tilt.copy(), found
        found, left, gained = ExpectedLosses(*map(np.copy, found)), moving, np.zeros(len(tilt), dtype=bool)
        for step in _STEPS:
            tried = tilt[left] + step * (before.below[left] - tilt[left])
            new = expected_losses(rows.some(left), tried)
            lower = new.losses < before.losses[left]
            better = left[lower]
            tilt[better] = tried[lower]
            for part, values in zip(found, new, strict=True):
                part[better] = values[lower]
            gained[left[new.losses < before.losses[left] - _LEAST_GAIN]] = True
            left = left[~lower]
            if not len(left):
                break
        moving = moving[gained[moving]]  # no step helped the others much, and none would the next time
        if not len(moving):
            break
    return tilt, found


def curvature(tilt: Array, below: Array) -> Array:
    """Twice the derivative of the bound in each t_in, rows x nodes: A^2 + Q (1 - 2 A) = (A - Q)^2 + Q (1 - Q).

    >>> curvature(np.array([[0.5]]), np.array([[0.5]]))
    array([[0.25]])
    """
    return np.maximum(
        0.0, (tilt - below) ** 2 + below * (1.0 - below)
    )  # rounding may bring `below` above one


@dataclass(frozen=True, eq=False)
class ShiftedSoftmax:
    """Softmax of scores to which an offset per row and class is added: the best means for given variances.

    >>> ShiftedSoftmax(np.array([[0.0, 1.0]])).value(np.array([[1.0, 0.0]]), np.array([0])).round(6)
    array([0.693147])
    """

    offset: Array

    @property
    def facts(self) -> LossFacts:
        """Those of softmax."""
        return Softmax().facts

    def value(self, scores: npt.ArrayLike, own: npt.NDArray[np.integer]) -> Array:
        """The loss of each row."""
        return Softmax().value(np.asarray(scores) + self.offset, own)

    def probabilities(self, scores: npt.ArrayLike) -> Array:
        """Those of the shifted scores."""
        return Softmax().probabilities(np.asarray(scores) + self.offset)
