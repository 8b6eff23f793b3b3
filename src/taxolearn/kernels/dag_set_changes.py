"""What adding or dropping each node of a DAG would change in a label set, for many rows.

Potentials, DAGs, `must` and sets are those of `closures` and `set_search`; the sets must be allowed ones.

- A node that is not chosen is added with the nodes above it that are missing. Where it needs a child, a chain of
  children comes along, down to the first that may be an end: at each step the child of the best chain.
- A chosen node is dropped with all nodes below it, and then with those left without the child that they need. If
  nothing is left below the root, the best chain from the root that does without the node takes its place.

So the changed set is an allowed one. On the best set the change is 0 or more for chosen nodes, 0 or less for others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel


class Room(NamedTuple):
    """Flags of the set, marks, numbers of chosen children, chains, and the nodes of a change."""

    chosen: Any
    marked: Any
    kids: Any
    chain: Any  # the sum of the best chain from a node down
    step: Any  # its next node, -1 at its end
    nodes: Any


@kernel
def dag_changes(potentials, dag, must, indptr, indices, node_indptr, nodes, out):
    """What nodes matter: row i asks about nodes[node_indptr[i]:node_indptr[i + 1]], and `out` has their places.

    Of a chosen node the value less that of the set without it, else the value of the set with it less that of the set;
    infinite for nodes that every set has.
    """
    room = make_room(potentials.shape[1])
    for row in range(potentials.shape[0]):
        potential = potentials[row]
        chosen = indices[indptr[row] : indptr[row + 1]]
        for k in range(chosen.shape[0]):
            room.chosen[chosen[k]] = True
        find_chains(potential, dag, must, -1, room)
        for k in range(node_indptr[row], node_indptr[row + 1]):
            if room.chosen[nodes[k]]:
                out[k] = drop_node(potential, dag, must, chosen, nodes[k], room)[0]
            else:
                out[k] = add_node(potential, dag, nodes[k], 0, room)[0]
        for k in range(chosen.shape[0]):
            room.chosen[chosen[k]] = False


@kernel
def make_room(n_nodes):
    """Room for a DAG of so many nodes, with no node chosen."""
    return Room(
        np.zeros(n_nodes, np.bool_),
        np.zeros(n_nodes, np.bool_),
        np.zeros(n_nodes, np.int32),
        np.empty(n_nodes),
        np.empty(n_nodes, np.int32),
        np.empty(2 * n_nodes, np.int32),
    )


@kernel
def find_chains(potential, dag, must, banned, room):
    """The best chain from each node down to a node that may be an end; -inf where it would need `banned`."""
    n_nodes = potential.shape[0]
    if banned >= 0:
        room.marked[banned] = True
        for node in range(banned + 1, n_nodes):
            for k in range(dag.parent_indptr[node], dag.parent_indptr[node + 1]):
                if room.marked[dag.parent_indices[k]]:
                    room.marked[node] = True
    for node in range(n_nodes - 1, -1, -1):
        first, last = dag.child_indptr[node], dag.child_indptr[node + 1]
        best = 0.0
        step = -1
        if last > first and (must[node] or node == 0):
            best = -np.inf
            for k in range(first, last):
                child = dag.child_indices[k]
                if room.chain[child] > best:
                    best = room.chain[child]
                    step = child
        if room.marked[node]:
            room.marked[node] = False
            best = -np.inf
        room.chain[node] = potential[node] + best
        room.step[node] = step


@kernel
def add_node(potential, dag, node, at, room):
    """What is added with a node: (the sum of potentials, the end of the nodes, which begin in room.nodes at `at`)."""
    end = at
    while node >= 0:
        room.nodes[end] = node
        room.marked[node] = True
        end += 1
        node = room.step[node]
    total = 0.0
    head = at
    while head < end:
        node = room.nodes[head]
        head += 1
        total += potential[node]
        for k in range(dag.parent_indptr[node], dag.parent_indptr[node + 1]):
            above = dag.parent_indices[k]
            if not room.chosen[above] and not room.marked[above]:
                room.marked[above] = True
                room.nodes[end] = above
                end += 1
    for k in range(at, end):
        room.marked[room.nodes[k]] = False
    return total, end


@kernel
def drop_node(potential, dag, must, chosen, node, room):
    """What is lost with a chosen node: (the difference, the end of the nodes dropped, the end of those added).

    The nodes dropped are the first of room.nodes, those added follow. The chains must be those without a ban; they are
    so again afterwards.
    """
    count = 0
    lost = 0.0
    room.marked[node] = True
    for k in range(chosen.shape[0]):
        room.kids[chosen[k]] = 0
        for e in range(dag.parent_indptr[chosen[k]], dag.parent_indptr[chosen[k] + 1]):
            if room.marked[dag.parent_indices[e]]:
                room.marked[chosen[k]] = True
    for k in range(chosen.shape[0] - 1, -1, -1):
        here = chosen[k]
        inner = dag.child_indptr[here + 1] > dag.child_indptr[here]
        if room.kids[here] == 0 and inner and must[here] and here != 0:
            room.marked[here] = True
        if room.marked[here]:
            room.nodes[count] = here
            count += 1
            lost += potential[here]
        else:
            for e in range(dag.parent_indptr[here], dag.parent_indptr[here + 1]):
                room.kids[dag.parent_indices[e]] += 1
    empty = room.kids[0] == 0
    for k in range(count):
        room.marked[room.nodes[k]] = False
    end = count
    if node == 0:
        return np.inf, count, count
    if empty:
        find_chains(potential, dag, must, node, room)
        if room.chain[0] == -np.inf:
            lost = np.inf
        else:
            for k in range(chosen.shape[0]):
                room.chosen[chosen[k]] = chosen[k] == 0
            added, end = add_node(potential, dag, room.step[0], count, room)
            lost -= added
            for k in range(chosen.shape[0]):
                room.chosen[chosen[k]] = True
        find_chains(potential, dag, must, -1, room)
    return lost, count, end
