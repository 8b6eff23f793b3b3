"""The tree-induced loss: how far predictions land from the truth, counted in edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from taxolearn.metrics._rows import (
    FloatArray,
    IntArray,
    LabelSets,
    checked,
    label_sets,
    nearest,
    or_root,
    required,
    row_chunks,
    row_pairs,
    weighted_mean,
)
from taxolearn.structure import Taxonomy


def tree_loss(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy | None = None, *, sample_weight: Any = None
) -> float:
    """Tree-induced loss: mean over rows of half the graph distance between prediction and truth.

    The distance d of two nodes is the number of edges of a shortest path between them, directions ignored (on
    a DAG such a path may run through a common child). With one label per row the loss is d(true, predicted)/2,
    so two siblings cost 1. With several, every true label is charged the distance to its nearest predicted
    label, every predicted label the distance to its nearest true one, and a row costs

        1/2 * 1/2 * (mean over true labels + mean over predicted labels),

    which is the same number for one label. An empty set counts as {root}.

    >>> from taxolearn import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> tree_loss(["cat", "cat"], ["dog", "tree"], taxonomy)
    1.5
    >>> tree_loss([["cat", "tree"]], [["cat"]], taxonomy)
    0.5
    """
    taxonomy = required(taxonomy, "tree_loss")
    true, pred, weights = checked(y_true, y_pred, taxonomy, sample_weight)
    return weighted_mean(_row_losses(taxonomy, or_root(label_sets(true)), or_root(label_sets(pred))), weights)


def row_losses(
    taxonomy: Taxonomy, true_indptr: IntArray, true: IntArray, pred_indptr: IntArray, pred: IntArray
) -> FloatArray:
    """The tree loss of every row, of sets of node ids given as CSR.

    >>> from taxolearn import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> one = np.arange(3)
    >>> row_losses(taxonomy, one, taxonomy.ids_of(["cat", "cat"]), one, taxonomy.ids_of(["dog", "tree"])).tolist()
    [1.0, 2.0]
    """
    true_sets, pred_sets = LabelSets(true_indptr, true), LabelSets(pred_indptr, pred)
    return _row_losses(taxonomy, or_root(true_sets), or_root(pred_sets))


def _row_losses(taxonomy: Taxonomy, true: LabelSets, pred: LabelSets) -> FloatArray:
    if true.single and pred.single:
        return np.asarray(taxonomy.distance(true.indices, pred.indices) / 2)
    losses = np.empty(len(true.sizes))
    for start, stop in row_chunks(true.sizes * pred.sizes):
        t, p = true.part(start, stop), pred.part(start, stop)
        i, j = row_pairs(t, p)
        d = taxonomy.distance(t.indices[i], p.indices[j])
        of_true = nearest(i, d, len(t.indices))
        of_pred = nearest(j, d, len(p.indices))
        losses[start:stop] = (_row_means(t, of_true) + _row_means(p, of_pred)) / 4
    return losses


def _row_means(sets: LabelSets, values: Any) -> FloatArray:
    return np.asarray(np.add.reduceat(values, sets.indptr[:-1]) / sets.sizes)
