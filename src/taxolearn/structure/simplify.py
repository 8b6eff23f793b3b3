"""Simpler taxonomies with the same meaning: without redundant edges, without duplicated nodes.

The functions become methods of Taxonomy.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from taxolearn.structure.arrays import IntArray, gather_rows, row_of_entry
from taxolearn.structure.assembly import assemble
from taxolearn.structure.relations import reach

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy


def transitive_reduction(taxonomy: Taxonomy) -> Taxonomy:
    """The taxonomy without the edges that a longer path already implies; ancestors stay the same.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_edges([("a", "b"), ("b", "c"), ("a", "c")]).transitive_reduction().edges
    (('a', 'b'), ('b', 'c'))
    """
    if taxonomy.is_tree:
        return taxonomy
    child, parent = row_of_entry(taxonomy.parent_indptr), taxonomy.parent_indices
    # An edge p -> c is implied when p is an ancestor of another parent of c, which then has a larger id.
    edge, other = gather_rows(taxonomy.parent_indptr, parent, child)
    larger = other > parent[edge]
    edge, other = edge[larger], other[larger]
    nodes, row = np.unique(other, return_inverse=True)
    owner, above = reach(taxonomy.parent_indptr, parent, nodes)
    pairs = owner * taxonomy.n_nodes + above  # sorted
    wanted = row * taxonomy.n_nodes + parent[edge]
    implied = pairs[np.searchsorted(pairs, wanted).clip(max=len(pairs) - 1)] == wanted
    keep = np.ones(taxonomy.n_edges, dtype=bool)
    keep[edge[implied]] = False
    parts = assemble(taxonomy.nodes, parent[keep], child[keep])
    return type(taxonomy)._trusted(parts.parent_indptr, parts.parent_indices, parts.names, taxonomy.terms)


def merge_duplicates(taxonomy: Taxonomy) -> tuple[Taxonomy, IntArray]:
    """Join the nodes that have the same leaves below them, and say where each node went.

    Of each group, single-child chains among them, the node with the largest id stays, so leaves always stay.
    Returns the new taxonomy and, for each old id, its new id.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Life/Animal/Cat/Lion", "Life/Animal/Dog"])
    >>> smaller, new_id = tree.merge_duplicates()
    >>> smaller.nodes, new_id
    (('Animal', 'Lion', 'Dog'), array([0, 0, 1, 1, 2], dtype=int32))
    """
    stays = _chain_ends(taxonomy) if taxonomy.is_tree else _same_leaves(taxonomy)
    kept, group = np.unique(stays, return_inverse=True)
    parent, child = group[taxonomy.parent_indices], group[row_of_entry(taxonomy.parent_indptr)]
    across = parent != child
    keys = np.unique(parent[across].astype(np.int64) * len(kept) + child[across])
    parts = assemble(taxonomy._names(kept), keys // len(kept), keys % len(kept))
    merged = type(taxonomy)._trusted(parts.parent_indptr, parts.parent_indices, parts.names, taxonomy.terms)
    return merged, parts.new_id[group]


def _chain_ends(taxonomy: Taxonomy) -> IntArray:
    """In a tree only a single child repeats its parent's leaves, and its id is the next one."""
    ends = np.where(np.diff(taxonomy.child_indptr) == 1, taxonomy.n_nodes, np.arange(taxonomy.n_nodes))
    return np.minimum.accumulate(ends[::-1])[::-1].astype(np.int32)


def _same_leaves(taxonomy: Taxonomy) -> IntArray:
    below = taxonomy.ancestor_matrix(taxonomy.leaf_ids, dtype=np.int8).tocsc()
    below.sort_indices()
    bounds = below.indptr.tolist()
    groups: dict[bytes, int] = {}
    leaves = [below.indices[i:j].tobytes() for i, j in pairwise(bounds)]
    for node, found in enumerate(leaves):
        groups[found] = node  # the last one, of the largest id, remains
    return np.array([groups[found] for found in leaves], dtype=np.int32)
