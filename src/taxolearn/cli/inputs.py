"""Where rows come from: a file, compressed or not, or standard input, in one of six formats."""

from __future__ import annotations

import codecs
import contextlib
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, cast

from taxolearn.cli.left_out import LeftOut
from taxolearn.errors import DataError, EngineError, FileFormatError, TaxolearnError
from taxolearn.opening import DAMAGED, damaged, decompressed, reading
from taxolearn.opening import plain_suffix as plain_suffix

TABLES = ("csv", "tsv", "jsonl", "lines")  # formats of text
FORMATS = ("csv", "tsv", "jsonl", "parquet", "libsvm", "lines")
STDIN = "-"

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".txt": "lines",
}
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


@dataclass(frozen=True)
class Source:
    """A file (or "-", standard input), its format, and how it is written; None: UTF-8, and the delimiter by the header.

    With `left_out` rows that cannot be used are collected there; without, the first of them is an error.

    >>> open_source("rows.tsv.xz", None).format
    'tsv'
    """

    path: str
    format: str
    encoding: str | None = None
    delimiter: str | None = None
    left_out: LeftOut | None = None

    def refuse(self, kind: str, line: int | None, message: str, content: str = "", *, rows: int = 1) -> None:
        """Leave a row out, or raise what is wrong with it; `rows=0` where the row is passed over later."""
        if self.left_out is None:
            raise FileFormatError(self.name, line, message)
        self.left_out.add(kind, line, message, content, rows=rows)

    @property
    def name(self) -> str:
        """What messages call it.

        >>> Source("-", "csv").name
        '<stdin>'
        """
        return "<stdin>" if self.path == STDIN else self.path

    @contextlib.contextmanager
    def bytes(self) -> Iterator[IO[bytes]]:
        """A stream of the decompressed bytes.

        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "rows.csv")
        ...     _ = path.write_text("text")
        ...     with Source(str(path), "csv").bytes() as stream:
        ...         stream.read()
        b'text'
        """
        if self.path != STDIN:
            with reading(self.path) as stream:
                yield stream
            return
        try:
            yield decompressed(self.name, cast(IO[bytes], io.BufferedReader(_Unread(sys.stdin.buffer))))
        except DAMAGED as error:
            raise damaged(self.name, error) from error


class _Unread(io.RawIOBase):
    """A stream that cannot seek, except back to its start after the few bytes that tell the compression."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._head = b""
        self._again = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._again, self._head = self._head, b""
        return 0

    def readinto(self, buffer: Any) -> int:
        if self._again:
            piece, self._again = self._again[: len(buffer)], self._again[len(buffer) :]
        else:
            piece = (
                self._stream.read1(len(buffer)) if hasattr(self._stream, "read1") else self._stream.read(6)
            )
            self._head = piece
        buffer[: len(piece)] = piece
        return len(piece)


def open_source(
    path: str, format: str | None, encoding: str | None = None, delimiter: str | None = None
) -> Source:
    """The source of a path; the format is that of the suffix unless it is given.

    >>> open_source("rows.dat", None)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: rows.dat: the name does not tell the format; give --format csv, tsv, jsonl, \
parquet, libsvm or lines
    """
    choices = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
    if format is None:
        format = None if path == STDIN else _SUFFIXES.get(plain_suffix(path))
        if format is None:
            if path != STDIN and plain_suffix(path) in _SPREADSHEETS:
                raise DataError(f"{path} is a spreadsheet; save it as CSV, and give that")
            what = (
                "standard input has no name to tell its format"
                if path == STDIN
                else (f"{path}: the name does not tell the format")
            )
            raise DataError(f"{what}; give --format {choices}")
    if format not in FORMATS:
        raise DataError(f"--format {format} is not known; choose {choices}")
    if format == "parquet" and path == STDIN:
        raise DataError("a Parquet file cannot be read from standard input; give its name")
    if format not in TABLES and (encoding is not None or delimiter is not None):
        option = "--encoding" if encoding is not None else "--delimiter"
        raise DataError(f"{option} is for CSV, TSV, JSON lines and texts; {path} is {format}")
    return Source(path, format, _checked_encoding(encoding), _checked_delimiter(delimiter))


def _checked_encoding(encoding: str | None) -> str | None:
    if encoding is None:
        return None
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # not one of the codecs from bytes to bytes
    except (LookupError, ValueError):
        raise DataError(
            f"--encoding {encoding} is not known; give utf-8, latin-1, cp1252, utf-16, ..."
        ) from None
    return None if name in ("utf-8", "utf-8-sig") else name


def _checked_delimiter(delimiter: str | None) -> str | None:
    if delimiter is None:
        return None
    found = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(delimiter, delimiter)
    if len(found) != 1 or found in '"\r\n':
        raise DataError(f"--delimiter {delimiter} is not allowed; give one character, or tab")
    return found


@contextlib.contextmanager
def about(source: Source) -> Iterator[None]:
    """Name the file in errors that do not name one by themselves.

    >>> with about(Source("rows.csv", "csv")):
    ...     raise DataError("y holds a single class")
    Traceback (most recent call last):
    ...
    taxolearn.errors.FileFormatError: rows.csv: y holds a single class
    """
    try:
        yield
    except (FileFormatError, EngineError):  # an engine's trouble is not the file's
        raise
    except TaxolearnError as error:
        raise FileFormatError(source.name, None, str(error)) from error
