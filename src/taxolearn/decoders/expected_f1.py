"""From probabilities of nodes to the label set of the largest expected F1."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.label_sets import LabelSets, check_at_most, decode_sets
from taxolearn.decoders.label_space import LabelSpace
from taxolearn.errors import DataError

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int32]
_CUTS = 8  # numbers of nodes that are tried where the best number makes no label
_BLOCK_BYTES = 32 * 2**20  # of potentials at a time
_LEAST_POINTS = 32  # of a quadrature
_ROUNDING = 1e-10  # of an expectation, which is at most 1


def falling(space: LabelSpace, probabilities: npt.ArrayLike, combine: str = "mean") -> Floats:
    """Probabilities, rows x nodes, that never rise from a parent to its child: what was given for a node is replaced by
    the mean of the lowest of it and all nodes above, and the highest of it and all nodes below; or by one of the two
    (`combine="min"`, `"max"`). The root has 1.

    >>> from taxolearn import Taxonomy
    >>> space = LabelSpace.over(Taxonomy.from_paths(["Cat/Lion", "Dog"]), ["Lion", "Dog"])
    >>> falling(space, [[1.0, 0.4, 0.6, 0.2]]).tolist()
    [[1.0, 0.5, 0.5, 0.2]]
    """
    lowest = np.array(np.transpose(probabilities), dtype=np.float64, order="C")
    lowest[0] = 1.0
    highest = lowest.copy()
    start, parents = space.parent_indptr.tolist(), space.parent_indices
    for node in range(1, space.n_nodes):
        for parent in parents[start[node] : start[node + 1]].tolist():
            np.minimum(lowest[node], lowest[parent], out=lowest[node])
    for node in range(space.n_nodes - 1, 0, -1):
        for parent in parents[start[node] : start[node + 1]].tolist():
            np.maximum(highest[parent], highest[node], out=highest[parent])
    found = {"min": lowest, "max": highest}.get(combine)
    return np.ascontiguousarray((0.5 * (lowest + highest) if found is None else found).T)


def expected_f1_sets(
    space: LabelSpace, probabilities: npt.ArrayLike, *, at_most: int | None = None
) -> LabelSets:
    """For each row the label of the largest expected F1, nodes being right independently with these probabilities.

    `probabilities` is rows x nodes, made to fall along the paths first (`falling`); F1 is that of the nodes below the
    root. The expectation of every set is computed as it is, not estimated: E F1(S) = sum over n in S of
    2 p_n E[1 / (1 + |S| + Z)], Z being the number of right nodes other than n, and the expectation an integral of
    a polynomial. The best set of k nodes are the k most probable ones, parents before children, so that it is closed
    under ancestors; all k that can be the best are compared. Its value is `bounds`: no set at all exceeds it.

    Where this set is a label, it is the best one, and `proved` says so: always, if no node needs a child and `at_most`
    is None. Elsewhere labels are compared that have the largest sum of p_n less a cut, for the cuts that belong to the
    8 best k; the best of these need not be the best label, and `bounds` says how much better another might be.

    >>> space = LabelSpace.star(3)
    >>> sets = expected_f1_sets(space, [[1.0, 0.9, 0.2, 0.1], [1.0, 0.3, 0.2, 0.1]])
    >>> [sets.of(row).tolist() for row in range(2)], sets.values.round(3).tolist(), sets.proved.all()
    ([[0, 1], [0, 1, 2]], [0.813, 0.306], np.True_)
    """
    return cut_sets(space, probabilities, at_most)[0]


def cut_sets(
    space: LabelSpace, probabilities: npt.ArrayLike, at_most: int | None = None
) -> tuple[LabelSets, Floats, Floats]:
    """`expected_f1_sets`, the probabilities that it compares, and for each row its cut: the set has the largest sum of
    probabilities less the cut.

    >>> sets, p, cut = cut_sets(LabelSpace.star(2), [[1.0, 0.75, 0.25]])
    >>> sets.of(0).tolist(), cut.tolist()
    ([0, 1], [0.5])
    """
    given = np.asarray(probabilities, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != space.n_nodes:
        raise DataError(f"probabilities have shape {given.shape}; give one column per node, {space.n_nodes}")
    if not np.all((given >= 0.0) & (given <= 1.0)):
        raise DataError("probabilities must lie between 0 and 1")
    check_at_most(at_most)
    p = falling(space, given)
    rows = [_Row.of(one[1:]) for one in p]
    bounds = np.array([row.best for row in rows])
    values, cuts = bounds.copy(), np.array([row.cut(row.size) for row in rows])
    nodes = [np.append(np.int32(0), np.sort(row.order[: row.size]) + 1).astype(np.int32) for row in rows]
    hard = np.flatnonzero(~_are_labels(space, nodes, at_most))
    height = max(1, _BLOCK_BYTES // (8 * _CUTS * space.n_nodes))
    for first in range(0, len(hard), height):
        for number in hard[first : first + height].tolist():
            row = rows[number]
            tried = [row.cut(size) for size in row.ranked_sizes()[:_CUTS]]
            potentials = p[number] - np.array(tried)[:, None]
            potentials[:, 0] = 0.0
            found = decode_sets(space, potentials, exact=False, at_most=at_most)
            each = [row.value(found.of(k)[1:] - 1) for k in range(len(tried))]
            k = int(np.argmax(each))
            values[number], cuts[number], nodes[number] = each[k], tried[k], found.of(k)
    indptr = np.concatenate(([0], np.cumsum([len(one) for one in nodes]))).astype(np.int64)
    indices = np.concatenate(nodes) if nodes else np.zeros(0, np.int32)
    same = bounds - values <= _ROUNDING
    return LabelSets(values, np.where(same, values, bounds), indptr, indices), p, cuts


def _are_labels(space: LabelSpace, nodes: list[Ids], at_most: int | None) -> npt.NDArray[np.bool_]:
    """Which of these closed sets are labels."""
    if not nodes:
        return np.zeros(0, dtype=bool)
    indptr = np.concatenate(([0], np.cumsum([len(one) for one in nodes])))
    ones = np.ones(int(indptr[-1]), dtype=np.int32)
    ends = space.ends(sp.csr_array((ones, np.concatenate(nodes), indptr), shape=(len(nodes), space.n_nodes)))
    owner = np.repeat(np.arange(len(nodes)), np.diff(ends.indptr))
    wrong = np.bincount(owner[space.must[ends.indices]], minlength=len(nodes)) > 0
    if at_most is not None:
        wrong |= np.diff(ends.indptr) > at_most
    return ~wrong


class _Row(NamedTuple):
    """One row: its nodes by falling probability, and the expected F1 of the first 1, 2, ... of them.

    1 / (1 + k + z) is the integral of t^(k + z) over [0, 1], and E t^Z a product over nodes: so an expectation is the
    integral of a polynomial, by Gauss' quadrature.
    """

    p: Floats
    order: npt.NDArray[np.intp]
    values: Floats
    points: Floats
    factor: Floats  # weights of the points times E t^Z of all nodes

    @classmethod
    def of(cls, p: Floats) -> _Row:
        order = np.argsort(-p, kind="stable")  # of equal ones parents first: they have smaller numbers
        total = float(p.sum())
        most = min(len(p), 2 * int(np.ceil(total)) + 8)
        while True:
            row = cls._with(p, order, most, total)
            # the first k have at most 2 total / (1 + k)
            if most == len(p) or 2.0 * total <= (2 + most) * row.best:
                return row
            most = min(len(p), max(2 * most, int(2.0 * total / row.best) if row.best > 0 else len(p)))

    @classmethod
    def _with(cls, p: Floats, order: npt.NDArray[np.intp], most: int, total: float) -> _Row:
        points, weights = _quadrature(_LEAST_POINTS + 16 * (int(np.sqrt(most + total)) // 2))
        possible = p[p > 0.0]
        factor = weights * np.prod(1.0 + np.multiply.outer(possible, points - 1.0), axis=0)
        sums = np.cumsum(_ratios(p[order[:most]], points), axis=0)
        sizes = np.arange(1, most + 1)
        values = 2.0 * np.einsum("kq,kq,q->k", sums, points ** sizes[:, None], factor)
        return cls(p, order, values, points, factor)

    @property
    def best(self) -> float:
        return float(self.values.max())

    @property
    def size(self) -> int:
        """How many nodes are best; of equals the fewest."""
        return int(np.argmax(self.values >= self.best - _ROUNDING)) + 1

    def ranked_sizes(self) -> list[int]:
        found: list[int] = (np.argsort(-self.values, kind="stable") + 1).tolist()
        return found

    def cut(self, size: int) -> float:
        """Between the last of so many nodes and the next."""
        after = self.p[self.order[size]] if size < len(self.p) else 0.0
        return 0.5 * float(self.p[self.order[size - 1]] + after)

    def value(self, nodes: Any) -> float:
        """Expected F1 of some nodes."""
        sums = _ratios(self.p[nodes], self.points).sum(axis=0)
        return 2.0 * float((sums * self.points ** len(nodes)) @ self.factor)


def _ratios(p: Floats, points: Floats) -> Floats:
    return np.asarray(p[:, None] / (1.0 + np.multiply.outer(p, points - 1.0)))


@lru_cache(maxsize=32)
def _quadrature(count: int) -> tuple[Floats, Floats]:
    """Gauss' points and weights on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (points + 1.0), 0.5 * weights
