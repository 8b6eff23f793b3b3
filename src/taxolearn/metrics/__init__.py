"""How good predictions are: flat, hierarchical and ranking metrics, all as metric(y_true, y_pred, taxonomy).

Labels come in every form the library reads, one or several a row, inner nodes included; trees and DAGs both
work. All accept `sample_weight` and return a float.

>>> from taxolearn import Taxonomy
>>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
>>> accuracy(["cat", "dog"], ["cat", "cat"], taxonomy), tree_loss(["cat", "dog"], ["cat", "cat"], taxonomy)
(0.5, 0.5)
"""

from __future__ import annotations

from taxolearn.metrics.ancestors import hierarchical_f1, hierarchical_precision, hierarchical_recall
from taxolearn.metrics.distances import tree_loss
from taxolearn.metrics.flat import accuracy, example_f1, jaccard, macro_f1, micro_f1, zero_one_loss
from taxolearn.metrics.lca import lca_f1, lca_precision, lca_recall
from taxolearn.metrics.propensity import propensities, propensity_scored_precision_at_k
from taxolearn.metrics.ranking import ndcg_at_k, precision_at_k

__all__ = [
    "accuracy",
    "example_f1",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "jaccard",
    "lca_f1",
    "lca_precision",
    "lca_recall",
    "macro_f1",
    "micro_f1",
    "ndcg_at_k",
    "precision_at_k",
    "propensities",
    "propensity_scored_precision_at_k",
    "tree_loss",
    "zero_one_loss",
]
