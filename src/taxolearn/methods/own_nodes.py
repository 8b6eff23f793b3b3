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
    names = [taxonomy.name_of(node) for node in range(taxonomy.n_nodes)]
    labels = [names[node] for node in class_nodes]
    given, stem = set(names), "own node of"
    while any((stem, labels[k]) in given for k in inner):
        stem += "'"
    leaves = {int(k): (stem, labels[k]) for k in inner}
    whole = taxonomy
    if leaves:
        whole = Taxonomy.from_edges([*taxonomy.edges, *((labels[k], leaf) for k, leaf in leaves.items())])
    nodes = whole.ids_of([leaves.get(k, label) for k, label in enumerate(labels)])
    found = node_weights(whole, rule, class_nodes=nodes, **options)
    return found[whole.ids_of(names)], found[nodes[inner]]
