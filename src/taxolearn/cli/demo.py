"""`taxolearn demo`: learn ICD-10-CM from the shipped texts, then answer sentences."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxolearn.cli.console import Interrupted, out, say, solver_progress, table

if TYPE_CHECKING:
    from taxolearn.cli.models import Model
    from taxolearn.datasets import Icd10cm

_TOL = 1e-2  # certified gap of the demo's fit
_CHAPTERS_SHOWN = 3
_WORDS_SHOWN = 3
_INTERCEPT = "(intercept)"
_TITLE_WIDTH = 60


def demo(
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="Answer this text instead of asking for some; may be repeated."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Folder of the model; else one in the user's cache.")
    ] = None,
    reuse: Annotated[bool, typer.Option("--reuse", help="Do not learn again if the model is there.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 is one a core.")] = -1,
) -> None:
    """Learn 1,918 medical categories from 48,000 short texts, then answer your sentences.

    The data are the public-domain titles of ICD-10-CM, shipped with the package.
    The model is kept for `predict`, `explain` and `inspect`.
    Without a terminal the demo ends by itself.
    """
    from taxolearn.cli.models import Model

    folder = Path(output) if output is not None else demo_folder()
    if reuse and (folder / "model.json").exists():
        model = Model.load(str(folder))
    else:
        model = _train(folder, jobs)
    if text:
        for sentence in text:
            _answer(model, sentence)
    elif sys.stdin.isatty() and sys.stdout.isatty():
        _ask(model)


def demo_folder() -> Path:
    """Where the demo's model is kept.

    >>> demo_folder().name
    'icd10cm'
    """
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(given or Path.home() / ".cache") / "taxolearn" / "icd10cm"


def command() -> str:
    """What to type for this command line: its name where the shell finds it, else the way it was started.

    >>> command().endswith(("taxolearn", "-m taxolearn.cli"))
    True
    """
    found = shutil.which("taxolearn")
    here = Path(sys.executable).with_name("taxolearn")  # beside the interpreter of a virtual environment
    if found is not None and (not here.exists() or Path(found).samefile(here)):
        return "taxolearn"
    if here.exists():
        near = os.path.relpath(here)
        return shlex.quote(str(here) if near.startswith(os.pardir) else near)
    return f"{shlex.quote(sys.executable)} -m taxolearn.cli"


def _train(folder: Path, jobs: int) -> Model:
    import taxolearn
    from taxolearn.cli.models import Model
    from taxolearn.datasets import load_icd10cm
    from taxolearn.storage.folders import check_folder
    from taxolearn.text import TextFeatures

    check_folder(folder)  # rather now than after learning
    data = load_icd10cm()
    say(f"{data.source}: {data.train.n_rows:,} texts to learn from, {data.test.n_rows:,} held out")
    say(data.taxonomy.to_text(max_depth=1, max_children=4))
    _compile()
    estimator = taxolearn.OneVsRestSVM(taxonomy=data.taxonomy, tol=_TOL, n_jobs=jobs, random_state=0)
    # Single words did as well here as longer n-grams and are quicker to learn.
    features = TextFeatures(word_ngrams=(1, 1), sublinear_tf=True)
    fitted = taxolearn.TextClassifier(estimator, features, titles=data.titles)
    started = time.monotonic()
    with solver_progress("learning"):
        fitted.fit(data.train.texts, data.train.y)
    say(f"learned in {time.monotonic() - started:.0f} s")
    model = Model(fitted)
    _report(model, data)
    fitted.save(folder)
    out(f"\nmodel saved to {folder}")
    example = f'explain {shlex.quote(str(folder))} "fracture of left femur, initial encounter"'
    out(f"try: {command()} {example}")
    return model


def _compile() -> None:
    """Compile the solver's kernels on two rows, so that the learning time below is the learning time."""
    from scipy import sparse

    import taxolearn

    started = time.monotonic()
    taxolearn.OneVsRestSVM().fit(sparse.csr_array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"])
    say(f"kernels ready after {time.monotonic() - started:.0f} s")


def _report(model: Model, data: Icd10cm) -> None:
    from taxolearn.cli.scores import by_chapter, score_table

    predicted = model.labels(data.test.texts)
    scores = score_table(data.test.y, predicted, data.taxonomy)
    certificate = model.estimator.certificate_
    out(f"accuracy on {data.test.n_rows:,} held-out texts: {scores['accuracy']:.4f}")
    out(f"hierarchical F1: {scores['hierarchical_f1']:.4f}   tree loss: {scores['tree_loss']:.3f}")
    proven = f"the objective is proven to be within {certificate.gap:.2%} of the optimum"
    out(f"certificate: {certificate.status.value}; {proven}")
    chapters = by_chapter(data.test.y, predicted, data.taxonomy)
    rows = [
        [_short(model.title(name)), f"{n:,}", f"{accuracy:.3f}", f"{f1:.3f}"]
        for name, n, accuracy, f1 in chapters[:_CHAPTERS_SHOWN]
    ]
    out()
    table(["weakest chapters", "texts", "accuracy", "hierarchical F1"], rows)
    seconds = _chapter_seconds(model, data)
    slowest = sorted(seconds, key=lambda name: -seconds[name][0])[:_CHAPTERS_SHOWN]
    rows = [
        [_short(model.title(name)), f"{seconds[name][1]:,}", f"{seconds[name][0]:.1f}"] for name in slowest
    ]
    out()
    table(["slowest chapters to learn", "classes", "seconds"], rows)


def _chapter_seconds(model: Model, data: Icd10cm) -> dict[Hashable, tuple[float, int]]:
    """(seconds, classes) of each chapter; the time of a block of classes is shared equally among them."""
    from taxolearn.cli.scores import chapter_of

    chapter = chapter_of(data.taxonomy)
    found: dict[Hashable, tuple[float, int]] = {}
    done, before = 0, 0.0
    for step in model.estimator.history_:
        share = (step.seconds - before) / max(1, step.done - done)
        for name in model.classes[done : step.done]:
            seconds, classes = found.get(chapter(name), (0.0, 0))
            found[chapter(name)] = (seconds + share, classes + 1)
        done, before = step.done, step.seconds
    return found


def _short(title: str) -> str:
    return title if len(title) <= _TITLE_WIDTH else title[: _TITLE_WIDTH - 3] + "..."


def _answer(model: Model, sentence: str) -> None:
    """The path with titles, the runners-up, and the words that decided at each node."""
    found: Any = model.fitted.explain(sentence, k=4, runners_up=3)
    out(f"\n{sentence}")
    if not any(value for word, value in found.words if word != _INTERCEPT):
        out("  no word of this sentence is known to the model; its answer is a guess")
    elif found.score < 0:
        out("  no category accepts this sentence (the best score is below zero); the nearest one is")
    for depth, node in enumerate(found.nodes):
        deciding = [term for term in node.deciding_words or () if term[0] != _INTERCEPT]
        strongest = sorted(deciding, key=lambda term: -abs(term[1]))[:_WORDS_SHOWN]
        words = ", ".join(f"{word} {value:+.2f}" for word, value in strongest)
        because = f"   [{words}]" if words else ""
        out(f"  {'  ' * depth}└ {model.title(node.name, model.path(node.name)[-1])}{because}")
    others = "; ".join(f"{model.title(name)} {score:.2f}" for name, score in found.runners_up)
    out(f"  score {found.score:.2f}; next: {others}")


def _ask(model: Model) -> None:
    out("\nType a sentence; an empty line ends the demo.")
    while True:
        try:
            sentence = input("> ").strip()
        except (EOFError, Interrupted):
            out()
            return
        if not sentence:
            return
        _answer(model, sentence)
