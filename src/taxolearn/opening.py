"""Open files, compressed or not; whatever goes wrong becomes a FileFormatError that names the file."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from taxolearn.errors import FileFormatError
from taxolearn.files import cannot_write, replacing

PathLike = str | Path

BOM = b"\xef\xbb\xbf"
_MAGIC = ((b"\x1f\x8b", "gz"), (b"\xfd7zXZ\x00", "xz"), (b"BZh", "bz2"), (b"\x28\xb5\x2f\xfd", "zst"))
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
_ZSTD_MODULES = ("compression.zstd", "zstandard", "pyarrow")
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)


def plain_suffix(path: PathLike) -> str:
    """The suffix that tells the format, whatever compression comes after it.

    >>> plain_suffix("rows.CSV.gz")
    '.csv'
    """
    name = Path(path).name.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).suffix


def quoted(text: str | bytes, limit: int = 40) -> str:
    """`text` as an error message shows it: in quotes, cut when long.

    >>> quoted("7:x"), quoted("a" * 50, limit=5)
    ("'7:x'", "'aaaaa...'")
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= limit else text[:limit] + "...")


def _import_zstd(path: PathLike) -> Any:
    for name in _ZSTD_MODULES:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise FileFormatError(
        path, None, "Zstandard compression needs the zstandard or the pyarrow package; install one"
    )


class _ZstdStream(io.RawIOBase):
    """A stream of any of the Zstandard modules, read in pieces, whose own errors become OSError."""

    def __init__(self, module: Any, raw: IO[bytes]) -> None:
        self._errors = (OSError, EOFError, ValueError, getattr(module, "ZstdError", OSError))
        pyarrow = module.__name__ == "pyarrow"
        self._stream = module.CompressedInputStream(raw, "zstd") if pyarrow else module.open(raw, "rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            found = self._stream.read(len(buffer))
        except self._errors as error:
            raise OSError(str(error)) from error
        buffer[: len(found)] = found
        return len(found)


def _read_zstd(path: PathLike, raw: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(_ZstdStream(_import_zstd(path), raw), buffer_size=1 << 20)


def damaged(path: PathLike, error: BaseException) -> FileFormatError:
    return FileFormatError(path, None, f"the compressed file is damaged or cut short ({error})")


def decompressed(path: PathLike, raw: IO[bytes]) -> IO[bytes]:
    """The stream behind `raw`; the first bytes tell the compression, whatever the file is called."""
    head = raw.read(6)
    raw.seek(0)
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if kind == "gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw, mode="rb"))
    if kind == "xz":
        return lzma.LZMAFile(raw)
    if kind == "bz2":
        return bz2.BZ2File(raw)
    if kind == "zst":
        return _read_zstd(path, raw)
    return raw


@contextmanager
def reading(path: PathLike) -> Iterator[IO[bytes]]:
    """A binary stream of the file's decompressed bytes."""
    try:
        with open(path, "rb") as raw:
            stream = decompressed(path, raw)
            try:
                yield stream
            except DAMAGED as error:
                raise damaged(path, error) from error
    except FileNotFoundError as error:
        raise FileFormatError(path, None, "there is no such file") from error
    except IsADirectoryError as error:
        raise FileFormatError(path, None, "expected a file, found a folder") from error
    except OSError as error:
        raise FileFormatError(path, None, f"the file cannot be read ({error.strerror or error})") from error


def decoded(path: PathLike, line: int, raw: bytes) -> str:
    """`raw` as text; bytes that are not UTF-8, and NUL, which no text has, are errors."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise FileFormatError(
            path,
            line,
            f"expected UTF-8 text, found the byte 0x{raw[error.start]:02x}; convert the file to UTF-8",
        ) from error
    if "\0" in text:
        raise FileFormatError(path, line, "expected text, found the byte 0x00; the file looks binary")
    return text


def read_text(path: PathLike) -> str:
    """The whole of a UTF-8 file, without its byte order mark."""
    with reading(path) as stream:
        raw = stream.read().removeprefix(BOM)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        start = raw.rfind(b"\n", 0, error.start) + 1
        return decoded(path, raw.count(b"\n", 0, error.start) + 1, raw[start : error.end])
    if "\0" in text:
        decoded(path, text[: text.index("\0")].count("\n") + 1, b"\0")
    return text


def _compressed(path: PathLike, raw: IO[bytes]) -> IO[bytes]:
    suffix = Path(path).suffix
    if suffix == ".gz":
        # No name and no time inside: equal rows give equal files.
        return cast(IO[bytes], gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
    if suffix == ".xz":
        return lzma.LZMAFile(raw, "wb")
    if suffix == ".bz2":
        return bz2.BZ2File(raw, "wb")
    if suffix == ".zst":
        module = _import_zstd(path)
        stream: IO[bytes]
        if module.__name__ == "pyarrow":
            stream = module.CompressedOutputStream(raw, "zstd")
        else:
            stream = module.open(raw, "wb")
        return stream
    return raw


@contextmanager
def writing(path: PathLike) -> Iterator[IO[str]]:
    """A UTF-8 text stream; the file appears, compressed as its suffix says, only when all went well."""
    try:
        with (
            replacing(path) as raw,
            io.TextIOWrapper(_compressed(path, raw), encoding="utf-8", newline="") as text,
        ):
            yield text
    except UnicodeEncodeError as error:
        raise FileFormatError(path, None, f"{quoted(error.object)} cannot be written as UTF-8") from error
    except BrokenPipeError:
        raise  # whoever read a pipe has left
    except OSError as error:
        raise cannot_write(path, error) from error
