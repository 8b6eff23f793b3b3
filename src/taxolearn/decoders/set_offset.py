"""The offset of label sets that fits held-out rows best."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.label_sets import LabelSets, decode_sets
from taxolearn.decoders.label_space import LabelSpace

Floats = npt.NDArray[np.float64]
_STEPS = 4  # offsets tried on either side of the best one so far, in each round
_ROUNDS = 3  # each round looks between the neighbours of the best offset


def tune_offset(
    space: LabelSpace,
    potentials: npt.ArrayLike,
    targets: sp.csr_array,
    row_weight: Floats | None = None,
    *,
    n_threads: int = 1,
) -> float:
    """The number that, added to all potentials below the root, gives held-out rows the best sets.

    Sets are compared by F1 of their nodes below the root, row by row, and the mean over rows counts (by weight).
    Offsets up to the mean size of potentials are tried, then some between the neighbours of the best; of equal ones
    the nearest to zero is taken. `potentials` is rows x nodes of the space, `targets` rows x classes.

    >>> targets = sp.csr_array(np.array([[1.0, 1.0], [1.0, 0.0]]))
    >>> offset = tune_offset(LabelSpace.star(2), [[0.0, 1.0, -0.25], [0.0, 1.0, -2.0]], targets)
    >>> 0.25 < offset < 2.0
    True
    """
    rows = np.asarray(potentials, dtype=np.float64)
    truth = space.label_sets(sp.csr_array(targets))
    weight = np.ones(len(rows)) if row_weight is None else np.asarray(row_weight, dtype=np.float64)
    weight = weight * (np.diff(truth.indptr) > 0)
    known: dict[float, float] = {}

    def quality(offset: float) -> tuple[float, float]:
        if offset not in known:
            known[offset] = float(weight @ set_f1(space, rows, truth, offset, n_threads))
        return known[offset], -abs(offset)

    best, reach = 0.0, float(np.mean(np.abs(rows[:, 1:]))) if rows.size else 0.0
    for _ in range(_ROUNDS):
        tried = best + reach * np.arange(-_STEPS, _STEPS + 1) / _STEPS
        best = max(tried.tolist(), key=quality)
        reach /= _STEPS
    return best


def set_f1(
    space: LabelSpace, rows: Floats, truth: sp.csr_array, offset: float = 0.0, n_threads: int = 1
) -> Any:
    """F1 of the best set of each row, the root left out; `rows` is rows x nodes, and so are the true sets `truth`.

    >>> space = LabelSpace.star(2)
    >>> truth = space.label_sets(sp.csr_array(np.array([[1.0, 1.0], [1.0, 0.0]])))
    >>> set_f1(space, np.array([[0.0, 1.0, -0.25], [0.0, 1.0, -2.0]]), truth).round(2).tolist()
    [0.67, 1.0]
    """
    shifted = rows + offset
    shifted[:, 0] = rows[:, 0]
    return sets_f1(decode_sets(space, shifted, exact=False, n_threads=n_threads), truth)


def sets_f1(sets: LabelSets, truth: sp.csr_array) -> Any:
    """F1 of each row's set, the root left out; `truth` is the true sets, rows x nodes.

    >>> sets = decode_sets(LabelSpace.star(2), [[0.0, 1.0, -0.25]])
    >>> sets_f1(sets, sp.csr_array([[1.0, 1.0, 1.0]])).round(2).tolist()
    [0.67]
    """
    ones = np.ones(len(sets.indices), dtype=np.int32)
    found = sp.csr_array((ones, sets.indices, sets.indptr), shape=truth.shape)
    both = np.asarray(found.multiply(truth).sum(axis=1)) - 1
    sizes = np.diff(found.indptr) + np.diff(truth.indptr) - 2
    return np.where(sizes > 0, 2.0 * both / np.maximum(sizes, 1), 0.0)
