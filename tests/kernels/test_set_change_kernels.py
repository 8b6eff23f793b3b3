"""Kernels of what nodes matter to label sets, against all sets."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from decoders.label_set_cases import check_sets, must_settings, small_taxonomy, tied_potentials
from reference.label_sets_twin import all_sets, best_values, max_marginals
from taxolearn.kernels import dag_set_changes
from taxolearn.kernels.closures import dag_arrays
from taxolearn.kernels.set_search import search_sets
from taxolearn.kernels.tree_set_changes import best_tree_sets_of, tree_marginals
from taxolearn.structure import Taxonomy

ROWS = 8


@pytest.mark.parametrize("block", range(5))
def test_max_marginals_of_trees(block: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng([block, seed])
        tree = small_taxonomy(rng, dag=False)
        potentials = tied_potentials(rng, ROWS, tree.n_nodes)
        for must in must_settings(tree, rng).values():
            found = np.empty_like(potentials)
            tree_marginals(potentials, tree.parent, tree.subtree_end, must, found)
            np.testing.assert_array_equal(found, max_marginals(all_sets(tree, must), potentials))


@pytest.mark.parametrize("block", range(5))
def test_sets_of_few_ends(block: int) -> None:
    for seed in range(12):
        rng = np.random.default_rng([block, seed])
        tree = small_taxonomy(rng, dag=False)
        potentials = tied_potentials(rng, ROWS, tree.n_nodes)
        for must in must_settings(tree, rng).values():
            for most in (1, 2, 4):
                found = best_tree_sets_of(potentials, tree.parent, tree.subtree_end, must, most)
                best = best_values(all_sets(tree, must, most), potentials)
                check_sets(tree, must, potentials, found, best)
                for first, last in pairwise(found[1].tolist()):
                    chosen = found[2][first:last]
                    assert len(set(chosen.tolist()) - set(tree.parent[chosen].tolist())) <= most


def changes(dag: Taxonomy, must: Any, potentials: Any, sets: Any) -> Any:
    found = np.empty(potentials.size)
    nodes = np.tile(np.arange(dag.n_nodes, dtype=np.int32), ROWS)
    arrays = dag_arrays(dag.parent_indptr, dag.parent_indices)
    node_indptr = dag.n_nodes * np.arange(ROWS + 1)
    dag_set_changes.dag_changes(potentials, arrays, must, *sets, node_indptr, nodes, found)
    return found.reshape(potentials.shape)


@pytest.mark.parametrize("block", range(5))
def test_changes_of_dags_are_those_of_allowed_sets(block: int) -> None:
    """A change is never larger than the max-marginal for nodes left out, never smaller for chosen ones."""
    same = total = 0
    for seed in range(12):
        rng = np.random.default_rng([block, seed])
        dag = small_taxonomy(rng, dag=True)
        potentials = tied_potentials(rng, ROWS, dag.n_nodes)
        for must in must_settings(dag, rng).values():
            arrays = dag_arrays(dag.parent_indptr, dag.parent_indices)
            _, _, indptr, indices, _ = search_sets(potentials, arrays, must, 10_000)
            found = changes(dag, must, potentials, (indptr, indices))
            exact = max_marginals(all_sets(dag, must), potentials)
            chosen = np.zeros(found.shape, dtype=bool)
            chosen[np.repeat(np.arange(ROWS), np.diff(indptr)), indices] = True
            assert np.all(found[chosen] >= 0)
            assert np.all(found[~chosen] <= 0)
            assert np.all(found[chosen] >= exact[chosen])
            assert np.all(found[~chosen] <= exact[~chosen])
            np.testing.assert_array_equal(np.isinf(found), np.isinf(exact))
            same += int(np.count_nonzero(found == exact))
            total += found.size
    assert same > 0.5 * total  # most of them are exact
