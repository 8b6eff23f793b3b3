"""Kernels of label sets, against all sets and against a plain programme on trees that are too large for that."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from decoders.label_set_cases import check_sets, must_settings, small_taxonomy, tied_potentials
from reference.label_sets_twin import all_sets, best_values
from taxolearn.datasets import random_taxonomy
from taxolearn.kernels.closures import best_closures, dag_arrays
from taxolearn.kernels.set_search import search_sets
from taxolearn.kernels.tree_sets import best_tree_sets
from taxolearn.structure import Taxonomy

ROWS = 8
# as plain Python a search takes thirty times as long; what it finds there is what it finds when compiled
BLOCKS = 3 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 10


def tree_sets(tree: Taxonomy, potentials: Any, must: Any) -> Any:
    return best_tree_sets(potentials, tree.parent, tree.subtree_end, must)


def closures(dag: Taxonomy, potentials: Any) -> Any:
    return best_closures(potentials, dag_arrays(dag.parent_indptr, dag.parent_indices))


@pytest.mark.parametrize("block", range(10))
def test_the_best_sets_of_small_trees(block: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng([block, seed])
        tree = small_taxonomy(rng, dag=False)
        potentials = tied_potentials(rng, ROWS, tree.n_nodes)
        for must in must_settings(tree, rng).values():
            best = best_values(all_sets(tree, must), potentials)
            check_sets(tree, must, potentials, tree_sets(tree, potentials, must), best)


@pytest.mark.parametrize("block", range(10))
def test_the_best_closures_of_small_dags(block: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng([block, seed])
        dag = small_taxonomy(rng, dag=True)
        potentials = tied_potentials(rng, ROWS, dag.n_nodes)
        must = must_settings(dag, rng)["root"]
        best = best_values(all_sets(dag, must), potentials)
        check_sets(dag, must, potentials, closures(dag, potentials), best)


def searched(dag: Taxonomy, potentials: Any, must: Any, max_steps: int = 10_000) -> Any:
    return search_sets(potentials, dag_arrays(dag.parent_indptr, dag.parent_indices), must, max_steps)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_best_sets_of_small_dags_with_chosen_children(block: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng([block, seed])
        dag = small_taxonomy(rng, dag=True)
        potentials = tied_potentials(rng, ROWS, dag.n_nodes)
        for must in must_settings(dag, rng).values():
            best = best_values(all_sets(dag, must), potentials)
            values, bounds, indptr, indices, _ = searched(dag, potentials, must)
            np.testing.assert_array_equal(bounds, values)
            check_sets(dag, must, potentials, (values, indptr, indices), best)


def test_an_unfinished_search_has_a_set_and_a_bound() -> None:
    """Many nodes with many parents, and no steps to spare: what is found is allowed, what is claimed is above all."""
    rng = np.random.default_rng(0)
    left = 0
    for _ in range(6 * BLOCKS):
        edges = {(0, child) for child in range(1, 6)}
        edges |= {(int(p), child) for child in range(6, 14) for p in rng.choice(np.arange(1, 6), 3, False)}
        dag = Taxonomy.from_edges(sorted(edges))
        potentials = (
            np.where(dag.is_leaf, rng.integers(-6, 3, (ROWS, 14)), rng.integers(-3, 3, (ROWS, 14))) / 4.0
        )
        must = must_settings(dag, rng)["all"]
        best = best_values(all_sets(dag, must), potentials)
        values, bounds, indptr, indices, _ = searched(dag, potentials, must, max_steps=0)
        assert np.all(bounds >= best)
        check_sets(dag, must, potentials, (values, indptr, indices), values)
        assert np.all(values[bounds == values] == best[bounds == values])
        left += int(np.count_nonzero(bounds > values))
        assert np.all(searched(dag, potentials, must)[0] == best)
    assert left > 0


def slow_tree_value(tree: Taxonomy, must: Any, potential: Any, node: int = 0) -> float:
    children = tree.child_indices[tree.child_indptr[node] : tree.child_indptr[node + 1]]
    below = [slow_tree_value(tree, must, potential, int(child)) for child in children]
    positive = sum(value for value in below if value > 0)
    if below and positive <= 0 and must[node]:
        positive = max(below)
    return float(potential[node]) + positive


def test_larger_trees_and_closures_of_trees() -> None:
    rng = np.random.default_rng(0)
    for depth in (3, 8):
        tree = random_taxonomy(300, 200, depth, random_state=depth)
        potentials = rng.integers(-6, 5, size=(20, tree.n_nodes)) / 4.0
        for must in must_settings(tree, rng).values():
            best = [slow_tree_value(tree, must, row) for row in potentials]
            check_sets(tree, must, potentials, tree_sets(tree, potentials, must), np.array(best))
        must = must_settings(tree, rng)["root"]
        values, indptr, indices = closures(tree, potentials)
        check_sets(tree, must, potentials, (values, indptr, indices), tree_sets(tree, potentials, must)[0])


def test_equals_are_decided_as_stated() -> None:
    tree = Taxonomy.from_paths(["r/a/b", "r/a/c", "r/d"])  # ids: r 0, a 1, b 2, c 3, d 4
    zero = np.zeros((1, 5))
    must = must_settings(tree, np.random.default_rng(0))
    assert tree_sets(tree, zero, must["all"])[2].tolist() == [0, 1, 2]
    assert tree_sets(tree, zero, must["root"])[2].tolist() == [0, 1]
    assert closures(tree, zero)[2].tolist() == [0, 1]
    assert closures(tree, np.array([[9.0, -1.0, 1.0, 0.0, 0.0]]))[2].tolist() == [0, 4]


def test_the_smallest_of_the_best_closures_is_taken() -> None:
    dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("a", "d")])
    for seed in range(50):
        rng = np.random.default_rng(seed)
        potentials = tied_potentials(rng, ROWS, dag.n_nodes)
        values, indptr, _ = closures(dag, potentials)
        sets = all_sets(dag, np.zeros(dag.n_nodes, dtype=bool))
        totals = potentials @ sets.T
        for row in np.flatnonzero(values > potentials[:, 0]):
            smallest = sets[totals[row] == values[row]].sum(axis=1).min()
            assert indptr[row + 1] - indptr[row] == smallest


@pytest.mark.parametrize("shape", [(3, 1), (0, 1), (0, 4)])
def test_no_rows_and_nothing_below_the_root(shape: tuple[int, int]) -> None:
    n_rows, n_nodes = shape
    parents, end = (
        np.array([-1, 0, 0, 1], dtype=np.int32)[:n_nodes],
        np.array([4, 3, 3, 4], dtype=np.int32)[:n_nodes],
    )
    must = np.ones(n_nodes, dtype=bool)
    for array in (parents, end, must):
        array.flags.writeable = False
    dag = dag_arrays(np.array([0, 0, 1, 2, 3], dtype=np.int32)[: n_nodes + 1], parents[1:])
    for found in (
        best_tree_sets(np.zeros(shape), parents, end, must),
        best_closures(np.zeros(shape), dag),
        search_sets(np.zeros(shape), dag, must, 9)[1:4],
    ):
        values, starts, ids = found
        assert values.tolist() == [-np.inf] * n_rows
        assert starts.tolist() == [0] * (n_rows + 1)
        assert len(ids) == 0
