"""Looking around in a taxonomy by name: parents, children, ancestors, paths.

The functions become methods of Taxonomy. All return names in id order, which goes from the root down.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from taxolearn.structure.arrays import IntArray, gather_rows
from taxolearn.structure.assembly import ARTIFICIAL_ROOT, assemble
from taxolearn.structure.relations import climb, reach

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

JOINTS = (" > ", " / ", "/")  # what joins a path to one name

Names = tuple[Hashable, ...]


def _row(indptr: IntArray, indices: IntArray, node: int) -> IntArray:
    return indices[indptr[node] : indptr[node + 1]]


def _ids_above(taxonomy: Taxonomy, node: int) -> IntArray:
    if taxonomy.is_tree:
        return climb(taxonomy, np.array([node], dtype=np.int32))[1]
    start = np.array([node], dtype=np.int32)
    return reach(taxonomy.parent_indptr, taxonomy.parent_indices, start)[1]


def _ids_below(taxonomy: Taxonomy, node: int) -> IntArray:
    if taxonomy.is_tree:
        return np.arange(node, taxonomy.subtree_end[node], dtype=np.int32)
    start = np.array([node], dtype=np.int32)
    return reach(taxonomy.child_indptr, taxonomy.child_indices, start)[1]


def parents(taxonomy: Taxonomy, name: Hashable) -> Names:
    """The parents of a node; none for the root.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_edges([("Animal", "Dog"), ("Pet", "Dog")]).parents("Dog")
    ('Animal', 'Pet')
    """
    return taxonomy._names(_row(taxonomy.parent_indptr, taxonomy.parent_indices, taxonomy.id_of(name)))


def children(taxonomy: Taxonomy, name: Hashable) -> Names:
    """The children of a node; none for a leaf.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]).children("Animal")
    ('Cat', 'Dog')
    """
    return taxonomy._names(_row(taxonomy.child_indptr, taxonomy.child_indices, taxonomy.id_of(name)))


def siblings(taxonomy: Taxonomy, name: Hashable) -> Names:
    """The other children of a node's parents.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Animal/Emu"]).siblings("Dog")
    ('Cat', 'Emu')
    """
    node = taxonomy.id_of(name)
    above = _row(taxonomy.parent_indptr, taxonomy.parent_indices, node)
    beside = np.unique(gather_rows(taxonomy.child_indptr, taxonomy.child_indices, above)[1])
    return taxonomy._names(beside[beside != node])


def ancestors(taxonomy: Taxonomy, name: Hashable, include_self: bool = False) -> Names:
    """All nodes above a node.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_paths(["Animal/Cat/Lion"]).ancestors("Lion")
    ('Animal', 'Cat')
    """
    above = _ids_above(taxonomy, taxonomy.id_of(name))
    return taxonomy._names(above if include_self else above[:-1])


def descendants(taxonomy: Taxonomy, name: Hashable, include_self: bool = False) -> Names:
    """All nodes below a node.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"]).descendants("Cat", include_self=True)
    ('Cat', 'Lion')
    """
    below = _ids_below(taxonomy, taxonomy.id_of(name))
    return taxonomy._names(below if include_self else below[1:])


def leaves_under(taxonomy: Taxonomy, name: Hashable) -> Names:
    """The leaves below a node; a leaf has itself.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"]).leaves_under("Animal")
    ('Lion', 'Dog')
    """
    below = _ids_below(taxonomy, taxonomy.id_of(name))
    return taxonomy._names(below[taxonomy.is_leaf[below]])


def path(taxonomy: Taxonomy, name: Hashable) -> Names:
    """The names from the root to a node; in a DAG a shortest path, at each tie through the first parent.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_edges([("a", "b"), ("b", "c"), ("a", "c")]).path("c")
    ('a', 'c')
    """
    above = _ids_above(taxonomy, taxonomy.id_of(name)).tolist()
    if taxonomy.is_tree:
        return tuple(taxonomy.nodes[node] for node in above)
    steps, via = {0: 0}, {}
    for node in above[1:]:
        # min returns the first of equals, and parents are in id order
        via[node] = min(
            _row(taxonomy.parent_indptr, taxonomy.parent_indices, node).tolist(), key=steps.__getitem__
        )
        steps[node] = steps[via[node]] + 1
    node = above[-1]
    found = [taxonomy.nodes[node]]
    while node:
        node = via[node]
        found.append(taxonomy.nodes[node])
    return tuple(reversed(found))


def named_path(taxonomy: Taxonomy, name: Hashable) -> Names:
    """The nodes from the top down to a node, without an artificial root.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_paths(["Animal/Cat", "Plant/Oak"]).named_path("Oak")
    ('Plant', 'Oak')
    """
    found = path(taxonomy, name)
    return found[1:] if len(found) > 1 and found[0] == ARTIFICIAL_ROOT else found


def shown_path(taxonomy: Taxonomy, name: Hashable) -> Names:
    """The path as it is shown to people: without an artificial root, and each name without the path before it.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Books/History", "Music/History"], repeated="path")
    >>> tree.named_path("Music/History"), tree.shown_path("Music/History")
    (('Music', 'Music/History'), ('Music', 'History'))
    """
    shown: list[Hashable] = []
    for node in named_path(taxonomy, name):
        shown.append(_last_word(node, shown) if isinstance(node, str) and shown else node)
    return tuple(shown)


def _last_word(name: str, above: list[Hashable]) -> str:
    for joint in JOINTS:
        before = joint.join(map(str, above)) + joint
        if name.startswith(before) and len(name) > len(before):
            return name[len(before) :]
    return name


def sub(taxonomy: Taxonomy, name: Hashable) -> Taxonomy:
    """The taxonomy of a node and all below it; the node becomes the root.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Tiger", "Animal/Dog"]).sub("Cat").nodes
    ('Cat', 'Lion', 'Tiger')
    """
    below = _ids_below(taxonomy, taxonomy.id_of(name))
    owner, kids = gather_rows(taxonomy.child_indptr, taxonomy.child_indices, below)
    # Every child of a node below is below too, so edges need no filter.
    parts = assemble(
        taxonomy._names(below), owner.astype(np.int32), np.searchsorted(below, kids).astype(np.int32)
    )
    return type(taxonomy)._trusted(parts.parent_indptr, parts.parent_indices, parts.names, taxonomy.terms)
