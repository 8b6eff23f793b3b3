"""The split bound of the best ancestor-closed set of a DAG in which chosen nodes may need a chosen child.

Node c hands its value to its k parents in shares, v_c / k + lambda_cp with sum_p lambda_cp = 0:

    v_n = r_n + (sum of the positive shares of its children if there are any, else the largest if must_n, else 0)

All parents of a chosen node are chosen, so that its shares add up to v_c: the value of no set is above v_root, whatever
lambda is. If all parents of each node take it, or none does, v_root is the value of a set.

A set that has node n loses against v_root, at every node on a way down to n, what the child on that way is worse than
the best choice there. So n may be left out if v_root less these losses is not above the value of a set that is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel

FREE, IN, OUT = 0, 1, 2


class Graph(NamedTuple):
    """The nodes of a row's problem: their ids, potentials, parents, and which of them need a chosen child."""

    ids: Any
    potential: Any
    indptr: Any
    parents: Any
    must: Any


class Bound(NamedTuple):
    """What a bound is computed with: by nodes, but `share`, `shift` (lambda) and `taken` by edges to parents."""

    value: Any
    gain: Any  # sum of the shares of children that count
    best: Any  # the largest share of the others
    pick: Any  # the edge of the child that is needed, -1 if none is
    open: Any  # whether the node has a child that counts: of a positive share, or decided to be in
    weight: Any  # how much of a node its parents take
    loss: Any
    share: Any
    shift: Any
    taken: Any


class Found(NamedTuple):
    """The best set so far, and the one that is being made: flags by node; numbers of chosen children; a stack."""

    best: Any
    chosen: Any
    kids: Any
    stack: Any


@kernel
def bound_arrays(shift, n_nodes):
    """Room for bounds, with these shifts."""
    n_edges = shift.shape[0]
    return Bound(
        np.empty(n_nodes),
        np.empty(n_nodes),
        np.empty(n_nodes),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.bool_),
        np.empty(n_nodes),
        np.empty(n_nodes),
        np.empty(n_edges),
        shift,
        np.empty(n_edges, np.bool_),
    )


@kernel
def found_arrays(best):
    """Room for sets, with this best one so far."""
    n_nodes = best.shape[0]
    return Found(
        best,
        np.zeros(n_nodes, np.bool_),
        np.zeros(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
    )


@kernel
def climb(graph, bound, state):
    """v of all nodes, -inf where there is no set; returns v of the root."""
    n_nodes = graph.ids.shape[0]
    for node in range(n_nodes):
        bound.gain[node] = 0.0
        bound.best[node] = -np.inf
        bound.pick[node] = -1
        bound.open[node] = False
    for node in range(n_nodes - 1, -1, -1):
        if state[node] == OUT:
            bound.value[node] = -np.inf
            continue
        value = graph.potential[node]
        if bound.open[node]:
            value += bound.gain[node]
            bound.pick[node] = -1
        elif graph.must[node]:
            value += bound.best[node]
        else:
            bound.pick[node] = -1
        bound.value[node] = value
        if value == -np.inf:
            if state[node] == IN:
                return -np.inf
            continue
        first, last = graph.indptr[node], graph.indptr[node + 1]
        part = value / (last - first) if last - first > 1 else value
        for k in range(first, last):
            share = part + bound.shift[k]
            bound.share[k] = share
            above = graph.parents[k]
            if share > 0.0 or state[node] == IN:
                bound.gain[above] += share
                bound.open[above] = True
            elif share >= bound.best[above]:
                bound.best[above] = share
                bound.pick[above] = k
    return bound.value[0]


@kernel
def descend(graph, bound, state):
    """What the parents take of each node, and whether they agree everywhere: the bound is then the value of a set."""
    agree = True
    bound.weight[0] = 1.0
    for node in range(1, graph.ids.shape[0]):
        bound.weight[node] = 0.0
        first, last = graph.indptr[node], graph.indptr[node + 1]
        takers = 0
        there = bound.value[node] > -np.inf
        for k in range(first, last):
            above = graph.parents[k]
            bound.taken[k] = (
                there
                and bound.weight[above] > 0.0
                and (bound.share[k] > 0.0 or state[node] == IN or bound.pick[above] == k)
            )
            if bound.taken[k]:
                takers += 1
                bound.weight[node] += bound.weight[above] / (last - first)
        if 0 < takers < last - first:
            agree = False
    return agree


@kernel
def round_up(graph, bound, found, best):
    """Make a set of what is taken, and keep it if it is better than `best`; returns the better value."""
    n_nodes = graph.ids.shape[0]
    for node in range(n_nodes):
        found.chosen[node] = bound.weight[node] > 0.0
    total = 0.0
    for node in range(n_nodes - 1, -1, -1):
        if found.chosen[node]:
            total += graph.potential[node]
            for k in range(graph.indptr[node], graph.indptr[node + 1]):
                found.chosen[graph.parents[k]] = True
    # every node that was taken has a child if it needs one, and those added above it have one
    if total > best:
        for node in range(n_nodes):
            found.best[node] = found.chosen[node]
        return total
    return best


@kernel
def weigh(graph, bound, state):
    """What a set with each node loses at least against v_root, on the worst of the ways down to it."""
    bound.loss[0] = 0.0
    for node in range(1, graph.ids.shape[0]):
        loss = np.inf if bound.value[node] == -np.inf else 0.0
        for k in range(graph.indptr[node], graph.indptr[node + 1]):
            above = graph.parents[k]
            here = 0.0
            if loss < np.inf and state[node] != IN:
                if bound.open[above]:
                    here = max(0.0, -bound.share[k])
                elif graph.must[above]:
                    here = bound.best[above] - bound.share[k]
                else:
                    here = -bound.share[k]
            loss = max(loss, bound.loss[above] + here)
        bound.loss[node] = loss


@kernel
def shrink(graph, bound, chosen, limit):
    """The graph of the nodes whose loss is below `limit`, or that are chosen; their flags and shifts."""
    n_nodes = graph.ids.shape[0]
    place = np.full(n_nodes, -1, np.int32)
    count = 0
    edges = 0
    for node in range(n_nodes):
        if bound.loss[node] < limit or chosen[node]:  # the same holds for its parents
            place[node] = count
            count += 1
            edges += graph.indptr[node + 1] - graph.indptr[node]
    small = Graph(
        np.empty(count, np.int32),
        np.empty(count),
        np.zeros(count + 1, np.int32),
        np.empty(edges, np.int32),
        np.empty(count, np.bool_),
    )
    flags = np.empty(count, np.bool_)
    shift = np.empty(edges)
    at = 0
    for node in range(n_nodes):
        here = place[node]
        if here < 0:
            continue
        small.ids[here] = graph.ids[node]
        small.potential[here] = graph.potential[node]
        small.must[here] = graph.must[node]
        flags[here] = chosen[node]
        for k in range(graph.indptr[node], graph.indptr[node + 1]):
            small.parents[at] = place[graph.parents[k]]
            shift[at] = bound.shift[k]
            at += 1
        small.indptr[here + 1] = at
    return small, flags, shift


@kernel
def move_shifts(graph, bound, state, length):
    """A subgradient step of lambda, away from parents that take a node towards those that do not.

    `length` is how far the bound should fall. Returns the node on which parents disagree most, -1 if on none.
    """
    norm = 0.0
    worst = 0.0
    which = -1
    for node in range(1, graph.ids.shape[0]):
        first, last = graph.indptr[node], graph.indptr[node + 1]
        if last - first < 2 or state[node] != FREE or bound.value[node] == -np.inf:
            continue
        mean = 0.0
        for k in range(first, last):
            if bound.taken[k]:
                mean += bound.weight[graph.parents[k]]
        if mean == 0.0:
            continue
        mean /= last - first
        spread = 0.0
        for k in range(first, last):
            part = bound.weight[graph.parents[k]] if bound.taken[k] else 0.0
            spread += (part - mean) ** 2
        norm += spread
        if spread > worst:
            worst = spread
            which = node
    if norm <= 0.0:
        return which
    step = length / norm
    for node in range(1, graph.ids.shape[0]):
        first, last = graph.indptr[node], graph.indptr[node + 1]
        if last - first < 2 or state[node] != FREE or bound.weight[node] == 0.0:
            continue
        mean = 0.0
        for k in range(first, last):
            if bound.taken[k]:
                mean += bound.weight[graph.parents[k]]
        mean /= last - first
        for k in range(first, last):
            part = bound.weight[graph.parents[k]] if bound.taken[k] else 0.0
            bound.shift[k] -= step * (part - mean)
    return which
