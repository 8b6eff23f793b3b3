"""Vectors and rows whose products are exact, so that ties are ties."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from taxolearn import Taxonomy
from taxolearn.ties import path_sum
from taxolearn.vectors import NodeVectors


def eighths(rng: Any, shape: Any) -> Any:
    """Few values, many of them zero."""
    return rng.integers(-6, 7, size=shape) * (rng.random(shape) < 0.6) / 8


def random_taxonomy(rng: Any, dag: bool, max_nodes: int = 20) -> Taxonomy:
    edges = []
    for child in range(1, int(rng.integers(3, max_nodes))):
        n_parents = 1 + int(dag and rng.random() < 0.3)
        edges += [(int(parent), child) for parent in rng.choice(child, min(child, n_parents), replace=False)]
    return Taxonomy.from_edges(edges)


def some_classes(rng: Any, taxonomy: Taxonomy) -> Any:
    """Most leaves and some inner nodes, in any order."""
    leaves = [leaf for leaf in taxonomy.leaf_ids.tolist() if rng.random() < 0.9]
    chosen = {*leaves, *rng.choice(taxonomy.n_nodes, 2).tolist()}
    return rng.permutation(sorted(chosen))


def node_vectors(seed: int, n_features: int = 5) -> tuple[NodeVectors, Any]:
    """Sparse vectors at the nodes of a tree, and rows."""
    rng = np.random.default_rng(seed)
    taxonomy = random_taxonomy(rng, dag=False)
    classes = some_classes(rng, taxonomy)
    paths = path_sum(taxonomy, classes, np.ones(taxonomy.n_nodes)).paths
    nodes = sparse.csr_array(eighths(rng, (taxonomy.n_nodes, n_features)))
    return NodeVectors(nodes, paths, eighths(rng, len(classes))), eighths(rng, (15, n_features))
