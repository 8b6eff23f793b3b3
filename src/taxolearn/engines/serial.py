"""Tasks one after the other in the calling thread."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from taxolearn.engines.base import Clock, Here, OnResult, Outcome, TaskFunction, held


class SerialEngine(Here):
    """Runs tasks one after the other where it is called: what a debugger or a profiler wants to see.

    A time limit raises the clock's stop flag. Ctrl-C is noticed when a task ends.

    >>> engine = SerialEngine()
    >>> engine.map(lambda shared, task, clock: shared + task, 10, [1, 2], Clock(), print)
    1 11
    2 12
    <Outcome.COMPLETED: 'completed'>
    """

    n_workers = 1

    def map(
        self, function: TaskFunction, shared: Any, tasks: Sequence[Any], clock: Clock, on_result: OnResult
    ) -> Outcome:
        """Call function(shared, task, clock) for every task, then `on_result(task, result)`.

        >>> SerialEngine().map(lambda shared, task, clock: task, None, [1], Clock(max_seconds=0.0), print)
        1 1
        <Outcome.TIME_LIMIT: 'time limit'>
        """
        known, left = held(shared), clock.left
        alarm = None if left is None else threading.Timer(left, clock.stop.__setitem__, (0, 1))
        if alarm is not None:
            alarm.daemon = True
            alarm.start()
        try:
            for task in tasks:
                try:
                    on_result(task, function(known, task, clock))
                except KeyboardInterrupt:
                    clock.stop[0] = 1
                    return Outcome.INTERRUPTED
                if clock.late:
                    clock.stop[0] = 1
                    return Outcome.TIME_LIMIT
                if clock.stop[0]:
                    return Outcome.INTERRUPTED
        finally:
            if alarm is not None:
                alarm.cancel()
        return Outcome.COMPLETED
