"""Tasks on a Ray cluster: stateless, so that Ray does again what a lost worker or a lost machine had done."""

from __future__ import annotations

import ctypes
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

from taxolearn.engines.base import Clock, Held, OnResult, Outcome, TaskFunction, worker_count
from taxolearn.engines.elsewhere import Keeping, holds, pack, packed_result, result_of
from taxolearn.engines.pool import Dropped, Workers, hand_out
from taxolearn.engines.versions import difference, versions
from taxolearn.errors import EngineError

_RETRIES = 8  # of a task whose worker died
_PER_WORKER = 2  # tasks handed out per worker: the next one is there when one ends
_ANSWER_SECONDS = 10.0  # for the first answer of a cluster
# that the head of a cluster may be silent: where it is kept twice, another takes over; after 60 Ray ends the process
_HEAD_SECONDS = 40.0
_LOOK_SECONDS = 2.0  # between two looks whether it is there, while no task ends
_LARGE_BYTES = 2**20  # arrays from this size on go back to the system when they are freed

_LOCK = threading.Lock()
_JOINED: list[Any] = []  # engines for which this process is on a cluster: the last one leaves it

_NOBODY = "no Ray cluster answers at {}; start one by `ray start --head`, or give address='local' ({})"
_CLOSED = (
    "the Ray cluster at {} cannot be joined; have the same Ray and Python there as here, and its token where "
    "RAY_AUTH_TOKEN_PATH says ({})"
)


class RayEngine(Keeping):
    """Hands tasks to the workers of a Ray cluster.

    `address` is that of a cluster ("auto": the one of this machine, or of RAY_ADDRESS), or "local": one of its own.
    A process that has called `ray.init` stays where it is. At most `n_jobs` workers are used.

    >>> RayEngine("nowhere:6379")  # doctest: +SKIP
    Traceback (most recent call last):
    ...
    taxolearn.errors.EngineError: no Ray cluster answers at 'nowhere:6379'; start one by `ray start --head`, or give
    address='local'
    """

    expected = staticmethod(versions)

    def __init__(self, address: str = "auto", n_jobs: int | None = None) -> None:
        self._ray, self._versions = _library(local=address == "local"), self.expected()
        with _LOCK:
            self._counted = bool(_JOINED) or not self._ray.is_initialized()
            if not self._ray.is_initialized():
                self._join(address, n_jobs)
            if self._counted:
                _JOINED.append(self)
        try:
            self._check_nodes()
            self._head = _Head(self._ray.get_runtime_context().gcs_address)
        except BaseException:
            self.close()
            raise
        cores = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self.n_workers = cores if n_jobs is None or n_jobs < 0 else min(cores, worker_count(n_jobs))
        self._task = self._ray.remote(work).options(
            max_retries=_RETRIES, num_cpus=1, retry_exceptions=[MemoryError]
        )

    @property
    def n_processes(self) -> int:
        """Every worker is a process."""
        return self.n_workers

    def _join(self, address: str, n_jobs: int | None) -> None:
        listens = _check_answers(address)
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "warning"}
        if address == "local":  # nobody else is to reach it
            options |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
            options |= {} if n_jobs is None else {"num_cpus": worker_count(n_jobs)}
        try:
            self._ray.init(**options)
        except (ConnectionError, ValueError, RuntimeError, self._ray.exceptions.RayError) as error:
            refused = listens or not isinstance(
                error, ConnectionError
            )  # another Python or Ray, or a wrong token
            message = _CLOSED if refused else _NOBODY
            raise EngineError(message.format(repr(address), " ".join(str(error).split()))) from error

    def _check_nodes(self) -> None:
        """All machines must have the same libraries: before any work, rather than wrong digits after it."""
        ray = self._ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        asked = []  # several nodes may have one address
        for node in ray.nodes():
            if node["Alive"]:
                there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                task = ray.remote(versions).options(num_cpus=0, scheduling_strategy=there, max_retries=0)
                asked.append((node["NodeManagerAddress"], task.remote()))
        for name, answer in asked:
            try:
                found = difference(self._versions, ray.get(answer))
            except ray.exceptions.RayError as error:
                raise EngineError(
                    f"node {name} cannot run taxolearn; install the same version there as here "
                    f"({str(error).strip().splitlines()[-1]})"
                ) from error
            if found:
                raise EngineError(f"node {name} has {found}; install the same versions on all nodes")

    def share(self, arrays: Any) -> Held:
        """Put arrays into the object store, once a machine; workers read them where they are."""
        return Held(arrays, self._ray.put(arrays))

    def close(self) -> None:
        """Leave the cluster, if no other engine of this process is on it; one of its own ends."""
        self._kept = None
        with _LOCK:
            if self._counted:
                self._counted = False
                _JOINED.remove(self)
                if not _JOINED:
                    self._ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(
        self, function: TaskFunction, shared: Any, tasks: Sequence[Any], clock: Clock, on_result: OnResult
    ) -> Outcome:
        """Call function(shared, task, clock) for every task; `on_result(task, result)` runs in the calling thread."""
        ray = self._ray
        if not holds(shared):
            shared = self.share(shared)

        def begin(task: Any) -> Any:
            packed, references = pack(function, shared, task)
            return self._task.remote(self._versions, packed, clock.left, *references)

        def wait(tickets: Iterable[Any], seconds: float) -> Iterable[Any]:
            done, _ = ray.wait(list(tickets), timeout=seconds)
            if not done:
                self._head.check()
            return done  # type: ignore[no-any-return]

        def result(ticket: Any) -> Any:
            try:
                return result_of(ray.get(ticket))
            except ray.exceptions.TaskCancelledError as error:
                raise Dropped from error
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, Dropped | KeyboardInterrupt):
                    raise Dropped from error
                raise error.cause from error
            except ray.exceptions.RayError as error:
                raise EngineError(
                    f"a task was lost {_RETRIES + 1} times ({type(error).__name__}); look for the cause in Ray's logs"
                ) from error

        def stop(tickets: Iterable[Any]) -> None:
            for ticket in tickets:
                ray.cancel(ticket, force=False, recursive=False)

        workers = Workers(_PER_WORKER * self.n_workers, begin, wait, result, stop, stop)
        return hand_out(workers, tasks, clock, on_result)


class _Head:
    """Whether the head of a cluster is there: without it Ray waits for its tasks, and then ends this process.

    Silence counts only while it is looked at, and where the head can be seen from here at all.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._seen = self._answers()
        self._looked = time.monotonic()
        self._silent: float | None = None  # for how long

    def check(self) -> None:
        """Raise when it has not been there for too long."""
        now = time.monotonic()
        if not self._seen or now < self._looked + _LOOK_SECONDS:
            return
        since, self._looked = now - self._looked, now
        if self._answers():
            self._silent = None
        elif self._silent is None:
            self._silent = 0.0
        else:
            self._silent += min(since, _LOOK_SECONDS + _ANSWER_SECONDS)
        if self._silent is not None and self._silent >= _HEAD_SECONDS:
            raise EngineError(
                f"the head of the Ray cluster at {self._address} is gone; start the cluster again, and a fit with "
                "`checkpoint` goes on from its last pass"
            )

    def _answers(self) -> bool:
        host, _, port = self._address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
        except (OSError, ValueError):
            return False
        return True


def work(expected: Any, packed: bytes, seconds: float | None, *values: Any) -> bytes:
    """One task in a worker; the result as bytes, so that its arrays are the driver's own."""
    found = difference(expected, versions())  # of a machine that has come later
    if found:
        raise EngineError(f"a worker has {found}; install the same versions on all nodes")
    _return_memory()
    return packed_result(packed, values, Clock(seconds))


@cache
def _return_memory() -> None:
    """Have large arrays go back to the system when they are freed, once a process.

    glibc keeps what is freed once it has seen large arrays go: a worker would grow with every size it meets.
    """
    try:
        ctypes.CDLL(None).mallopt(-3, _LARGE_BYTES)  # M_MMAP_THRESHOLD
    except (OSError, AttributeError):  # another C library
        return


def _check_answers(address: str) -> bool:
    """Raise at once where nobody listens: Ray itself would try for the better part of a minute, and warn.

    Whether somebody does; False where only Ray can tell. "auto" stands for RAY_ADDRESS, or for the address that
    `ray start` has noted, be that cluster alive or not.
    """
    noted = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()) / "ray" / "ray_current_cluster"
    if address == "auto":
        with suppress(OSError):
            address = os.environ.get("RAY_ADDRESS") or noted.read_text().strip()
    host, _, port = address.rpartition(":")
    if not port.isdigit() or "/" in host:
        return False  # "local", a client's address, or nothing that was noted: for Ray to tell
    try:
        socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()
    except OSError as error:
        raise EngineError(_NOBODY.format(repr(address), error.strerror or error)) from error
    return True


def _library(local: bool) -> Any:
    if (
        local
    ):  # on Linux Ray takes 127.0.0.1 for the address outside, unless this is set before it is imported
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError as error:
        raise EngineError("engine 'ray' needs Ray; run `pip install 'taxolearn[cluster]'`") from error
    return ray
