"""One temperature for the scores of all classes, fitted on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from taxolearn.decoders.calibration import comparable, fit_sigmoids
from taxolearn.decoders.links import Link, Sigmoids, Temperature

Array = npt.NDArray[np.float64]
_MOST_ENTRIES = 4 * 2**20  # scores that a temperature is fitted on
_SLOPES = (1e-3, 1e6)  # of scores whose rows spread by one: never so flat that classes become equal


def fit_temperature(scores: Array, labels: npt.ArrayLike, row_weight: Array | None = None) -> Temperature:
    """The temperature of the least log-loss on held-out rows: `scores` rows x classes, `labels` the true class of each.

    Platt's smoothed targets: of n rows, the true class counts (n + 1) / (n + 2) and the best of the others the rest,
    so that rows which are all right do not make the model certain. The log-loss is convex in the slope, and its
    derivative has one root. Scores of other rows may be much larger; so the share 1 / (n + 2) of each probability is
    spread over all classes, as the `doubt` that n rows leave. A row of weight 2 counts as two rows.

    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(4000, 3))
    >>> p = np.exp(2.0 * scores) / np.exp(2.0 * scores).sum(axis=1, keepdims=True)
    >>> labels = (rng.random((4000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    >>> bool(abs(fit_temperature(scores, labels).slope - 2.0) < 0.1)
    True
    """
    labels = np.asarray(labels)
    weight = np.ones(len(scores)) if row_weight is None else np.asarray(row_weight, dtype=np.float64)
    most = max(1, _MOST_ENTRIES // scores.shape[1])
    rows = _Rows(comparable(scores[:most]), labels[:most], weight[:most])
    return Temperature(rows.best_slope() / rows.unit, doubt=1.0 / (float(weight.sum()) + 2.0))


def fit_link(scores: Array, targets: Any, row_weight: Array, several: bool) -> Link:
    """How scores become probabilities, from held-out rows: `targets` is rows x classes, sparse.

    >>> import scipy.sparse as sp
    >>> fit_link(np.eye(2), sp.csr_array(np.eye(2)), np.ones(2), several=False).name
    'temperature'
    """
    if several:
        return Sigmoids(*fit_sigmoids(scores, targets.toarray() > 0, row_weight))
    return fit_temperature(scores, targets.indices, row_weight)


class _Rows:
    """Held-out rows: scores, the true class and its best rival in each, and how much each of the two counts."""

    def __init__(self, scores: Array, labels: npt.NDArray[Any], weight: Array) -> None:
        n, n_classes = scores.shape
        self.every = np.arange(n)
        self.weight = weight
        finite = np.isfinite(scores)
        lowest = np.min(scores, where=finite, initial=0.0)
        scores = np.clip(scores, lowest, np.max(scores, where=finite, initial=0.0))
        spread = float(weight @ (scores.max(axis=1) - scores.mean(axis=1))) / max(float(weight.sum()), 1e-300)
        self.unit = spread if spread > 1e-200 else 1.0
        self.scores = scores / self.unit
        self.labels = labels
        self.rival = labels
        if n_classes > 1:
            others = self.scores.copy()
            others[self.every, labels] = -np.inf
            self.rival = np.argmax(others, axis=1)
        total = float(weight.sum())
        self.own = (total + 1.0) / (total + 2.0)

    def expected(self, values: Array) -> Array:
        """Values, rows x classes, of the true class and its rival in their shares."""
        mine, rivals = values[self.every, self.labels], values[self.every, self.rival]
        return np.asarray(self.own * mine + (1.0 - self.own) * rivals)

    def best_slope(self) -> float:
        wanted = self.expected(self.scores)
        above = self.scores - self.scores.max(axis=1, keepdims=True)

        def rise(log_slope: float) -> float:
            p = np.exp(np.exp(log_slope) * above)
            mean = np.einsum("ij,ij->i", p, self.scores) / p.sum(axis=1)
            return float(self.weight @ (mean - wanted))

        low, high = np.log(_SLOPES)
        if rise(low) >= 0.0:
            return float(_SLOPES[0])
        if rise(high) <= 0.0:
            return float(_SLOPES[1])
        return float(np.exp(brentq(rise, low, high, xtol=1e-12, rtol=1e-12)))
