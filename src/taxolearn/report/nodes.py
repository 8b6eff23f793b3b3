"""The taxonomy, node by node: rows, answers, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.report.held_out import HeldOut

_DIGITS = 4


def nodes(held: HeldOut) -> dict[str, Any]:
    """Columns with an entry per node, in the order of the taxonomy: the root is 0, and parents come before children.

    A row counts at its labels and at all nodes above them.

    - `label`: what the node is called; `parent`: its parent (-1: none), in a DAG that of a shortest path, `others` then
      having all further parents by node;
    - `rows`: held-out rows; `own`: those labelled with the node itself; `trained`: rows that the model learned from, at
      or below it (None where it does not know);
    - `answered`: rows that are answered at or below it; `found`: those of `rows` among them;
    - `hierarchical_f1`: of the held-out rows of the node, None without any;
    - `loss`: mean tree loss of these rows; `is_class`: whether the model can answer the node itself.

    >>> from taxolearn import OneVsRestSVM, Taxonomy
    >>> from taxolearn.report.held_out import held_out
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> model = OneVsRestSVM(tree).fit([[-1.0], [1.0]], ["Cat", "Dog"])
    >>> found = nodes(held_out(model, [[-2.0], [2.0], [3.0]], ["Cat", "Dog", "Cat"]))
    >>> found["label"], found["rows"], found["found"], found["hierarchical_f1"]
    (['Animal', 'Cat', 'Dog'], [3, 2, 1], [3, 1, 1], [0.6667, 0.5, 1.0])
    """
    taxonomy = held.taxonomy
    both, of_true, of_answered = held.sizes
    in_node = held.closed_true.T.tocsr()
    rows, answered, hits = (
        np.asarray(part.sum(axis=0), dtype=np.int64).ravel()
        for part in (held.closed_true, held.closed_answered, held.hits)
    )
    part, whole, loss = (in_node @ column for column in (2 * both, of_true + of_answered, held.losses))
    # the root, which closed sets leave out, has all rows
    rows[0] = answered[0] = hits[0] = held.n_rows
    part[0], whole[0], loss[0] = 2 * both.sum(), (of_true + of_answered).sum(), held.losses.sum()
    own = np.bincount(held.true.nodes, minlength=taxonomy.n_nodes)
    can_answer = np.zeros(taxonomy.n_nodes, dtype=bool)
    can_answer[held.class_nodes] = True
    return {
        "label": held.labels,
        "parent": held.tree_parent.tolist(),
        "others": _other_parents(held),
        "depth": taxonomy.depth.tolist(),
        "rows": rows.tolist(),
        "own": own.tolist(),
        "trained": _trained(held),
        "answered": answered.tolist(),
        "found": hits.tolist(),
        "hierarchical_f1": _shares(part, whole),
        "loss": _shares(loss, rows.astype(np.float64)),
        "is_class": can_answer.astype(int).tolist(),
    }


def _shares(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> list[float | None]:
    return [
        None if not total else round(value / total, _DIGITS)
        for value, total in zip(part.tolist(), whole.tolist(), strict=True)
    ]


def _trained(held: HeldOut) -> list[int] | None:
    counts = held.trained_rows
    if counts is None:
        return None
    below = np.asarray(held.above.T @ counts.astype(np.float64)).ravel()
    below[0] = counts.sum()
    return [round(count) for count in below.tolist()]


def _other_parents(held: HeldOut) -> dict[str, list[int]]:
    """Of nodes with several parents, all but the one that `parent` has; numbers of nodes as text, as JSON has them."""
    taxonomy = held.taxonomy
    if taxonomy.is_tree:
        return {}
    starts, parents = taxonomy.parent_indptr.tolist(), taxonomy.parent_indices.tolist()
    first = held.tree_parent.tolist()
    return {
        str(node): [parent for parent in parents[starts[node] : starts[node + 1]] if parent != first[node]]
        for node in np.flatnonzero(np.diff(taxonomy.parent_indptr) > 1).tolist()
    }
