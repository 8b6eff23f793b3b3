"""Which wrong answers cost most tree loss, as pairs of a true and an answered label."""

from __future__ import annotations

from typing import Any

import numpy as np

from taxolearn.report.held_out import HeldOut, Ids, NodeSets

_PAIRS = 100  # that a report keeps
_ROWS = 3  # rows shown of each


def confusions(held: HeldOut) -> dict[str, Any]:
    """The pairs of largest cost: how many rows, what they cost together, where the two meet, and some of the rows.

    The cost of all pairs adds up to the tree loss of all rows. With several labels per row each true label is charged
    against the nearest answered one, and each answered one against the nearest true one, as in `metrics.tree_loss`.

    >>> from taxolearn import OneVsRestSVM, Taxonomy
    >>> from taxolearn.report.held_out import held_out
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant/Oak"])
    >>> model = OneVsRestSVM(tree).fit([[-1.0], [0.0], [1.0]], ["Cat", "Dog", "Oak"])
    >>> found = confusions(held_out(model, [[-2.0], [2.0]], ["Dog", "Oak"]))
    >>> found["entries"][0]["true"], found["entries"][0]["answer"], found["entries"][0]["cost"]
    ({'node': 3, 'label': 'Dog'}, {'node': 2, 'label': 'Cat'}, 1.0)
    """
    row, true, answered, cost = charges(held)
    n_nodes = held.taxonomy.n_nodes
    pairs, place = np.unique(true * n_nodes + answered, return_inverse=True)
    costs = np.bincount(place, weights=cost, minlength=len(pairs))
    total = float(cost.sum())
    best = np.argsort(-costs, kind="stable")[:_PAIRS]
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(pairs) + 1))
    entries = []
    for pair in best.tolist():
        mine = order[starts[pair] : starts[pair + 1]]
        costliest = mine[np.argsort(-cost[mine], kind="stable")]
        rows = list(dict.fromkeys(row[costliest].tolist()))
        a, b = int(pairs[pair] // n_nodes), int(pairs[pair] % n_nodes)
        meet = _meet(held, a, b)
        entries.append(
            {
                "true": held.places([a])[0],
                "answer": held.places([b])[0],
                "meet": held.places([meet])[0],
                "rows": len(rows),
                "cost": round(float(costs[pair]), 6),
                "share": round(float(costs[pair]) / total, 6),
                "examples": rows[:_ROWS],
            }
        )
    return {
        "entries": entries,
        "shown": len(entries),
        "of": len(pairs),
        "cost": total,
        "wrong_rows": int((held.losses > 0).sum()),
    }


def charges(held: HeldOut) -> tuple[Ids, Ids, Ids, Any]:
    """(row, true node, answered node, cost) of everything that is charged; costs above zero only.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> [part.tolist() for part in charges(held_out(model, [[2.0]], ["a"]))]
    [[0, 0], [1, 1], [2, 2], [0.5, 0.5]]
    """
    true, answered = _or_root(held.true), _or_root(held.answered)
    n_true, n_answered = np.diff(true.indptr), np.diff(answered.indptr)
    # every true label of a row beside every answered one
    row = true.rows
    width = n_answered[row]
    left = np.repeat(np.arange(len(true.nodes)), width)
    right = np.arange(len(left)) - np.repeat(np.cumsum(width) - width, width) + answered.indptr[row[left]]
    distance = held.taxonomy.distance(true.nodes[left], answered.nodes[right])
    rows = row[left]
    first = _nearest(left, distance, len(true.nodes))
    second = _nearest(right, distance, len(answered.nodes))
    chosen = np.concatenate((first, second))
    cost = distance[chosen] / 4 / np.concatenate((n_true[rows[first]], n_answered[rows[second]]))
    dear = cost > 0
    chosen, cost = chosen[dear], cost[dear]
    return rows[chosen], true.nodes[left[chosen]], answered.nodes[right[chosen]], cost


def _nearest(group: Ids, distance: Any, n_groups: int) -> Ids:
    """Of each group the place of the least distance, the first of several."""
    order = np.lexsort((distance, group))
    first: Ids = order[np.searchsorted(group[order], np.arange(n_groups))]
    return first


def _or_root(sets: NodeSets) -> NodeSets:
    """The same with the root in place of an empty set, as the tree loss has it."""
    sizes = np.diff(sets.indptr)
    if sizes.all():
        return sets
    indptr = np.concatenate(([0], np.cumsum(np.maximum(sizes, 1))))
    nodes = np.zeros(indptr[-1], dtype=np.int64)
    nodes[~np.repeat(sizes == 0, np.maximum(sizes, 1))] = sets.nodes
    return NodeSets(indptr, nodes)


def _meet(held: HeldOut, a: int, b: int) -> int:
    """Where two nodes meet above: their lowest common ancestor, in a DAG the deepest of several."""
    found = held.taxonomy.lowest_common_ancestors(np.array([a]), np.array([b]))[0]
    return int(found) if held.taxonomy.is_tree else max(found, key=lambda node: held.taxonomy.depth[node])
