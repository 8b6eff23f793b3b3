"""Taxonomy: a rooted tree or DAG of class names, frozen into flat int32 arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import TaxonomyError
from taxolearn.structure import (
    builders,
    drawing,
    file_formats,
    mesh,
    navigation,
    obo,
    outlines,
    path_builders,
    relations,
    simplify,
    skos,
    terms,
)
from taxolearn.structure.arrays import IntArray, derive, frozen
from taxolearn.structure.names import NamedNodes
from taxolearn.structure.terms import Term


class Taxonomy(NamedNodes):
    """A rooted tree or DAG of names; build one with from_edges, from_paths, from_table, from_skos, from_file, ...

    Nodes have ids 0 .. n_nodes - 1 in depth-first order, each right after the last of its parents: the root
    is 0, every parent's id is below its children's, and in a tree the nodes below i are the range
    i .. subtree_end[i] - 1. All arrays are int32 and read-only:

    - `parent_indptr`, `parent_indices`, `child_indptr`, `child_indices`: parents and children as sorted CSR;
    - `depth`: longest path from the root; `height`: longest path down to a leaf;
    - `is_leaf` (bool), `leaf_ids`.

    `nodes` is the tuple of names in id order; names may be of any hashable type. `terms` says what else nodes are
    called; taxonomies are equal when their names and edges are.

    >>> tree = Taxonomy.from_edges([("Animal", "Cat"), ("Animal", "Dog"), ("Cat", "Lion")])
    >>> tree
    Taxonomy(tree, 4 nodes, 2 leaves, depth 2)
    >>> tree.path("Lion")
    ('Animal', 'Cat', 'Lion')
    """

    __slots__ = (
        "_called",
        "_parent",
        "_subtree_end",
        "_terms",
        "child_indices",
        "child_indptr",
        "depth",
        "height",
        "is_leaf",
        "leaf_ids",
        "parent_indices",
        "parent_indptr",
    )

    parent_indptr: IntArray
    parent_indices: IntArray
    child_indptr: IntArray
    child_indices: IntArray
    depth: IntArray
    height: IntArray
    is_leaf: npt.NDArray[np.bool_]
    leaf_ids: IntArray
    _parent: IntArray | None
    _subtree_end: IntArray | None
    _terms: dict[Hashable, Term]
    _called: dict[Hashable, tuple[Hashable, ...]] | None

    # One idea each, one file each; here they become methods.
    from_edges = classmethod(builders.from_edges)
    from_parents = classmethod(builders.from_parents)
    from_networkx = classmethod(builders.from_networkx)
    from_arrays = classmethod(builders.from_arrays)
    from_paths = classmethod(path_builders.from_paths)
    from_table = classmethod(path_builders.from_table)
    from_indented = classmethod(outlines.from_indented)
    from_skos = classmethod(skos.from_skos)
    from_obo = classmethod(obo.from_obo)
    from_mesh = classmethod(mesh.from_mesh)
    from_file = classmethod(file_formats.from_file)
    to_skos = skos.to_skos
    with_terms = terms.with_terms
    show_as = terms.show_as
    find = terms.find
    hint_at = terms.hint_at
    ancestor_matrix = relations.ancestor_matrix
    lowest_common_ancestors = relations.lowest_common_ancestors
    distance = relations.distance
    parents = navigation.parents
    children = navigation.children
    siblings = navigation.siblings
    ancestors = navigation.ancestors
    descendants = navigation.descendants
    leaves_under = navigation.leaves_under
    path = navigation.path
    named_path = navigation.named_path
    shown_path = navigation.shown_path
    sub = navigation.sub
    transitive_reduction = simplify.transitive_reduction
    merge_duplicates = simplify.merge_duplicates
    to_text = drawing.to_text

    def __init__(self) -> None:
        raise TaxonomyError(
            "build a Taxonomy with from_edges, from_paths, from_parents, from_table or from_file"
        )

    @classmethod
    def _trusted(
        cls,
        parent_indptr: IntArray,
        parent_indices: IntArray,
        names: tuple[Hashable, ...],
        terms: Mapping[Hashable, Term] | None = None,
    ) -> Taxonomy:
        """From arrays that a builder has made or checked; of the terms those of the names are kept."""
        taxonomy = object.__new__(cls)
        derived = derive(parent_indptr, parent_indices)
        if derived.parent is not None:
            parent_indices = derived.parent[1:]  # the same numbers: keep them once
        values: dict[str, Any] = {
            "nodes": names,
            "_lookup": None,
            "_called": None,
            "_terms": {name: terms[name] for name in names if name in terms} if terms else {},
            "parent_indptr": parent_indptr,
            "parent_indices": parent_indices,
            **{f"_{key}" if f"_{key}" in cls.__slots__ else key: v for key, v in derived._asdict().items()},
        }
        for attribute, value in values.items():
            if isinstance(value, np.ndarray):
                frozen(value)
            object.__setattr__(taxonomy, attribute, value)
        return taxonomy

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = np.array(self.parent_indptr), np.array(self.parent_indices)
        return Taxonomy._trusted, (*arrays, self.nodes, self._terms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return self is other or (
            self.nodes == other.nodes
            and np.array_equal(self.parent_indptr, other.parent_indptr)
            and np.array_equal(self.parent_indices, other.parent_indices)
        )

    def __hash__(self) -> int:
        return hash((self.nodes, self.parent_indices.tobytes()))

    def __repr__(self) -> str:
        kind = "tree" if self.is_tree else "DAG"
        nodes = f"{self.n_nodes} node{'s' * (self.n_nodes != 1)}"
        leaves = f"{self.n_leaves} {'leaf' if self.n_leaves == 1 else 'leaves'}"
        return f"Taxonomy({kind}, {nodes}, {leaves}, depth {self.max_depth})"

    @property
    def terms(self) -> Mapping[Hashable, Term]:
        """Name -> `Term`, what a node is called besides its name: label, notation, synonyms, definition.

        >>> Taxonomy.from_paths(["A/A1"]).with_terms({"A1": "Cat"}).terms["A1"].label
        'Cat'
        """
        return MappingProxyType(self._terms)

    @property
    def n_leaves(self) -> int:
        """Number of leaves.

        >>> Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]).n_leaves
        2
        """
        return len(self.leaf_ids)

    @property
    def n_edges(self) -> int:
        """Number of edges from a parent to a child.

        >>> Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]).n_edges
        2
        """
        return len(self.parent_indices)

    @property
    def is_tree(self) -> bool:
        """Whether every node but the root has exactly one parent.

        >>> Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "c")]).is_tree
        False
        """
        return self._parent is not None

    @property
    def max_depth(self) -> int:
        """The longest path from the root, in edges.

        >>> Taxonomy.from_paths(["Animal/Cat/Lion"]).max_depth
        2
        """
        return int(self.height[0])

    @property
    def root(self) -> Hashable:
        """The name of the root.

        >>> Taxonomy.from_paths(["Animal", "Plant"]).root
        '<root>'
        """
        return self.nodes[0]

    @property
    def leaves(self) -> tuple[Hashable, ...]:
        """The names of the leaves in id order.

        >>> Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]).leaves
        ('Cat', 'Dog')
        """
        return self._names(self.leaf_ids)

    @property
    def edges(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """All (parent, child) pairs of names; from_edges makes the same taxonomy of them.

        >>> Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]).edges
        (('Animal', 'Cat'), ('Animal', 'Dog'))
        """
        parents = np.repeat(np.arange(self.n_nodes), np.diff(self.child_indptr))
        return tuple(zip(self._names(parents), self._names(self.child_indices), strict=True))

    @property
    def parent(self) -> IntArray:
        """The parent's id of every node of a tree, -1 for the root; TaxonomyError on a DAG.

        >>> Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]).parent
        array([-1,  0,  0], dtype=int32)
        """
        return self._tree_only(self._parent, "parent", "parent_indptr and parent_indices")

    @property
    def subtree_end(self) -> IntArray:
        """In a tree, the nodes below node i and itself are i .. subtree_end[i] - 1; TaxonomyError on a DAG.

        >>> Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"]).subtree_end
        array([4, 3, 3, 4], dtype=int32)
        """
        return self._tree_only(self._subtree_end, "subtree_end", "descendants")

    @property
    def nbytes(self) -> int:
        """Bytes of all the arrays (names not counted).

        >>> Taxonomy.from_paths(["Animal/Cat"]).nbytes
        66
        """
        # In a tree parent_indices looks into the memory of _parent.
        counted = set(Taxonomy.__slots__) - {"_called", "_terms"}
        counted -= {"parent_indices"} if self.is_tree else {"_parent", "_subtree_end"}
        return sum(getattr(self, attribute).nbytes for attribute in counted)

    def _tree_only(self, array: IntArray | None, what: str, instead: str) -> IntArray:
        if array is None:
            raise TaxonomyError(f"{what} is for trees, and this taxonomy is a DAG; use {instead}")
        return array

    def _names(self, ids: npt.NDArray[np.integer[Any]]) -> tuple[Hashable, ...]:
        return tuple(map(self.nodes.__getitem__, ids.tolist()))
