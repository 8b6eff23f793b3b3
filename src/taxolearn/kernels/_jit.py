"""The one place that decides how kernels are compiled, and where compiled ones are kept."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from taxolearn.kernels._called import WHOLE_OPTIONS, called_as_part
from taxolearn.kernels._kept import keep_by_source
from taxolearn.kernels._remembered import remembered_operators

fcntl: Any
try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

_KEPT = 4  # versions of the sources whose compiled kernels are kept
_PREFIX = "kernels-"
_CONFIG: Any = numba.config


def kernel(function: Any) -> Any:
    """Compile an array-only function; it runs without the interpreter's lock."""
    folder = _cache_folder()
    with _numba_keeps_in(folder):
        made = numba.njit(nogil=True, cache=folder is not None, **WHOLE_OPTIONS)(function)
        if not hasattr(made, "compile"):  # the compiler is off
            return made
        if folder is not None:
            keep_by_source(made)
    _compile_by_itself(made, folder)
    return called_as_part(made)


def _compile_by_itself(made: Any, folder: Path | None) -> None:
    """Have a kernel compiled by one process of this machine, where several begin at once; the others read what it kept.

    Numba's own lock is taken first, always, so that no two threads wait for each other. Each kernel has its file: other
    processes may compile other kernels meanwhile. A kernel holds its file while those that it calls are compiled, and
    as no kernel calls itself on any way, no two processes wait for each other either.
    """
    compiled = made.compile
    place = folder and folder / f"{made.py_func.__module__}.{made.py_func.__qualname__}.lock"

    def compile_alone(signature: Any) -> Any:
        with global_compiler_lock, _alone(place), _no_collection(), remembered_operators():
            return compiled(signature)

    made.compile = compile_alone


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Look for no garbage meanwhile: the compiler makes objects by the million, hardly any of them garbage yet, and a
    tenth of its time and more went by looking at them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextlib.contextmanager
def _alone(place: Path | None) -> Iterator[None]:
    """Keep other processes out for as long as this one is inside."""
    with contextlib.ExitStack() as held:
        if place is not None and fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(held.enter_context(place.open("w")), fcntl.LOCK_EX)
        yield


class _First(event.Listener):
    """Tells of the first compilation only: they come by the dozen."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: Any) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, event: Any) -> None:
        pass


@contextlib.contextmanager
def on_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once, when the first kernel is compiled inside this context; those that were kept are only read."""
    with event.install_listener("numba:compile", _First(tell)):
        yield


@cache
def _cache_folder() -> Path | None:
    """Where compiled kernels are kept, or None: with `TAXOLEARN_CACHE=0`, or where nothing can be written.

    The folder is named after a hash of all sources that are compiled, and of what compiles them. Numba compares a
    function's own file only, and does not notice a change in a function that it calls from another file (numba #1833):
    an edited source, or an upgrade, which leaves Numba's files behind, would run old code. So an editable installation
    may keep kernels, too.
    """
    if os.environ.get("TAXOLEARN_CACHE") in ("", "0"):
        return None
    package = Path(__file__).parents[1]
    sources = [*package.glob("kernels/*.py"), *package.glob("losses/*.py")]
    return _made(_home(), f"{_PREFIX}{_digest(sources)}")


def _home() -> Path:
    """Numba's own folder where one is set, else the user's cache."""
    if _CONFIG.CACHE_DIR:
        return Path(_CONFIG.CACHE_DIR)
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    with contextlib.suppress(RuntimeError):  # there is no home
        return Path(given or Path.home() / ".cache") / "taxolearn"
    return Path(tempfile.gettempdir()) / "taxolearn"


def _compilers() -> tuple[Any, ...]:
    """What code depends on besides its source, and environments of one machine may differ in.

    Numba takes the types of NumPy's functions from NumPy, and calls Intel's vector functions where they are installed.
    The Python and the processor are in the names and keys that it gives by itself.
    """
    return numba.__version__, llvmlite.__version__, np.__version__, getattr(_CONFIG, "USING_SVML", False)


def _digest(sources: list[Path]) -> str:
    digest = hashlib.sha256(" ".join(map(str, _compilers())).encode())
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _made(home: Path, name: str) -> Path | None:
    """The folder, new or not; with a new one the oldest of the others go."""
    folder = home / name
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return None
    if new:
        with contextlib.suppress(OSError):
            others = sorted(home.glob(f"{_PREFIX}*"), key=lambda other: other.stat().st_mtime, reverse=True)
            for old in others[_KEPT:]:
                shutil.rmtree(old, ignore_errors=True)
    return folder


@contextlib.contextmanager
def _numba_keeps_in(folder: Path | None) -> Iterator[None]:
    """Numba asks for its folder when a function is decorated; the kernels of others stay where they are."""
    before = _CONFIG.CACHE_DIR
    _CONFIG.CACHE_DIR = str(folder or before)
    try:
        yield
    finally:
        _CONFIG.CACHE_DIR = before
