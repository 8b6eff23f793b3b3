"""Blocks of work on threads of one machine, with a clock and a way to stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from enum import Enum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from taxolearn.engines.interrupts import Request, interrupts
from taxolearn.errors import DataError

Task = TypeVar("Task")
Result = TypeVar("Result")

_LOOK = 0.1  # seconds between looks at the clock while workers compute


class Outcome(Enum):
    """How a run ended.

    >>> Outcome.COMPLETED.value
    'completed'
    """

    COMPLETED = "completed"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"


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


class ThreadEngine:
    """Runs tasks on threads; the tasks must release the interpreter's lock and watch the stop flag.

    `stop` is a shared int32 array of one element: 0 means go on. The engine sets it when the time is over or on
    Ctrl-C, then waits for the running tasks to return what they have; tasks not yet started are dropped.

    >>> engine = ThreadEngine(1)  # more workers may end in another order
    >>> engine.run(lambda x: x * x, [1, 2, 3], lambda task, result: print(task, result))
    1 1
    2 4
    3 9
    <Outcome.COMPLETED: 'completed'>
    """

    def __init__(self, n_jobs: int | None = None, max_seconds: float | None = None) -> None:
        self.n_workers = worker_count(n_jobs)
        self.started = time.monotonic()
        self.deadline = None if max_seconds is None else self.started + max_seconds
        self.stop: npt.NDArray[np.int32] = np.zeros(1, dtype=np.int32)

    @property
    def seconds(self) -> float:
        """Since the engine was made.

        >>> ThreadEngine().seconds >= 0
        True
        """
        return time.monotonic() - self.started

    @property
    def late(self) -> bool:
        """Whether the time is over.

        >>> ThreadEngine().late, ThreadEngine(max_seconds=0.0).late
        (False, True)
        """
        return self.deadline is not None and time.monotonic() >= self.deadline

    def run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        on_result: Callable[[Task, Result], None],
    ) -> Outcome:
        """Call `function` on every task; `on_result` runs in the calling thread, as results come in.

        >>> ThreadEngine().run(len, ["ab"], lambda task, result: print(result))
        2
        <Outcome.COMPLETED: 'completed'>
        """
        with interrupts() as request:
            outer, request.stop = request.stop, self.stop
            try:
                outcome = self._run(function, tasks, on_result, request)
            finally:
                request.stop = outer
        return outcome

    def _run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        on_result: Callable[[Task, Result], None],
        request: Request,
    ) -> Outcome:
        outcome = Outcome.COMPLETED
        waiting = list(reversed(tasks))

        def end(early: Outcome) -> Outcome:
            self.stop[0] = 1
            waiting.clear()
            return early

        # the work runs on threads even with one worker: the calling thread stays free to notice Ctrl-C
        with ThreadPoolExecutor(self.n_workers) as pool:
            running: dict[Future[Result], Task] = {}
            while waiting or running:
                try:
                    while waiting and len(running) < self.n_workers:
                        task = waiting.pop()
                        running[pool.submit(function, task)] = task
                    done, _ = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
                    for future in [future for future in running if future in done]:
                        on_result(running.pop(future), future.result())
                    if self.late and outcome is Outcome.COMPLETED and (waiting or running):
                        outcome = end(Outcome.TIME_LIMIT)
                    if request.taken():
                        outcome = end(Outcome.INTERRUPTED)
                except KeyboardInterrupt:  # of a callback, or where requests are not listened to
                    if outcome is Outcome.INTERRUPTED:
                        raise  # asked twice: leave at once
                    outcome = end(Outcome.INTERRUPTED)
                except BaseException:
                    self.stop[0] = 1  # leaving waits for the running tasks: nobody will read what they finish
                    raise
        return outcome
