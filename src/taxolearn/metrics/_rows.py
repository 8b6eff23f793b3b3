"""What every metric needs: one true and one predicted label set a row, row weights, pairs inside a row."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.problem.aligned import align_labels
from taxolearn.problem.inputs import check_sample_weight
from taxolearn.problem.labels import Labels
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

# Rows are worked on in runs of about this many pairs of labels or entries: large enough to hide numpy's
# overhead, small enough for temporary arrays to stay in the cache (8 times as many took 1.5 times as long).
_WORK_AT_A_TIME = 2**18


class LabelSets(NamedTuple):
    """One set of node ids a row, as CSR without values."""

    indptr: IntArray
    indices: IntArray

    @property
    def sizes(self) -> IntArray:
        return np.diff(self.indptr)

    @property
    def single(self) -> bool:
        """True where every row has exactly one label, so that `indices` is the label of each row."""
        return bool(np.all(self.sizes == 1))

    @property
    def rows(self) -> IntArray:
        """The row of every entry of `indices`."""
        return np.repeat(np.arange(len(self.indptr) - 1), self.sizes)

    def part(self, start: int, stop: int) -> LabelSets:
        first, last = self.indptr[start], self.indptr[stop]
        return LabelSets(self.indptr[start : stop + 1] - first, self.indices[first:last])


def label_sets(labels: Labels) -> LabelSets:
    return LabelSets(labels.indptr.astype(np.int64), labels.indices.astype(np.int64))


def or_root(sets: LabelSets) -> LabelSets:
    """The same sets with {root} in place of the empty ones."""
    empty = sets.sizes == 0
    if not empty.any():
        return sets
    sizes = np.maximum(sets.sizes, 1)
    indices = np.zeros(int(sizes.sum()), dtype=np.int64)
    indices[~np.repeat(empty, sizes)] = sets.indices
    return LabelSets(np.concatenate(([0], np.cumsum(sizes))), indices)


def checked(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy | None, sample_weight: Any
) -> tuple[Labels, Labels, FloatArray]:
    """The two label sets over one list of names, and a weight for every row."""
    true, pred = align_labels(y_true, y_pred, taxonomy)
    return true, pred, row_weights(sample_weight, true.n_rows)


def required(taxonomy: Taxonomy | None, metric: str) -> Taxonomy:
    if taxonomy is None:
        raise TaxonomyError(
            f"{metric} needs the taxonomy the labels belong to; pass it as the third argument"
        )
    return taxonomy


def class_names(labels: Any) -> list[Hashable]:
    """The names given as labels=..., each once."""
    try:
        names = [] if isinstance(labels, str | bytes) else list(labels)
        distinct_names = set(names)
    except TypeError:
        names = []
    if not names:
        raise LabelError(f"labels must be a list of at least one class name, not {show(labels)}")
    if len(distinct_names) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise LabelError(f"labels names {show(twice)} twice; name each class once")
    return names


def row_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    if n_rows == 0:
        raise LabelError("y_true has no rows; a metric needs at least one")
    weights = check_sample_weight(sample_weight, n_rows)
    return np.ones(n_rows) if weights is None else weights


def weighted_mean(values: NDArray[Any], weights: FloatArray) -> float:
    return float(np.dot(values, weights) / weights.sum())


def ratio(part: NDArray[Any], whole: NDArray[Any], other: NDArray[Any]) -> FloatArray:
    """part / whole; where whole is 0 it is 1 if `other` is 0 too (nothing asked, nothing claimed), else 0."""
    empty = whole == 0
    value = np.asarray(part / np.where(empty, 1, whole), dtype=np.float64)
    return np.where(empty, np.asarray(other == 0, dtype=np.float64), value)


def shared(true: Labels, pred: Labels) -> Any:
    """Sparse rows x classes matrix with a 1 where a label is both true and predicted."""
    return true.matrix(np.int32).multiply(pred.matrix(np.int32)).tocsr()


def row_chunks(work: IntArray) -> Iterator[tuple[int, int]]:
    """Cut the rows into runs whose summed work stays near a fixed amount (one row at least)."""
    done = np.concatenate(([0], np.cumsum(work)))
    start, n_rows = 0, len(work)
    while start < n_rows:
        stop = int(np.searchsorted(done, done[start] + _WORK_AT_A_TIME, side="right")) - 1
        stop = min(max(stop, start + 1), n_rows)
        yield start, stop
        start = stop


def ranges(start: IntArray, size: IntArray) -> tuple[IntArray, IntArray]:
    """(owner, position): the positions start, start + 1, ... of each owner, `size` of them."""
    owner = np.repeat(np.arange(len(size)), size)
    return owner, np.arange(len(owner)) + np.repeat(start - np.cumsum(size) + size, size)


def distinct(keys: IntArray) -> IntArray:
    """Sorted, each once. np.unique hashes integers since numpy 2.3, ten times slower on millions of them."""
    keys = np.sort(keys)
    first: NDArray[np.bool_] = np.diff(keys, prepend=-1) != 0
    return keys[first]


def row_pairs(left: LabelSets, right: LabelSets) -> tuple[IntArray, IntArray]:
    """Positions (i, j) in the indices of both sides of every pair of labels that share a row."""
    return ranges(np.repeat(right.indptr[:-1], left.sizes), np.repeat(right.sizes, left.sizes))


def nearest(position: IntArray, distance: NDArray[Any], n: int) -> NDArray[Any]:
    """The least distance of each of n positions, every one of which occurs."""
    least = np.full(n, np.iinfo(distance.dtype).max, dtype=distance.dtype)
    np.minimum.at(least, position, distance)
    return least
