"""Propensity-scored precision@k: rare labels, often missing from the annotations, count for more."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from taxolearn.errors import DataError, LabelError
from taxolearn.metrics._ranked import checked_ranking
from taxolearn.metrics._rows import FloatArray
from taxolearn.problem.labels import Labels, encode_labels
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show


def propensities(
    y_train: Any, taxonomy: Taxonomy | None = None, *, a: float = 0.55, b: float = 1.5
) -> dict[Any, float]:
    """Chance that a relevant label was annotated, by the model of Jain et al. (2016), for every label.

    p_l = 1 / (1 + C (N_l + b)^-a) with C = (log N - 1)(b + 1)^a, N training rows of which N_l carry label l.
    The defaults are those of the paper for most data; Wikipedia-like data use a=0.5, b=0.4, Amazon-like
    a=0.6, b=2.6. With a taxonomy every node gets a value, with N_l = 0 where it does not occur; without one
    only the labels that occur do. At least 3 rows are needed, for C to be positive.

    References
    ----------
    H. Jain, Y. Prabhu, M. Varma: Extreme multi-label loss functions for recommendation,
    tagging, ranking and other missing label applications. KDD 2016.

    >>> p = propensities(["cat"] * 90 + ["dog"] * 10)
    >>> round(p["cat"], 3), round(p["dog"], 3)
    (0.668, 0.391)
    """
    for name, value in (("a", a), ("b", b)):
        if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0):
            raise DataError(f"{name} must be a positive number, not {show(value)}")
    train = encode_labels(y_train, taxonomy, allow_empty=True, what="y_train")
    if train.n_rows < 3:
        raise DataError(f"y_train has {train.n_rows} rows; propensities need at least 3")
    count = np.bincount(train.indices, minlength=len(train.names))
    scale = (math.log(train.n_rows) - 1) * (b + 1) ** a
    values = 1 / (1 + scale * (count + b) ** -a)
    return dict(zip(train.names, values.tolist(), strict=True))


def propensity_scored_precision_at_k(
    y_true: Any,
    scores: Any,
    taxonomy: Taxonomy | None = None,
    *,
    propensities: Mapping[Any, float],
    k: int = 5,
    labels: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
) -> float:
    """Propensity-scored precision@k, normalised by the best attainable value.

    The sum over all rows and their k best labels of 1/p_l for every label l that is true, divided by the same
    sum for the best ranking there is (each row's true labels of least propensity first): the form reported by
    the extreme classification repository, in [0, 1]. Sums run over rows before the division, so rows are not
    averaged. `propensities` gives p_l in (0, 1] for every label that occurs in y_true, see the function of
    that name; the other arguments are those of `precision_at_k`. It is 0 when no row has a true label.

    >>> p = {"common": 1.0, "rare": 0.25}
    >>> propensity_scored_precision_at_k([["common", "rare"]], [["common"]], propensities=p, k=1)
    0.25
    """
    ranked = checked_ranking(y_true, scores, taxonomy, k, labels, sample_weight)
    value = _inverse(propensities, ranked.true)
    won = np.dot(value[ranked.ids[ranked.hits]], ranked.weights[np.nonzero(ranked.hits)[0]])
    attainable = np.dot(_best_sums(ranked.true, value, k), ranked.weights)
    return float(won / attainable) if attainable > 0 else 0.0


def _inverse(values: Mapping[Any, float], true: Labels) -> FloatArray:
    """1 / p of every class that occurs, 0 for the others."""
    if not isinstance(values, Mapping):
        raise DataError(f"propensities must map labels to numbers, not {show(values)}")
    inverse = np.zeros(len(true.names))
    for i in np.unique(true.indices).tolist():
        name = true.names[i]
        if name not in values:
            raise LabelError(
                f"propensities has no value for label {show(name)}; compute it with the taxonomy given"
            )
        p = values[name]
        if not (isinstance(p, int | float | np.number) and 0 < p <= 1):
            raise DataError(f"the propensity of {show(name)} is {show(p)}; it must lie in (0, 1]")
        inverse[i] = 1 / p
    return inverse


def _best_sums(true: Labels, value: FloatArray, k: int) -> FloatArray:
    sizes = np.diff(true.indptr)
    rows = np.repeat(np.arange(true.n_rows), sizes)
    worth = value[true.indices]
    worth = worth[np.lexsort((-worth, rows))]
    rank = np.arange(len(rows)) - np.repeat(true.indptr[:-1], sizes)
    top = rank < k
    return np.asarray(np.bincount(rows[top], weights=worth[top], minlength=true.n_rows), dtype=np.float64)
