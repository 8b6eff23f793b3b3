"""Dual coordinate descent over path sums against a cone programme, and against one-vs-rest where nothing is tied."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tied_cases import CASES, LEAVES, ROWS, check_optimum, one_label

from reference.one_vs_rest_twin import LOSSES
from taxolearn.certificates.path_sum import certify_path_sum
from taxolearn.errors import DataError
from taxolearn.losses import MARGIN_LOSSES, Hinge
from taxolearn.problem import make_problem
from taxolearn.regularizers import flat, path_sum
from taxolearn.solvers import Status, solve_one_vs_rest
from taxolearn.solvers.path_descent import solve_path_descent
from taxolearn.structure import Taxonomy

every_loss = pytest.mark.parametrize("name", LOSSES)


@every_loss
@pytest.mark.parametrize("key", CASES)
def test_the_optimum_is_the_cone_programmes(name, key):
    case, loss = CASES[key], MARGIN_LOSSES[name]
    problem = case.problem()
    tie = case.tie(problem)
    solution = solve_path_descent(problem, loss, tie, case.C, tol=1e-10, max_iter=20_000, **case.bias())
    certificate = certify_path_sum(problem, solution, loss, tie, case.C, case.bias_feature, case.bias_prior)
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
    tied = solve_path_descent(
        problem, loss, path_sum(tree, problem.class_nodes, scale), 1.0, tol=1e-11, max_iter=20_000
    )
    alone = solve_one_vs_rest(problem, loss, 1.0, tol=1e-11, max_iter=100_000)
    assert tied.history[-1].primal == pytest.approx(alone.history[-1].primal, rel=1e-9)
    np.testing.assert_allclose(tied.weights.coef, alone.weights.coef, atol=1e-4)
    np.testing.assert_allclose(tied.weights.intercept, alone.weights.intercept, atol=1e-4)


def test_sparse_rows_and_threads_give_the_same_answer():
    case = CASES["tree, root pinned"]
    problem = case.problem()
    sparse = make_problem(sp.csr_array(ROWS), case.labels, case.taxonomy)
    tie = case.tie(problem)
    dense = solve_path_descent(problem, Hinge(), tie, 1.0, tol=1e-10)
    for n_jobs in (1, 2):
        other = solve_path_descent(sparse, Hinge(), tie, 1.0, tol=1e-10, n_jobs=n_jobs)
        np.testing.assert_allclose(other.weights.coef, dense.weights.coef, atol=1e-5)


def test_a_class_without_rows_gets_its_parents_vector():
    case = CASES["classes without rows"]
    problem = case.problem()
    solution = solve_path_descent(problem, Hinge(), case.tie(problem), 1.0, bias_prior=-1.0, tol=1e-8)
    position = {name: k for k, name in enumerate(problem.classes)}
    l5 = position["l5"]
    nodes = solution.weights.nodes
    parent = nodes[:, case.taxonomy.ids_of(["b", "c"])].sum(axis=1)
    np.testing.assert_array_equal(solution.weights.coef[l5], parent)
    assert solution.weights.intercept[l5] == -1.0
    assert solution.dual[[l5]].nnz == 0


@every_loss
def test_a_start_from_the_optimum_ends_at_once(name):
    case, loss = CASES["tree, root free"], MARGIN_LOSSES[name]
    problem = case.problem()
    tie = case.tie(problem)
    first = solve_path_descent(problem, loss, tie, case.C, tol=1e-9)
    again = solve_path_descent(problem, loss, tie, case.C, tol=1.1e-9, start=first.dual)
    assert again.n_iter <= 1
    # duals of another cost are brought within their bounds
    smaller = solve_path_descent(problem, loss, tie, 0.1 * case.C, tol=1e-9, start=first.dual)
    assert certify_path_sum(problem, smaller, loss, tie, 0.1 * case.C, 1.0).holds(1.1e-9)


def test_limits_are_reported():
    case = CASES["tree, root pinned"]
    problem = case.problem()
    tie = case.tie(problem)
    short = solve_path_descent(problem, Hinge(), tie, 1.0, tol=1e-10, max_iter=1)
    assert (short.status, short.n_iter) == (Status.ITERATION_LIMIT, 1)
    late = solve_path_descent(problem, Hinge(), tie, 1e6, tol=0.0, max_iter=10**9, max_seconds=0.3)
    assert late.status is Status.TIME_LIMIT
    certificate = certify_path_sum(problem, late, Hinge(), tie, 1e6, 1.0)
    assert certificate.dual <= certificate.primal
    with pytest.raises(DataError, match="start has shape"):
        solve_path_descent(problem, Hinge(), flat(6), 1.0, start=sp.csr_array((2, 2)))
