"""Who hears how a fit goes on: a listener, or lines on standard error when asked for."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from taxolearn.engines import current_listener
from taxolearn.solvers import Progress, Watch

_BAR_STEPS = 100  # of a bar whose end is a gap


def reporter(verbose: bool, tol: float) -> Watch | None:
    """Whom a solver tells after each pass, or after each block of classes; None: nobody.

    >>> reporter(False, 1e-3) is None
    True
    """
    listener = current_listener()
    if listener is None and not verbose:
        return None

    def watch(progress: Progress, dual: Callable[[], Any]) -> None:
        if listener is None:
            _print(progress)
        elif progress.total is None:
            listener(gap_steps(progress.gap, tol), _BAR_STEPS, progress.gap)
        else:
            listener(progress.done, progress.total, progress.gap)

    return watch


def gap_steps(gap: float, tol: float) -> int:
    """How many of 100 steps from a gap of one to `tol` are done, on a logarithmic scale.

    >>> gap_steps(1e-1, 1e-2), gap_steps(1e-3, 1e-2), gap_steps(2.0, 1e-2)
    (50, 100, 0)
    """
    if gap <= tol:
        return _BAR_STEPS
    if gap >= 1 or tol >= 1:
        return 0
    return int(_BAR_STEPS * math.log(gap) / math.log(tol))


def _print(progress: Progress) -> None:
    line = f"pass {progress.done}, primal {progress.primal:.6g}, dual {progress.dual:.6g}"
    if progress.total is not None:
        left = progress.seconds / max(1, progress.done) * (progress.total - progress.done)
        line = f"{progress.done} of {progress.total} classes, about {left:.0f} s left"
    print(f"taxolearn: {line}, gap {progress.gap:.1e}, {progress.seconds:.1f} s", file=sys.stderr, flush=True)
