"""Rows held out of a fit, to tune thresholds and probabilities on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.problem import Problem

_HELD_OUT_BYTES = 512 * 2**20  # of held-out scores


def hold_out(problem: Problem, share: float, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows to hold out and rows to keep; every class keeps at least one row.

    >>> from taxolearn.problem import make_problem
    >>> problem = make_problem([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "b", "b"])
    >>> held, kept = hold_out(problem, 0.5, 0)
    >>> len(held), 0 in kept
    (2, True)
    """
    n = problem.n_rows
    order = np.random.default_rng(seed).permutation(n)
    targets = problem.targets
    left = np.asarray(targets.sum(axis=0)).ravel()
    wanted = min(round(share * n), max(1, _HELD_OUT_BYTES // (8 * problem.n_classes)))
    held = np.zeros(n, dtype=bool)
    for i in order:
        if wanted == 0:
            break
        mine = targets.indices[targets.indptr[i] : targets.indptr[i + 1]]
        if problem.row_weight[i] > 0 and np.all(left[mine] > 1):
            left[mine] -= 1
            held[i] = True
            wanted -= 1
    if not held.any():
        raise DataError(
            "no row can be held out: every class has a single row; give more rows, "
            "or do without tuned thresholds and probabilities"
        )
    return np.flatnonzero(held), np.flatnonzero(~held)
