"""From a list of edges to ids: the numbering of nodes and the checks that need the whole graph."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from taxolearn.errors import TaxonomyError
from taxolearn.structure.arrays import IntArray, row_of_entry, row_pointer
from taxolearn.structure.names import clean_name, show

ARTIFICIAL_ROOT = "<root>"
_CYCLE_SHOWN = 8


class Assembly(NamedTuple):
    """Parents in CSR and names, both in id order; `new_id[i]` is the id of the i-th name that was given.

    >>> assemble(["a", "b"], np.array([0]), np.array([1])).names
    ('a', 'b')
    """

    parent_indptr: IntArray
    parent_indices: IntArray
    names: tuple[Hashable, ...]
    new_id: IntArray


def assemble(
    names: Sequence[Hashable], parents: IntArray, children: IntArray, root: Hashable | None = None
) -> Assembly:
    """Number the nodes of a graph whose edges are parents[k] -> children[k] (positions in `names`).

    Ids follow a depth-first walk that enters a node right after the last of its parents, children in the
    order of their edges. So the root is 0, a parent comes before its children, each subtree of a tree is a
    contiguous range, and numbering the result again changes nothing.

    >>> assemble(["x", "y", "top"], np.array([2, 2]), np.array([1, 0])).names
    ('top', 'y', 'x')
    """
    parents, children = np.asarray(parents, dtype=np.int32), np.asarray(children, dtype=np.int32)
    _check_edges(names, parents, children)
    names, parents, children = _one_root(list(names), parents, children, root)
    n_nodes = len(names)
    by_parent = np.argsort(parents, kind="stable")
    kids = children[by_parent].tolist()
    start = row_pointer(parents, n_nodes).tolist()
    waiting = np.bincount(children, minlength=n_nodes)
    stack = np.flatnonzero(waiting == 0).tolist()
    waiting_for = waiting.tolist()
    order: list[int] = []
    while stack:
        node = stack.pop()
        order.append(node)
        for kid in reversed(kids[start[node] : start[node + 1]]):
            waiting_for[kid] -= 1
            if not waiting_for[kid]:
                stack.append(kid)
    if len(order) < n_nodes:
        raise TaxonomyError(_describe_cycle(names, parents, children, order))
    new_id = np.empty(n_nodes, dtype=np.int32)
    new_id[order] = np.arange(n_nodes, dtype=np.int32)
    child_ids, parent_ids = new_id[children], new_id[parents]
    by_child = np.lexsort((parent_ids, child_ids))
    return Assembly(
        row_pointer(child_ids, n_nodes), parent_ids[by_child], tuple(names[i] for i in order), new_id
    )


def _check_edges(names: Sequence[Hashable], parents: IntArray, children: IntArray) -> None:
    if not len(names):
        raise TaxonomyError("the taxonomy is empty; give at least one node")
    loops = np.flatnonzero(parents == children)
    if loops.size:
        culprit = show(names[parents[loops[0]]])
        raise TaxonomyError(f"node {culprit} is its own parent; remove the edge ({culprit}, {culprit})")
    keys = parents.astype(np.int64) * len(names) + children
    keys.sort()
    repeated = np.flatnonzero(keys[1:] == keys[:-1])
    if repeated.size:
        parent, child = divmod(int(keys[repeated[0]]), len(names))
        edge = f"({show(names[parent])}, {show(names[child])})"
        raise TaxonomyError(f"duplicate edge {edge}; give each edge once")


def _one_root(
    names: list[Hashable], parents: IntArray, children: IntArray, root: Hashable | None
) -> tuple[list[Hashable], IntArray, IntArray]:
    """Join several roots under an artificial one."""
    roots = np.flatnonzero(np.bincount(children, minlength=len(names)) == 0).astype(np.int32)
    if root is not None:
        root = clean_name(root, "option", "root") if type(root) is not str or not root else root
        if root in names:
            _check_reachable(names, parents, children, names.index(root), roots)
    if len(roots) < 2:  # none: a cycle, which the walk will report
        return names, parents, children
    name = ARTIFICIAL_ROOT if root is None else root
    if name in names:
        raise TaxonomyError(
            f"the artificial root above {len(roots)} roots cannot be called {show(name)}: a node has "
            "that name; choose another name with root=..."
        )
    top = np.full(len(roots), len(names), dtype=np.int32)
    return [*names, name], np.concatenate([parents, top]), np.concatenate([children, roots])


def _check_reachable(
    names: list[Hashable], parents: IntArray, children: IntArray, root: int, roots: IntArray
) -> None:
    """A root that names a node must be above all the others."""
    reached = np.zeros(len(names), dtype=bool)
    by_parent = np.argsort(parents, kind="stable")
    kids, start = children[by_parent].tolist(), row_pointer(parents, len(names)).tolist()
    stack = [root]
    reached[root] = True
    while stack:
        node = stack.pop()
        fresh = [kid for kid in kids[start[node] : start[node + 1]] if not reached[kid]]
        reached[fresh] = True
        stack.extend(fresh)
    lost = np.flatnonzero(~reached)
    if lost.size:
        raise TaxonomyError(
            f"{lost.size} {'node is' if lost.size == 1 else 'nodes are'} unreachable from the root "
            f"{show(names[root])}, for example {show(names[lost[0]])}; add the missing edges, or choose a "
            "root name that no node has"
        )


def _describe_cycle(names: Sequence[Hashable], parents: IntArray, children: IntArray, done: list[int]) -> str:
    """One cycle among the nodes that the walk could not enter: each has a parent of the same kind."""
    stuck = np.ones(len(names), dtype=bool)
    stuck[done] = False
    up: dict[int, int] = {}
    for parent, child in zip(parents.tolist(), children.tolist(), strict=True):
        if stuck[parent] and stuck[child]:
            up.setdefault(child, parent)
    node = int(np.flatnonzero(stuck)[0])
    seen: dict[int, int] = {}
    while node not in seen:
        seen[node] = len(seen)
        node = up[node]
    cycle = [node, *reversed(list(seen)[seen[node] :])]  # from parent to child
    text = [show(names[i]) for i in cycle]
    if len(text) > _CYCLE_SHOWN:
        left_out = len(text) - _CYCLE_SHOWN
        text[_CYCLE_SHOWN // 2 : -_CYCLE_SHOWN // 2] = [f"... {left_out} more ..."]
    return f"the edges form a cycle: {' -> '.join(text)}; remove one of its edges"


def check_arrays(parent_indptr: IntArray, parent_indices: IntArray, names: tuple[Hashable, ...]) -> None:
    """Raise TaxonomyError unless these arrays could have come out of `assemble`, up to the order on a DAG.

    >>> check_arrays(np.array([0, 0, 1], np.int32), np.array([1], np.int32), ("a", "b"))
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: parent_indices: node 1 has the parent 1; a parent's id must be in 0..0
    """
    n_nodes = len(names)
    if not n_nodes:
        raise TaxonomyError("the taxonomy is empty; give at least one node")
    if len(parent_indptr) != n_nodes + 1:
        raise TaxonomyError(
            f"parent_indptr must hold {n_nodes + 1} numbers for {n_nodes} names, not {len(parent_indptr)}"
        )
    counts = np.diff(parent_indptr)
    if parent_indptr[0] != 0 or parent_indptr[-1] != len(parent_indices) or (counts < 0).any():
        raise TaxonomyError(
            f"parent_indptr must rise from 0 to the {len(parent_indices)} entries of parent_indices"
        )
    if counts[0]:
        raise TaxonomyError("node 0 must be the root, without parents")
    orphans = np.flatnonzero(counts[1:] == 0) + 1
    if orphans.size:
        raise TaxonomyError(
            f"node {orphans[0]}, {show(names[orphans[0]])}, has no parent: it is unreachable from the root"
        )
    child = row_of_entry(parent_indptr)
    wrong = np.flatnonzero((parent_indices < 0) | (parent_indices >= child))
    if wrong.size:
        node, parent = int(child[wrong[0]]), int(parent_indices[wrong[0]])
        raise TaxonomyError(
            f"parent_indices: node {node} has the parent {parent}; a parent's id must be in 0..{node - 1}"
        )
    unsorted = np.flatnonzero((child[1:] == child[:-1]) & (parent_indices[1:] <= parent_indices[:-1]))
    if unsorted.size:
        node = int(child[unsorted[0]])
        raise TaxonomyError(f"parent_indices: the parents of node {node} must be rising, each given once")
    if len(parent_indices) == n_nodes - 1:
        _check_preorder(parent_indices)


def _check_preorder(parent: IntArray) -> None:
    """In a tree, node i + 1 must hang on node i or on one of its ancestors: subtrees are ranges then."""
    branch = [0]  # the path from the root to the last node
    for node, above in enumerate(parent.tolist(), start=1):
        while branch and branch[-1] > above:
            branch.pop()
        if branch[-1] != above:
            raise TaxonomyError(
                f"node {node} breaks the depth-first order of ids; build with from_edges instead"
            )
        branch.append(node)
