"""One piece of work on an engine: its clock, whether to stop, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from taxolearn.engines.base import Clock, Engine, OnResult, Outcome, TaskFunction, held
from taxolearn.engines.choice import current_engine
from taxolearn.engines.elsewhere import outer_clock
from taxolearn.engines.frozen import frozen
from taxolearn.engines.interrupts import Request, interrupts
from taxolearn.engines.threads import ThreadEngine


@dataclass
class Run:
    """What a solver works through: tasks go to an engine, the clock and Ctrl-C say when to stop.

    `engine` has threads of this process, whose tasks may write to common arrays. `cluster` takes tasks that return
    all they find; it is the same one unless the user has chosen another by `taxolearn.engine`.

    >>> def double(shared, task, clock):
    ...     return 2 * task
    >>> with running() as run:
    ...     run.map(double, None, [1, 2, 3]), run.over(), run.outcome.value
    ([2, 4, 6], False, 'completed')
    """

    engine: Engine
    cluster: Engine
    clock: Clock
    request: Request = field(default_factory=Request)
    outcome: Outcome = Outcome.COMPLETED

    def share(self, arrays: Any) -> Any:
        """Arrays for the tasks of several `map` with `anywhere`, for reading only.

        >>> import numpy as np
        >>> def first(shared, task, clock):
        ...     return shared[0].tolist()
        >>> with running() as run:
        ...     run.map(first, run.share((np.ones(2),)), [None], anywhere=True)
        [[1.0, 1.0]]
        """
        return self.cluster.share(frozen(arrays))

    def map(
        self,
        function: TaskFunction,
        shared: Any,
        tasks: Sequence[Any],
        on_result: OnResult | None = None,
        *,
        light: bool = False,
        keep: bool = True,
        anywhere: bool = False,
    ) -> list[Any]:
        """The results of function(shared, task, clock) in the order of the tasks, None for those that were dropped.

        `on_result(task, result)` is called here as results come in. `light` tasks take milliseconds at most; they
        run in this thread, and cost no hand-over. Without `keep` only `on_result` gets the results: where they are
        large, memory never holds all of them. Tasks that may run `anywhere` are top-level functions on plain values,
        and write to nothing that is not theirs.

        >>> with running(max_seconds=0.0) as run:
        ...     run.map(lambda shared, task, clock: task, None, [1, 2], light=True), run.outcome.value
        ([None, None], 'time limit')
        """
        results: list[Any] = [None] * len(tasks)
        if light:
            known = held(shared)
            for place, task in enumerate(tasks):
                if self.over():
                    break
                result = function(known, held(task), self.clock)
                if on_result is not None:
                    on_result(task, result)
                if keep:
                    results[place] = result
            return results

        def collect(numbered: tuple[int, Any], result: Any) -> None:
            place, task = numbered
            if keep:
                results[place] = result
            if on_result is not None:
                on_result(task, result)

        numbered = list(enumerate(tasks))
        engine = self.cluster if anywhere else self.engine
        found = engine.map(_numbered, (function, shared), numbered, self.clock, collect)
        self._end(found)
        return results

    def over(self) -> bool:
        """Whether to stop here: the time is over, or Ctrl-C was pressed.

        >>> with running(max_seconds=0.0) as run:
        ...     run.over(), run.outcome.value
        (True, 'time limit')
        """
        if self.request.pressed or self.clock.stop[0]:
            self._end(Outcome.INTERRUPTED)
        elif self.clock.late:
            self._end(Outcome.TIME_LIMIT)
        return self.outcome is not Outcome.COMPLETED

    def _end(self, outcome: Outcome) -> None:
        """Note how the work ends; the first reason stays."""
        if outcome is Outcome.COMPLETED or self.outcome is not Outcome.COMPLETED:
            return
        self.outcome = outcome
        self.clock.stop[0] = 1
        if outcome is Outcome.INTERRUPTED:
            self.request.heard = True


def _numbered(work: tuple[TaskFunction, Any], numbered: tuple[int, Any], clock: Clock) -> Any:
    function, shared = work
    return function(shared, held(numbered[1]), clock)


@contextmanager
def running(
    engine: Engine | None = None, max_seconds: float | None = None, *, to_the_end: bool = False
) -> Iterator[Run]:
    """A run on the engine, or on one thread of its own; Ctrl-C raises its stop flag.

    What may run anywhere goes to the engine that the user has chosen by `taxolearn.engine`, if there is one.

    A request that came before, inside the same fit, ends it at its first look. Work that must be done `to_the_end`,
    such as a certificate, takes no notice of requests; the second Ctrl-C still leaves at once.

    >>> with running() as run:
    ...     run.over()
    False
    """
    own = ThreadEngine() if engine is None else None
    here: Engine = own or engine  # type: ignore[assignment]
    cluster = current_engine() or here
    clock = Clock(max_seconds)
    try:
        with interrupts() as request:
            if to_the_end:
                request.heard = request.heard or request.pressed
                yield Run(here, cluster, clock)
                request.heard = request.heard or request.pressed
                return
            outer = outer_clock()
            if outer is not None:
                clock.stop = outer.stop  # a task that is told to stop passes it on
            with request.raising(clock.stop):
                yield Run(here, cluster, clock, request)
    finally:
        if own is not None:
            own.close()
