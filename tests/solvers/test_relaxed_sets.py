"""The relaxed label sets of the paper on DAGs: the optimum of a cone programme, its certificate, the contract."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

from reference import sets_twin as twin
from taxolearn import HierarchicalSVM, Taxonomy
from taxolearn.certificates import certify
from taxolearn.decoders import LabelSpace, SetProgramme
from taxolearn.losses import RelaxedSetHinge, set_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Start, solve_relaxed_sets
from taxolearn.solvers.relaxed_sets import REQUIRES
from taxolearn.testing import check_loss, check_solver
from taxolearn.ties import PathSum, flat

DAG = Taxonomy.from_edges(
    [
        ("r", "a"),
        ("r", "b"),
        ("r", "c"),
        ("a", "x"),
        ("b", "x"),
        ("b", "y"),
        ("c", "y"),
        ("a", "z"),
        ("c", "z"),
    ]
)


def objective(kind=RelaxedSetHinge, seed: int = 0, rows: int = 8, must: str = "all", **given) -> Objective:
    rng = np.random.default_rng(seed)
    y = [sorted(set(rng.choice(["x", "y", "z"], size=rng.integers(1, 3)).tolist())) for _ in range(rows)]
    y[0] = ["x", "y", "z"]
    X = np.round(rng.normal(size=(rows, 2)), 2)
    problem = make_problem(X, y, DAG, empty_classes="keep")
    loss = set_hinge(problem, np.ones(DAG.n_nodes), must=must, kind=kind, **given)
    scale = np.round(rng.uniform(0.3, 1.5, size=loss.n_nodes), 2)
    return Objective(problem, loss, PathSum(flat(loss.n_nodes).paths, scale), 1.0, bias_feature=0.5)


def relaxed_optimum(case: Objective) -> float:
    """The dual of the relaxed problem as one quadratic programme over the marginals of all rows, by clarabel."""
    import cvxpy as cp

    loss, problem = case.loss, case.problem
    A, b = SetProgramme(LabelSpace.of(problem, "all")).rows
    own = loss.sets(problem).toarray()
    X = np.hstack([problem.X, np.full((problem.n_rows, 1), case.bias_feature)])
    mu = cp.Variable(own.shape)
    scale = np.asarray(case.tie.scale)
    pushed = cp.multiply(np.sqrt(scale)[:, None], (own - mu).T @ X)
    delta = np.where(own > 0, -loss.miss, loss.false_alarm)
    gain = cp.sum(cp.multiply(delta, mu - own)) - 0.5 * cp.sum_squares(pushed)
    limits = [mu >= 0, mu <= 1, mu[:, 0] == 1, mu @ A.toarray().T <= np.tile(b, (len(own), 1))]
    programme = cp.Problem(cp.Maximize(gain), limits)
    with contextlib.redirect_stdout(None), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        programme.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(programme.value)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_optimum_of_the_cone_programme_and_the_certificate_brackets_it(seed):
    case = objective(seed=seed, miss_cost=[1.0, 2.5, 1.0][seed])
    check_loss(case.loss)
    solution = solve_relaxed_sets(case, Limits(tol=1e-8, max_iter=200))
    certificate = certify(case, solution)
    expected = relaxed_optimum(case)
    assert certificate.holds(1e-8)
    assert certificate.primal == pytest.approx(expected, rel=1e-6)
    rough = certify(case, solve_relaxed_sets(case, Limits(tol=1e-8, max_iter=1)))
    assert rough.lower <= expected * (1 + 1e-8)
    assert rough.upper >= expected * (1 - 1e-8)


def test_it_lies_between_the_label_sets_and_the_closures():
    """Fractional answers cost something, but less than sets whose nodes need no child."""
    case = objective(seed=1)
    relaxed = certify(case, solve_relaxed_sets(case, Limits(tol=1e-7, max_iter=500)))
    start, flat_parents = case.loss.parent_indptr, case.loss.parent_indices
    parents = [flat_parents[start[k] : start[k + 1]].tolist() for k in range(case.loss.n_nodes)]
    X, own = np.asarray(case.problem.X), case.loss.sets(case.problem).toarray()
    costs = (case.loss.miss, case.loss.false_alarm, np.asarray(case.tie.scale), case.bias_feature)
    exact, closures = (
        twin.optimum(X, own, np.ones(len(X)), twin.all_sets(parents, case.loss.must.tolist(), kept), *costs)
        for kept in (True, False)
    )
    assert exact <= relaxed.upper * (1 + 1e-8)
    assert relaxed.lower <= closures * (1 + 1e-8)
    assert closures > exact * (1 + 1e-3)  # they are not the same here


def test_it_keeps_the_contract_of_solvers_and_goes_on_from_a_dual():
    case = objective(seed=2)
    check_solver(solve_relaxed_sets, REQUIRES, case)
    first = solve_relaxed_sets(case, Limits(tol=1e-6, max_iter=200))
    again = solve_relaxed_sets(case, Limits(tol=1e-6, max_iter=200), Start(first.dual))
    assert again.n_iter <= first.n_iter


def test_a_dual_outside_the_relaxed_sets_proves_nothing():
    case = objective(seed=0)
    solution = solve_relaxed_sets(case, Limits(tol=1e-6, max_iter=200))
    wrong = solution.dual.copy()
    wrong.data[:] = wrong.data + 0.3
    assert not np.isfinite(certify(case, solution.__class__(**{**vars(solution), "dual": wrong})).lower)


def test_methods_take_it_by_name():
    case = objective()
    X, y = np.asarray(case.problem.X), [["x"], ["y", "z"], ["z"], ["x", "y"]] * 2
    model = HierarchicalSVM(DAG, relaxation="paper", miss_cost=1.0, offset=0.0).fit(X, y)
    assert model.certificate_.holds(1e-3)
    assert len(model.predict(X)) == len(X)
