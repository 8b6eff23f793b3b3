"""Metrics that look at label sets only and ignore the hierarchy; a taxonomy just fixes the allowed names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from taxolearn.metrics._rows import FloatArray, checked, class_names, ratio, shared, weighted_mean
from taxolearn.problem.labels import Labels
from taxolearn.structure import Taxonomy


def accuracy(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy | None = None, *, sample_weight: Any = None
) -> float:
    """Share of rows whose predicted label set equals the true one exactly.

    Labels come in any form the library reads; a prediction may be empty. An inner node and its ancestors are
    different labels: predict the same kind of set (closed or most specific) that y_true holds.

    >>> accuracy(["cat", "dog", "cat"], ["cat", "cat", "cat"])
    0.6666666666666666
    >>> accuracy([["a", "b"], ["a"]], [["b", "a"], []])
    0.5
    """
    true, pred, weights = checked(y_true, y_pred, taxonomy, sample_weight)
    return weighted_mean(_exact(true, pred), weights)


def zero_one_loss(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy | None = None, *, sample_weight: Any = None
) -> float:
    """Share of rows whose predicted label set differs from the true one: 1 - accuracy.

    >>> zero_one_loss(["cat", "dog", "cat", "dog"], ["cat", "cat", "cat", "dog"])
    0.25
    """
    true, pred, weights = checked(y_true, y_pred, taxonomy, sample_weight)
    return weighted_mean(~_exact(true, pred), weights)


def jaccard(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy | None = None, *, sample_weight: Any = None
) -> float:
    """Example-based multi-label accuracy: mean over rows of |T & P| / |T | P|, 1 where both sets are empty.

    >>> jaccard([["a", "b"], ["c"]], [["a"], ["c"]])
    0.75
    """
    true, pred, weights = checked(y_true, y_pred, taxonomy, sample_weight)
    both = _shared_sizes(true, pred)
    either = np.diff(true.indptr) + np.diff(pred.indptr) - both
    return weighted_mean(ratio(both, either, either), weights)


def example_f1(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy | None = None, *, sample_weight: Any = None
) -> float:
    """Mean over rows of the F1 of their label sets, 2 |T & P| / (|T| + |P|); 1 where both are empty.

    >>> example_f1([["a", "b"], ["c"]], [["a"], ["c"]])
    0.8333333333333333
    """
    true, pred, weights = checked(y_true, y_pred, taxonomy, sample_weight)
    total = np.diff(true.indptr) + np.diff(pred.indptr)
    return weighted_mean(ratio(2 * _shared_sizes(true, pred), total, total), weights)


def micro_f1(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy | None = None, *, sample_weight: Any = None
) -> float:
    """F1 of all (row, label) decisions together: 2 sum|T & P| / (sum|T| + sum|P|).

    With one label per row it equals the accuracy. It is 1 when nothing is true and nothing predicted.

    >>> micro_f1([["a", "b"], ["c"]], [["a"], ["c"]])
    0.8
    """
    true, pred, weights = checked(y_true, y_pred, taxonomy, sample_weight)
    both = np.dot(_shared_sizes(true, pred), weights)
    total = np.dot(np.diff(true.indptr) + np.diff(pred.indptr), weights)
    return float(ratio(2 * both, total, total))


def macro_f1(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy | None = None,
    *,
    sample_weight: Any = None,
    labels: Sequence[Hashable] | None = None,
) -> float:
    """Mean over classes of the F1 of each class, all classes counting alike.

    The mean runs over the classes that occur in y_true or in y_pred (on a row of positive weight), whatever
    else the taxonomy holds; it is 1 when none occurs. `labels` names the classes to average instead: a class
    of that list that occurs nowhere then counts as 0.

    >>> macro_f1(["a", "a", "b"], ["a", "b", "b"])
    0.6666666666666666
    >>> macro_f1(["a", "a", "b"], ["a", "b", "b"], labels=["a", "b", "c"])
    0.4444444444444444
    """
    true, pred, weights = checked(y_true, y_pred, taxonomy, sample_weight)
    both = shared(true, pred)
    hits = _class_totals(both.indptr, both.indices, weights, len(true.names))
    total = _class_totals(true.indptr, true.indices, weights, len(true.names))
    total += _class_totals(pred.indptr, pred.indices, weights, len(true.names))
    f1 = 2 * hits / np.where(total > 0, total, 1)
    if labels is None:
        seen = total > 0
        return float(f1[seen].mean()) if seen.any() else 1.0
    return _mean_over(labels, f1, true.names, taxonomy)


def _mean_over(
    labels: Sequence[Hashable], f1: FloatArray, names: Sequence[Hashable], taxonomy: Taxonomy | None
) -> float:
    chosen = class_names(labels)
    if taxonomy is not None:
        return float(f1[taxonomy.ids_of(chosen)].mean())
    by_name = dict(zip(names, f1.tolist(), strict=True))
    return float(sum(by_name.get(name, 0.0) for name in chosen) / len(chosen))


def _shared_sizes(true: Labels, pred: Labels) -> Any:
    return np.diff(shared(true, pred).indptr)


def _exact(true: Labels, pred: Labels) -> Any:
    both = _shared_sizes(true, pred)
    return (both == np.diff(true.indptr)) & (both == np.diff(pred.indptr))


def _class_totals(indptr: Any, indices: Any, weights: FloatArray, n_classes: int) -> FloatArray:
    of_entry = np.repeat(weights, np.diff(indptr))
    return np.asarray(np.bincount(indices, weights=of_entry, minlength=n_classes), dtype=np.float64)
