"""`taxolearn calibrate`: labelled rows that the model was not fitted on, for answers that stop when unsure."""

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
    ModelFolder,
    Rows,
    Sep,
    SkipBad,
    Text,
)

_SHOWN = (0.8, 0.9, 0.95, 0.99)


def calibrate(
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
    max_nodes: Annotated[
        int, typer.Option("--max-nodes", min=1, help="Nodes of an answer that may be asked for later.")
    ] = 3,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Folder of the model; else the same one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn from labelled rows how far down the model may answer, for `predict --coverage 0.95`.

    The rows must not be those that the model was fitted on, and be of the kind that will be asked about.
    Calibrating again replaces the last calibration. The table shows how deep these rows are answered.
    """
    from taxolearn.cli.data import read_labelled
    from taxolearn.cli.inputs import about, open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.models import Model
    from taxolearn.decoders.coverage import rows_needed

    target = model if output is None else output
    source = open_source(rows, format, encoding, delimiter)
    loaded = Model.load(model)
    loaded.check_takes(source)
    columns = Columns(text, label, tuple(level or ()), sep, label_sep)
    width = loaded.estimator.n_features_in_
    data = read_labelled(source, columns, loaded.taxonomy, n_features=width, fixed=True, skip_bad=skip_bad)
    with about(source):
        loaded.fitted.calibrate(data.rows, data.y, max_nodes=max_nodes)
    n_rows = loaded.estimator.coverage_.n_rows
    found = []
    for coverage in _SHOWN:
        if n_rows >= rows_needed(coverage):
            stops = loaded.fitted.stops(data.rows, coverage=coverage)
            found.append(
                (
                    coverage,
                    float(stops.depth.mean()),
                    float(stops.at_class.mean()),
                    float(stops.at_root.mean()),
                )
            )
    loaded.fitted.save(target)
    if as_json:
        names = ("coverage", "mean_depth", "at_class", "at_root")
        out_json({"rows": n_rows, "reached": [dict(zip(names, line, strict=True)) for line in found]})
        return
    table(
        ["coverage", "mean depth", "at the class", "at the root"],
        [[f"{c:g}", f"{d:.2f}", f"{a:.1%}", f"{r:.1%}"] for c, d, a, r in found],
    )
    out(f"{n_rows:,} calibration rows are kept with the model in {target}")
