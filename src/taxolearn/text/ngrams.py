"""N-grams over sequences of small integers, found with sorted arrays instead of dictionaries of strings.

Atoms (words, or characters) are numbered 1, 2, ... in the order of their names; 0 stands for an unknown one.
An n-gram is a row of atom numbers, padded with zeros on the right; rows are kept in lexicographic order. They
form a trie: the n-grams of length n extend those prefixes of length n - 1 that occur, so that all positions
of all sequences descend one level with one sort (when learning) or one binary search (when looking up).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_SORT_FROM = 2**14  # number of keys from which on sorted look-ups are faster


class Occurrences(NamedTuple):
    """The n-grams of one length n: where in the joined sequences each starts, and its row in the table.

    >>> Occurrences(2, np.array([0, 4]), np.array([7, 7])).n
    2
    """

    n: int
    starts: Ints
    rows: Ints


@dataclass(frozen=True, eq=False)
class NgramTable:
    """Distinct n-grams as the sorted rows of an array.

    >>> table, found = learn_ngrams(np.array([1, 2, 1]), np.array([3]), 1, 2)
    >>> table.grams.tolist()
    [[1, 0], [1, 2], [2, 0], [2, 1]]
    >>> [(o.n, o.starts.tolist(), o.rows.tolist()) for o in found]
    [(1, [0, 1, 2], [0, 2, 0]), (2, [0, 1], [1, 3])]
    """

    grams: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.grams)

    def find(self, digits: Ints, lengths: Ints) -> Iterator[Occurrences]:
        """Yield the n-grams of the table that occur in sequences of atom numbers, laid end to end.

        >>> table, _ = learn_ngrams(np.array([1, 2, 1]), np.array([3]), 1, 2)
        >>> found = table.find(np.array([2, 0, 1]), np.array([3]))
        >>> [(o.n, o.starts.tolist(), o.rows.tolist()) for o in found]
        [(1, [0, 2], [2, 0]), (2, [], [])]
        """
        left = _left(lengths)
        at, node = np.arange(len(digits)), np.zeros(len(digits), np.int64)
        for n, (keys, rows) in enumerate(self._levels, start=1):
            long_enough = left[at] >= n
            at = at[long_enough]
            key = node[long_enough] * self._base + digits[at + n - 1]
            node = np.minimum(_places(keys, key), len(keys) - 1)
            known = keys[node] == key
            at, node = at[known], node[known]
            own = rows[node] >= 0
            yield Occurrences(n, at[own], rows[node[own]])

    def restricted(self, rows: npt.NDArray[np.bool_]) -> tuple[NgramTable, Ints]:
        """Return the table of these rows, over the atoms they still use, and the old numbers of these atoms.

        >>> table = NgramTable(np.array([[1, 0], [3, 4], [5, 0]]))
        >>> table, atoms = table.restricted(np.array([True, True, False]))
        >>> table.grams.tolist(), atoms.tolist()
        ([[1, 0], [2, 3]], [1, 3, 4])
        """
        grams = self.grams[rows]
        used = np.bincount(grams.ravel(), minlength=1) > 0
        used[0] = False
        new = np.cumsum(used)
        return NgramTable(np.where(grams > 0, new[grams], 0).astype(grams.dtype)), np.flatnonzero(used)

    @cached_property
    def _base(self) -> int:
        return int(self.grams.max(initial=0)) + 1

    @cached_property
    def _levels(self) -> list[tuple[Ints, Ints]]:
        """For each length the sorted keys (node of prefix, last atom) and their rows, -1 for a mere prefix.

        In sorted rows the same prefixes stand together, so no sort is needed.
        """
        levels = []
        n_rows, width = self.grams.shape
        fresh = np.zeros(n_rows, dtype=bool)  # rows whose prefix differs from that of the row before
        fresh[:1] = True
        node = np.zeros(n_rows, np.int64)
        for n in range(1, width + 1):
            column = self.grams[:, n - 1].astype(np.int64)
            fresh[1:] |= column[1:] != column[:-1]
            here = np.flatnonzero(fresh & (column > 0))
            if not len(here):
                break
            key = node * self._base + column
            # The shortest row of those with a prefix comes first; it is the prefix itself, or there is none.
            ends = self.grams[here, n] == 0 if n < width else np.ones(len(here), dtype=bool)
            levels.append((key[here], np.where(ends, here, -1)))
            node = np.cumsum(fresh & (column > 0)) - 1
        return levels


def learn_ngrams(
    digits: Ints, lengths: Ints, min_n: int, max_n: int, *, keep_short: bool = False
) -> tuple[NgramTable, list[Occurrences]]:
    """Return the table of all n-grams in sequences of atom numbers (laid end to end), and where each occurs.

    With `keep_short`, a sequence shorter than `min_n` counts as one n-gram by itself.

    >>> table, _ = learn_ngrams(np.array([1, 1, 2, 1]), np.array([1, 3]), 2, 3, keep_short=True)
    >>> table.grams.tolist()
    [[1, 0, 0], [1, 2, 0], [1, 2, 1], [2, 1, 0]]
    """
    left = _left(lengths)
    starts_whole = np.zeros(len(digits), dtype=bool)
    starts_whole[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
    base = int(digits.max(initial=0)) + 1
    at, node = np.arange(len(digits)), np.zeros(len(digits), np.int64)
    levels: list[_Level] = []
    found: list[tuple[Ints, Ints]] = []
    for n in range(1, max_n + 1):
        long_enough = left[at] >= n
        at = at[long_enough]
        if not len(at):
            break
        keys, node = np.unique(node[long_enough] * base + digits[at + n - 1], return_inverse=True)
        if n >= min_n:
            found.append((at, node))
        elif keep_short:
            whole = starts_whole[at] & (left[at] == n)
            found.append((at[whole], node[whole]))
        else:
            found.append((at[:0], node[:0]))
        is_ngram = np.zeros(len(keys), dtype=bool)
        is_ngram[found[-1][1]] = True
        levels.append(_Level(keys // base, keys % base, is_ngram))
    rows, table = _in_order(levels)
    return table, [
        Occurrences(n, starts, rows[n - 1][nodes]) for n, (starts, nodes) in enumerate(found, start=1)
    ]


class _Level(NamedTuple):
    """The nodes of one length: the node of the prefix, the last atom, and whether the node is an n-gram."""

    parent: Ints
    atom: Ints
    is_ngram: npt.NDArray[np.bool_]


def _in_order(levels: list[_Level]) -> tuple[list[Ints], NgramTable]:
    """Number the n-grams in lexicographic order, which is the order of a walk from prefixes to extensions."""
    sizes = [level.is_ngram.astype(np.int64) for level in levels]
    for below in range(len(levels) - 1, 0, -1):  # n-grams at or under each node
        under = np.bincount(levels[below].parent, sizes[below], minlength=len(sizes[below - 1]))
        sizes[below - 1] += under.astype(np.int64)
    n_rows = int(sizes[0].sum()) if levels else 0
    grams = np.zeros((n_rows, max(len(levels), 1)), np.int32)
    rows: list[Ints] = []
    paths = np.zeros((1, 0), np.int32)
    after_parent = np.zeros(1, np.int64)
    for level, size in zip(levels, sizes, strict=True):
        before = np.cumsum(size) - size
        eldest = np.searchsorted(level.parent, level.parent)  # nodes are sorted by parent
        row = after_parent[level.parent] + before - before[eldest]
        paths = np.column_stack([paths[level.parent], level.atom.astype(np.int32)])
        grams[row[level.is_ngram], : paths.shape[1]] = paths[level.is_ngram]
        rows.append(row)
        after_parent = row + level.is_ngram
    return rows, NgramTable(grams)


def _places(keys: Ints, wanted: Ints) -> Ints:
    """`np.searchsorted`; where there are many keys, in sorted order, for the sake of the cache."""
    if len(keys) < _SORT_FROM:
        return np.searchsorted(keys, wanted)
    order = np.argsort(wanted)
    places = np.empty(len(wanted), np.int64)
    places[order] = np.searchsorted(keys, wanted[order])
    return places


def _left(lengths: Ints) -> npt.NDArray[np.int64]:
    """For each position of sequences laid end to end, how many atoms are left in its own, itself included."""
    ends = np.cumsum(lengths)
    return np.repeat(ends, lengths) - np.arange(ends[-1] if len(ends) else 0)
