"""What every engine offers, and the clock that a piece of work runs by."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError

# function(shared, task, clock) -> result: a top-level function on plain arrays that writes nothing but its result
TaskFunction = Callable[[Any, Any, "Clock"], Any]
OnResult = Callable[[Any, Any], None]


class Held:
    """Arrays that an engine keeps for tasks elsewhere; `value` is what they are here.

    >>> held(Held("arrays")), held("arrays")
    ('arrays', 'arrays')
    """

    def __init__(self, value: Any, reference: Any = None) -> None:
        self.value, self.reference = value, reference


def held(shared: Any) -> Any:
    """What tasks in this process read of what an engine shares.

    >>> held((1, Held(2)))
    (1, 2)
    """
    if isinstance(shared, Held):
        return shared.value
    if isinstance(
        shared, tuple
    ):  # asked of every task of every pass: a plain loop takes a third of the time of any()
        for one in shared:
            if isinstance(one, Held):
                parts = [held(part) for part in shared]
                return type(shared)._make(parts) if hasattr(shared, "_make") else tuple(parts)
    return shared


class Outcome(Enum):
    """How a piece of work ended.

    >>> Outcome.COMPLETED.value
    'completed'
    """

    COMPLETED = "completed"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"


class Clock:
    """When a piece of work began, when it must end, and the flag that ends it.

    `stop` is an int32 array of one element, which kernels look at: 0 means go on.

    >>> clock = Clock(max_seconds=60.0)
    >>> clock.late, clock.stop.tolist(), clock.seconds < 60.0
    (False, [0], True)
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        self.started = time.monotonic()
        self.deadline = None if max_seconds is None else self.started + max_seconds
        self.stop: npt.NDArray[np.int32] = np.zeros(1, dtype=np.int32)

    @property
    def seconds(self) -> float:
        """Since the work began.

        >>> Clock().seconds >= 0
        True
        """
        return time.monotonic() - self.started

    @property
    def left(self) -> float | None:
        """Seconds until the work must end, None without a limit.

        >>> Clock().left is None, Clock(max_seconds=0.0).left
        (True, 0.0)
        """
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def late(self) -> bool:
        """Whether the time is over.

        >>> Clock().late, Clock(max_seconds=0.0).late
        (False, True)
        """
        return self.deadline is not None and time.monotonic() >= self.deadline


class Engine(Protocol):
    """Where tasks run: threads of this process, or workers elsewhere.

    >>> from taxolearn.engines import ThreadEngine
    >>> engine: Engine = ThreadEngine(2)
    >>> engine.n_workers, engine.n_processes
    (2, 1)
    """

    @property
    def n_workers(self) -> int:
        """How many tasks run at once."""

    @property
    def n_processes(self) -> int:
        """How many tasks run at once that share no memory: 1 where all run in this process."""

    def share(self, arrays: Any) -> Any:
        """Arrays that the tasks of several `map` read, put once where all workers can read them.

        What it returns stands for them in `shared`, or in a field of a task.
        """

    def keep(self, value: Any) -> Any:
        """As `share`, until another value is kept: a model that answers one batch of rows after the other."""

    def map(
        self, function: TaskFunction, shared: Any, tasks: Sequence[Any], clock: Clock, on_result: OnResult
    ) -> Outcome:
        """Call function(shared, task, clock) for every task; `on_result(task, result)` runs in the calling thread.

        When the clock is late, or its stop flag is raised, running tasks return what they have, and tasks not yet
        begun are dropped. A task elsewhere has a clock of its own, which ends with this one.
        """

    def close(self) -> None:
        """Let the workers go."""


class Here:
    """What engines of this process have in common: tasks see arrays as they are.

    >>> with Here() as engine:
    ...     engine.share("arrays"), engine.keep("model")
    ('arrays', 'model')
    """

    n_processes = 1

    def share(self, arrays: Any) -> Any:
        """The arrays themselves.

        >>> Here().share("arrays")
        'arrays'
        """
        return arrays

    keep = share

    def close(self) -> None:
        """Nothing is kept.

        >>> Here().close()
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def worker_count(n_jobs: int | None) -> int:
    """scikit-learn's meaning of n_jobs: None is 1, -1 all cores, -2 all but one.

    >>> worker_count(None), worker_count(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise DataError(f"n_jobs must be a non-zero integer or None, not {n_jobs!r}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))
