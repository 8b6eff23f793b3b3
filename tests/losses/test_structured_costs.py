"""Costs of the structured hinge against their definitions by sets of nodes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.structured_twin import cost_matrix, margins_and_scalings
from strategies import taxonomies
from taxolearn import Taxonomy
from taxolearn.errors import DataError, EmptyClassWarning
from taxolearn.losses import structured, structured_hinge
from taxolearn.losses.structured import COSTS, RESCALINGS
from taxolearn.problem import make_problem
from taxolearn.ties import flat, path_sum


def problem_of(taxonomy, nodes):
    names = [taxonomy.nodes[n] for n in nodes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClassWarning)
        return make_problem(np.zeros((len(nodes), 1)), [[name] for name in names], taxonomy)


@pytest.mark.parametrize("cost", COSTS)
@settings(deadline=None, max_examples=30)
@given(taxonomy=taxonomies(kind="int", min_nodes=3), data=st.data())
def test_costs_are_the_definitions(cost, taxonomy, data):
    # any nodes may be classes, inner ones and the root too
    nodes = data.draw(
        st.lists(st.integers(0, taxonomy.n_nodes - 1), min_size=2, max_size=taxonomy.n_nodes, unique=True)
    )
    scale = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.3, 1.0, 2.0]), min_size=taxonomy.n_nodes,
                                        max_size=taxonomy.n_nodes)))  # fmt: skip
    problem = problem_of(taxonomy, nodes)
    tie = path_sum(taxonomy, problem.class_nodes, scale)
    expected = cost_matrix(cost, taxonomy, problem.class_nodes, scale)
    for rescaling in RESCALINGS:
        loss = structured_hinge(problem, tie, cost, rescaling)
        chosen = np.array(data.draw(st.lists(st.integers(0, len(nodes) - 1), min_size=1, unique=True)))
        np.testing.assert_allclose(loss.costs(chosen), expected[chosen], rtol=1e-12, atol=1e-12)
        margins, scalings = margins_and_scalings(expected, rescaling)
        found = loss.margins_and_scalings(chosen)
        np.testing.assert_allclose(found[0], margins[chosen], rtol=1e-12)
        np.testing.assert_allclose(found[1], scalings[chosen], rtol=1e-12)


def test_on_a_tree_hamming_is_the_distance_and_on_a_dag_it_need_not_be():
    tree = Taxonomy.from_paths(["a/b/c", "a/b/d", "a/e"])
    problem = problem_of(tree, tree.leaf_ids)
    tie = path_sum(tree, problem.class_nodes, np.ones(tree.n_nodes))
    every = np.arange(problem.n_classes)
    np.testing.assert_array_equal(
        structured_hinge(problem, tie, "tree").costs(every),
        structured_hinge(problem, tie, "hamming").costs(every),
    )
    dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("b", "y")])
    problem = problem_of(dag, dag.leaf_ids)
    tie = path_sum(dag, problem.class_nodes, np.ones(dag.n_nodes))
    assert structured_hinge(problem, tie, "tree").costs(np.array([0]))[0, 1] == 2.0
    assert structured_hinge(problem, tie, "hamming").costs(np.array([0]))[0, 1] == 3.0


@pytest.mark.parametrize("few", ["_FEW_CLASSES", "_FEW_ENTRIES"])
@pytest.mark.parametrize("cost", COSTS)
def test_many_classes_have_the_costs_of_few(cost, few, monkeypatch):
    tree = Taxonomy.from_paths(["a/b/c", "a/b/d", "a/e"])
    problem = problem_of(tree, tree.leaf_ids)
    tie = path_sum(tree, problem.class_nodes, np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    expected = structured_hinge(problem, tie, cost).costs(np.array([2, 0]))
    monkeypatch.setattr(structured, few, 0)
    found = structured_hinge(problem, tie, cost).costs(np.array([2, 0]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_without_a_taxonomy_classes_stand_alone():
    problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    for cost, expected in (("zero_one", 1.0), ("hamming", 2.0), ("tree", 2.0), ("normalized", np.sqrt(2.0))):
        found = structured_hinge(problem, flat(3), cost).costs(np.array([1]))
        np.testing.assert_allclose(found, [[expected, 0.0, expected]])


def test_a_cost_nobody_knows_and_a_table_too_large(monkeypatch):
    problem = make_problem([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(DataError, match="cost='cubic' is not known"):
        structured_hinge(problem, flat(2), "cubic")
    with pytest.raises(DataError, match="rescaling='both' is not known"):
        structured_hinge(problem, flat(2), rescaling="both")
    monkeypatch.setattr(structured, "_TABLE_CLASSES", 1)
    dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("b", "y")])
    problem = problem_of(dag, dag.leaf_ids)
    with pytest.raises(DataError, match='use cost="hamming"'):
        structured_hinge(problem, path_sum(dag, problem.class_nodes, np.ones(dag.n_nodes)), "tree")
