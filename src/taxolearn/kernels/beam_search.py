"""One step of a beam search down a taxonomy, for many rows: nodes that rows have reached are expanded one by one.

Where many rows stand at a node, the vectors of its children are transposed for them as in `node_scores`. Else the
vector of a child is spread over all features, or looked up in where rows are few. The score of a node is that of its
parent plus the products with the vectors that the edge adds. Each row keeps, for each level, its best nodes by
score + bonus + reach times the length of the row, and its best classes by score + intercept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.node_scores import add_products, keep_best

_LOOK_UP_COST = 8.0  # cost of a look-up in a sorted vector, in reads of a dense one


class Edges(NamedTuple):
    """Edges to expand: rows of the group group[e] go to node child[e], adding the vectors terms[term_start[e]:...]."""

    group: Any
    child: Any
    term_start: Any
    terms: Any


class Groups(NamedTuple):
    """Rows by the node they stand at: group g has the rows member[start[g]:start[g + 1]] with their scores there."""

    start: Any
    member: Any
    score: Any


class Nodes(NamedTuple):
    """What is known of the nodes: level, what to expect below (bonus -inf: nothing), and the classes there."""

    level: Any
    bonus: Any
    reach: Any
    class_start: Any
    classes: Any


class Beams(NamedTuple):
    """For each level and row the nodes to expand, best first, their scores, and how many."""

    node: Any
    score: Any
    count: Any


@kernel
def group_rows(node, score, count, start, member, reached):
    """Sort the (row, node) pairs of a level by node: `start` (nodes + 1), `member` and `reached` make up its groups."""
    for n in range(start.shape[0]):
        start[n] = 0
    for i in range(count.shape[0]):
        for s in range(count[i]):
            start[node[i, s] + 1] += 1
    for n in range(start.shape[0] - 1):
        start[n + 1] += start[n]
    for i in range(count.shape[0]):
        for s in range(count[i]):
            at = start[node[i, s]]
            member[at] = i
            reached[at] = score[i, s]
            start[node[i, s]] += 1
    for n in range(start.shape[0] - 1, 0, -1):  # each start now stands where its group ends
        start[n] = start[n - 1]
    start[0] = 0


@kernel
def _keep_node(score, child, nodes, length, node, scores, count, repeats):
    """Put a node among those of a row's level, best first, equals by the smaller number; returns their new count."""
    if repeats:
        for s in range(count):
            if node[s] == child:
                return count
    rank = score + nodes.bonus[child] + length * nodes.reach[child]
    at = count
    while at > 0:
        other = scores[at - 1] + nodes.bonus[node[at - 1]] + length * nodes.reach[node[at - 1]]
        if other > rank or (other == rank and node[at - 1] < child):
            break
        at -= 1
    width = node.shape[0]
    if at == width:
        return count
    last = min(count, width - 1)
    for s in range(last, at, -1):
        node[s] = node[s - 1]
        scores[s] = scores[s - 1]
    node[at] = child
    scores[at] = score
    return last + 1


@kernel
def _found(column, indices, low, high):
    """Where a column stands in a sorted stretch of indices, or -1."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    if low < end and indices[low] == column:
        return low
    return -1


@kernel
def _arrive(i, child, score, nodes, lengths, intercept, repeats, beams, best, ids):
    """Row i has reached a node: its classes may be among the best, and what is below it worth a look."""
    for c in range(nodes.class_start[child], nodes.class_start[child + 1]):
        cls = nodes.classes[c]
        known = False
        if repeats:
            for s in range(ids.shape[1]):
                known = known or ids[i, s] == cls
        if not known:
            keep_best(score + intercept[cls], cls, best[i], ids[i])
    if nodes.bonus[child] > -np.inf:
        level = nodes.level[child]
        count = beams.count[level, i]
        beams.count[level, i] = _keep_node(
            score, child, nodes, lengths[i], beams.node[level, i], beams.score[level, i], count, repeats
        )


@kernel
def expand_together(
    rows, transposed, children, group, groups, nodes, lengths, intercept, repeats, beams, best, ids
):
    """Expand one node: the rows of its group meet all these children at once, whose vectors are transposed."""
    width = children.shape[0]
    line = np.empty(width, dtype=transposed.value.dtype)
    for g in range(groups.start[group], groups.start[group + 1]):
        i = groups.member[g]
        for p in range(width):
            line[p] = 0.0
        add_products(rows, i, transposed, line)
        for p in range(width):
            _arrive(
                i,
                children[p],
                groups.score[g] + line[p],
                nodes,
                lengths,
                intercept,
                repeats,
                beams,
                best,
                ids,
            )


@kernel
def expand(rows, vectors, edges, groups, room, nodes, lengths, intercept, repeats, beams, best, ids):
    """Expand all edges; returns the position among `terms` of a vector with a bad index, or -1.

    `room` (one number per feature) comes and goes as zeros. With `repeats` a node may be reached by several edges.
    """
    n_features = room.shape[0]
    n = rows.indptr.shape[0] - 1
    mean_size = rows.indptr[n] / max(1, n)
    for e in range(edges.child.shape[0]):
        first = edges.term_start[e]
        last = edges.term_start[e + 1]
        size = 0
        for t in range(first, last):
            vector = edges.terms[t]
            size += vectors.indptr[vector + 1] - vectors.indptr[vector]
        low = groups.start[edges.group[e]]
        high = groups.start[edges.group[e] + 1]
        spread = _LOOK_UP_COST * (high - low) * mean_size > size
        if spread:
            for t in range(first, last):
                for k in range(vectors.indptr[edges.terms[t]], vectors.indptr[edges.terms[t] + 1]):
                    j = vectors.indices[k]
                    if j < 0 or j >= n_features:
                        return t
                    room[j] += vectors.data[k]
        child = edges.child[e]
        for g in range(low, high):
            i = groups.member[g]
            total = room.dtype.type(0.0)
            for k in range(rows.indptr[i], rows.indptr[i + 1]):
                j = rows.indices[k]
                if spread:
                    total += rows.data[k] * room[j]
                else:
                    for t in range(first, last):
                        vector = edges.terms[t]
                        at = _found(j, vectors.indices, vectors.indptr[vector], vectors.indptr[vector + 1])
                        if at >= 0:
                            total += rows.data[k] * vectors.data[at]
            _arrive(i, child, groups.score[g] + total, nodes, lengths, intercept, repeats, beams, best, ids)
        if spread:
            for t in range(first, last):
                for k in range(vectors.indptr[edges.terms[t]], vectors.indptr[edges.terms[t] + 1]):
                    room[vectors.indices[k]] = 0.0
    return -1
