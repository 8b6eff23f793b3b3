"""Rows held out of a fit, to tune thresholds and probabilities on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.problem import Problem

Rows = npt.NDArray[np.intp]
Split = tuple[Rows, Rows]
_HELD_OUT_BYTES = 512 * 2**20  # of held-out scores
_ENOUGH = 500  # held-out rows that one temperature, or a sigmoid per class, is fitted on
_FOLDS = 5
_MARKED = 2**22  # entries of dense rows that are marked at a time


def hold_out(problem: Problem, share: float, seed: int) -> Split:
    """Rows to hold out and rows to keep; every class keeps at least one row.

    Rows that are equal, with equal labels, stay together, and which rows are held out depends on what they hold, not on
    their order: so a row of weight two counts as two rows, and no row is asked about that was learned from.

    >>> from taxolearn.problem import make_problem
    >>> problem = make_problem([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "b", "b"])
    >>> held, kept = hold_out(problem, 0.5, 0)
    >>> len(held), 0 in kept
    (2, True)
    """
    return held_out_parts(problem, share, seed, once=True)[0]


def held_out_parts(
    problem: Problem, share: float, seed: int, *, once: bool = False, enough: int = _ENOUGH
) -> list[Split]:
    """The rows held out at once, or (unless `once`) where these are fewer than `enough`, five parts by turns.

    Where most rows are of classes with fewer than five rows there are as many parts as these have rows: then every part
    has one row of each class. With more parts, the class of a held-out row would have fewer rows left than its rivals
    have, and a method that learns how frequent classes are would be wrong about nearly all held-out rows.

    >>> from taxolearn.problem import make_problem
    >>> problem = make_problem([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> [len(held) for held, _ in held_out_parts(problem, 0.2, 0)]
    [2, 2]
    """
    for alone in (False, True):
        found = _parts(problem, _Groups(problem, seed, alone=alone), share, once, enough)
        if found:
            return found
    raise DataError(
        "no row can be held out: every class has a single row; give more rows, "
        "or do without tuned thresholds and probabilities"
    )


def _parts(problem: Problem, groups: _Groups, share: float, once: bool, enough: int) -> list[Split]:
    total = float(problem.row_weight.sum())
    if once or round(share * len(groups.order)) >= enough:
        return _split(problem, groups, groups.order, share * total)
    first = np.array([int(mine[0]) if len(mine) else -1 for mine in map(groups.labels, groups.order)])
    stratified = groups.order[np.argsort(first, kind="stable")]
    n_folds = int(np.clip(np.median(np.bincount(first + 1)[first + 1]), 2, _FOLDS)) if len(first) else _FOLDS
    folds = (_split(problem, groups, stratified[fold::n_folds], total) for fold in range(n_folds))
    return [part for parts in folds for part in parts]


class _Groups:
    """Rows that are equal in features and labels, or each `alone`; `order` has one of each group that has weight, at
    random."""

    def __init__(self, problem: Problem, seed: int, *, alone: bool = False) -> None:
        self._targets = problem.targets
        marks: npt.NDArray[np.uint64] = row_marks(problem.X, seed) ^ _mixed(
            row_marks(problem.targets, seed + 1)
        )
        if alone:  # every class has one row, given several times
            places: npt.NDArray[np.uint64] = np.arange(1, len(marks) + 1, dtype=np.uint64)
            marks = _mixed(np.add(marks, places, dtype=np.uint64))
        marks = np.where(problem.row_weight > 0, marks, np.uint64(0))
        found, first, self.group = np.unique(marks, return_index=True, return_inverse=True)
        some = np.flatnonzero(problem.row_weight[first] > 0)
        self.order = first[some]  # by their marks, which have no order of their own
        self.weight = np.bincount(self.group, problem.row_weight, minlength=len(found))

    def labels(self, row: int) -> Any:
        return self._targets.indices[self._targets.indptr[row] : self._targets.indptr[row + 1]]


def _split(problem: Problem, groups: _Groups, order: Iterable[int], wanted: float) -> list[Split]:
    """Hold out groups in this order until they have so much weight; nothing where none can be."""
    left = np.asarray(problem.targets[groups.order].sum(axis=0)).ravel()
    most = max(1, _HELD_OUT_BYTES // (8 * problem.n_classes))
    least = 0.5 * float(np.min(groups.weight[groups.group[groups.order]], initial=np.inf))
    chosen: list[Any] = []
    for row in order:
        weight = float(groups.weight[groups.group[row]])
        if wanted < least or len(chosen) >= most:
            break
        mine = groups.labels(row)
        if weight <= wanted + least and np.all(left[mine] > 1):
            left[mine] -= 1
            chosen.append(groups.group[row])
            wanted -= weight
    if not chosen:
        return []
    held = np.isin(groups.group, chosen)
    return [(np.flatnonzero(held), np.flatnonzero(~held))]


def row_marks(X: Any, seed: int) -> npt.NDArray[np.uint64]:
    """A number for each row that depends on the seed and on what the row holds alone, dense or sparse.

    >>> marks = row_marks(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), 0)
    >>> bool(marks[0] == marks[2]), bool(marks[0] == marks[1])
    (True, False)
    """
    factors = np.random.default_rng(seed).integers(0, 2**63, X.shape[1], dtype=np.uint64) * np.uint64(2)
    factors += np.uint64(1)
    marks = np.zeros(X.shape[0], dtype=np.uint64)
    if sp.issparse(X):
        terms = _bits(X.data) * factors[X.indices]
        sums = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)))
        marks[:] = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
        return _mixed(marks)
    for rows in _blocks(X.shape):
        marks[rows] = (_bits(X[rows]) * factors).sum(axis=1, dtype=np.uint64)
    return _mixed(marks)


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    step = max(1, _MARKED // max(1, shape[1]))
    return (slice(first, first + step) for first in range(0, shape[0], step))


def _bits(values: Any) -> npt.NDArray[np.uint64]:
    """The bits of numbers, well mixed; zero for zero."""
    bits = np.ascontiguousarray(values, dtype=np.float64) + 0.0  # minus zero is zero
    return _mixed(bits.view(np.uint64))


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finishing steps of the generator splitmix64; zero stays zero."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))
