"""Tasks on whatever backend joblib has been given: loky, Dask, threads."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from taxolearn.engines.base import Clock, Held, OnResult, Outcome, TaskFunction
from taxolearn.engines.elsewhere import Keeping, holds, pack, packed_result, result_of
from taxolearn.engines.frozen import frozen
from taxolearn.engines.pool import SECONDS_BETWEEN_LOOKS, Dropped
from taxolearn.errors import EngineError


class JoblibEngine(Keeping):
    """Hands tasks to joblib: `with joblib.parallel_config(backend="dask"):` around it chooses another backend.

    What is shared stands in a folder that all workers must see: JOBLIB_TEMP_FOLDER, or the machine's own. A file there
    tells workers to stop; a terminal's Ctrl-C goes to them as well, and they take no notice of it. A worker that is
    killed ends the whole call, which is why clusters have an engine of their own.

    >>> with JoblibEngine(1) as engine:
    ...     engine.n_workers
    1
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        import joblib

        self._joblib = joblib
        self.n_workers = int(joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))
        folder = os.environ.get("JOBLIB_TEMP_FOLDER")
        self._folder = tempfile.TemporaryDirectory(
            prefix="taxolearn-", dir=folder, ignore_cleanup_errors=True
        )
        self._shared = 0

    @property
    def n_processes(self) -> int:
        """Every worker may be a process.

        >>> JoblibEngine(1).n_processes
        1
        """
        return self.n_workers

    def share(self, arrays: Any) -> Held:
        """Write arrays to a file, which workers map into their memory; it goes with the last reference.

        >>> JoblibEngine(1).share("arrays").value
        'arrays'
        """
        self._shared += 1
        path = Path(self._folder.name) / str(self._shared)
        self._joblib.dump(arrays, path)
        found = Held(arrays, str(path))
        weakref.finalize(found, _remove, path)
        return found

    def close(self) -> None:
        """Remove the files; joblib keeps its workers for the next engine.

        >>> JoblibEngine(1).close()
        """
        self._kept = None
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(
        self, function: TaskFunction, shared: Any, tasks: Sequence[Any], clock: Clock, on_result: OnResult
    ) -> Outcome:
        """Call function(shared, task, clock) for every task; `on_result(task, result)` runs in the calling thread.

        >>> JoblibEngine(1).map(_added, 1, [2], Clock(), print)
        2 3
        <Outcome.COMPLETED: 'completed'>
        """
        known = shared if holds(shared) else self.share(shared)
        self._shared += 1
        halt = Path(self._folder.name) / f"halt-{self._shared}"
        begin, ended = self._joblib.delayed(_work), threading.Event()

        def feed() -> Iterator[Any]:
            for place, task in enumerate(tasks):
                if clock.stop[0] or clock.late:
                    return
                yield begin(os.getpid(), place, *pack(function, known, task), clock.left, str(halt))

        def watch() -> None:
            while not ended.wait(SECONDS_BETWEEN_LOOKS):
                if clock.stop[0] or clock.late:
                    with contextlib.suppress(OSError):
                        halt.touch()
                    return

        parallel = self._joblib.Parallel(
            n_jobs=self.n_workers, return_as="generator_unordered", batch_size=1, max_nbytes=None
        )
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            for place, result in parallel(feed()):
                if result is None:
                    continue
                try:
                    on_result(tasks[place], result_of(result))
                except KeyboardInterrupt:
                    clock.stop[0] = 1
        finally:
            ended.set()
            watcher.join()
        if clock.stop[0]:
            return Outcome.INTERRUPTED
        if clock.late:
            clock.stop[0] = 1
            return Outcome.TIME_LIMIT
        return Outcome.COMPLETED


class _HaltedClock(Clock):
    """A clock that is late, too, once there is a file."""

    def __init__(self, seconds: float | None, halt: Path) -> None:
        super().__init__(seconds)
        self._halt = halt

    @property
    def late(self) -> bool:
        return super().late or self._halt.exists()


def _work(
    caller: int, place: int, packed: bytes, paths: list[str], seconds: float | None, halt: str
) -> tuple[int, bytes | None]:
    """The number of a task and its result, None if it was told to stop before it had one."""
    if os.getpid() != caller and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # also between tasks: one that dies ends the whole call
    if Path(halt).exists():
        return place, None
    try:
        values = [_read(path) for path in paths]
        return place, packed_result(packed, values, _HaltedClock(seconds, Path(halt)))
    except Dropped:
        return place, None


@lru_cache(maxsize=2)
def _read(path: str) -> Any:
    import joblib

    try:
        return frozen(joblib.load(path, mmap_mode="r"))
    except FileNotFoundError as error:
        raise EngineError(
            f"a worker does not see {path}; set JOBLIB_TEMP_FOLDER to a folder that all machines share"
        ) from error


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _added(shared: int, task: int, clock: Clock) -> int:
    """For the example."""
    return shared + task
