"""The tie of similarity-based transfer: each node is drawn to zero and to its children."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from taxolearn.structure import ClassGraph, Taxonomy
from taxolearn.ties.graph import GraphTie


def transfer_tie(taxonomy: Taxonomy | None, nodes: npt.ArrayLike) -> GraphTie:
    """1/2 sum over nodes i below the root of (||w_i||^2 + sum over children j of ||w_i - w_j||^2), for some nodes.

    This is TRANSFER of Zhou, Xiao and Wu (2011), section 5: a graph whose edges are those of the tree without its root,
    with a ridge of one. `nodes` are the ids of the nodes that score rows; the others have the vectors that make the
    penalty least. Without a taxonomy nothing is drawn to anything but zero.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Rock"])
    >>> transfer_tie(tree, tree.ids_of(["Animal", "Cat", "Dog", "Rock"])).precision().toarray()
    array([[ 3., -1., -1.,  0.],
           [-1.,  2.,  0.,  0.],
           [-1.,  0.,  2.,  0.],
           [ 0.,  0.,  0.,  1.]])
    """
    ids = np.asarray(nodes, dtype=np.int32)
    if taxonomy is None:
        return GraphTie(
            ClassGraph.from_edges([], nodes=range(len(ids))), ids, 1.0, np.zeros(len(ids), dtype=bool)
        )
    parent = taxonomy.parent.tolist()
    edges = [(above, node) for node, above in enumerate(parent) if above > 0]
    graph = ClassGraph.from_edges(edges, nodes=range(1, taxonomy.n_nodes))
    place = np.full(taxonomy.n_nodes, -1, dtype=np.int32)
    place[np.array(graph.nodes, dtype=np.int64)] = np.arange(graph.n_nodes)
    return GraphTie(graph, place[ids], 1.0, np.zeros(graph.n_nodes, dtype=bool))
