"""The weights update of Shared SVM against the cone programme, on random trees and DAGs."""

from __future__ import annotations

import numpy as np
import pytest

from reference import node_weights_twin as twin
from taxolearn import Taxonomy
from taxolearn.errors import DataError
from taxolearn.scales import shared_scales
from taxolearn.scales.shared_scales import _on_dag


def random_norms(case, seed):
    """Log-normal; zero where no class is below and, for every other seed, at random nodes too."""
    taxonomy, classes = case
    rng = np.random.default_rng(seed)
    norms = rng.lognormal(sigma=2.0, size=taxonomy.n_nodes)
    norms[rng.random(taxonomy.n_nodes) < (0.3 if seed % 2 else 0.0)] = 0.0
    norms[~twin.path_matrix(taxonomy, classes).any(axis=0)] = 0.0
    return norms


def cost(weights, norms):
    active = norms > 0
    return float((norms[active] / weights[active]).sum())


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
def test_optimum(dag):
    cases = twin.random_cases(range(110), dag=dag)
    norms = [random_norms(case, seed) for seed, case in enumerate(cases)]
    optima = twin.least_shared_costs(cases, norms)
    for (taxonomy, classes), norm, optimum in zip(cases, norms, optima, strict=True):
        weights = shared_scales(taxonomy, norm, class_nodes=classes)
        sums = twin.path_matrix(taxonomy, classes) @ weights
        assert weights.min() >= 0
        assert sums.max() < 1 + 1e-8
        assert twin.path_matrix(taxonomy, twin.lowest(taxonomy, classes)) @ weights == pytest.approx(1.0)
        assert cost(weights, norm) == pytest.approx(optimum, rel=1e-6)


def test_the_cone_programme_finds_the_closed_form_over_a_wide_range_of_norms():
    for seed in range(20):
        tree = twin.random_structure(seed, dag=False)
        norms = np.random.default_rng(seed).permutation(np.logspace(-8, 4, tree.n_nodes))
        by_cones = _on_dag(tree.ancestor_matrix(tree.leaf_ids), tree.leaf_ids, norms)
        assert cost(by_cones, norms) == pytest.approx(cost(shared_scales(tree, norms), norms), rel=1e-6)


def test_algorithm_1_as_printed_is_no_answer():
    wrong = 0
    for seed in range(50):
        tree = twin.random_structure(seed, dag=False)
        norms = np.random.default_rng(seed).lognormal(size=tree.n_nodes)
        printed = twin.algorithm_1_as_printed(tree, norms)
        sums = tree.ancestor_matrix(tree.leaf_ids) @ printed
        optimum = cost(shared_scales(tree, norms), norms)
        with np.errstate(divide="ignore"):
            wrong += sums.max() > 1 + 1e-9 or cost(printed, norms) > optimum * (1 + 1e-6)
    assert wrong == 50


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
def test_zero_vectors_leave_all_weight_to_the_lowest_classes(dag):
    taxonomy = twin.random_structure(4, dag=dag)
    weights = shared_scales(taxonomy, np.zeros(taxonomy.n_nodes))
    assert weights.tolist() == taxonomy.is_leaf.astype(float).tolist()


def test_bad_norms():
    tree = Taxonomy.from_paths(["a/b", "a/c"])
    with pytest.raises(DataError, match=r"squared_norms has shape \(2,\), but the taxonomy has 3 nodes"):
        shared_scales(tree, [1.0, 2.0])
    with pytest.raises(DataError, match=r"the squared norm of 'b' is -1\.0"):
        shared_scales(tree, [1.0, -1.0, 2.0])
    with pytest.raises(DataError, match="the squared norm of 'c' is nan"):
        shared_scales(tree, [1.0, 1.0, np.nan])
