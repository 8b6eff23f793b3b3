"""What a model keeps of its calibration rows, and how far down it answers new rows because of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from taxolearn.decoders.coverage import (
    coverage_limit,
    first_misses,
    largest_loss,
    risk_limit,
    rows_needed,
    rows_needed_for_risk,
    tree_losses,
)
from taxolearn.decoders.deepest import Deepest, deepest
from taxolearn.decoders.doubts import other_doubts
from taxolearn.decoders.group_limits import GroupLimits, group_limits, limits_along
from taxolearn.decoders.ladders import Floats, Ids, Ladders, node_ladders, set_ladders
from taxolearn.errors import DataError, ModelError
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

By = Literal["level", "chapter", "class"]
BY = ("level", "chapter", "class")
_ENOUGH_TO_TELL = 100  # calibration rows from which on a row below all of them counts as unlike anything seen


@dataclass(frozen=True, eq=False)
class Coverage:
    """The calibration rows of a model, by what decides how far down it may answer.

    - `labels`: node of the true label of each row.
    - `misses`: answers of up to 1, 2, ... nodes x rows: the least doubt at which the answer misses the label.
    - `doubt`, `losses`: rows x rungs of one node: doubt in each node of the predicted path, and its tree loss.
    - `others`: other doubts x rows x rungs, of which the one that leads deepest may be taken; there may be none.
    - `slope`: probabilities are the softmax of so many times the scores; 0 where the model has its own.
    - `least_score`: the lowest best score of a row.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> p, predicted = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]]), np.array([0, 0, 1])
    >>> kept = Coverage.of(p, predicted, np.array([1, 2]), np.array([1, 2, 2]), tree, 1)
    >>> kept.n_rows, kept.misses.round(3).tolist()
    (3, [[inf, 0.4, inf]])
    """

    labels: Ids
    misses: Floats
    doubt: Floats
    losses: Floats
    slope: float = 0.0
    least_score: float = -np.inf
    others: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))

    @classmethod
    def of(
        cls,
        probabilities: Floats,
        predicted: npt.NDArray[Any],
        class_nodes: Ids,
        labels: npt.ArrayLike,
        taxonomy: Taxonomy,
        max_nodes: int,
        slope: float = 0.0,
        least_score: float = -np.inf,
    ) -> Self:
        """The calibration by rows with these probabilities of the classes, predicted classes and true labels.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> Coverage.of(np.array([[0.9, 0.1]]), np.array([0]), np.array([1, 2]), [1], tree, 2).max_nodes
        2
        """
        nodes = np.asarray(labels, dtype=np.int32)
        ladders = node_ladders(probabilities, predicted, class_nodes, taxonomy)
        misses = [first_misses(ladders, nodes, taxonomy)]
        for width in range(2, max_nodes + 1):
            wider = set_ladders(probabilities, predicted, class_nodes, taxonomy, width)
            misses.append(first_misses(wider, nodes, taxonomy))
        losses = tree_losses(ladders, nodes, taxonomy)
        others = other_doubts(ladders, probabilities, class_nodes, taxonomy)
        return cls(nodes, np.stack(misses), ladders.doubt, losses, slope, least_score, others)

    @property
    def n_rows(self) -> int:
        """Number of calibration rows.

        >>> Coverage(np.zeros(3, np.int32), np.zeros((1, 3)), np.zeros((3, 1)), np.zeros((3, 1))).n_rows
        3
        """
        return len(self.labels)

    @property
    def max_nodes(self) -> int:
        """How many nodes an answer may have.

        >>> Coverage(np.zeros(3, np.int32), np.zeros((2, 3)), np.zeros((3, 1)), np.zeros((3, 1))).max_nodes
        2
        """
        return len(self.misses)

    @classmethod
    def joined(cls, parts: Sequence[Coverage], slope: float, least_score: float) -> Self:
        """The calibration by all rows of the parts.

        >>> part = Coverage(np.zeros(1, np.int32), *np.zeros((3, 1, 1)))
        >>> Coverage.joined([part, part], 0.0, -1.0).n_rows
        2
        """
        rungs = max(part.doubt.shape[1] for part in parts)
        doubt, losses, others = [], [], []
        for part in parts:
            missing = ((0, 0), (0, rungs - part.doubt.shape[1]))
            doubt.append(np.pad(part.doubt, missing, constant_values=np.inf))
            losses.append(np.pad(part.losses, missing, mode="edge"))
            if len(part.others):
                others.append(np.pad(part.others, ((0, 0), *missing), constant_values=np.inf))
        labels = np.concatenate([part.labels for part in parts])
        misses = np.concatenate([part.misses for part in parts], axis=1)
        stacked = np.concatenate(doubt), np.concatenate(losses), slope, least_score
        return cls(labels, misses, *stacked, *([np.concatenate(others, axis=1)] if others else []))

    def limits(self, asked: Asked, class_nodes: Ids, taxonomy: Taxonomy) -> Any:
        """What the doubt in a step must stay below: one number, or with groups one per edge of the taxonomy; where
        several doubts are kept, those to stay below. For `settle`.

        >>> tree, nodes = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]), np.array([1, 2])
        >>> p, predicted = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]]), np.array([0, 0, 1])
        >>> kept = Coverage.of(p, predicted, nodes, [1, 2, 2], tree, 1)
        >>> ladders = node_ladders(p, predicted, nodes, tree)
        >>> ladders, limits = settle(ladders, kept.limits(Asked(0.7), nodes, tree), p, nodes, tree)
        >>> ladders.cut(limits).tolist()
        [1, 0, 1]
        """
        if asked.by is None:
            limit = self.limit(asked, taxonomy)
            if asked.coverage is None or asked.max_nodes > 1 or not len(self.others):
                return limit
            doubts = [self.doubt, *self.others]
            return deepest(doubts, self.losses > 0, asked.coverage, taxonomy.max_depth)
        found = self.limits_of_groups(asked, class_nodes, taxonomy)
        if asked.risk is not None:
            return found.of_edges_for_risk(taxonomy)
        return found if asked.max_nodes > 1 else found.of_edges(taxonomy)

    def limit(self, asked: Asked, taxonomy: Taxonomy) -> float:
        """The doubt that answers must stay below.

        >>> misses, ladders = np.array([[0.1, 0.2, 0.3, np.inf]]), np.zeros((4, 1))
        >>> Coverage(np.zeros(4, np.int32), misses, ladders, ladders).limit(Asked(0.8), Taxonomy.from_paths(["A/B"]))
        0.1
        """
        needed = self._needed(asked, taxonomy)
        if self.n_rows < needed:
            warnings.warn(
                f"{asked.promise} needs {needed:,} calibration rows at least, and there are {self.n_rows:,}: all rows "
                "are answered by the root; calibrate with more rows",
                stacklevel=5,
            )
        return self._limit_by(asked, np.ones(self.n_rows, dtype=bool), taxonomy)

    def _needed(self, asked: Asked, taxonomy: Taxonomy) -> int:
        """Calibration rows that there must be for anything but the root."""
        if asked.max_nodes > self.max_nodes:
            raise DataError(
                f"max_nodes={asked.max_nodes} is more than the {self.max_nodes} that the model was calibrated for; "
                f"call calibrate(X, y, max_nodes={asked.max_nodes})"
            )
        if asked.risk is not None:
            return rows_needed_for_risk(asked.risk, largest_loss(taxonomy))
        assert asked.coverage is not None
        return rows_needed(asked.coverage)

    def _limit_by(self, asked: Asked, rows: npt.NDArray[np.bool_], taxonomy: Taxonomy) -> float:
        """The limit by some of the rows."""
        if asked.risk is not None:
            return risk_limit(self.doubt[rows], self.losses[rows], asked.risk, largest_loss(taxonomy))
        assert asked.coverage is not None
        return coverage_limit(self.misses[asked.max_nodes - 1, rows], asked.coverage)

    def limits_of_groups(self, asked: Asked, class_nodes: Ids, taxonomy: Taxonomy) -> GroupLimits:
        """The doubt that answers must stay below for the labels of each group.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> misses, ladders = np.array([[0.1, 0.2, 0.3, np.inf]]), np.zeros((4, 1))
        >>> kept = Coverage(np.array([1, 2, 1, 2], np.int32), misses, ladders, ladders)
        >>> kept.limits_of_groups(Asked(0.5, by="class"), np.array([1, 2]), tree).limits.tolist()
        [0.1, 0.2]
        """
        assert asked.by is not None
        keys, groups = np.unique(groups_of(class_nodes, asked.by, taxonomy), return_inverse=True)
        known = np.isin(self.labels, class_nodes)
        of_rows = np.where(known, np.searchsorted(keys, groups_of(self.labels, asked.by, taxonomy)), -1)
        needed = self._needed(asked, taxonomy)
        limits, shared = group_limits(
            lambda rows: self._limit_by(asked, rows, taxonomy), of_rows, len(keys), needed
        )
        if shared.any():
            warnings.warn(
                f"by={asked.by!r}: {shared.sum()} of {len(keys)} groups are taken together, and {asked.promise} is "
                f"promised for these together, not for each: fewer than {needed} calibration rows are not enough for a "
                "group",
                stacklevel=5,
            )
        return GroupLimits(limits, groups, class_nodes)

    def unlike(self, best_scores: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Rows whose best score is below those of all calibration rows, of which there are 100 at least.

        >>> few = np.zeros(4, np.int32), np.zeros((1, 4)), np.zeros((4, 1)), np.zeros((4, 1)), 0.0, 0.5
        >>> Coverage(*few).unlike(np.array([-3.0, 1.0])).tolist()  # four rows say little
        [False, False]
        """
        enough = self.n_rows >= _ENOUGH_TO_TELL
        return np.asarray(best_scores < self.least_score) & enough

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What a stored model keeps.

        >>> sorted(Coverage(np.zeros(1, np.int32), *np.zeros((3, 1, 1))).arrays())
        ['doubt', 'labels', 'losses', 'misses', 'numbers']
        """
        numbers = np.array([self.slope, self.least_score])
        return {
            "labels": self.labels,
            "misses": self.misses,
            "doubt": self.doubt,
            "losses": self.losses,
            "numbers": numbers,
            **({"others": self.others} if len(self.others) else {}),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_nodes: int) -> Self:
        """Undo `arrays`; whatever is no calibration over so many nodes is a `ModelError`.

        >>> kept = Coverage(np.zeros(1, np.int32), *np.zeros((3, 1, 1)))
        >>> Coverage.from_arrays(kept.arrays(), 5).n_rows
        1
        """
        found = [arrays.get(name) for name in ("labels", "misses", "doubt", "losses", "numbers")]
        shapes = ((None,), (None, None), (None, None), (None, None), (2,))
        for array, shape, kind in zip(found, shapes, (np.int32, *[np.float64] * 4), strict=True):
            if array is None or array.dtype != kind or array.ndim != len(shape) or np.isnan(array).any():
                raise ModelError("stored coverage: an array is missing, of another type, or holds NaN")
        labels, misses, doubt, losses, numbers = (np.asarray(array) for array in found)
        n = len(labels)
        if numbers.shape != (2,) or not len(misses) or misses.shape[1] != n:
            raise ModelError("stored coverage: the arrays do not fit each other")
        if doubt.shape != losses.shape or len(doubt) != n or not doubt.shape[1]:
            raise ModelError("stored coverage: the arrays do not fit each other")
        if not n or labels.min() < 0 or labels.max() >= n_nodes or not np.isfinite(losses).all():
            raise ModelError("stored coverage: a label or a loss is out of range")
        others = arrays.get("others", np.zeros((0, *doubt.shape)))  # older models have none
        if others.dtype != np.float64 or others.ndim != 3 or others.shape[1:] != doubt.shape:
            raise ModelError("stored coverage: the arrays do not fit each other")
        if np.isnan(others).any():
            raise ModelError("stored coverage: an array is missing, of another type, or holds NaN")
        return cls(labels, misses, doubt, losses, float(numbers[0]), float(numbers[1]), others)


@dataclass(frozen=True)
class Asked:
    """What is asked of answers that stop when unsure; one of `coverage` and `risk`.

    >>> Asked(0.95).max_nodes
    1
    >>> Asked(95)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: coverage=95 is not allowed; give a number between 0 and 1, as 0.95
    """

    coverage: float | None = None
    risk: float | None = None
    by: By | None = None
    max_nodes: int = 1

    def __post_init__(self) -> None:
        if (self.coverage is None) == (self.risk is None):
            raise DataError("give either coverage= or risk=, not both and not neither")
        if self.coverage is not None and not (_is_number(self.coverage) and 0 < self.coverage < 1):
            raise DataError(
                f"coverage={show(self.coverage)} is not allowed; give a number between 0 and 1, as 0.95"
            )
        if self.risk is not None and not (_is_number(self.risk) and 0 < self.risk < np.inf):
            raise DataError(f"risk={show(self.risk)} is not allowed; give a tree loss above 0, as 0.5")
        if self.by is not None and self.by not in BY:
            raise DataError(f"by={show(self.by)} is not known; choose 'level', 'chapter' or 'class'")
        whole = isinstance(self.max_nodes, int | np.integer) and not isinstance(self.max_nodes, bool)
        if not whole or self.max_nodes < 1:
            raise DataError(f"max_nodes={show(self.max_nodes)} is not allowed; give a whole number from 1 on")
        if self.risk is not None and self.max_nodes > 1:
            raise DataError("risk= goes with answers of one node, not with max_nodes=")

    @property
    def promise(self) -> str:
        """What is promised, as it was asked for.

        >>> Asked(0.95).promise, Asked(risk=0.5).promise
        ('coverage=0.95', 'risk=0.5')
        """
        return f"risk={self.risk:g}" if self.coverage is None else f"coverage={self.coverage:g}"

    def ladders(
        self, probabilities: Floats, predicted: npt.NDArray[Any], class_nodes: Ids, taxonomy: Taxonomy
    ) -> Ladders:
        """The nested answers that are asked for.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> Asked(0.9).ladders(np.array([[0.9, 0.1]]), np.array([0]), np.array([1, 2]), tree).nodes.shape
        (1, 2, 1)
        """
        if self.max_nodes == 1:
            return node_ladders(probabilities, predicted, class_nodes, taxonomy)
        return set_ladders(probabilities, predicted, class_nodes, taxonomy, self.max_nodes)


def settle(
    ladders: Ladders, limits: Any, probabilities: Floats, class_nodes: Ids, taxonomy: Taxonomy
) -> tuple[Ladders, Floats]:
    """Ladders with the doubts that count, and what these must stay below, rows x rungs, from `Coverage.limits`.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> p, nodes = np.array([[0.7, 0.3]]), np.array([1, 2])
    >>> ladders = node_ladders(p, np.array([0]), nodes, tree)
    >>> settle(ladders, 0.2, p, nodes, tree)[1].tolist()
    [[0.2, 0.2]]
    """
    if isinstance(limits, Deepest):
        others = (
            other_doubts(ladders, probabilities, class_nodes, taxonomy) if limits.others else ladders.doubt
        )
        return limits.settled(ladders, others)
    if isinstance(limits, GroupLimits):
        return ladders, limits.of_rungs(ladders, taxonomy)
    if np.ndim(limits) == 0:
        return ladders, np.full(ladders.doubt.shape, float(limits))
    return ladders, limits_along(ladders, limits, taxonomy)


def groups_of(nodes: npt.NDArray[Any], by: By, taxonomy: Taxonomy) -> npt.NDArray[np.int64]:
    """The group of each label: its level, its chapter (the first node below the root that it lies at or below), itself.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"])
    >>> groups_of(np.array([0, 2, 3]), "chapter", tree).tolist(), groups_of(np.array([0, 2, 3]), "level", tree).tolist()
    ([0, 1, 3], [0, 2, 1])
    """
    if by == "class":
        return np.asarray(nodes, dtype=np.int64)
    if by == "level":
        return np.asarray(taxonomy.depth[nodes], dtype=np.int64)
    above = taxonomy.ancestor_matrix(nodes, dtype=bool)
    chapter = np.zeros(taxonomy.n_nodes, dtype=bool)
    chapter[taxonomy.child_indices[: taxonomy.child_indptr[1]]] = True
    rows = np.repeat(np.arange(len(nodes)), np.diff(above.indptr))
    found = np.full(len(nodes), taxonomy.n_nodes, dtype=np.int64)
    np.minimum.at(found, rows[chapter[above.indices]], above.indices[chapter[above.indices]])
    found[found == taxonomy.n_nodes] = 0  # the root
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
