"""`taxolearn check`: everything that is wrong with rows and taxonomy, before anything is learned."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxolearn.cli.console import out, out_json, table
from taxolearn.cli.options import (
    Delimiter,
    Encoding,
    Format,
    Json,
    Label,
    LabelSep,
    Level,
    Rows,
    Sep,
    TaxonomyFile,
    Text,
)
from taxolearn.errors import DataError, FileFormatError

if TYPE_CHECKING:
    from taxolearn.cli.checking import Checked
    from taxolearn.cli.inputs import Source
    from taxolearn.cli.labels import Columns

_WRITTEN = {"csv": ",", "tsv": "\t"}  # formats that can be fixed, besides JSON lines


def check(
    rows: Rows,
    format: Format = None,
    text: Text = None,
    label: Label = None,
    level: Level = None,
    sep: Sep = None,
    label_sep: LabelSep = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    taxonomy: TaxonomyFile = None,
    fix: Annotated[
        str | None,
        typer.Option(
            "--fix", metavar="OUT", help="Write the rows with all that can be fixed safely to this file."
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """List everything that is wrong with labelled rows, and with their taxonomy, at once.

    Bad lines, encodings, empty texts and labels, rows given twice, texts with different labels, unknown labels with
    the nearest names, labels that differ in case or blanks, typos, labels with a single row; of the taxonomy a header,
    further columns, several roots, edges given twice. Exit code 1: something was found (with --fix: and is left).
    """
    from taxolearn.cli.checking import check_rows, check_taxonomy
    from taxolearn.cli.inputs import open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.outputs import keep_input
    from taxolearn.files import check_output

    source = open_source(rows, format, encoding, delimiter)
    if source.format in ("libsvm", "lines"):
        raise DataError(
            f"{source.name}: check is for tables of texts and labels (CSV, TSV, JSON lines, Parquet)"
        )
    if fix is not None:
        check_output(fix)
        keep_input(rows, fix, "--fix")
        if source.format not in (*_WRITTEN, "jsonl"):
            raise DataError(f"--fix writes CSV, TSV and JSON lines, and {rows} is {source.format}")
    columns = Columns(text, label, tuple(level or ()), sep, label_sep)
    tree, findings = (None, []) if taxonomy is None else check_taxonomy(taxonomy)
    checked = check_rows(source, columns, tree)
    findings = [*findings, *checked.findings]
    if as_json:
        out_json([finding._asdict() for finding in findings])
    elif findings:
        lines = [[f.what, f"{f.rows:,}", "" if f.line is None else str(f.line)] for f in findings]
        table(["what", "rows", "first line"], lines)
    else:
        out(f"{len(checked.rows):,} rows, nothing found")
    if fix is None:
        return 1 if findings else 0
    written = _write_fixed(source, columns, checked, fix)
    left = sum(not finding.fixed for finding in findings)
    out(f"{written:,} rows written to {fix}; {left} of {len(findings)} findings are left to you")
    return 1 if left else 0


def _write_fixed(source: Source, columns: Columns, checked: Checked, path: str) -> int:
    """Write the rows that can be used, each once, labels without stray blanks and case; return how many."""
    from taxolearn.cli.rows import Table
    from taxolearn.datasets._files import writing

    labels = columns.label_columns(source, Table(checked.names, lambda names: iter(())))
    places = [checked.names.index(name) for name in labels]
    seen: set[tuple[str, ...]] = set()
    with writing(path) as stream:
        writer = csv.writer(stream, delimiter=_WRITTEN.get(source.format, ","), lineterminator="\r\n")
        if source.format != "jsonl":
            writer.writerow(checked.names)
        for row in checked.rows:
            whole = tuple(map(repr, row.kept))
            if not row.text.strip() or whole in seen:
                continue
            seen.add(whole)
            cells = list(row.kept)
            _relabel(cells, places, row.paths, checked.renamed, columns)
            if source.format == "jsonl":
                stream.write(
                    json.dumps(dict(zip(checked.names, cells, strict=True)), ensure_ascii=False) + "\n"
                )
            else:
                writer.writerow(cells)
    if not seen:
        raise FileFormatError(source.name, None, "no row is left to write")
    return len(seen)


def _relabel(cells: list[Any], places: list[int], paths: Any, renamed: Any, columns: Columns) -> None:
    """Put the new names of a row's labels into its cells."""
    if not any(path in renamed for path in paths):
        return
    new = [renamed.get(path, path) for path in paths]
    if len(places) > 1:
        for depth, place in enumerate(places):
            cells[place] = new[0][depth] if depth < len(new[0]) else ""
        return
    joined = [(columns.sep or "/").join(path) for path in new]
    given = cells[places[0]]
    cells[places[0]] = joined if isinstance(given, list) else (columns.label_sep or ";").join(joined)
