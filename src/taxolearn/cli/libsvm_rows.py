"""libsvm rows for the commands: block by block, with the lines they stand on, and past lines that are wrong."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from taxolearn.cli.inputs import Source
from taxolearn.cli.labels import Columns, TextRow
from taxolearn.errors import FileFormatError

if TYPE_CHECKING:
    from taxolearn.datasets._rows import RowReader

_FEATURES = re.compile(r"(?:^|\s)(?=\S+:)")  # where the features of a line begin


class Block(NamedTuple):
    """Rows that stand together: what was read of them, their text, and the number of its first line.

    >>> Block(None, b"# pets\\nCat 1:1\\n", 7).lines(1)
    [(8, 'Cat 1:1')]
    """

    reader: Any
    text: bytes
    first_line: int

    def lines(self, n_rows: int) -> list[tuple[int, str]]:
        """The number and the text of the line of every row; lines of comments alone are no rows."""
        raw = self.text.decode("utf-8", "replace").split("\n")
        if len(raw) != n_rows + 1:
            return [(self.first_line + k, line) for k, line in enumerate(raw) if line.split("#")[0].strip()]
        return [(self.first_line + k, line) for k, line in enumerate(raw[:-1])]


def libsvm_blocks(source: Source, n_features: int | None = None) -> Iterator[Block]:
    """The rows of a libsvm file, some megabytes at a time; lines that are wrong are refused, in their turn.

    >>> import tempfile, pathlib
    >>> from taxolearn.cli.left_out import LeftOut
    >>> found = LeftOut()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.svm")
    ...     _ = path.write_text("Cat 1:1\\nDog 1:one\\nEmu 2:1\\n")
    ...     pets = Source(str(path), "libsvm", left_out=found)
    ...     [(block.reader.labels, block.first_line) for block in libsvm_blocks(pets)]
    [([['Cat']], 1), ([['Emu']], 3)]
    >>> found.problems[0].line, found.problems[0].message
    (2, "expected a number, found 'one'")
    """
    from taxolearn.datasets._files import line_blocks

    empty = True
    with source.bytes() as stream:
        for text, line in line_blocks(stream):
            empty = False
            yield from _readable(source, text, line, n_features)
    if empty:
        raise FileFormatError(source.name, None, "expected rows, found none; the file is empty")


def _readable(source: Source, text: bytes, line: int, n_features: int | None) -> Iterator[Block]:
    """The parts of a block that can be read; halves, and halves of these, where a line is wrong."""
    try:
        yield Block(_read(source, text, line, n_features), text, line)
        return
    except FileFormatError as error:
        if source.left_out is None:
            raise
        problem = error
    middle = text.find(b"\n", len(text) // 2) + 1 or text.find(b"\n") + 1
    if middle in (0, len(text)):
        middle = text.find(b"\n") + 1
    if middle in (0, len(text)):
        source.refuse("row", line, problem.message, text.decode("utf-8", "replace").strip())
        return
    yield from _readable(source, text[:middle], line, n_features)
    yield from _readable(source, text[middle:], line + text.count(b"\n", 0, middle), n_features)


def _read(source: Source, text: bytes, line: int, n_features: int | None) -> RowReader:
    from taxolearn.datasets._rows import RowReader

    reader = RowReader(source.name, str, n_features=n_features)
    with finite_only():
        reader.read(io.BytesIO(text), first_line=line)
    return reader


def read_libsvm(source: Source, columns: Columns, n_features: int | None) -> tuple[Any, list[TextRow]]:
    """The features of all rows with labels, and these rows with lines and labels, the features as their text.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.svm")
    ...     _ = path.write_text("Cat 1:1\\nDog 2:1\\n")
    ...     features, rows = read_libsvm(Source(str(path), "libsvm"), Columns(), None)
    >>> features.shape, rows[1]
    ((2, 2), TextRow(line=2, text='2:1', paths=[('Dog',)], kept=('Dog 2:1',)))
    """
    import scipy.sparse as sp

    parts: list[Any] = []
    rows: list[TextRow] = []
    for block in libsvm_blocks(source, n_features):
        labels, kept = block.reader.labels, []
        for k, (line, text) in enumerate(block.lines(len(labels))):
            if labels[k]:
                kept.append(k)
                paths = [_path(label, columns) for label in labels[k]]
                rows.append(TextRow(line, _features(text), paths, (text.strip(),)))
            else:
                source.refuse("label", line, "expected a label, found none; every row needs one", text)
        features = block.reader.matrix()
        parts.append(features if len(kept) == len(labels) else features[kept])
    width = max((part.shape[1] for part in parts), default=0)
    for part in parts:
        part.resize(part.shape[0], width)
    return sp.csr_array(sp.vstack(parts)) if len(parts) > 1 else (parts or [None])[0], rows


def _features(line: str) -> str:
    found = _FEATURES.search(line)
    return "" if found is None else line[found.end() :].strip()


def _path(label: Hashable, columns: Columns) -> tuple[str, ...]:
    return tuple(str(label).split(columns.sep)) if columns.sep else (str(label),)


@contextlib.contextmanager
def finite_only() -> Iterator[None]:
    """Say what a person at the command line can do about a missing value.

    >>> with finite_only():
    ...     raise FileFormatError("a.svm", 3, "expected a finite number, found 'nan'; pass allow_nan=True to keep it")
    Traceback (most recent call last):
    ...
    taxolearn.errors.FileFormatError: a.svm:3: expected a finite number, found 'nan'; leave the entry out, or fill it in
    """
    try:
        yield
    except FileFormatError as error:
        said = error.message.replace("pass allow_nan=True to keep it", "leave the entry out, or fill it in")
        raise FileFormatError(error.path, error.line, said) from error
