"""Classes on graphs against the cone programme, and a tree given as a graph against the tree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tied_cases import CASES, ROW_WEIGHTS, ROWS, label_sets, one_label

from reference.one_vs_rest_twin import LOSSES, signs_and_costs
from reference.recursive_twin import graph_root, tied_optimum
from taxolearn import ClassGraph
from taxolearn.certificates import certify
from taxolearn.engines import ThreadEngine
from taxolearn.errors import DataError, TaxonomyError
from taxolearn.losses import MARGIN_LOSSES, Hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Start, Status
from taxolearn.solvers.graph import colour_classes, solve_graph
from taxolearn.solvers.path_descent import solve_path_descent
from taxolearn.ties.graph import graph_tie

every_loss = pytest.mark.parametrize("name", LOSSES)
NAMES = ["a", "b", "c", "d"]
RING = [("a", "b", 1.0), ("b", "c", 2.0), ("c", "d", 0.5), ("d", "a", 1.0)]
HUB = [("hub", name, 1.0) for name in NAMES] + [("a", "b", 0.3)]
GRAPHS = {
    "a ring with a ridge": {"edges": RING, "ridge": 0.5, "labels": one_label(NAMES)},
    "nodes without edges": {"edges": RING[:1], "ridge": 1.0, "labels": label_sets(NAMES), "prior": -1.0},
    "a latent hub": {"edges": HUB, "ridge": 0.2, "labels": one_label(NAMES), "weight": ROW_WEIGHTS},
    "a pinned hub": {"edges": HUB, "pinned": ["hub"], "labels": one_label(NAMES), "bias": 0.0},
    "a pinned class": {
        "edges": RING,
        "pinned": ["b"],
        "labels": one_label(NAMES),
        "class_weight": {"b": 2.0},
    },
}


@every_loss
@pytest.mark.parametrize("key", GRAPHS)
def test_the_optimum_is_the_cone_programmes(name, key):
    parts, loss = GRAPHS[key], MARGIN_LOSSES[name]
    labels, weight, class_weight = parts["labels"], parts.get("weight"), parts.get("class_weight")
    ridge, pinned = parts.get("ridge", 0.0), parts.get("pinned", [])
    bias, prior = parts.get("bias", 1.0), parts.get("prior", 0.0)
    graph = ClassGraph.from_edges(parts["edges"], nodes=NAMES)
    problem = make_problem(ROWS, labels, sample_weight=weight, class_weight=class_weight)
    tie = graph_tie(graph, problem.classes, ridge=ridge, pinned=pinned)
    objective = Objective(problem, loss, tie, 1.0, bias, prior)
    solution = solve_graph(objective, Limits(tol=1e-10, max_iter=20_000))
    certificate = certify(objective, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1.1e-10)

    number = {node: k for k, node in enumerate(graph.nodes)}
    root = graph_root(
        graph.n_nodes,
        [(number[a], number[b], w) for a, b, w in parts["edges"]],
        ridge,
        {number[node] for node in pinned},
        [number[node] for node in problem.classes],
    )
    sign, cost = signs_and_costs(labels, problem.classes, 1.0, weight, class_weight)
    optimum, weights = tied_optimum(name, ROWS, sign, cost, root, bias, prior)
    assert certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert certificate.dual <= optimum * (1 + 1e-8)
    assert certificate.primal >= optimum * (1 - 1e-8)
    np.testing.assert_allclose(solution.vectors.coef, weights, atol=1e-4 * max(1.0, np.abs(weights).max()))


@every_loss
@pytest.mark.parametrize("key", ["tree, root pinned", "tree, scales", "labels at inner nodes"])
def test_a_tree_given_as_a_graph_gives_the_trees_answer(name, key):
    case, loss = CASES[key], MARGIN_LOSSES[name]
    problem, tree = case.problem(), case.taxonomy
    path_tie = case.tie(problem)
    edges = [
        (tree.nodes[tree.parent[n]], tree.nodes[n], 1.0 / path_tie.scale[n]) for n in range(1, tree.n_nodes)
    ]
    tie = graph_tie(ClassGraph.from_edges(edges), problem.classes, pinned=[tree.nodes[0]])
    objective, limits = (
        Objective(problem, loss, tie, case.C, **case.bias()),
        Limits(tol=1e-10, max_iter=20_000),
    )
    as_graph = solve_graph(objective, limits)
    as_tree = solve_path_descent(case.objective(loss), limits)
    assert as_graph.history[-1].primal == pytest.approx(as_tree.history[-1].primal, rel=1e-9)
    np.testing.assert_allclose(as_graph.vectors.coef, as_tree.vectors.coef, atol=1e-4)
    assert certify(objective, as_graph).holds(1.1e-10)


def test_a_unit_tree_is_the_graph_of_the_taxonomy():
    case = CASES["tree, root pinned"]
    problem = case.problem()
    tie = graph_tie(ClassGraph.from_taxonomy(case.taxonomy), problem.classes, pinned=["r"])
    with ThreadEngine(2) as engine:
        as_graph = solve_graph(Objective(problem, Hinge(), tie), Limits(tol=1e-10, engine=engine))
    as_tree = solve_path_descent(case.objective(Hinge()), Limits(tol=1e-10))
    np.testing.assert_allclose(as_graph.vectors.coef, as_tree.vectors.coef, atol=1e-4)


@settings(deadline=None, max_examples=30)
@given(n=st.integers(1, 12), share=st.floats(0, 1), seed=st.integers(0, 2**20))
def test_no_edge_inside_a_colour(n, share, seed):
    edges = np.triu(np.random.default_rng(seed).random((n, n)) < share, k=1)
    precision = sp.csr_array(np.eye(n) * n - edges - edges.T)
    colours = colour_classes(precision)
    assert sorted(np.concatenate(colours).tolist()) == list(range(n))
    for colour in colours:
        assert not (edges | edges.T)[np.ix_(colour, colour)].any()


def test_start_and_limits():
    problem = make_problem(ROWS, one_label(NAMES))
    tie = graph_tie(ClassGraph.from_edges(RING), problem.classes, ridge=0.5)
    objective = Objective(problem, Hinge(), tie)
    first = solve_graph(objective, Limits(tol=1e-9))
    # the start's vectors are those of its duals, not the ones the sweeps had reached: a round or two may be left
    assert solve_graph(objective, Limits(tol=1e-9), Start(first.dual)).n_iter < first.n_iter
    assert solve_graph(objective, Limits(tol=1e-9), Start(first.dual, first.state)).n_iter == 0
    of_others = Start(first.dual, np.ones((2, 2)))
    assert solve_graph(objective, Limits(tol=1e-9), of_others).n_iter < first.n_iter
    short = solve_graph(objective, Limits(tol=1e-12, max_iter=1))
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 1)
    late = solve_graph(objective, Limits(tol=-1.0, max_iter=10**9, max_seconds=0.3))
    assert late.status is Status.TIME_LIMIT


def test_what_has_no_optimum_is_refused():
    graph = ClassGraph.from_edges(RING, nodes=["e"])
    with pytest.raises(TaxonomyError, match=r"vectors of 'e' and its component .* pin one of its nodes"):
        graph_tie(graph, NAMES, pinned=["a"])
    with pytest.raises(TaxonomyError, match="class 'x' is not a node of the graph"):
        graph_tie(graph, ["x"], ridge=1.0)
    with pytest.raises(DataError, match=r"ridge=-1\.0 must be"):
        graph_tie(graph, NAMES, ridge=-1.0)
    with pytest.raises(DataError, match=r"^solver='graph' needs a graph of classes$"):
        solve_graph(CASES["tree, root pinned"].objective(Hinge()))
