"""Scores of classes whose weights are sums of sparse node vectors, by a walk down the tree for many rows at once.

A stretch of nodes, in depth-first order, is transposed once: feature by feature, which of its nodes have a weight
there. A row then adds up the products with all nodes of the stretch in one short line that stays in cache; along the
tree they become scores, score_n = score_parent(n) + u_n . x, with the scores of the path so far kept for each row
from one stretch to the next. At a node with classes they go to the best of the row, or to a matrix rows x classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel

_FULL_FROM = 0.25  # share of a stretch's nodes from which on a feature is stored for all: no indices
_UNUSED = -1  # place of a feature that no node of the stretch has


class Transposed(NamedTuple):
    """Vectors feature by feature: at feature j the nodes member[start[j]:start[j+1]] have the weights value[...].

    As many entries as there are nodes mean all of them in order; `member` is then not filled.
    """

    start: Any
    member: Any
    value: Any


class Walk(NamedTuple):
    """Nodes in depth-first order: depth (a top has 0), and where among `classes` those of each node start."""

    depth: Any
    class_start: Any
    classes: Any


@kernel
def mark_features(indices, used):
    """used[j] = 1 for all j that occur."""
    for k in range(indices.shape[0]):
        used[indices[k]] = 1


@kernel
def count_features(vectors, chosen, used, start):
    """Fill start[j], where feature j of the chosen vectors will stand; returns how many entries, or -1.

    -1 is an index out of range: a mapped file may not have been read before, so that it is looked for here.
    """
    n_features = used.shape[0]
    width = chosen.shape[0]
    for j in range(n_features + 1):
        start[j] = 0
    for p in range(width):
        for e in range(vectors.indptr[chosen[p]], vectors.indptr[chosen[p] + 1]):
            j = vectors.indices[e]
            if j < 0 or j >= n_features:
                return np.int64(-1)
            start[j + 1] += 1
    for j in range(n_features):
        count = start[j + 1]
        if used[j] == 0:
            count = 0
        elif count >= _FULL_FROM * width and count > 0:
            count = width
        start[j + 1] = start[j] + count
    return np.int64(start[n_features])


@kernel
def transpose_vectors(vectors, chosen, place, transposed):
    """Store the chosen vectors feature by feature, after `count_features`; `place` has one number per feature."""
    start, member, value = transposed
    width = chosen.shape[0]
    for j in range(place.shape[0]):
        size = start[j + 1] - start[j]
        if size == 0:
            place[j] = _UNUSED
        elif size == width:
            place[j] = _UNUSED - 1 - start[j]  # below _UNUSED: all nodes have a place there
            for k in range(start[j], start[j + 1]):
                value[k] = 0.0
        else:
            place[j] = start[j]
    for p in range(width):
        for e in range(vectors.indptr[chosen[p]], vectors.indptr[chosen[p] + 1]):
            j = vectors.indices[e]
            at = place[j]
            if at >= 0:
                member[at] = p
                value[at] = vectors.data[e]
                place[j] = at + 1
            elif at != _UNUSED:
                value[_UNUSED - 1 - at + p] += vectors.data[e]


@kernel
def add_products(rows, i, transposed, line):
    """line[p] += u_p . x_i for all nodes p of a stretch."""
    start, member, value = transposed
    width = line.shape[0]
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        j = rows.indices[k]
        x = rows.data[k]
        begin = start[j]
        size = start[j + 1] - begin
        if size == width:
            source = value[begin : begin + width]
            for p in range(width):
                line[p] += x * source[p]
        else:
            for e in range(begin, begin + size):
                line[member[e]] += x * value[e]


@kernel
def keep_best(score, cls, best, ids):
    """Put a class among the best of a row if it belongs there: best first, equals by the smaller number."""
    if score != score:
        score = -np.inf  # not a number: last of all
    at = best.shape[0] - 1
    if score < best[at] or (score == best[at] and cls > ids[at]):
        return
    while at > 0 and (best[at - 1] < score or (best[at - 1] == score and ids[at - 1] > cls)):
        best[at] = best[at - 1]
        ids[at] = ids[at - 1]
        at -= 1
    best[at] = score
    ids[at] = cls


@kernel
def walk_rows(rows, first, last, transposed, walk, intercept, path, table, best, ids):
    """Lead the rows first .. last-1 of X along a stretch of nodes.

    path[i, d + 1] is the score of row i at the node of depth d on the present path, path[i, 0] = 0. The best.shape[1]
    best classes of each row are kept; if that is 0, `table` (rows x classes) gets all scores. All numbers are of the
    type of the weights, so that scores in the table and among the best are equal to the last bit.
    """
    width = walk.depth.shape[0]
    line = np.empty(width, dtype=transposed.value.dtype)
    k = best.shape[1]
    for i in range(first, last):
        for p in range(width):
            line[p] = 0.0
        add_products(rows, i, transposed, line)
        along = path[i]
        for p in range(width):
            depth = walk.depth[p]
            score = along[depth] + line[p]
            along[depth + 1] = score
            for c in range(walk.class_start[p], walk.class_start[p + 1]):
                cls = walk.classes[c]
                found = score + intercept[cls]
                if k == 0:
                    table[i, cls] = found
                elif not found < best[i, k - 1]:
                    keep_best(found, cls, best[i], ids[i])
