"""`taxolearn evaluate`: how good a model is on labelled rows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from taxolearn.cli.console import Progress, out, out_json, table
from taxolearn.cli.options import Format, Json, Label, LabelSep, Level, ModelFolder, Rows, Sep, Text
from taxolearn.errors import DataError


def evaluate(
    model: ModelFolder,
    rows: Rows,
    format: Format = None,
    text: Text = None,
    label: Label = None,
    level: Level = None,
    sep: Sep = None,
    label_sep: LabelSep = None,
    by_chapter: Annotated[
        bool, typer.Option("--by-chapter", help="Also a line for each node below the root, weakest first.")
    ] = False,
    at_least: Annotated[
        float | None, typer.Option("--at-least", help="Exit with 1 when the accuracy is below this.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Print accuracy, micro and macro F1 and, with a taxonomy, the hierarchical metrics on labelled rows."""
    from taxolearn.cli.data import read_labelled
    from taxolearn.cli.inputs import about, open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.models import Model
    from taxolearn.cli.scores import by_chapter as chapter_scores
    from taxolearn.cli.scores import score_rows, score_table

    source = open_source(rows, format)
    loaded = Model.load(model)
    loaded.check_takes(source)
    taxonomy = loaded.taxonomy
    if by_chapter and taxonomy is None:
        raise DataError(f"{model}: --by-chapter needs a model with a taxonomy")
    columns = Columns(text, label, tuple(level or ()), sep, label_sep)
    data = read_labelled(source, columns, taxonomy, n_features=loaded.estimator.n_features_in_, fixed=True)
    predicted: list[Any] = []
    with Progress("answered", len(data.y)) as progress:
        for first in range(0, len(data.y), loaded.chunk_rows):
            predicted += loaded.labels(data.rows[first : first + loaded.chunk_rows])
            progress.update(len(predicted))
    with about(source):
        scores = score_table(data.y, predicted, taxonomy)
        chapters = chapter_scores(data.y, predicted, taxonomy) if by_chapter and taxonomy is not None else []
    if as_json:
        names = ("chapter", "rows", "accuracy", "hierarchical_f1")
        found = {**scores, "chapters": [dict(zip(names, entry, strict=True)) for entry in chapters]}
        out_json(found if by_chapter else scores)
    else:
        table(["metric", ""], score_rows(scores))
        if by_chapter:
            out()
            lines = [[loaded.title(name), f"{n:,}", f"{a:.4f}", f"{f:.4f}"] for name, n, a, f in chapters]
            table(["chapter", "rows", "accuracy", "hierarchical F1"], lines)
    return 0 if at_least is None or scores["accuracy"] >= at_least else 1
