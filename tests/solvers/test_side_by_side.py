"""One-vs-rest on dense rows: classes side by side find what ascent on the duals finds, in both precisions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn.certificates import certify
from taxolearn.engines import ThreadEngine
from taxolearn.losses import MARGIN_LOSSES
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Status, side_by_side, solve_one_vs_rest
from taxolearn.solvers.class_newton import hessian
from taxolearn.ties import flat

SMOOTH = [name for name, loss in MARGIN_LOSSES.items() if loss.facts.smooth]
every_smooth_loss = pytest.mark.parametrize("name", SMOOTH)


def rows(n=240, d=9, k=7, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return 0.8 * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)), y


def objective(name, X, y, C=3.0, bias_feature=1.0):
    weight = np.random.default_rng(1).random(X.shape[0]) + 0.5
    problem = make_problem(X, y, sample_weight=weight, class_weight={2: 3.0})
    return Objective(problem, MARGIN_LOSSES[name], flat(problem.n_classes), C, bias_feature)


@every_smooth_loss
@pytest.mark.parametrize("first", ["newton", "steps", "single"])
@pytest.mark.parametrize("bias_feature", [0.0, 2.0])
def test_dense_rows_have_the_optimum_of_sparse_ones(name, first, bias_feature, monkeypatch):
    monkeypatch.setattr(side_by_side, "_LEAST_STEPS", 10**9 if first == "newton" else 0)
    monkeypatch.setattr(side_by_side, "_NEWTON_STEPS", 10**6)
    monkeypatch.setattr(side_by_side, "_SINGLE_SIZE", 0 if first == "single" else 2**62)
    X, y = rows()
    dense, sparse = (objective(name, one, y, bias_feature=bias_feature) for one in (X, sp.csr_array(X)))
    solution = solve_one_vs_rest(dense, Limits(tol=1e-9))
    certificate = certify(dense, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1e-9)
    theirs = certify(sparse, solve_one_vs_rest(sparse, Limits(tol=1e-9)))
    np.testing.assert_allclose(certificate.class_primal, theirs.class_primal, rtol=1e-8)


@every_smooth_loss
def test_classes_that_are_slow_are_left_to_newton(name, monkeypatch):
    """Few steps side by side, then columns of what has converged are dropped, then the rest one by one."""
    monkeypatch.setattr(side_by_side, "_LEAST_STEPS", 0)
    monkeypatch.setattr(side_by_side, "_newton_cost", lambda n, d: 1.0)
    X, y = rows(k=30)
    X[y < 20] *= 0.01  # these are done first
    found = objective(name, X, y, C=100.0)
    certificate = certify(found, solve_one_vs_rest(found, Limits(tol=1e-7)))
    assert certificate.holds(1e-7)


@every_smooth_loss
def test_features_of_very_different_sizes(name):
    X, y = rows()
    found = objective(name, X * np.logspace(-4, 4, X.shape[1]), y)
    certificate = certify(found, solve_one_vs_rest(found, Limits(tol=1e-6)))
    assert certificate.holds(1e-6)


@every_smooth_loss
@pytest.mark.parametrize("class_weight", [None, {2: 3.0}])
def test_classes_of_one_weight_have_one_hessian_at_the_start(name, class_weight, monkeypatch):
    shared = []
    monkeypatch.setattr(side_by_side, "hessian", lambda *of: shared.append(hessian(*of)) or shared[-1])
    X, y = rows()
    problem = make_problem(X, y, class_weight=class_weight)
    found = Objective(problem, MARGIN_LOSSES[name], flat(problem.n_classes))
    assert certify(found, solve_one_vs_rest(found, Limits(tol=1e-9))).holds(1e-9)
    assert len(shared) == (class_weight is None)


def test_what_rounding_ends_says_so_and_limits_hold():
    X, y = rows()
    found = objective("squared_hinge", X, y)
    assert solve_one_vs_rest(found, Limits(tol=1e-30)).status is Status.ROUNDING
    assert solve_one_vs_rest(found, Limits(tol=1e-30, max_iter=2)).status is Status.ITERATION_LIMIT
    assert solve_one_vs_rest(found, Limits(tol=1e-9, max_seconds=0.0)).status is Status.TIME_LIMIT


def test_two_workers_find_the_same():
    X, y = rows()
    found = objective("logistic", X, y)
    with ThreadEngine(2) as engine:
        both = certify(found, solve_one_vs_rest(found, Limits(tol=1e-9, engine=engine)))
    one = certify(found, solve_one_vs_rest(found, Limits(tol=1e-9)))
    np.testing.assert_allclose(both.class_primal, one.class_primal, rtol=1e-8)


def test_a_loss_without_slopes_goes_the_other_way():
    """What a loss of one's own does not offer is not asked for."""

    class Plain(type(MARGIN_LOSSES["squared_hinge"])):
        second_slope = property(lambda self: (_ for _ in ()).throw(AttributeError("second_slope")))

    X, y = rows()
    problem = make_problem(X, y)
    plain = Objective(problem, Plain(), flat(problem.n_classes))
    assert not side_by_side.suits_side_by_side(plain)
