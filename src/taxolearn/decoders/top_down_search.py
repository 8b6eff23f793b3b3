"""The best classes of each row below a tree of decisions: branch and bound, or a beam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MOST_OPEN = 2**17  # nodes expanded at a time, to bound the memory where everything ties


class Reached(NamedTuple):
    """Nodes, or classes, that rows have reached, with the scores of the paths to them.

    >>> Reached(np.array([0]), np.array([3]), np.array([-0.5])).ids
    array([3])
    """

    rows: npt.NDArray[Any]
    ids: npt.NDArray[Any]
    scores: npt.NDArray[Any]

    def some(self, which: npt.NDArray[Any]) -> Reached:
        """Those picked by a mask or by positions.

        >>> Reached(np.array([0, 1]), np.array([3, 4]), np.zeros(2)).some(np.array([1])).ids
        array([4])
        """
        return Reached(self.rows[which], self.ids[which], self.scores[which])

    def ranked(self) -> Reached:
        """Row by row, best first, equals by the smaller id; what is reached by several paths counts once.

        >>> Reached(np.array([0, 0, 0]), np.array([3, 1, 1]), np.array([-1.0, -2.0, -1.0])).ranked().ids
        array([1, 3])
        """
        found = self.some(np.lexsort((self.ids, -self.scores, self.rows)))
        key = found.rows.astype(np.int64) * (int(found.ids.max(initial=0)) + 1) + found.ids
        return found.some(np.sort(np.unique(key, return_index=True)[1]))

    def first(self, k: int) -> Reached:
        """The first k of each row.

        >>> Reached(np.array([0, 0, 1]), np.array([3, 4, 5]), np.zeros(3)).first(1).ids
        array([3, 5])
        """
        return self.some(np.arange(len(self.rows)) - np.searchsorted(self.rows, self.rows) < k)


# nodes to expand -> the nodes, and the classes, that are reached from them
Expand = Callable[[Reached], tuple[Reached, Reached]]


def search(
    expand: Expand, answers: npt.NDArray[Any], k: int, beam: int | None, dtype: Any
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """The k best classes of each row and their scores, given the best ones: `answers`, which score 0.

    >>> def expand(nodes):  # one node, with the classes 0 and 1
    ...     return nodes.some(nodes.ids < 0), Reached(np.array([0, 0]), np.array([0, 1]), np.array([-1.0, -2.0]))
    >>> search(expand, np.array([0]), 2, None, np.float64)
    (array([[0, 1]], dtype=int32), array([[ 0., -2.]]))
    """
    n_rows = len(answers)
    ids, scores = np.empty((n_rows, k), dtype=np.int32), np.empty((n_rows, k), dtype=dtype)
    rows = np.arange(n_rows)
    while len(rows):
        roots = Reached(rows, np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=dtype))
        known = roots._replace(ids=answers[rows])
        found = _bounded(expand, roots, known, k) if beam is None else _beamed(expand, roots, known, k, beam)
        full = np.bincount(found.rows, minlength=n_rows) == k
        done = found.some(full[found.rows])
        ids[full], scores[full] = done.ids.reshape(-1, k), done.scores.reshape(-1, k)
        rows = rows[~full[rows]]  # a beam that found too few classes is made twice as wide
        beam = None if beam is None else 2 * beam
    return ids, scores


def _bounded(expand: Expand, open_nodes: Reached, found: Reached, k: int) -> Reached:
    """Branch and bound: nodes that score below the k-th best class so far need not be looked below."""
    n_rows = int(open_nodes.rows.max()) + 1
    while len(open_nodes.rows):
        counts = np.bincount(found.rows, minlength=n_rows)
        bound = np.full(n_rows, -np.inf, dtype=found.scores.dtype)
        full = counts >= k
        bound[full] = found.scores[np.cumsum(counts)[full] - 1]
        open_nodes = open_nodes.some(open_nodes.scores >= bound[open_nodes.rows]).ranked()
        if not len(open_nodes.rows):
            break
        # as long as there is no bound, a row goes on at its best node only
        now = full[open_nodes.rows]
        now[np.unique(open_nodes.rows, return_index=True)[1]] = True
        now[MOST_OPEN:] = False  # later rows wait
        nodes, classes = expand(open_nodes.some(now))
        open_nodes = _joined(open_nodes.some(~now), nodes)
        found = _joined(found, classes).ranked().first(k)
    return found


def _beamed(expand: Expand, open_nodes: Reached, found: Reached, k: int, beam: int) -> Reached:
    """Level by level, with the `beam` best nodes of each row."""
    while len(open_nodes.rows):
        open_nodes, classes = expand(open_nodes.ranked().first(beam))
        found = _joined(found, classes).ranked().first(k)
    return found


def _joined(one: Reached, other: Reached) -> Reached:
    return Reached(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))
