"""`taxolearn evaluate`: how good a model is on labelled rows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from taxolearn.cli.console import Progress, on_engine, out, out_json, table
from taxolearn.cli.options import (
    Address,
    Decision,
    Delimiter,
    Encoding,
    Engine,
    Format,
    Inner,
    Json,
    Label,
    LabelSep,
    Level,
    ModelFolder,
    Rows,
    Sep,
    SkipBad,
    Text,
)
from taxolearn.cli.promises import (
    ByOption,
    CoverageOption,
    MaxNodes,
    Reached,
    RiskOption,
    promised,
    reached_rows,
)
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
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = None,
    by_chapter: Annotated[
        bool, typer.Option("--by-chapter", help="Also a line for each node below the root, weakest first.")
    ] = False,
    decision: Decision = None,
    inner: Inner = False,
    coverage: CoverageOption = None,
    risk: RiskOption = None,
    by: ByOption = None,
    max_nodes: MaxNodes = None,
    at_least: Annotated[
        float | None, typer.Option("--at-least", help="Exit with 1 when the accuracy is below this.")
    ] = None,
    as_json: Json = False,
    engine: Engine = None,
    address: Address = None,
) -> int:
    """Print accuracy, micro and macro F1 and, with a taxonomy, the hierarchical metrics on labelled rows.

    With a taxonomy also accuracy and F1 level by level, and for a model that chose its features what it tried.
    With --coverage or --risk also which share of the labels the answers cover, and how deep they reach.
    """
    from taxolearn.cli.data import read_labelled
    from taxolearn.cli.inputs import about, open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.models import Model
    from taxolearn.cli.scores import by_chapter as chapter_scores
    from taxolearn.cli.scores import candidate_rows, level_rows, score_rows, score_table
    from taxolearn.metrics.levels import by_level

    source = open_source(rows, format, encoding, delimiter)
    loaded = Model.load(model)
    loaded.check_takes(source)
    loaded.decide(decision, inner)
    taxonomy = loaded.taxonomy
    if by_chapter and taxonomy is None:
        raise DataError(f"{model}: --by-chapter needs a model with a taxonomy")
    promise = promised(coverage, risk, by, max_nodes)
    if promise:
        loaded.estimator._promised(**promise)
    columns = Columns(text, label, tuple(level or ()), sep, label_sep)
    width = loaded.estimator.n_features_in_
    data = read_labelled(source, columns, taxonomy, n_features=width, fixed=True, skip_bad=skip_bad)
    predicted: list[Any] = []
    reached = Reached(promise)
    with on_engine(engine, address), Progress("answered", len(data.y)) as progress:
        for first in range(0, len(data.y), loaded.chunk_rows):
            predicted += loaded.labels(data.rows[first : first + loaded.chunk_rows])
            if promise:
                loaded.stopped(data.rows[first : first + loaded.chunk_rows], promise, reached)
            progress.update(len(predicted))
    with about(source):
        scores = score_table(data.y, predicted, taxonomy)
        levels = [] if taxonomy is None else by_level(data.y, predicted, taxonomy)
        chapters = chapter_scores(data.y, predicted, taxonomy) if by_chapter and taxonomy is not None else []
    tried = getattr(loaded.fitted, "tried_", [])
    stopped = reached.summary(data.y, taxonomy) if promise else {}
    if as_json:
        names = ("chapter", "rows", "accuracy", "hierarchical_f1")
        found: dict[str, Any] = {**scores, "levels": [entry._asdict() for entry in levels]}
        if tried:
            found["features_tried"] = tried
        if promise:
            found["stopping"] = stopped
        if by_chapter:
            found["chapters"] = [dict(zip(names, entry, strict=True)) for entry in chapters]
        out_json(found)
    else:
        table(["metric", ""], score_rows(scores))
        if levels:
            out()
            table(["level", "rows", "accuracy", "micro F1", "macro F1"], level_rows(levels))
        if promise:
            out()
            table(["stopping when unsure", ""], reached_rows(stopped))
        if tried:
            out()
            table(["features tried", "number", "held out"], candidate_rows(tried))
        if by_chapter:
            out()
            lines = [[loaded.title(name), f"{n:,}", f"{a:.4f}", f"{f:.4f}"] for name, n, a, f in chapters]
            table(["chapter", "rows", "accuracy", "hierarchical F1"], lines)
    return 0 if at_least is None or scores["accuracy"] >= at_least else 1
