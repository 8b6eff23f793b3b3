"""Interior points against cone programmes on tiny problems, and certified on features of any scale."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tied_cases import CASES, SINGLE, check_optimum

from reference import transfer_twin
from reference.structured_twin import Twin, cost_matrix, margins_and_scalings, row_costs, with_constant
from taxolearn import ClassGraph, OrthogonalTransferSVM, Taxonomy, TransferSVM
from taxolearn.certificates import certify
from taxolearn.errors import DataError
from taxolearn.losses import Hinge, Logistic, Softmax, SquaredHinge, structured_hinge
from taxolearn.losses.structured import COSTS, RESCALINGS
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Status, interior, interior_signs, solve_interior, solve_shared
from taxolearn.solvers.choice import choose_solver, suits_interior
from taxolearn.testing import check_solver
from taxolearn.ties import Factor, flat, graph_tie, path_sum, shared_tie

TREE = Taxonomy.from_edges([("r", "a"), ("r", 3), ("a", 1), ("a", 2)])
MARGINS = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "logistic": Logistic()}


def rows_and_labels(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.array([[2.0, 0.0, 1.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])[y] + rng.normal(size=(n, 3))
    return X, [(1, 2, 3)[k] for k in y]


def raw(kind):
    """Rows as users have them."""
    X, y = rows_and_labels()
    rng = np.random.default_rng(1)
    if kind == "sizes":
        X = X * [1e-4, 1.0, 1e5]
    elif kind == "timestamp":
        X = np.column_stack([X, 1.7e9 + rng.integers(0, 86_400, len(X))])
    elif kind == "offsets":
        X = X + np.array([1e9, 0.0, 1e9])
    elif kind == "integers":
        X = np.rint(X * [3.0, 2e3, 5e6] + [10.0, 1e4, 3e7])
    elif kind == "large":
        X = X * 1e6
    elif kind == "outlier":
        X[0, 0] = 1e9
    elif kind == "constant":
        X = np.column_stack([X, np.full(len(X), 1e9), np.zeros(len(X))])
    return X, y


RAW = ("sizes", "large", "timestamp", "offsets", "integers", "outlier", "constant")


def objective_of(kind, X, y, *, tree=True, **options):
    problem = make_problem(X, y, TREE)
    tie = path_sum(TREE, problem.class_nodes, np.ones(TREE.n_nodes)) if tree else flat(3)
    if kind == "structured":
        return Objective(problem, structured_hinge(problem, tie, "hamming"), tie, **options)
    return Objective(problem, MARGINS[kind] if kind in MARGINS else Softmax(), tie, **options)


KINDS = ("hinge", "squared_hinge", "logistic", "softmax", "structured")


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_contract_of_solvers(kind, tree):
    check_solver(solve_interior, interior.REQUIRES, objective_of(kind, *rows_and_labels(24), tree=tree))


@pytest.mark.parametrize("loss", MARGINS)
@pytest.mark.parametrize("name", CASES)
def test_losses_of_the_margin_against_a_cone_programme(name, loss):
    case = CASES[name]
    objective = case.objective(MARGINS[loss])
    solution = solve_interior(objective, Limits(tol=1e-8))
    check_optimum(loss, case, certify(objective, solution), solution)


@pytest.mark.parametrize("name", SINGLE[:3])
def test_softmax_against_a_cone_programme(name):
    case = CASES[name]
    objective = case.objective(Softmax())
    certificate = certify(objective, solve_interior(objective, Limits(tol=1e-9)))
    assert certificate.holds(1e-8)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("rescaling", RESCALINGS)
def test_structured_hinges_against_a_cone_programme(cost, rescaling):
    X, y = rows_and_labels(16)
    weight = np.random.default_rng(4).choice([0.0, 0.5, 2.0], size=len(y))
    weight[:3] = 1.0
    problem = make_problem(X, y, TREE, sample_weight=weight, class_weight={1: 3.0})
    scale = np.array([0.5, 0.2, 1.0, 1.0, 0.7])[: TREE.n_nodes]
    tie = path_sum(TREE, problem.class_nodes, scale)
    objective = Objective(problem, structured_hinge(problem, tie, cost, rescaling), tie, 2.0, 3.0)
    number = {name: k for k, name in enumerate(problem.classes)}
    twin = Twin(
        with_constant(X, 3.0), [number[name] for name in y], row_costs(y, 2.0, weight, {1: 3.0}),
        tie.paths.toarray(), tie.scale,
        *margins_and_scalings(cost_matrix(cost, TREE, problem.class_nodes, scale), rescaling),
    )  # fmt: skip
    solution = solve_interior(objective, Limits(tol=1e-8))
    certificate, optimum = certify(objective, solution), twin.optimum()
    assert certificate.holds(1e-8)
    assert certificate.primal == pytest.approx(optimum, rel=1e-6)
    U = np.vstack([solution.vectors.nodes, solution.details["node_bias"]]).T
    assert twin.primal(U) == pytest.approx(certificate.primal, rel=1e-9)
    alpha = solution.dual.toarray().T
    assert twin.dual(alpha) == pytest.approx(certificate.dual, rel=1e-9)
    np.testing.assert_allclose(solution.details["node_squares"], (U**2).sum(axis=1), rtol=1e-10)
    below = 0.5 * float(tie.scale @ solution.details["dual_squares"])
    assert solution.details["linear"] - below == pytest.approx(certificate.dual, rel=1e-9)


@pytest.mark.parametrize("rows", RAW)
@pytest.mark.parametrize("kind", KINDS)
def test_raw_features_are_certified(kind, rows):
    for tree in (True, False):
        objective = objective_of(kind, *raw(rows), tree=tree)
        assert suits_interior(objective)
        solution = solve_interior(objective, Limits(tol=1e-3))
        assert solution.status is Status.CONVERGED
        assert certify(objective, solution).holds(1e-3)
        assert solution.n_iter < 40


@pytest.mark.parametrize("rows", ["timestamp", "offsets"])
def test_other_ties_and_no_intercept(rows):
    X, y = raw(rows)
    problem = make_problem(X, y)
    covariance = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    ties = (
        Factor(sp.csr_array(np.linalg.cholesky(covariance))),
        graph_tie(ClassGraph.from_edges([(1, 2)], nodes=[3]), problem.classes, ridge=1.0),
    )
    for tie in ties:
        for loss in (Hinge(), SquaredHinge()):
            objective = Objective(problem, loss, tie, bias_prior=-1.0)
            assert certify(objective, solve_interior(objective, Limits(tol=1e-3))).holds(1e-3)
    plain = Objective(make_problem(*raw("sizes")), Hinge(), flat(3), bias_feature=0.0)
    assert certify(plain, solve_interior(plain, Limits(tol=1e-3))).holds(1e-3)


@pytest.mark.parametrize("rows", RAW)
def test_learned_scales_on_raw_features(rows):
    problem = make_problem(*raw(rows), TREE)
    tie = shared_tie(TREE, problem.class_nodes, np.full(TREE.n_nodes, 1 / 3))
    objective = Objective(problem, structured_hinge(problem, tie), tie)
    solution = solve_shared(objective, Limits(tol=2e-3))
    assert solution.status is Status.CONVERGED
    assert certify(objective, solution).holds(2e-3)
    primal = [entry.primal for entry in solution.history]
    assert primal == sorted(primal, reverse=True)


def test_rows_without_weight_change_nothing():
    X, y = raw("offsets")
    weight = np.ones(len(y))
    weight[::5] = 0.0
    for loss in (Hinge(), Logistic()):
        whole = Objective(make_problem(X, y, sample_weight=weight), loss, flat(3))
        kept = Objective(make_problem(X[weight > 0], np.array(y)[weight > 0]), loss, flat(3))
        one, other = solve_interior(whole, Limits(1e-6)), solve_interior(kept, Limits(1e-6))
        assert one.dual.shape == (3, len(y))
        assert one.dual.toarray()[:, ::5].max() == 0.0
        np.testing.assert_allclose(one.vectors.coef, other.vectors.coef, rtol=1e-9, atol=1e-12)


def test_who_gets_it():
    X, y = rows_and_labels()
    among = ("one_vs_rest", "interior")

    def chosen(rows, **options):
        objective = Objective(make_problem(rows, y), Hinge(), flat(3))
        return choose_solver(objective, Limits(), among=among, **options).name

    assert chosen(X) == "one_vs_rest"
    assert chosen(X * [1.0, 1.0, 1e4]) == "interior"
    assert chosen(X + np.array([0.0, 1e4, 0.0])) == "interior"
    assert chosen(sp.csr_array(X * [1.0, 1.0, 1e4])) == "one_vs_rest"
    structured = objective_of("structured", X * [1.0, 1.0, 1e4], y)
    for goes_on, name in ((False, "interior"), (True, "dual")):
        solver = choose_solver(structured, Limits(), among=("dual", "interior"), checkpoint=goes_on)
        assert solver.name == name
    for rows, begun, name in (
        (X, False, "ascent_first"),
        (X * [1.0, 1.0, 1e4], False, "interior"),
        (X, True, "dual"),
        (np.tile(X, (1, 60)), False, "dual"),
        (np.tile(X, (600, 40)), False, "ascent_first"),  # and of more, proximal points may follow
    ):
        # of few rows and columns it takes a dozen steps
        small = objective_of("structured", rows, y * (len(rows) // len(X)))
        solver = choose_solver(small, Limits(), among=("dual", "interior"), begun=begun)
        assert solver.name == name
    many = np.tile(X * [1.0, 1.0, 1e4], (400, 100))
    large = Objective(make_problem(many, y * 400), Hinge(), flat(3))
    assert choose_solver(large, Limits(), among=among).name == "one_vs_rest"


def test_sparse_rows_are_refused():
    X, y = rows_and_labels()
    with pytest.raises(DataError, match="dense rows"):
        solve_interior(Objective(make_problem(sp.csr_array(X), y), Hinge(), flat(3)))


def sibling_case(kind):
    """A tree of three levels, labels at its leaves and two at an inner node."""
    tree = Taxonomy.from_paths(["r/a/b/c", "r/a/b/d", "r/a/e", "r/f/g", "r/f/h"])
    rng = np.random.default_rng(3)
    labels = [("c", "d", "e", "g", "h")[k % 5] for k in range(22)] + ["f", "f"]
    centre = {name: rng.normal(size=2) for name in tree.nodes}
    X = np.array([sum(centre[k] for k in tree.ancestors(name, include_self=True)) for name in labels])
    model = TransferSVM(tree, C=0.5) if kind == "transfer" else OrthogonalTransferSVM(tree, alpha=0.6, C=0.5)
    return tree, np.round(X + rng.normal(size=X.shape), 3), labels, model


@pytest.mark.parametrize("kind", ["transfer", "orthogonal"])
def test_sibling_hinges_against_a_cone_programme(kind):
    tree, X, labels, model = sibling_case(kind)
    model.set_params(solver="interior", tol=1e-8).fit(X, labels)
    K = None if kind == "transfer" else transfer_twin.penalties(tree, 0.6)
    rows, cost = transfer_twin.with_constant(X, 1.0), np.full(len(X), 0.5)
    best = transfer_twin.optimum(tree, rows, labels, cost, kind, K)
    assert model.certificate_.holds(1e-8)
    assert abs(model.certificate_.primal - best) <= 1e-6 * best


@pytest.mark.parametrize("kind", ["transfer", "orthogonal"])
def test_the_contract_of_solvers_of_sibling_hinges(kind):
    tree, X, labels, model = sibling_case(kind)
    objective = model._objective(make_problem(X, labels, tree))
    home = interior if kind == "transfer" else interior_signs
    solve = solve_interior if kind == "transfer" else interior_signs.solve_interior_signs
    check_solver(solve, home.REQUIRES, objective)


def test_orthogonal_transfer_goes_on_from_the_last_point_inside(monkeypatch):
    _, X, labels, model = sibling_case("orthogonal")
    follow, begun = interior_signs.follow_path, []

    def counted(objective, limits, watch=None, begin=None):
        begun.append(begin)
        return follow(objective, limits, watch, begin)

    def from_the_first(objective, limits, watch=None, begin=None):
        return follow(objective, limits, watch)

    monkeypatch.setattr(interior_signs, "follow_path", counted)
    warm = model.set_params(solver="interior", tol=1e-3).fit(X, labels)
    steps, primal = warm.n_iter_, warm.certificate_.primal
    assert begun[0] is None
    assert any(one is not None for one in begun)
    monkeypatch.setattr(interior_signs, "follow_path", from_the_first)
    cold = model.fit(X, labels)
    assert steps < cold.n_iter_
    assert abs(primal - cold.certificate_.primal) <= 2e-3 * primal
    assert warm.certificate_.holds(1e-3)
