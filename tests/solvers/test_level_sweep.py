"""The paper's alternation over levels against the cone programme and the other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from tied_cases import CASES, TREES, check_optimum

from reference.one_vs_rest_twin import LOSSES
from taxolearn.certificates.path_sum import certify_path_sum
from taxolearn.errors import TaxonomyError
from taxolearn.losses import MARGIN_LOSSES, Hinge, SquaredHinge
from taxolearn.solvers import Status, block_sweep
from taxolearn.solvers.level_sweep import solve_level_sweep
from taxolearn.solvers.path_descent import solve_path_descent


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("key", TREES)
def test_the_optimum_is_the_cone_programmes(name, key):
    case, loss = CASES[key], MARGIN_LOSSES[name]
    problem = case.problem()
    tie = case.tie(problem)
    solution = solve_level_sweep(problem, loss, tie, case.C, tol=1e-10, max_iter=20_000, **case.bias())
    certificate = certify_path_sum(problem, solution, loss, tie, case.C, case.bias_feature, case.bias_prior)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1.1e-10)
    check_optimum(name, case, certificate, solution)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_do_not_change_the_answer(n_jobs):
    case = CASES["tree, scales"]
    problem = case.problem()
    tie = case.tie(problem)
    first = solve_level_sweep(problem, SquaredHinge(), tie, 1.0, tol=1e-6)
    again = solve_level_sweep(problem, SquaredHinge(), tie, 1.0, tol=1e-6, n_jobs=n_jobs)
    np.testing.assert_array_equal(first.weights.nodes, again.weights.nodes)
    np.testing.assert_array_equal(first.dual.toarray(), again.dual.toarray())


def test_a_task_is_plain_arrays_that_it_leaves_as_they_were(monkeypatch):
    case = CASES["tree, scales"]
    problem = case.problem()
    whole, seen = block_sweep.solve_nodes, []

    def watched(task, tied, stop):
        arrays = {name: part for name, part in task._asdict().items() if isinstance(part, np.ndarray)}
        before = {name: part.copy() for name, part in arrays.items()}
        first, again = whole(task, tied, stop), whole(task, tied, stop)
        for name, part in before.items():
            np.testing.assert_array_equal(arrays[name], part)
        for part, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(part, other)
            assert not any(np.shares_memory(part, given) for given in arrays.values())
        seen.append(len(task.nodes))
        return first

    monkeypatch.setattr(block_sweep, "solve_nodes", watched)
    solution = solve_level_sweep(problem, SquaredHinge(), case.tie(problem), 1.0, tol=1e-4)
    assert solution.status is Status.CONVERGED
    assert sum(seen) > 0


def test_it_continues_from_the_duals_of_another_solver():
    case = CASES["tree, root pinned"]
    problem = case.problem()
    tie = case.tie(problem)
    first = solve_path_descent(problem, Hinge(), tie, 1.0, tol=1e-9)
    again = solve_level_sweep(problem, Hinge(), tie, 1.0, tol=1.1e-9, start=first.dual)
    assert again.n_iter == 0
    np.testing.assert_allclose(again.weights.coef, first.weights.coef, atol=1e-9)


def test_limits_and_refusals():
    case = CASES["tree, root pinned"]
    problem = case.problem()
    tie = case.tie(problem)
    short = solve_level_sweep(problem, Hinge(), tie, 1.0, tol=1e-12, max_iter=2)
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 2)
    certificate = certify_path_sum(problem, short, Hinge(), tie, 1.0, 1.0)
    assert certificate.primal == pytest.approx(short.history[-1].primal, rel=1e-9)
    assert certificate.dual == pytest.approx(short.history[-1].dual, rel=1e-9)
    late = solve_level_sweep(problem, Hinge(), tie, 1.0, tol=-1.0, max_iter=10**9, max_seconds=0.3)
    assert late.status is Status.TIME_LIMIT
    dag = CASES["DAG, root pinned"]
    with pytest.raises(TaxonomyError, match="use solve_path_descent for DAGs"):
        solve_level_sweep(dag.problem(), Hinge(), dag.tie(dag.problem()), 1.0)
