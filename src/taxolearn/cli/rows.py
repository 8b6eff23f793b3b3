"""Chosen columns of a table, row by row with line numbers; constant memory whatever the length."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

from taxolearn.cli.console import say
from taxolearn.cli.inputs import Source
from taxolearn.datasets._files import decoded, quoted
from taxolearn.datasets.jsonl import _record
from taxolearn.errors import FileFormatError
from taxolearn.opening import BOM

_PARQUET_ROWS = 4096  # rows of a Parquet file read at a time

Picked = Iterator[tuple[int, Sequence[Any]]]


@dataclass(frozen=True)
class Table:
    """The names of the columns, and a function from some of them to the rows: (line number, values).

    `twice` are the names that several columns have; all but the first of these are called "name (2)" and so on.

    >>> next(Table(["text"], lambda names: iter([(1, ("it purrs",))])).pick(["text"]))
    (1, ('it purrs',))
    """

    names: list[str]
    pick: Callable[[Sequence[str]], Picked]
    twice: frozenset[str] = frozenset()


@contextlib.contextmanager
def open_table(source: Source) -> Iterator[Table]:
    """The table of a CSV, TSV, JSON lines, Parquet or plain text file; columns are named by the caller.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     _ = path.write_text("id,text\\n7,it purrs\\n")
    ...     with open_table(Source(str(path), "csv")) as table:
    ...         table.names, list(table.pick(["text"]))
    (['id', 'text'], [(2, ('it purrs',))])
    """
    if source.format == "parquet":
        yield _parquet(source)
        return
    limit = csv.field_size_limit(sys.maxsize)  # texts may be long
    try:
        with source.bytes() as stream:
            bad: set[int] = set()  # lines with bytes that are no text
            if source.format in ("csv", "tsv"):
                # Line by line, not through a text stream, whose blocks would blur where a bad byte is.
                yield _delimited(source, _lines(source, stream, bad, keep_ends=True), bad)
            elif source.format == "jsonl":
                yield _json(source, ((n, text) for n, text in _lines(source, stream, bad) if n not in bad))
            else:
                rows = ((line, (text,)) for line, text in _lines(source, stream, bad) if line not in bad)
                yield Table(["text"], lambda names: rows)
    finally:
        csv.field_size_limit(limit)


def _lines(
    source: Source, stream: Any, bad: set[int], *, keep_ends: bool = False
) -> Iterator[tuple[int, str]]:
    """Numbered lines of text; those that cannot be decoded are `bad`, and show what can be shown."""
    number = 0
    for number, raw in enumerate(_encoded(source, stream), 1):
        if number == 1:
            raw = raw.removeprefix(BOM)
            if (told := _what_else(raw)) is not None:
                raise FileFormatError(source.name, 1, told)
        raw = raw if keep_ends else raw.rstrip(b"\r\n")
        try:
            yield number, decoded(source.name, number, raw)
        except FileFormatError as error:
            message = error.message.replace(
                "convert the file to UTF-8", "give --encoding cp1252, latin-1, ..."
            )
            shown = raw.decode("utf-8", "replace").replace("\0", "\ufffd")
            source.refuse("encoding", number, message, shown.rstrip("\r\n"), rows=0 if keep_ends else 1)
            bad.add(number)
            yield number, shown
    if number == 0:
        raise FileFormatError(source.name, None, "the file is empty")


def _what_else(line: bytes) -> str | None:
    """What a file is that is no text in UTF-8, by its first line; None where it may be one."""
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "the file is UTF-16; give --encoding utf-16"
    if line.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return "the file is a spreadsheet or an archive, no text; save it as CSV"
    if len(line) > 1 and line[1::2].count(0) > len(line) // 4:
        return "the file looks like UTF-16; give --encoding utf-16-le"
    if b"\r" in line.rstrip(b"\r\n") and b'"' not in line:
        return "lines end in carriage returns alone; save the file with the line ends of Unix or Windows"
    return None


def _encoded(source: Source, stream: Any) -> Iterator[bytes]:
    """The lines of the file as UTF-8."""
    if source.encoding is None:
        yield from stream
        return
    lines = io.TextIOWrapper(stream, encoding=source.encoding, newline="")
    number = 0
    try:
        for number, text in enumerate(lines, 1):
            yield (text.removeprefix("\ufeff") if number == 1 else text).encode()
    except UnicodeError as error:
        message = f"expected text in {source.encoding} ({error}); give another --encoding"
        raise FileFormatError(source.name, number + 1, message) from error
    finally:
        lines.detach()


def sniffed_delimiter(header: str, usual: str) -> str:
    """What separates the cells of a header: that of the most cells, of equals the usual one.

    >>> sniffed_delimiter("title;path", ","), sniffed_delimiter('"a;b",c', ","), sniffed_delimiter("text", ",")
    (';', ',', ',')
    """
    cells = {
        mark: len(next(csv.reader([header], delimiter=mark), ())) for mark in (usual, ",", ";", "\t", "|")
    }
    return max(cells, key=lambda mark: cells[mark])


def _delimited(source: Source, lines: Iterator[tuple[int, str]], bad: set[int]) -> Table:
    usual = "," if source.format == "csv" else "\t"
    number, first = next(lines)
    told = first.strip()
    if told.lower().startswith("sep=") and len(told) == 5:  # how Excel is told
        delimiter, skipped = source.delimiter or told[4], number
    else:
        delimiter, skipped = source.delimiter or sniffed_delimiter(first, usual), 0
        lines = chain([(number, first)], lines)
    if delimiter != usual and source.delimiter is None:
        say(f"{source.name}: cells are separated by {delimiter!r}")
    reader = csv.reader((text for _, text in lines), delimiter=delimiter, strict=True)
    rows = _numbered(source, reader, skipped)
    _, given = next(rows, (1, []))
    if number in bad and source.left_out is not None:  # nothing can be told without a header
        raise FileFormatError(source.name, number, source.left_out.problems[0].message)
    header, twice = _different(given)
    last = reader.line_num + skipped

    def pick(names: Sequence[str]) -> Picked:
        nonlocal last
        places = [header.index(name) for name in names]
        # With one place itemgetter returns the cell itself, not a tuple of it.
        chosen = itemgetter(*places) if len(places) > 1 else lambda cells: tuple(cells[k] for k in places)
        for line, cells in rows:
            before, last = last, line
            if bad and not bad.isdisjoint(range(before + 1, line + 1)):
                if source.left_out is not None:
                    source.left_out.rows += 1
                continue  # told already
            if len(cells) > len(header) and not any(cells[len(header) :]):
                cells = cells[: len(header)]  # nothing but delimiters at the end
            if len(cells) != len(header):
                message = f"expected {len(header)} cells, found {len(cells)}"
                source.refuse("cells", line, message, delimiter.join(cells))
                continue
            yield line, chosen(cells)

    return Table(header, pick, twice)


def _numbered(source: Source, reader: Any, skipped: int) -> Iterator[tuple[int, list[str]]]:
    """The rows with their last line; those whose quotes go wrong are refused."""
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            line = reader.line_num + skipped
            source.refuse("quotes", line, f"expected a row of a CSV table, found: {error}")
            continue
        if cells:
            yield reader.line_num + skipped, cells


def _different(header: Sequence[str]) -> tuple[list[str], frozenset[str]]:
    """The names of columns, each once, and which of them came several times."""
    names: list[str] = []
    for name in header:
        number, new = 1, name
        while new in names:
            number += 1
            new = f"{name} ({number})"
        names.append(new)
    return names, frozenset(name for name in header if header.count(name) > 1)


def _json(source: Source, lines: Iterator[tuple[int, str]]) -> Table:
    records = _records(source, lines)
    first = next(records, None)
    if first is None:
        for problem in source.left_out.problems if source.left_out is not None else ():
            raise FileFormatError(source.name, problem.line, problem.message)
        raise FileFormatError(source.name, None, "expected JSON objects, one a line, found none")

    def pick(names: Sequence[str]) -> Picked:
        for line, record in chain([first], records):
            missing = [name for name in names if name not in record]
            if missing:
                found = quoted(", ".join(record), limit=100)
                message = f"expected the field {quoted(missing[0])}, found {found}"
                source.refuse("cells", line, message, json.dumps(record, ensure_ascii=False, default=str))
                continue
            yield line, tuple(record[name] for name in names)

    return Table(list(first[1]), pick)


def _records(source: Source, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, raw in lines:
        if raw.strip():
            try:
                record = _record(source.name, line, raw)
            except FileFormatError as error:
                source.refuse("record", line, error.message, raw)
                continue
            yield line, record


def _parquet(source: Source) -> Table:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError as error:
        message = "reading Parquet needs the pyarrow package; install taxolearn[parquet]"
        raise FileFormatError(source.name, None, message) from error
    try:
        file = pq.ParquetFile(source.path)
        header, twice = _different(file.schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        message = f"the Parquet file cannot be read ({_first_line(error)})"
        raise FileFormatError(source.name, None, message) from error
    if twice:
        message = f"expected different column names, found {quoted(min(twice))} twice"
        raise FileFormatError(source.name, None, message)

    def pick(names: Sequence[str]) -> Picked:
        number = 0
        try:
            for batch in file.iter_batches(_PARQUET_ROWS, columns=list(names)):
                columns = [batch.column(name).to_pylist() for name in names]
                for values in zip(*columns, strict=True):
                    number += 1
                    yield number, values
        # values that Python cannot hold, such as the year 10,000, are ValueError or OverflowError
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            message = f"the Parquet file is damaged ({_first_line(error)})"
            raise FileFormatError(source.name, number + 1, message) from error

    return Table(header, pick)


def _first_line(error: BaseException) -> str:
    return str(error).split("\n")[0][:120]
