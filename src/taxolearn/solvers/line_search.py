"""How far to go along a line on which a convex function falls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_MOST_EVALUATIONS = 25
_ARMIJO = 1e-4  # decrease that a step must bring, as a share of what the slope promises
_WIDEN = 5.0  # times as far that it looks next, at most


def search(
    evaluate: Callable[[float], tuple[float, float]], value: float, slope: float, steep: float
) -> tuple[float, float]:
    """A length at which the function is lower, and the length evaluated last; the first is 0 where there is none.

    `evaluate` gives value and slope at a length, `value` and `slope` are those at 0. It ends where no more than the
    share `steep` of the slope is left.

    >>> search(lambda t: ((t - 3.0) ** 2, 2.0 * (t - 3.0)), 9.0, -6.0, 0.1)
    (3.0, 3.0)
    """
    t = best = 0.0
    low, high = (0.0, slope), (np.inf, 0.0)
    following = 1.0
    for _ in range(_MOST_EVALUATIONS):
        t = following
        found, along = evaluate(t)
        is_lower = found < value and found <= value + _ARMIJO * t * slope
        if is_lower:
            best = t
            if abs(along) <= steep * abs(slope):
                break
        if is_lower and along < 0:
            low = (t, along)
        else:
            high = (t, along)
        width = high[0] - low[0]
        if np.isinf(width):
            # where the slope would be zero if it went on as it came, not too near and not too far
            aim = t * slope / (slope - along) if along > slope else np.inf
            following = min(max(aim, 1.2 * t), _WIDEN * t)
            continue
        if not width > 1e-12 * high[0]:
            break
        usual = np.isfinite(high[1]) and high[1] > max(low[1], 0.0)
        aim = low[0] - width * low[1] / (high[1] - low[1]) if usual else low[0] + 0.5 * width
        following = min(max(aim, low[0] + 0.1 * width), high[0] - 0.1 * width)
    return best, t
