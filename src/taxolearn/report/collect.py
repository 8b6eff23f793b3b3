"""A report as a plain dict: every section is a function of the held-out rows."""

from __future__ import annotations

from typing import Any

from taxolearn.report.calibration import calibration
from taxolearn.report.certificate import certificate, trials
from taxolearn.report.classes import classes
from taxolearn.report.confusions import confusions
from taxolearn.report.coverage import coverage
from taxolearn.report.examples import examples
from taxolearn.report.held_out import held_out
from taxolearn.report.levels import branches, levels
from taxolearn.report.nodes import nodes
from taxolearn.report.provenance import made, model_facts
from taxolearn.report.scores import scores
from taxolearn.report.summary import summary
from taxolearn.report.words import words
from taxolearn.terminal import cut

FORMAT, VERSION = "taxolearn-report", 1
_SHOWN_TEXT = 160  # characters of a text beside a confusion
_SMALL = 5000  # nodes up to which there is room for more
_EXAMPLES, _EXAMPLES_OF_MANY = 60, 30
_WORDS, _WORDS_OF_MANY = 10, 6


def collect(
    model: Any,
    X: Any,
    y: Any,
    *,
    title: str | None = None,
    n_examples: int | None = None,
    n_words: int | None = None,
    date: str | None = None,
) -> dict[str, Any]:
    """Everything that a report shows, as dicts, lists, strings and numbers, for JSON.

    A section that a model cannot have is {"absent": a sentence that says why}. Lists that are cut have `shown` and
    `of`. Nodes are numbers into the columns of `taxonomy`.

    >>> from taxolearn import OneVsRestSVM
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> found = collect(model, [[2.0], [-2.0]], ["b", "b"])
    >>> found["format"], found["version"], found["scores"]["accuracy"]["value"], found["calibration"]["absent"][:30]
    ('taxolearn-report', 1, 0.5, 'The model has no probabilities')
    """
    held = held_out(model, X, y)
    many = held.taxonomy.n_nodes > _SMALL
    if n_examples is None:
        n_examples = _EXAMPLES_OF_MANY if many else _EXAMPLES
    if n_words is None:
        n_words = _WORDS_OF_MANY if many else _WORDS
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "title": title or "How well the model answers",
        "made": made(held, date),
        "model": model_facts(held),
        "scores": scores(held),
        "taxonomy": nodes(held),
        "levels": levels(held),
        "branches": branches(held),
        "confusions": confusions(held),
        "classes": classes(held),
        "calibration": calibration(held),
        "coverage": coverage(held),
        "words": words(held, n_words),
        "certificate": certificate(held),
        "trials": trials(held),
    }
    costliest = [row for pair in found["confusions"]["entries"] for row in pair["examples"][:1]]
    found["examples"] = examples(held, costliest, n_examples)
    shown = {row for pair in found["confusions"]["entries"] for row in pair["examples"]}
    found["texts"] = (
        {}
        if held.texts is None
        else {str(row): cut(str(held.texts[row]), _SHOWN_TEXT) for row in sorted(shown)}
    )
    found["summary"] = summary(found)
    return found
