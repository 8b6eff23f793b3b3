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
        "--format", help="csv, tsv, jsonl, parquet, libsvm or lines (one text per line); else by the suffix."
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
    typer.Option(
        "--sep",
        help="Labels are paths, split here: / for Animal/Cat.",
        show_default="/ or ' > ' where labels share names above",
    ),
]
LabelSep = Annotated[
    str | None, typer.Option("--label-sep", help="Several labels stand in one cell, separated by this.")
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Of the rows: latin-1, cp1252, utf-16, ...", show_default="utf-8"),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", help="Between cells of CSV: one character, or tab.", show_default="by the header"
    ),
]
SkipBad = Annotated[
    str | None,
    typer.Option(
        "--skip-bad", metavar="FILE", help="Leave out rows that cannot be used, and list them in FILE."
    ),
]
Output = Annotated[str, typer.Option("--output", "-o", help="Folder of the model; an older one is replaced.")]
TaxonomyFile = Annotated[
    str | None,
    typer.Option(
        "--taxonomy",
        help="SKOS, OBO, MeSH, code table, `A > B` or indented lines; or `parent child`, .tsv for names with blanks.",
    ),
]
GraphFile = Annotated[
    str | None,
    typer.Option(
        "--graph",
        help="File of `class class weight` lines, for graph methods; .tsv for names with blanks.",
    ),
]
Tol = Annotated[
    float | None,
    typer.Option(
        "--tol",
        help="Certified relative gap to reach.",
        show_default="1e-3; 1e-4 for one-vs-rest and recursive-logistic",
    ),
]
Ngrams = Annotated[str, typer.Option("--ngrams", help="Lengths of word n-grams, as 1-2.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 is one a core.")]
Engine = Annotated[
    str | None,
    typer.Option("--engine", help="Where tasks run: serial, threads, ray or joblib.", show_default="threads"),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="Of the Ray cluster: auto, host:port, or local to start one here.",
        show_default="auto",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of every random choice.")]
CsvSafe = Annotated[
    bool,
    typer.Option("--csv-safe", help="Put ' before texts that a spreadsheet would take for a formula."),
]
Show = Annotated[
    str,
    typer.Option(
        "--show", help="What to call labels: name, label, notation or id, where the taxonomy has them."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Decision = Annotated[
    str | None,
    typer.Option(
        "--decision",
        help="best, tree_loss, hierarchical_f1, probable (several labels), or a metric; needs probabilities.",
        show_default="the model's own",
    ),
]
Inner = Annotated[
    bool,
    typer.Option("--inner", help="Inner nodes may be answers, where that is expected to cost less."),
]
