"""How deep answers reach when they have to be right so often: coverage against depth."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from taxolearn.report.calibration import has_probabilities, node_probabilities, some_rows
from taxolearn.report.held_out import HeldOut
from taxolearn.report.intervals import measured, wilson

_ASKED = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_MOST = 2**24  # probabilities that are asked for at most, rows x nodes


def coverage(held: HeldOut) -> dict[str, Any]:
    """For each coverage that is asked for, the share of rows that are covered, and the mean depth of the answers.

    By the calibration of the model where it has one (`by` is "calibration"): the coverage is promised then. Else by its
    probabilities alone: the deepest node on the way to the answer that is so probable (`by` is "probability").

    >>> from taxolearn import OneVsRestLogistic, Taxonomy
    >>> from taxolearn.report.held_out import held_out
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> model = OneVsRestLogistic(tree).fit([[-1.0], [1.0]], ["Cat", "Dog"])
    >>> found = coverage(held_out(model, [[2.0], [0.1]], ["Dog", "Cat"]))
    >>> found["by"], [(entry["covered"]["value"], entry["depth"]) for entry in found["entries"]][0]
    ('probability', (0.5, 1.0))
    """
    if held.several:
        return {"absent": "Answers that stop when unsure are for models with one label per row."}
    if not held.has_taxonomy:
        return {"absent": "Without a taxonomy there is no inner node to stop at."}
    calibrated = getattr(held.estimator, "coverage_", None) is not None
    if not calibrated and not has_probabilities(held):
        return {
            "absent": "The model has neither a calibration nor probabilities: call calibrate(X, y), or "
            "`taxolearn calibrate`, with fresh rows to see how deep its answers may go."
        }
    rows = some_rows(held, _MOST)
    found = _promised(held, rows) if calibrated else _probable(held, rows)
    labels = held.true.nodes[rows]
    return {
        "by": "calibration" if calibrated else "probability",
        "entries": found,
        "shown": len(rows),
        "of": held.n_rows,
        "label_depth": float(held.taxonomy.depth[labels].mean()),
    }


def _promised(held: HeldOut, rows: Any) -> list[dict[str, Any]]:
    found = []
    labels = held.true.nodes[rows]
    for asked in _ASKED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about too few calibration rows: the depth shows it
            stops = held.estimator.stops(held.rows[rows], coverage=asked)
        answers = np.asarray(held.taxonomy.ids_of(stops.names[:, 0].tolist()), dtype=np.int64)
        found.append(_entry(held, asked, labels, answers, np.asarray(stops.at_class)))
    return found


def _probable(held: HeldOut, rows: Any) -> list[dict[str, Any]]:
    labels, best = held.true.nodes[rows], held.answered.nodes[rows]
    answers = np.zeros((len(_ASKED), len(rows)), dtype=np.int64)
    start = 0
    for some, probabilities in node_probabilities(held, rows):
        for row in range(len(some)):
            path = [0, *held.path(int(best[start + row]))]
            chances = probabilities[row, path]
            for place, asked in enumerate(_ASKED):
                sure = np.flatnonzero(chances >= asked)
                answers[place, start + row] = path[int(sure[-1])] if len(sure) else 0
        start += len(some)
    return [
        _entry(held, asked, labels, answers[place], answers[place] == best)
        for place, asked in enumerate(_ASKED)
    ]


def _entry(held: HeldOut, asked: float, labels: Any, answers: Any, at_class: Any) -> dict[str, Any]:
    n_rows = len(labels)
    above = held.taxonomy.ancestor_matrix(labels)
    hits = int(np.asarray(above[np.arange(n_rows), answers]).sum())
    low, high = wilson(hits, n_rows)
    return {
        "asked": asked,
        "covered": measured(hits / n_rows, low, high),
        "depth": float(held.taxonomy.depth[answers].mean()),
        "at_class": float(np.mean(at_class)),
        "at_root": float(np.mean(answers == 0)),
    }
