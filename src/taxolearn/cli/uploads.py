"""Files that come over the wire, read as `predict` reads files."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, NamedTuple, TypeVar, cast

from taxolearn.cli.inputs import Source, open_source
from taxolearn.cli.labels import Columns, text_rows
from taxolearn.cli.left_out import LeftOut
from taxolearn.cli.rows import Table, open_table
from taxolearn.errors import DataError

_FORMATS = ("csv", "tsv", "jsonl", "lines", "libsvm")
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
_LABELS = ("label", "labels")
_ROWS_LOOKED_AT = 50  # for the column of the texts
_NAME = 100  # characters of a file's name that messages repeat

Row = TypeVar("Row")


@dataclass(frozen=True)
class _Bytes(Source):
    """A source whose content is here already; it is not decompressed, so that nothing grows."""

    content: bytes = b""

    @contextlib.contextmanager
    def bytes(self) -> Iterator[IO[bytes]]:
        """A stream of the content."""
        yield cast(IO[bytes], io.BytesIO(self.content))


class Upload(NamedTuple):
    """What is read of a file: its columns, that of the texts, the texts, and how many rows could not be used.

    >>> Upload(["text"], "text", ["it purrs"], 0).texts
    ['it purrs']
    """

    columns: list[str]
    column: str
    texts: list[str]
    left_out: int


def upload_reader(model: Any) -> Callable[[str, bytes, str | None, int], Upload]:
    """The function (name, content, column, most rows) that reads files for this model.

    Of models of texts: a CSV, TSV, JSON lines or text file; where no column is named and none is called `text`, it is
    the one with the longest cells. Of models over numbers: a CSV table of the features, or libsvm lines. One row more
    than asked for is read, so that it is known that there are more.

    >>> from taxolearn import OneVsRestSVM
    >>> read = upload_reader(OneVsRestSVM().fit([[-1.0, 0.0], [1.0, 0.0]], ["a", "b"]))
    >>> read("rows.csv", b"x,y,label\\n0.5,2,a\\n", None, 10).texts
    ['0.5,2']
    >>> read("rows.svm", b"a 1:0.5 2:2\\n", None, 10).texts
    ['1:0.5 2:2']
    """

    def read(name: str, content: bytes, column: str | None, most: int) -> Upload:
        given = open_source(name[-_NAME:], None)
        if given.format not in _FORMATS or name.lower().endswith(_COMPRESSED):
            raise DataError(f"{given.name}: give a CSV, TSV, JSON lines or text file, not compressed")
        of_texts = hasattr(model, "features_")
        if given.format == ("libsvm" if of_texts else "lines"):
            wants = "texts" if of_texts else "rows of numbers, as CSV or libsvm"
            raise DataError(f"{given.name}: this model takes {wants}")
        left_out = LeftOut()
        source = _Bytes(given.path, given.format, left_out=left_out, content=content)
        if given.format == "libsvm":
            lines = islice(_without_labels(content), most + 1)
            return Upload([], "features", list(lines), 0)
        with open_table(source) as table:
            if not of_texts:
                return _numbers(table, model, most, left_out)
            if column is None and given.format != "lines":
                table, column = _with_longest(table)
            columns = Columns(text=column)
            found = [row.text for row in _some(text_rows(source, table, columns, labels=False), most)]
            return Upload(list(table.names), columns.text_column(source, table), found, left_out.rows)

    return read


def _some(rows: Iterable[Row], most: int) -> list[Row]:
    return list(islice(rows, most + 1))


def _with_longest(table: Table) -> tuple[Table, str | None]:
    """The same table, and its column of texts: `text` if there is one, else that with the longest cells."""
    if any(name.strip().casefold() == "text" for name in table.names) or not table.names:
        return table, None
    names = list(table.names)
    rows = table.pick(names)
    first = list(islice(rows, _ROWS_LOOKED_AT))
    lengths = [
        sum(len(cell) for _, cells in first if isinstance(cell := cells[k], str)) for k in range(len(names))
    ]

    def pick(wanted: Sequence[str]) -> Iterator[tuple[int, Sequence[Any]]]:
        places = [names.index(name) for name in wanted]
        for part in (first, rows):
            for line, cells in part:
                yield line, tuple(cells[k] for k in places)

    return Table(names, pick, table.twice), names[lengths.index(max(lengths))]


def _numbers(table: Table, model: Any, most: int, left_out: LeftOut) -> Upload:
    names = list(table.names)
    features = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if features and set(features) <= set(names):
        chosen = features
    elif len(names) == model.n_features_in_:
        chosen = names
    else:
        chosen = [name for name in names if name.strip().casefold() not in _LABELS]
    rows = _some(table.pick(chosen), most)
    lines = [",".join("" if cell is None else str(cell) for cell in cells) for _, cells in rows]
    return Upload(names, ", ".join(chosen), lines, left_out.rows)


def _without_labels(content: bytes) -> Iterator[str]:
    """The features of libsvm lines."""
    for line in content.decode("utf-8", "replace").splitlines():
        cells = line.split("#")[0].split()
        if cells:
            yield " ".join(cell for place, cell in enumerate(cells) if place or ":" in cell)
