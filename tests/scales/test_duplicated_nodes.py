"""Duplicated nodes: with duplicates="merge" they do not matter, whatever the rule; and why Theorem 1 is no help.

Theorem 1 of Choi, Sasaki and Srebro says that they do not matter in the limit of rho to 1 of (6). In that limit the
root of a tree has all the weight and all classes the same scores, on any tree. The invariance that it is after holds
for every rho once the cost of a node is multiplied by |F|^(rho-1), F being its set of duplicates.
"""

from __future__ import annotations

import numpy as np
import pytest

from reference import node_weights_twin as twin
from taxolearn import Taxonomy
from taxolearn.scales import node_weights

RULES = [
    {"rule": "uniform"},
    {"rule": "leaf"},
    {"rule": "maxmin"},
    {"rho": 1.3},
    {"rho": 2.0},
    {"rho": 4.0},
    {"rho": 2.0, "directional": True},
    {"rule": "maxmin", "root": "pinned"},
    {"rho": 2.0, "T": 1.5},
]


def covariance(taxonomy, classes, weights):
    paths = twin.path_matrix(taxonomy, classes)
    return paths * weights @ paths.T


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
@pytest.mark.parametrize("options", RULES, ids=str)
def test_merged_duplicates_leave_the_class_covariance_as_it_is(options, dag):
    by_solver = dag and "rho" in options
    for seed in range(25):
        taxonomy = twin.random_structure(seed, dag=dag)
        classes = [c for c in twin.random_classes(taxonomy, seed) if c]  # a pinned root is no class
        if len(classes) == 1:
            continue  # every node is a duplicate of the root, which may be pinned
        longer, new_id = twin.with_duplicates(taxonomy, seed)
        moved = [new_id[c] for c in classes]
        short = node_weights(taxonomy, class_nodes=classes, duplicates="merge", **options)
        long = node_weights(longer, class_nodes=moved, duplicates="merge", **options)
        np.testing.assert_allclose(
            covariance(longer, moved, long),
            covariance(taxonomy, classes, short),
            rtol=0,
            atol=1e-6 if by_solver else 1e-13,
        )


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
@pytest.mark.parametrize("rho", [1.5, 2.0, 3.0])
def test_merging_is_weighting_the_cost_by_the_number_of_duplicates(rho, dag):
    short = [twin.random_structure(seed, dag=dag, max_nodes=8) for seed in range(25)]
    longer = [twin.with_duplicates(taxonomy, seed)[0] for seed, taxonomy in enumerate(short)]
    cases = [(taxonomy, taxonomy.leaf_ids.tolist()) for taxonomy in longer]
    columns = [twin.path_matrix(taxonomy, classes).T.tolist() for taxonomy, classes in cases]
    costs = [np.array([every.count(one) for one in every]) ** (rho - 1.0) for every in columns]
    optima = twin.least_power(cases, rho=rho, costs=costs)
    for (taxonomy, _), cost, expected in zip(cases, costs, optima, strict=True):
        weights = node_weights(taxonomy, rho=rho, duplicates="merge")
        assert cost @ weights**rho == pytest.approx(cost @ expected**rho, rel=1e-6)
        if rho == 2.0:
            np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_kept_duplicates_change_the_class_covariance():
    tree = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("a", "d")])
    longer = Taxonomy.from_edges([("r", "a2"), ("r", "b"), ("a2", "a"), ("a", "c"), ("a", "d")])
    names = ["b", "c", "d"]
    for options in ({"rule": "uniform"}, {"rule": "maxmin"}, {"rho": 1.5}, {"rho": 2.0}):
        found = [covariance(t, t.ids_of(names).tolist(), node_weights(t, **options)) for t in (tree, longer)]
        assert np.abs(found[0] - found[1]).max() > 0.01


def test_theorem_1_holds_because_all_classes_become_the_same():
    for seed in range(20):
        tree = twin.random_structure(seed, dag=False)
        if tree.n_leaves == 1:
            continue
        longer, _ = twin.with_duplicates(tree, seed)
        for taxonomy in (tree, longer):
            classes = taxonomy.leaf_ids.tolist()
            weights = node_weights(taxonomy, rho=1.0 + 1e-3)
            everywhere = twin.path_matrix(taxonomy, classes).all(axis=0)
            assert weights[everywhere].sum() > 1 - 1e-9
            np.testing.assert_allclose(covariance(taxonomy, classes, weights), 1.0, atol=1e-9)
