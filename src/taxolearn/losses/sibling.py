"""Sibling hinge: along the path of a row's class each node must beat its siblings, with one slack per row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import LabelError
from taxolearn.losses.base import LossFacts

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SiblingHinge:
    """loss_i = max(0, max over groups g on the path of y and units j in g of 1 - s_own(g, y) + s_j), j not own(g, y).

    Scores are of units, not of classes: one for each child of a node with a choice. The children of one node are a
    group, the units group_start[g] .. group_start[g + 1] - 1. Class y passes the groups
    step_group[step_indptr[y] : step_indptr[y + 1]], in rising order, and its own unit there is that of `step_own`. A
    class without steps asks for nothing.

    >>> parts = [0, 2, 4], [0, 2, 4, 5], [0, 1, 0, 1, 0], [0, 2, 0, 3, 1]
    >>> loss = SiblingHinge(*(np.array(part) for part in parts))
    >>> loss.facts.n_units, loss.n_classes
    (4, 3)
    >>> loss.value(np.array([[2.0, 1.5, 0.0, 3.0]]), np.array([0])).tolist()  # 1 - 0 + 3
    [4.0]
    """

    group_start: Ids
    step_indptr: Ids
    step_group: Ids
    step_own: Ids

    @property
    def facts(self) -> LossFacts:
        """What callers branch on.

        >>> sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2).facts.kind
        'siblings'
        """
        return LossFacts(
            "sibling_hinge",
            "siblings",
            several_labels=False,
            tied_bias=True,
            n_units=int(self.group_start[-1]),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2).n_classes
        2
        """
        return len(self.step_indptr) - 1

    def low_intercept(self, total_weight: float) -> float:
        """Siblings are compared with each other: no one says no.

        >>> sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2).low_intercept(9.0)
        0.0
        """
        return 0.0

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is.

        >>> sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2).key()[0]
        'siblings'
        """
        parts = (self.group_start, self.step_indptr, self.step_group, self.step_own)
        return self.facts.kind, *(part.tobytes() for part in parts)

    @cached_property
    def group_of(self) -> Ids:
        """The group of every unit.

        >>> sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2).group_of
        array([0, 0])
        """
        return np.repeat(np.arange(len(self.group_start) - 1), np.diff(self.group_start))

    def steps(self, number: int) -> list[tuple[int, int, int]]:
        """Of each group that a class passes the first unit, the end, and the class's own unit.

        >>> sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2).steps(1)
        [(0, 2, 1)]
        """
        which = slice(*self.step_indptr[number : number + 2].tolist())
        return [
            (int(self.group_start[group]), int(self.group_start[group + 1]), own)
            for group, own in zip(self.step_group[which].tolist(), self.step_own[which].tolist(), strict=True)
        ]

    def rivals(self, number: int) -> tuple[Ids, Ids]:
        """The units that a row of this class must beat, and for each the own unit that must beat it.

        >>> sibling_hinge([(slice(0, 3), [0, 1, 2], [0, 1, 2])], 3).rivals(1)
        (array([0, 2]), array([1, 1]))
        """
        steps = self.steps(number)
        if not steps:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        units = np.concatenate([np.arange(first, end) for first, end, _ in steps])
        own = np.repeat([own for *_, own in steps], [end - first for first, end, _ in steps])
        return units[units != own], own[units != own]

    def own_units(self, classes: npt.NDArray[Any], units: npt.NDArray[Any]) -> Ids:
        """For pairs of a class and a unit the own unit that must beat it; -1 where the unit is no rival.

        >>> loss = sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2)
        >>> loss.own_units(np.array([0, 0]), np.array([0, 1]))
        array([-1,  0])
        """
        n_groups = len(self.group_start) - 1
        steps = np.repeat(np.arange(self.n_classes), np.diff(self.step_indptr)) * n_groups + self.step_group
        wanted = np.asarray(classes, dtype=np.int64) * n_groups + self.group_of[units]
        at = np.searchsorted(steps, wanted)
        own = np.append(self.step_own, -1)[at]
        there = (np.append(steps, -1)[at] == wanted) & (own != units)
        return np.asarray(np.where(there, own, -1))

    def value(self, scores: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The loss of rows of these scores, rows x units, and classes.

        >>> loss = sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2)
        >>> loss.value(np.array([[0.0, 0.5], [0.0, 5.0]]), np.array([1, 1])).tolist()
        [0.5, 0.0]
        """
        found = np.zeros(len(scores))
        for number in np.unique(classes).tolist():
            units, own = self.rivals(number)
            rows = np.flatnonzero(classes == number)
            if len(units):
                worst = (1.0 - scores[np.ix_(rows, own)] + scores[np.ix_(rows, units)]).max(axis=1)
                found[rows] = np.maximum(0.0, worst)
        return found


def sibling_hinge(choices: Iterable[Any], n_classes: int) -> SiblingHinge:
    """The sibling hinge of a tree of decisions: each choice says which units it has, and below which of them (from 0)
    each class lies, as `taxolearn.decoders.TopDown.choices` does.

    >>> sibling_hinge([(slice(0, 2), [0, 1, 2], [0, 0, 1]), (slice(2, 4), [0, 1], [0, 1])], 3).steps(1)
    [(0, 2, 0), (2, 4, 3)]
    """
    found = [
        (units.start, units.stop, np.asarray(classes), np.asarray(option))
        for units, classes, option in choices
    ]
    if not found:
        raise LabelError(
            "no node of the taxonomy has two children with rows below, so that there is nothing to decide; use "
            "TopDownSVM, which also decides whether to stop at a node"
        )
    starts = np.array([0, *(stop for _, stop, *_ in found)], dtype=np.int64)
    classes = np.concatenate([classes for *_, classes, _ in found]).astype(np.int64)
    groups = np.repeat(np.arange(len(found)), [len(classes) for *_, classes, _ in found])
    own = np.concatenate([start + option for start, _, _, option in found]).astype(np.int64)
    order = np.lexsort((groups, classes))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(classes, minlength=n_classes)))).astype(np.int64)
    return SiblingHinge(starts, indptr, groups[order].astype(np.int64), own[order])
