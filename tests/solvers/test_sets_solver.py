"""Structured hinge over label sets: the optimum of a cone programme, the contract of solvers, starts and threads."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from reference import sets_twin as twin
from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.engines import ThreadEngine, interrupts
from taxolearn.errors import DataError, LabelError
from taxolearn.losses import set_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Start, Status, row_ascent, sets, solve_sets
from taxolearn.testing import check_loss, check_solver
from taxolearn.ties import PathSum, flat, path_sum

TREE = Taxonomy.from_paths(["r/a/a1", "r/a/a2", "r/b/b1", "r/b/b2", "r/c"])
DAG = Taxonomy.from_edges(
    [
        ("r", "a"),
        ("r", "b"),
        ("a", "x"),
        ("b", "x"),
        ("a", "y"),
        ("b", "z"),
        ("r", "c"),
        ("z", "w"),
        ("x", "w"),
    ]
)
LABELS = {"tree": ["a1", "a2", "b1", "b2", "c", "a"], "dag": ["x", "y", "z", "c", "a", "w"]}


def objective(
    shape: str,
    *,
    rows: int = 14,
    C: float = 1.0,
    seed: int = 0,
    is_flat: bool = False,
    sparse: bool = False,
    **given,
) -> Objective:
    rng = np.random.default_rng(seed)
    taxonomy = TREE if shape == "tree" else DAG
    y = [sorted(set(rng.choice(LABELS[shape], size=rng.integers(1, 4)).tolist())) for _ in range(rows)]
    X = np.round(rng.normal(size=(rows, 3)), 2)
    problem = make_problem(sp.csr_array(X) if sparse else X, y, taxonomy, empty_classes="keep")
    loss = set_hinge(problem, np.ones(taxonomy.n_nodes), flat=is_flat, **given)
    scale = np.round(rng.uniform(0.3, 1.5, size=loss.n_nodes), 2)
    return Objective(problem, loss, PathSum(flat(loss.n_nodes).paths, scale), C, bias_feature=0.5)


def written_down(case: Objective):
    """What the twin wants: rows, own sets, weights, all sets, costs, scales."""
    loss, problem = case.loss, case.problem
    parents = [
        loss.parent_indices[loss.parent_indptr[n] : loss.parent_indptr[n + 1]].tolist()
        for n in range(loss.n_nodes)
    ]
    own = np.array([twin.closed(parents, loss.class_nodes[row.indices]) for row in problem.targets])
    every = twin.all_sets(parents, loss.must, loss.is_tree)
    return problem.X, own, case.C * problem.row_weight, every, loss.miss, loss.false_alarm, case.tie.scale


CASES = {
    "tree": {"shape": "tree"},
    "tree, misses cost more": {"shape": "tree", "miss_cost": 2.5, "cost": "leaves"},
    "tree, only the root": {"shape": "tree", "must": "root", "C": 10.0},
    "star": {"shape": "tree", "is_flat": True},
    "dag": {"shape": "dag"},
    "dag, misses cost more": {"shape": "dag", "miss_cost": 2.5, "C": 10.0},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_optimum_is_that_of_the_cone_programme_and_certified(case):
    made = objective(**case)
    expected = twin.optimum(*written_down(made), made.bias_feature)
    solution = solve_sets(made, Limits(tol=1e-7, max_iter=20_000))
    certificate = certify(made, solution)
    assert certificate.holds(1e-6)
    assert certificate.lower <= expected * (1 + 1e-8)
    assert certificate.upper >= expected * (1 - 1e-8)
    assert certificate.primal == pytest.approx(expected, rel=1e-6)
    U, bias = solution.vectors.coef, solution.details["node_bias"]
    slow = twin.primal(*written_down(made), U, bias, made.bias_feature)
    assert certificate.primal == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_keeps_the_contract_of_losses_and_solvers(case):
    made = objective(**case)
    check_loss(made.loss)
    check_solver(solve_sets, sets.REQUIRES, made)
    tied = path_sum(TREE, np.arange(TREE.n_nodes), np.ones(TREE.n_nodes))
    if made.n_units == tied.n_classes:
        check_solver(solve_sets, sets.REQUIRES, Objective(made.problem, made.loss, tied))


@pytest.mark.parametrize("shape", ["tree", "dag"])
def test_no_row_has_a_negative_gap_and_bounds_close_in(shape):
    made = objective(shape, rows=60, C=3.0)
    told = []
    solution = solve_sets(
        made, Limits(tol=1e-5), None, lambda progress, dual: told.append((progress, dual()))
    )
    upper = certify(made, solution).upper
    for progress, dual in told:
        assert progress.dual <= progress.primal
        stopped = certify(
            made, type(solution)(solution.vectors, dual, Status.CONVERGED, 0, [], solution.details)
        )
        assert np.isfinite(stopped.dual)
        assert stopped.lower <= upper


def test_sparse_rows_float32_and_threads_reach_the_same_optimum(monkeypatch):
    made = objective("tree", rows=80)
    expected = certify(made, solve_sets(made, Limits(tol=1e-6))).primal
    monkeypatch.setattr(sets, "_SINGLE_BYTES", 0)
    monkeypatch.setattr(row_ascent, "_THREAD_ENTRIES", 0)
    with ThreadEngine(2) as engine:
        solution = solve_sets(objective("tree", rows=80, sparse=True), Limits(tol=1e-4, engine=engine))
    assert solution.vectors.dtype == np.float32
    certificate = certify(made, solution)
    assert certificate.holds(1e-4)
    assert certificate.primal == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize("shape", ["tree", "dag"])
def test_it_goes_on_from_a_dual_also_of_another_C_and_mends_what_is_not_feasible(shape):
    made, larger = objective(shape, rows=60), objective(shape, rows=60, C=4.0)
    solution = solve_sets(made, Limits(tol=1e-6))
    again = solve_sets(made, Limits(tol=1e-6), Start(solution.dual))
    assert again.n_iter <= 3 < solution.n_iter
    scaled = solve_sets(larger, Limits(tol=1e-3, max_iter=1), Start(4.0 * solution.dual))
    fresh = solve_sets(larger, Limits(tol=1e-3, max_iter=1))
    assert certify(larger, scaled).dual > certify(larger, fresh).dual
    wrong = solution.dual.copy()
    wrong.data *= 3.0
    mended = solve_sets(made, Limits(tol=1e-4), Start(wrong))
    assert certify(made, mended).holds(1e-4)
    with pytest.raises(DataError, match="start has shape"):
        solve_sets(made, Limits(), Start(sp.csr_array((2, 2))))


@pytest.mark.parametrize("light", [True, False], ids=["in this thread", "on a thread"])
def test_every_press_ends_the_fit(light, monkeypatch):
    if not light:
        monkeypatch.setattr(row_ascent, "_LIGHT_STEPS", 0)
    case = objective("tree", rows=90)
    solve_sets(case, Limits(max_iter=2))  # compiled before the first press
    for seconds in np.random.default_rng(1).uniform(0.0, 0.2, size=4):
        with interrupts() as request:
            timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            solution = solve_sets(case, Limits(tol=-1.0, max_iter=10**9, max_seconds=60.0))
            timer.join()
        assert request.pressed
        assert solution.status is Status.INTERRUPTED
        assert certify(case, solution).lower > 0.0


def test_a_row_that_ends_where_a_child_is_needed_is_refused():
    problem = make_problem([[0.0], [1.0]], [["a"], ["b1", "c"]], TREE, empty_classes="keep")
    with pytest.raises(LabelError, match="row 0: its labels end at 'a', which must have a chosen child"):
        set_hinge(problem, must="all")
    assert not set_hinge(problem).must[TREE.ids_of(["a"])[0]]
