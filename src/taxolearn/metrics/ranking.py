"""Metrics of a ranked list: precision@k and nDCG@k."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from taxolearn.metrics._ranked import checked_ranking
from taxolearn.metrics._rows import weighted_mean
from taxolearn.structure import Taxonomy


def precision_at_k(
    y_true: Any,
    scores: Any,
    taxonomy: Taxonomy | None = None,
    *,
    k: int = 5,
    labels: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
) -> float:
    """Mean over rows of the number of true labels among the k best, divided by k.

    The divisor is k even for a row with fewer true labels. `scores` is one of

    - a rows x classes matrix of floats, whose columns follow `taxonomy.nodes`, or the names in `labels` if
      given, or else the sorted labels that occur in y_true; equal scores keep the order of the columns;
    - a sparse matrix of that shape, in which only stored entries are ranked (a row may rank fewer than k);
    - ranked names, best first: a list of lists or a 2-D array (integers are read as names, not as scores);
      None fills rows that rank fewer.

    A true label without a column is never found; a ranked name must be a node of the taxonomy if one is
    given.

    >>> precision_at_k(["a", "b"], [["a", "c"], ["c", "a"]], k=2)
    0.25
    >>> precision_at_k([["a", "b"], ["c"]], [[0.9, 0.8, 0.1], [0.2, 0.3, 0.1]], labels=["a", "b", "c"], k=2)
    0.5
    """
    ranked = checked_ranking(y_true, scores, taxonomy, k, labels, sample_weight)
    return weighted_mean(ranked.hits.sum(axis=1) / k, ranked.weights)


def ndcg_at_k(
    y_true: Any,
    scores: Any,
    taxonomy: Taxonomy | None = None,
    *,
    k: int = 5,
    labels: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
) -> float:
    """Mean over rows of nDCG@k with binary gains; the arguments are those of `precision_at_k`.

    A true label at rank r = 1..k gains 1 / log2(r + 1); the sum is divided by that of the best ranking there
    is, all min(k, |T|) true labels first. A row without true labels counts 0.

    >>> ndcg_at_k(["a", "b"], [["a", "c"], ["c", "b"]], k=2)
    0.8154648767857288
    """
    ranked = checked_ranking(y_true, scores, taxonomy, k, labels, sample_weight)
    n_true = np.minimum(np.diff(ranked.true.indptr), k)
    gain = 1 / np.log2(np.arange(2, 2 + max(n_true.max(), ranked.hits.shape[1])))
    ideal = np.concatenate(([0.0], np.cumsum(gain)))[n_true]
    values = ranked.hits @ gain[: ranked.hits.shape[1]] / np.where(ideal > 0, ideal, 1)
    return weighted_mean(values, ranked.weights)
