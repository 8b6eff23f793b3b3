"""Scores to probabilities by one sigmoid per class, fitted on held-out rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_ENOUGH = 5  # held-out positives below which a class borrows the sigmoid of all classes


def fit_sigmoids(
    scores: Array, targets: npt.NDArray[np.bool_], row_weight: Array | None = None
) -> tuple[Array, Array]:
    """Slopes and offsets (a, b) of p = 1 / (1 + exp(-(a s + b))) for each class, from held-out rows.

    Platt's method with his smoothed targets, by Newton steps in the form of Lin, Lin and Weng 2007. A
    class with fewer than 5 held-out positives, or none missing, uses one sigmoid fitted to all such classes together.
    A row of weight 2 counts as two rows.

    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=(4000, 1))
    >>> a, b = fit_sigmoids(s, rng.random((4000, 1)) < 1 / (1 + np.exp(-(2 * s + 1))))
    >>> bool(abs(a[0] - 2) < 0.3), bool(abs(b[0] - 1) < 0.2)
    (True, True)
    """
    n, n_classes = scores.shape
    weight = np.ones(n) if row_weight is None else row_weight
    positives = targets.sum(axis=0)
    own = (positives >= _ENOUGH) & (len(scores) - positives >= _ENOUGH)
    slopes, offsets = np.empty(n_classes), np.empty(n_classes)
    for c in np.flatnonzero(own):
        slopes[c], offsets[c] = _fit_one(scores[:, c], targets[:, c], weight)
    if not own.all():
        shared = _fit_one(
            scores[:, ~own].ravel(), targets[:, ~own].ravel(), np.repeat(weight, int((~own).sum()))
        )
        slopes[~own], offsets[~own] = shared
    return slopes, offsets


def _fit_one(scores: Array, positive: npt.NDArray[np.bool_], weight: Array) -> tuple[float, float]:
    # in units of the largest score, so that scores of any size (a tiny C makes tiny ones) are fitted alike
    unit = float(np.max(np.abs(scores), initial=0.0))
    unit = unit if unit > 1e-200 else 1.0
    scores = scores / unit
    n_positive = float(weight @ positive)
    n_negative = float(weight.sum()) - n_positive
    target = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    slope, offset = 0.0, float(np.log((n_positive + 1.0) / (n_negative + 1.0)))
    value = _cross_entropy(slope * scores + offset, target, weight)
    for _ in range(100):
        p = sigmoid(slope * scores + offset)
        error, curvature = weight * (p - target), weight * p * (1.0 - p)
        gradient = np.array([scores @ error, error.sum()])
        hessian = np.array(
            [[(scores * scores) @ curvature, scores @ curvature], [scores @ curvature, curvature.sum()]]
        )
        step = np.linalg.solve(hessian + 1e-12 * np.eye(2), gradient)
        length = 1.0
        while length > 1e-10:
            logits = (slope - length * step[0]) * scores + offset - length * step[1]
            trial = _cross_entropy(logits, target, weight)
            if trial <= value - 1e-4 * length * (gradient @ step):
                break
            length /= 2
        slope, offset = slope - length * step[0], offset - length * step[1]
        if abs(value - trial) <= 1e-12 * (1.0 + abs(value)):
            break
        value = trial
    # a falling sigmoid would turn the ranking round: where held-out rows say so, they say nothing
    return (
        (slope / unit, offset) if slope > 0 else (0.0, float(np.log((n_positive + 1.0) / (n_negative + 1.0))))
    )


def _cross_entropy(logits: Array, target: Array, weight: Array) -> float:
    return float(weight @ (np.logaddexp(0.0, logits) - target * logits))


def sigmoid(logits: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    from scipy.special import expit

    probabilities: Array = np.asarray(expit(logits))
    return probabilities


def normalized(probabilities: Array) -> Array:
    """Rows scaled to sum to one, for classes of which exactly one applies.

    >>> normalized(np.array([[0.2, 0.2], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    total = probabilities.sum(axis=1, keepdims=True)
    even = np.full_like(probabilities, 1.0 / probabilities.shape[1])
    scaled: Array = np.divide(probabilities, total, out=even, where=total > 0)
    return scaled


def comparable(scores: Array) -> Array:
    """Scores of classes of which exactly one applies; of two classes, plus and minus half their difference.

    The difference alone decides between two classes, so probabilities made of these rank rows as
    `decision_function` does, also where a fit that stopped early left scores that are not opposite.

    >>> comparable(np.array([[1.0, 2.0]])).tolist(), comparable(np.array([[1.0, 2.0, 3.0]])).tolist()
    ([[-0.5, 0.5]], [[1.0, 2.0, 3.0]])
    """
    if scores.shape[1] != 2:
        return scores
    half = 0.5 * (scores[:, 1] - scores[:, 0])
    return np.column_stack([-half, half])
