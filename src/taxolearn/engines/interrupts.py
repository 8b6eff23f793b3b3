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

    It stays pressed: all work inside the same context ends, not only what was running. `heard` says that somebody has
    acted on it.

    >>> Request().pressed
    False
    """

    def __init__(self) -> None:
        self.pressed = False
        self.heard = False
        self._stop: npt.NDArray[np.int32] | None = None

    def _press(self, *_: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt  # asked twice: leave at once
        self.pressed = True
        if self._stop is not None:
            self._stop[0] = 1

    @contextmanager
    def raising(self, stop: npt.NDArray[np.int32]) -> Iterator[None]:
        """Inside this context a press raises this flag; afterwards that of the context around it.

        >>> stop = np.zeros(1, dtype=np.int32)
        >>> with Request().raising(stop):
        ...     stop.tolist()
        [0]
        """
        outer, self._stop = self._stop, stop
        try:
            if self.pressed:
                stop[0] = 1
            yield
        finally:
            self._stop = outer
            if outer is not None and self.pressed:
                outer[0] = 1


_current: Request | None = None


@contextmanager
def interrupts() -> Iterator[Request]:
    """Inside this context the first Ctrl-C is a request, the second one a KeyboardInterrupt.

    An exception may come between any two steps of Python, also while a thread is being started: the thread would run
    on, with nobody waiting for it. A request that nobody heard is a KeyboardInterrupt when the context ends. Contexts
    may be nested. Where Ctrl-C is not Python's own (another handler, another thread than the main one) nothing is
    changed.

    >>> with interrupts() as request:
    ...     request.pressed
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
    signal.signal(signal.SIGINT, request._press)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _current = None
    if request.pressed and not request.heard:
        raise KeyboardInterrupt
