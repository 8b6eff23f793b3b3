"""Dual ascent for softmax, row by row, against independent optima, Newton's method and its own definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from tied_cases import CASES, ROWS, SINGLE, check_optimum

from taxolearn.certificates import certify
from taxolearn.engines import ThreadEngine
from taxolearn.errors import DataError, LabelError
from taxolearn.kernels import softmax_rows as kernels
from taxolearn.losses.softmax import Softmax
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import (
    Limits,
    Start,
    Status,
    rows_then_newton,
    softmax_rows,
    solve_newton,
    solve_softmax_rows,
)
from taxolearn.solvers.rows_then_newton import solve_rows_then_newton
from taxolearn.ties import flat

LOSS = Softmax()


def solved(case, start=None, **limits):
    objective = case.objective(LOSS)
    solution = solve_softmax_rows(objective, Limits(**{"tol": 1e-3, **limits}), start)
    return solution, certify(objective, solution)


@pytest.mark.parametrize("key", SINGLE)
def test_it_reaches_the_optimum(key):
    case = CASES[key]
    solution, certificate = solved(case, tol=1e-10, max_iter=10_000)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1e-9)
    assert certificate.primal == pytest.approx(solution.history[-1].primal, rel=1e-9)
    assert certificate.dual == pytest.approx(solution.history[-1].dual, rel=1e-9)
    check_optimum("softmax", case, certificate, solution)


def test_sparse_rows_are_the_same_as_dense_ones_and_as_newton():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(24, 40)) * (rng.random((24, 40)) < 0.3)
    case = CASES["tree, root free"]
    dense, sparse = (make_problem(rows, case.labels, case.taxonomy) for rows in (X, sp.csr_array(X)))
    tie = case.tie(dense)
    objective, limits = Objective(dense, LOSS, tie, 3.0), Limits(tol=1e-10)
    ours = [solve_softmax_rows(replace(objective, problem=problem), limits) for problem in (dense, sparse)]
    theirs = solve_newton(objective, limits)
    np.testing.assert_allclose(ours[0].dual.toarray(), ours[1].dual.toarray(), atol=1e-9)
    np.testing.assert_allclose(ours[0].vectors.coef, theirs.vectors.coef, atol=1e-4)
    np.testing.assert_allclose(ours[0].dual.toarray(), theirs.dual.toarray(), atol=1e-4)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(softmax_rows, "LIGHT_WORK", 1000)
    found = []
    for n_jobs in (1, 2):
        with ThreadEngine(n_jobs) as engine:
            found.append(solved(CASES["tree, scales"], tol=1e-6, engine=engine)[0])
    one, two = found
    np.testing.assert_array_equal(one.vectors.coef, two.vectors.coef)
    assert [step[1:] for step in one.history] == [step[1:] for step in two.history]


def test_rows_that_cannot_be_written_to_are_copied():
    """As on an engine that shares no memory, or shares it for reading."""
    objective = CASES["tree, scales"].objective(LOSS)
    ascent = softmax_rows._Ascent(objective, Start())
    mine = softmax_rows.Iterate(*(part.copy() for part in ascent.iterate))
    for part in mine:
        part.flags.writeable = False
    order = np.arange(24)
    tasks = [softmax_rows.PassTask(order, 0.0, iterate) for iterate in (mine, ascent.iterate)]
    with Limits().run() as run:
        (moved, found), (again, kept) = run.map(softmax_rows.ascend_rows, ascent.shared, tasks, light=True)
    assert moved == again == 24
    assert kept.p is ascent.iterate.p
    for part, other, given in zip(found, kept, mine, strict=True):
        np.testing.assert_array_equal(part, other)
        assert not np.shares_memory(part, given)


def test_every_pass_raises_the_dual_and_the_bounds_hold():
    solution, certificate = solved(CASES["tree, root pinned"], tol=1e-8)
    duals = [step.dual for step in solution.history]
    assert np.all(np.diff(duals) > -1e-9 * abs(duals[-1]))
    assert max(duals) <= min(step.primal for step in solution.history) + 1e-9
    assert certificate.dual <= certificate.primal


def test_a_start_from_the_optimum_ends_at_once():
    case = CASES["row and class weights"]
    first, _ = solved(case, tol=1e-8)
    again, _ = solved(case, tol=1.1e-8, start=Start(first.dual, "not to be read"))
    assert (again.n_iter, again.status) == (0, Status.CONVERGED)
    with pytest.raises(
        DataError, match=r"^start has shape \(2, 2\), but the duals, classes x rows, have \(6, 24\)$"
    ):
        solved(case, start=Start(sp.csr_array((2, 2))))


def test_scores_of_hundreds_do_no_harm():
    """Probabilities that underflow: rows a thousand times as long, and losses that count as much."""
    problem = make_problem(
        1000.0 * ROWS, CASES["tree, root pinned"].labels, CASES["tree, root pinned"].taxonomy
    )
    tie = CASES["tree, root pinned"].tie(problem)
    objective = Objective(problem, LOSS, tie, 1e4)
    solution = solve_softmax_rows(objective, Limits(tol=1e-3, max_iter=50))
    certificate = certify(objective, solution)
    assert np.isfinite(certificate.primal)
    assert certificate.dual <= certificate.primal
    assert np.all(np.diff([step.dual for step in solution.history]) > -1e-6 * abs(certificate.primal))


def test_limits_are_reported():
    short, certificate = solved(CASES["tree, root pinned"], tol=1e-12, max_iter=1)
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 1)
    assert certificate.dual < certificate.primal
    late, _ = solved(CASES["tree, root pinned"], tol=-1.0, max_iter=10**9, max_seconds=0.3)
    assert late.status is Status.TIME_LIMIT


def creeping():
    """Rows that an intercept tells apart, which hardly counts in the penalty, at a large C."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(60, 80)) * (rng.random((60, 80)) < 0.1))
    problem = make_problem(X, [f"class {k % 6}" for k in range(60)])
    return Objective(problem, LOSS, flat(problem.n_classes), 1e3, bias_feature=30.0)


def test_newtons_method_follows_passes_that_creep():
    objective, limits, told = creeping(), Limits(tol=1e-4, max_iter=2000), []
    ascent = solve_softmax_rows(objective, limits)
    found = solve_rows_then_newton(objective, limits, None, lambda progress, dual: told.append(progress))
    assert ascent.n_iter > 500 > found.n_iter > rows_then_newton._FIRST_LOOK - 1
    assert found.status is Status.CONVERGED
    assert certify(objective, found).holds(1e-4)
    assert "products" in found.details  # Newton's
    assert told == found.history
    assert [one.done for one in found.history][-1] == found.n_iter
    assert np.all(np.diff([one.seconds for one in found.history]) >= 0)
    certificate = certify(objective, solve_newton(objective, Limits(tol=1e-9)))
    assert found.history[-1].primal == pytest.approx(certificate.primal, rel=1e-4)


def test_limits_hold_for_both_together():
    objective = creeping()
    assert solve_rows_then_newton(objective, Limits(tol=1e-4, max_iter=10)).n_iter == 10
    both = solve_rows_then_newton(objective, Limits(tol=1e-12, max_iter=62))
    assert (both.n_iter, both.status) == (62, Status.ITERATION_LIMIT)


def test_passes_that_end_soon_are_all_there_is():
    objective = CASES["tree, root pinned"].objective(LOSS)
    ours, theirs = (
        solve(objective, Limits(tol=1e-3)) for solve in (solve_rows_then_newton, solve_softmax_rows)
    )
    np.testing.assert_array_equal(ours.dual.toarray(), theirs.dual.toarray())
    assert ours.details == theirs.details


def test_several_labels_are_refused():
    problem = make_problem(ROWS, CASES["several labels a row"].labels)
    with pytest.raises(LabelError, match="labels, and this loss takes one label per row"):
        solve_softmax_rows(Objective(problem, LOSS, flat(6)))


@pytest.mark.parametrize("seed", range(20))
def test_the_step_is_the_best_one(seed):
    rng = np.random.default_rng(seed)
    p, scores = rng.dirichlet(np.full(5, 0.3)), 3.0 * rng.normal(size=5)
    if seed % 4 == 0:
        p = np.eye(5)[1]
    bend, d = 10.0 ** rng.uniform(-2, 3), np.empty(5)
    level, divergence = kernels._towards(scores, p, d)
    q = LOSS.probabilities(scores[None])[0]
    np.testing.assert_allclose(d, q - p, atol=1e-15)
    assert level == pytest.approx(np.log(np.exp(scores).sum()))
    inside = p > 0
    assert divergence == pytest.approx(np.sum(p[inside] * np.log(p[inside] / q[inside])))

    def fall(t):
        return -(d @ scores * t - bend * t * t / 2) + LOSS.conjugate((p + t * d)[None], 1.0)[0]

    step = kernels._best_step(p, d, d @ scores, bend, 1e-3 * divergence)
    best = minimize_scalar(fall, bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
    assert 0.0 < step <= 1.0
    assert fall(step) <= best.fun + 1e-5 * (fall(0.0) - best.fun) + 1e-12


def test_covariance_times_a_vector():
    case = CASES["DAG, root pinned"]
    tie = case.tie(case.problem())
    d, out = np.random.default_rng(0).normal(size=4), np.empty(4)
    A = (tie.paths * tie.scale) @ tie.paths.T
    sums = np.zeros(tie.n_nodes)
    paths = (tie.paths.indptr.astype(np.int64), tie.paths.indices.astype(np.int64), tie.scale)
    assert kernels._spread(d, *paths, sums, out) == pytest.approx(d @ A.toarray() @ d)
    np.testing.assert_allclose(out, A @ d)
    assert not sums.any()
