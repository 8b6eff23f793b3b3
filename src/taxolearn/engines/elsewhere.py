"""What a task is given in another process: a clock and a stop flag of its own, and all that was held for it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from taxolearn.engines.base import Clock, Held, TaskFunction
from taxolearn.engines.pool import Dropped
from taxolearn.engines.threads import ThreadEngine

_OUTER: ContextVar[Clock | None] = ContextVar("taxolearn_outer_clock", default=None)


class _Place(NamedTuple):
    """Stands for what is held under this number."""

    number: int


@contextmanager
def under(clock: Clock) -> Iterator[None]:
    """Inside this context a run that begins stops when this clock's flag is raised: for tasks that are whole fits.

    >>> with under(Clock()):
    ...     outer_clock().late
    False
    """
    token = _OUTER.set(clock)
    try:
        yield
    finally:
        _OUTER.reset(token)


def outer_clock() -> Clock | None:
    """The clock of the task around, if there is one.

    >>> outer_clock() is None
    True
    """
    return _OUTER.get()


class Keeping:
    """What an engine elsewhere keeps besides what it shares: the last value that it was asked to keep."""

    _kept: Held | None = None
    share: Callable[[Any], Held]

    def keep(self, value: Any) -> Held:
        """As `share`, until another value is kept."""
        if self._kept is None or self._kept.value is not value:
            self._kept = self.share(value)
        return self._kept


def pack(function: TaskFunction, shared: Any, task: Any) -> tuple[bytes, list[Any]]:
    """A task as bytes, and the references of what is held for it; arrays come out as writable as they went in.

    >>> packed, references = pack(max, Held("arrays", 7), (1, 2))
    >>> references, unpack(packed, ["arrays"])[1:]
    ([7], ('arrays', (1, 2)))
    """
    references: list[Any] = []

    def without(value: Any) -> Any:
        if isinstance(value, Held):
            references.append(value.reference)
            return _Place(len(references) - 1)
        return _rebuilt(value, without)

    parts = function, without(shared), without(task)
    return pickle.dumps(parts, protocol=5), references


def unpack(packed: bytes, values: Any) -> tuple[TaskFunction, Any, Any]:
    """What `pack` was given, the held values in their places.

    >>> unpack(pack(max, 1, (2, 3))[0], [])[1:]
    (1, (2, 3))
    """

    def filled(value: Any) -> Any:
        return values[value.number] if isinstance(value, _Place) else _rebuilt(value, filled)

    function, shared, task = pickle.loads(packed)
    return function, filled(shared), filled(task)


def holds(shared: Any) -> bool:
    """Whether anything in here is held by an engine.

    >>> holds((max, Held("arrays"))), holds((max, "arrays"))
    (True, False)
    """
    return isinstance(shared, Held) or (isinstance(shared, tuple) and any(map(holds, shared)))


def _rebuilt(value: Any, change: Any) -> Any:
    """A tuple of changed parts; all else as it is."""
    if not isinstance(value, tuple) or isinstance(value, _Place):
        return value
    parts = [change(part) for part in value]
    return type(value)._make(parts) if hasattr(value, "_make") else tuple(parts)


def packed_result(packed: bytes, values: Any, clock: Clock) -> bytes:
    """The result of a packed task as bytes, for `result_of`.

    >>> result_of(packed_result(pack(_task_of_example, 1, 2)[0], [], Clock()))
    3
    """
    return pickle.dumps(run_alone(*unpack(packed, values), clock), protocol=5)


def result_of(packed: bytes) -> Any:
    """What a worker has packed: its arrays are the caller's own.

    >>> result_of(pickle.dumps([1, 2]))
    [1, 2]
    """
    return pickle.loads(packed)


def _task_of_example(shared: int, task: int, clock: Clock) -> int:
    return shared + task


def run_alone(function: TaskFunction, shared: Any, task: Any, clock: Clock) -> Any:
    """The result of one task; when its clock is late, or on KeyboardInterrupt, it is what the task has by then.

    The work is on a thread of its own: kernels do not look at signals, the thread that waits for them does.

    >>> run_alone(_task_of_example, 1, 2, Clock())
    3
    """
    found: list[Any] = []
    with ThreadEngine(1) as engine:
        engine.map(function, shared, [task], clock, lambda _, result: found.append(result))
    if not found:
        raise Dropped
    return found[0]
