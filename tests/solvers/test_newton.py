"""Newton's method for smooth losses against independent optima and the dual solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tied_cases import CASES, ROWS, SINGLE, check_optimum

from taxolearn import ClassGraph
from taxolearn.certificates import certify
from taxolearn.errors import DataError, LabelError
from taxolearn.losses import MARGIN_LOSSES, Hinge, Logistic, SquaredHinge
from taxolearn.losses.softmax import Softmax
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Start, Status
from taxolearn.solvers.newton import solve_newton
from taxolearn.solvers.path_descent import solve_path_descent
from taxolearn.ties import Factor, covariance_tie, flat, graph_tie
from taxolearn.vectors import ClassVectors, NodeVectors

SMOOTH = pytest.mark.parametrize(
    "loss", [SquaredHinge(), Logistic(), Softmax()], ids=lambda loss: loss.facts.name
)


@pytest.mark.parametrize("name", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("key", CASES)
def test_margin_losses_reach_the_optimum(name, key):
    case, loss = CASES[key], MARGIN_LOSSES[name]
    objective = case.objective(loss)
    solution = solve_newton(objective, Limits(tol=1e-11, max_iter=200))
    certificate = certify(objective, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(2e-11)
    check_optimum(name, case, certificate, solution)


@pytest.mark.parametrize("key", SINGLE)
def test_softmax_reaches_the_optimum(key):
    case = CASES[key]
    objective = case.objective(Softmax())
    solution = solve_newton(objective, Limits(tol=1e-10, max_iter=200))
    certificate = certify(objective, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1e-9)
    assert certificate.primal == pytest.approx(solution.history[-1].primal, rel=1e-12)
    check_optimum("softmax", case, certificate, solution)


@SMOOTH
def test_sparse_rows_more_features_than_rows_and_other_ways_round(loss):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(24, 40)) * (rng.random((24, 40)) < 0.3)
    case = CASES["tree, root free"]
    dense = make_problem(X, case.labels, case.taxonomy)
    tie = case.tie(dense)
    objective = Objective(dense, loss, tie)
    first = solve_newton(objective, Limits(tol=1e-11))
    sparse = make_problem(sp.csr_array(X), case.labels, case.taxonomy)
    other = solve_newton(replace(objective, problem=sparse), Limits(tol=1e-11))
    np.testing.assert_allclose(first.vectors.coef, other.vectors.coef, atol=1e-5)


def test_it_agrees_with_the_dual_solver():
    objective = CASES["DAG, root free, several labels"].objective(Logistic())
    newton = solve_newton(objective, Limits(tol=1e-11))
    descent = solve_path_descent(objective, Limits(tol=1e-11))
    np.testing.assert_allclose(newton.vectors.coef, descent.vectors.coef, atol=1e-4)
    np.testing.assert_allclose(newton.dual.toarray(), descent.dual.toarray(), atol=1e-4)


@pytest.mark.parametrize("loss", [Logistic(), Softmax()], ids=lambda loss: loss.facts.name)
def test_a_start_from_the_optimum_ends_at_once(loss):
    objective = CASES["tree, scales"].objective(loss)
    first = solve_newton(objective, Limits(tol=1e-9))
    again = solve_newton(objective, Limits(tol=1.01e-9), Start(None, first.vectors))
    assert again.n_iter == 0
    assert again.status is Status.CONVERGED
    # a dual is close to its vectors, not the same; a worse one is no harm
    assert solve_newton(objective, Limits(tol=1e-9), Start(first.dual)).n_iter <= 2
    worse = sp.csr_array(np.full(first.dual.shape, 1.0 / 6))
    assert solve_newton(objective, Limits(tol=1.01e-9), Start(worse, first.vectors)).n_iter == 0
    with pytest.raises(DataError, match="start has shape"):
        solve_newton(objective, start=Start(sp.csr_array((2, 2))))


@SMOOTH
@pytest.mark.parametrize("tol", [1e-4, -1.0])
def test_the_objective_falls_with_every_step_and_the_start_is_never_better(loss, tol):
    objective = CASES["tree, root free"].objective(loss, C=100.0)
    first = solve_newton(objective, Limits(tol=1e-3))
    for start in (None, Start(first.dual), Start(None, first.vectors)):
        found = solve_newton(objective, Limits(tol=tol, max_iter=60), start)
        assert np.all(np.diff([step.primal for step in found.history]) <= 0)
        assert certify(objective, found).primal == pytest.approx(found.history[-1].primal, rel=1e-12)
        if start is not None and start.state is not None:
            assert found.history[0].primal <= certify(objective, first).primal * (1 + 1e-12)


@SMOOTH
@pytest.mark.parametrize("key", ["tree, root free", "row and class weights", "tree, scales"])
def test_any_factor_of_the_covariance_gives_the_same_answer(loss, key):
    objective = CASES[key].objective(loss)
    expected = solve_newton(objective, Limits(tol=1e-11))
    wide = np.random.default_rng(0).normal(size=(12, 12))
    rotated = np.linalg.qr(wide)[0][: objective.tie.factor().shape[1]]
    ties = {
        "cholesky": covariance_tie(objective.tie.covariance),
        "rotated": Factor(sp.csr_array(objective.tie.factor() @ rotated)),
    }
    for tie in ties.values():
        other = Objective(objective.problem, loss, tie, objective.C, **CASES[key].bias())
        found = solve_newton(other, Limits(tol=1e-11))
        assert isinstance(found.vectors, NodeVectors)
        assert found.state is None
        np.testing.assert_array_equal(found.vectors.paths.toarray(), tie.matrix.toarray())
        np.testing.assert_allclose(found.vectors.coef, expected.vectors.coef, atol=1e-4)
        np.testing.assert_allclose(found.vectors.intercept, expected.vectors.intercept, atol=1e-4)
        np.testing.assert_allclose(found.dual.toarray(), expected.dual.toarray(), atol=1e-4)
        assert certify(other, found).holds(2e-11)
        again = solve_newton(other, Limits(tol=1.01e-11), Start(None, found.vectors))
        assert again.n_iter == 0
        # vectors under another matrix are not taken
        strange = Start(
            None, NodeVectors(found.vectors.nodes, 2.0 * found.vectors.paths, found.vectors.intercept)
        )
        assert solve_newton(other, Limits(tol=1e-11), strange).n_iter == found.n_iter


@SMOOTH
def test_a_graph_gives_one_vector_per_class_and_goes_on_from_its_state(loss):
    case = CASES["tree, root pinned"]
    objective = case.objective(loss)
    expected = solve_newton(objective, Limits(tol=1e-11))
    tie = graph_tie(ClassGraph.from_taxonomy(case.taxonomy), objective.problem.classes, pinned=["r"])
    other = Objective(objective.problem, loss, tie)
    found = solve_newton(other, Limits(tol=1e-11))
    assert isinstance(found.vectors, ClassVectors)
    np.testing.assert_allclose(found.vectors.coef, expected.vectors.coef, atol=1e-4)
    np.testing.assert_allclose(found.state.coef, found.vectors.coef, atol=1e-12)
    assert certify(other, found).holds(2e-11)
    assert solve_newton(other, Limits(tol=1.01e-11), Start(None, found.state)).n_iter == 0


def test_softmax_does_not_depend_on_the_bias_prior():
    case = CASES["tree, root pinned"]
    first, second = (
        solve_newton(case.objective(Softmax(), bias_prior=prior), Limits(tol=1e-10)) for prior in (0.0, -1.0)
    )
    np.testing.assert_allclose(first.vectors.intercept, second.vectors.intercept + 1.0, atol=1e-4)
    assert first.history[-1].primal == pytest.approx(second.history[-1].primal, rel=1e-9)


def test_limits_are_reported():
    objective = CASES["tree, root pinned"].objective(Softmax(), C=100.0)
    short = solve_newton(objective, Limits(tol=1e-12, max_iter=1))
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 1)
    certificate = certify(objective, short)
    assert certificate.dual < certificate.primal
    endless = Limits(tol=-1.0, max_iter=10**9, max_seconds=0.3)
    late = solve_newton(CASES["tree, root pinned"].objective(Softmax()), endless)
    assert late.status is Status.TIME_LIMIT
    none = solve_newton(objective, Limits(max_seconds=0.0))
    assert (none.status, none.n_iter, len(none.history)) == (Status.TIME_LIMIT, 0, 1)


def test_what_it_cannot_solve_is_refused():
    problem = make_problem(ROWS, CASES["several labels a row"].labels)
    with pytest.raises(LabelError, match="labels, and this loss takes one label per row"):
        solve_newton(Objective(problem, Softmax(), flat(6)))
    with pytest.raises(
        DataError, match=r"^solver='newton' needs a loss with a derivative everywhere, not 'hinge'$"
    ):
        solve_newton(Objective(problem, Hinge(), flat(6)))


@SMOOTH
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_features_as_large_as_they_may_be(loss, form):
    case = CASES["tree, root pinned"]
    objective = case.objective(loss)

    def scaled(factor):
        return replace(
            objective, problem=make_problem(form(ROWS * [1.0, factor, 1.0]), case.labels, case.taxonomy)
        )

    large = scaled(1e100)
    found = solve_newton(large)
    assert np.isfinite(found.history[-1].primal)
    assert found.history[-1].primal <= found.history[0].primal
    with pytest.raises(
        DataError, match=r"^column 1 of X reaches \d\.?\d*e\+160, .*; scale the features, .*StandardScaler$"
    ):
        solve_newton(scaled(1e160))
