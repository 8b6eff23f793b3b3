"""Scores by level and by branch, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from taxolearn.report.held_out import HeldOut
from taxolearn.report.intervals import bootstrap, measured, wilson

_BRANCHES = 200  # that a report keeps


def levels(held: HeldOut) -> dict[str, Any]:
    """Of each level below the root: rows with a true node there, the share whose nodes are all right, and F1.

    >>> from taxolearn import OneVsRestSVM, Taxonomy
    >>> from taxolearn.report.held_out import held_out
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant/Oak"])
    >>> model = OneVsRestSVM(tree).fit([[-1.0], [0.0], [1.0]], ["Cat", "Dog", "Oak"])
    >>> found = levels(held_out(model, [[-2.0], [2.0]], ["Dog", "Oak"]))
    >>> [(entry["level"], entry["rows"], entry["accuracy"]["value"]) for entry in found["entries"]]
    [(1, 2, 1.0), (2, 2, 0.5)]
    """
    taxonomy, n_rows = held.taxonomy, held.n_rows
    level_of = sp.csr_array(
        (np.ones(taxonomy.n_nodes), (np.arange(taxonomy.n_nodes), taxonomy.depth)),
        shape=(taxonomy.n_nodes, taxonomy.max_depth + 1),
    )
    both, true, answered = (
        (part @ level_of).toarray() for part in (held.hits, held.closed_true, held.closed_answered)
    )
    lows, highs = bootstrap(2 * both, true + answered)
    found = []
    for level in range(1, taxonomy.max_depth + 1):
        there = true[:, level] > 0
        if not there.any():
            continue
        right = there & (both[:, level] == true[:, level]) & (both[:, level] == answered[:, level])
        n_there, n_right = int(there.sum()), int(right.sum())
        low, high = wilson(n_right, n_there)
        micro = 2 * both[:, level].sum() / (true[:, level] + answered[:, level]).sum()
        found.append(
            {
                "level": level,
                "nodes": int((taxonomy.depth == level).sum()),
                "rows": n_there,
                "accuracy": measured(n_right / n_there, low, high),
                "micro_f1": measured(micro, lows[level], highs[level]),
                "macro_f1": _macro(held, level),
            }
        )
    return {"entries": found, "rows": n_rows}


def _macro(held: HeldOut, level: int) -> float:
    nodes = np.flatnonzero(held.taxonomy.depth == level)
    both, true, answered = (
        np.asarray(part.sum(axis=0)).ravel()[nodes]
        for part in (held.hits, held.closed_true, held.closed_answered)
    )
    seen = true + answered > 0
    return float(np.mean(2 * both[seen] / (true + answered)[seen]))


def branches(held: HeldOut) -> dict[str, Any]:
    """The branches below the root, weakest first: rows, accuracy, hierarchical F1 and tree loss of their rows.

    A row with labels in several branches counts in each.

    >>> from taxolearn import OneVsRestSVM, Taxonomy
    >>> from taxolearn.report.held_out import held_out
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant/Oak"])
    >>> model = OneVsRestSVM(tree).fit([[-1.0], [0.0], [1.0]], ["Cat", "Dog", "Oak"])
    >>> found = branches(held_out(model, [[-2.0], [2.0]], ["Dog", "Oak"]))
    >>> [(entry["label"], entry["hierarchical_f1"]["value"]) for entry in found["entries"]]
    [('Animal', 0.5), ('Plant', 1.0)]
    """
    if not held.has_taxonomy:
        return {"absent": "The model has no taxonomy, so that there are no branches."}
    taxonomy = held.taxonomy
    top = 0
    while (children := _children(held, top)).size == 1:
        top = int(children[0])
    if not children.size:
        return {"absent": "The taxonomy is a single path, so that there are no branches."}
    member = sp.csr_array(held.closed_true[:, children])
    both, of_true, of_answered = held.sizes
    parts, wholes, losses = (
        sp.csr_array(member.multiply(column[:, None]))
        for column in (2 * both, of_true + of_answered, held.losses)
    )
    lows, highs = bootstrap(
        sp.hstack((parts, losses), format="csr"), sp.hstack((wholes, member), format="csr")
    )
    n_rows = np.asarray(member.sum(axis=0)).ravel()
    n_right = np.asarray(member.T @ held.right.astype(np.float64)).ravel()
    totals = [np.asarray(some.sum(axis=0)).ravel() for some in (parts, wholes, losses)]
    right_low, right_high = wilson(n_right, n_rows)
    n_classes = np.asarray(held.above[held.class_nodes].sum(axis=0)).ravel()
    entries: list[dict[str, Any]] = []
    for place, node in enumerate(children.tolist()):
        rows = int(n_rows[place])
        entry: dict[str, Any] = {
            "node": node,
            "label": held.labels[node],
            "classes": int(n_classes[node]),
            "rows": rows,
        }
        if rows:
            f1 = totals[0][place] / totals[1][place]
            other = place + len(children)
            entry["accuracy"] = measured(n_right[place] / rows, right_low[place], right_high[place])
            entry["hierarchical_f1"] = measured(f1, lows[place], highs[place])
            entry["tree_loss"] = measured(totals[2][place] / rows, lows[other], highs[other])
        entries.append(entry)
    with_rows = sorted(
        (entry for entry in entries if entry["rows"]), key=lambda entry: entry["hierarchical_f1"]["value"]
    )
    kept = [*with_rows, *(entry for entry in entries if not entry["rows"])][:_BRANCHES]
    return {
        "entries": kept,
        "shown": len(kept),
        "of": len(entries),
        "below": {"node": top, "label": held.labels[top]},
        "without_rows": len(entries) - len(with_rows),
        "depth": int(taxonomy.depth[children[0]]),
    }


def _children(held: HeldOut, node: int) -> Any:
    taxonomy = held.taxonomy
    return taxonomy.child_indices[taxonomy.child_indptr[node] : taxonomy.child_indptr[node + 1]]
