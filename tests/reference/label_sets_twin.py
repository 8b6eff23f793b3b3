"""Label sets the slow, obvious way: all sets of nodes are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.structure import Taxonomy

MOST_NODES = 16


def all_sets(taxonomy: Taxonomy, must: Any, at_most: int | None = None) -> npt.NDArray[np.bool_]:
    """Every allowed label, sets x nodes: ancestors are in, the root has a child, and so has every node of `must`.

    `at_most` is the largest number of nodes without a chosen child.
    """
    n = taxonomy.n_nodes
    assert n <= MOST_NODES
    sets = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1
    fine = sets[:, 0].copy()
    ends = np.zeros(len(sets), dtype=int)
    for node, name in enumerate(taxonomy.nodes):
        parents = taxonomy.ids_of(taxonomy.parents(name))
        children = taxonomy.ids_of(taxonomy.children(name))
        with_child = sets[:, children].any(axis=1)
        fine &= ~sets[:, node] | sets[:, parents].all(axis=1)
        if len(children) and (must[node] or node == 0):
            fine &= ~sets[:, node] | with_child
        ends += sets[:, node] & ~with_child
    if at_most is not None:
        fine &= ends <= at_most
    return sets[fine & sets[:, 1:].any(axis=1)]


def best_values(sets: npt.NDArray[np.bool_], potentials: Any) -> npt.NDArray[np.float64]:
    """The largest sum of potentials of each row."""
    return np.asarray((np.asarray(potentials) @ sets.T.astype(np.float64)).max(axis=1))


def max_marginals(sets: npt.NDArray[np.bool_], potentials: Any) -> npt.NDArray[np.float64]:
    """Rows x nodes: the best value of a set with the node, less that of one without; inf, -inf if there is none."""
    values = np.asarray(potentials) @ sets.T.astype(np.float64)
    found = np.empty((len(values), sets.shape[1]))
    for node in range(sets.shape[1]):
        inside = sets[:, node]
        best_with = values[:, inside].max(axis=1, initial=-np.inf)
        best_without = values[:, ~inside].max(axis=1, initial=-np.inf)
        found[:, node] = best_with - best_without
    return found
