"""CSV tables with one column per level of the taxonomy, as HiClass uses them."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taxolearn.datasets._files import PathLike, quoted, reading, safe_cell, writing
from taxolearn.datasets._names import build, name_texts
from taxolearn.datasets._numbers import features_of, number_texts, parse_number
from taxolearn.datasets.dataset import Dataset
from taxolearn.errors import DataError, FileFormatError, LabelError
from taxolearn.structure.assembly import ARTIFICIAL_ROOT

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

_NUL = re.compile("\0")


def read_level_table(
    path: PathLike,
    *,
    levels: Sequence[str] | None = None,
    text: str | None = "text",
    delimiter: str = ",",
    sep: str = "/",
    repeated: str = "path",
) -> Dataset:
    r"""Read a CSV table whose level columns hold each row's path, shorter paths ending in empty cells.

    A row's label is the last name of its path; the taxonomy is made of the paths that occur. All columns that
    are neither levels nor text are numbers; an empty one is nan.

    Parameters
    ----------
    path : str or path
    levels : sequence of str, optional
        The level columns from the top down; by default those whose name starts with "level".
    text : str or None
        The column of texts, when there is one of this name.
    delimiter : str
        What separates the cells.
    sep, repeated : str
        What happens to a name that occurs under two parents; see `Taxonomy.from_paths`. By default each is
        called by its whole path, joined by `sep`.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     _ = path.write_text("text,level_1,level_2\nit purrs,Mammal,Cat\nit swims,Fish,\n")
    ...     pets = read_level_table(path)
    >>> pets.y, pets.texts, pets.taxonomy
    (['Cat', 'Fish'], ['it purrs', 'it swims'], Taxonomy(tree, 4 nodes, 2 leaves, depth 2))
    """
    from taxolearn.structure import Taxonomy

    with _table(path, delimiter) as rows:
        _, header = next(rows, (1, []))
        columns = _Columns(path, header, levels, text)
        paths, texts, numbers = [], [], []
        for line, cells in rows:
            if len(cells) != len(header):
                raise FileFormatError(path, line, f"expected {len(header)} cells, found {len(cells)}")
            paths.append(columns.path_of(line, cells))
            numbers.append(columns.numbers_of(line, cells))
            if columns.text is not None:
                texts.append(cells[columns.text])
    if not paths:
        raise FileFormatError(path, None, "expected rows after the header, found none")
    taxonomy = build(path, None, Taxonomy.from_paths, paths, sep=sep, repeated=repeated)
    y: list[Hashable] = []
    for names in paths:
        whole = sep.join(names)
        y.append(whole if repeated == "path" and whole in taxonomy else names[-1])
    X: NDArray[np.float64] | None = None
    if columns.features or columns.text is None:
        X = np.array(numbers, np.float64).reshape(len(paths), len(columns.features))
    return Dataset(
        X,
        y,
        taxonomy,
        None if columns.text is None else texts,
        None if X is None else tuple(header[k] for k in columns.features),
        Path(path).name,
    )


class _Columns:
    """Which column of the table is what."""

    def __init__(
        self, path: PathLike, header: list[str], levels: Sequence[str] | None, text: str | None
    ) -> None:
        self.path = path
        self.header = header
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise FileFormatError(path, 1, f"expected different column names, found {quoted(twice)} twice")
        wanted = (
            [name for name in header if name.lower().startswith("level")] if levels is None else list(levels)
        )
        missing = [name for name in wanted if name not in header]
        if missing or not wanted:
            expected = (
                f"a column {quoted(missing[0])}" if missing else "columns whose name starts with 'level'"
            )
            found = quoted(", ".join(header), limit=200)
            raise FileFormatError(
                path, 1, f"expected {expected}, found {found}; pass levels=[...] to name them"
            )
        self.levels = [header.index(name) for name in wanted]
        self.text = header.index(text) if text in header and text not in wanted else None
        self.features = [k for k in range(len(header)) if k not in self.levels and k != self.text]

    def path_of(self, line: int, cells: list[str]) -> list[str]:
        names = [cells[k] for k in self.levels]
        while names and not names[-1]:
            names.pop()
        if not names or "" in names:
            found = "none" if not names else "an empty cell above " + quoted(names[-1])
            raise FileFormatError(
                self.path, line, f"expected names in the level columns from the top, found {found}"
            )
        return names

    def numbers_of(self, line: int, cells: list[str]) -> list[float]:
        numbers = []
        for k in self.features:
            try:
                numbers.append(parse_number(cells[k]) if cells[k] else math.nan)
            except ValueError as error:
                column = f"column {quoted(self.header[k])}"
                raise FileFormatError(
                    self.path, line, f"expected a number in {column}, found {quoted(cells[k])}"
                ) from error
        return numbers


@contextmanager
def _table(path: PathLike, delimiter: str) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """The rows of a CSV file with the number of their last line."""
    limit = csv.field_size_limit(sys.maxsize)  # texts may be long
    try:
        with reading(path) as stream:
            lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            try:
                reader = csv.reader(lines, delimiter=delimiter, strict=True)
            except TypeError as error:
                raise DataError(f"delimiter must be one character, found {delimiter!r}") from error
            yield _checked_rows(path, reader)
            lines.detach()
    finally:
        csv.field_size_limit(limit)


def _checked_rows(path: PathLike, reader: Any) -> Iterator[tuple[int, list[str]]]:
    try:
        for cells in reader:
            if any("\0" in cell for cell in cells):
                raise FileFormatError(
                    path, reader.line_num, "expected text, found the byte 0x00; it looks binary"
                )
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise FileFormatError(
            path, reader.line_num, f"expected a row of a CSV table, found: {error}"
        ) from error
    except UnicodeDecodeError as error:
        found = f"the byte 0x{error.object[error.start]:02x}"
        message = f"expected UTF-8 text, found {found}; convert the file to UTF-8"
        raise FileFormatError(path, reader.line_num + 1, message) from error
    if reader.line_num == 0:
        raise FileFormatError(path, None, "the file is empty")


def write_level_table(
    path: PathLike, dataset: Dataset, *, delimiter: str = ",", csv_safe: bool = False
) -> None:
    r"""Write what `read_level_table` reads: columns level_1, level_2, ..., then text and features.

    Only single labels of a tree fit. Nodes on no row's path are not part of the table, nor is an artificial
    root ("<root>"). With `csv_safe` names and texts that start with = + - @, tab or CR get an apostrophe before them,
    for spreadsheets that would take them for formulas; read again, they keep it.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Mammal/Cat", "Fish"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     write_level_table(path, Dataset(None, ["Cat", "Fish"], tree, ["it purrs", "it swims"]))
    ...     print(path.read_text(), end="")
    level_1,level_2,text
    Mammal,Cat,it purrs
    Fish,,it swims
    """
    paths = _label_paths(dataset)
    depth = max(map(len, paths))
    names = [f"level_{k + 1}" for k in range(depth)]
    if dataset.texts is not None:
        names.append("text")
        if any("\0" in text for text in dataset.texts):
            raise DataError("a text holds the character NUL, which a CSV table cannot")
    features = dataset.feature_names or tuple(f"x{k + 1}" for k in range(dataset.n_features))
    taken = [name for name in features if name in names or name.lower().startswith("level") or "\0" in name]
    if taken or len(set(features)) < len(features):
        raise DataError(
            f"a level table cannot have a feature called {taken[0]!r}"
            if taken
            else "two features share a name"
        )
    X = None if dataset.X is None else features_of(dataset, "a level table")
    safe = safe_cell if csv_safe else str
    with writing(path) as stream:
        # Lines end in CR LF (RFC 4180): only then does the writer quote a lone CR inside a text.
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\r\n")
        writer.writerow([*names, *map(safe, features)])
        for row, path_names in enumerate(paths):
            cells = [*map(safe, path_names), *[""] * (depth - len(path_names))]
            if dataset.texts is not None:
                cells.append(safe(dataset.texts[row]))
            if X is not None:
                cells.extend("" if value == "nan" else value for value in number_texts(_dense_row(X, row)))
            writer.writerow(cells)


def _dense_row(X: NDArray[Any] | sparse.csr_array, row: int) -> NDArray[Any]:
    dense: NDArray[Any] = X[row] if isinstance(X, np.ndarray) else X[[row]].toarray()[0]
    return dense


def _label_paths(dataset: Dataset) -> list[list[str]]:
    taxonomy = dataset.taxonomy
    if taxonomy is None or not taxonomy.is_tree:
        raise DataError("a level table needs a taxonomy that is a tree")
    texts = name_texts(taxonomy.nodes, _NUL, "a level table")
    of_label: dict[Hashable, list[str]] = {}
    paths = []
    for row, labels in enumerate(dataset.label_rows()):
        if len(labels) != 1:
            raise LabelError(f"row {row}: a level table holds one label per row, found {len(labels)}")
        label = labels[0]
        if label not in of_label:
            names = [texts[name] for name in taxonomy.path(label)]
            of_label[label] = names[1:] if names[0] == ARTIFICIAL_ROOT else names
        if not of_label[label]:
            raise LabelError(f"row {row}: the artificial root {label!r} cannot be the label of a row")
        paths.append(of_label[label])
    if not paths:
        raise DataError("the dataset has no rows; a level table needs one at least")
    return paths
