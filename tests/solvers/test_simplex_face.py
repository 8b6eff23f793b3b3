"""Newton steps on the duals of a structured hinge that are not zero, and interior points where passes do not end."""

from __future__ import annotations

import numpy as np
import pytest

from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.losses import structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import ascent_first
from taxolearn.solvers.base import Limits, Status
from taxolearn.solvers.simplex_face import Face, _step, ascend_face, make_face
from taxolearn.solvers.structured import solve_structured
from taxolearn.ties import path_sum

TREE = Taxonomy.from_paths(["a/1", "a/2", "b/3", "b/4"])


def objective_of(C=1.0, n=24, width=5, seed=0, rescaling="margin"):
    rng = np.random.default_rng(seed)
    y = [("1", "2", "3", "4")[k] for k in rng.integers(0, 4, n)]
    problem = make_problem(rng.normal(size=(n, width)), y, TREE)
    tie = path_sum(TREE, problem.class_nodes, rng.uniform(0.3, 1.0, TREE.n_nodes))
    return Objective(problem, structured_hinge(problem, tie, "hamming", rescaling), tie, C=C)


def face_of(objective, solution):
    dual = solution.dual.tocsc()
    row = np.repeat(np.arange(dual.shape[1]), np.diff(dual.indptr))
    return make_face(objective, row, dual.indices, objective.C * objective.problem.one_label[1]), dual.data


def value_of(face, alpha):
    return face.linear @ alpha - 0.5 * alpha @ face.products @ alpha


@pytest.mark.parametrize("rescaling", ["margin", "slack", "unit"])
def test_a_face_has_the_value_of_the_dual(rescaling):
    objective = objective_of(rescaling=rescaling)
    solution = solve_structured(objective, Limits(tol=1e-1, max_iter=3))
    face, alpha = face_of(objective, solution)
    certificate = certify(objective, solution)
    assert value_of(face, alpha) == pytest.approx(certificate.lower, rel=1e-9)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_steps_raise_the_value_up_to_the_optimum_of_the_face(C, seed):
    objective = objective_of(C, seed=seed)
    face, alpha = face_of(objective, solve_structured(objective, Limits(tol=1e-9, max_iter=4)))
    cost, n = face.cost, len(face.cost)
    for _ in range(30):
        last, alpha = alpha, ascend_face(face, alpha)
        assert value_of(face, alpha) >= value_of(face, last) - 1e-12 * C
        assert alpha.min() >= 0.0
        sums = np.bincount(face.row, alpha, minlength=n)
        assert np.all(sums <= cost * (1 + 1e-12))
    gradient = face.linear - face.products @ alpha
    for i in range(n):
        own = (face.row == i) & (alpha > 0)
        if own.any():
            level = 0.0 if sums[i] < cost[i] * (1 - 1e-9) else gradient[own].mean()
            np.testing.assert_allclose(gradient[own], level, atol=1e-6)


def test_one_step_brings_several_duals_to_their_bounds():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(60, 40)) / 8.0
    linear, cost = np.ones(40), np.full(40, 9.0)
    linear[[3, 17, 30]] = -1.0
    cost[5] = 0.1
    face = Face(np.arange(40), linear, factor.T @ factor + np.eye(40), cost)
    gained, alpha, turns = _step(face, np.full(40, 0.05), turns=8)
    assert gained > 0
    assert turns == 0  # at the optimum
    assert not alpha[[3, 17, 30]].any()
    assert alpha[5] == pytest.approx(0.1)
    gradient = linear - face.products @ alpha
    inside = (alpha > 0) & (alpha < cost * (1 - 1e-9))
    np.testing.assert_allclose(gradient[inside], 0.0, atol=1e-8)
    assert gradient[5] > 0
    assert np.all(gradient[alpha == 0] < 0)


def test_a_small_dense_problem_is_solved_to_rounding():
    solution = solve_structured(objective_of(10.0, n=60, width=20), Limits(tol=1e-10, max_iter=100))
    assert solution.status == Status.CONVERGED


def test_interior_points_follow_passes_that_did_not_end(monkeypatch):
    objective = objective_of(100.0, n=40)
    monkeypatch.setattr(ascent_first, "_FEW_PASSES", 2)
    solution = ascent_first.solve_ascent_first(objective, Limits(tol=1e-6))
    assert solution.status == Status.CONVERGED
    assert certify(objective, solution).holds(1e-6)
    done = [one.done for one in solution.history]
    assert done == sorted(done)
    assert done[-1] == solution.n_iter > 2
    short = ascent_first.solve_ascent_first(objective, Limits(tol=1e-6, max_iter=2))
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 2)


def test_a_gap_that_stays_large_ends_the_passes_early(monkeypatch):
    objective = objective_of(100.0, n=40)
    monkeypatch.setattr(ascent_first, "_LOOK", 3)
    passes = []
    for far in (0.0, np.inf):  # no gap, then any, is small enough to go on
        monkeypatch.setattr(ascent_first, "_FAR", far)
        solution = ascent_first.solve_ascent_first(objective, Limits(tol=1e-9))
        assert certify(objective, solution).holds(1e-9)
        done = [
            one.done for one in solution.history
        ]  # the exact look after the last pass has its number again
        passes.append(next(now for now, last in zip(done[1:], done, strict=False) if now == last))
    assert passes[0] == 3 < passes[1]
