"""The classes to look at: the weakest, the emptiest, the most confused."""

from __future__ import annotations

from typing import Any

import numpy as np

from taxolearn.report.confusions import charges
from taxolearn.report.held_out import HeldOut
from taxolearn.report.intervals import measured, wilson

FEW = 3  # rows to learn from below which a class is called empty
_JUDGED = 5  # held-out rows from which on a class can be called weak
_KEPT = 50  # of each list


def classes(held: HeldOut) -> dict[str, Any]:
    """Three lists, each with what it shows and of how many.

    - `weakest`: labels with five held-out rows or more, lowest F1 first;
    - `emptiest`: labels with the fewest rows to learn from, leaves of the taxonomy without any included;
    - `confused`: labels that take part in the most mistakes, and with which other label most often.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> found = classes(held_out(model, [[-2.0], [2.0], [3.0]], ["a", "b", "a"]))
    >>> found["emptiest"]["entries"][0]["label"], found["emptiest"]["few"], found["weakest"]["of"]
    ('a', 2, 0)
    """
    n_nodes = held.taxonomy.n_nodes
    true, answered = held.matrix(held.true), held.matrix(held.answered)
    hits, rows, asked = (
        np.asarray(part.sum(axis=0), dtype=np.int64).ravel()
        for part in (true.multiply(answered), true, answered)
    )
    f1 = np.divide(2.0 * hits, rows + asked, out=np.zeros(n_nodes), where=rows + asked > 0)
    low, high = wilson(hits, rows)

    def entry(node: int) -> dict[str, Any]:
        share = hits[node] / max(1, rows[node])
        return {
            **held.places([node])[0],
            "rows": int(rows[node]),
            "trained": None if held.trained_rows is None else int(held.trained_rows[node]),
            "f1": round(float(f1[node]), 6) if rows[node] + asked[node] else None,
            "recall": measured(share, low[node], high[node]) if rows[node] else None,
            "precision": round(float(hits[node] / asked[node]), 6) if asked[node] else None,
        }

    judged = np.flatnonzero(rows >= _JUDGED)
    weakest = judged[np.lexsort((-rows[judged], f1[judged]))]
    return {
        "weakest": _listed(weakest, entry, judged=_JUDGED, unseen=_unseen(held, rows)),
        "emptiest": _emptiest(held, entry),
        "confused": _confused(held, entry),
    }


def _listed(nodes: Any, entry: Any, **facts: Any) -> dict[str, Any]:
    kept = [entry(node) for node in nodes[:_KEPT].tolist()]
    return {"entries": kept, "shown": len(kept), "of": len(nodes), **facts}


def _unseen(held: HeldOut, rows: Any) -> int:
    """Classes without a held-out row: nothing is known about them."""
    return int((rows[held.class_nodes] == 0).sum())


def _emptiest(held: HeldOut, entry: Any) -> dict[str, Any]:
    counts = held.trained_rows
    if counts is None:
        return {"absent": "The model does not know how many rows its classes had; fit it again to see them."}
    labels = np.union1d(held.class_nodes, held.taxonomy.leaf_ids if held.has_taxonomy else held.class_nodes)
    few = labels[counts[labels] < FEW]
    order = labels[np.lexsort((labels, counts[labels]))]
    return _listed(order, entry, few=len(few), none=int((counts[labels] == 0).sum()), below=FEW)


def _confused(held: HeldOut, entry: Any) -> dict[str, Any]:
    row, true, answered, _ = charges(held)
    n_nodes = held.taxonomy.n_nodes
    # a mistake is a row and a pair of labels; charged from both sides it is still one
    _, once = np.unique(np.column_stack((row, true, answered)), axis=0, return_index=True)
    true, answered = true[once], answered[once]
    sides = np.concatenate((true * n_nodes + answered, answered * n_nodes + true))
    sides = sides[np.concatenate((true, answered)) > 0]  # the root stands for an empty set
    pairs, n_mistakes = np.unique(sides, return_counts=True)
    label, partner = pairs // n_nodes, pairs % n_nodes
    mistakes = np.bincount(label, weights=n_mistakes, minlength=n_nodes).astype(np.int64)
    order = np.lexsort((-n_mistakes, label))
    first = order[np.searchsorted(label[order], np.unique(label))]
    most = dict(zip(label[first].tolist(), first.tolist(), strict=True))
    worst = np.flatnonzero(mistakes)
    worst = worst[np.argsort(-mistakes[worst], kind="stable")]

    def confused(node: int) -> dict[str, Any]:
        pair = most[node]
        return {
            **entry(node),
            "mistakes": int(mistakes[node]),
            "with": held.places([int(partner[pair])])[0],
            "with_mistakes": int(n_mistakes[pair]),
        }

    return _listed(worst, confused)
