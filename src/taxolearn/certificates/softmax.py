"""The softmax loss: all scores of a row together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.rounding import LEAST_COST, PAIRWISE, TINY, Array, Ball, gamma
from taxolearn.certificates.scores import Scores
from taxolearn.certificates.sums import Adjoint
from taxolearn.engines import Run
from taxolearn.objective import Objective

_BLOCK_BYTES = 32 * 2**20  # of scores at a time
_LIGHT = 2**20  # products that take a millisecond
_DUALS = 2**16  # looked at together: they stay in cache
_OF_VALUE = 128  # roundings in one loss, whose terms are at least one


def losses(objective: Objective, scores: Scores, classes: npt.NDArray[np.bool_], run: Run) -> Ball:
    """sum_i c_i (log sum_l exp(s_il) - s_{i, y_i}), of which an error of all scores adds at most twice."""
    problem = objective.problem
    width = max(1, _BLOCK_BYTES // (8 * problem.n_classes))
    spans = [(first, min(first + width, problem.n_rows)) for first in range(0, problem.n_rows, width)]
    shared = _Rows(*problem.one_label, objective.loss, scores)
    parts = run.map(_losses_of, shared, spans, light=scores.products < _LIGHT)
    total = Ball(np.array([part.value for part in parts]), np.array([part.error for part in parts])).sum()
    return total * objective.C


class _Rows(NamedTuple):
    """What all tasks read."""

    own: npt.NDArray[np.int64]
    weight: Array
    loss: Any
    scores: Scores


def _losses_of(shared: _Rows, span: tuple[int, int], clock: Any) -> Ball:
    """The weighted losses of some rows, C left out."""
    with np.errstate(all="ignore"):
        rows = slice(*span)
        weight = shared.weight[rows]
        found, errors = shared.scores.of_rows(*span)
        values = shared.loss.value(found, shared.own[rows])
        # the loss is a sum of two terms of one sign; of log(1 + x) the one is rounded, too
        rounding = gamma(PAIRWISE + _OF_VALUE) * (1.0 + values)
        values[weight == 0] = 0.0
        error = np.where(weight > 0, weight * (2.0 * errors.max(axis=1) + rounding), 0.0)
        total = Ball(weight * values).sum()
        return Ball(total.value, total.error + float(error.sum()) + np.count_nonzero(weight) * TINY)


def adjoint(objective: Objective, dual: sp.csr_array, classes: npt.NDArray[np.bool_]) -> Adjoint:
    """mu_il = c_i (1[l = y_i] - p_il), rows of p scaled to sum to one, and sum_i c_i sum_l p_il log p_il."""
    problem = objective.problem
    own, weight = problem.one_label
    cost = objective.C * weight
    data = dual.data.astype(np.float64, copy=False)
    sums = np.bincount(dual.indices, data, minlength=problem.n_rows).astype(np.float64)
    terms = int(np.bincount(dual.indices, minlength=1).max(initial=0)) + 8
    feasible = bool(np.all(data >= 0) and np.all(sums[cost > 0] > 0))
    shares = np.empty(dual.nnz)
    divisor = np.where(sums > 0, sums, 1.0)
    total, error = 0.0, dual.nnz * TINY
    for start in range(0, dual.nnz, _DUALS):
        span = slice(start, start + _DUALS)
        i, p = dual.indices[span], data[span]
        share = p / divisor[i]
        weighted = cost[i] * share
        entropies = np.log(np.where(share > 0, share, 1.0))
        entropies *= weighted
        total += float(entropies.sum())
        error += gamma(terms + PAIRWISE) * float(np.abs(entropies).sum() + weighted.sum())
        np.negative(weighted, out=shares[span])
    at = np.flatnonzero(cost != 0)
    up = sp.csr_array((cost[at], (own[at], at)), shape=dual.shape)
    down = sp.csr_array((shares, dual.indices, dual.indptr), shape=dual.shape)
    rounds = gamma(1 + dual.nnz // _DUALS)
    if np.any((weight > 0) & (cost < LEAST_COST)):
        error = np.inf
    conjugates = Ball(total, error + rounds * abs(total)) if feasible else Ball(np.inf)
    return Adjoint((up, down), conjugates, relative=gamma(terms))
