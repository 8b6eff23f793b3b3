"""Tasks that tests send to other processes, which have to find them by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from taxolearn.engines import Clock
from taxolearn.errors import DataError

PATIENCE = 300.0  # seconds: only a broken engine waits this long


def stretched(shared: Any, task: tuple[Any, int], clock: Clock) -> tuple[bool, Any]:
    """Whether arrays came as they went, and their product."""
    own, factor = task
    shared_again = shared[0]
    own += 1.0
    return shared_again.flags.writeable, shared_again * own * factor


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
