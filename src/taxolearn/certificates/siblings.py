"""The sibling hinge: the largest violation among the siblings along a path, with biases that are tied like vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.rounding import LEAST_COST, TINY, UNIT, Array, Ball, gamma
from taxolearn.certificates.scores import RowScores
from taxolearn.certificates.sums import Adjoint
from taxolearn.engines import Run
from taxolearn.objective import Objective

_SCORE_BYTES = 8 * 2**20  # of scores at a time
_LIGHT = 2**20  # products that take a millisecond
_SLACK = 1e-9  # share by which a sum of duals may exceed its bound; it is then scaled down to it


def losses(objective: Objective, scores: RowScores, units: npt.NDArray[np.bool_], run: Run) -> Ball:
    """sum_i c_i max(0, max over rivals j of 1 - s_own(j) + s_j)."""
    problem = objective.problem
    height = max(1, _SCORE_BYTES // (8 * objective.n_units))
    spans = [(first, min(first + height, problem.n_rows)) for first in range(0, problem.n_rows, height)]
    shared = _Rows(*problem.one_label, objective.loss, scores)
    parts = run.map(_losses_of, shared, spans, light=scores.products < _LIGHT)
    total = Ball(np.array([part.value for part in parts]), np.array([part.error for part in parts])).sum()
    return total * objective.C


class _Rows(NamedTuple):
    """What all tasks read."""

    label: npt.NDArray[np.int64]
    weight: Array
    loss: Any
    scores: RowScores


def _losses_of(shared: _Rows, span: tuple[int, int], clock: Any) -> Ball:
    """The weighted losses of some rows, C left out."""
    with np.errstate(all="ignore"):
        found, errors = shared.scores.of_rows(*span)
        errors = np.broadcast_to(errors, found.shape)
        label, weight = shared.label[slice(*span)], shared.weight[slice(*span)]
        largest, above, below = (np.zeros(len(found)) for _ in range(3))
        order = np.argsort(label, kind="stable")
        cuts = np.flatnonzero(np.diff(label[order])) + 1
        for some in np.split(order, cuts):
            units, own = shared.loss.rivals(int(label[some[0]]))
            if not len(units):
                continue
            ahead = found[np.ix_(some, own)] - found[np.ix_(some, units)]
            violation = 1.0 - ahead
            error = errors[np.ix_(some, own)] + errors[np.ix_(some, units)]
            error = error + 4 * UNIT * (1.0 + np.abs(ahead))
            largest[some] = violation.max(axis=1)
            above[some] = (violation + error).max(axis=1)
            below[some] = (violation - error).max(axis=1)
        broken = np.isnan(largest)
        largest, above, below = (np.maximum(0.0, part) for part in (largest, above, below))
        change = np.where(weight > 0, np.maximum(above - largest, largest - below), 0.0)
        change[(broken | ~np.isfinite(largest)) & (weight > 0)] = np.inf
        total = Ball(np.where(weight > 0, weight * largest, 0.0)).sum()
        lost = np.count_nonzero(above) * TINY + 2 * UNIT * abs(total.value)
        return Ball(total.value, total.error + float(np.where(weight > 0, weight * change, 0.0).sum()) + lost)


def adjoint(objective: Objective, dual: sp.csr_array, units: npt.NDArray[np.bool_]) -> Adjoint:
    """alpha_ij for the unit that must beat j, minus the same for j; and minus sum_ij alpha_ij.

    A dual with alpha < 0, with alpha > 0 where a unit is no rival of the row, or with sum_j alpha_ij > c_i is outside
    its bounds; where rounding alone can have made a sum so, it is scaled down.
    """
    problem = objective.problem
    label, weight = problem.one_label
    cost = objective.C * weight
    alphas = dual.tocoo()
    other, row, alpha = alphas.row, alphas.col, alphas.data.astype(np.float64)
    own = objective.loss.own_units(label[row], other)
    sums = np.bincount(row, alpha, minlength=problem.n_rows).astype(np.float64)  # of nothing it is an int
    nothing = sp.csr_array(dual.shape)
    inside = np.all(alpha >= 0) and not np.any(alpha[own < 0])
    if not (inside and np.all(sums <= cost * (1 + _SLACK)) and np.all(np.isfinite(cost))):
        return Adjoint((nothing,), Ball(np.inf))
    if np.any((weight > 0) & (cost < LEAST_COST)):
        return Adjoint((nothing,), Ball(0.0, np.inf))
    terms = int(np.bincount(row, minlength=1).max(initial=0)) + 8
    alpha = alpha * np.divide(cost, sums, out=np.ones(problem.n_rows), where=sums > cost)[row]
    there = own >= 0
    alpha, own, other, row = alpha[there], own[there], other[there], row[there]
    linear = Ball(-alpha).sum()
    up = sp.csr_array((alpha, (own, row)), shape=dual.shape)
    down = sp.csr_array((-alpha, (other, row)), shape=dual.shape)
    relative = gamma(2 * terms)
    error = linear.error + (relative + 2 * UNIT) * abs(linear.value)
    return Adjoint((up, down), Ball(linear.value, error), relative=relative)
