"""Tasks on threads of this process: one pool, kept for as long as the engine lives."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from taxolearn.engines.base import Clock, Here, OnResult, Outcome, TaskFunction, held, worker_count
from taxolearn.engines.pool import Workers, hand_out


class ThreadEngine(Here):
    """Runs tasks on threads; the tasks must release the interpreter's lock and look at the clock's stop flag.

    Work runs on threads even with one worker: the calling thread stays free to notice Ctrl-C.

    >>> def square(shared, task, clock):
    ...     return shared * task * task
    >>> with ThreadEngine(1) as engine:  # more workers may end in another order
    ...     engine.map(square, 10, [1, 2], Clock(), lambda task, result: print(task, result))
    1 10
    2 40
    <Outcome.COMPLETED: 'completed'>
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_workers = worker_count(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """End the threads; the next `map` would start new ones.

        >>> ThreadEngine().close()
        """
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def map(
        self, function: TaskFunction, shared: Any, tasks: Sequence[Any], clock: Clock, on_result: OnResult
    ) -> Outcome:
        """Call function(shared, task, clock) for every task; `on_result(task, result)` runs in the calling thread.

        >>> ThreadEngine().map(lambda shared, task, clock: len(task), None, ["ab"], Clock(), print)
        ab 2
        <Outcome.COMPLETED: 'completed'>
        """
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_workers)
        pool, known = self._pool, held(shared)
        workers = Workers(
            self.n_workers,
            lambda task: pool.submit(function, known, task, clock),
            lambda futures, seconds: wait(futures, timeout=seconds, return_when=FIRST_COMPLETED).done,
            lambda future: future.result(),
            lambda futures: None,  # all look at the clock's flag
            lambda futures: wait(futures) and None,
        )
        return hand_out(workers, tasks, clock, on_result)
