"""Proximal points of structured hinges: against the cone programme, slow twins of their parts, and when they follow."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from test_structured_optimum import DAG, NAMES, SPECIAL, TREE, Case

from taxolearn.certificates import certify
from taxolearn.errors import DataError
from taxolearn.losses import structured_hinge
from taxolearn.losses.structured import COSTS, RESCALINGS
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import ascent_first, choice
from taxolearn.solvers.base import Limits, Start, Status
from taxolearn.solvers.choice import choose_solver
from taxolearn.solvers.interior_terms import StructuredTerms
from taxolearn.solvers.proximal import inverse_covariance, solve_proximal
from taxolearn.solvers.proximal_rows import FreeRows, project
from taxolearn.solvers.structured import solve_structured
from taxolearn.ties import flat, path_sum

WITHOUT_INVERSE = (
    "no node has a vector",
    "labels at inner nodes",
    "inner labels, (13), no vector of their own",
)


def check(case):
    solution = solve_proximal(case.objective, Limits(tol=1e-8))
    certificate, optimum = case.certify(solution), case.twin.optimum()
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1.1e-8)
    assert certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert certificate.lower <= optimum * (1 + 1e-8) + 1e-9
    last = solution.history[-1]
    assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-9)
    U = np.vstack([solution.vectors.nodes, solution.details["node_bias"]]).T
    assert case.twin.primal(U) == pytest.approx(certificate.primal, rel=1e-10)
    np.testing.assert_allclose(solution.details["node_squares"], (U**2).sum(axis=1), rtol=1e-10, atol=1e-14)
    value = solution.details["linear"] - 0.5 * case.tie.scale @ solution.details["dual_squares"]
    assert value == pytest.approx(certificate.dual, rel=1e-10)


@pytest.mark.parametrize("kind", ["tree", "dag"])
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("rescaling", RESCALINGS)
def test_every_cost_and_rescaling(kind, cost, rescaling):
    taxonomy = TREE if kind == "tree" else DAG
    scale = np.random.default_rng(3).choice([0.2, 0.5, 1.0], size=taxonomy.n_nodes)
    check(Case(taxonomy, cost, rescaling, NAMES[kind], scale=scale, seed=1))


@pytest.mark.parametrize("name", [name for name in SPECIAL if name not in WITHOUT_INVERSE])
def test_special_problems(name):
    check(Case(TREE, **{"names": NAMES["tree"], "seed": 2, **SPECIAL[name]}))


@pytest.mark.parametrize("seed", range(20))
def test_projected_duals_are_the_nearest(seed):
    rng = np.random.default_rng(seed)
    wanted, cost = rng.normal(size=(1, 4)) * 2, rng.uniform(0.1, 2.0, 1)
    duals, at_cost = project(wanted, cost)
    nearest = minimize(
        lambda a: 0.5 * np.sum((a - wanted[0]) ** 2),
        np.zeros(4),
        jac=lambda a: a - wanted[0],
        bounds=[(0.0, None)] * 4,
        constraints={"type": "ineq", "fun": lambda a: cost[0] - a.sum()},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(duals[0], nearest.x, atol=1e-6)
    assert at_cost[0] == (np.maximum(wanted, 0.0).sum() > cost[0])


def objective_of(n=60, width=4, seed=0, C=1.0, rescaling="margin", columns=1.0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, TREE.n_leaves, n)
    X = (rng.normal(size=(TREE.n_leaves, width))[label] + rng.normal(size=(n, width))) * columns
    problem = make_problem(X, [TREE.leaves[k] for k in label], TREE)
    tie = path_sum(TREE, problem.class_nodes, rng.uniform(0.3, 1.0, TREE.n_nodes))
    return Objective(problem, structured_hinge(problem, tie, "hamming", rescaling), tie, C=C)


@pytest.mark.parametrize("rescaling", RESCALINGS)
def test_second_derivatives_are_those_of_the_projection(rescaling):
    objective = objective_of(C=5.0, rescaling=rescaling)
    terms, rng = StructuredTerms(objective), np.random.default_rng(1)
    rows, lengths = objective.problem.X, rng.uniform(0.5, 2.0, 60)
    weights, direction = rng.normal(size=(2, 4, TREE.n_leaves))

    def drawn(weights):
        short = terms.margin - terms.ahead(rows @ weights)
        duals, at_cost = project(np.where(terms.on, lengths[:, None] * short, -np.inf), terms.cost)
        return rows.T @ terms.pulls(duals), duals, at_cost

    first, duals, at_cost = drawn(weights)
    assert 0 < at_cost.sum() < 60
    free = FreeRows(rows, terms, duals, at_cost, lengths)
    curved = free.curved(direction)
    np.testing.assert_allclose(
        -(drawn(weights + 1e-7 * direction)[0] - first) / 1e-7, curved, rtol=1e-5, atol=1e-4
    )
    # the blocks of the inverse are those of single classes
    inverses = free.inverse_blocks(np.full(TREE.n_leaves, 0.5))
    for k in range(TREE.n_leaves):
        block = np.zeros((4, 4))
        for j in range(4):
            one = np.zeros((4, TREE.n_leaves))
            one[j, k] = 1.0
            block[:, j] = free.curved(one)[:, k]
        np.testing.assert_allclose(inverses[k] @ (block + 0.5 * np.eye(4)), np.eye(4), atol=1e-9)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_features_of_any_size(C):
    objective = objective_of(C=C, columns=np.array([1.0, 1e3, 1e-2, 30.0]))
    solution = solve_proximal(objective, Limits(tol=1e-6))
    assert solution.status is Status.CONVERGED
    assert certify(objective, solution).holds(1e-6)


def test_any_dual_is_a_start_and_a_good_one_saves_steps():
    objective = objective_of(C=10.0)
    limits = Limits(tol=1e-6)
    cold = solve_proximal(objective, limits)
    near = solve_structured(objective, Limits(tol=1e-2, max_iter=500)).dual
    assert solve_proximal(objective, limits, Start(near)).n_iter < cold.n_iter
    wild = sp.csr_array(np.random.default_rng(0).normal(size=near.shape) * 100)
    assert certify(objective, solve_proximal(objective, limits, Start(wild))).holds(1e-6)
    with pytest.raises(DataError, match="start has shape"):
        solve_proximal(objective, limits, Start(near.T))


def test_the_limit_of_steps_keeps_what_was_reached():
    objective = objective_of(C=10.0)
    short = solve_proximal(objective, Limits(tol=1e-9, max_iter=5))
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 5)
    certificate = certify(objective, short)
    assert certificate.gap == pytest.approx(short.history[-1].gap, rel=1e-6)
    gaps = [one.gap for one in short.history]
    assert gaps == sorted(gaps, reverse=True)


def test_a_gap_below_rounding_ends():
    solution = solve_proximal(objective_of(), Limits(tol=-1.0))
    assert solution.status is Status.ROUNDING
    assert solution.n_iter < 1000
    assert abs(solution.history[-1].gap) < 1e-11


def test_projected_duals_keep_to_the_cost_however_far_they_come_from():
    rng = np.random.default_rng(0)
    cost = np.append(rng.random(200) + 0.1, 0.0)
    duals, at_cost = project(rng.normal(size=(201, 5)) * 1e8 + 1.0, cost)
    assert np.max(duals.sum(axis=1) - cost) < 1e-15
    assert not duals[-1].any()
    assert at_cost[duals.any(axis=1)].all()


def test_what_it_cannot_do_is_said():
    problem = make_problem([[0.0], [1.0]], ["a", "b"])
    sparse = make_problem(sp.csr_array([[0.0], [1.0]]), ["a", "b"])
    with pytest.raises(DataError, match="dense rows"):
        solve_proximal(Objective(sparse, structured_hinge(sparse, flat(2)), flat(2)))
    tie = path_sum(TREE, TREE.leaf_ids[:2], (np.arange(TREE.n_nodes) == 0).astype(float))
    singular = Objective(problem, structured_hinge(problem, flat(2)), tie)
    assert inverse_covariance(singular) is None
    with pytest.raises(DataError, match="has an inverse"):
        solve_proximal(singular)


@pytest.mark.parametrize("rescaling", RESCALINGS)
def test_proximal_points_follow_passes_that_are_slow(monkeypatch, rescaling):
    monkeypatch.setattr(choice, "_TINY_WORK", 0)
    monkeypatch.setattr(ascent_first, "_FEW_STEPS", 0)
    monkeypatch.setattr(ascent_first, "_PRODUCTS", 0.0)  # steps that take no time
    monkeypatch.setattr(ascent_first, "_QUICKER", 1e9)
    monkeypatch.setattr(ascent_first._WhileQuick, "first_face", 10**9)
    objective = objective_of(n=300, C=100.0, rescaling=rescaling)
    limits = Limits(tol=1e-7)
    assert choose_solver(objective, limits, among=("dual", "interior")).name == "ascent_first"
    solution = ascent_first.solve_ascent_first(objective, limits)
    assert solution.status is Status.CONVERGED
    assert certify(objective, solution).holds(1e-7)
    done = [one.done for one in solution.history]
    assert done == sorted(done)
    passes = next(now for now, last in zip(done[1:], done, strict=False) if now == last)
    assert passes == ascent_first._FIRST_LOOK < solution.n_iter
    monkeypatch.setattr(ascent_first, "_PRODUCTS", 1e30)  # and such as take for ever
    alone = ascent_first.solve_ascent_first(objective, Limits(tol=1e-3))
    np.testing.assert_array_equal(
        alone.dual.toarray(), solve_structured(objective, Limits(tol=1e-3)).dual.toarray()
    )


def test_a_singular_covariance_stays_with_passes(monkeypatch):
    monkeypatch.setattr(ascent_first, "_FEW_STEPS", 0)
    monkeypatch.setattr(ascent_first, "_PRODUCTS", 0.0)
    monkeypatch.setattr(ascent_first, "_QUICKER", 1e9)
    case = Case(TREE, names=NAMES["tree"], scale=(np.arange(TREE.n_nodes) < 3).astype(float))
    assert inverse_covariance(case.objective) is None
    solution = ascent_first.solve_ascent_first(case.objective, Limits(tol=1e-6))
    assert case.certify(solution).holds(1e-6)
