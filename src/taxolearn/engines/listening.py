"""A way to watch long work from outside, without a parameter that the fitted model would have to carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# (blocks done, blocks in all, relative gap so far)
Listener = Callable[[int, int, float], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("taxolearn_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener(done, total, gap)` after each block of work that is done inside this context.

    >>> from taxolearn import OneVsRestSVM
    >>> with listening(lambda done, total, gap: print(done, "of", total)):
    ...     model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    1 of 1
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def current_listener() -> Listener | None:
    """Who listens right now.

    >>> current_listener() is None
    True
    """
    return _LISTENER.get()
