"""`subprocess.run` for Python programs that need scikit-learn: forked from a process that has it loaded.

Importing scikit-learn takes a second, and the tests of the command line need some sixty processes. A child has files,
arguments, environment, standard streams and exit code of its own, as a process that starts from nothing; only the
interpreter is not new. How a new one starts is tested in tests/cli/test_cli_startup.py and test_cli_streams.py.
"""

from __future__ import annotations

import atexit
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from typing import Any

_STARTED: dict[int, tuple[subprocess.Popen[bytes], socket.socket]] = {}  # by the process that started it
_LONGEST = 2**20  # bytes of a request
_LOADED = (
    "pandas",  # scikit-learn would load it in every child
    "sklearn.feature_extraction.text",
    "numba",
    "taxolearn.cli.predict",
    "taxolearn.kernels.node_scores",
    "taxolearn.storage.loading",
    "taxolearn.text",
)


def run(
    command: list[Any],
    *,
    input: bytes | str | None = None,
    capture_output: bool = False,
    text: bool = False,
    stdout: Any = None,
    stderr: Any = None,
    env: dict[str, str] | None = None,
    timeout: float = 120.0,
    check: bool = False,
) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run`, for [sys.executable, "-m", module, ...], [sys.executable, "-c", code, ...] and scripts."""
    program, *arguments = [os.fsdecode(part) for part in command]
    assert program == sys.executable
    if arguments[0] not in ("-m", "-c"):
        arguments = ["script", *arguments]
    given = input.encode() if isinstance(input, str) else input or b""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write(given)
        source.seek(0)
        streams = [
            source.fileno(),
            out.fileno() if capture_output else _number(stdout, 1),
            err.fileno() if capture_output else _number(stderr, 2),
        ]
        request = {
            "arguments": arguments,
            "env": dict(os.environ if env is None else env),
            "cwd": os.getcwd(),
        }
        code = _ask(request, streams, timeout)
        out.seek(0)
        err.seek(0)
        found: list[Any] = [out.read(), err.read()] if capture_output else [None, None]
    if text and capture_output:
        found = [part.decode() for part in found]
    done = subprocess.CompletedProcess(command, code, *found)
    if check:
        done.check_returncode()
    return done


def _number(stream: Any, default: int) -> int:
    if stream is None:
        return default
    if stream == subprocess.DEVNULL:
        return os.open(os.devnull, os.O_RDWR)
    return stream if isinstance(stream, int) else int(stream.fileno())


def _ask(request: dict[str, Any], streams: list[int], timeout: float) -> int:
    if os.getpid() not in _STARTED:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        command = [sys.executable, __file__, str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        _STARTED[os.getpid()] = process, ours
        atexit.register(_end, process, ours)
    _, ours = _STARTED[os.getpid()]
    ours.settimeout(timeout)
    socket.send_fds(ours, [json.dumps(request).encode()], streams)
    return int(ours.recv(64))


def _end(process: subprocess.Popen[bytes], ours: socket.socket) -> None:
    ours.close()
    process.wait(timeout=10)


def serve(theirs: socket.socket) -> None:
    """Fork a child for every request, until nobody asks any more."""
    for module in _LOADED:
        importlib.import_module(module)
    while True:
        message, streams, _, _ = socket.recv_fds(theirs, _LONGEST, 3)
        if not message:
            return
        child = os.fork()
        if child == 0:
            theirs.close()
            os._exit(_child(json.loads(message), streams))
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        theirs.send(str(os.waitstatus_to_exitcode(status)).encode())


def _child(request: dict[str, Any], streams: list[int]) -> int:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = io.TextIOWrapper(open(0, "rb"), encoding=encoding)  # noqa: SIM115
    sys.stdout = io.TextIOWrapper(open(1, "wb"), encoding=encoding, line_buffering=os.isatty(1))  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(
        open(2, "wb"),  # noqa: SIM115
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=True,
    )
    kind, program, *arguments = request["arguments"]
    code: Any = 0
    try:
        if kind == "-m":
            sys.argv = [program, *arguments]
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        elif kind == "script":
            sys.argv = [program, *arguments]
            sys.path.insert(0, os.path.dirname(program))
            runpy.run_path(program, run_name="__main__")
        else:
            sys.argv = ["-c", *arguments]
            exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001  as the interpreter does
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(code, str):
        print(code, file=sys.stderr, flush=True)
        return 1
    return 0 if code is None else int(code)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as here:
        serve(here)
