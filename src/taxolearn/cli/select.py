"""`taxolearn select`: the method and the lambda that do best on held-out rows, fitted on all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxolearn.cli.console import Progress, on_engine, out, say, solver_progress
from taxolearn.cli.method_list import find_method, make_estimator
from taxolearn.cli.options import (
    Address,
    Delimiter,
    Encoding,
    Engine,
    Format,
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
from taxolearn.cli.texts import FEATURES_HELP, text_features
from taxolearn.errors import DataError

if TYPE_CHECKING:
    from taxolearn.cli.data import Labelled
    from taxolearn.selection.trials import Selection
    from taxolearn.structure import Taxonomy

_METRICS = ("accuracy", "tree_loss", "micro_f1", "macro_f1", "example_f1")


def select(
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
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="Method to try, see `taxolearn methods`; may be repeated.",
            show_default="normalized, and multiclass without a taxonomy",
        ),
    ] = None,
    lambdas: Annotated[
        str | None,
        typer.Option("--lambdas", help="Values to try, as 1e-4,1e-3,0.01.", show_default="1e-8 to 1e2"),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="What decides: accuracy or tree_loss; with several labels also micro_f1, macro_f1, example_f1.",
        ),
    ] = "accuracy",
    holdout: Annotated[float, typer.Option("--holdout", help="Share of the rows to hold out.")] = 0.2,
    plot: Annotated[
        str | None,
        typer.Option("--plot", help="Picture of what was tried: .png, .svg or .pdf; needs matplotlib."),
    ] = None,
    tol: Tol = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", help="Time limit of each fit.")
    ] = None,
    features: Annotated[
        str,
        typer.Option("--features", help=FEATURES_HELP),
    ] = "word",
    ngrams: Ngrams = "1-2",
    jobs: Jobs = -1,
    seed: Seed = 0,
    engine: Engine = None,
    address: Address = None,
) -> int:
    """Try methods along a grid of lambda, keep the best on held-out rows, fit it on all rows and save it.

    C is 1 / (2 lambda). "normalized" stands for several candidates: node weights (7) and (6) with rho = 2,
    on DAGs also with the directional constraint, each with objective (10) and (13) of its paper.
    Every trial is printed; of equally good ones the largest lambda wins.
    With several labels per row, --metric says which F1 is served (accuracy asks for whole sets).
    Features of texts are made once, from all texts: words of held-out rows are known, their labels are not.
    Exit code 1: the model was saved, but its certified gap is above --tol.
    """
    from taxolearn.cli.data import read_labelled
    from taxolearn.cli.inputs import about, open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.outputs import keep_input
    from taxolearn.cli.taxonomy_files import read_taxonomy
    from taxolearn.storage.folders import check_folder

    for name in method or ():
        find_method(name)
    grid = _numbers(lambdas)
    if metric not in _METRICS:
        raise DataError(f"--metric {metric} is not known; choose {', '.join(_METRICS)}")
    if not 0 < holdout < 1:
        raise DataError(f"--holdout {holdout:g} is not a share of the rows; give a number between 0 and 1")
    if plot is not None:
        from taxolearn.selection.trials import check_picture

        check_picture(plot)
        keep_input(rows, plot, "--plot")
    check_folder(output)  # rather now than after all the trials
    source = open_source(rows, format, encoding, delimiter)
    maker = None if source.format == "libsvm" else text_features(features, ngrams)
    columns = Columns(text, label, tuple(level or ()), sep, label_sep)
    tree = None if taxonomy is None else read_taxonomy(taxonomy)
    data = read_labelled(source, columns, tree, skip_bad=skip_bad)
    settings = {"n_jobs": jobs, "max_seconds": max_seconds, "random_state": seed}
    with on_engine(engine, address), about(source):
        if metric == "tree_loss" and data.taxonomy is None:
            raise DataError("--metric tree_loss needs a taxonomy; give --taxonomy, --sep or --level")
        candidates = _candidates(method, data.taxonomy, tol, settings)
        say(f"{len(data.y):,} rows from {source.name}, {data.taxonomy_text}; {len(candidates)} candidates")
        selection, maker = _try(candidates, data, maker, isinstance(maker, str), grid, holdout, metric, seed)
        model = _learn(selection.model, data, maker)
    out(selection.to_text())
    if not all(trial.certified for trial in selection.trials):
        out("* the fit stopped above its --tol")
    out(f"scores are those on {selection.n_held_out:,} held-out rows, chosen by {metric.replace('_', ' ')}")
    model.save(output)
    if plot is not None:
        selection.plot(plot)
        out(f"picture in {plot}")
    certificate, asked = model.certificate_, selection.model.tol
    out(f"certificate: {certificate.status.value}, relative gap {certificate.gap:.2e} (asked for {asked:g})")
    out(f"saved to {output}")
    return 0 if certificate.holds(asked) else 1


def _numbers(lambdas: str | None) -> list[float] | None:
    if lambdas is None:
        return None
    try:
        found = [float(part) for part in lambdas.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 < value < float("inf") for value in found):
        raise DataError(f"--lambdas {lambdas} is not understood; give positive numbers as 1e-4,1e-3,0.01")
    return found


def _candidates(
    methods: list[str] | None, taxonomy: Taxonomy | None, tol: float | None, settings: dict[str, Any]
) -> list[Any]:
    from taxolearn.selection.selection import paper_candidates

    found: list[Any] = []
    for name in methods or (["multiclass"] if taxonomy is None else ["normalized"]):
        method = find_method(name)
        given = settings if tol is None else {**settings, "tol": tol}
        if method.name == "normalized":
            found += paper_candidates(taxonomy, [method.name], **given)
        else:
            found.append(make_estimator(method, None, taxonomy=taxonomy, **given))
    return found


def _try(
    candidates: list[Any],
    data: Labelled,
    maker: Any,
    choose: bool,
    grid: list[float] | None,
    holdout: float,
    metric: str,
    seed: int,
) -> tuple[Selection, Any]:
    """All trials, and the features of texts, if texts they are, not fitted."""
    from taxolearn.selection.selection import LAMBDAS
    from taxolearn.selection.selection import select as try_all

    rows = data.rows
    if isinstance(rows, list):
        if choose:
            import taxolearn
            from taxolearn.text.estimator_choice import prepare

            asked = taxolearn.TextClassifier(features=maker, random_state=seed, verbose=1)
            maker = prepare(asked, candidates[0], rows, data.y).features
        rows = maker.fit_transform(rows)
    lambdas = LAMBDAS if grid is None else grid
    with Progress("tried", len(candidates) * len(lambdas)) as progress:
        selection = try_all(
            candidates,
            rows,
            data.y,
            lambdas=lambdas,
            holdout=holdout,
            metric=metric,
            random_state=seed,
            refit=False,
            on_trial=lambda done, total, trial: progress.update(
                done, total, f"{trial.title} lambda {trial.lambda_:g}: {getattr(trial, metric):.4f}"
            ),
        )
    return selection, maker


def _learn(estimator: Any, data: Labelled, maker: Any) -> Any:
    from sklearn.base import clone

    import taxolearn

    model = estimator if maker is None else taxolearn.TextClassifier(estimator, clone(maker))
    with solver_progress("learning"):
        return model.fit(data.rows, data.y)
