"""`taxolearn fit`: labelled rows in, a certified model folder out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxolearn.cli.console import on_engine, out, say, solver_progress, table
from taxolearn.cli.method_list import find_method, graph_of, make_estimator, parse_settings
from taxolearn.cli.options import (
    Address,
    Delimiter,
    Encoding,
    Engine,
    Format,
    GraphFile,
    Jobs,
    Label,
    LabelSep,
    Level,
    Ngrams,
    Output,
    Rows,
    Seed,
    Sep,
    SkipBad,
    TaxonomyFile,
    Text,
    Tol,
)
from taxolearn.cli.texts import FEATURES_HELP, label_texts_of, text_features
from taxolearn.errors import DataError

if TYPE_CHECKING:
    from taxolearn.cli.data import Labelled
    from taxolearn.cli.models import Model


def fit(
    rows: Rows,
    output: Output,
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
    graph: GraphFile = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="auto: chosen on held-out rows (svm where -C or --loss is given); or see `methods`.",
        ),
    ] = None,
    C: Annotated[float | None, typer.Option("-C", help="Weight of the loss; 1 unless given.")] = None,
    tol: Tol = None,
    loss: Annotated[str | None, typer.Option("--loss", help="Loss, where the method has several.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any other parameter of the method, as objective=13 or weights=rho; may be repeated.",
        ),
    ] = None,
    jobs: Jobs = -1,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", help="Time limit of the solver.")
    ] = None,
    probability: Annotated[bool, typer.Option("--probability", help="Calibrate probabilities.")] = False,
    features: Annotated[str, typer.Option("--features", help=FEATURES_HELP)] = "auto",
    ngrams: Ngrams = "1-2",
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder",
            help="words, sentence-transformers:NAME or model2vec:NAME; default: words, if installed.",
        ),
    ] = None,
    label_texts: Annotated[
        str | None,
        typer.Option(
            "--label-texts",
            help="Learn from what classes are called, too: names, or a column of the --taxonomy table.",
        ),
    ] = None,
    test_size: Annotated[
        float | None, typer.Option("--test-size", help="Share of the rows to hold out and score.")
    ] = None,
    valid: Annotated[str | None, typer.Option("--valid", help="File of rows to score instead.")] = None,
    seed: Seed = 0,
    engine: Engine = None,
    address: Address = None,
) -> int:
    """Learn a model from labelled rows and save it; print its certificate and its score on held-out rows.

    Rows are texts with labels (CSV, TSV, JSON lines, Parquet) or libsvm rows.
    The taxonomy comes from --taxonomy, from label paths (--sep) or from level columns;
    without any, labels are flat. Rows held out by --test-size are not learned from.
    Exit code 1: the model was saved, but its certified gap is above --tol.
    """
    from taxolearn.cli.data import read_labelled, split
    from taxolearn.cli.inputs import about, open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.scores import candidate_rows
    from taxolearn.cli.taxonomy_files import read_taxonomy
    from taxolearn.storage.folders import check_folder

    _check_shares(test_size, valid)
    check_folder(output)  # rather now than after learning
    about_one = any(given is not None for given in (C, loss))  # of one method, so that none is to be chosen
    chosen = find_method(method or ("svm" if about_one else "auto"))
    source = open_source(rows, format, encoding, delimiter)
    estimator = make_estimator(
        chosen, loss, C=C, tol=tol, n_jobs=jobs, max_seconds=max_seconds, probability=probability or None,
        random_state=seed, graph=graph_of(chosen, graph), **parse_settings(chosen, setting or ()),
    )  # fmt: skip
    if source.format != "libsvm":
        import taxolearn

        made = text_features(features, ngrams, embedder)
        estimator = taxolearn.TextClassifier(
            estimator, made, random_state=seed, verbose=1, embedder=embedder if isinstance(made, str) else None,
            label_texts=label_texts_of(label_texts, taxonomy),
        )  # fmt: skip
    elif label_texts is not None or embedder is not None:
        raise DataError(f"{source.name} has no texts; leave --label-texts and --embedder out")
    columns = Columns(text, label, tuple(level or ()), sep, label_sep)
    tree = None if taxonomy is None else read_taxonomy(taxonomy, label_texts)
    data = read_labelled(source, columns, tree, skip_bad=skip_bad)
    held_out: Labelled | None = None
    if test_size is not None:
        data, held_out = split(data, test_size, seed)
        if not held_out.y:
            raise DataError(f"{source.name}: no row can be held out; every label has a single row")
    elif valid is not None:
        width = None if isinstance(data.rows, list) else data.rows.shape[1]
        held_out = read_labelled(
            open_source(valid, format, encoding, delimiter),
            columns,
            data.taxonomy,
            n_features=width,
            fixed=True,
        )
    say(f"{len(data.y):,} rows from {source.name}, {data.taxonomy_text}")
    with on_engine(engine, address), about(source):
        model = _learn(estimator, data)
    tried = getattr(model.fitted, "tried_", [])
    if tried:
        table(["features tried", "number", "held out"], candidate_rows(tried))
    trials = getattr(model.estimator, "trials_", None)
    if trials is not None and trials.trials:
        say(trials.to_text())
    if held_out is not None:
        _print_scores(model, held_out)
    model.fitted.save(output)
    certificate, asked = model.estimator.certificate_, model.estimator.tol
    out(f"certificate: {certificate.status.value}, relative gap {certificate.gap:.2e} (asked for {asked:g})")
    out(f"saved to {output}")
    return 0 if certificate.holds(asked) else 1


def _check_shares(test_size: float | None, valid: str | None) -> None:
    if test_size is not None and valid is not None:
        raise DataError("--test-size and --valid are two ways to score the model; give one")
    if test_size is not None and not 0 < test_size < 1:
        raise DataError(
            f"--test-size {test_size:g} is not a share of the rows; give a number between 0 and 1"
        )


def _learn(estimator: Any, data: Labelled) -> Model:
    from taxolearn.cli.models import Model

    inner = getattr(estimator, "estimator", estimator)
    inner.set_params(taxonomy=data.taxonomy)
    y = [
        set(labels) if isinstance(labels, list) else labels for labels in data.y
    ]  # lists might be meant as paths
    with solver_progress("learning"):
        estimator.fit(data.rows, y)
    return Model(estimator)


def _print_scores(model: Model, held_out: Labelled) -> None:
    from taxolearn.cli.scores import score_rows, score_table

    predicted = model.labels(held_out.rows)
    table(["held out", ""], score_rows(score_table(held_out.y, predicted, model.taxonomy)))
