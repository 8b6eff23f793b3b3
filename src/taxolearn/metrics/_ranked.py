"""The second argument of the ranking metrics, scores or ranked names, as the k best class ids of a row."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from taxolearn.errors import DataError, LabelError
from taxolearn.metrics._rows import FloatArray, IntArray, class_names, row_chunks, row_weights
from taxolearn.problem.labels import Labels, encode_labels
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

_NO_CLASS = -1  # number that stands for no class at a rank
_UNKNOWN_CLASS = -2  # number that stands for a class which no true label can equal


class Ranked(NamedTuple):
    """True labels, hits of the k best predictions and row weights."""

    true: Labels
    ids: IntArray  # rows x k, or fewer columns where no row ranks so many
    hits: NDArray[np.bool_]  # of the same shape
    weights: FloatArray


def checked_ranking(
    y_true: Any,
    scores: Any,
    taxonomy: Taxonomy | None,
    k: int,
    labels: Sequence[Hashable] | None,
    sample_weight: Any,
) -> Ranked:
    k = _checked_k(k)
    true = encode_labels(y_true, taxonomy, allow_empty=True, what="y_true")
    weights = row_weights(sample_weight, true.n_rows)
    if _is_score_matrix(scores):
        matrix = _checked_scores(scores, true.n_rows)
        of_column = _column_ids(matrix.shape[1], true.names, taxonomy, labels)
        best = _best_stored(matrix, k) if sp.issparse(matrix) else _best_columns(matrix, k)
        ids = np.where(best >= 0, of_column[best], _NO_CLASS)
    elif labels is not None:
        raise DataError(
            "labels= names the columns of a score matrix, but ranked names were given; leave it out"
        )
    else:
        ids = _ranked_ids(scores, k, true, taxonomy)
    return Ranked(true, ids, _hits(true, ids), weights)


def _checked_k(k: int) -> int:
    try:
        value = operator.index(k)
    except TypeError:
        raise DataError(f"k must be a whole number, not {show(k)}") from None
    if isinstance(k, bool) or value < 1:
        raise DataError(f"k must be at least 1, not {k!r}")
    return value


def _is_score_matrix(scores: Any) -> bool:
    """Floats are scores; names of classes may be integers, so a matrix of integers is a ranking."""
    if sp.issparse(scores):
        return True
    if isinstance(scores, list | tuple):
        first = next(
            (row[0] for row in scores if isinstance(row, list | tuple | np.ndarray) and len(row)), None
        )
        return isinstance(first, float | np.floating)
    try:
        return np.asarray(scores).dtype.kind == "f"
    except (TypeError, ValueError):
        raise DataError("scores must be a matrix of numbers or ranked labels for every row") from None


def _checked_scores(scores: Any, n_rows: int) -> Any:
    if sp.issparse(scores):
        matrix = sp.csr_array(scores)
        if matrix.dtype.kind not in "fiub":
            raise DataError(f"scores must be numbers, not {matrix.dtype}")
        if matrix.ndim == 2 and not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
    else:
        try:
            matrix = np.asarray(scores, dtype=None if hasattr(scores, "dtype") else np.float64)
        except (TypeError, ValueError):
            raise DataError("scores must be a matrix of numbers with rows of one length") from None
    if matrix.ndim != 2:
        raise DataError(f"scores has {matrix.ndim} dimensions; expected rows x classes")
    if matrix.shape[0] != n_rows:
        raise LabelError(f"scores has {matrix.shape[0]} rows but y_true has {n_rows}")
    values = matrix.data if sp.issparse(matrix) else matrix
    if np.isnan(values).any():
        where = np.argwhere(np.isnan(values))[0]
        if sp.issparse(matrix):
            where = np.array(
                [np.searchsorted(matrix.indptr, where[0], side="right") - 1, matrix.indices[where[0]]]
            )
        raise DataError(
            f"scores holds NaN at row {where[0]}, column {where[1]}; every score must be a number"
        )
    return matrix


def _column_ids(
    n_columns: int, names: Sequence[Hashable], taxonomy: Taxonomy | None, labels: Sequence[Hashable] | None
) -> IntArray:
    """The class id of every column of a score matrix."""
    if labels is None:
        if n_columns != len(names):
            order = "the nodes of the taxonomy" if taxonomy is not None else "the labels that occur in y_true"
            raise DataError(
                f"scores has {n_columns} columns but {order} are {len(names)}; name the columns with labels="
            )
        return np.arange(n_columns)
    chosen = class_names(labels)
    if len(chosen) != n_columns:
        raise DataError(f"scores has {n_columns} columns but labels names {len(chosen)}")
    if taxonomy is not None:
        return np.asarray(taxonomy.ids_of(chosen), dtype=np.int64)
    index = {name: i for i, name in enumerate(names)}
    return np.array([index.get(name, _UNKNOWN_CLASS) for name in chosen], dtype=np.int64)


def _best_columns(scores: NDArray[Any], k: int) -> IntArray:
    """The k greatest columns of every row, best first; equal scores keep the order of the columns."""
    n_rows, n_columns = scores.shape
    width = min(k, n_columns)
    best = np.empty((n_rows, width), dtype=np.int64)
    if width == 0:
        return best
    for start, stop in row_chunks(np.full(n_rows, n_columns)):
        part = scores[start:stop]
        last = np.partition(part, n_columns - width, axis=1)[:, n_columns - width, None]
        above = part > last
        level = part == last
        level &= np.cumsum(level, axis=1) <= width - above.sum(axis=1, keepdims=True)
        columns = np.nonzero(above | level)[1].reshape(-1, width)
        order = np.argsort(-np.take_along_axis(part, columns, axis=1), axis=1, kind="stable")
        best[start:stop] = np.take_along_axis(columns, order, axis=1)
    return best


def _best_stored(scores: Any, k: int) -> IntArray:
    """The same for a sparse matrix, in which only stored entries are ranked."""
    sizes = np.diff(scores.indptr).astype(np.int64)
    best = np.full((len(sizes), min(k, int(sizes.max()))), _NO_CLASS, dtype=np.int64)
    for start, stop in row_chunks(sizes):
        size, entries = sizes[start:stop], slice(scores.indptr[start], scores.indptr[stop])
        rows = np.repeat(np.arange(start, stop), size)
        order = np.lexsort((-scores.data[entries].astype(np.float64), rows))
        rank = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
        top = rank < k
        best[rows[top], rank[top]] = scores.indices[entries][order[top]]
    return best


def _ranked_ids(rankings: Any, k: int, true: Labels, taxonomy: Taxonomy | None) -> IntArray:
    sizes, flat = _ranked_names(rankings, k)
    if len(sizes) != true.n_rows:
        raise LabelError(f"scores ranks names for {len(sizes)} rows but y_true has {true.n_rows}")
    index: dict[Any, int] = {name: i for i, name in enumerate(true.names)}
    index[None] = _NO_CLASS
    try:
        found = np.array([index.get(name, _UNKNOWN_CLASS) for name in flat], dtype=np.int64)
    except TypeError:
        raise LabelError("a ranked name cannot be a list or another unhashable object") from None
    rows = np.repeat(np.arange(len(sizes)), sizes)
    unknown = np.flatnonzero(found == _UNKNOWN_CLASS)
    if taxonomy is not None and unknown.size:
        _explain(flat[unknown[0]], int(rows[unknown[0]]), taxonomy)
    ids = np.full((len(sizes), int(sizes.max())), _NO_CLASS, dtype=np.int64)
    ids[rows, np.arange(len(flat)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = found
    in_order = np.sort(ids, axis=1)
    twice = np.argwhere((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0))
    if twice.size:
        row, column = twice[0]
        raise LabelError(
            f"row {row} ranks {show(true.names[in_order[row, column]])} twice; rank a label once"
        )
    return ids


def _ranked_names(rankings: Any, k: int) -> tuple[IntArray, list[Any]]:
    """How many names each row ranks, k at most, and the names of all rows in one list."""
    if not isinstance(rankings, list | tuple):
        array = np.asarray(rankings)
        if array.ndim not in (1, 2):
            raise LabelError(f"scores must hold scores or ranked labels for every row, not {show(rankings)}")
        if array.ndim == 2:
            array = array[:, :k]
            return np.full(len(array), array.shape[1]), array.ravel().tolist()
        rankings = array.tolist()
    for i, row in enumerate(rankings):
        if isinstance(row, str | bytes) or not hasattr(row, "__len__") or not hasattr(row, "__iter__"):
            raise LabelError(f"row {i} of scores is {show(row)}; expected scores or labels, best first")
    rows = [list(row)[:k] for row in rankings]
    sizes = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    return sizes, [name for row in rows for name in row]


def _explain(name: Any, row: int, taxonomy: Taxonomy) -> None:
    hint = "; scores must be floats" if isinstance(name, int) else ""
    try:
        taxonomy.id_of(name)
    except LabelError as error:
        raise LabelError(f"row {row} of scores: {error}{hint}") from None


def _hits(true: Labels, ids: IntArray) -> NDArray[np.bool_]:
    n = len(true.names)
    rows = np.repeat(np.arange(true.n_rows), np.diff(true.indptr))
    known = np.append(rows * n + true.indices, -1)  # sorted but for the last, which stands for "not found"
    key = np.arange(len(ids))[:, None] * n + ids
    at = np.searchsorted(known[:-1], key)
    return np.asarray((known[at] == key) & (ids >= 0))
