"""Hierarchical precision, recall and F1: label sets are compared together with all their ancestors."""

from __future__ import annotations

from typing import Any

import numpy as np

from taxolearn.errors import DataError
from taxolearn.metrics._rows import (
    FloatArray,
    IntArray,
    LabelSets,
    checked,
    label_sets,
    ratio,
    required,
    row_chunks,
    weighted_mean,
)
from taxolearn.problem.labels import Labels
from taxolearn.structure import Taxonomy


def hierarchical_precision(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy | None = None,
    *,
    sample_weight: Any = None,
    average: str = "micro",
) -> float:
    """Hierarchical precision of Kiritchenko et al. (2006).

    T^ and P^ are the true and predicted labels of a row with all their ancestors, *without the root*, which
    every row shares; a label that is the root itself therefore adds nothing, just as an empty set.

    `average="micro"` (the published form): sum over rows of |T^ & P^| over sum of |P^|.
    `average="samples"`: mean over rows of |T^ & P^| / |P^|.
    A ratio 0/0 is 1 when T^ is empty too, else 0.

    >>> from taxolearn import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> hierarchical_precision(["cat", "cat"], ["dog", "animal"], taxonomy)
    0.6666666666666666
    >>> hierarchical_precision(["cat", "cat"], ["dog", "animal"], taxonomy, average="samples")
    0.75
    """
    micro = _is_micro(average)
    both, of_true, of_pred, weights = row_sizes(
        "hierarchical_precision", y_true, y_pred, taxonomy, sample_weight
    )
    if micro:
        return _micro(both, of_pred, of_true, weights)
    return weighted_mean(ratio(both, of_pred, of_true), weights)


def hierarchical_recall(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy | None = None,
    *,
    sample_weight: Any = None,
    average: str = "micro",
) -> float:
    """Hierarchical recall: as `hierarchical_precision`, divided by |T^| in place of |P^|.

    >>> from taxolearn import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> hierarchical_recall(["cat", "cat"], ["dog", "animal"], taxonomy)
    0.5
    """
    micro = _is_micro(average)
    both, of_true, of_pred, weights = row_sizes(
        "hierarchical_recall", y_true, y_pred, taxonomy, sample_weight
    )
    if micro:
        return _micro(both, of_true, of_pred, weights)
    return weighted_mean(ratio(both, of_true, of_pred), weights)


def hierarchical_f1(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy | None = None,
    *,
    sample_weight: Any = None,
    average: str = "micro",
) -> float:
    """Hierarchical F1 over ancestor-closed label sets without the root (see `hierarchical_precision`).

    `average="micro"`: the harmonic mean of micro precision and recall, 2 sum|T^ & P^| / (sum|T^| + sum|P^|).
    `average="samples"`: mean over rows of 2|T^ & P^| / (|T^| + |P^|), 1 where both are empty.

    >>> from taxolearn import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> hierarchical_f1(["cat", "cat"], ["dog", "tree"], taxonomy)
    0.25
    """
    micro = _is_micro(average)
    both, of_true, of_pred, weights = row_sizes("hierarchical_f1", y_true, y_pred, taxonomy, sample_weight)
    total = of_true + of_pred
    if micro:
        return _micro(2 * both, total, total, weights)
    return weighted_mean(ratio(2 * both, total, total), weights)


def _is_micro(average: str) -> bool:
    if average not in ("micro", "samples"):
        raise DataError(f"average={average!r} is not known; choose 'micro' or 'samples'")
    return average == "micro"


def _micro(part: IntArray, whole: IntArray, other: IntArray, weights: FloatArray) -> float:
    return float(ratio(np.dot(part, weights), np.dot(whole, weights), np.dot(other, weights)))


def row_sizes(
    metric: str, y_true: Any, y_pred: Any, taxonomy: Taxonomy | None, sample_weight: Any
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """|T^ & P^|, |T^| and |P^| of every row, and the row weights; `metric` is what errors call it.

    >>> from taxolearn import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> [sizes.tolist() for sizes in row_sizes("hierarchical_f1", ["cat"], ["dog"], taxonomy, None)]
    [[1], [2], [2], [1.0]]
    """
    taxonomy = required(taxonomy, metric)
    true, pred, weights = checked(y_true, y_pred, taxonomy, sample_weight)
    t, p = label_sets(true), label_sets(pred)
    if taxonomy.is_tree and t.single and p.single:
        # The closure of one node of a tree is its path, so depths alone tell the sizes.
        meet = taxonomy.lowest_common_ancestors(t.indices, p.indices)
        both, of_true, of_pred = (taxonomy.depth[ids] for ids in (meet, t.indices, p.indices))
    else:
        both, of_true, of_pred = _closed_sizes(taxonomy, true, pred, t, p)
    return both.astype(np.int64), of_true.astype(np.int64), of_pred.astype(np.int64), weights


def _closed_sizes(
    taxonomy: Taxonomy, true: Labels, pred: Labels, t: LabelSets, p: LabelSets
) -> tuple[IntArray, IntArray, IntArray]:
    above = taxonomy.ancestor_matrix(include_root=False, dtype=np.int32)
    n_above = np.diff(above.indptr)
    y_true, y_pred = true.matrix(np.int32), pred.matrix(np.int32)
    sizes = np.empty((3, true.n_rows), dtype=np.int64)
    work = np.asarray(y_true @ n_above + y_pred @ n_above)
    for start, stop in row_chunks(work):
        closed_true = (y_true[start:stop] @ above).sign()
        closed_pred = (y_pred[start:stop] @ above).sign()
        sizes[0, start:stop] = closed_true.multiply(closed_pred).sum(axis=1)
        sizes[1, start:stop] = closed_true.sum(axis=1)
        sizes[2, start:stop] = closed_pred.sum(axis=1)
    return sizes[0], sizes[1], sizes[2]
