"""Small random taxonomies and potentials with ties and zeros."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from taxolearn.structure import Taxonomy


def small_taxonomy(rng: np.random.Generator, dag: bool, most: int = 14) -> Taxonomy:
    """Up to `most` nodes; in a DAG about half of those that can have several parents have them."""
    n = int(rng.integers(2, most + 1))
    edges = set()
    for child in range(1, n):
        reach = child if rng.random() < 0.7 else min(child, 3)
        edges.add((int(rng.integers(max(0, child - reach), child)), child))
        if dag and rng.random() < 0.5:
            edges.update((int(p), child) for p in rng.integers(0, child, rng.integers(1, 3)))
    return Taxonomy.from_edges(sorted(edges))


def must_settings(taxonomy: Taxonomy, rng: np.random.Generator) -> dict[str, Any]:
    """Which chosen inner nodes need a chosen child: only the root, all, some."""
    root = np.zeros(taxonomy.n_nodes, dtype=bool)
    root[0] = True
    some = rng.random(taxonomy.n_nodes) < 0.5
    some[0] = True
    found = {"root": root, "all": ~taxonomy.is_leaf, "some": some & ~taxonomy.is_leaf}
    for flags in found.values():
        flags.flags.writeable = False  # as in a LabelSpace: kernels are compiled once
    return found


def tied_potentials(rng: np.random.Generator, n_rows: int, n_nodes: int) -> Any:
    """Multiples of a quarter, so that sums are exact: many zeros, many ties; some rows all negative, some all zero."""
    found = rng.integers(-6, 5, size=(n_rows, n_nodes)) / 4.0
    found[rng.random(found.shape) < 0.2] = 0.0
    found[:, 1:] -= rng.integers(0, 3, size=(n_rows, 1)) / 2.0
    found[n_rows // 4 :: 4] = -np.abs(found[n_rows // 4 :: 4])
    if n_rows > 6:
        found[6] = 0.0
    return found


def check_sets(taxonomy: Taxonomy, must: Any, potentials: Any, found: Any, best: Any) -> None:
    """Every set is allowed, has the value that it claims, and that is the best one."""
    values, indptr, indices = found
    np.testing.assert_array_equal(values, best)
    for row, (first, last) in enumerate(pairwise(indptr.tolist())):
        ids = indices[first:last]
        assert np.all(np.diff(ids) > 0)
        chosen = set(ids.tolist())
        assert 0 in chosen
        assert len(chosen) > 1
        assert potentials[row, ids].sum() == values[row]
        for node in chosen:
            name = taxonomy.name_of(node)
            assert set(taxonomy.ids_of(taxonomy.parents(name)).tolist()) <= chosen
            children = set(taxonomy.ids_of(taxonomy.children(name)).tolist())
            assert not children or not must[node] or children & chosen
