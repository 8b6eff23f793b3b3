"""`taxolearn explain`: what each word of a text contributed, at each node of the path."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from taxolearn.cli.console import out, out_json
from taxolearn.cli.options import Decision, Json, ModelFolder
from taxolearn.errors import DataError


def explain(
    model: ModelFolder,
    text: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="The text; - reads it from standard input.")
    ] = "-",
    words: Annotated[int, typer.Option("--words", min=1, help="Words to show at each node.")] = 6,
    runners_up: Annotated[int, typer.Option("--runners-up", min=0, help="Other labels to name.")] = 3,
    label: Annotated[
        str | None, typer.Option("--label", help="Explain this label, not the best one.")
    ] = None,
    decision: Decision = None,
    as_json: Json = False,
) -> None:
    """Explain the answer to one text: its score as a sum over words, and at each node what put it ahead."""
    from taxolearn.cli.models import Model

    loaded = Model.load(model)
    if not loaded.is_text:
        raise DataError(f"{model}: this model takes libsvm rows, not texts; explain needs a model of texts")
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if not text:
        raise DataError("there is no text to explain; give one after the model, or on standard input")
    found = loaded.fitted.explain(text, k=words, runners_up=runners_up, label=label, decision=decision)
    if as_json:
        out_json(found.to_dict())
    else:
        out(found.to_text())
