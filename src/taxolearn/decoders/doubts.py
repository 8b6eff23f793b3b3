"""Other doubts in the nodes of a predicted path than that of the least sure step: any that rises keeps the promise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.ladders import Floats, Ids, Ladders, covered_by, rising
from taxolearn.structure import Taxonomy


def other_doubts(ladders: Ladders, probabilities: Floats, class_nodes: Ids, taxonomy: Taxonomy) -> Floats:
    """Doubts x rows x rungs, for ladders of one node per rung: the probability of the likeliest class that a rung
    leaves out, and the probability lost per step.

    >>> from taxolearn.decoders.ladders import node_ladders
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> p = np.array([[0.5, 0.25, 0.25]])
    >>> ladders = node_ladders(p, np.array([0]), tree.leaf_ids, tree)
    >>> other_doubts(ladders, p, tree.leaf_ids, tree).round(3).tolist()
    [[[-inf, 0.25, 0.25]], [[-inf, 0.25, 0.25]]]
    """
    above = taxonomy.ancestor_matrix(class_nodes)
    chance = np.take_along_axis(
        np.asarray(probabilities @ above, dtype=np.float64), np.maximum(ladders.nodes[:, :, 0], 0), axis=1
    )
    there = ladders.nodes[:, :, 0] >= 0
    covers = sp.csr_array(above.T.astype(bool))
    left = _left_out(ladders, probabilities, covers)
    return np.stack([rising(left, there), rising(_lost_per_step(chance, there), there)])


def _left_out(ladders: Ladders, probabilities: Floats, covers: sp.csr_array) -> Floats:
    """The probability of the likeliest class that is not at or below the node: answers are the lowest common
    ancestors of conformal sets of classes.
    """
    found = np.zeros(ladders.doubt.shape)
    for rung in range(1, ladders.nodes.shape[1]):
        inside = covered_by(ladders.nodes[:, rung], covers)
        found[:, rung] = np.where(inside, 0.0, probabilities).max(axis=1)
    return found


def _lost_per_step(chance: Floats, there: npt.NDArray[np.bool_]) -> Floats:
    """How much probability is lost per step on the way down, slopes of the convex hull from below: were probabilities
    true, no other doubt would lead deeper at the same coverage.
    """
    found = np.zeros(chance.shape)
    lost = np.where(there, 1.0 - chance, np.inf)
    for start in range(chance.shape[1] - 1):
        steps = np.arange(1, chance.shape[1] - start)
        with np.errstate(invalid="ignore"):  # past the last rung
            slopes = (lost[:, start + 1 :] - lost[:, start, None]) / steps
        slopes = np.where(there[:, start + 1 :], slopes, np.inf)
        least = np.minimum.accumulate(slopes[:, ::-1], axis=1)[:, ::-1]
        found[:, start + 1 :] = np.maximum(found[:, start + 1 :], np.where(np.isinf(least), 0.0, least))
    return found
