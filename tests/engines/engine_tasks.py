"""Tasks that tests send to other processes, which have to find them by name."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from taxolearn.engines import Clock
from taxolearn.engines.base import held
from taxolearn.errors import DataError

PATIENCE = 300.0  # seconds: only a broken engine waits this long


def stretched(shared: Any, task: tuple[Any, int], clock: Clock) -> tuple[bool, Any]:
    """Whether arrays came as they went, and their product."""
    own, factor = task
    shared_again = shared[0]
    own += 1.0
    return shared_again.flags.writeable, shared_again * own * factor


def own_process(shared: Any, task: int, clock: Clock) -> int:
    time.sleep(0.1)  # so that every worker has some
    return os.getpid()


def wait_for_the_flag(shared: Any, task: int, clock: Clock) -> int:
    """What a long kernel does: work until the flag is raised."""
    end = time.monotonic() + PATIENCE
    while clock.stop[0] == 0 and time.monotonic() < end:
        time.sleep(0.01)
    return task


def broken(shared: Any, task: int, clock: Clock) -> None:
    raise DataError(f"task {task} cannot be done")


def short_of_memory(shared: str, task: tuple[str, int], clock: Clock) -> float:
    """Dies at its first try, as for want of memory; `shared` is a folder that notes the tries."""
    how, number = task
    seen = Path(shared) / str(number)
    if not seen.exists():
        seen.touch()
        if how == "raised":
            raise MemoryError
        os.kill(os.getpid(), signal.SIGKILL)
    return 0.5 * number


@contextlib.contextmanager
def noting(engine: Any) -> Iterator[list[tuple[str, Any]]]:
    """What is handed to this engine: the names of functions, and all numbers of their tasks in short."""
    noted: list[tuple[str, Any]] = []
    hand_out = engine.map

    def note(function: Any, shared: Any, tasks: Any, clock: Any, on_result: Any) -> Any:
        noted.append((shared[0].__name__, [in_short(task) for _, task in tasks]))
        return hand_out(function, shared, tasks, clock, on_result)

    engine.map = note
    try:
        yield noted
    finally:
        engine.map = hand_out


def in_short(value: Any) -> Any:
    value = held(value)
    if isinstance(value, tuple):
        return tuple(map(in_short, value))
    if isinstance(value, np.ndarray):
        return value.shape, zlib.crc32(np.ascontiguousarray(value))
    return value if isinstance(value, int | float | str) else type(value).__name__
