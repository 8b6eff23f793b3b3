"""`taxolearn check`: everything that is wrong with rows and taxonomy, before anything is learned."""

from __future__ import annotations

from typing import Annotated

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
from taxolearn.errors import DataError


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
    from taxolearn.cli.fixing import write_fixed
    from taxolearn.cli.inputs import open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.outputs import keep_input
    from taxolearn.files import check_output

    source = open_source(rows, format, encoding, delimiter)
    if source.format == "lines":
        raise DataError(f"{source.name}: check is for rows with labels, and lines of text have none")
    if fix is not None:
        check_output(fix)
        keep_input(rows, fix, "--fix")
    columns = Columns(text, label, tuple(level or ()), sep, label_sep)
    tree, findings = (None, []) if taxonomy is None else check_taxonomy(taxonomy)
    checked = check_rows(source, columns, tree)
    findings = [*findings, *checked.findings]
    if as_json:
        out_json([finding._asdict() for finding in findings])
    elif findings:
        # the longest column comes last, so that the others are seen in a narrow window
        lines = [[f"{f.rows:,}", "" if f.line is None else str(f.line), f.what] for f in findings]
        table(["rows", "first line", "what"], lines, words=2)
    else:
        out(f"{len(checked.rows):,} rows, nothing found")
    if fix is None:
        return 1 if findings else 0
    written = write_fixed(source, columns, checked, fix)
    left = sum(not finding.fixed for finding in findings)
    out(f"{written:,} rows written to {fix}; {left} of {len(findings)} findings are left to you")
    return 1 if left else 0
