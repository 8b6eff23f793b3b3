"""Losses that are the largest violation of a row: summed over the rows, spans of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.certificates.rounding import TINY, UNIT, Array, Ball
from taxolearn.certificates.scores import RowScores
from taxolearn.engines import Run
from taxolearn.objective import Objective

_SCORE_BYTES = 8 * 2**20  # of scores at a time
_LIGHT = 2**20  # products that take a millisecond


class LabelledRows(NamedTuple):
    """What the tasks of a sum of losses read."""

    label: npt.NDArray[np.int64]
    weight: Array
    loss: Any
    scores: RowScores


def summed_losses(
    objective: Objective,
    scores: RowScores,
    run: Run,
    losses_of: Callable[[LabelledRows, tuple[int, int], Any], Ball],
) -> Ball:
    """C times the losses of all rows, `losses_of` being the weighted ones of a span of rows."""
    problem = objective.problem
    height = max(1, _SCORE_BYTES // (8 * objective.n_units))
    spans = [(first, min(first + height, problem.n_rows)) for first in range(0, problem.n_rows, height)]
    shared = LabelledRows(*problem.one_label, objective.loss, scores)
    parts = run.map(losses_of, shared, spans, light=scores.products < _LIGHT)
    total = Ball(np.array([part.value for part in parts]), np.array([part.error for part in parts])).sum()
    return total * objective.C


def weighted_violations(weight: Array, largest: Array, above: Array, below: Array) -> Ball:
    """The sum of weight max(0, violation), of which `largest` was found, and which lies from `below` to `above`.

    >>> found = weighted_violations(np.array([2.0]), np.array([1.0]), np.array([1.5]), np.array([1.0]))
    >>> found.value, bool(1.0 <= found.error < 1.1)
    (2.0, True)
    """
    largest, above, below = (np.maximum(0.0, part) for part in (largest, above, below))
    change = np.where(weight > 0, np.maximum(above - largest, largest - below), 0.0)
    change[~np.isfinite(largest) & (weight > 0)] = np.inf  # NaN included
    total = Ball(np.where(weight > 0, weight * largest, 0.0)).sum()
    lost = np.count_nonzero(above) * TINY + 2 * UNIT * abs(total.value)
    return Ball(total.value, total.error + float(np.where(weight > 0, weight * change, 0.0).sum()) + lost)
