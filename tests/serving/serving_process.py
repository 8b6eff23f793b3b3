"""A server in a process of its own, for what only a process shows."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_AT = re.compile(r"served at (http://\S+?)/ ")


class Server:
    """A running `taxolearn serve`."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address


@contextlib.contextmanager
def serving(model: Path, *options: str) -> Iterator[Server]:
    """The server at a free port of this machine; ended at the end."""
    command = [sys.executable, "-m", "taxolearn.cli", "serve", str(model), "--port", "0", *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = _AT.search(line)
        assert found, line + process.stderr.read()
        yield Server(process, found[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
