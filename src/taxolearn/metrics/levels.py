"""Accuracy and F1 level by level: how far down a taxonomy answers are right."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.problem.aligned import align_labels
from taxolearn.structure import Taxonomy


class LevelScores(NamedTuple):
    """The scores of one level: of the rows with a true node there, the share whose nodes are all right, and F1.

    >>> LevelScores(1, 10, 0.9, 0.9, 0.8).macro_f1
    0.8
    """

    level: int
    rows: int
    accuracy: float
    micro_f1: float
    macro_f1: float


def by_level(y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> list[LevelScores]:
    """Accuracy, micro and macro F1 of the nodes of each level below the root, from the top down.

    A label counts with all its ancestors; the level of a node is its depth. Rows count at the levels that their true
    labels reach; what is answered below them counts for the F1 of that level, as a false alarm. Macro F1 is the mean
    over the nodes of the level that some row has, truly or by the answer.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> [(s.level, s.rows, s.accuracy) for s in by_level(["Lion", "Dog"], ["Lynx", "Dog"], tree)]
    [(1, 2, 1.0), (2, 1, 0.0)]
    """
    if taxonomy is None:
        raise DataError("scores by level need a taxonomy")
    true, predicted = align_labels(y_true, y_pred, taxonomy)
    above = sp.csr_array(taxonomy.ancestor_matrix(np.arange(taxonomy.n_nodes), dtype=np.float64))
    of_true, of_pred = ((labels.matrix() @ above).minimum(1.0) for labels in (true, predicted))
    found = []
    for level in range(1, taxonomy.max_depth + 1):
        nodes = np.flatnonzero(taxonomy.depth == level)
        truth, answer = sp.csr_array(of_true[:, nodes]), sp.csr_array(of_pred[:, nodes])
        hits = truth.multiply(answer)
        right, in_truth, in_answer = (np.asarray(part.sum(axis=0)).ravel() for part in (hits, truth, answer))
        rows = np.asarray(truth.sum(axis=1)).ravel() > 0
        if not rows.any():
            continue
        wrong = np.asarray(abs(truth - answer).sum(axis=1)).ravel()
        seen = in_truth + in_answer > 0
        f1 = 2.0 * right[seen] / (in_truth + in_answer)[seen]
        micro = 2.0 * right.sum() / (in_truth + in_answer).sum()
        found.append(
            LevelScores(
                level, int(rows.sum()), float(np.mean(wrong[rows] == 0)), float(micro), float(f1.mean())
            )
        )
    return found
