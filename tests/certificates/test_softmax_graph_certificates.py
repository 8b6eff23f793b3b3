"""Certificates of softmax and of graphs: bounds for any weights and duals, and no bound from infeasible ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import ClassGraph, Taxonomy
from taxolearn.certificates import certify
from taxolearn.losses import MARGIN_LOSSES, Hinge
from taxolearn.losses.softmax import Softmax
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Solution, Status
from taxolearn.ties import path_sum
from taxolearn.ties.graph import graph_tie
from taxolearn.vectors import ClassVectors, NodeVectors

TREE = Taxonomy.from_paths(["r/a/l1", "r/a/l2", "r/l3"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 2))
LABELS = ["l1", "l2", "l3"] * 3
PROBLEM = make_problem(X, LABELS, TREE, sample_weight=np.linspace(0.0, 2.0, 9))
TIE = path_sum(TREE, PROBLEM.class_nodes, np.array([0.0, 2.0, 1.0, 1.0, 0.5]))


def softmax_solution(nodes, intercept, p):
    return Solution(NodeVectors(nodes, TIE.paths, intercept), sp.csr_array(p.T), Status.CONVERGED, 0)


def certify_softmax(nodes, intercept, p, *settings):
    """`settings` are C, bias feature and bias prior."""
    return certify(Objective(PROBLEM, Softmax(), TIE, *settings), softmax_solution(nodes, intercept, p))


def random_p(rng):
    p = rng.exponential(size=(9, 3)) * (rng.random((9, 3)) < 0.8)
    p[:, 0] += 0.01
    return p / p.sum(axis=1, keepdims=True)


def test_every_softmax_dual_is_below_every_primal():
    primals, duals = [], []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        nodes = 0.5 * rng.normal(size=(2, 5)) * (TIE.scale > 0)
        certificate = certify_softmax(nodes, rng.normal(size=3), random_p(rng), 0.7, 0.5, -1.0)
        primals.append(certificate.primal)
        duals.append(certificate.dual)
    assert np.all(np.isfinite(primals))
    assert np.all(np.isfinite(duals))
    assert max(duals) <= min(primals)


def test_softmax_objectives_by_hand():
    # all weights zero and p uniform: the dual vectors are those of c (e_y - 1/3)
    cost = 0.7 * PROBLEM.row_weight
    p = np.full((9, 3), 1 / 3)
    certificate = certify_softmax(np.zeros((2, 5)), np.zeros(3), p, 0.7, 0.5)
    assert certificate.primal == pytest.approx(np.log(3) * cost.sum())
    mu = cost[:, None] * (PROBLEM.targets.toarray() - p)
    V = mu.T @ X
    square = np.trace(V.T @ TIE.covariance @ V) + np.sum((0.5 * mu.sum(axis=0)) ** 2)
    assert certificate.dual == pytest.approx(np.log(3) * cost.sum() - 0.5 * square)


def test_probabilities_are_scaled_to_sum_to_one():
    p = random_p(np.random.default_rng(7))
    nodes = np.zeros((2, 5))
    whole, shrunk = (certify_softmax(nodes, np.zeros(3), share * p, 0.7, 0.5) for share in (1.0, 0.3))
    assert shrunk.dual == pytest.approx(whole.dual, rel=1e-12)


def test_infeasible_softmax_duals_prove_nothing():
    nodes = np.zeros((2, 5))
    negative = np.full((9, 3), 1 / 3)
    negative[4] = [1.2, -0.2, 0.0]
    assert certify_softmax(nodes, np.zeros(3), negative).dual == -np.inf
    empty = np.full((9, 3), 1 / 3)
    empty[4] = 0.0
    assert certify_softmax(nodes, np.zeros(3), empty).dual == -np.inf
    at_root = np.ones((2, 5))  # the pinned root must have no vector
    uniform = np.full((9, 3), 1 / 3)
    assert certify_softmax(at_root, np.zeros(3), uniform).primal == np.inf


def test_softmax_conjugate_is_the_supremum():
    rng = np.random.default_rng(1)
    loss, c = Softmax(), 1.7
    for _ in range(20):
        p, own = rng.dirichlet(np.ones(4)), int(rng.integers(4))
        z = c * (p - np.eye(4)[own])
        scores = rng.normal(size=(50, 4)) * 3
        values = scores @ z - c * loss.value(scores, np.full(50, own))
        bound = loss.conjugate(p[None], c)[0]
        assert values.max() <= bound + 1e-12
        best = np.log(p)[None]
        assert (best @ z - c * loss.value(best, np.array([own])))[0] == pytest.approx(bound)


GRAPH = ClassGraph.from_edges([("l1", "l2", 2.0), ("l2", "hub"), ("hub", "l3", 0.5)])
GRAPH_TIE = graph_tie(GRAPH, PROBLEM.classes, ridge=0.3)


@pytest.mark.parametrize("loss", MARGIN_LOSSES.values(), ids=MARGIN_LOSSES)
def test_every_graph_dual_is_below_every_primal(loss):
    primals, duals = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        dual = sp.csr_array(0.5 * rng.random((3, 9)) * 0.7 * PROBLEM.row_weight)
        weights = ClassVectors(0.5 * rng.normal(size=(3, 2)), rng.normal(size=3))
        solution = Solution(weights, dual, Status.CONVERGED, 0)
        certificate = certify(Objective(PROBLEM, loss, GRAPH_TIE, 0.7, 0.5, -1.0), solution)
        primals.append(certificate.primal)
        duals.append(certificate.dual)
    assert np.all(np.isfinite(duals))
    assert max(duals) <= min(primals)


def test_latent_nodes_take_the_best_vectors():
    weights = ClassVectors(RNG.normal(size=(3, 2)), np.zeros(3))
    solution = Solution(weights, sp.csr_array((3, 9)), Status.CONVERGED, 0)
    free_of_losses = replace(PROBLEM, row_weight=np.zeros(9))
    found = certify(Objective(free_of_losses, Hinge(), GRAPH_TIE), solution).primal
    W = weights.coef[[PROBLEM.classes.index(name) for name in ("l1", "l2", "l3")]]
    hub = (W[1] + 0.5 * W[2]) / (1.0 + 0.5 + 0.3)  # where the derivative of its terms is zero
    edges = 2.0 * np.sum((W[0] - W[1]) ** 2) + np.sum((W[1] - hub) ** 2) + 0.5 * np.sum((hub - W[2]) ** 2)
    ridge = 0.3 * (np.sum(W**2) + np.sum(hub**2))
    assert found == pytest.approx(0.5 * (edges + ridge))


def test_infeasible_graph_points_prove_nothing():
    dual = np.zeros((3, 9))
    dual[0, 3] = -1e-9
    weights = ClassVectors(np.ones((3, 2)), np.zeros(3))
    solution = Solution(weights, sp.csr_array(dual), Status.CONVERGED, 0)
    assert certify(Objective(PROBLEM, Hinge(), GRAPH_TIE), solution).dual == -np.inf
    pinned = graph_tie(GRAPH, PROBLEM.classes, pinned=["l1"])
    assert certify(Objective(PROBLEM, Hinge(), pinned), solution).primal == np.inf
