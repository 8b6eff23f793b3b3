"""L-BFGS for smooth losses: the optimum, the precision it ends in, monotone objectives, starts."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import scipy.sparse as sp
from tied_cases import CASES, SINGLE, check_optimum

from taxolearn.certificates import certify
from taxolearn.engines import ThreadEngine
from taxolearn.losses import MARGIN_LOSSES, Softmax
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Start, Status, line_losses, quasi_newton, solve_newton
from taxolearn.solvers.quasi_newton import solve_quasi_newton
from taxolearn.ties import covariance_tie, flat

LIMITS = Limits(tol=1e-10, max_iter=5000)


@pytest.mark.parametrize("name", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("key", CASES)
def test_margin_losses_reach_the_optimum(name, key):
    case = CASES[key]
    objective = case.objective(MARGIN_LOSSES[name])
    solution = solve_quasi_newton(objective, LIMITS)
    certificate = certify(objective, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(2e-10)
    check_optimum(name, case, certificate, solution)


@pytest.mark.parametrize("single", [False, True], ids=["double", "single first"])
@pytest.mark.parametrize("key", SINGLE)
def test_softmax_reaches_the_optimum(key, single, monkeypatch):
    monkeypatch.setattr(quasi_newton, "_SINGLE_SIZE", 0 if single else 2**62)
    case = CASES[key]
    objective = case.objective(Softmax())
    solution = solve_quasi_newton(objective, LIMITS)
    certificate = certify(objective, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1e-9)
    assert certificate.primal == pytest.approx(solution.history[-1].primal, rel=1e-12)
    check_optimum("softmax", case, certificate, solution)


def embeddings(n=400, d=12, k=9, C=10.0):
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    X = rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))
    covariance = 0.5 * np.eye(k) + np.kron(np.eye(3), np.ones((3, 3)))
    return Objective(make_problem(X, y), Softmax(), covariance_tie(covariance), C)


def test_the_objective_falls_with_every_step_in_single_precision_too(monkeypatch):
    monkeypatch.setattr(quasi_newton, "_SINGLE_SIZE", 0)
    history = solve_quasi_newton(embeddings(), Limits(tol=1e-5)).history
    primal = np.array([one.primal for one in history])
    assert len(primal) > 10
    assert (np.diff(primal) <= 1e-6 * primal[:-1]).all()
    lower = [one.dual for one in history]
    assert max(lower) <= min(primal) * (1 + 1e-6)


def test_what_single_precision_believes_is_not_taken_for_proved(monkeypatch):
    """With an error in single precision the solve goes on in double precision, and ends at the same optimum."""
    monkeypatch.setattr(quasi_newton, "_SINGLE_SIZE", 0)
    products = quasi_newton.RowProducts.__init__

    def believing(self, X, factor, n_classes, dtype, run):
        products(self, X, factor, n_classes, dtype, run)
        if dtype is np.float32:
            self.X = self.X * np.float32(1.001)

    monkeypatch.setattr(quasi_newton.RowProducts, "__init__", believing)
    objective = embeddings()
    wrong_at_first = solve_quasi_newton(objective, Limits(tol=1e-6, max_iter=2000))
    assert wrong_at_first.status is Status.CONVERGED
    assert certify(objective, wrong_at_first).holds(1e-6)


def test_single_precision_is_enough_where_its_errors_are_small(monkeypatch):
    """No step in double precision: its products are not made at all."""
    monkeypatch.setattr(quasi_newton, "_SINGLE_SIZE", 0)
    made, products = [], quasi_newton.RowProducts.__init__

    def noting(self, X, factor, n_classes, dtype, run):
        made.append(dtype)
        products(self, X, factor, n_classes, dtype, run)

    monkeypatch.setattr(quasi_newton.RowProducts, "__init__", noting)
    objective = embeddings()
    assert certify(objective, solve_quasi_newton(objective, Limits(tol=1e-4))).holds(1e-4)
    assert made == [np.float32]


def test_two_workers_find_the_same(monkeypatch):
    monkeypatch.setattr(line_losses, "_HEAVY", 0)
    objective = embeddings()
    found = []
    for workers in (1, 2):
        with ThreadEngine(workers) as engine:
            found.append(certify(objective, solve_quasi_newton(objective, Limits(tol=1e-9, engine=engine))))
    assert found[0].holds(1e-9)
    assert found[1].holds(1e-9)
    assert found[0].primal == pytest.approx(found[1].primal, rel=1e-8)


def test_a_start_saves_steps_and_limits_hold():
    objective = embeddings()
    first = solve_quasi_newton(objective, Limits(tol=1e-6))
    again = solve_quasi_newton(objective, Limits(tol=1e-6), Start(first.dual, first.vectors))
    assert again.n_iter <= 2 < first.n_iter
    stopped = solve_quasi_newton(objective, Limits(tol=1e-12, max_iter=3))
    assert (stopped.status, stopped.n_iter) == (Status.ITERATION_LIMIT, 3)
    assert solve_quasi_newton(objective, Limits(tol=1e-12, max_seconds=0.0)).status is Status.TIME_LIMIT


def test_sparse_rows_give_the_same():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 20)) * (rng.random((60, 20)) < 0.3)
    y = np.arange(60) % 4
    found = [
        solve_quasi_newton(
            Objective(make_problem(rows, y), Softmax(), flat(4)), Limits(tol=1e-9)
        ).vectors.coef
        for rows in (X, sp.csr_array(X))
    ]
    assert np.asarray(found[0]) == pytest.approx(np.asarray(found[1]), abs=1e-4)
    theirs = solve_newton(Objective(make_problem(X, y), Softmax(), flat(4)), Limits(tol=1e-9)).vectors.coef
    assert np.asarray(found[0]) == pytest.approx(np.asarray(theirs), abs=1e-4)


def test_ctrl_c_keeps_the_best_so_far():
    objective, steps = embeddings(), []

    def press(progress, dual):
        steps.append(dual().shape)
        if len(steps) == 5:
            signal.raise_signal(signal.SIGINT)

    solution = solve_quasi_newton(objective, Limits(tol=1e-12), watch=press)
    assert solution.status is Status.INTERRUPTED
    assert set(steps) == {solution.dual.shape}
    assert len(solution.history) == len(steps) <= 6
    certificate = certify(objective, solution)
    assert certificate.lower <= certificate.upper < solution.history[0].primal


def test_steps_that_end_above_the_gap_say_so():
    """No limit, and a gap that double precision cannot show: the status leaves the rest to another solver."""
    assert solve_quasi_newton(embeddings(), Limits(tol=1e-30, max_iter=10**6)).status is Status.ROUNDING
