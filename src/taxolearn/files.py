"""Files that appear as a whole: nothing is left half written, and no special file is replaced."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import IO

from taxolearn.errors import FileFormatError

_MAX_LINKS = 40
_FOLDERS_OF_DESCRIPTORS = ("/proc/self/fd", "/proc/thread-self/fd")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class _Target:
    """Where bytes go: `path` is the end of all symbolic links; `found` is what stands there now."""

    path: str
    found: os.stat_result | None
    descriptor: int | None = None

    @property
    def is_replaced(self) -> bool:
        return self.descriptor is None and (self.found is None or stat.S_ISREG(self.found.st_mode))


class _Kept(io.BytesIO):
    """Bytes that outlive the stream that wrote them."""

    def close(self) -> None:
        """Stay open."""


# What waits for the end of `together`: (target, temporary file or bytes).
_Waiting = list[tuple[_Target, str | _Kept]]
_WAITING: ContextVar[_Waiting | None] = ContextVar("_WAITING", default=None)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A binary stream to a file that appears when all went well; what stood there before stays until then.

    A symbolic link stays, and what it points to is replaced. A device, a pipe or an open descriptor (/dev/stdout) is
    written to and never replaced. A folder, a socket and a file without permission to write are an `OSError`.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv")
    ...     with replacing(path) as stream:
    ...         _ = stream.write(b"done"), path.exists()
    ...     path.read_bytes(), len(list(path.parent.iterdir()))
    (b'done', 1)
    """
    target = _resolve(path)
    _check(target)
    waiting = _WAITING.get()
    if not target.is_replaced:
        if waiting is None:
            with os.fdopen(_open_in_place(target), "wb") as stream:
                yield stream
        else:
            kept = _Kept()
            yield kept
            waiting.append((target, kept))
        return
    temporary, descriptor, mode = _create(target)
    done = False
    try:
        again = os.dup(descriptor)  # the stream may be closed by who writes to it
        try:
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
            _take_over(again, mode, target.found)
        finally:
            os.close(again)
        if waiting is None:
            os.replace(temporary, target.path)
        else:
            waiting.append((target, temporary))
        done = True
    finally:
        if not done:
            _remove(temporary)


@contextlib.contextmanager
def together() -> Iterator[None]:
    """All files that `replacing` writes in this context appear at its end, or none of them.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, second = pathlib.Path(folder, "a"), pathlib.Path(folder, "b")
    ...     with together():
    ...         for path in (first, second):
    ...             with replacing(path) as stream:
    ...                 _ = stream.write(b"done")
    ...         _ = print(first.exists())
    ...     first.exists(), second.exists()
    False
    (True, True)
    """
    waiting: _Waiting = []
    before = _WAITING.set(waiting)
    try:
        yield
        # What cannot be taken back, and may fail, comes first.
        for target, content in sorted(waiting, key=lambda entry: isinstance(entry[1], str)):
            if isinstance(content, str):
                os.replace(content, target.path)
            else:
                with os.fdopen(_open_in_place(target), "wb") as stream:
                    stream.write(content.getbuffer())
    finally:
        _WAITING.reset(before)
        for _, content in waiting:
            if isinstance(content, str):
                _remove(content)


def check_output(path: Path) -> None:
    """Say before long work what would be wrong with a file at its end; nothing is written.

    >>> check_output("no such folder/answers.csv")
    Traceback (most recent call last):
    ...
    taxolearn.errors.FileFormatError: no such folder/answers.csv: the file cannot be written (No such file or directory)
    """
    try:
        _check(_resolve(path))
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> FileFormatError:
    """The error that says why a file cannot be written.

    >>> print(cannot_write("a.csv", PermissionError(13, "Permission denied", "a.csv")))
    a.csv: the file cannot be written (Permission denied)
    """
    return FileFormatError(os.fspath(path), None, f"the file cannot be written ({error.strerror or error})")


def same_target(first: Path, second: Path) -> bool:
    """Whether two names, links followed, mean one file that the second would replace.

    >>> same_target("answers.csv", "./answers.csv"), same_target("a", "b")
    (True, False)
    """
    one, other = _resolve(first), _resolve(second)
    return one.is_replaced and one.path == other.path


def _resolve(path: Path) -> _Target:
    """The end of all links. Descriptors of this process are not opened anew, which would forget their place."""
    given = current = os.fspath(path)
    if "\0" in given:
        raise OSError(errno.EINVAL, "the name holds the character NUL", given)
    for _ in range(_MAX_LINKS):
        folder, name = os.path.split(current)
        folder = os.path.realpath(folder or os.curdir)
        if name in ("", os.curdir, os.pardir):
            raise IsADirectoryError(errno.EISDIR, "it is a folder; give the name of a file", given)
        current = os.path.join(folder, name)
        if folder in map(os.path.realpath, _FOLDERS_OF_DESCRIPTORS) and name.isdigit():
            return _Target(current, None, int(name))
        if not os.path.islink(current):
            break
        current = os.path.join(folder, os.readlink(current))
    else:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), given)
    try:
        found = os.stat(current)
    except FileNotFoundError:
        return _Target(current, None)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; give the name of a file", given)
    if stat.S_ISSOCK(found.st_mode):
        raise OSError(errno.ENXIO, "it is a socket; give the name of a file", given)
    return _Target(current, found)


def _check(target: _Target) -> None:
    if target.descriptor is not None:
        os.fstat(target.descriptor)
        return
    # A file without permission to write stays as it is, although a rename could replace it.
    if target.found is not None and not os.access(target.path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target.path)
    if not target.is_replaced:
        return
    folder = os.path.dirname(target.path)
    if not stat.S_ISDIR(os.stat(folder).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "its folder cannot be written to", target.path)


def _open_in_place(target: _Target) -> int:
    if target.descriptor is not None:
        return os.dup(target.descriptor)
    return os.open(target.path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0) | _FLAGS)


def _create(target: _Target) -> tuple[str, int, int]:
    """A new file beside the target that nobody else may read, and the mode that it gets in the end."""
    temporary = os.path.join(os.path.dirname(target.path), f".taxolearn-{secrets.token_hex(8)}.part")
    descriptor = os.open(temporary, _NEW | _FLAGS, 0o666 if target.found is None else 0o600)
    if target.found is not None:
        return temporary, descriptor, stat.S_IMODE(target.found.st_mode) & 0o777
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)  # what the umask leaves
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o600)
    return temporary, descriptor, mode


def _take_over(descriptor: int, mode: int, before: os.stat_result | None) -> None:
    """Give the new file the mode, and where that is allowed the owner, of the old one."""
    if not hasattr(os, "fchmod"):
        return
    if before is not None and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, mode)


def _remove(temporary: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(temporary)
