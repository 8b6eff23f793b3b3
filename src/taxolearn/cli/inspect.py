"""`taxolearn inspect`: what a model folder holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxolearn.cli.console import out, out_json, table
from taxolearn.cli.options import Json, ModelFolder
from taxolearn.errors import DataError
from taxolearn.terminal import printable

if TYPE_CHECKING:
    from taxolearn.cli.models import Model


def inspect(
    model: ModelFolder,
    node: Annotated[
        str | None, typer.Option("--node", help="Show the strongest words of this node instead.")
    ] = None,
    words: Annotated[int, typer.Option("--words", min=1, help="How many of them.")] = 15,
    depth: Annotated[int, typer.Option("--depth", min=0, help="Levels of the taxonomy to draw.")] = 2,
    lines: Annotated[int, typer.Option("--lines", min=1, help="Lines of the drawing at most.")] = 30,
    as_json: Json = False,
) -> None:
    """Show a model's method, sizes, certificate and taxonomy, or the strongest words of a node."""
    from taxolearn.cli.models import Model
    from taxolearn.problem.label_paths import node_called

    loaded = Model.load(model)
    if node is not None:
        if loaded.taxonomy is not None:
            node = str(node_called(node, loaded.taxonomy))
        _show_words(model, loaded, node, words, as_json)
        return
    facts = _facts(model, loaded)
    if as_json:
        out_json(facts)
        return
    for title, entries in facts.items():
        out(title)
        for name, value in entries.items():
            out(printable(f"  {name}: {value}"))
    if loaded.taxonomy is not None:
        out("taxonomy")
        drawing = loaded.taxonomy.to_text(max_children=lines, max_nodes=lines, max_depth=depth)
        out("\n".join(f"  {line}" for line in drawing.split("\n")))


def _facts(folder: str, model: Model) -> dict[str, dict[str, Any]]:
    from taxolearn.storage import read_manifest

    manifest = read_manifest(folder)
    weights, certificate = model.estimator.vectors_, model.estimator.certificate_
    parameters = model.estimator.get_params(deep=False)
    parameters.pop("taxonomy")
    facts: dict[str, dict[str, Any]] = {
        "method": {"name": type(model.estimator).__name__, **parameters},
        "sizes": {
            "classes": f"{weights.n_classes:,}",
            "features": f"{weights.n_features:,}",
            "weights": repr(weights),
            "taxonomy": "none" if model.taxonomy is None else repr(model.taxonomy),
            "bytes on disk": f"{manifest.file_bytes:,}",
        },
        "certificate": {
            "status": certificate.status.value,
            "primal": certificate.primal,
            "dual": certificate.dual,
            "relative gap": f"{certificate.gap:.2e}",
        },
        "provenance": {"format version": manifest.format_version, **manifest.provenance},
    }
    if model.is_text:
        facts["text"] = dict(model.fitted.features_.settings_)
    return facts


def _show_words(folder: str, model: Model, node: str, count: int, as_json: bool) -> None:
    found = _strongest(folder, model, node, count)
    if as_json:
        out_json([{"feature": name, "weight": value} for name, value in found])
        return
    under = _classes_under(folder, model, node)
    what = "its weights" if len(under) == 1 else f"mean weights of the {len(under):,} classes under it"
    table(
        [f"{model.title(node)} ({what})", "weight"],
        [[f"  {name}", f"{value:+.4f}"] for name, value in found],
    )


def _strongest(folder: str, model: Model, node: str, count: int) -> list[tuple[str, float]]:
    """The features of largest weight; of an inner node without weights of its own, of largest mean weight."""
    import numpy as np

    # as many numbers as there are weights: a model may claim any number of features
    columns, weights = model.estimator.vectors_.mean_entries(_classes_under(folder, model, node))
    best = np.argsort(-np.abs(weights), kind="stable")[:count]
    if model.is_text:
        names = model.fitted.features_.get_feature_names_out()
    else:
        names = getattr(model.estimator, "feature_names_in_", None)
    return [
        (f"feature {column + 1}" if names is None else str(names[column]), weight)
        for column, weight in zip(columns[best].tolist(), weights[best].tolist(), strict=True)
        if weight
    ]


def _classes_under(folder: str, model: Model, node: str) -> list[int]:
    number = {name: k for k, name in enumerate(model.classes)}
    if model.taxonomy is None:
        if node not in number:
            raise DataError(f"{folder}: {node!r} is not a class of this model")
        return [number[node]]
    names = model.taxonomy.descendants(node, include_self=True)
    found = [number[name] for name in names if name in number]
    if not found:
        raise DataError(f"{folder}: no class of this model is under {node!r}")
    return found
