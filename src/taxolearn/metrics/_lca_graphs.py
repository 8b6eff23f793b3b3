"""The graphs behind the LCA metrics, for many rows at once; steps are numbered as in `lca_f1`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from taxolearn.metrics._paths import DagPaths, TreePaths
from taxolearn.metrics._rows import IntArray, LabelSets, distinct, nearest, ranges, row_chunks, row_pairs
from taxolearn.structure import Taxonomy

BoolArray = NDArray[np.bool_]


class _Links(NamedTuple):
    """Which label is linked to which LCA, step 3. Labels: the true ones of the chunk, then the predicted."""

    label: IntArray  # position of the label; sorted
    meet: IntArray  # position in `rows`/`nodes` of the LCA
    rows: IntArray  # of every LCA: its row,
    nodes: IntArray  # its node
    n_labels: IntArray  # and the number of labels linked to it


class _Meets(NamedTuple):
    """Every true label i and predicted label j of a row with one of their LCAs."""

    i: IntArray
    j: IntArray
    node: IntArray
    from_true: BoolArray  # j is at the least distance from i
    from_pred: BoolArray  # i is at the least distance from j


def graph_sizes(taxonomy: Taxonomy, true: LabelSets, pred: LabelSets) -> tuple[IntArray, IntArray, IntArray]:
    """|G_t & G_p|, |G_t| and |G_p| of every row; the sets have no empty row."""
    true, pred = _most_specific(taxonomy, true), _most_specific(taxonomy, pred)
    paths = TreePaths(taxonomy) if taxonomy.is_tree else DagPaths(taxonomy)
    sizes = np.empty((3, len(true.sizes)), dtype=np.int64)
    for start, stop in row_chunks(true.sizes * pred.sizes):
        t, p = true.part(start, stop), pred.part(start, stop)
        sizes[:, start:stop] = _chunk_sizes(taxonomy.n_nodes, paths, t, p)
    return sizes[0], sizes[1], sizes[2]


def _most_specific(taxonomy: Taxonomy, sets: LabelSets) -> LabelSets:
    """Step 1: leave out labels that are ancestors of another label of the row."""
    # A leaf is nobody's ancestor and a row of one label has no other.
    if taxonomy.is_leaf[sets.indices].all() or sets.single:
        return sets
    n_rows, n = len(sets.sizes), taxonomy.n_nodes
    labels = sp.csr_array(
        (np.ones(len(sets.indices), np.int32), sets.indices, sets.indptr), shape=(n_rows, n)
    )
    above = labels @ taxonomy.ancestor_matrix(include_self=False, dtype=np.int32)
    covered = labels.multiply(above).tocsr()
    key = sets.rows * n + sets.indices
    covered_key = np.repeat(np.arange(n_rows), np.diff(covered.indptr)) * n + covered.indices
    keep = ~np.isin(key, covered_key)
    sizes = np.bincount(sets.rows[keep], minlength=n_rows)
    return LabelSets(np.concatenate(([0], np.cumsum(sizes))), sets.indices[keep])


def _chunk_sizes(n_nodes: int, paths: TreePaths | DagPaths, true: LabelSets, pred: LabelSets) -> IntArray:
    meets = _meets(paths, true, pred)
    n_true = len(true.indices)
    label_rows = np.concatenate((true.rows, pred.rows))
    links = _links(meets, label_rows, n_true, n_nodes)
    kept = _without_redundant(links, _taken(links, n_nodes))
    # Step 6: (label, LCA) pairs whose paths make up the graphs.
    of_kept = kept[links.meet]
    label, meet = links.label[of_kept], links.meet[of_kept]
    in_true = label < n_true
    lone_true, lone_pred = _partners(meets, links, kept, label_rows, n_true, n_nodes)
    ends = (
        np.concatenate((label[in_true], lone_true[0])),
        np.concatenate((label[~in_true] - n_true, lone_pred[0])),
    )
    tops = (
        links.nodes[np.concatenate((meet[in_true], lone_true[1]))],
        links.nodes[np.concatenate((meet[~in_true], lone_pred[1]))],
    )
    g_true = _graph(paths, true, ends[0], tops[0], n_nodes)
    g_pred = _graph(paths, pred, ends[1], tops[1], n_nodes)
    both = np.intersect1d(g_true, g_pred, assume_unique=True)
    n_rows = len(true.sizes)
    return np.stack([np.bincount(keys // n_nodes, minlength=n_rows) for keys in (both, g_true, g_pred)])


def _meets(paths: TreePaths | DagPaths, true: LabelSets, pred: LabelSets) -> _Meets:
    """Steps 2 and 3: the LCAs of all pairs, and which pairs are nearest."""
    i, j = row_pairs(true, pred)
    # A label of both sets is nearest to itself: its pairs serve labels of one set only, if any.
    same = true.indices[i] == pred.indices[j]
    in_pred, in_true = np.zeros(len(true.indices), dtype=bool), np.zeros(len(pred.indices), dtype=bool)
    in_pred[i[same]] = True
    in_true[j[same]] = True
    serves = same | ~(in_pred[i] & in_true[j])
    i, j = i[serves], j[serves]
    pair, node, distance = paths.meets(true.indices[i], pred.indices[j])
    i, j = i[pair], j[pair]
    from_true = distance == nearest(i, distance, len(true.indices))[i]
    from_pred = distance == nearest(j, distance, len(pred.indices))[j]
    used = from_true | from_pred
    return _Meets(i[used], j[used], node[used], from_true[used], from_pred[used])


def _links(meets: _Meets, label_rows: IntArray, n_true: int, n_nodes: int) -> _Links:
    label = np.concatenate((meets.i[meets.from_true], n_true + meets.j[meets.from_pred]))
    node = np.concatenate((meets.node[meets.from_true], meets.node[meets.from_pred]))
    link = distinct(label * n_nodes + node)
    label, node = link // n_nodes, link % n_nodes
    keys, meet, n_labels = np.unique(
        label_rows[label] * n_nodes + node, return_inverse=True, return_counts=True
    )
    return _Links(label, meet, keys // n_nodes, keys % n_nodes, n_labels)


def _priority(links: _Links, n_nodes: int) -> IntArray:
    """Step 4's order of the LCAs of a row, greatest first."""
    return links.n_labels * n_nodes + links.nodes


def _taken(links: _Links, n_nodes: int) -> BoolArray:
    """Step 4: the LCAs that come first for some label."""
    priority = _priority(links, n_nodes)[links.meet]
    starts = np.flatnonzero(np.diff(links.label, prepend=-1))
    best = np.repeat(np.maximum.reduceat(priority, starts), np.diff(starts, append=len(links.label)))
    taken = np.zeros(len(links.nodes), dtype=bool)
    taken[links.meet[priority == best]] = True
    return taken


def _without_redundant(links: _Links, taken: BoolArray) -> BoolArray:
    """Step 5, one LCA of every row at a time."""
    kept = taken.copy()
    on = kept[links.meet]
    choices = np.bincount(links.label[on], minlength=links.label[-1] + 1)
    doubtful = np.zeros(len(kept), dtype=bool)
    doubtful[links.meet[on & (choices[links.label] > 1)]] = True
    # Few rows have a label with two taken LCAs: only those are walked through.
    order = np.flatnonzero(doubtful)
    order = order[np.lexsort((-links.nodes[order], -links.n_labels[order], links.rows[order]))]
    first = np.flatnonzero(np.diff(links.rows[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    entries = np.flatnonzero(doubtful[links.meet])
    entries = entries[np.argsort(links.meet[entries], kind="stable")]
    meet = links.meet[entries]
    for turn in range(int(rank.max(initial=-1)) + 1):
        now = order[rank == turn]
        start = np.searchsorted(meet, now)
        owner, at = ranges(start, np.searchsorted(meet, now, side="right") - start)
        label = links.label[entries[at]]
        needed = np.bincount(owner[choices[label] == 1], minlength=len(now)) > 0
        kept[now[~needed]] = False
        np.subtract.at(choices, label[~needed[owner]], 1)
    return kept


def _partners(
    meets: _Meets, links: _Links, kept: BoolArray, label_rows: IntArray, n_true: int, n_nodes: int
) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """Step 6: kept LCAs linked to labels of one side only get one of the other; (labels, LCAs) a side."""
    keys = links.rows * n_nodes + links.nodes
    meet = np.searchsorted(keys, label_rows[meets.i] * n_nodes + meets.node)
    of_true = links.label < n_true
    found = []
    for side, other, linked in (
        (meets.i, meets.from_pred, of_true),
        (meets.j, meets.from_true, ~of_true),
    ):
        alone = kept.copy()
        alone[links.meet[linked]] = False
        wanted = other & alone[meet]
        first = nearest(meet[wanted], side[wanted], len(kept))
        found.append((first[alone], np.flatnonzero(alone)))
    return found[0], found[1]


def _graph(
    paths: TreePaths | DagPaths, sets: LabelSets, end: IntArray, top: IntArray, n_nodes: int
) -> IntArray:
    """Nodes of the paths from labels (at positions `end`) up to LCAs `top`, as keys row * n_nodes + node."""
    rows = sets.rows
    owner, node = paths.climb(sets.indices[end], top)
    labels: Any = rows * n_nodes + sets.indices
    return distinct(np.concatenate((labels, rows[end][owner] * n_nodes + node)))
