"""Newton's method for smooth losses against independent optima and the dual solver."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tied_cases import CASES, ROWS, SINGLE, check_optimum

from taxolearn.certificates.path_sum import certify_path_sum
from taxolearn.certificates.softmax import certify_softmax
from taxolearn.errors import DataError, LabelError
from taxolearn.losses import MARGIN_LOSSES, Hinge, Logistic, SquaredHinge
from taxolearn.losses.softmax import Softmax
from taxolearn.problem import make_problem
from taxolearn.regularizers import flat
from taxolearn.solvers import Status
from taxolearn.solvers.path_descent import solve_path_descent
from taxolearn.solvers.smooth import solve_smooth


def certified(case, loss, solution):
    problem = case.problem()
    tie, bias = case.tie(problem), (case.bias_feature, case.bias_prior)
    if isinstance(loss, Softmax):
        return certify_softmax(problem, solution, tie, case.C, *bias)
    return certify_path_sum(problem, solution, loss, tie, case.C, *bias)


@pytest.mark.parametrize("name", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("key", CASES)
def test_margin_losses_reach_the_optimum(name, key):
    case, loss = CASES[key], MARGIN_LOSSES[name]
    problem = case.problem()
    solution = solve_smooth(problem, loss, case.tie(problem), case.C, tol=1e-11, **case.bias())
    certificate = certified(case, loss, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(2e-11)
    check_optimum(name, case, certificate, solution)


@pytest.mark.parametrize("key", SINGLE)
def test_softmax_reaches_the_optimum(key):
    case = CASES[key]
    problem = case.problem()
    solution = solve_smooth(problem, Softmax(), case.tie(problem), case.C, tol=1e-10, **case.bias())
    certificate = certified(case, Softmax(), solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1e-9)
    assert certificate.primal == pytest.approx(solution.history[-1].primal, rel=1e-12)
    check_optimum("softmax", case, certificate, solution)


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), Softmax()], ids=lambda loss: loss.name)
def test_sparse_rows_more_features_than_rows_and_other_ways_round(loss):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(24, 40)) * (rng.random((24, 40)) < 0.3)
    case = CASES["tree, root free"]
    dense = make_problem(X, case.labels, case.taxonomy)
    tie = case.tie(dense)
    first = solve_smooth(dense, loss, tie, 1.0, tol=1e-11)
    other = solve_smooth(make_problem(sp.csr_array(X), case.labels, case.taxonomy), loss, tie, 1.0, tol=1e-11)
    np.testing.assert_allclose(first.weights.coef, other.weights.coef, atol=1e-5)


def test_it_agrees_with_the_dual_solver():
    case = CASES["DAG, root free, several labels"]
    problem = case.problem()
    tie = case.tie(problem)
    newton = solve_smooth(problem, Logistic(), tie, 1.0, tol=1e-11)
    descent = solve_path_descent(problem, Logistic(), tie, 1.0, tol=1e-11)
    np.testing.assert_allclose(newton.weights.coef, descent.weights.coef, atol=1e-4)
    np.testing.assert_allclose(newton.dual.toarray(), descent.dual.toarray(), atol=1e-4)


@pytest.mark.parametrize("loss", [Logistic(), Softmax()], ids=lambda loss: loss.name)
def test_a_start_from_the_optimum_ends_at_once(loss):
    case = CASES["tree, scales"]
    problem = case.problem()
    tie = case.tie(problem)
    first = solve_smooth(problem, loss, tie, 1.0, tol=1e-9)
    again = solve_smooth(problem, loss, tie, 1.0, tol=1.01e-9, start=first.weights)
    assert again.n_iter == 0
    assert again.status is Status.CONVERGED


def test_softmax_does_not_depend_on_the_bias_prior():
    case = CASES["tree, root pinned"]
    problem = case.problem()
    tie = case.tie(problem)
    first, second = (
        solve_smooth(problem, Softmax(), tie, 1.0, tol=1e-10, bias_prior=prior) for prior in (0.0, -1.0)
    )
    np.testing.assert_allclose(first.weights.intercept, second.weights.intercept + 1.0, atol=1e-4)
    assert first.history[-1].primal == pytest.approx(second.history[-1].primal, rel=1e-9)


def test_limits_are_reported():
    case = CASES["tree, root pinned"]
    problem = case.problem()
    tie = case.tie(problem)
    short = solve_smooth(problem, Softmax(), tie, 100.0, tol=1e-12, max_iter=1)
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 1)
    certificate = certify_softmax(problem, short, tie, 100.0, 1.0)
    assert certificate.dual < certificate.primal
    late = solve_smooth(problem, Softmax(), tie, 1.0, tol=-1.0, max_iter=10**9, max_seconds=0.3)
    assert late.status is Status.TIME_LIMIT


def test_what_it_cannot_solve_is_refused():
    problem = make_problem(ROWS, CASES["several labels a row"].labels)
    with pytest.raises(LabelError, match="labels, but loss='softmax' needs exactly one a row"):
        solve_smooth(problem, Softmax(), flat(6), 1.0)
    with pytest.raises(DataError, match="'hinge' has no derivative everywhere"):
        solve_smooth(problem, Hinge(), flat(6), 1.0)
