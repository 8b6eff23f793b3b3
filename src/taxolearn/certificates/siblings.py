"""The sibling hinge: the largest violation among the siblings along a path, with biases that are tied like vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.rounding import LEAST_COST, UNIT, Ball, gamma
from taxolearn.certificates.scores import RowScores
from taxolearn.certificates.sums import Adjoint
from taxolearn.certificates.violations import LabelledRows, summed_losses, weighted_violations
from taxolearn.engines import Run
from taxolearn.objective import Objective

_SLACK = 1e-9  # share by which a sum of duals may exceed its bound; it is then scaled down to it


def losses(objective: Objective, scores: RowScores, units: npt.NDArray[np.bool_], run: Run) -> Ball:
    """sum_i c_i max(0, max over rivals j of 1 - s_own(j) + s_j)."""
    return summed_losses(objective, scores, run, _losses_of)


def _losses_of(shared: LabelledRows, span: tuple[int, int], clock: Any) -> Ball:
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
        return weighted_violations(weight, largest, above, below)


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
