"""Builders of a Taxonomy from edges, parents, arrays and networkx; every structure is validated here.

The functions become classmethods of Taxonomy.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from taxolearn.errors import TaxonomyError
from taxolearn.structure.arrays import IntArray
from taxolearn.structure.assembly import assemble, check_arrays
from taxolearn.structure.names import check_iterable, clean_name, hint, show

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy


class Index:
    """Numbers names in order of first appearance.

    >>> index = Index("edge")
    >>> index.add("a", 0), index.add("b", 0), index.add("a", 1), index.names
    (0, 1, 0, ['a', 'b'])
    """

    __slots__ = ("_ids", "where")

    def __init__(self, where: str) -> None:
        self._ids: dict[Hashable, int] = {}
        self.where = where

    def __contains__(self, name: Hashable) -> bool:
        return name in self._ids

    @property
    def names(self) -> list[Hashable]:
        """The names so far; a name's position is its number."""
        return list(self._ids)

    def add(self, name: object, position: int) -> int:
        """The number of `name`, met at `position`: a new number when it is new."""
        kept: Hashable = name if type(name) is str and name else clean_name(name, self.where, position)
        return self._ids.setdefault(kept, len(self._ids))


def ends_of(edge: object, position: int, sizes: tuple[int, ...] = (2,), what: str = "(parent, child)") -> Any:
    """The parts of an edge: a tuple or list of the right length.

    >>> ends_of(["a", "b"], 0)
    ['a', 'b']
    >>> ends_of("ab", 3)
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: edge 3: expected a pair (parent, child), found 'ab'
    """
    if isinstance(edge, np.ndarray) and edge.ndim == 1:
        edge = edge.tolist()
    # A string or a set of two would unpack as well, and mean something else.
    if isinstance(edge, Sequence) and not isinstance(edge, str | bytes) and len(edge) in sizes:
        return edge
    raise TaxonomyError(f"edge {position}: expected a pair {what}, found {show(edge)}")


def from_edges(
    cls: type[Taxonomy], edges: Iterable[tuple[Hashable, Hashable]], *, root: Hashable | None = None
) -> Taxonomy:
    """A taxonomy from (parent, child) pairs.

    Several roots are put under one artificial root, called `root` or "<root>"; with a single root, `root` is
    not needed. Children keep the order of their edges.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_edges([("Animal", "Cat"), ("Animal", "Dog"), ("Pet", "Dog")])
    Taxonomy(DAG, 5 nodes, 2 leaves, depth 2)
    >>> Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "b")])
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: the edges form a cycle: 'b' -> 'c' -> 'b'; remove one of its edges
    """
    index = Index("edge")
    parents: list[int] = []
    children: list[int] = []
    for position, edge in enumerate(check_iterable(edges, "edges")):
        # The common case first, past the slower checks.
        parent, child = edge if type(edge) is tuple and len(edge) == 2 else ends_of(edge, position)
        parents.append(index.add(parent, position))
        children.append(index.add(child, position))
    if not parents:
        raise TaxonomyError("no edges were given; for a taxonomy of one node use from_parents or from_paths")
    return _assembled(cls, index.names, parents, children, root)


def from_parents(
    cls: type[Taxonomy], parents: Mapping[Any, object], *, root: Hashable | None = None
) -> Taxonomy:
    """A taxonomy from a mapping of each node to its parent, to a list of its parents, or to None for a root.

    A tuple is one name; give several parents as a list.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_parents({"Animal": None, "Cat": "Animal", "Dog": ["Animal"]}).edges
    (('Animal', 'Cat'), ('Animal', 'Dog'))
    >>> Taxonomy.from_parents({"Animal": None, "Cat": "Animals"})
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: node 'Cat': unknown parent 'Animals': it is not a key of the mapping \
(give a root the value None, several parents as a list); did you mean 'Animal'?
    """
    if not isinstance(parents, Mapping):
        raise TaxonomyError(f"parents must be a mapping child -> parent, not {show(parents)}")
    index = Index("entry")
    for position, child in enumerate(parents):
        if index.add(child, position) != position:
            raise TaxonomyError(f"entry {position}: the node {show(child)} is given twice")
    above: list[int] = []
    below: list[int] = []
    for position, (child, value) in enumerate(parents.items()):
        for parent in _parent_list(value):
            kept = clean_name(parent, "entry", position)
            if kept not in index:
                raise TaxonomyError(
                    f"node {show(child)}: unknown parent {show(parent)}: it is not a key of the mapping "
                    f"(give a root the value None, several parents as a list){hint(parent, index.names)}"
                )
            above.append(index.add(kept, position))
            below.append(position)
    return _assembled(cls, index.names, above, below, root)


def _parent_list(value: object) -> Iterable[object]:
    if value is None:
        return ()
    if isinstance(value, list | set):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value.tolist()  # type: ignore[no-any-return]
    return (value,)


def from_networkx(cls: type[Taxonomy], graph: Any, *, root: Hashable | None = None) -> Taxonomy:
    """A taxonomy from a networkx DiGraph whose edges go from parent to child.

    >>> import networkx
    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_networkx(networkx.DiGraph([("Animal", "Cat"), ("Animal", "Dog")])).leaves
    ('Cat', 'Dog')
    """
    require_networkx(graph, directed=True)
    index = Index("node")
    for position, node in enumerate(graph.nodes):
        index.add(node, position)
    parents: list[int] = []
    children: list[int] = []
    for position, (parent, child) in enumerate(graph.edges()):
        parents.append(index.add(parent, position))
        children.append(index.add(child, position))
    return _assembled(cls, index.names, parents, children, root)


def require_networkx(graph: object, *, directed: bool) -> None:
    """Raise TaxonomyError unless networkx is there and `graph` is its directed or undirected graph.

    >>> require_networkx("a graph", directed=True)
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: expected a networkx DiGraph, found 'a graph' (str)
    """
    try:
        import networkx
    except ImportError:
        raise TaxonomyError(
            "networkx is not installed; install it, or give the edges to from_edges"
        ) from None
    if not isinstance(graph, networkx.Graph) or graph.is_directed() != directed:
        wanted = "DiGraph" if directed else "Graph (undirected)"
        raise TaxonomyError(f"expected a networkx {wanted}, found {show(graph)} ({type(graph).__name__})")


def from_arrays(
    cls: type[Taxonomy], parent_indptr: Any, parent_indices: Any, names: Iterable[Hashable]
) -> Taxonomy:
    """A taxonomy from its own arrays, as stored on disk: nothing is renumbered, everything is checked.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> Taxonomy.from_arrays(tree.parent_indptr, tree.parent_indices, tree.nodes) == tree
    True
    """
    index = Index("name")
    kept = [index.add(name, i) for i, name in enumerate(check_iterable(names, "names"))]
    twice = next((i for i, number in enumerate(kept) if number != i), None)
    if twice is not None:
        raise TaxonomyError(
            f"name {twice}: {show(index.names[kept[twice]])} is already the name of node {kept[twice]}"
        )
    indptr = _integers(parent_indptr, "parent_indptr")
    indices = _integers(parent_indices, "parent_indices")
    check_arrays(indptr, indices, tuple(index.names))
    return cls._trusted(indptr, indices, tuple(index.names))


def _integers(values: Any, what: str) -> IntArray:
    """A fresh int32 copy: the caller's array stays writeable, ours does not follow it."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise TaxonomyError(
            f"{what} must be a one-dimensional array of integers, not {show(values)}"
        ) from None
    if array.ndim == 1 and not array.size:
        array = array.astype(np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TaxonomyError(f"{what} must be a one-dimensional array of integers, not {show(values)}")
    if array.size and (array.min() < 0 or array.max() > np.iinfo(np.int32).max):
        raise TaxonomyError(f"{what} holds a number outside 0..{np.iinfo(np.int32).max}")
    return array.astype(np.int32)


def _assembled(
    cls: type[Taxonomy],
    names: Sequence[Hashable],
    parents: Sequence[int],
    children: Sequence[int],
    root: Hashable | None,
) -> Taxonomy:
    parts = assemble(names, np.array(parents, np.int32), np.array(children, np.int32), root)
    return cls._trusted(parts.parent_indptr, parts.parent_indices, parts.names)
