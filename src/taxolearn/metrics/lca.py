"""LCA precision, recall and F1 of Kosmopoulos et al. (2015)."""

from __future__ import annotations

from typing import Any

import numpy as np

from taxolearn.metrics._lca_graphs import graph_sizes
from taxolearn.metrics._rows import (
    FloatArray,
    IntArray,
    checked,
    label_sets,
    or_root,
    required,
    weighted_mean,
)
from taxolearn.structure import Taxonomy


def lca_precision(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy | None = None, *, sample_weight: Any = None
) -> float:
    """LCA precision: mean over rows of |G_t & G_p| / |G_p|, the graphs being those of `lca_f1`.

    >>> from taxolearn import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat/manx", "animal/cat/persian", "animal/dog"])
    >>> lca_precision(["manx", "manx"], ["persian", "dog"], taxonomy)
    0.5
    """
    both, _, of_pred, weights = _sizes("lca_precision", y_true, y_pred, taxonomy, sample_weight)
    return weighted_mean(both / of_pred, weights)


def lca_recall(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy | None = None, *, sample_weight: Any = None
) -> float:
    """LCA recall: mean over rows of |G_t & G_p| / |G_t|, the graphs being those of `lca_f1`.

    >>> from taxolearn import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat/manx", "animal/cat/persian", "animal/dog"])
    >>> lca_recall(["manx", "manx"], ["manx", "dog"], taxonomy)
    0.6666666666666666
    """
    both, of_true, _, weights = _sizes("lca_recall", y_true, y_pred, taxonomy, sample_weight)
    return weighted_mean(both / of_true, weights)


def lca_f1(y_true: Any, y_pred: Any, taxonomy: Taxonomy | None = None, *, sample_weight: Any = None) -> float:
    """LCA F1: mean over rows of 2 |G_t & G_p| / (|G_t| + |G_p|).

    Every true label is joined to its nearest predicted label, and every predicted label to its nearest true
    one, through their lowest common ancestor (LCA); G_t and G_p are the nodes this takes on either side.
    Errors are thus counted up to the common ancestor only, where `hierarchical_f1` goes up to the root for
    every label. With one label per row on a tree, G_t and G_p are the two paths from the LCA down to the two
    labels, the LCA included in both. In general, for the label sets T and P of a row:

    1. An empty set counts as {root}. A label that is an ancestor of another label of its own set is left out.
    2. The distance of a true and a predicted label is the least number of edges from one up to a common
       ancestor and down to the other; the common ancestors that attain it are their LCAs. A tree has one; a
       DAG may have several, and one with shortcut edges may have an LCA that lies above another common
       ancestor.
    3. A label is linked to its LCAs with each of the labels of the other set at the least distance from it.
    4. Each label takes, of the LCAs it is linked to, the one that most labels of the row (true and predicted)
       are linked to; ties go to the larger node id, so to a descendant before its ancestor.
    5. Redundancy is removed: going through the taken LCAs in the order of 4, one is dropped if every label
       linked to it is linked to another LCA that is still taken.
    6. G_t holds the true labels and, for each label and each remaining LCA it is linked to, a shortest path
       between the two; G_p likewise. If no true label is linked to a remaining LCA, one of the true labels
       through which predicted ones were linked to it (the one of smallest id) has its path added to G_t, and
       likewise for G_p: every remaining LCA is in both graphs. Of several shortest paths in a DAG, the one
       that steps to the parent of smallest id is taken.

    1 to 3 follow the paper; 4 and 5 are a greedy choice, as there, since the smallest set of LCAs is a
    set-cover problem; 6 follows the authors' program HEMKit in having every LCA in both graphs. HEMKit breaks
    ties by the numbers that classes have in its file, and takes the lowest LCA on a path before the nearest
    label: with several labels a row its values may differ a little.

    References
    ----------
    A. Kosmopoulos, I. Partalas, E. Gaussier, G. Paliouras, I. Androutsopoulos: Evaluation measures for
    hierarchical classification: a unified view and novel approaches. Data Mining and Knowledge Discovery 29
    (2015), section 2.4.2.

    >>> from taxolearn import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat/manx", "animal/cat/persian", "animal/dog"])
    >>> lca_f1(["manx"], ["persian"], taxonomy)  # {manx, cat} and {persian, cat}
    0.5
    >>> lca_f1([["manx", "dog"]], [["persian", "dog"]], taxonomy)  # and dog in both
    0.6666666666666666
    """
    both, of_true, of_pred, weights = _sizes("lca_f1", y_true, y_pred, taxonomy, sample_weight)
    return weighted_mean(2 * both / (of_true + of_pred), weights)


def _sizes(
    metric: str, y_true: Any, y_pred: Any, taxonomy: Taxonomy | None, sample_weight: Any
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """|G_t & G_p|, |G_t| and |G_p| of every row, and the row weights."""
    taxonomy = required(taxonomy, metric)
    true, pred, weights = checked(y_true, y_pred, taxonomy, sample_weight)
    t, p = or_root(label_sets(true)), or_root(label_sets(pred))
    if taxonomy.is_tree and t.single and p.single:
        depth = taxonomy.depth.astype(np.int64)
        top = depth[taxonomy.lowest_common_ancestors(t.indices, p.indices)]
        return np.ones_like(top), depth[t.indices] - top + 1, depth[p.indices] - top + 1, weights
    return *graph_sizes(taxonomy, t, p), weights
