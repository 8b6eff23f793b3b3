"""How much a search may cost: seconds that were asked for, or a multiple of the first flat fit."""

from __future__ import annotations

import time

_LEAST = 60.0  # CPU seconds that a search may take however quick a fit is
_FLAT_FITS = 8.0  # that a search may cost: with the last fit, and the scores, it is about ten
_LEAST_SHARE = 0.01  # of max_seconds, that a trial which was let begin gets at least
_LAST_FIT = 2.0  # times what a trial took: all rows, and a smaller gap


class Budget:
    """What is left for trials.

    With `max_seconds`, seconds of the clock; without, so many CPU seconds as eight flat fits take, which the first
    trial tells, and sixty at least. A small problem has no limit: its search takes seconds, and does not depend on the
    machine.

    >>> budget = Budget(None, small=True)
    >>> budget.allows(1e9)
    True
    """

    def __init__(self, max_seconds: float | None, *, small: bool = False) -> None:
        self._clock = time.process_time if max_seconds is None else time.perf_counter
        self._limit = float("inf") if max_seconds is None else float(max_seconds)
        self._fixed = small or max_seconds is not None
        self._timed = max_seconds is not None
        self._kept = (
            0.5 * self._limit if self._timed else 0.0
        )  # for the last fit: half, until a trial tells more
        self._told = False
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
        """Whether something that takes so long may begin, and the last fit still has its time."""
        return self.now() + seconds + self._kept <= self._limit

    def one_fit(self, seconds: float) -> None:
        """Tell what a fit took: of `max_seconds` twice as long is kept for the last one, which has a smaller gap.

        >>> budget = Budget(100.0)
        >>> budget.allows(60.0)
        False
        >>> budget.one_fit(1.0)
        >>> budget.allows(60.0)
        True
        """
        if self._timed:
            needed = _LAST_FIT * seconds
            self._kept, self._told = max(self._kept, needed) if self._told else needed, True

    def share(self, n: int) -> float | None:
        """The most seconds that each of so many fits may take, so that the last one has its time; None: no limit.

        >>> Budget(None).share(2) is None, Budget(100.0).share(2) <= 25.0
        (True, True)
        """
        if not self._timed:
            return None
        return max(self._limit - self._kept - self.now(), _LEAST_SHARE * self._limit) / n

    @property
    def left(self) -> float:
        """Seconds that are left.

        >>> Budget(100.0).left > 90.0
        True
        """
        return max(0.0, self._limit - self.now())
