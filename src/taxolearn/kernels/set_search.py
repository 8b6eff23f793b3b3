"""The best ancestor-closed set of a DAG in which chosen nodes may need a chosen child: bounds, then branching.

    values, bounds, indptr, indices, steps = search_sets(potentials, dag, must, max_steps)

- `potentials`, `dag`, `indptr`, `indices`: as in `closures.best_closures`; `must` as in `tree_sets.best_tree_sets`.
- `max_steps`: how many bounds may be computed for a row before it is left unproved.
- `values`: the value of the set that was found; `bounds`: no set has a larger one. Both are equal where the set is
  proved to be the best, up to the rounding of sums; `steps`: how many bounds each row took.

The split bound of `set_bounds` leaves few nodes for a better set than the first one found. Among these, sets are
improved by adding and dropping ends, shares move by subgradients, and what is not proved then branches on nodes with
several parents: in or out. With all of those decided, the bound is the programme for trees, hence exact. Choices are
the same on every run.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.growing import longer
from taxolearn.kernels.set_bounds import (
    FREE,
    IN,
    OUT,
    Graph,
    bound_arrays,
    climb,
    descend,
    found_arrays,
    move_shifts,
    round_up,
    shrink,
    weigh,
)

_ROUNDING = 1e-13  # share of the sum of all |potentials| below which values count as equal
_FIRST_STEPS = 60  # subgradient steps before branching
_STEPS = 3  # the same after a branch
_PATIENCE = 3  # steps without a lower bound before the next ones are halved
_WORTH_IT = 0.7  # a graph is made smaller if at most this share of it remains
_LOOK_EVERY = 5  # steps between looks at how much remains


@kernel
def search_sets(potentials, dag, must, max_steps):
    """The best set of each row: (values, bounds, indptr, indices, steps); see the head of this file."""
    n_rows, n_nodes = potentials.shape
    values = np.full(n_rows, -np.inf)
    bounds = np.full(n_rows, -np.inf)
    steps = np.zeros(n_rows, np.int64)
    indptr = np.zeros(n_rows + 1, np.int64)
    indices = np.empty(16 * n_rows, np.int32)
    if n_nodes < 2:
        return values, bounds, indptr, indices[:0], steps
    needs = np.empty(n_nodes, np.bool_)
    for node in range(n_nodes):
        needs[node] = (must[node] or node == 0) and dag.child_indptr[node + 1] > dag.child_indptr[node]
    bound = bound_arrays(np.zeros(dag.parent_indices.shape[0]), n_nodes)
    found = found_arrays(np.zeros(n_nodes, np.bool_))
    free = np.zeros(n_nodes, np.int8)
    ids = np.arange(n_nodes, dtype=np.int32)
    graph = Graph(ids, np.empty(n_nodes), dag.parent_indptr, dag.parent_indices, needs)
    size = np.int64(0)
    for row in range(n_rows):
        tolerance = 0.0
        for node in range(n_nodes):
            graph.potential[node] = potentials[row, node]
            tolerance += _ROUNDING * abs(potentials[row, node])
        steps[row] = 1
        ids, flags = graph.ids, found.best
        top = climb(graph, bound, free)
        agree = descend(graph, bound, free)
        best = round_up(graph, bound, found, -np.inf)
        if agree or top <= best + tolerance:
            top = best
        else:
            weigh(graph, bound, free)
            small, flags, shift = shrink(graph, bound, found.best, top - best - tolerance)
            ids, flags, best, top, steps[row] = _solve(small, flags, shift, best, top, tolerance, max_steps)
        if size + ids.shape[0] > indices.shape[0]:
            indices = longer(indices, size, ids.shape[0])
        values[row] = 0.0
        for k in range(ids.shape[0]):
            if flags[k]:
                indices[size] = ids[k]
                size += 1
                values[row] += graph.potential[ids[k]]
        bounds[row] = max(values[row], top) if top > best + tolerance else values[row]
        indptr[row + 1] = size
    return values, bounds, indptr, indices[:size], steps


@kernel
def _solve(graph, flags, shift, best, top, tolerance, max_steps):
    """Improve the set `flags` of value `best`, lower the bound, and branch: (ids, flags, value, bound, steps)."""
    n_nodes = graph.ids.shape[0]
    bound = bound_arrays(shift, n_nodes)
    found = found_arrays(flags)
    state = np.zeros(n_nodes, np.int8)
    best = _improve(graph, found, best)
    pace = 1.0
    since = 0
    steps = 1
    for number in range(_FIRST_STEPS):
        now = climb(graph, bound, state)
        steps += 1
        since += 1
        if now < top:
            top = now
            since = 0
        if top <= best + tolerance:
            return graph.ids, found.best, best, best, steps
        agree = descend(graph, bound, state)
        better = round_up(graph, bound, found, best)
        if better > best:
            best = _improve(graph, found, better)
        if agree or top <= best + tolerance:
            return graph.ids, found.best, best, best, steps
        if number % _LOOK_EVERY == 0:
            weigh(graph, bound, state)
            left = 0
            for node in range(n_nodes):
                left += bound.loss[node] < now - best - tolerance or found.best[node]
            if left <= _WORTH_IT * n_nodes:
                graph, flags, shift = shrink(graph, bound, found.best, now - best - tolerance)
                n_nodes = graph.ids.shape[0]
                bound = bound_arrays(shift, n_nodes)
                found = found_arrays(flags)
                state = np.zeros(n_nodes, np.int8)
                continue
        if since >= _PATIENCE:
            pace *= 0.5
            since = 0
        move_shifts(graph, bound, state, pace * (now - best))
    best, top, more = _branch(graph, bound, found, best, top, tolerance, max_steps - steps)
    return graph.ids, found.best, best, top, steps + more


@kernel
def _branch(graph, bound, found, best, top, tolerance, max_steps):
    """Depth first, each node with several parents in or out: (value, bound, steps)."""
    n_nodes = graph.ids.shape[0]
    shared = 1
    for node in range(n_nodes):
        shared += graph.indptr[node + 1] - graph.indptr[node] > 1
    states = np.zeros((shared + 1, n_nodes), np.int8)
    node_of = np.zeros(shared + 1, np.int32)
    choice = np.zeros(shared + 1, np.int8)
    turned = np.zeros(shared + 1, np.bool_)
    limits = np.full(shared + 1, top)
    depth = 0
    steps = 0
    while True:
        best, now, which, made = _bound_of(graph, bound, found, states[depth], best, tolerance)
        steps += made
        if which >= 0:
            limit = min(now, limits[depth])
            if steps >= max_steps:
                for d in range(1, depth + 1):
                    if not turned[d]:
                        limit = max(limit, limits[d])
                return best, limit, steps
            depth += 1
            node_of[depth] = which
            choice[depth] = IN if bound.weight[which] >= 0.5 else OUT
            turned[depth] = False
            limits[depth] = limit
        else:
            while depth > 0 and (turned[depth] or limits[depth] <= best + tolerance):
                depth -= 1
            if depth == 0:
                return best, best, steps
            turned[depth] = True
            choice[depth] = IN + OUT - choice[depth]
        for node in range(n_nodes):
            states[depth, node] = states[depth - 1, node]
        _decide(graph, states[depth], node_of[depth], choice[depth])


@kernel
def _bound_of(graph, bound, found, state, best, tolerance):
    """A few steps under the decisions in `state`: (value, bound, the node to branch on or -1 if done, steps).

    Nodes that no better set can have are put out.
    """
    top = np.inf
    which = -1
    for number in range(_STEPS):
        now = climb(graph, bound, state)
        top = min(now, top)
        if top <= best + tolerance:
            return best, top, -1, number + 1
        agree = descend(graph, bound, state)
        best = round_up(graph, bound, found, best)
        if agree or top <= best + tolerance:
            return best, best, -1, number + 1
        which = move_shifts(graph, bound, state, 0.7 * (now - best))
        if number + 1 < _STEPS:
            weigh(graph, bound, state)
            for node in range(1, graph.ids.shape[0]):
                if state[node] == FREE and bound.loss[node] >= now - best - tolerance:
                    state[node] = OUT
    return best, top, which, _STEPS


@kernel
def _decide(graph, state, which, choice):
    """In with all nodes above it, or out with all below it."""
    state[which] = choice
    if choice == IN:
        for node in range(which, 0, -1):
            if state[node] == IN:
                for k in range(graph.indptr[node], graph.indptr[node + 1]):
                    state[graph.parents[k]] = IN
        return
    for node in range(which + 1, graph.ids.shape[0]):
        for k in range(graph.indptr[node], graph.indptr[node + 1]):
            if state[graph.parents[k]] == OUT:
                state[node] = OUT


@kernel
def _improve(graph, found, best):
    """Add ends with the nodes above them, and drop ends with those that need them, as long as that is better."""
    n_nodes = graph.ids.shape[0]
    chosen = found.best
    for node in range(n_nodes):
        found.kids[node] = 0
    for node in range(1, n_nodes):
        if chosen[node]:
            for k in range(graph.indptr[node], graph.indptr[node + 1]):
                found.kids[graph.parents[k]] += 1
    better = True
    while better:
        better = False
        for node in range(n_nodes - 1, 0, -1):
            if chosen[node] and found.kids[node] == 0:
                change = _drop(graph, found, node)
            elif not chosen[node] and not graph.must[node]:
                change = _add(graph, found, node)
            else:
                continue
            if change > 0.0:
                best += change
                better = True
    return best


@kernel
def _drop(graph, found, end):
    """Drop an end, and nodes that are left without the child they need, if that is better; what it brings."""
    count = 1
    head = 0
    change = 0.0
    allowed = True
    found.stack[0] = end
    while head < count:
        node = found.stack[head]
        head += 1
        allowed = allowed and node != 0
        change -= graph.potential[node]
        for k in range(graph.indptr[node], graph.indptr[node + 1]):
            above = graph.parents[k]
            found.kids[above] -= 1
            if found.kids[above] == 0 and graph.must[above]:
                found.stack[count] = above
                count += 1
    keep = not allowed or change <= 0.0
    for k in range(count):
        node = found.stack[k]
        if keep:
            for e in range(graph.indptr[node], graph.indptr[node + 1]):
                found.kids[graph.parents[e]] += 1
        else:
            found.best[node] = False
    return 0.0 if keep else change


@kernel
def _add(graph, found, end):
    """Add an end and what is missing above it, if that is better; what it brings."""
    count = 1
    head = 0
    change = 0.0
    found.stack[0] = end
    found.best[end] = True
    while head < count:
        node = found.stack[head]
        head += 1
        change += graph.potential[node]
        for k in range(graph.indptr[node], graph.indptr[node + 1]):
            above = graph.parents[k]
            if not found.best[above]:
                found.best[above] = True
                found.stack[count] = above
                count += 1
    for k in range(count):
        node = found.stack[k]
        if change <= 0.0:
            found.best[node] = False
        else:
            for e in range(graph.indptr[node], graph.indptr[node + 1]):
                found.kids[graph.parents[e]] += 1
    return max(change, 0.0)
