"""Shared SVM against its joint cone programme: optimum, bounds, a start that is stuck, limits."""

from __future__ import annotations

import warnings
import weakref
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from reference import node_weights_twin as structures
from reference.structured_twin import cost_matrix, row_costs, with_constant
from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.errors import DataError
from taxolearn.losses import structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.scales import largest_penalty, node_weights, shared_scales
from taxolearn.solvers import Limits, Start, Status, shared, solve_shared, solve_structured
from taxolearn.solvers.interior import solve_interior
from taxolearn.solvers.shared import Alternation
from taxolearn.ties import path_sum, shared_tie

N_ROWS = 24
TREE = Taxonomy.from_paths(["r/a/l1", "r/a/l2", "r/b/l3", "r/b/l4"])


def joint_optimum(Z, y, c, P, D):
    """(14) over u and a together; 1/2 ||u||^2 / a is a cone, so one programme does it."""
    import cvxpy as cp

    P = P[:, P.any(axis=0)]
    U, cost = cp.Variable((P.shape[1], Z.shape[1])), cp.Variable(P.shape[1])
    a, slack = cp.Variable(P.shape[1], nonneg=True), cp.Variable(len(y), nonneg=True)
    W = P @ U
    constraints = [P @ a <= 1]
    constraints += [cp.quad_over_lin(U[n], a[n]) <= cost[n] for n in range(P.shape[1])]
    for i in np.flatnonzero(c):
        others = [k for k in range(len(D)) if k != y[i]]
        margins = (W[[y[i]] * len(others)] - W[others]) @ Z[i]
        constraints.append(slack[i] >= D[others, y[i]] - margins)
    programme = cp.Problem(cp.Minimize(0.5 * cp.sum(cost) + c @ slack), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about accuracy: 1e-9 is asked for, 1e-7 needed
        programme.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert programme.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    return float(programme.value)


class Case:
    """A problem with its first weights, solved by both."""

    def __init__(self, taxonomy, labels, C=1.0, cost="zero_one", seed=0, **weights):
        rng = np.random.default_rng(seed)
        self.X, self.C, self.cost, self.weights = rng.normal(size=(N_ROWS, 4)), C, cost, weights
        self.y = [labels[k] for k in rng.integers(len(labels), size=N_ROWS)]
        self.y[: len(labels)] = labels
        self.problem = make_problem(self.X, self.y, taxonomy, empty_classes="keep", **weights)
        self.nodes = self.problem.class_nodes
        self.first = shared_tie(
            taxonomy, self.nodes, node_weights(taxonomy, "maxmin", class_nodes=self.nodes)
        )
        self.loss = structured_hinge(self.problem, self.first, cost)

    def objective(self, tie=None):
        return Objective(self.problem, self.loss, self.first if tie is None else tie, self.C)

    def solve(self, tie=None, start=None, **limits):
        return solve_shared(self.objective(tie), Limits(**{"tol": 1e-3, **limits}), start)

    def certificate(self, solution):
        return certify(self.objective(), solution)

    def optimum(self):
        taxonomy = self.problem.taxonomy
        c = row_costs(self.y, self.C, self.weights.get("sample_weight"), self.weights.get("class_weight"))
        labels = np.array([self.problem.classes.index(name) for name in self.y])
        P = structures.path_matrix(taxonomy, self.nodes.tolist())
        D = cost_matrix(self.cost, taxonomy, self.nodes, None)
        return joint_optimum(with_constant(self.X, 1.0), labels, c, P, D)


def check(case, tol=2e-6):
    solution = case.solve(tol=tol, max_iter=100_000)
    assert solution.status is Status.CONVERGED
    certificate = case.certificate(solution)
    optimum = case.optimum()
    assert certificate.holds(tol * 1.01)
    assert certificate.primal == pytest.approx(optimum, rel=1e-5)
    assert certificate.dual <= optimum * (1 + 1e-7)
    assert certificate.primal >= optimum * (1 - 1e-7)
    assert certificate.primal == pytest.approx(solution.history[-1].primal, rel=1e-9)
    assert certificate.dual == pytest.approx(solution.history[-1].dual, rel=1e-9)
    values = [progress.primal for progress in solution.history]
    assert all(b <= a for a, b in pairwise(values))
    assert (case.first.paths @ solution.details["scale"]).max() <= 1 + 1e-9
    return solution


def random_case(seed, dag):
    """Leaves as labels, or (every third) nodes at any height, which leaves classes without rows."""
    taxonomy = structures.random_structure(seed, dag=dag)
    labels = [taxonomy.nodes[node] for node in structures.random_classes(taxonomy, seed)]
    if len(labels) < 2:
        labels = list(taxonomy.nodes[1:])
    return Case(taxonomy, labels, [0.1, 1.0, 10.0][seed % 3], ["zero_one", "hamming"][seed % 2], seed)


@pytest.mark.parametrize("seed", range(20))
def test_the_joint_optimum_on_random_trees(seed):
    check(random_case(seed, dag=False))


@pytest.mark.parametrize("seed", [0, 1, 3, 9, 12, 15, 16])
def test_the_joint_optimum_on_random_dags(seed):
    case = random_case(seed, dag=True)
    check(case)


def test_row_and_class_weights():
    weights = np.random.default_rng(5).choice([0.0, 0.5, 1.0, 3.0], size=N_ROWS)
    weights[:4] = 1.0
    check(Case(TREE, ["l1", "l2", "l3", "l4"], sample_weight=weights, class_weight={"l1": 3.0, "l4": 0.5}))


def test_labels_at_inner_nodes_and_classes_without_rows():
    case = Case(TREE, ["a", "l1", "l3"])
    assert case.problem.classes == ("a", "l1", "l2", "l3", "l4")
    solution = check(case)
    assert np.isfinite(solution.vectors.coef).all()


def test_a_warm_start_takes_fewer_passes():
    case = Case(TREE, ["l1", "l2", "l3", "l4"])
    cold = case.solve(tol=1e-5)
    warm = case.solve(tol=1e-5, start=Start(cold.dual, cold.state))
    assert warm.status is Status.CONVERGED
    assert warm.n_iter < cold.n_iter
    np.testing.assert_array_equal(cold.state, cold.details["scale"])
    assert warm.n_iter < case.solve(tol=1e-5, start=Start(cold.dual)).n_iter


@pytest.mark.parametrize(
    "state",
    ["no array", np.ones(3), np.zeros(TREE.n_nodes), np.ones(TREE.n_nodes), np.full(TREE.n_nodes, 1)],
    ids=["word", "length", "zero", "too heavy", "integers"],
)
def test_a_state_that_does_not_fit_is_not_used(state):
    case = Case(TREE, ["l1", "l2", "l3", "l4"])
    found, plain = case.solve(start=Start(None, state)), case.solve()
    np.testing.assert_array_equal(found.state, plain.state)


def test_it_requires_scales_that_are_learned():
    case = Case(TREE, ["l1", "l2", "l3", "l4"])
    given = path_sum(TREE, case.nodes, case.first.scale)
    with pytest.raises(DataError, match=r"^solver='shared' needs scales that are learned$"):
        case.solve(given)


def test_a_zero_weight_is_refused():
    case = Case(TREE, ["l1", "l2", "l3", "l4"])
    flat = shared_tie(TREE, case.nodes, TREE.is_leaf.astype(float))
    with pytest.raises(DataError, match=r"the first weight of 'r' is 0, .* strictly positive weights$"):
        case.solve(flat)


def test_why_a_zero_weight_is_refused():
    """By turns alone, u_n = a_n z_n and a_n from ||u_n||: from a flat start every inner node stays at zero."""
    names = [f"{group}{k}" for group in "ab" for k in range(4)]
    tree = Taxonomy.from_paths([f"r/{name[0]}/{name}" for name in names])
    case = Case(tree, names)
    # the groups are hard to tell apart, and their members easy: it pays to share what tells the groups apart
    rows = [[0.3 if name[0] == "a" else -0.3, *(3.0 * np.eye(4)[int(name[1])])] for name in names]
    case.X, case.y = np.array(rows * 3), names * 3
    case.problem = make_problem(case.X, case.y, tree)
    flat = shared_tie(tree, case.nodes, tree.is_leaf.astype(float))
    with Limits().run() as run:
        turns = Alternation(case.objective(flat), Limits(), run, Start(), None)
        for _ in range(5):
            solution = turns.turn_of_vectors(1e-6, 10_000)
            squares = solution.details["node_squares"]
            turns.scale = shared_scales(tree, squares, class_nodes=case.nodes)
            assert not turns.scale[~tree.is_leaf].any()
    optimum = case.optimum()
    assert solution.history[-1].primal > 2 * optimum
    found = case.solve(tol=5e-6)
    assert case.certificate(found).primal == pytest.approx(optimum, rel=1e-5)
    assert found.details["scale"][tree.ids_of(["a", "b"])].min() > 0.5


def test_weights_are_held_once_and_the_best_are_made_anew_from_their_dual(monkeypatch):
    case = Case(TREE, ["l1", "l2", "l3", "l4"], C=10.0)
    made = []

    def watched(objective, limits, start):
        assert all(weights() is None for weights in made)
        solution = solve_structured(objective, limits, start)
        made.append(weakref.ref(solution.vectors.nodes))
        remade.append(limits.max_iter == 0)
        return solution

    monkeypatch.setattr(shared, "solve_structured", watched)
    monkeypatch.setattr(shared, "suits_interior", lambda objective, begun=True: False)
    ends = set()
    for max_iter in range(20, 60, 3):
        remade = []
        solution = case.solve(tol=1e-14, max_iter=max_iter)
        certificate = case.certificate(solution)
        last = solution.history[-1]
        assert (certificate.primal, certificate.dual) == pytest.approx((last.primal, last.dual), rel=1e-9)
        ends.add(remade[-1])
        del solution
    assert ends == {False, True}


def test_limits_end_it_with_usable_weights():
    case = Case(TREE, ["l1", "l2", "l3", "l4"], C=100.0)
    few = case.solve(tol=1e-10, max_iter=3)
    assert few.status is Status.ITERATION_LIMIT
    assert few.n_iter == 3
    soon = case.solve(tol=1e-300, max_iter=10**7, max_seconds=0.05)
    assert soon.status is Status.TIME_LIMIT
    optimum = case.optimum()
    for solution in (few, soon):
        certificate = case.certificate(solution)
        assert certificate.dual <= optimum * (1 + 1e-7)
        assert optimum * (1 - 1e-7) <= certificate.primal < np.inf


def test_turns_in_which_rounding_allows_no_step_end_too(monkeypatch):
    """Where interior points made no step, turns were not counted: such a fit went on for ever."""
    case = Case(TREE, ["l1", "l2", "l3", "l4"])
    objective = replace(case.objective(), bias_feature=1e-200)
    solution = solve_shared(objective, Limits(tol=1e-3, max_iter=100))
    assert solution.status is Status.CONVERGED
    assert certify(objective, solution).holds(1.01e-3)
    monkeypatch.setattr(
        shared, "solve_structured", lambda objective, limits, _: solve_interior(objective, limits)
    )
    stuck = solve_shared(objective, Limits(tol=1e-3, max_iter=100))
    assert stuck.status is Status.ITERATION_LIMIT
    assert stuck.n_iter == 100


def test_weights_that_exceed_one_along_a_path_are_no_certificate():
    case = Case(TREE, ["l1", "l2", "l3", "l4"])
    solution = case.solve(tol=1e-3)
    heavy = replace(solution, details={**solution.details, "scale": np.ones(TREE.n_nodes)})
    with pytest.raises(DataError, match="scales sum to 3 along a path"):
        case.certificate(heavy)


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
def test_the_largest_penalty_is_that_of_the_linear_programme(dag):
    from scipy.optimize import linprog

    for seed in range(30):
        taxonomy = structures.random_structure(seed, dag=dag)
        paths = taxonomy.ancestor_matrix(taxonomy.leaf_ids)
        squares = np.random.default_rng(seed).lognormal(sigma=2.0, size=taxonomy.n_nodes)
        value, weights = largest_penalty(taxonomy, paths, squares)
        assert (paths @ weights).max() <= 1 + 1e-9
        assert weights.min() >= 0
        assert weights @ squares == pytest.approx(value, rel=1e-7)
        expected = linprog(-squares, A_ub=paths.toarray(), b_ub=np.ones(paths.shape[0]))
        assert value == pytest.approx(-expected.fun, rel=1e-7)


def test_close_gaps_are_reached_in_few_turns():
    """The bound is off by the root of a turn's gap: turns that are not exact enough would never end."""
    case = Case(TREE, ["l1", "l2", "l3", "l4"], seed=3)
    solution = case.solve(tol=1e-7, max_iter=10_000)
    assert solution.status is Status.CONVERGED
    assert len(solution.history) < 100
