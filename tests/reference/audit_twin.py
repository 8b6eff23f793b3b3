"""What the audit computes, written out row by row and pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np


def standardized(scores: np.ndarray, has: np.ndarray) -> np.ndarray:
    """Each column less the mean over classes of their mean scores, over the root of the mean square likewise."""
    n_rows, n_classes = scores.shape
    out = np.full((n_rows, n_classes), np.nan)
    for k in range(n_classes):
        groups = [
            [scores[i, k] for i in range(n_rows) if has[i, m] and not has[i, k]] for m in range(n_classes)
        ]
        groups = [group for group in groups if group]
        mean = np.mean([np.mean(group) for group in groups])
        square = np.mean([np.mean([(value - mean) ** 2 for value in group]) for group in groups])
        for i in range(n_rows):
            if not has[i, k]:
                out[i, k] = (scores[i, k] - mean) / np.sqrt(square)
    return out


def affinity(rows: np.ndarray, has: np.ndarray, a: int, b: int) -> float:
    """The mean of both ways between two classes of rows with one label each."""
    one = [rows[i, b] for i in range(len(rows)) if has[i, a]]
    two = [rows[i, a] for i in range(len(rows)) if has[i, b]]
    return 0.5 * (float(np.mean(one)) + float(np.mean(two)))


def difference(
    rows: np.ndarray, has: np.ndarray, node: int, there: list[int], beside: list[int]
) -> tuple[float, float]:
    """Mean affinity of one class to some less that to others, and its standard error."""
    value = np.mean([affinity(rows, has, node, k) for k in there]) - np.mean(
        [affinity(rows, has, node, k) for k in beside]
    )
    own = [i for i in range(len(rows)) if has[i, node]]
    paired = [np.mean([rows[i, k] for k in there]) - np.mean([rows[i, k] for k in beside]) for i in own]
    variance = np.var(paired, ddof=1) / len(own)
    for group in (there, beside):
        for k in group:
            others = [rows[i, node] for i in range(len(rows)) if has[i, k]]
            variance += np.var(others, ddof=1) / len(others) / len(group) ** 2
    return float(value), float(np.sqrt(variance))


def auc(high: Any, low: Any) -> tuple[float, float]:
    """All pairs, and the standard error of DeLong, DeLong and Clarke-Pearson."""
    wins = np.array([[1.0 if a > b else 0.5 if a == b else 0.0 for b in low] for a in high])
    variance = wins.mean(axis=1).var(ddof=1) / len(high) + wins.mean(axis=0).var(ddof=1) / len(low)
    return float(wins.mean()), float(np.sqrt(variance))


def margin(scores: Any, labels: set[int]) -> float:
    """The lowest score of a row's labels less the highest of the others."""
    return min(scores[k] for k in labels) - max(scores[k] for k in range(len(scores)) if k not in labels)
