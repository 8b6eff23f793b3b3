"""Who hears how a fit goes on: a listener, or lines on standard error when asked for."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from taxolearn.engines import current_listener
from taxolearn.solvers import Progress

_STEPS = 100  # of a bar whose end is a gap


def block_reporter(verbose: bool) -> Callable[[int, int, Progress], None] | None:
    """For solvers that finish one block of classes after the other.

    >>> block_reporter(False) is None
    True
    """
    listener = current_listener()
    if listener is not None:
        return lambda done, total, progress: listener(done, total, progress.gap)
    return _report_block if verbose else None


def pass_reporter(verbose: bool, tol: float) -> Callable[[Progress], None] | None:
    """For solvers that go over everything until the gap is small enough.

    >>> pass_reporter(False, 1e-3) is None
    True
    """
    listener = current_listener()
    if listener is not None:
        return lambda progress: listener(gap_steps(progress.gap, tol), _STEPS, progress.gap)
    return _report_pass if verbose else None


def gap_steps(gap: float, tol: float) -> int:
    """How many of 100 steps from a gap of one to `tol` are done, on a logarithmic scale.

    >>> gap_steps(1e-1, 1e-2), gap_steps(1e-3, 1e-2), gap_steps(2.0, 1e-2)
    (50, 100, 0)
    """
    if gap <= tol:
        return _STEPS
    if gap >= 1 or tol >= 1:
        return 0
    return int(_STEPS * math.log(gap) / math.log(tol))


def _report_block(done: int, total: int, progress: Progress) -> None:
    left = progress.seconds / done * (total - done)
    _print(
        f"block {done}/{total}, {progress.done} classes, gap {progress.gap:.1e}, "
        f"{progress.seconds:.1f} s, about {left:.0f} s left"
    )


def _report_pass(progress: Progress) -> None:
    _print(
        f"pass {progress.done}, primal {progress.primal:.6g}, dual {progress.dual:.6g}, gap {progress.gap:.1e}, "
        f"{progress.seconds:.1f} s"
    )


def _print(line: str) -> None:
    print(f"taxolearn: {line}", file=sys.stderr, flush=True)
