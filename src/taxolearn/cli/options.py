"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

ModelFolder = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model folder that `fit` or `demo` wrote.")
]
Rows = Annotated[
    str,
    typer.Argument(metavar="ROWS", help="CSV, TSV, JSON lines, Parquet, libsvm or text file; - is stdin."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, tsv, jsonl, parquet, libsvm or lines (a text a line); else by the suffix."
    ),
]
Text = Annotated[str | None, typer.Option("--text", help="Column of the texts.", show_default="text")]
Label = Annotated[
    str | None, typer.Option("--label", help="Column of the labels.", show_default="label, labels or level*")
]
Level = Annotated[
    list[str] | None,
    typer.Option("--level", help="Column of one level of the label's path; once a level, from the top down."),
]
Sep = Annotated[
    str | None,
    typer.Option("--sep", help="Labels are paths, split here: / for Animal/Cat. Else single names."),
]
LabelSep = Annotated[
    str | None, typer.Option("--label-sep", help="Several labels stand in one cell, separated by this.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
