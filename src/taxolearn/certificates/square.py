"""The square loss: all scores of a row against its targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.rounding import LEAST_COST, PAIRWISE, TINY, UNIT, Array, Ball, gamma
from taxolearn.certificates.scores import RowScores
from taxolearn.certificates.sums import Adjoint
from taxolearn.engines import Run
from taxolearn.objective import Objective

_BLOCK_BYTES = 32 * 2**20  # of scores at a time
_LIGHT = 2**20  # products that take a millisecond
_DUALS = 2**20  # looked at together


def losses(objective: Objective, scores: RowScores, classes: npt.NDArray[np.bool_], run: Run) -> Ball:
    """sum_i c_i sum_l (y_il - s_il)^2; an error e of a score adds at most e (2 |y - s| + e)."""
    problem = objective.problem
    width = max(1, _BLOCK_BYTES // (8 * problem.n_classes))
    spans = [(first, min(first + width, problem.n_rows)) for first in range(0, problem.n_rows, width)]
    shared = _Rows(problem.targets, problem.weight_by_labels, scores)
    parts = run.map(_losses_of, shared, spans, light=scores.products < _LIGHT)
    total = Ball(np.array([part.value for part in parts]), np.array([part.error for part in parts])).sum()
    weights = gamma(_weight_terms(problem.targets)) * total.value
    return Ball(total.value, total.error + weights) * objective.C


def _weight_terms(targets: sp.csr_array) -> float:
    """Roundings in the weight of a row: a mean over its labels, times its own."""
    return float(np.diff(targets.indptr).max(initial=0)) + 4.0


class _Rows(NamedTuple):
    """What all tasks read."""

    targets: sp.csr_array
    weight: Array
    scores: RowScores


def _losses_of(shared: _Rows, span: tuple[int, int], clock: Any) -> Ball:
    """The weighted losses of some rows, C left out."""
    with np.errstate(all="ignore"):
        weight = shared.weight[slice(*span)]
        rest, errors = shared.scores.of_rows(*span)
        rest -= shared.targets[slice(*span)].toarray()
        np.abs(rest, out=rest)
        errors = errors + UNIT * rest
        added = np.sum(errors * (2.0 * rest + errors), axis=1)
        np.multiply(rest, rest, out=rest)
        values = rest.sum(axis=1)
        values[weight == 0], added[weight == 0] = 0.0, 0.0
        total = Ball(weight * values).sum()
        rounding = gamma(PAIRWISE + 4) * total.value + rest.size * TINY * float(weight.sum())
        return Ball(total.value, total.error + float(weight @ added) * 1.001 + rounding)


def adjoint(objective: Objective, dual: sp.csr_array, classes: npt.NDArray[np.bool_]) -> Adjoint:
    """The dual itself, and sum_il m_il^2 / (4 c_i) - m_il y_il."""
    problem = objective.problem
    weight = problem.weight_by_labels
    cost = objective.C * weight
    data = dual.data.astype(np.float64, copy=False)
    total, error, feasible = Ball(0.0), 0.0, True
    for start in range(0, dual.nnz, _DUALS):
        m, c = data[start : start + _DUALS], cost[dual.indices[start : start + _DUALS]]
        feasible = feasible and bool(np.all((c > 0) | (m == 0)))
        error = np.inf if np.any((m != 0) & ~((c >= LEAST_COST) & np.isfinite(c))) else error
        ratio = np.divide(m, c, out=np.zeros_like(m), where=c > 0)
        total = total + Ball(0.25 * ratio * m, TINY * (np.abs(m) + 1.0) * (m != 0)).sum()
    own = dual.multiply(problem.targets.T).tocsr().data
    terms = gamma(_weight_terms(problem.targets) + 4.0) * total.value
    squares = Ball(total.value, total.error + terms + error)
    conjugates = squares - Ball(own).sum() if feasible else Ball(np.inf)
    return Adjoint((sp.csr_array((data, dual.indices, dual.indptr), shape=dual.shape),), conjugates)
