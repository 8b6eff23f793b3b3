"""A graph of classes as text, as a tree, and beside a taxonomy; these functions become methods of ClassGraph."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.errors import TaxonomyError
from taxolearn.structure.names import show
from taxolearn.structure.taxonomy import Taxonomy

if TYPE_CHECKING:
    from taxolearn.structure.class_graph import ClassGraph

_BAR = 20  # characters of the longest bar


class Agreement(NamedTuple):
    """How a graph of classes and a taxonomy agree.

    - `auc`: the chance that a pair of siblings has a larger weight than a pair that are none (area under the ROC curve;
      0.5 is chance).
    - `siblings`: the share of the weight that is between siblings.
    - `strangers`: the heaviest edges between classes that are no siblings, heaviest first.

    >>> Agreement(1.0, 1.0, ()).auc
    1.0
    """

    auc: float
    siblings: float
    strangers: tuple[tuple[Hashable, Hashable, float], ...]


def to_text(graph: ClassGraph, *, max_edges: int = 40) -> str:
    """The edges as text, heaviest first, with a bar for each weight; classes without edges are counted.

    >>> from taxolearn.structure import ClassGraph
    >>> print(ClassGraph.from_edges([("Cat", "Dog", 1.0), ("Cat", "Lion", 2.0)], nodes=["Oak"]).to_text())
    Cat - Lion  ████████████████████ 2
    Cat - Dog   ██████████ 1
    1 node without edges: Oak
    """
    if not isinstance(max_edges, int | np.integer) or max_edges < 1:
        raise TaxonomyError(f"max_edges must be an integer of at least 1, not {show(max_edges)}")
    edges = sorted(graph.edges, key=lambda edge: -edge[2])
    shown = edges[:max_edges]
    names = [f"{_label(a)} - {_label(b)}" for a, b, _ in shown]
    width = max((len(name) for name in names), default=0)
    lines = [
        f"{name:<{width}}  {'█' * max(1, round(_BAR * edge[2] / edges[0][2]))} {edge[2]:.3g}"
        for name, edge in zip(names, shown, strict=True)
    ]
    if len(edges) > len(shown):
        lines.append(f"... and {len(edges) - len(shown)} more edges")
    alone = [_label(graph.nodes[node]) for node in np.flatnonzero(np.diff(graph.indptr) == 0)]
    if alone:
        more = ", ..." if len(alone) > 10 else ""
        lines.append(
            f"{len(alone)} node{'s' * (len(alone) > 1)} without edges: {', '.join(alone[:10])}{more}"
        )
    return "\n".join(lines)


def to_taxonomy(
    graph: ClassGraph, *, gamma: float = 1.0, merge: float = 0.1, root: Hashable = "all"
) -> Taxonomy:
    """A tree whose leaves are the nodes: who pull each other most are joined first.

    Nodes are alike as their vectors would be: by their correlation in the inverse of Laplacian + `gamma`. They are
    joined by average linkage; a join at nearly the height of the one above it (closer than `merge`, as a share) becomes
    one with it; parts of the graph without an edge between them meet at the root. Inner nodes are called
    "group 1", "group 2", ..., from the top down.

    >>> from taxolearn.structure import ClassGraph
    >>> graph = ClassGraph.from_edges([("Cat", "Lion", 5.0), ("Oak", "Fir", 5.0)])
    >>> print(graph.to_taxonomy().to_text())
    all
    ├── group 1
    │   ├── Cat
    │   └── Lion
    └── group 2
        ├── Oak
        └── Fir
    """
    if not gamma > 0 or not 0 <= merge < 1:
        raise TaxonomyError(f"gamma={gamma!r} must be positive, and merge={merge!r} a share from 0 to 1")
    from scipy.cluster.hierarchy import linkage

    n = graph.n_nodes
    if n == 1:
        return Taxonomy.from_edges([(root, graph.nodes[0])])
    covariance = np.linalg.inv(graph.laplacian().toarray() + gamma * np.eye(n))
    roots = np.sqrt(np.diag(covariance))
    apart = np.clip(1.0 - covariance / np.multiply.outer(roots, roots), 0.0, 1.0)
    joins = linkage(apart[np.triu_indices(n, 1)], "average")
    return Taxonomy.from_edges(_edges(graph.nodes, joins, merge, root))


def _edges(
    nodes: tuple[Hashable, ...], joins: Any, merge: float, root: Hashable
) -> list[tuple[Hashable, Hashable]]:
    """The tree of the joins, from the top down."""
    n = len(nodes)
    taken = {*nodes, root}
    found: list[tuple[Hashable, Hashable]] = []
    groups = 0
    # (number of a join or node, its parent's name, the height of that parent)
    stack: list[tuple[int, Hashable, float]] = [(2 * n - 2, None, np.inf)]
    while stack:
        number, parent, above = stack.pop(0)
        if number < n:
            found.append((parent, nodes[number]))
            continue
        left, right, height = joins[number - n][:3]
        name: Hashable = root
        if parent is not None:
            name = parent
            if height < (1.0 - merge) * above:
                groups += 1
                name = f"group {groups}"
                while name in taken:
                    name = f"{name}'"
                found.append((parent, name))
            else:
                height = above
        stack += [(int(left), name, height), (int(right), name, height)]
    return found


def compare(graph: ClassGraph, taxonomy: Taxonomy, *, strangers: int = 10) -> Agreement:
    """How the weights agree with a taxonomy: do siblings, nodes with a parent in common, have the larger ones?

    >>> from taxolearn.structure import ClassGraph
    >>> tree = Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Tree/Oak", "Tree/Fir"])
    >>> ClassGraph.from_edges([("Lion", "Lynx", 3.0), ("Oak", "Lynx", 1.0)], nodes=["Fir"]).compare(tree)
    Agreement(auc=0.6875, siblings=0.75, strangers=(('Lynx', 'Oak', 1.0),))
    """
    known = [name for name in graph.nodes if name in taxonomy]
    if len(known) < 2:
        raise TaxonomyError(
            "fewer than two nodes of the graph are in the taxonomy; there is nothing to compare"
        )
    ids = [graph.id_of(name) for name in known]
    weights = _weights(graph)[np.ix_(ids, ids)]
    places = np.asarray(taxonomy.ids_of(known))
    parents = [set(taxonomy.parent_indices[a:b].tolist()) for a, b in _spans(taxonomy.parent_indptr, places)]
    left, right = np.triu_indices(len(known), 1)
    siblings = np.array([bool(parents[i] & parents[j]) for i, j in zip(left, right, strict=True)])
    values = weights[left, right]
    order = np.argsort(-values, kind="stable")
    far = [k for k in order.tolist() if not siblings[k] and values[k] > 0][:strangers]
    total = float(values.sum())
    return Agreement(
        _area(values, siblings),
        float(values[siblings].sum()) / total if total > 0 else 0.0,
        tuple((known[left[k]], known[right[k]], float(values[k])) for k in far),
    )


def _spans(indptr: npt.NDArray[Any], places: npt.NDArray[Any]) -> list[tuple[int, int]]:
    return [(int(indptr[node]), int(indptr[node + 1])) for node in places]


def _weights(graph: ClassGraph) -> npt.NDArray[np.float64]:
    laplacian = graph.laplacian().toarray()
    return np.asarray(np.diag(np.diag(laplacian)) - laplacian)


def _area(values: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_]) -> float:
    """Area under the ROC curve; chance where there is nothing to tell apart."""
    from scipy.stats import rankdata

    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return 0.5
    ranks = rankdata(values)[positive].sum()
    return float((ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def _label(name: Hashable) -> str:
    return name if isinstance(name, str) and name.isprintable() else show(name)
