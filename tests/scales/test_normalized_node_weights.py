"""The rules of node_weights against general solvers, on random trees and DAGs."""

from __future__ import annotations

import numpy as np
import pytest

from reference import node_weights_twin as twin
from taxolearn import Taxonomy
from taxolearn.errors import DataError, LabelError
from taxolearn.scales import node_weights
from taxolearn.scales.normalized import max_min_on_dag, max_min_on_forest

SEEDS = range(110)


def feasible(taxonomy, classes, weights, T=1.0):
    sums = twin.path_matrix(taxonomy, twin.lowest(taxonomy, classes)) @ weights
    used = twin.path_matrix(taxonomy, classes).any(axis=0)
    return weights.min() >= 0 and sums.min() > 1 - 1e-8 and sums.max() < T + 1e-8 and not weights[~used].any()


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
@pytest.mark.parametrize(
    "options",
    [
        {"rho": 2.0},
        {"rho": 1.5},
        {"rho": 3.0},
        {"rho": 2.0, "directional": True},
        {"rho": 1.5, "directional": True},
        {"rho": 2.0, "T": 1.5},
        {"rho": 3.0, "T": 1.25, "directional": True},
    ],
    ids=str,
)
def test_least_power_is_the_optimum_of_the_cone_programme(options, dag):
    rho = options["rho"]
    cases = twin.random_cases(SEEDS, dag=dag)
    for (taxonomy, classes), expected in zip(
        cases, twin.least_power(cases, pinned="T" in options, **options), strict=True
    ):
        weights = node_weights(taxonomy, class_nodes=classes, **options)
        assert feasible(taxonomy, classes, weights, options.get("T", 1.0))
        assert (weights**rho).sum() == pytest.approx((expected**rho).sum(), rel=1e-6)
        if rho == 2.0:
            np.testing.assert_allclose(weights, expected, atol=1e-6)
        if options.get("directional"):
            used = twin.path_matrix(taxonomy, classes).any(axis=0)
            for p, c in twin.id_edges(taxonomy):
                assert weights[p] <= weights[c] + 1e-8 or not used[c]


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
def test_maxmin_is_the_lexicographic_optimum(dag):
    for taxonomy, classes in twin.random_cases(SEEDS, dag=dag, max_nodes=8):
        weights = node_weights(taxonomy, "maxmin", class_nodes=classes)
        assert feasible(taxonomy, classes, weights)
        np.testing.assert_allclose(weights, twin.lexicographic_max_min(taxonomy, classes), atol=1e-7)


def test_filling_and_the_closed_form_agree_on_trees():
    for seed in range(30):
        tree = twin.random_structure(seed, dag=False, max_nodes=60)
        filled = max_min_on_dag(tree.ancestor_matrix(tree.leaf_ids))
        np.testing.assert_allclose(filled, max_min_on_forest(tree.parent), rtol=1e-12)


def test_directional_weights_of_a_tree_do_not_depend_on_rho():
    cases = twin.random_cases(range(1, 30, 3), dag=False)
    for rho in (1.2, 2.0, 5.0):
        optima = twin.least_power(cases, rho=rho, directional=True)
        for (tree, _), expected in zip(cases, optima, strict=True):
            directional = node_weights(tree, rho=rho, directional=True)
            np.testing.assert_array_equal(directional, node_weights(tree, "maxmin"))
            assert (directional**rho).sum() == pytest.approx((expected**rho).sum(), rel=1e-6)


def test_the_ends_of_the_scale():
    tree = Taxonomy.from_paths(["r/a/b", "r/a/c", "r/d"])
    assert node_weights(tree, "uniform").tolist() == [1, 1, 1, 1, 1]
    assert node_weights(tree, "uniform", root="pinned").tolist() == [0, 1, 1, 1, 1]
    assert node_weights(tree, "leaf").tolist() == [0, 0, 1, 1, 1]
    assert node_weights(tree, "leaf", class_nodes=[1, 2, 4]).tolist() == [0, 1, 1, 0, 1]


def test_nested_classes_stay_apart():
    """Were both paths to sum to one, as (4) read for every class, nothing would be left between the two."""
    tree = Taxonomy.from_paths(["r/a/b", "r/c"])
    a, b, c = tree.ids_of(["a", "b", "c"]).tolist()
    for options in ({"rule": "maxmin"}, {"rho": 2.0}, {"rho": 2.0, "T": 1.5}):
        weights = node_weights(tree, class_nodes=[a, b, c], **options)
        sums = twin.path_matrix(tree, [a, b, c]) @ weights
        assert sums[1] == pytest.approx(1.0)
        assert sums[2] == pytest.approx(1.0)
        assert 0.0 < sums[0] < 1.0
        assert weights[b] > 0.1


def test_the_root_is_left_out_with_T_unless_asked_for():
    dag = twin.random_structure(5, dag=True)
    assert node_weights(dag, T=1.5)[0] == 0.0
    assert node_weights(dag)[0] > 0.0
    assert node_weights(dag, root="pinned")[0] == 0.0
    free = node_weights(dag, T=1.5, root="free")
    (expected,) = twin.least_power([(dag, dag.leaf_ids.tolist())], rho=2.0, T=1.5)
    np.testing.assert_allclose(free, expected, atol=1e-6)


@pytest.mark.parametrize("rho", [1 + 1e-9, 1.001, 50.0, 1000.0])
def test_extreme_rho_on_a_tree(rho):
    tree = twin.random_structure(3, dag=False, max_nodes=60)
    weights = node_weights(tree, rho=rho)
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(tree.ancestor_matrix(tree.leaf_ids) @ weights, 1.0, rtol=1e-12)


@pytest.mark.parametrize("rho", [1.05, 20.0])
def test_extreme_rho_on_a_dag(rho):
    for seed in range(20):
        dag = twin.random_structure(seed, dag=True, max_nodes=30)
        weights = node_weights(dag, rho=rho)
        assert feasible(dag, dag.leaf_ids.tolist(), weights)
        for other in (node_weights(dag), node_weights(dag, "maxmin"), node_weights(dag, "leaf")):
            for step in (1.0, 0.1, 0.001):
                assert (weights**rho).sum() <= (((1 - step) * weights + step * other) ** rho).sum() * (
                    1 + 1e-9
                )


def test_a_chain_of_two_thousand_nodes():
    chain = Taxonomy.from_edges([(k, k + 1) for k in range(2_000)])
    assert node_weights(chain, "maxmin").max() == pytest.approx(1 / 2_001)
    assert node_weights(chain, rho=3.0).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "sum"}, "rule='sum' is not known here"),
        ({"rho": 1.0}, r"rho=1.0 is out of range; give a finite number above 1, or use rule='maxmin'"),
        ({"rho": np.inf}, "rho=inf is out of range"),
        ({"rho": "x"}, "rho='x' is out of range"),
        ({"rho": None}, "rho=None is out of range"),
        ({"T": "1.5"}, "T='1.5' is out of range"),
        ({"directional": "yes"}, "directional='yes' is not allowed; give True or False"),
        ({"T": 0.5}, "T=0.5 is out of range"),
        ({"T": np.nan}, "T=nan is out of range"),
        ({"root": "none"}, "root='none' is not known here"),
        ({"duplicates": "drop"}, "duplicates='drop' is not known here"),
        ({"rule": "maxmin", "T": 1.5}, "T=1.5 belongs to rule='rho'"),
        ({"rule": "leaf", "directional": True}, "directional=True belongs to rule='rho'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DataError, match=message):
        node_weights(Taxonomy.from_paths(["a/b", "a/c"]), **options)


def test_bad_classes():
    tree = Taxonomy.from_paths(["a/b", "a/c"])
    with pytest.raises(LabelError, match="unknown node id 7"):
        node_weights(tree, class_nodes=[1, 7])
    with pytest.raises(LabelError, match="class_nodes is empty"):
        node_weights(tree, class_nodes=[])
    with pytest.raises(LabelError, match="a pinned root leaves no node"):
        node_weights(tree, class_nodes=[0], root="pinned")
