"""The scores of all rows, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from taxolearn.report.held_out import HeldOut
from taxolearn.report.intervals import bootstrap, measured, wilson


def scores(held: HeldOut) -> dict[str, Any]:
    """Accuracy (Wilson's interval), micro F1, hierarchical F1 and tree loss (bootstrap), macro F1.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> scores(held_out(model, [[-2.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "a"]))["accuracy"]["value"]
    0.75
    """
    n_rows = held.n_rows
    n_right = int(held.right.sum())
    low, high = wilson(n_right, n_rows)
    found: dict[str, Any] = {
        "rows": n_rows,
        "blank": blank_rows(held),
        "right": n_right,
        "accuracy": measured(n_right / n_rows, low, high),
        "macro_f1": _macro_f1(held),
    }
    true, answered = held.matrix(held.true), held.matrix(held.answered)
    one_of = np.asarray(true.multiply(answered).sum(axis=1)).ravel()
    of_both = np.asarray((true + answered).sum(axis=1)).ravel()
    both, of_true, of_answered = held.sizes
    parts = np.column_stack((2 * one_of, 2 * both, held.losses))
    wholes = np.column_stack((of_both, of_true + of_answered, np.ones(n_rows)))
    lows, highs = bootstrap(parts, wholes)
    for place, name in enumerate(("micro_f1", "hierarchical_f1", "tree_loss")):
        total = wholes[:, place].sum()
        value = parts[:, place].sum() / total if total else 1.0
        found[name] = measured(value, lows[place], highs[place])
    return found


def blank_rows(held: HeldOut) -> int:
    """Rows of which the model knows no feature: texts without a word that it has learned.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> blank_rows(held_out(OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]), [[2.0], [0.0]], ["a", "b"]))
    1
    """
    used = np.diff(held.rows.indptr) if sp.issparse(held.rows) else np.count_nonzero(held.rows, axis=1)
    return int((used == 0).sum())


def _macro_f1(held: HeldOut) -> float:
    """The mean F1 of all labels that some row has, truly or by the answer."""
    true, answered = held.matrix(held.true), held.matrix(held.answered)
    right, in_true, in_answered = (
        np.asarray(part.sum(axis=0)).ravel() for part in (true.multiply(answered), true, answered)
    )
    seen = in_true + in_answered > 0
    return float(np.mean(2 * right[seen] / (in_true + in_answered)[seen])) if seen.any() else 0.0
