"""Processes that serve: one, or several that share what was loaded before they were made."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from taxolearn.errors import DataError
from taxolearn.serving.limits import Limits

_BACKLOG = 1024
_FASTEST_RESTART = 1.0  # seconds between a worker that failed and the next one in its place
_LOG = logging.getLogger("taxolearn.serving")


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    >>> with listening("127.0.0.1", 0) as found:
    ...     found.getsockname()[1] > 0, found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) > 0
    (True, True)
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            f"cannot listen at {host}, port {port} ({reason}); give another --port, or another --host"
        ) from None
    # connections inherit it. asyncio sees to it only where a socket names its protocol, and without it the second part
    # of an answer waits 40 ms for a sign that the first has come
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def serve(
    app: Any, at: socket.socket, limits: Limits, workers: int = 1, ready: Callable[[], None] = lambda: None
) -> None:
    """Serve until SIGTERM or Ctrl-C; requests at work are finished first.

    Several workers are copies of this process (`fork`): the mapped model, and all else that was loaded, is in memory
    once. A worker that dies is replaced.
    """
    logging.basicConfig(format="taxolearn: %(message)s", level=logging.WARNING)
    if workers == 1:
        _serve_here(app, at, limits, ready)
        return
    if not hasattr(os, "fork"):
        raise DataError("several workers need a system that forks processes; leave --workers out")
    _Workers(app, at, limits, workers).run(ready)


def _serve_here(
    app: Any, at: socket.socket, limits: Limits, ready: Callable[[], None] = lambda: None
) -> None:
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(limits.seconds) + 5,
        h11_max_incomplete_event_size=64 * 2**10,
    )
    # uvicorn raises the signal again once it has drained; then there is nothing more to do
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _ignore)
    ready()
    uvicorn.Server(config).run(sockets=[at])


def _ignore(*_: object) -> None:
    """Handled already."""


class _Workers:
    """Children that serve one socket."""

    def __init__(self, app: Any, at: socket.socket, limits: Limits, count: int) -> None:
        self._app, self._at, self._limits, self._count = app, at, limits, count
        self._started: dict[int, float] = {}
        self._ending = False

    def run(self, ready: Callable[[], None]) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        gc.collect()
        gc.freeze()  # what children never collect they need not copy
        for _ in range(self._count):
            self._start()
        ready()
        while self._started:
            try:
                child, status = os.wait()
            except ChildProcessError:
                break
            began = self._started.pop(child, 0.0)
            if not self._ending:
                _LOG.warning("a worker ended (status %d); another one takes its place", status)
                time.sleep(max(0.0, _FASTEST_RESTART - (time.monotonic() - began)))
                if not self._ending:
                    self._start()

    def _start(self) -> None:
        child = os.fork()
        if child:
            self._started[child] = time.monotonic()
            if self._ending:  # the signal came while the child was made
                self._tell(child)
            return
        code = 1
        try:
            _serve_here(self._app, self._at, self._limits)
            code = 0
        except BaseException:  # noqa: BLE001  nothing of the parent may run in the child
            _LOG.exception("a worker failed")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _end(self, *_: object) -> None:
        self._ending = True
        for child in list(self._started):
            self._tell(child)

    @staticmethod
    def _tell(child: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
