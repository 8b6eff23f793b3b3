"""Nodes that share more with a distant branch than with their siblings, and nodes whose children share nothing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.auditing.findings import Loose, Misplaced
from taxolearn.auditing.folds import Array
from taxolearn.auditing.sharing import Affinities, Estimate
from taxolearn.structure import Taxonomy
from taxolearn.structure.arrays import IntArray

Ids = npt.NDArray[np.integer[Any]]

_TRIED = 3  # branches per node whose standard errors are computed, those with the largest differences
_BELONGS = (
    0.5  # share of what a branch's own classes have in common that a node must have in common with them
)
_NOTHING = 0.25  # share of what the children of a typical node have in common: below it is "nothing"


@dataclass(frozen=True, eq=False)
class Places:
    """Which judged classes are at or below each node, and what groups of them share.

    `ties` are the weights of a learned graph of the classes, see `learned_ties`.

    >>> from taxolearn.auditing.sharing import affinities_of
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> scores = np.array([[1.0, -1.0], [1.0, -3.0], [1.0, -2.0]])
    >>> affinities = affinities_of(scores, sp.csr_array([[1, 0], [1, 0], [1, 0]]))
    >>> Places(tree, np.array([1, 2]), affinities).under.toarray().tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """

    taxonomy: Taxonomy
    class_nodes: npt.NDArray[np.int32]
    affinities: Affinities
    ties: Array | None = None

    @cached_property
    def under(self) -> sp.csr_array:
        """Nodes x classes: one where a judged class is the node or below it."""
        above = self.taxonomy.ancestor_matrix(self.class_nodes, dtype=np.float64)
        return sp.csr_array(above.T @ sp.diags_array(self.affinities.judged.astype(np.float64)))

    @cached_property
    def sizes(self) -> Array:
        """How many judged classes are at or below each node."""
        return np.asarray(self.under.sum(axis=1)).ravel()

    @cached_property
    def sums(self) -> Array:
        """Nodes x nodes: the affinities summed over the classes under one and the classes under the other."""
        return np.asarray(self.under @ (self.under @ self.affinities.pairs.T).T)

    def members(self, node: int) -> Ids:
        """The judged classes at or below a node."""
        found: Ids = self.under.indices[self.under.indptr[node] : self.under.indptr[node + 1]]
        return found

    def cohesion(self, node: int) -> float:
        """The mean affinity of two classes under a node."""
        size = self.sizes[node]
        return float(self.sums[node, node] / (size * (size - 1.0)))

    def parents(self, node: int) -> IntArray:
        """The parents of a node."""
        tree = self.taxonomy
        return tree.parent_indices[tree.parent_indptr[node] : tree.parent_indptr[node + 1]]

    def children(self, node: int) -> IntArray:
        """The children of a node."""
        tree = self.taxonomy
        return tree.child_indices[tree.child_indptr[node] : tree.child_indptr[node + 1]]

    def tie(self, first: Ids, second: Ids) -> float | None:
        """The mean weight of the learned graph between two groups of classes; None where none was learned."""
        return None if self.ties is None else float(self.ties[np.ix_(first, second)].mean())

    def across(self, groups: Sequence[Ids]) -> sp.csr_array:
        """The weights of a mean over all pairs of groups of the mean affinity of their classes."""
        n, n_pairs = self.under.shape[1], len(groups) * (len(groups) - 1) / 2
        classes = np.concatenate(groups)
        group = np.repeat(np.arange(len(groups)), [len(one) for one in groups])
        share = 1.0 / np.bincount(group)[group]
        first, second = np.nonzero(group[:, None] != group[None, :])
        data = share[first] * share[second] / n_pairs
        return sp.csr_array((data, (classes[first], classes[second])), shape=(n, n))

    def between(self, first: Ids, second: Ids, weight: float) -> sp.csr_array:
        """The weights of a contrast that gives each pair of the two groups the same part of `weight`."""
        n = self.under.shape[1]
        each = weight / (len(first) * len(second))
        rows, columns = np.repeat(first, len(second)), np.tile(second, len(first))
        half = sp.coo_array((np.full(len(rows), each), (rows, columns)), shape=(n, n))
        return sp.csr_array(half + half.T)


def misplaced(places: Places, alpha: float) -> list[Misplaced]:
    """Nodes that share more with a distant branch than with their siblings, the surest first.

    Asked of every node with judged classes whose parent is not the root: the children of the root are not said to share
    anything. Siblings are the other classes under the same parent (in a DAG, under each parent in turn); a distant
    branch is the classes under a node that is no ancestor of the node and not below its parent. The difference of the
    two mean affinities must be above zero at the level `alpha` divided by the number of all such questions
    (Bonferroni), and the node must share with the branch at least half of what the classes there share.
    """
    tree = places.taxonomy
    inner = np.flatnonzero((places.sizes >= 2) & ~tree.is_leaf)
    inner = inner[inner > 0]
    overlap = np.asarray((places.under @ places.under[inner].T).todense()) > 0
    cohesion = np.array([places.cohesion(node) for node in inner.tolist()])
    asked: list[tuple[int, int, Ids]] = []
    n_questions = 0
    for parent in np.flatnonzero(~tree.is_leaf)[1:]:
        below = tree.ids_of(tree.descendants(tree.name_of(parent), include_self=True))
        apart = ~np.isin(inner, below)
        for node in places.children(int(parent)):
            n_siblings = places.sizes[parent] - places.sizes[node]
            distant = np.flatnonzero(~overlap[node] & apart)
            if not places.sizes[node] or not n_siblings:
                continue
            if not len(distant):
                continue
            n_questions += len(distant)
            size = places.sizes[node]
            beside = (places.sums[node, parent] - places.sums[node, node]) / (size * n_siblings)
            there = places.sums[node, inner[distant]] / (size * places.sizes[inner[distant]])
            good = (there > beside) & (there >= _BELONGS * cohesion[distant]) & (there > 0)
            order = distant[good][np.argsort(-there[good], kind="stable")][:_TRIED]
            if len(order):
                asked.append((int(node), int(parent), inner[order]))
    nobody = np.empty(0, dtype=np.intp)
    found: list[tuple[Misplaced, tuple[int, int, Ids]]] = []
    for question in asked:
        best = _surest(places, *question, nobody, alpha / n_questions)
        if best is not None:
            found.append((best, question))
    found.sort(key=lambda entry: (entry[0].p_value, -entry[0].difference))
    return _without_followers(places, found, alpha / n_questions)


def _surest(
    places: Places, node: int, parent: int, branches: Ids, out: Ids, level: float
) -> Misplaced | None:
    """The branch with the largest difference among those beyond chance, of equal ones the lowest; classes that are
    `out` of place themselves count neither as siblings nor in a branch.
    """
    name = places.taxonomy.name_of
    mine = places.members(node)
    beside = np.setdiff1d(places.members(parent), np.union1d(mine, out))
    best: Misplaced | None = None
    for branch in sorted(branches, reverse=True):  # the lowest first: ids grow downwards
        there = np.setdiff1d(places.members(int(branch)), out)
        if not len(beside) or not len(there):
            continue
        ties = places.tie(mine, beside), places.tie(mine, there)
        weights = places.between(mine, there, 1.0) - places.between(mine, beside, 1.0)
        estimate = places.affinities.contrast(sp.csr_array(weights))
        p_value = estimate.p_above_zero()
        if p_value <= level and (best is None or estimate.value > best.difference):
            with_siblings = float(places.affinities.pairs[np.ix_(mine, beside)].mean())
            best = Misplaced(
                name(node), name(parent), name(int(branch)), with_siblings, with_siblings + estimate.value,
                estimate.value, estimate.error, p_value, *ties,
            )  # fmt: skip
    return best


def _without_followers(
    places: Places, found: list[tuple[Misplaced, tuple[int, int, Ids]]], level: float
) -> list[Misplaced]:
    """Without nodes that look misplaced only because another one is: one above or below it, or one beside it.

    The surest stay. The others are asked again with the classes of these left out.
    """
    tree = places.taxonomy
    kept: list[Misplaced] = []
    out = np.empty(0, dtype=np.intp)
    for first, (node, parent, branches) in found:
        line = {first.node, *tree.ancestors(first.node), *tree.descendants(first.node)}
        if any(other.node in line for other in kept):
            continue
        again = _surest(places, node, parent, branches, out, level) if kept else first
        if again is not None:
            kept.append(again)
            out = np.union1d(out, places.members(node))
    return kept


def loose(places: Places, alpha: float, elsewhere: Sequence[Hashable] = ()) -> list[Loose]:
    """Inner nodes whose children share no more with one another than with the classes around them.

    What the children share is the mean affinity of classes under different children, compared with the classes around
    the node, under its parent (higher up where there are too few; see `_own_contrast`). "Nothing" is less than a
    quarter of what the children of the median node share; it is claimed where even the upper confidence bound is below
    that, at the level `alpha` divided by the number of nodes (Bonferroni). It takes three nodes to know the
    median. Nodes that belong `elsewhere`, and the classes below them, are left out: one misplaced child makes no loose
    parent.
    """
    tree = places.taxonomy
    moved = [places.members(tree.id_of(name)) for name in elsewhere]
    out = np.unique(np.concatenate([*moved, np.empty(0, dtype=np.intp)]))
    found: list[tuple[int, Estimate]] = []
    for node in np.flatnonzero(~tree.is_leaf):
        weights = _own_contrast(places, int(node), out) if node > 0 else None
        if weights is not None:
            found.append((int(node), places.affinities.contrast(weights)))
    if len(found) < 3:
        return []
    typical = float(np.median([estimate.value for _, estimate in found]))
    nothing, level = _NOTHING * typical, alpha / len(found)
    listed = [
        Loose(
            tree.name_of(node),
            tree.children(tree.name_of(node)),
            estimate.value,
            estimate.error,
            estimate.upper(level),
            typical,
            _tie_of_children(places, node, out),
        )
        for node, estimate in found
        if typical > 0 and estimate.upper(level) < nothing
    ]
    return sorted(listed, key=lambda one: one.upper)


def _own_contrast(places: Places, node: int, out: Ids) -> sp.csr_array | None:
    """Weights of what the children of a node share beyond what they share with others; None if there are no pairs.

    With m_l the means of classes below different children, and m_o, m_p those of classes around the node below
    different children of its parent, it is the mean of (m_l - m_o) . (m_k - m_p), whatever the centre is.
    """
    groups, mine = _groups(places, node, out), np.setdiff1d(places.members(node), out)
    everything = _groups(places, node, out[:0])
    if (
        2 * len(groups) < len(everything) or len(groups) < 2
    ):  # where most belong elsewhere, that is the finding
        groups, mine, out = everything, places.members(node), out[:0]
    around = _around(places, node, np.union1d(places.members(node), out))
    if len(groups) < 2 or len(around) < 2:
        return None
    outside = [places.between(mine, group, 1.0 / len(around)) for group in around]
    return sp.csr_array(places.across(groups) + places.across(around) - 2.0 * sum(outside))


def _tie_of_children(places: Places, node: int, out: Ids) -> float | None:
    """The mean weight of the learned graph between classes below different children, as in `_own_contrast`."""
    groups = _groups(places, node, out)
    groups = groups if len(groups) >= 2 else _groups(places, node, out[:0])
    if places.ties is None or len(groups) < 2:
        return None
    return 0.5 * float(np.sum(places.across(groups).multiply(places.ties)))


def _groups(places: Places, node: int, out: Ids) -> list[Ids]:
    """The classes under each child of a node, and the node itself if rows are labelled with it; without those `out`."""
    groups: list[Ids] = []
    taken = out
    for child in places.children(node):
        groups.append(np.setdiff1d(places.members(int(child)), taken))
        taken = np.union1d(taken, groups[-1])  # in a DAG a class may be below two children
    groups.append(np.setdiff1d(places.members(node), taken))
    return [group for group in groups if len(group)]


def _around(places: Places, node: int, out: Ids) -> list[Ids]:
    """The classes around a node, by children of its parents, without those `out`; from as far up as two groups take."""
    level = places.parents(node)
    while len(level):
        groups: list[Ids] = []
        taken = out
        for child in np.unique(np.concatenate([places.children(int(parent)) for parent in level])):
            groups.append(np.setdiff1d(places.members(int(child)), taken))
            taken = np.union1d(taken, groups[-1])
        groups = [group for group in groups if len(group)]
        if len(groups) >= 2:
            return groups
        level = np.unique(np.concatenate([places.parents(int(parent)) for parent in level]))
    return []


def replaced(tree: Taxonomy, node: Hashable, old: Hashable, new: Hashable) -> Taxonomy:
    """The taxonomy with a node under another parent, without inner nodes that are left with nothing below them.

    >>> tree = Taxonomy.from_paths(["All/Cat/Lion", "All/Cat/Wolf", "All/Dog/Hound"])
    >>> print(replaced(tree, "Wolf", "Cat", "Dog").to_text())
    All
    ├── Cat
    │   └── Lion
    └── Dog
        ├── Hound
        └── Wolf
    """
    edges = [edge for edge in tree.edges if edge != (old, node)]
    return _pruned([*edges, (new, node)], {tree.root, *tree.leaves})


def dissolved(tree: Taxonomy, node: Hashable, labels: set[Hashable]) -> Taxonomy:
    """The taxonomy in which the children of a node are children of its parents; the node stays, as a leaf beside
    them, if it is a label.

    >>> tree = Taxonomy.from_paths(["All/Cat/Lion", "All/Cat/Lynx", "All/Dog"])
    >>> dissolved(tree, "Cat", set()).nodes
    ('All', 'Dog', 'Lion', 'Lynx')
    """
    above, below = tree.parents(node), tree.children(node)
    edges = [edge for edge in tree.edges if edge[0] != node and (edge[1] != node or node in labels)]
    edges += [(parent, child) for parent in above for child in below]
    return Taxonomy.from_edges(dict.fromkeys(edges))  # in a DAG a child may have been under a parent already


def _pruned(edges: list[tuple[Hashable, Hashable]], leaves: set[Hashable]) -> Taxonomy:
    """Without nodes that have become leaves."""
    while True:
        parents = {parent for parent, _ in edges}
        kept = [edge for edge in edges if edge[1] in parents or edge[1] in leaves]
        if len(kept) == len(edges):
            return Taxonomy.from_edges(edges)
        edges = kept
