"""The exact step of one row on its node marginals, over the ancestor-closed sets of a DAG.

    max over mu of  sum_n g_n mu_n - 1/2 h_n mu_n^2,    0 <= mu_child <= mu_parent <= 1

The nodes with mu_n > t are the least ancestor-closed set of the largest sum of g_n - h_n t. So a closure at t = 0 finds
the nodes that are positive, and a block of nodes between two values is split by the closure at the value that they had
if all were equal, until no block can be split: every closure is a maximum flow on a small graph.

Flow: nodes of positive weight pay for their ancestors. Edges go from child to parent and carry any amount; what is
paid can be taken back. Nodes that can be reached from one that has something left are the closure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel

_NOTHING = 1e-14  # share of the summed weights that rounding leaves over


class Dag(NamedTuple):
    """Nodes from the top down, the root first. Edge e goes up from owner[e] to parents[e]; `edge_below` are those that
    come in from below, and `child` is where they come from."""

    indptr: Any
    parents: Any
    owner: Any
    below: Any
    edge_below: Any
    child: Any


class Flow(NamedTuple):
    """What a closure and a step work with: an entry a node, or an edge."""

    inside: Any  # the number of the block that a node is in
    seen: Any  # the search that saw it last
    chosen: Any  # the closure that it is in
    left: Any  # what it can pay, or must be paid
    paid: Any  # along each edge
    queue: Any
    came: Any  # the edge that a search came by; -1 - e where it took back what was paid
    nodes: Any
    other: Any
    weight: Any
    mu: Any
    start: Any
    end: Any
    low: Any
    high: Any
    clock: Any  # numbers given to blocks, searches and closures so far


@kernel
def new_flow(n, n_edges):
    """Room for a DAG of that size."""
    return Flow(
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n),
        np.zeros(n_edges),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.zeros(n),
        np.zeros(n),
        np.empty(n + 1, dtype=np.int64),
        np.empty(n + 1, dtype=np.int64),
        np.empty(n + 1),
        np.empty(n + 1),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def _tick(flow):
    flow.clock[0] += 1
    return flow.clock[0]


@kernel
def _search(dag, flow, source, block, closure):
    """The nearest node that waits for payment, -1 if there is none: then all that was seen is in the closure."""
    search = _tick(flow)
    flow.queue[0] = source
    flow.seen[source] = search
    flow.came[source] = dag.parents.shape[0]
    found = 1
    at = 0
    while at < found:
        n = flow.queue[at]
        at += 1
        if flow.left[n] < 0.0:
            return n
        for e in range(dag.indptr[n], dag.indptr[n + 1]):
            p = dag.parents[e]
            if flow.inside[p] == block and flow.seen[p] != search and flow.chosen[p] != closure:
                flow.seen[p] = search
                flow.came[p] = e
                flow.queue[found] = p
                found += 1
        for k in range(dag.below[n], dag.below[n + 1]):
            e = dag.edge_below[k]
            c = dag.child[k]
            if (
                flow.inside[c] == block
                and flow.seen[c] != search
                and flow.chosen[c] != closure
                and flow.paid[e] > 0.0
            ):
                flow.seen[c] = search
                flow.came[c] = -1 - e
                flow.queue[found] = c
                found += 1
    for q in range(found):
        flow.chosen[flow.queue[q]] = closure
    return -1


@kernel
def _pay(dag, flow, source, sink):
    """As much as can go along the way that the search found."""
    amount = min(flow.left[source], -flow.left[sink])
    n = sink
    while n != source:
        e = flow.came[n]
        if e >= 0:
            n = dag.owner[e]
        else:
            amount = min(amount, flow.paid[-1 - e])
            n = dag.parents[-1 - e]
    n = sink
    while n != source:
        e = flow.came[n]
        if e >= 0:
            flow.paid[e] += amount
            n = dag.owner[e]
        else:
            flow.paid[-1 - e] -= amount
            n = dag.parents[-1 - e]
    flow.left[source] -= amount
    flow.left[sink] += amount


@kernel
def closure_of(dag, flow, nodes, start, end, weight):
    """Mark the least closure of the largest weight among nodes[start:end], edges to others left out.

    Returns the number of its marks in `flow.chosen`, its size and its weight.
    """
    block = _tick(flow)
    closure = _tick(flow)
    size = 0.0
    for k in range(start, end):
        n = nodes[k]
        flow.inside[n] = block
        flow.left[n] = weight[n]
        size += abs(weight[n])
        for e in range(dag.indptr[n], dag.indptr[n + 1]):
            flow.paid[e] = 0.0
    bar = _NOTHING * size
    for k in range(end - 1, start - 1, -1):
        n = nodes[k]
        if flow.left[n] > bar:  # parents that wait need no search
            for e in range(dag.indptr[n], dag.indptr[n + 1]):
                p = dag.parents[e]
                if flow.inside[p] == block and flow.left[p] < 0.0 < flow.left[n]:
                    amount = min(flow.left[n], -flow.left[p])
                    flow.paid[e] += amount
                    flow.left[n] -= amount
                    flow.left[p] += amount
        while flow.left[n] > bar and flow.chosen[n] != closure:
            sink = _search(dag, flow, n, block, closure)
            if sink < 0:
                break
            _pay(dag, flow, n, sink)
    count = 0
    value = 0.0
    for k in range(start, end):
        if flow.chosen[nodes[k]] == closure:
            count += 1
            value += weight[nodes[k]]
    return closure, count, value


@kernel
def payers(dag, flow, size, weight, nodes):
    """All nodes of positive weight and their ancestors but the root, from the top down; how many they are."""
    mark = _tick(flow)
    for n in range(size - 1, 0, -1):
        if weight[n] > 0.0 or flow.seen[n] == mark:
            flow.seen[n] = mark
            for e in range(dag.indptr[n], dag.indptr[n + 1]):
                flow.seen[dag.parents[e]] = mark
    count = 0
    for n in range(1, size):
        if flow.seen[n] == mark:
            nodes[count] = n
            count += 1
    return count


@kernel
def dag_step(dag, flow, count, g, h):
    """The optimum over flow.nodes[:count], others being zero: `flow.mu` at the first of them. Returns how many.

    Nodes come and go from the top down.
    """
    nodes = flow.nodes
    closure, found, _ = closure_of(dag, flow, nodes, np.int64(0), count, g)
    at = 0
    for k in range(count):
        if flow.chosen[nodes[k]] == closure:
            nodes[at] = nodes[k]
            at += 1
    if found == 0:
        return 0
    for k in range(found):
        flow.other[k] = nodes[k]  # blocks are parted here, `nodes` keeps the order
    depth = 1
    flow.start[0], flow.end[0], flow.low[0], flow.high[0] = 0, found, 0.0, 1.0
    while depth > 0:
        depth -= 1
        start, end = flow.start[depth], flow.end[depth]
        low, high = flow.low[depth], flow.high[depth]
        top = 0.0
        bottom = 0.0
        for k in range(start, end):
            top += g[flow.other[k]]
            bottom += h[flow.other[k]]
        t = min(max(top / bottom, low), high)
        inside = 0
        if end - start > 1:
            for k in range(start, end):
                n = flow.other[k]
                flow.weight[n] = g[n] - h[n] * t
            closure, inside, _ = closure_of(dag, flow, flow.other, start, end, flow.weight)
        if inside == 0 or inside == end - start:
            if inside > 0 and top / bottom > high:
                t = high
            for k in range(start, end):
                flow.mu[flow.other[k]] = t
            continue
        # the closure first, both parts from the top down
        kept = 0
        at = start
        for k in range(start, end):
            n = flow.other[k]
            if flow.chosen[n] == closure:
                flow.other[at] = n
                at += 1
            else:
                flow.queue[kept] = n
                kept += 1
        for k in range(kept):
            flow.other[at + k] = flow.queue[k]
        if t >= high:
            for k in range(start, at):
                flow.mu[flow.other[k]] = high
        else:
            flow.start[depth], flow.end[depth], flow.low[depth], flow.high[depth] = start, at, t, high
            depth += 1
        if t <= low:
            for k in range(at, end):
                flow.mu[flow.other[k]] = low
        else:
            flow.start[depth], flow.end[depth], flow.low[depth], flow.high[depth] = at, end, low, t
            depth += 1
    return found
