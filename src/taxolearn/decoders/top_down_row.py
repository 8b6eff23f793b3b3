"""How one row goes down a tree of decisions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from taxolearn.decoders.base import Contest
from taxolearn.vectors import Vectors

Ids = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class TopDownRow:
    """`RowFacts` of a row whose options score `units`; the arrays are those of `TopDown`.

    >>> from taxolearn.decoders import TopDown
    >>> from taxolearn.vectors import ClassVectors
    >>> row = TopDown([0, 2], [-1, -1], [0, 1]).row_facts(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]]))
    >>> row.parts(0), row.parts(1)
    (((0,), (1,)), ((), ()))
    """

    deciding: Vectors
    units: npt.NDArray[Any]
    indptr: Ids
    children: Ids
    classes: Ids
    unit_start: Ids
    node_by_node: ClassVar[bool] = True

    def parts(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The units where the path of a class leaves the best way, and the best units there."""
        steps = [option for option in self._path(number) if self._behind[option] < 0]
        plus = tuple(int(self._unit[option]) for option in steps)
        return plus, tuple(int(self._unit[self._lead[self._owner[option]]]) for option in steps)

    @property
    def scored(self) -> Vectors:
        """Scores are reported as they are compared."""
        return self.deciding

    def contest(self, own: Ids, others: Ids, node: int | None = None) -> Contest:
        """The option that leads to `own` against the best other option of the same node."""
        covered = self._covered(own)
        path = [o for o in self._path(int(own[0])) if self._unit[o] >= 0 and covered[o] >= len(own)]
        if not path:  # no choice was made
            return Contest(int(own[np.argmax(self._class_scores[own])]), ())
        option = path[-1]
        units = (int(self._unit[option]),)
        if not len(others):
            return Contest(self._end(option), units)
        owner = self._owner[option]
        options = np.arange(self.indptr[owner], self.indptr[owner + 1])
        options = options[options != option]
        rival = int(options[np.argmax(self._scored[options])])
        return Contest(self._end(option), units, self._end(rival), (int(self._unit[rival]),))

    @cached_property
    def _owner(self) -> Ids:
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    @cached_property
    def _unit(self) -> Ids:
        """The unit of each option; -1 where there is no choice."""
        first, single = self.unit_start[self._owner], np.diff(self.indptr)[self._owner] == 1
        return np.where(single, -1, first + np.arange(len(self.classes)) - self.indptr[self._owner])

    @cached_property
    def _scored(self) -> npt.NDArray[Any]:
        """The score of each option; 0 where there is no choice."""
        known = np.where(np.isnan(self.units), -np.inf, self.units)
        scores = np.zeros(len(self.classes), dtype=self.units.dtype)
        scores[self._unit >= 0] = known
        return scores

    @cached_property
    def _lead(self) -> Ids:
        """The best option of each node."""
        order = np.lexsort((np.arange(len(self.classes)), -self._scored, self._owner))
        return order[self.indptr[:-1]]

    @cached_property
    def _behind(self) -> npt.NDArray[Any]:
        best = self._scored[self._lead][self._owner]
        with np.errstate(invalid="ignore"):
            return np.where(self._scored == best, 0.0, self._scored - best)

    @cached_property
    def _ways(self) -> tuple[Ids, npt.NDArray[Any]]:
        """The option by which each node is best reached (-1: the root), and the sum of the path to each option."""
        came = np.full(len(self.indptr) - 1, -1)
        along = np.full(len(came), -np.inf)
        along[0] = 0.0
        sums = np.empty(len(self.classes))
        children = self.children.tolist()
        for option, node in enumerate(self._owner.tolist()):  # parents come first
            sums[option] = along[node] + self._behind[option]
            child = children[option]
            if child >= 0 and (came[child] < 0 or sums[option] > along[child]):
                came[child], along[child] = option, sums[option]
        return came, sums

    @cached_property
    def _arrivals(self) -> Ids:
        """The option by which each class is best reached."""
        ends = np.flatnonzero(self.classes >= 0)
        ends = ends[np.lexsort((ends, -self._ways[1][ends], self.classes[ends]))]
        return ends[np.unique(self.classes[ends], return_index=True)[1]]

    @cached_property
    def _class_scores(self) -> npt.NDArray[Any]:
        return self._ways[1][self._arrivals]

    def _path(self, number: int) -> list[int]:
        """The options on the best path to a class, from the root."""
        option = int(self._arrivals[number])
        path = []
        while option >= 0:
            path.append(option)
            option = int(self._ways[0][self._owner[option]])
        return path[::-1]

    def _end(self, option: int) -> int:
        """The class that is reached from an option by the best ones below it."""
        while self.children[option] >= 0:
            option = int(self._lead[self.children[option]])
        return int(self.classes[option])

    def _covered(self, own: Ids) -> Ids:
        """How many of some classes are below each option (in a DAG by how many ways)."""
        counts = np.isin(self.classes, own).astype(np.int64)
        total = np.zeros(len(self.indptr) - 1, dtype=np.int64)
        owner, children = self._owner.tolist(), self.children.tolist()
        for option in range(len(owner) - 1, -1, -1):
            if children[option] >= 0:
                counts[option] += total[children[option]]
            total[owner[option]] += counts[option]
        return counts
