"""Answers to a row from the root down to its class, each covering less than the one before, and the doubt in each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.structure import Taxonomy

Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


class Ladders(NamedTuple):
    """Nested answers of each row: rung 0 is the root, the last one the predicted class.

    - `nodes`: rows x rungs x nodes of an answer, -1 where there is none.
    - `doubt`: rows x rungs, which rises along the rungs; -inf at the root, inf past the last rung.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> node_ladders(np.array([[0.75, 0.25]]), np.array([0]), np.array([1, 2]), tree).nodes.tolist()
    [[[0], [1]]]
    """

    nodes: Ids
    doubt: Floats

    def cut(self, limits: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """The last rung of each row to which every step has a doubt below its limit: one for all, or rows x rungs.

        >>> Ladders(np.zeros((1, 3, 1), np.int32), np.array([[-np.inf, 0.2, 0.5]])).cut(0.5).tolist()
        [1]
        """
        below = np.less(self.doubt, limits)
        below[:, 0] = True
        return np.asarray(np.logical_and.accumulate(below, axis=1).sum(axis=1) - 1)

    def answers(self, rungs: npt.NDArray[np.intp]) -> Ids:
        """The nodes at one rung of each row, rows x nodes of an answer.

        >>> Ladders(np.array([[[0], [4]]], np.int32), np.array([[-np.inf, 0.2]])).answers(np.array([1])).tolist()
        [[4]]
        """
        return self.nodes[np.arange(len(self.nodes)), rungs]


def node_ladders(
    probabilities: Floats, predicted: npt.NDArray[np.integer], class_nodes: npt.ArrayLike, taxonomy: Taxonomy
) -> Ladders:
    """One node per rung: the path from the root to the predicted class (a number into `class_nodes`).

    The doubt in a node is that of the least sure step on the way to it: 1 - P(node | its parent on the path), at most.
    Where a node has several parents, the path goes through the most probable one.
    Doubts are rounded to single precision, so that it does not matter with which others a row is computed.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> ladders = node_ladders(np.array([[0.5, 0.25, 0.25]]), np.array([0]), tree.leaf_ids, tree)
    >>> ladders.nodes[0, :, 0].tolist(), ladders.doubt[0].round(3).tolist()
    ([0, 1, 2], [-inf, 0.25, 0.333])
    """
    nodes = np.asarray(class_nodes, dtype=np.int64)
    of_node = np.asarray(probabilities @ taxonomy.ancestor_matrix(nodes), dtype=np.float64)
    at = nodes[predicted]
    rows = np.arange(len(at))
    climbed = [at]
    while at.any():
        at = _likeliest_parent(of_node, rows, at, taxonomy)
        climbed.append(at)
    upward = np.column_stack(climbed)  # ends in roots
    length = (upward != 0).sum(axis=1) + 1
    place = length[:, None] - 1 - np.arange(upward.shape[1])
    path = np.where(place >= 0, np.take_along_axis(upward, np.maximum(place, 0), axis=1), -1)
    chance = of_node[rows[:, None], np.maximum(path, 0)]
    return Ladders(path[:, :, None].astype(np.int32), rising(_step_doubts(chance), path >= 0))


def _likeliest_parent(
    of_node: Floats, rows: npt.NDArray[np.intp], at: npt.NDArray[np.int64], taxonomy: Taxonomy
) -> npt.NDArray[np.int64]:
    if taxonomy.is_tree:
        return np.maximum(taxonomy.parent[at], 0).astype(np.int64)
    first, last = taxonomy.parent_indptr[at], taxonomy.parent_indptr[at + 1]
    best = np.zeros_like(at)  # the root stays where it is
    chance = np.full(len(at), -np.inf)
    for k in range(int((last - first).max(initial=0))):
        has = first + k < last
        parent = taxonomy.parent_indices[np.where(has, first + k, 0)]
        value = np.where(has, of_node[rows, parent], -np.inf)
        better = value > chance
        best[better], chance[better] = parent[better], value[better]
    return best


def _step_doubts(chance: Floats) -> Floats:
    """1 - chance[k] / chance[k - 1] for each rung; a step from an impossible rung is as doubtful as can be."""
    above = np.concatenate([chance[:, :1], chance[:, :-1]], axis=1)
    return np.asarray(np.divide(above - chance, above, out=np.ones_like(chance), where=above > 0))


def rising(doubt: Floats, there: npt.NDArray[np.bool_]) -> Floats:
    """Doubts that rise along the rungs, in single precision; -inf at the root and inf where there is no rung.

    >>> rising(np.array([[0.0, 0.5, 0.25, 0.0]]), np.array([[True, True, True, False]])).tolist()
    [[-inf, 0.5, 0.5, inf]]
    """
    found = np.maximum.accumulate(np.maximum(doubt, 0.0), axis=1).astype(np.float32).astype(np.float64)
    found[~there] = np.inf
    found[:, 0] = -np.inf
    return found


def set_ladders(
    probabilities: Floats,
    predicted: npt.NDArray[np.integer],
    class_nodes: npt.ArrayLike,
    taxonomy: Taxonomy,
    max_nodes: int,
) -> Ladders:
    """At most `max_nodes` nodes per rung, which cover together.

    From the predicted class up: the next rung either has the likeliest class that is not covered yet in addition, or
    the parent of one of its nodes in place of it and of all that the parent covers. Of these the one is taken that
    gains most probability per class that comes in. The doubt in a rung is the probability that it does not cover.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> ladders = set_ladders(np.array([[0.5, 0.125, 0.375]]), np.array([0]), tree.leaf_ids, tree, 2)
    >>> ladders.nodes[0].tolist()
    [[0, -1], [1, 4], [2, 4], [2, -1]]
    """
    nodes = np.asarray(class_nodes, dtype=np.int64)
    above = taxonomy.ancestor_matrix(nodes)
    covers = sp.csr_array(above.T.astype(bool))  # nodes x classes
    n = len(predicted)
    answer = np.full((n, max_nodes), -1, dtype=np.int64)
    answer[:, 0] = nodes[predicted]
    covered = covers[answer[:, 0]].toarray()
    rungs, doubts = [answer.copy()], [_left_over(probabilities, covered)]
    done = (answer == 0).any(axis=1)
    while not done.all():
        left = np.where(covered, 0.0, probabilities)
        gain, entering = left @ above, (~covered).astype(np.float64) @ above
        answer = _next_rung(answer, left, covered, gain, entering, nodes, taxonomy)
        covered |= covered_by(answer, covers)
        done = (answer == 0).any(axis=1)
        rungs.append(answer.copy())
        doubts.append(_left_over(probabilities, covered))
    stacked, doubt = np.stack(rungs[::-1], axis=1), np.stack(doubts[::-1], axis=1)
    # rows that reached the root early have it several times: keep the last of these as rung 0
    first = (stacked == 0).any(axis=2).sum(axis=1) - 1
    place = np.minimum(first[:, None] + np.arange(stacked.shape[1]), stacked.shape[1] - 1)
    there = first[:, None] + np.arange(stacked.shape[1]) < stacked.shape[1]
    stacked = np.where(there[:, :, None], np.take_along_axis(stacked, place[:, :, None], axis=1), -1)
    return Ladders(stacked.astype(np.int32), rising(np.take_along_axis(doubt, place, axis=1), there))


def _left_over(probabilities: Floats, covered: npt.NDArray[np.bool_]) -> Floats:
    return np.asarray(np.where(covered, 0.0, probabilities).sum(axis=1))


def covered_by(answer: npt.NDArray[np.integer], covers: sp.csr_array) -> npt.NDArray[np.bool_]:
    """The classes at or below a node of each answer, rows x classes; `covers` has a row of classes for each node.

    >>> covered_by(np.array([[1, -1]]), sp.csr_array(np.array([[True, True], [False, True]]))).tolist()
    [[False, True]]
    """
    found = np.zeros((len(answer), covers.shape[1]), dtype=bool)
    for column in answer.T:
        has = column >= 0
        found[has] |= covers[column[has]].toarray()
    return found


def _next_rung(
    answer: npt.NDArray[np.int64],
    left: Floats,
    covered: npt.NDArray[np.bool_],
    gain: Floats,
    entering: Floats,
    nodes: npt.NDArray[np.int64],
    taxonomy: Taxonomy,
) -> npt.NDArray[np.int64]:
    """The answers one rung up: a node climbs, or the likeliest class that is left comes in."""
    n, width = answer.shape
    rows = np.arange(n)
    worth = np.full((n, width + 1), -np.inf)
    target = np.zeros((n, width + 1), dtype=np.int64)
    for k in range(width):
        has = answer[:, k] > 0
        parent = _likeliest_parent(gain, rows, np.maximum(answer[:, k], 0), taxonomy)
        target[:, k] = parent
        new = entering[rows, parent]  # a parent with no new class below it comes at no cost, and first
        rate = np.divide(gain[rows, parent], new, out=np.full(n, np.inf), where=new > 0)
        worth[has, k] = rate[has]
    free = (answer < 0).any(axis=1) & ~covered.all(axis=1)
    best = np.argmax(np.where(covered, -1.0, left), axis=1)
    target[:, width] = nodes[best]
    worth[free, width] = left[rows, best][free]
    # of equals the deepest; rows that have come to the root stay there
    equal = worth == worth.max(axis=1, keepdims=True)
    move = np.argmax(np.where(equal, taxonomy.depth[target], -1), axis=1)
    node = np.where((answer == 0).any(axis=1), 0, target[rows, move])
    below = taxonomy.ancestor_matrix(dtype=bool)  # row: node, columns: what it is below
    nothing = taxonomy.n_nodes  # sorts to the end
    kept = np.full_like(answer, nothing)
    kept[:, 0] = node
    size = np.ones(n, dtype=np.int64)
    for column in answer.T:
        inside = np.asarray(below[np.maximum(column, 0), node]).ravel().astype(bool)
        stays = (column >= 0) & ~inside
        kept[rows[stays], size[stays]] = column[stays]
        size += stays
    kept.sort(axis=1)
    kept[kept == nothing] = -1
    return kept
