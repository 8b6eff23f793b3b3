"""The one loop by which tasks are handed out and results come in, whoever computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from taxolearn.engines.base import Clock, OnResult, Outcome

SECONDS_BETWEEN_LOOKS = 0.1  # at the clock, while workers compute


class Dropped(Exception):
    """A task ended without a result because it was asked to stop."""


class Workers(NamedTuple):
    """Those who compute: how to hand out a task, wait for any of several, read a result, and tell them to stop.

    `begin(task)` returns a ticket, `wait(tickets, seconds)` those that are done, `stop(tickets)` is called once, and
    `finish(tickets)` before an error leaves the loop: nothing may write on behind the caller's back.
    """

    room: int  # tasks handed out at a time
    begin: Callable[[Any], Any]
    wait: Callable[[Iterable[Any], float], Iterable[Any]]
    result: Callable[[Any], Any]
    stop: Callable[[Iterable[Any]], None]
    finish: Callable[[Iterable[Any]], None]


def hand_out(workers: Workers, tasks: Sequence[Any], clock: Clock, on_result: OnResult) -> Outcome:
    """Have all tasks done, or as many as the clock allows; see `Engine.map`."""
    outcome = Outcome.COMPLETED
    waiting = list(reversed(tasks))
    running: dict[Any, Any] = {}

    def end(early: Outcome) -> Outcome:
        clock.stop[0] = 1
        waiting.clear()
        workers.stop(list(running))
        return early

    while waiting or running:
        try:
            while waiting and len(running) < workers.room:
                task = waiting.pop()
                running[workers.begin(task)] = task
            done = set(workers.wait(list(running), SECONDS_BETWEEN_LOOKS))
            for ticket in [ticket for ticket in running if ticket in done]:
                task = running.pop(ticket)
                try:
                    result = workers.result(ticket)
                except Dropped:  # a request to stop may come late, and hit a task that nobody meant
                    if outcome is Outcome.COMPLETED and not clock.stop[0]:
                        waiting.append(task)
                    continue
                on_result(task, result)
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
            workers.finish(list(running))
            raise
    return outcome
