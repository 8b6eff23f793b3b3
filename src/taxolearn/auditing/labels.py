"""Rows whose label looks wrong: held-out margins against the label, ranked."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import stats

from taxolearn.auditing.findings import Suspect
from taxolearn.auditing.folds import Array, Ids


class Margins(NamedTuple):
    """For every row the lowest score of its labels less the highest of the other classes, and which ones these are.

    Rows that were never held out have NaN.

    >>> found = margins_of(np.array([[1.0, -1.0], [0.5, 0.0]]), sp.csr_array([[1, 0], [0, 1]]))
    >>> found.margin.tolist(), found.label.tolist(), found.other.tolist()
    ([2.0, -0.5], [0, 1], [1, 0])
    """

    margin: Array
    label: Ids
    other: Ids


def margins_of(scores: Array, targets: sp.csr_array) -> Margins:
    """The margins of held-out scores, rows x classes.

    >>> margins_of(np.array([[1.0, -1.0]]), sp.csr_array([[1, 1]])).margin.tolist()
    [nan]
    """
    has = np.asarray(targets.toarray()) > 0
    own, others = np.where(has, scores, np.inf), np.where(has, -np.inf, scores)
    own, others = np.where(np.isnan(own), np.inf, own), np.where(np.isnan(others), -np.inf, others)
    label, other = own.argmin(axis=1), others.argmax(axis=1)
    number = np.arange(len(scores))
    margin = own[number, label] - others[number, other]
    return Margins(np.where(np.isfinite(margin), margin, np.nan), label, other)


def margin_noise(first: Array, second: Array, n_folds: int) -> float:
    """The standard error of the mean of two margins of a row, from models of two deals into folds.

    Both have learned from (K - 1) / K of the same rows, at random. For whatever behaves like a mean over rows, of
    variance v, their difference has the variance 2 v / (K - 1), and their mean (2 K - 1) / (2 (K - 1)) v, the rows
    themselves being a draw: a factor of (2 K - 1) / 4.

    >>> round(margin_noise(np.array([0.1, -0.1]), np.array([-0.1, 0.1]), 5), 3)
    0.3
    """
    squares = np.nanmean((first - second) ** 2)
    return float(np.sqrt((2 * n_folds - 1) / 4 * squares))


def ranking(margin: Array) -> Ids:
    """The rows that were held out, the most doubtful label first.

    >>> ranking(np.array([0.5, np.nan, -1.0])).tolist()
    [2, 0]
    """
    order = np.argsort(margin, kind="stable")  # NaN last
    return order[: int((~np.isnan(margin)).sum())]


def suspects(found: Margins, noise: float, classes: Sequence[Hashable], alpha: float) -> list[Suspect]:
    """Rows whose margin is below zero beyond noise, by Benjamini and Hochberg over all rows at the level `alpha`.

    >>> found = margins_of(np.array([[1.0, -1.0], [0.5, 0.0]]), sp.csr_array([[1, 0], [0, 1]]))
    >>> [(one.row, one.suggestion) for one in suspects(found, 0.1, ["Cat", "Dog"], 0.05)]
    [(1, 'Cat')]
    """
    order = ranking(found.margin)
    if noise <= 0 or not len(order):
        return []
    p_value = stats.norm.cdf(found.margin[order] / noise)
    passed = np.flatnonzero(p_value <= alpha * np.arange(1, len(order) + 1) / len(order))
    n_listed = int(passed[-1]) + 1 if len(passed) else 0
    return [
        Suspect(
            int(row), classes[found.label[row]], classes[found.other[row]], float(found.margin[row]), noise
        )
        for row in order[:n_listed]
    ]
