"""Beam search: of the nodes of a level only those with the best scores are expanded, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taxolearn.engines import Clock, Engine
from taxolearn.vectors.path_order import PathOrder
from taxolearn.vectors.walking import (
    Transposer,
    VectorSource,
    bad_index,
    kernel_rows,
    new_best,
    run_all,
    stretches,
)

_SEARCH_BYTES = 64 * 2**20  # bytes of kept nodes of the rows that are searched together
_ENTRIES_AT_A_TIME = 16 * 2**20  # entries of node vectors expanded at a time
_EXPECTED_GAIN = 0.05  # expected gain below a node, as a share of the largest possible one
_TRANSPOSING_COST = 4.0  # cost of transposing an entry, in products with a row's entry


def beam_top_k(
    weights: VectorSource, X: Any, order: PathOrder, k: int, beam: int, engine: Engine
) -> tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, Any]]:
    """The k best classes among those that the beam reaches, and their scores.

    A level's nodes are compared by their score, plus the largest intercept of a class below them, plus 0.05 times the
    length of the row times that of the vectors below (with 1 instead of 0.05 it would be a bound on what they add, far
    from reached); classes of all depths by their full score. A beam as wide as the widest level finds the exact answer.
    A row that reaches fewer than k classes is searched again with twice the beam.

    >>> from taxolearn.vectors import NodeVectors
    >>> paths = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> weights = NodeVectors(np.array([[1.0, 2.0, 3.0]]), paths, np.zeros(2))
    >>> weights.top_k(np.array([[2.0]]), 1, beam=1)
    (array([[1]], dtype=int32), array([[8.]]))
    """
    ids, best = new_best(X.shape[0], k, len(weights.intercept), weights.dtype)
    open_rows = np.arange(X.shape[0])
    while len(open_rows):
        _search_all(weights, X, open_rows, order, beam, engine, ids, best)
        open_rows = open_rows[ids[open_rows, k - 1] == len(weights.intercept)]
        beam *= 2
    return ids, best


class _Search(NamedTuple):
    """What the tasks of a search read."""

    weights: VectorSource
    X: Any
    order: PathOrder
    width: int
    k: int


def _search_all(
    weights: VectorSource,
    X: Any,
    chosen: Any,
    order: PathOrder,
    beam: int,
    engine: Engine,
    ids: Any,
    best: Any,
) -> None:
    width = min(beam, int(np.bincount(order.level).max()))
    kept = int(order.level.max() + 1) * width * (4 + weights.dtype.itemsize)
    step = max(1, min(_SEARCH_BYTES // kept, -(-len(chosen) // engine.n_workers)))

    def keep(rows: Any, found: Any) -> None:
        if found is not None:
            ids[rows], best[rows] = found

    tasks = [chosen[first : first + step] for first in range(0, len(chosen), step)]
    run_all(engine, _search, _Search(weights, X, order, width, best.shape[1]), tasks, keep)


def _search(search: _Search, chosen: Any, clock: Clock) -> Any:
    """The best classes of some rows and their scores; None if the search was ended."""
    from taxolearn.kernels import beam_search

    weights, X, order, width, k = search
    X = sparse.csr_array(X if len(chosen) == X.shape[0] else X[chosen])
    n_rows, dtype = X.shape[0], weights.dtype
    ids, best = new_best(n_rows, k, len(weights.intercept), dtype)
    rows = kernel_rows(X, dtype)
    n_levels = int(order.level.max()) + 1
    beams = beam_search.Beams(
        np.empty((n_levels, n_rows, width), dtype=np.int32),
        np.empty((n_levels, n_rows, width), dtype=dtype),
        np.zeros((n_levels, n_rows), dtype=np.int32),
    )
    nodes = beam_search.Nodes(
        order.level,
        order.bonus.astype(dtype),
        (_EXPECTED_GAIN * order.reach).astype(dtype),
        order.class_start,
        order.classes,
    )
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()).astype(dtype)
    state = (nodes, lengths, weights.intercept.astype(dtype), not order.is_tree, beams, best, ids)
    room = np.zeros(weights.n_features, dtype=dtype)
    transposer = Transposer(weights, rows)
    sizes = weights.vector_sizes()
    for level in range(len(order.level_start) - 1):
        first, last = order.level_start[level : level + 2].tolist()
        groups = _groups(beams, level, len(order.level), n_rows)
        group = np.maximum(order.parent[first:last], 0)  # the tops hang at the one group of level 0
        together = _together(
            order, first, last, groups.start[group + 1] - groups.start[group], X.nnz / n_rows, sizes
        )
        cuts = np.flatnonzero(np.diff(group[together])) + 1
        for siblings in np.split(together, cuts) if len(together) else []:
            if clock.stop[0]:
                return None
            children = order.child[first + siblings]
            for a, b in stretches(sizes[children]):
                beam_search.expand_together(
                    rows,
                    transposer.transpose(children[a:b]),
                    children[a:b],
                    group[siblings[0]],
                    groups,
                    *state,
                )
        alone = groups.start[group + 1] > groups.start[group]
        alone[together] = False
        for some in _steps(first + np.flatnonzero(alone), order, sizes):
            if clock.stop[0]:
                return None
            starts, ends = order.term_start[some], order.term_start[some + 1]
            terms = np.concatenate([order.terms[a:b] for a, b in zip(starts, ends, strict=True)])
            wanted, position = np.unique(terms, return_inverse=True)
            matrix, places = weights.vectors_of(wanted)
            term_start = np.concatenate(([0], np.cumsum(ends - starts)))
            edges = beam_search.Edges(group[some - first], order.child[some], term_start, places[position])
            bad = beam_search.expand(rows, kernel_rows(matrix, dtype), edges, groups, room, *state)
            if bad >= 0:
                raise bad_index(int(terms[bad]))
    return ids, best


def _together(order: PathOrder, first: int, last: int, waiting: Any, row_size: float, sizes: Any) -> Any:
    """Which of the edges first .. last-1 go to children whose vectors are worth transposing for the rows waiting."""
    simple = np.diff(order.term_start[first : last + 1]) == 1
    return np.flatnonzero(simple & (waiting * row_size > _TRANSPOSING_COST * sizes[order.child[first:last]]))


def _groups(beams: Any, level: int, n_nodes: int, n_rows: int) -> Any:
    """The rows by the node of this level at which they stand; at level 0 all are in one group."""
    from taxolearn.kernels import beam_search

    dtype = beams.score.dtype
    if level == 0:
        return beam_search.Groups(np.array([0, n_rows]), np.arange(n_rows), np.zeros(n_rows, dtype=dtype))
    start = np.empty(n_nodes + 1, dtype=np.int64)
    size = int(beams.count[level].sum())
    groups = beam_search.Groups(start, np.empty(size, dtype=np.int64), np.empty(size, dtype=dtype))
    beam_search.group_rows(beams.node[level], beams.score[level], beams.count[level], *groups)
    return groups


def _steps(edges: Any, order: PathOrder, sizes: Any) -> Iterator[Any]:
    """Edges in pieces whose vectors are not too many to be made at once."""
    if not len(edges):
        return
    reach = np.concatenate(([0], np.cumsum(sizes[order.terms], dtype=np.int64)))
    entries = np.cumsum(reach[order.term_start[edges + 1]] - reach[order.term_start[edges]])
    yield from np.split(edges, np.flatnonzero(np.diff(entries // _ENTRIES_AT_A_TIME)) + 1)
