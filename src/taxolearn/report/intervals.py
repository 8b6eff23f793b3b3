"""How far a share or a score may be from what many more rows would show: 95% intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
_DEVIATIONS = 1.959963984540054  # of a normal distribution, at 95%
_RESAMPLES = 400
_ENTRIES = 2**24  # weights of rows that are drawn at a time


def wilson(hits: npt.ArrayLike, rows: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Lower and upper bound of a share, after Wilson: within 0 and 1, and right for few rows too.

    >>> low, high = wilson(8, 10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.49, 0.943)
    """
    n = np.asarray(rows, dtype=np.float64)
    some = np.maximum(n, 1.0)
    share, z2 = np.asarray(hits, dtype=np.float64) / some, _DEVIATIONS**2
    middle = (share + z2 / (2 * some)) / (1 + z2 / some)
    half = _DEVIATIONS / (1 + z2 / some) * np.sqrt(share * (1 - share) / some + z2 / (4 * some**2))
    none = n == 0
    return np.where(none, 0.0, np.maximum(middle - half, 0.0)), np.where(
        none, 1.0, np.minimum(middle + half, 1.0)
    )


def bootstrap(part: Any, whole: Any, seed: int = 0) -> tuple[Floats, Floats]:
    """Lower and upper bound of sum(part) / sum(whole) over rows, for each column: rows are drawn anew 400 times.

    >>> low, high = bootstrap(np.ones((5, 1)), np.ones((5, 1)))
    >>> low.tolist(), high.tolist()
    ([1.0], [1.0])
    """
    top, bottom = sp.csr_array(part, dtype=np.float64), sp.csr_array(whole, dtype=np.float64)
    n_rows, n_columns = top.shape
    drawn = np.random.default_rng(seed)
    ratios = np.empty((_RESAMPLES, n_columns))
    step = max(1, min(_RESAMPLES, _ENTRIES // max(1, n_rows)))
    for first in range(0, _RESAMPLES, step):
        count = min(step, _RESAMPLES - first)
        weights = np.array(
            [np.bincount(drawn.integers(0, n_rows, n_rows), minlength=n_rows) for _ in range(count)],
            dtype=np.float64,
        )
        above, below = (np.asarray(side.T @ weights.T).T for side in (top, bottom))
        # a column of which no row was drawn says nothing about itself
        ratios[first : first + count] = np.divide(
            above, below, out=np.full_like(above, np.nan), where=below > 0
        )
    if np.isnan(ratios).all(axis=0).any():
        ratios[:, np.isnan(ratios).all(axis=0)] = 0.0
    low, high = np.nanquantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def measured(value: float, low: Any, high: Any) -> dict[str, float | None]:
    """A value with its interval, for a report; what is not finite is None.

    >>> measured(0.5, 0.4, math.nan)
    {'value': 0.5, 'low': 0.4, 'high': None}
    """
    found = {"value": float(value), "low": float(low), "high": float(high)}
    return {name: number if math.isfinite(number) else None for name, number in found.items()}
