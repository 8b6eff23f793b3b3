"""Ctrl-C as a request that work looks at, instead of an exception that may come in the middle of anything."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt


class Request:
    """Whether Ctrl-C was pressed, and the stop flag to raise at once when it is.

    >>> Request().taken()
    False
    """

    def __init__(self) -> None:
        self.stop: npt.NDArray[np.int32] | None = None
        self._presses = 0
        self._pending = False

    def _pressed(self, *_: Any) -> None:
        self._presses += 1
        if self._presses > 1:
            raise KeyboardInterrupt  # asked twice: leave at once
        self._pending = True
        if self.stop is not None:
            self.stop[0] = 1

    def taken(self) -> bool:
        """Whether there is a request that nobody has taken yet; now it is."""
        pending, self._pending = self._pending, False
        return pending


_current: Request | None = None


@contextmanager
def interrupts() -> Iterator[Request]:
    """Inside this context the first Ctrl-C is a request, the second one a KeyboardInterrupt.

    An exception may come between any two steps of Python, also while a thread is being started: the thread would run
    on, with nobody waiting for it. A request that nobody took is a KeyboardInterrupt when the context ends. Contexts
    may be nested. Where Ctrl-C is not Python's own (another handler, another thread than the main one) nothing is
    changed.

    >>> with interrupts() as request:
    ...     request.taken()
    False
    """
    global _current
    if threading.current_thread() is not threading.main_thread():
        yield Request()
        return
    if _current is not None:
        yield _current
        return
    request = Request()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield request
        return
    _current = request
    signal.signal(signal.SIGINT, request._pressed)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _current = None
    if request.taken():
        raise KeyboardInterrupt
