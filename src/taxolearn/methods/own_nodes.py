"""Classes at inner nodes as leaves of their own below these nodes: which these are, and their scales."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.problem import Problem
from taxolearn.scales import node_weights
from taxolearn.structure import Taxonomy

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]


def inner_classes(problem: Problem) -> Ids:
    """The classes at inner nodes of the taxonomy, by number.

    >>> from taxolearn.problem import make_problem
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> inner_classes(make_problem([[0.0], [1.0], [2.0]], ["Animal", "Cat", "Dog"], tree)).tolist()
    [0]
    """
    if problem.taxonomy is None:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(~problem.taxonomy.is_leaf[problem.class_nodes])


def written_down(
    taxonomy: Taxonomy, class_nodes: npt.NDArray[np.integer], inner: Ids
) -> tuple[Taxonomy, npt.NDArray[np.int32]]:
    """The taxonomy in which the classes `inner` are leaves of their own, and the nodes of all classes there.

    >>> whole, nodes = written_down(Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]), np.arange(3), np.array([0]))
    >>> whole.n_nodes, [whole.name_of(node) for node in nodes]
    (4, [('own node of', 'Animal'), 'Cat', 'Dog'])
    """
    labels = [taxonomy.name_of(node) for node in class_nodes]
    if not len(inner):
        return taxonomy, np.asarray(class_nodes, dtype=np.int32)
    given, stem = set(taxonomy.nodes), "own node of"
    while any((stem, labels[k]) in given for k in inner):
        stem += "'"
    leaves = {int(k): (stem, labels[k]) for k in inner}
    whole = Taxonomy.from_edges([*taxonomy.edges, *((labels[k], leaf) for k, leaf in leaves.items())])
    return whole, whole.ids_of([leaves.get(k, label) for k, label in enumerate(labels)])


def rule_with_own_nodes(
    taxonomy: Taxonomy, class_nodes: npt.NDArray[np.integer], inner: Ids, rule: Any, **options: Any
) -> tuple[Array, Array]:
    """The scales of all nodes and those of the own nodes of the classes `inner`, by a rule of `node_weights` over the
    taxonomy in which own nodes are leaves.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> nodes, own = rule_with_own_nodes(tree, np.arange(3), np.array([0]), "maxmin")
    >>> nodes.tolist(), own.tolist()
    ([0.5, 0.5, 0.5], [0.5])
    """
    whole, nodes = written_down(taxonomy, class_nodes, inner)
    found = node_weights(whole, rule, class_nodes=nodes, **options)
    return found[whole.ids_of(taxonomy.nodes)], found[nodes[inner]]
