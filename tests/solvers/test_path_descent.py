"""Dual coordinate descent over path sums against a cone programme, and against one-vs-rest where nothing is tied."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tied_cases import CASES, LEAVES, ROWS, check_optimum, one_label

from reference.one_vs_rest_twin import LOSSES
from taxolearn.certificates import certify
from taxolearn.engines import ThreadEngine
from taxolearn.errors import DataError
from taxolearn.losses import MARGIN_LOSSES, Hinge, Softmax
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Start, Status, path_descent, solve_one_vs_rest
from taxolearn.solvers.path_descent import solve_path_descent
from taxolearn.structure import Taxonomy
from taxolearn.ties import flat, path_sum

every_loss = pytest.mark.parametrize("name", LOSSES)


@every_loss
@pytest.mark.parametrize("key", CASES)
def test_the_optimum_is_the_cone_programmes(name, key):
    case, loss = CASES[key], MARGIN_LOSSES[name]
    objective = case.objective(loss)
    solution = solve_path_descent(objective, Limits(tol=1e-10, max_iter=20_000))
    certificate = certify(objective, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1.1e-10)
    assert certificate.primal == pytest.approx(solution.history[-1].primal, rel=1e-9)
    check_optimum(name, case, certificate, solution)


@every_loss
def test_a_flat_tree_with_a_pinned_root_is_one_vs_rest(name):
    loss = MARGIN_LOSSES[name]
    tree = Taxonomy.from_paths([f"r/{leaf}" for leaf in LEAVES])
    problem = make_problem(ROWS, one_label(LEAVES), tree)
    scale = np.ones(tree.n_nodes)
    scale[0] = 0.0
    tie = path_sum(tree, problem.class_nodes, scale)
    tied = solve_path_descent(Objective(problem, loss, tie), Limits(tol=1e-11, max_iter=20_000))
    alone = solve_one_vs_rest(
        Objective(problem, loss, flat(problem.n_classes)), Limits(tol=1e-11, max_iter=100_000)
    )
    assert tied.history[-1].primal == pytest.approx(alone.history[-1].primal, rel=1e-9)
    np.testing.assert_allclose(tied.vectors.coef, alone.vectors.coef, atol=1e-4)
    np.testing.assert_allclose(tied.vectors.intercept, alone.vectors.intercept, atol=1e-4)


def test_sparse_rows_and_threads_give_the_same_answer():
    case = CASES["tree, root pinned"]
    objective = case.objective(Hinge())
    sparse = replace(objective, problem=make_problem(sp.csr_array(ROWS), case.labels, case.taxonomy))
    dense = solve_path_descent(objective, Limits(tol=1e-10))
    for n_jobs in (1, 2):
        with ThreadEngine(n_jobs) as engine:
            other = solve_path_descent(sparse, Limits(tol=1e-10, engine=engine))
        np.testing.assert_allclose(other.vectors.coef, dense.vectors.coef, atol=1e-5)


@pytest.mark.parametrize("key", ["tree, root pinned", "tree, root free", "a label at the pinned root"])
def test_threads_and_the_calling_thread_do_the_same(key, monkeypatch):
    """Small groups are put into one task, or not: nothing changes but the random orders."""
    objective = CASES[key].objective(Hinge())
    limits = Limits(tol=1e-10, max_iter=20_000)
    alone = solve_path_descent(objective, limits)
    monkeypatch.setattr("taxolearn.solvers.tied_classes.LIGHT_WORK", 0)
    monkeypatch.setattr(path_descent, "LIGHT_WORK", 0)
    with ThreadEngine(2) as engine:
        threads = solve_path_descent(objective, Limits(tol=1e-10, max_iter=20_000, engine=engine))
    np.testing.assert_allclose(threads.vectors.coef, alone.vectors.coef, atol=1e-4)


def test_a_task_leaves_its_arrays_as_they_were(monkeypatch):
    whole, seen = path_descent.visit_group, []

    def watched(shared, task, clock):
        arrays = {name: part for name, part in task._asdict().items() if isinstance(part, np.ndarray)}
        before = {name: part.copy() for name, part in arrays.items()}
        first, again = whole(shared, task, clock), whole(shared, task, clock)
        for name, part in before.items():
            np.testing.assert_array_equal(arrays[name], part)
        for part, other in zip(first[:3], again[:3], strict=True):
            np.testing.assert_array_equal(part, other)
            assert not any(np.shares_memory(part, given) for given in arrays.values())
        seen.append(first.epochs)
        return first

    monkeypatch.setattr(path_descent, "visit_group", watched)
    solution = solve_path_descent(CASES["tree, scales"].objective(Hinge()))
    assert solution.status is Status.CONVERGED
    assert sum(seen) == solution.details["epochs"] > 0


def test_a_class_without_rows_gets_its_parents_vector():
    case = CASES["classes without rows"]
    objective = case.objective(Hinge(), bias_prior=-1.0)
    solution = solve_path_descent(objective, Limits(tol=1e-8))
    position = {name: k for k, name in enumerate(objective.problem.classes)}
    l5 = position["l5"]
    nodes = solution.vectors.nodes
    parent = nodes[:, case.taxonomy.ids_of(["b", "c"])].sum(axis=1)
    np.testing.assert_array_equal(solution.vectors.coef[l5], parent)
    assert solution.vectors.intercept[l5] == -1.0
    assert solution.dual[[l5]].nnz == 0


@every_loss
def test_a_start_from_the_optimum_ends_at_once(name):
    case, loss = CASES["tree, root free"], MARGIN_LOSSES[name]
    objective, limits = case.objective(loss), Limits(tol=1e-9)
    first = solve_path_descent(objective, limits)
    again = solve_path_descent(objective, Limits(tol=1.1e-9), Start(first.dual, "not to be read"))
    assert again.n_iter <= 1
    # duals of another cost are brought within their bounds
    cheaper = case.objective(loss, C=0.1 * case.C)
    smaller = solve_path_descent(cheaper, limits, Start(first.dual))
    assert certify(cheaper, smaller).holds(1.1e-9)


def test_limits_are_reported():
    case = CASES["tree, root pinned"]
    short = solve_path_descent(case.objective(Hinge()), Limits(tol=1e-10, max_iter=1))
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 1)
    objective = case.objective(Hinge(), C=1e6)
    late = solve_path_descent(objective, Limits(tol=0.0, max_iter=10**9, max_seconds=0.3))
    assert late.status is Status.TIME_LIMIT
    certificate = certify(objective, late)
    assert certificate.dual <= certificate.primal
    none = solve_path_descent(objective, Limits(max_seconds=0.0))
    assert (none.status, none.n_iter, len(none.history)) == (Status.TIME_LIMIT, 0, 1)
    with pytest.raises(DataError, match="start has shape"):
        solve_path_descent(objective, start=Start(sp.csr_array((2, 2))))
    with pytest.raises(DataError, match=r"^solver='descent' needs a loss of the kind margin, not 'softmax'$"):
        solve_path_descent(case.objective(Softmax()))
