"""The best ancestor-closed set of nodes in a DAG, for many rows: a maximum closure by maximum flow, exact.

    dag = dag_arrays(parent_indptr, parent_indices)      # once per taxonomy, outside of compiled code
    values, indptr, indices = best_closures(potentials, dag)

- `potentials`: rows x nodes, float64 and finite; any strides, fastest if a row is contiguous.
- `parent_indptr`, `parent_indices`: those of `Taxonomy`, int32: the root is node 0, parents have smaller ids.
- `values`: the sum of the potentials of each row's best set, the root's included.
- `indptr` (int64), `indices` (int32): the sets as CSR, the root included, ids ascending.

A set always has the root and something below it; no other node needs a chosen child.

The flow. A positive node has its potential to give, a negative one takes up to its size, and what is given runs from
child to parent: a chosen node pays for its ancestors. Bottom-up, each node gives its surplus to parents that still
take, and the rest to its first parent. What arrives at the root is surplus; breadth-first searches from the root find
nodes that still take, down along edges that carry flow (these can give less) and up along all edges, and move surplus
there. When none is left, the nodes reached are the best set, and of the best ones the smallest, which is contained in
all others.

If no surplus is left, every set below the root has value 0 or less, and the best that has one top t (a child of the
root alone) is found by asking the same of t, as if t had not to be paid for. Equals: of all such sets a top alone goes
before a larger set, then the smaller top. Sums round: sets whose values differ by less than that are equal. A DAG of
the root alone has no set: its value is -inf, the set is empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.growing import longer

_SORT_UP_TO = 48  # nodes: a larger set is collected by one look at all nodes


class Dag(NamedTuple):
    """Parents and children of each node as CSR, and the place of each child's edge among those to parents."""

    parent_indptr: Any
    parent_indices: Any
    child_indptr: Any
    child_indices: Any
    child_edges: Any


class Net(NamedTuple):
    """The flow, and the search through it: node by node, but `flow` by edges to parents."""

    surplus: Any  # negative: what a node still takes
    flow: Any
    seen: Any  # the number of the last search that reached it
    came_from: Any  # the node before it
    came_by: Any  # the edge: k up, -1 - k down
    queue: Any


def dag_arrays(parent_indptr: Any, parent_indices: Any) -> Dag:
    """The arrays of a DAG from the parents of its nodes."""
    counts = np.diff(parent_indptr)
    child_edges = np.argsort(parent_indices, kind="stable").astype(np.int32)
    child_indptr = np.zeros(len(parent_indptr), dtype=np.int32)
    np.cumsum(np.bincount(parent_indices, minlength=len(counts)), out=child_indptr[1:])
    children = np.repeat(np.arange(len(counts), dtype=np.int32), counts)[child_edges]
    upward = (np.array(parent_indptr, dtype=np.int32), np.array(parent_indices, dtype=np.int32))
    return Dag(*upward, child_indptr, children, child_edges)


@kernel
def best_closures(potentials, dag):
    """The best set of each row: (values, indptr, indices); see the head of this file."""
    n_rows, n_nodes = potentials.shape
    values = np.full(n_rows, -np.inf)
    indptr = np.zeros(n_rows + 1, np.int64)
    indices = np.empty(16 * n_rows, np.int32)
    if n_nodes < 2:
        return values, indptr, indices[:0]
    net = Net(
        np.empty(n_nodes),
        np.empty(dag.parent_indices.shape[0]),
        np.zeros(n_nodes, np.int64),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
    )
    chosen = np.empty(n_nodes, np.int32)
    search = 0
    size = np.int64(0)
    for row in range(n_rows):
        potential = potentials[row]
        _give_upward(potential, dag, net)
        left = net.surplus[0]
        count = 0
        if left > 0.0:
            left, count, search = _settle(0, left, dag, net, search)
            _copy(net.queue, count, chosen)
        if left <= 0.0:
            count, search = _best_top(potential, dag, net, chosen, search)
        if size + count > indices.shape[0]:
            indices = longer(indices, size, count)
        search += 1
        _put_in_order(chosen, count, net.seen, search, indices, size)
        total = 0.0
        for k in range(size, size + count):
            total += potential[indices[k]]
        size += count
        values[row] = total
        indptr[row + 1] = size
    return values, indptr, indices[:size]


@kernel
def _give_upward(potential, dag, net):
    """Each node's surplus to its parents, bottom-up; the root is left with what arrives there."""
    surplus, flow = net.surplus, net.flow
    surplus[0] = 0.0
    for node in range(1, potential.shape[0]):
        surplus[node] = potential[node]
    for node in range(potential.shape[0] - 1, 0, -1):
        first, last = dag.parent_indptr[node], dag.parent_indptr[node + 1]
        for k in range(first, last):
            flow[k] = 0.0
        rest = surplus[node]
        if rest <= 0.0:
            continue
        surplus[node] = 0.0
        if last - first > 1:
            for k in range(first, last):
                above = dag.parent_indices[k]
                if surplus[above] < 0.0 and rest > 0.0:
                    given = min(rest, -surplus[above])
                    surplus[above] += given
                    flow[k] = given
                    rest -= given
        if rest > 0.0:
            surplus[dag.parent_indices[first]] += rest
            flow[first] += rest


@kernel
def _settle(start, left, dag, net, search):
    """Move `left` from `start` to nodes that still take, until there is none of either.

    Returns what is left, how many nodes the last search reached (they are in net.queue), and its number.
    """
    broken = True
    count = 0
    while broken and left > 0.0:
        search += 1
        left, count, broken = _search(start, left, dag, net, search)
    return left, count, search


@kernel
def _search(start, left, dag, net, search):
    """One search, nearest first, that moves to every node it finds what its way allows.

    Returns what is left, how many nodes were reached, and whether a way was used up, so that some of them may not be
    reached any more. All ways used are shortest, as in the algorithms of Edmonds and Karp and of Dinic.
    """
    net.queue[0] = start
    net.seen[start] = search
    count = 1
    head = 0
    broken = False
    while head < count:
        node = net.queue[head]
        head += 1
        if net.surplus[node] < 0.0 and node != start:
            moved, used_up = _move(start, node, left, net)
            left -= moved
            broken = broken or used_up
            if left <= 0.0:
                break
            if net.surplus[node] < 0.0:
                continue  # the way to it is used up, and what lies behind it will be looked for again
        for k in range(dag.parent_indptr[node], dag.parent_indptr[node + 1]):
            above = dag.parent_indices[k]
            if net.seen[above] != search:
                net.seen[above] = search
                net.came_from[above] = node
                net.came_by[above] = k
                net.queue[count] = above
                count += 1
        for place in range(dag.child_indptr[node], dag.child_indptr[node + 1]):
            k = dag.child_edges[place]
            if net.flow[k] > 0.0:
                below = dag.child_indices[place]
                if net.seen[below] != search:
                    net.seen[below] = search
                    net.came_from[below] = node
                    net.came_by[below] = -1 - k
                    net.queue[count] = below
                    count += 1
    return left, count, broken


@kernel
def _move(start, end, left, net):
    """Move surplus from `start` to `end` on the way by which it was reached; (how much, whether the way is used up)."""
    most = np.inf
    node = end
    while node != start:
        k = net.came_by[node]
        if k < 0:
            most = min(most, net.flow[-1 - k])
        node = net.came_from[node]
    amount = min(left, -net.surplus[end], most)
    node = end
    while node != start:
        k = net.came_by[node]
        if k < 0:
            net.flow[-1 - k] -= amount
        else:
            net.flow[k] += amount
        node = net.came_from[node]
    net.surplus[end] += amount
    net.surplus[start] -= amount
    return amount, amount >= most


@kernel
def _best_top(potential, dag, net, chosen, search):
    """The best set that has one of the tops, where none has a positive value; (its size, searches so far)."""
    best = -np.inf
    for place in range(dag.child_indptr[0], dag.child_indptr[1]):
        top = dag.child_indices[place]
        if dag.parent_indptr[top + 1] - dag.parent_indptr[top] == 1 and potential[top] > best:
            best = potential[top]
            chosen[1] = top
    chosen[0] = 0
    size = 2
    for place in range(dag.child_indptr[0], dag.child_indptr[1]):
        top = dag.child_indices[place]
        # what a top still takes stays unpaid in every set that has it
        if dag.parent_indptr[top + 1] - dag.parent_indptr[top] == 1 and net.surplus[top] > best:
            left = net.surplus[top] - potential[top]
            left, count, search = _settle(top, left, dag, net, search)
            if potential[top] + left > best:
                best = potential[top] + left
                _copy(net.queue, count, chosen)
                size = count
    return size, search


@kernel
def _copy(nodes, count, out):
    for k in range(count):
        out[k] = nodes[k]


@kernel
def _put_in_order(nodes, count, seen, search, out, at):
    """The nodes by their ids into `out`, from place `at` on; `search` is a number that `seen` does not have yet."""
    if count > _SORT_UP_TO:
        for k in range(count):
            seen[nodes[k]] = search
        for node in range(seen.shape[0]):
            if seen[node] == search:
                out[at] = node
                at += 1
        return
    for k in range(count):
        place = at + k
        while place > at and out[place - 1] > nodes[k]:
            out[place] = out[place - 1]
            place -= 1
        out[place] = nodes[k]
