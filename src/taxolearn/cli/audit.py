"""`taxolearn audit`: what is out of place in a taxonomy and its labels, on held-out rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxolearn.cli.console import Progress, out, out_json, say, table
from taxolearn.cli.method_list import find_method, make_estimator
from taxolearn.cli.options import (
    Delimiter,
    Encoding,
    Format,
    Jobs,
    Json,
    Label,
    LabelSep,
    Level,
    Ngrams,
    Rows,
    Seed,
    Sep,
    SkipBad,
    TaxonomyFile,
    Text,
)
from taxolearn.cli.texts import text_features
from taxolearn.errors import DataError

if TYPE_CHECKING:
    from taxolearn.auditing import Audit


def audit(
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
    taxonomy: TaxonomyFile = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="Method that is refitted, see `taxolearn methods`.")
    ] = "recursive",
    folds: Annotated[int, typer.Option("--folds", help="Parts into which the rows are dealt.")] = 5,
    alpha: Annotated[
        float, typer.Option("--alpha", help="Chance of a false finding that each list allows itself.")
    ] = 0.05,
    moves: Annotated[int, typer.Option("--moves", help="Changes to try by refitting, at most.")] = 5,
    shown: Annotated[
        int, typer.Option("--rows", min=0, help="Rows with doubtful labels to print, at most.")
    ] = 20,
    features: Annotated[
        str, typer.Option("--features", help="word, char or word+char n-grams of texts.")
    ] = "word",
    ngrams: Ngrams = "1-2",
    jobs: Jobs = -1,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """List classes, inner nodes and labels that are out of place, in words and as tables; nothing within noise.

    Rows are dealt into folds, and all is judged on rows that a model has not seen. The taxonomy comes from
    --taxonomy, from label paths (--sep) or from level columns. Rows are counted from 1, as `predict` does.
    Features of texts are made once, from all texts: words of held-out rows are known, their labels are not.
    """
    from taxolearn.auditing import audit as look
    from taxolearn.cli.data import read_labelled
    from taxolearn.cli.inputs import about, open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.taxonomy_files import read_taxonomy

    chosen = find_method(method)
    estimator = make_estimator(chosen, None, n_jobs=jobs, random_state=seed)
    source = open_source(rows, format, encoding, delimiter)
    maker = None if source.format == "libsvm" else text_features(features, ngrams)
    if isinstance(maker, str):
        raise DataError(f"--features {maker} needs a model to choose by; choose word, char or word+char")
    columns = Columns(text, label, tuple(level or ()), sep, label_sep)
    tree = None if taxonomy is None else read_taxonomy(taxonomy)
    data = read_labelled(source, columns, tree, skip_bad=skip_bad)
    if data.taxonomy is None:
        raise DataError(f"{source.name}: an audit needs a taxonomy; give --taxonomy, --sep or --level")
    say(f"{len(data.y):,} rows from {source.name}, {data.taxonomy_text}")
    with about(source), Progress("fitted") as progress:
        X: Any = data.rows if maker is None else maker.fit_transform(data.rows)
        found = look(
            X, data.y, data.taxonomy, estimator=estimator, n_folds=folds, alpha=alpha, max_moves=moves,
            random_state=seed, n_jobs=jobs, on_fit=progress.update,
        )  # fmt: skip
    found = replace(found, suspects=tuple(replace(one, row=one.row + 1) for one in found.suspects))
    if as_json:
        out_json(found.to_dict())
    else:
        _show(found, shown)


def _show(found: Audit, shown: int) -> None:
    """Words first, then the tables, of which the rows are cut."""
    out(found.to_text())
    for each in replace(found, suspects=found.suspects[:shown]).tables():
        out()
        table(list(each.columns), each.rows, title=each.title)
    if len(found.suspects) > shown:
        out(f"{len(found.suspects) - shown:,} more rows look wrong; --rows or --json shows them")
