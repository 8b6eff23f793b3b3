"""Chosen columns of a table, row by row with line numbers; constant memory whatever the length."""

from __future__ import annotations

import contextlib
import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from taxolearn.cli.inputs import Source
from taxolearn.datasets._files import _BOM, decoded, quoted
from taxolearn.datasets.jsonl import _record
from taxolearn.datasets.level_table import _checked_rows
from taxolearn.errors import FileFormatError

_PARQUET_ROWS = 4096  # rows of a Parquet file read at a time

Picked = Iterator[tuple[int, Sequence[Any]]]


@dataclass(frozen=True)
class Table:
    """The names of the columns, and a function from some of them to the rows: (line number, values).

    >>> next(Table(["text"], lambda names: iter([(1, ("it purrs",))])).pick(["text"]))
    (1, ('it purrs',))
    """

    names: list[str]
    pick: Callable[[Sequence[str]], Picked]


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
            if source.format in ("csv", "tsv"):
                # Line by line, not through a text stream, whose blocks would blur where a bad byte is.
                lines = (text for _, text in _lines(source, stream, keep_ends=True))
                delimiter = "," if source.format == "csv" else "\t"
                yield _delimited(source, csv.reader(lines, delimiter=delimiter, strict=True))
            elif source.format == "jsonl":
                yield _json(source, _lines(source, stream))
            else:
                rows = ((line, (text,)) for line, text in _lines(source, stream))
                yield Table(["text"], lambda names: rows)
    finally:
        csv.field_size_limit(limit)


def _lines(source: Source, stream: Any, *, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
    number = 0
    for number, raw in enumerate(stream, 1):
        if number == 1:
            raw = raw.removeprefix(_BOM)
        yield number, decoded(source.name, number, raw if keep_ends else raw.rstrip(b"\r\n"))
    if number == 0:
        raise FileFormatError(source.name, None, "the file is empty")


def _delimited(source: Source, reader: Any) -> Table:
    rows = _checked_rows(source.name, reader)
    _, header = next(rows, (1, []))
    _check_names(source, header, 1)

    def pick(names: Sequence[str]) -> Picked:
        places = [header.index(name) for name in names]
        # With one place itemgetter returns the cell itself, not a tuple of it.
        chosen = itemgetter(*places) if len(places) > 1 else lambda cells: tuple(cells[k] for k in places)
        for line, cells in rows:
            if len(cells) != len(header):
                message = f"expected {len(header)} cells, found {len(cells)}"
                raise FileFormatError(source.name, line, message)
            yield line, chosen(cells)

    return Table(header, pick)


def _check_names(source: Source, header: Sequence[str], line: int | None) -> None:
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        message = f"expected different column names, found {quoted(twice)} twice"
        raise FileFormatError(source.name, line, message)


def _json(source: Source, lines: Iterator[tuple[int, str]]) -> Table:
    records = ((line, _record(source.name, line, raw)) for line, raw in lines if raw.strip())
    first = next(records, None)
    if first is None:
        raise FileFormatError(source.name, None, "expected JSON objects, one a line, found none")

    def pick(names: Sequence[str]) -> Picked:
        for line, record in _chain(first, records):
            missing = [name for name in names if name not in record]
            if missing:
                found = quoted(", ".join(record), limit=100)
                message = f"expected the field {quoted(missing[0])}, found {found}"
                raise FileFormatError(source.name, line, message)
            yield line, tuple(record[name] for name in names)

    return Table(list(first[1]), pick)


def _chain(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from others


def _parquet(source: Source) -> Table:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError as error:
        message = "reading Parquet needs the pyarrow package; install taxolearn[parquet]"
        raise FileFormatError(source.name, None, message) from error
    try:
        file = pq.ParquetFile(source.path)
        header = list(file.schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        message = f"the Parquet file cannot be read ({_first_line(error)})"
        raise FileFormatError(source.name, None, message) from error
    _check_names(source, header, None)

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
