"""`taxolearn report`: one page about a model, for people who do not read arrays."""

from __future__ import annotations

from typing import Annotated

import typer

from taxolearn.cli.console import out, say
from taxolearn.cli.options import (
    Delimiter,
    Encoding,
    Format,
    Label,
    LabelSep,
    Level,
    ModelFolder,
    Rows,
    Sep,
    SkipBad,
    Text,
)
from taxolearn.errors import DataError


def report(
    model: ModelFolder,
    rows: Rows,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="File to write: .html, .md or .json.", show_default="report.html"
        ),
    ] = None,
    format: Format = None,
    text: Text = None,
    label: Label = None,
    level: Level = None,
    sep: Sep = None,
    label_sep: LabelSep = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.")] = None,
    examples: Annotated[
        int | None,
        typer.Option("--examples", min=1, help="Rows to explain.", show_default="60; 30 of many nodes"),
    ] = None,
    words: Annotated[
        int | None,
        typer.Option("--words", min=1, help="Words of each node.", show_default="10; 6 of many nodes"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON; without --output it is printed.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Markdown; without --output it is printed.")
    ] = False,
) -> None:
    """Write one page that shows what a model knows, where it fails and what to do about it.

    The rows must be labelled, and should not be those of the fit.
    The page needs no network and no other file; open it in a browser.
    """
    from taxolearn.cli.data import read_labelled
    from taxolearn.cli.inputs import about, open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.models import Model
    from taxolearn.cli.outputs import keep_input
    from taxolearn.files import check_output, replacing

    if as_json and as_markdown:
        raise DataError("--json and --markdown exclude each other; leave one of them out")
    target = output if output is not None or as_json or as_markdown else "report.html"
    form = _form(target, as_json, as_markdown)
    source = open_source(rows, format, encoding, delimiter)
    if target is not None:
        check_output(target)
        keep_input(source.path, target, "--output")
    loaded = Model.load(model)
    loaded.check_takes(source)
    columns = Columns(text, label, tuple(level or ()), sep, label_sep)
    width = loaded.estimator.n_features_in_
    data = read_labelled(source, columns, loaded.taxonomy, n_features=width, fixed=True, skip_bad=skip_bad)
    with about(source):
        made = loaded.fitted.report(data.rows, data.y, title=title, n_examples=examples, n_words=words)
    write = {"json": made.to_json, "markdown": made.to_markdown, "html": made.to_html}[form]
    said = write()
    if target is None:
        out(said)
        return
    with replacing(target) as stream:
        stream.write(said.encode("utf-8", "backslashreplace"))
    for sentence in made.data["summary"]["sentences"]:
        out(sentence)
    say(f"report written to {target}")


def _form(target: str | None, as_json: bool, as_markdown: bool) -> str:
    if as_json or as_markdown:
        return "json" if as_json else "markdown"
    lowered = str(target).lower()
    for form, suffixes in (
        ("html", (".html", ".htm")),
        ("markdown", (".md", ".markdown")),
        ("json", (".json",)),
    ):
        if lowered.endswith(suffixes):
            return form
    raise DataError(f"{target}: give a name that ends with .html, .md or .json, or say --json or --markdown")
