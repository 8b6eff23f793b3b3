"""Vectors of classes laid side by side, feature by feature, and scores turned back, class by class."""

from __future__ import annotations

from taxolearn.kernels._jit import kernel

_FEATURES_AT_A_TIME = 64  # features transposed at a time
_MOST_STEPS = 32767.0  # of a weight in 16 bits


@kernel
def transpose(wide, width, columns, steps, at):
    """columns[:, at:at+width] = wide' / steps[at:at+width] for the first `width` vectors, in tiles that stay in cache.

    Columns in 16 bits are whole numbers of steps, of which the largest weight has as many as there are: scores are
    off by some hundred-thousandths of it then. In floating point a step is 1.
    """
    n_features = wide.shape[1]
    half = 0.5 if columns.itemsize == 2 else 0.0
    for b in range(width):
        largest = 0.0
        if half > 0.0:
            for j in range(n_features):
                largest = max(largest, abs(wide[b, j]))
        steps[at + b] = largest / _MOST_STEPS if largest > 0.0 else 1.0
    for start in range(0, n_features, _FEATURES_AT_A_TIME):
        stop = min(n_features, start + _FEATURES_AT_A_TIME)
        for b in range(width):
            factor = 1.0 / steps[at + b]
            for j in range(start, stop):
                value = wide[b, j] * factor
                columns[j, at + b] = value + (half if value > 0.0 else -half)


@kernel
def scale_columns(scores, steps):
    """scores[:, b] *= steps[b]."""
    for i in range(scores.shape[0]):
        for b in range(scores.shape[1]):
            scores[i, b] *= steps[b]


@kernel
def turn_rows(scores, first, strip):
    """strip[b] = scores[:, first + b], for as many columns as there are: a line of memory is read once for them all."""
    width = min(strip.shape[0], scores.shape[1] - first)
    for i in range(scores.shape[0]):
        for b in range(width):
            strip[b, i] = scores[i, first + b]
