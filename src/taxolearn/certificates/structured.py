"""The structured hinge: the largest violation among the classes, with biases that are tied like vectors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.rounding import LEAST_COST, TINY, UNIT, Array, Ball, gamma
from taxolearn.certificates.scores import RowScores
from taxolearn.certificates.sums import Adjoint
from taxolearn.certificates.violations import LabelledRows, summed_losses, weighted_violations
from taxolearn.engines import Run
from taxolearn.objective import Objective

_COST_BYTES = 8 * 2**20  # of costs between classes at a time
_SLACK = 1e-9  # share by which a sum of duals may exceed its bound; it is then scaled down to it


def losses(objective: Objective, scores: RowScores, classes: npt.NDArray[np.bool_], run: Run) -> Ball:
    """sum_i c_i max(0, max_{l != y} D(l, y) - S(l, y) (s_y - s_l))."""
    return summed_losses(objective, scores, run, _losses_of)


def _losses_of(shared: LabelledRows, span: tuple[int, int], clock: Any) -> Ball:
    """The weighted losses of some rows, C left out."""
    with np.errstate(all="ignore"):
        found, errors = shared.scores.of_rows(*span)
        errors = np.broadcast_to(errors, found.shape)
        largest, above, below = (np.zeros(len(found)) for _ in range(3))
        width = max(1, _COST_BYTES // (64 * found.shape[1]))
        for start in range(0, len(found), width):
            some = slice(start, min(start + width, len(found)))
            label = shared.label[span[0] + some.start : span[0] + some.stop]
            names, number = np.unique(label, return_inverse=True)
            margins, scalings = (part[number] for part in shared.loss.margins_and_scalings(names))
            own = np.arange(len(label)), label
            ahead = scalings * (found[some][own][:, None] - found[some])
            violation = margins - ahead
            error = scalings * (errors[some][own][:, None] + errors[some])
            error += 4 * UNIT * (margins + np.abs(ahead))
            error += TINY * (error > 0)
            largest[some] = violation.max(axis=1)
            above[some] = (violation + error).max(axis=1)
            below[some] = (violation - error).max(axis=1)
        return weighted_violations(shared.weight[slice(*span)], largest, above, below)


def adjoint(objective: Objective, dual: sp.csr_array, classes: npt.NDArray[np.bool_]) -> Adjoint:
    """alpha_il S(l, y_i) for class y_i, minus the same for class l; and minus sum_il alpha_il D(l, y_i).

    A dual with alpha < 0 or sum_l alpha_il > c_i is outside its bounds; where rounding alone can have made it so, it is
    scaled down.
    """
    problem = objective.problem
    label, weight = problem.one_label
    cost = objective.C * weight
    other = np.repeat(np.arange(dual.shape[0]), np.diff(dual.indptr))
    row, alpha = dual.indices, dual.data.astype(np.float64)
    sums = np.bincount(row, alpha, minlength=problem.n_rows).astype(np.float64)
    if not (np.all(alpha >= 0) and np.all(sums <= cost * (1 + _SLACK)) and np.all(np.isfinite(cost))):
        return Adjoint((sp.csr_array(dual.shape),), Ball(np.inf))
    terms = int(np.bincount(row, minlength=1).max(initial=0)) + 8
    alpha = alpha * np.divide(cost, sums, out=np.ones(problem.n_rows), where=sums > cost)[row]
    margin, scaling = _margins_and_scalings(objective.loss, problem.n_classes, label[row], other)
    linear = Ball(-alpha * margin).sum()
    moved = alpha * scaling
    pushes = np.bincount(row, moved, minlength=problem.n_rows).astype(np.float64)  # of nothing it is an int
    up = _of_own_class(pushes, label, dual.shape)
    down = sp.csr_array((-moved, dual.indices, dual.indptr), shape=dual.shape)
    relative = gamma(2 * terms)
    if np.any((weight > 0) & (cost < LEAST_COST)):
        return Adjoint((sp.csr_array(dual.shape),), Ball(linear.value, np.inf))
    error = (
        linear.error + (relative + 2 * UNIT) * abs(linear.value) + np.count_nonzero(margin[alpha > 0]) * TINY
    )
    return Adjoint((up, down), Ball(linear.value, error), relative=relative)


def _of_own_class(sums: Array, label: npt.NDArray[Any], shape: tuple[int, ...]) -> sp.csr_array:
    """One entry per row of the problem, in the row of its class; rows without a sum have none."""
    rows = np.flatnonzero(sums)
    rows = rows[np.argsort(label[rows], kind="stable")]
    ends = np.searchsorted(label[rows], np.arange(shape[0] + 1)).astype(np.int32)
    return sp.csr_array((sums[rows], rows.astype(np.int32), ends), shape=shape)


def _margins_and_scalings(
    loss: Any, n_classes: int, label: npt.NDArray[Any], other: npt.NDArray[Any]
) -> tuple[Array, Array]:
    """D(l, y) and S(l, y) for pairs of classes, looked up a block of labels at a time."""
    margin, scaling = np.empty(len(label)), np.empty(len(label))
    order = np.argsort(label, kind="stable")
    step = max(1, _COST_BYTES // (16 * n_classes))
    for first, last in _runs(label[order] // step):
        entries = order[first:last]
        start = label[entries[0]] // step * step
        block = np.arange(start, min(start + step, n_classes))
        margins, scalings = loss.margins_and_scalings(block)
        margin[entries] = margins[label[entries] - start, other[entries]]
        scaling[entries] = scalings[label[entries] - start, other[entries]]
    return margin, scaling


def _runs(values: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
    bounds = np.concatenate(([0], np.flatnonzero(np.diff(values)) + 1, [len(values)]))
    return ((a, b) for a, b in pairwise(bounds.tolist()) if a < b)
