"""Sweeps over a forest, a whole level at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IdArray = npt.NDArray[np.int64]


class Level(NamedTuple):
    """The nodes of one depth below the top, brothers together.

    `parents` are the nodes above that have children, each once, and `start` is where the children of each begin.

    >>> Level(np.array([1, 2]), np.array([0]), np.array([0])).parents
    array([0])
    """

    children: IdArray
    parents: IdArray
    start: IdArray


def forest_levels(parent: npt.NDArray[np.integer]) -> list[Level]:
    """The levels below the top, from the top down; parent[n] < n, or -1 at the top.

    >>> [level.children.tolist() for level in forest_levels(np.array([-1, 0, 1, 0]))]
    [[1, 3], [2]]
    """
    depth: list[int] = []
    for above in parent.tolist():
        depth.append(depth[above] + 1 if above >= 0 else 0)
    order = np.lexsort((parent, np.array(depth)))
    ends = np.cumsum(np.bincount(depth))
    levels = []
    for first, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        children = order[first:end]
        parents, start = np.unique(parent[children], return_index=True)
        levels.append(Level(children, parents.astype(np.int64), start))
    return levels


def sum_downwards(parent: npt.NDArray[np.integer], levels: list[Level], step: FloatArray) -> FloatArray:
    """For every node the sum of `step` over its proper ancestors.

    >>> parent = np.array([-1, 0, 1])
    >>> sum_downwards(parent, forest_levels(parent), np.array([1.0, 2.0, 4.0]))
    array([0., 1., 3.])
    """
    total = np.zeros(len(step))
    for level in levels:
        above = parent[level.children]
        total[level.children] = total[above] + step[above]
    return total
