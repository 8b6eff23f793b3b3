"""Rows as `check --fix` writes them: those that can be used, each once, labels without stray blanks and case."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from taxolearn.cli.labels import Columns, Path, TextRow
from taxolearn.cli.rows import Table
from taxolearn.errors import FileFormatError

if TYPE_CHECKING:
    from taxolearn.cli.checking import Checked
    from taxolearn.cli.inputs import Source


def write_fixed(source: Source, columns: Columns, checked: Checked, path: str) -> int:
    """Write the rows in the format they came in, as UTF-8; return how many."""
    labels, places = [], []
    if source.format != "libsvm":
        labels = columns.label_columns(source, Table(checked.names, lambda names: iter(())))
        places = [checked.names.index(name) for name in labels]
    fixed: dict[tuple[str, ...], tuple[int, list[Any]]] = {}  # each row once
    for row in checked.rows:
        if row.text.strip():
            cells = _relabelled(row, places, checked.renamed, columns)
            fixed.setdefault(tuple(map(repr, cells)), (row.line, cells))
    rows = [cells for _, cells in fixed.values()]
    if not rows:
        raise FileFormatError(source.name, None, "no row is left to write")
    if source.format == "parquet":
        _write_parquet(source, [line - 1 for line, _ in fixed.values()], labels, places, rows, path)
    else:
        _write_text(source, checked.names, rows, path)
    return len(rows)


def _relabelled(row: TextRow, places: list[int], renamed: Mapping[Path, Path], columns: Columns) -> list[Any]:
    """The cells of a row, with the new names of its labels; of a libsvm row the line."""
    if not places:
        names = [(columns.sep or "/").join(renamed.get(label, label)) for label in row.paths]
        return [f"{','.join(names)} {row.text}"]
    cells = list(row.kept)
    if not any(path in renamed for path in row.paths):
        return cells
    new = [renamed.get(path, path) for path in row.paths]
    if len(places) > 1:
        for depth, place in enumerate(places):
            cells[place] = new[0][depth] if depth < len(new[0]) else ""
        return cells
    joined = [(columns.sep or "/").join(path) for path in new]
    given = cells[places[0]]
    cells[places[0]] = joined if isinstance(given, list) else (columns.label_sep or ";").join(joined)
    return cells


def _write_text(source: Source, names: Sequence[str], rows: Sequence[Sequence[Any]], path: str) -> None:
    from taxolearn.datasets._files import writing

    with writing(path) as stream:
        if source.format == "libsvm":
            stream.writelines(f"{cells[0]}\n" for cells in rows)
            return
        if source.format == "jsonl":
            for cells in rows:
                record = dict(zip(names, cells, strict=True))
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            return
        delimiter = "," if source.format == "csv" else "\t"
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\r\n")
        writer.writerow(names)
        writer.writerows(rows)


def _write_parquet(
    source: Source,
    kept: Sequence[int],
    labels: Sequence[str],
    places: Sequence[int],
    rows: Sequence[Sequence[Any]],
    path: str,
) -> None:
    """The rows of the file that are kept, with their own types; only columns of labels are made anew."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    from taxolearn.files import replacing

    table = pq.read_table(source.path).take(list(kept))
    for name, place in zip(labels, places, strict=True):
        number = table.schema.get_field_index(name)
        column = pa.array([cells[place] if cells[place] != "" else None for cells in rows])
        if column.type != table.schema.field(number).type and pa.types.is_dictionary(
            table.schema.field(number).type
        ):
            column = column.dictionary_encode()
        table = table.set_column(number, name, column)
    with replacing(path) as stream:
        pq.write_table(table, stream)
