"""How much a search may cost: seconds that were asked for, or a multiple of the first flat fit."""

from __future__ import annotations

import time

_LEAST = 30.0  # CPU seconds that a search may take however quick a fit is
_FLAT_FITS = 8.0  # that a search may cost: with the last fit, and the scores, it is about ten


class Budget:
    """What is left for trials.

    With `max_seconds`, seconds of the clock; without, so many CPU seconds as eight flat fits take, which the first
    trial tells, and thirty at least. A small problem has no limit: its search takes seconds, and does not depend on the
    machine.

    >>> budget = Budget(None, small=True)
    >>> budget.allows(1e9)
    True
    """

    def __init__(self, max_seconds: float | None, *, small: bool = False) -> None:
        self._clock = time.process_time if max_seconds is None else time.perf_counter
        self._limit = float("inf") if max_seconds is None else float(max_seconds)
        self._fixed = small or max_seconds is not None
        self._began = self._clock()

    def now(self) -> float:
        """Seconds since the beginning.

        >>> Budget(None).now() >= 0.0
        True
        """
        return self._clock() - self._began

    def first_fit(self, seconds: float) -> None:
        """Tell what the first flat fit took.

        >>> budget = Budget(None)
        >>> budget.first_fit(1.0)
        >>> budget.allows(1e3)
        False
        """
        if not self._fixed:
            self._limit, self._fixed = max(_LEAST, self.now() + _FLAT_FITS * seconds), True

    def allows(self, seconds: float) -> bool:
        """Whether something that takes so long may begin."""
        return self.now() + seconds <= self._limit

    @property
    def left(self) -> float:
        """Seconds that are left.

        >>> Budget(100.0).left > 90.0
        True
        """
        return max(0.0, self._limit - self.now())
