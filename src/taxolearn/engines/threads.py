"""Tasks on threads of this process: one pool, kept for as long as the engine lives."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Self

from taxolearn.engines.base import Clock, OnResult, Outcome, TaskFunction, worker_count

_SECONDS_BETWEEN_LOOKS = 0.1  # at the clock, while workers compute


class ThreadEngine:
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

    shares_memory = True

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_workers = worker_count(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def share(self, arrays: Any) -> Any:
        """Threads see the arrays as they are.

        >>> ThreadEngine().share("arrays")
        'arrays'
        """
        return arrays

    def close(self) -> None:
        """End the threads; the next `map` would start new ones.

        >>> ThreadEngine().close()
        """
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        pool, outcome = self._pool, Outcome.COMPLETED
        waiting = list(reversed(tasks))
        running: dict[Future[Any], Any] = {}

        def end(early: Outcome) -> Outcome:
            clock.stop[0] = 1
            waiting.clear()
            return early

        while waiting or running:
            try:
                while waiting and len(running) < self.n_workers:
                    task = waiting.pop()
                    running[pool.submit(function, shared, task, clock)] = task
                done, _ = wait(running, timeout=_SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
                for future in [future for future in running if future in done]:
                    on_result(running.pop(future), future.result())
                if outcome is Outcome.COMPLETED and clock.stop[0]:  # what just ended may have been cut short
                    outcome = end(Outcome.INTERRUPTED)
                if outcome is Outcome.COMPLETED and clock.late and (waiting or running):
                    outcome = end(Outcome.TIME_LIMIT)
            except KeyboardInterrupt:  # of a callback, or where requests are not listened to
                if outcome is Outcome.INTERRUPTED:
                    raise  # asked twice: leave at once
                outcome = end(Outcome.INTERRUPTED)
            except BaseException:
                clock.stop[0] = 1
                wait(
                    running
                )  # nobody will read what they finish, but nothing may write on behind the caller's back
                raise
        return outcome
