"""The paper's alternation over levels against the cone programme and the other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from tied_cases import CASES, TREES, Case, check_optimum, one_label

from reference.one_vs_rest_twin import LOSSES
from taxolearn.certificates import certify
from taxolearn.engines import ThreadEngine
from taxolearn.errors import DataError
from taxolearn.losses import MARGIN_LOSSES, Hinge, SquaredHinge
from taxolearn.solvers import Limits, Start, Status, block_sweep
from taxolearn.solvers.level_sweep import solve_level_sweep
from taxolearn.solvers.path_descent import solve_path_descent


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("key", TREES)
def test_the_optimum_is_the_cone_programmes(name, key):
    case, loss = CASES[key], MARGIN_LOSSES[name]
    objective = case.objective(loss)
    solution = solve_level_sweep(objective, Limits(tol=1e-10, max_iter=20_000))
    certificate = certify(objective, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1.1e-10)
    check_optimum(name, case, certificate, solution)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_do_not_change_the_answer(n_jobs, monkeypatch):
    objective = CASES["tree, scales"].objective(SquaredHinge())
    first = solve_level_sweep(objective, Limits(tol=1e-6))
    monkeypatch.setattr("taxolearn.solvers.tied_classes.LIGHT_WORK", 0)
    with ThreadEngine(n_jobs) as engine:
        again = solve_level_sweep(objective, Limits(tol=1e-6, engine=engine))
    np.testing.assert_array_equal(first.vectors.nodes, again.vectors.nodes)
    np.testing.assert_array_equal(first.dual.toarray(), again.dual.toarray())


def test_a_task_is_plain_arrays_that_it_leaves_as_they_were(monkeypatch):
    whole, seen = block_sweep.solve_nodes, []

    def watched(shared, task, clock):
        arrays = {name: part for name, part in task._asdict().items() if isinstance(part, np.ndarray)}
        before = {name: part.copy() for name, part in arrays.items()}
        first, again = whole(shared, task, clock), whole(shared, task, clock)
        for name, part in before.items():
            np.testing.assert_array_equal(arrays[name], part)
        for part, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(part, other)
            assert not any(np.shares_memory(part, given) for given in arrays.values())
        seen.append(len(task.nodes))
        return first

    monkeypatch.setattr(block_sweep, "solve_nodes", watched)
    solution = solve_level_sweep(CASES["tree, scales"].objective(SquaredHinge()))
    assert solution.status is Status.CONVERGED
    assert sum(seen) > 0


def test_it_continues_from_the_duals_of_another_solver():
    objective = CASES["tree, root pinned"].objective(Hinge())
    first = solve_path_descent(objective, Limits(tol=1e-9))
    again = solve_level_sweep(objective, Limits(tol=1.1e-9), Start(first.dual))
    assert again.n_iter == 0
    np.testing.assert_allclose(again.vectors.coef, first.vectors.coef, atol=1e-9)


def test_it_continues_from_the_vectors_of_this_very_tie():
    case = CASES["tree, root pinned"]
    objective = case.objective(Hinge())
    short = solve_level_sweep(objective, Limits(tol=1e-9, max_iter=3))
    vectors = solve_level_sweep(objective, Limits(max_iter=0), Start(short.dual, short.vectors)).vectors
    np.testing.assert_allclose(vectors.coef, short.vectors.coef, atol=1e-12)
    assert vectors.paths.shape == short.vectors.paths.shape
    # those of other paths are not taken, even if there are as many
    for other in (CASES["labels at inner nodes"], Case(one_label(["a", "l2", "b", "c", "l5", "l6"]))):
        strange = solve_level_sweep(other.objective(Hinge()), Limits(max_iter=3)).vectors
        by_dual = solve_level_sweep(objective, Limits(max_iter=0), Start(short.dual)).vectors
        found = solve_level_sweep(objective, Limits(max_iter=0), Start(short.dual, strange)).vectors
        np.testing.assert_array_equal(found.coef, by_dual.coef)


def test_limits_and_refusals():
    case = CASES["tree, root pinned"]
    objective = case.objective(Hinge())
    short = solve_level_sweep(objective, Limits(tol=1e-12, max_iter=2))
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 2)
    certificate = certify(objective, short)
    assert certificate.primal == pytest.approx(short.history[-1].primal, rel=1e-9)
    assert certificate.dual == pytest.approx(short.history[-1].dual, rel=1e-9)
    late = solve_level_sweep(objective, Limits(tol=-1.0, max_iter=10**9, max_seconds=0.3))
    assert late.status is Status.TIME_LIMIT
    with pytest.raises(DataError, match=r"^solver='levels' needs a tree$"):
        solve_level_sweep(CASES["DAG, root pinned"].objective(Hinge()))
