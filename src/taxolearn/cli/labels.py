"""Texts and labels out of a table: which columns, what a label is, what taxonomy label paths spell."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from taxolearn.cli.console import say
from taxolearn.cli.inputs import Source, plain_suffix
from taxolearn.cli.rows import Table
from taxolearn.datasets._files import quoted
from taxolearn.errors import FileFormatError

if TYPE_CHECKING:
    from taxolearn.structure import ClassGraph, Taxonomy

_SEPARATORS = {".tsv": "\t", ".tab": "\t", ".csv": ","}  # of edge files, by suffix; blanks elsewhere

_LABEL_COLUMNS = ("label", "labels")


@dataclass(frozen=True)
class Columns:
    """What the options say about columns and labels.

    text, label : names of columns; by default "text", and "label", "labels" or columns called "level...".
    levels : columns of a path, from the top down.
    sep : what separates the names of a path inside a label ("Animal/Cat"); None: as the labels themselves show.
    label_sep : what separates several labels in one cell.

    >>> Columns(sep=" > ").joint, Columns(sep="|").joint
    (' > ', '/')
    """

    text: str | None = None
    label: str | None = None
    levels: tuple[str, ...] = ()
    sep: str | None = None
    label_sep: str | None = None

    def text_column(self, source: Source, table: Table) -> str:
        """The column of texts, which must be there."""
        return _present(source, table, self.text or "text", "--text")

    def label_columns(self, source: Source, table: Table) -> list[str]:
        """The label column, or the level columns."""
        if self.levels:
            return [_present(source, table, name, "--level") for name in self.levels]
        if self.label is not None:
            return [_present(source, table, self.label, "--label")]
        for name in _LABEL_COLUMNS:
            if _column(table, name) is not None:
                return [_present(source, table, name, "--label")]
        levels = [name for name in table.names if name.strip().lower().startswith("level")]
        numbers = [re.findall(r"\d+", name) for name in levels]
        if all(numbers) and len({found[0] for found in numbers}) == len(
            levels
        ):  # level 2 may stand before level 1
            levels.sort(key=lambda name: int(re.findall(r"\d+", name)[0]))
        return levels or [_present(source, table, "label", "--label")]

    @property
    def joint(self) -> str:
        """What joins the names of a path to the name of a node."""
        from taxolearn.structure.navigation import JOINTS

        return self.sep if self.sep in JOINTS else "/"


def _column(table: Table, name: str) -> str | None:
    """The column of this name, or the only one that differs from it in case or blanks around it."""
    if name in table.names:
        return name
    alike = [other for other in table.names if other.strip().casefold() == name.strip().casefold()]
    return alike[0] if len(alike) == 1 else None


def _present(source: Source, table: Table, name: str, option: str) -> str:
    column = _column(table, name)
    if column is None:
        found = quoted(", ".join(table.names), limit=100)
        message = f"expected a column {quoted(name)}, found {found}; name it with {option}"
        raise FileFormatError(source.name, 1, message)
    if column in table.twice:
        raise FileFormatError(
            source.name, 1, f"expected one column {quoted(column)}, found several; rename one"
        )
    return column


Path = tuple[str, ...]


class TextRow(NamedTuple):
    """One row: its line, its text, the paths of its labels, and the columns to copy to the answer.

    >>> TextRow(2, "it purrs", [("Pet", "Cat")], ()).paths
    [('Pet', 'Cat')]
    """

    line: int
    text: str
    paths: list[Path]
    kept: Sequence[Any]


def text_rows(
    source: Source, table: Table, columns: Columns, *, labels: bool, keep: Sequence[str] = ()
) -> Iterator[TextRow]:
    """The rows of a table, checked: a text is a string, a label is not empty.

    >>> pets = Table(["text", "label"], lambda names: iter([(2, ("it purrs", "Pet/Cat"))]))
    >>> [row.paths for row in text_rows(Source("pets.csv", "csv"), pets, Columns(sep="/"), labels=True)]
    [[('Pet', 'Cat')]]
    """
    text = columns.text_column(source, table)
    label_names = columns.label_columns(source, table) if labels else []
    kept = [_present(source, table, name, "--keep") for name in keep]
    first_kept = 1 + len(label_names)
    is_path = bool(columns.levels) or (labels and len(label_names) > 1) or _is_level(label_names, columns)
    for line, values in table.pick([text, *label_names, *kept]):
        words = values[0]
        if not isinstance(words, str):
            message = f"expected a text in {quoted(text)}, found {quoted(repr(words))}"
            source.refuse("text", line, message, _content(values))
            continue
        paths: list[Path] = []
        if label_names:
            cells = values[1:first_kept]
            try:
                paths = (
                    [_level_path(source, line, cells)] if is_path else _paths(source, line, cells[0], columns)
                )
            except FileFormatError as error:
                source.refuse("label", line, error.message, _content(values))
                continue
        yield TextRow(line, words, paths, values[first_kept:])


def _content(values: Sequence[Any]) -> str:
    return ",".join("" if value is None else str(value) for value in values)


def _is_level(names: Sequence[str], columns: Columns) -> bool:
    return columns.label is None and len(names) == 1 and names[0].strip().casefold() not in _LABEL_COLUMNS


def _level_path(source: Source, line: int, cells: Sequence[Any]) -> Path:
    names = ["" if cell is None else str(cell) for cell in cells]
    while names and not names[-1].strip():
        names.pop()
    if not all(name.strip() for name in names) or not names:
        found = "none" if not names else "an empty cell above " + quoted(names[-1])
        message = f"expected names in the level columns from the top, found {found}"
        raise FileFormatError(source.name, line, message)
    return tuple(names)


def _paths(source: Source, line: int, cell: Any, columns: Columns) -> list[Path]:
    if isinstance(cell, list):
        labels = cell
    elif isinstance(cell, str) and columns.label_sep:
        labels = [part.strip() for part in cell.split(columns.label_sep)]
    else:
        labels = [cell]
    if not labels:
        raise FileFormatError(source.name, line, "expected a label, found an empty list")
    from taxolearn.problem.label_paths import parts_of

    paths = []
    for label in labels:
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise FileFormatError(source.name, line, f"expected a label, found {quoted(repr(label))}")
        names = parts_of(str(label), columns.sep) if columns.sep else [str(label)]
        if not all(name.strip() for name in names):
            found = "an empty cell" if not str(label).strip() else f"an empty name in {quoted(str(label))}"
            raise FileFormatError(source.name, line, f"expected a label, found {found}")
        paths.append(tuple(names))
    return paths


def read_pairs(path: str) -> Iterator[tuple[str, str | None]]:
    """Lines of one name or two, separated by tabs (.tsv), commas (.csv) or blanks; None where there is one.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "renamed.tsv")
    ...     _ = path.write_text("House cat\\tCat\\nEmu\\n")
    ...     list(read_pairs(str(path)))
    [('House cat', 'Cat'), ('Emu', None)]
    """
    from taxolearn.datasets._files import text_lines

    sep = _SEPARATORS.get(plain_suffix(path))
    for line, text in text_lines(path):
        names = text.rstrip("\r").split(sep) if sep else text.split()
        if not any(name.strip() for name in names):
            continue
        if len(names) > 2 or not names[0].strip():
            raise FileFormatError(path, line, f"expected an old name and a new one, found {quoted(text)}")
        yield names[0], names[1] if len(names) == 2 and names[1].strip() else None


def read_graph(path: str) -> ClassGraph:
    """The graph of classes of a file: names, and a weight if any, separated by tabs (.tsv), commas (.csv) or blanks.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.tsv")
    ...     _ = path.write_text("Wild cat\\tHouse cat\\t2\\n")
    ...     read_graph(str(path)).edges
    (('Wild cat', 'House cat', 2.0),)
    """
    from taxolearn import datasets

    return datasets.read_graph(path, sep=_SEPARATORS.get(plain_suffix(path)))


def taxonomy_of(source: Source, rows: Sequence[TextRow], columns: Columns) -> Taxonomy | None:
    """The taxonomy that the paths of the rows spell, each node called by its whole path; None when labels are flat.

    Without --sep and levels it is what Python makes of the same labels: paths where these show a hierarchy.

    >>> rows = [TextRow(2, "it purrs", [("Pet", "Cat")], ()), TextRow(3, "it barks", [("Pet", "Dog")], ())]
    >>> taxonomy_of(Source("pets.csv", "csv"), rows, Columns(sep="/")).leaves
    ('Pet/Cat', 'Pet/Dog')
    """
    from taxolearn.datasets._names import build
    from taxolearn.problem.label_paths import parts_of, separator_of, taxonomy_of_paths

    paths = list(dict.fromkeys(path for row in rows for path in row.paths))
    joint = columns.joint
    if columns.sep is None and all(len(path) == 1 for path in paths):
        found = separator_of(path[0] for path in paths)
        if found is None:
            return None
        say(f"labels are paths, split at {quoted(found)}")
        paths, joint = [tuple(parts_of(path[0], found)) for path in paths], found
    return build(source.name, None, taxonomy_of_paths, paths, joint)


def names_of(
    source: Source, rows: Sequence[TextRow], columns: Columns, taxonomy: Taxonomy | None
) -> list[Hashable] | list[list[Hashable]]:
    """The label of each row as a node of the taxonomy; lists of labels when some row has several.

    >>> names_of(Source("pets.csv", "csv"), [TextRow(2, "it purrs", [("Pet", "Cat")], ())], Columns(), None)
    ['Pet/Cat']
    """
    from taxolearn.problem.label_paths import and_others

    node_of = {
        path: _node(path, columns, taxonomy) for path in dict.fromkeys(p for r in rows for p in r.paths)
    }
    unknown = [path for path, node in node_of.items() if node is None]
    if unknown and taxonomy is not None:
        line = next(row.line for row in rows if unknown[0] in row.paths)
        told = unknown_label(unknown[0], columns, taxonomy)
        raise FileFormatError(source.name, line, told + and_others(len(unknown) - 1, "label"))
    found = [[node_of[path] for path in row.paths] for row in rows]
    return found if any(len(names) > 1 for names in found) else [names[0] for names in found]


def without_unknown(
    source: Source, rows: Sequence[TextRow], columns: Columns, taxonomy: Taxonomy
) -> list[TextRow]:
    """The rows whose labels the taxonomy has; the others are refused, with the nearest names."""
    told: dict[Path, str | None] = {}
    kept = []
    for row in rows:
        for path in row.paths:
            if path not in told:
                known = _node(path, columns, taxonomy) is not None
                told[path] = None if known else unknown_label(path, columns, taxonomy)
        wrong = [told[path] for path in row.paths if told[path] is not None]
        if wrong:
            source.refuse("unknown", row.line, str(wrong[0]), row.text)
        else:
            kept.append(row)
    return kept


def unknown_label(path: Path, columns: Columns, taxonomy: Taxonomy) -> str:
    """What is said about a label that the taxonomy does not have, with the nearest names.

    >>> from taxolearn import Taxonomy
    >>> unknown_label(("Pet", "Cta"), Columns(sep="/"), Taxonomy.from_paths(["Pet/Cat"]))
    "unknown label 'Pet/Cta'; did you mean 'Cat'?"
    """
    from taxolearn.problem.label_paths import nodes_called, one_of
    from taxolearn.structure.names import hint

    whole = columns.joint.join(path)
    called = nodes_called(path, taxonomy)
    if len(called) > 1:
        return f"{quoted(whole, limit=60)} {one_of(called)}"
    todo = hint(path[-1], taxonomy.nodes) or hint(
        whole, taxonomy.nodes, "correct it, or add it to the taxonomy"
    )
    return f"unknown label {quoted(whole, limit=60)}{todo}"


def _node(path: Path, columns: Columns, taxonomy: Taxonomy | None) -> Hashable | None:
    from taxolearn.problem.label_paths import find_label, find_node

    if taxonomy is None:
        return columns.joint.join(path)
    return find_label(path[0], taxonomy) if len(path) == 1 else find_node(path, taxonomy, columns.joint)
