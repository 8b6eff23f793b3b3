"""The certificate of path sums against plain dense formulas, on weights and duals that no solver made."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.exact_objective import dot, exact, squared
from reference.one_vs_rest_twin import LOSSES, conjugate_at, loss_at
from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.certificates.rounding import Ball
from taxolearn.certificates.scores import Rows
from taxolearn.certificates.sums import Adjoint, squares_of_sums, sum_errors
from taxolearn.engines import ThreadEngine, running
from taxolearn.losses import MARGIN_LOSSES
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Solution, Status, solve_one_vs_rest
from taxolearn.ties import flat, path_sum
from taxolearn.vectors import ClassVectors, NodeVectors

every_loss = pytest.mark.parametrize("name", LOSSES)
N, WIDTH = 20, 5
TREE = Taxonomy.from_edges(
    [("all", "a"), ("all", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b1", "b11"), ("all", "c")]
)
DAG = Taxonomy.from_edges(
    [("all", "a"), ("all", "b"), ("a", "a1"), ("a", "a2"), ("b", "a2"), ("b", "b1"), ("a", "b1")]
)


class Made:
    """Random rows, labels, node vectors, biases and a feasible dual, and both objectives written out."""

    def __init__(self, name, taxonomy, labels, seed=0, form="dense", bias_feature=1.0, C=0.7, bias_prior=0.0):
        rng = np.random.default_rng(seed)
        self.name, self.C, self.bias_feature, self.bias_prior = name, C, bias_feature, bias_prior
        self.X = rng.normal(size=(N, WIDTH)) * (rng.random((N, WIDTH)) < 0.7)
        if "float32" in form:
            self.X = self.X.astype(np.float32)
        y = [list(rng.choice(labels, size=rng.integers(1, 3), replace=False)) for _ in range(N)]
        for k, label in enumerate(labels):
            y[k] = [label]
        weight = rng.choice([0.0, 0.5, 2.0], size=N, p=[0.2, 0.4, 0.4])
        weight[: len(labels)] = 1.0
        X = sp.csr_array(self.X) if "sparse" in form else self.X
        problem = make_problem(X, y, taxonomy, sample_weight=weight, class_weight={labels[0]: 3.0})
        self.problem = problem
        scale = rng.uniform(0.2, 3.0, taxonomy.n_nodes)
        scale[0] = rng.choice([0.0, 1.0])
        self.tie = path_sum(taxonomy, problem.class_nodes, scale)
        self.U = rng.normal(size=(taxonomy.n_nodes, WIDTH)) * (scale[:, None] > 0)
        self.b = (
            rng.normal(size=problem.n_classes) if bias_feature else np.full(problem.n_classes, bias_prior)
        )
        has = problem.targets.toarray() > 0
        self.sign = np.where(has, 1.0, -1.0)
        self.cost = C * weight[:, None] * np.where(has, problem.positive_weight, problem.negative_weight)
        share = rng.random(self.cost.shape) * (rng.random(self.cost.shape) < 0.6)
        self.dual = (share * self.cost * (4.0 if name == "squared_hinge" else 1.0)).T

    @property
    def W(self):
        return self.tie.paths.toarray() @ self.U

    def certify(self, weights=None, dual=None):
        if weights is None:
            weights = NodeVectors(np.ascontiguousarray(self.U.T), self.tie.paths, self.b * self.bias_feature)
        solution = Solution(weights, sp.csr_array(self.dual if dual is None else dual), Status.CONVERGED, 1)
        loss = MARGIN_LOSSES[self.name]
        objective = Objective(self.problem, loss, self.tie, self.C, self.bias_feature, self.bias_prior)
        return certify(objective, solution)

    def losses(self):
        margins = self.sign * (self.X.astype(float) @ self.W.T + self.bias_feature * self.b)
        return sum(
            self.cost[i, k] * loss_at(self.name, margins[i, k])
            for i in range(N)
            for k in range(self.problem.n_classes)
        )

    def primal(self):
        live = self.tie.scale > 0
        squares = (self.U[live] ** 2).sum(axis=1) / self.tie.scale[live]
        return 0.5 * squares.sum() + 0.5 * ((self.b - self.bias_prior) ** 2).sum() + self.losses()

    def dual_value(self):
        signed = self.dual * self.sign.T
        Z = self.tie.paths.toarray().T @ (signed @ self.X.astype(float))
        beta = self.bias_feature * signed.sum(axis=1)
        conjugates = sum(
            conjugate_at(self.name, self.dual[k, i], self.cost[i, k])
            for i in range(N)
            for k in range(self.problem.n_classes)
        )
        tied = (self.tie.scale * (Z**2).sum(axis=1)).sum()
        return -0.5 * tied - 0.5 * (beta**2).sum() - self.bias_prior * beta.sum() - conjugates


CASES = {
    "tree": (TREE, ["a1", "a2", "b11", "c"]),
    "labels at inner nodes": (TREE, ["a", "a1", "b11", "b", "c"]),
    "dag": (DAG, ["a1", "a2", "b1"]),
}
every_case = pytest.mark.parametrize("case", CASES)


@every_loss
@every_case
@pytest.mark.parametrize("form", ["dense", "sparse", "sparse float32"])
@pytest.mark.parametrize("bias", [(0.0, 0.0), (1.0, 0.0), (2.5, -1.0)])
def test_both_objectives_are_the_definitions(name, case, form, bias):
    made = Made(name, *CASES[case], form=form, bias_feature=bias[0], bias_prior=bias[1])
    certificate = made.certify()
    assert certificate.primal == pytest.approx(made.primal(), rel=1e-12)
    assert certificate.dual == pytest.approx(made.dual_value(), rel=1e-11, abs=1e-11)
    nodes = sp.csr_array(made.U)
    stored = NodeVectors(nodes, made.tie.paths, made.b * made.bias_feature)
    assert made.certify(stored).primal == pytest.approx(made.primal(), rel=1e-12)


@every_loss
@every_case
def test_the_penalty_of_class_weights_is_the_least_of_all_node_vectors(name, case):
    for seed in range(4):
        made = Made(name, *CASES[case], seed=seed)
        coef = made.W
        for form in (np.ascontiguousarray, sp.csr_array):
            certificate = made.certify(ClassVectors(form(coef), made.b * made.bias_feature))
            covariance = made.tie.covariance
            least = 0.5 * np.trace(coef.T @ np.linalg.pinv(covariance) @ coef)
            live = made.tie.scale > 0
            rest = made.primal() - 0.5 * ((made.U[live] ** 2).sum(axis=1) / made.tie.scale[live]).sum()
            assert certificate.primal == pytest.approx(least + rest, rel=1e-9)
            assert certificate.primal <= made.primal() * (1 + 1e-12)


@every_loss
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**20),
    case=st.sampled_from(sorted(CASES)),
    bias_feature=st.sampled_from([0.0, 1.0, 7.0]),
    bias_prior=st.sampled_from([0.0, -1.0]),
    C=st.sampled_from([1e-3, 1.0, 100.0]),
)
def test_any_feasible_dual_is_below_any_primal(name, seed, case, bias_feature, bias_prior, C):
    made = Made(name, *CASES[case], seed=seed, bias_feature=bias_feature, bias_prior=bias_prior, C=C)
    certificate = made.certify()
    assert certificate.dual <= certificate.primal * (1 + 1e-12)


@every_loss
@pytest.mark.parametrize("fault", ["negative", "above", "without weight"])
def test_an_infeasible_dual_proves_nothing(name, fault):
    made = Made(name, *CASES["tree"])
    dual = made.dual.copy()
    if fault == "negative":
        dual[1, 4] = -1e-9
    elif fault == "without weight":
        dual[1, np.flatnonzero(made.cost[:, 1] == 0.0)[0]] = 1e-9
    elif name != "squared_hinge":
        dual[1, 4] = made.cost[4, 1] * (1 + 1e-9) + 1e-12
    else:
        return  # its duals have no upper end
    assert made.certify(dual=dual).dual == -np.inf


def test_weights_that_no_node_vectors_add_up_to_prove_nothing():
    # the root is a class and pinned at zero, so weights of its own are outside the model
    tree = Taxonomy.from_edges([("all", "a"), ("all", "b")])
    problem = make_problem(np.eye(3), ["all", "a", "b"], tree)
    tie = path_sum(tree, problem.class_nodes, np.array([0.0, 1.0, 1.0]))
    for weights in (
        ClassVectors(np.eye(3), np.zeros(3)),
        NodeVectors(np.eye(3), tie.paths, np.zeros(3)),
    ):
        solution = Solution(weights, sp.csr_array((3, 3)), Status.CONVERGED, 0)
        certificate = certify(Objective(problem, MARGIN_LOSSES["hinge"], tie), solution)
        assert certificate.primal == np.inf


def test_classes_without_rows_have_no_losses_and_no_duals():
    problem = make_problem(np.eye(2), ["a1", "c"], TREE, empty_classes="keep")
    tie = path_sum(TREE, problem.class_nodes, np.ones(TREE.n_nodes))
    weights = ClassVectors(np.zeros((problem.n_classes, 2)), np.zeros(problem.n_classes))
    empty = Solution(weights, sp.csr_array((problem.n_classes, 2)), Status.CONVERGED, 0)
    objective = Objective(problem, MARGIN_LOSSES["hinge"], tie)
    assert certify(objective, empty).primal == 4.0
    dual = np.zeros((problem.n_classes, 2))
    dual[problem.classes.index("a2"), 0] = 0.5
    wrong = Solution(weights, sp.csr_array(dual), Status.CONVERGED, 0)
    assert certify(objective, wrong).dual == -np.inf


@every_loss
def test_vectors_of_nodes_and_of_classes_give_the_same_parts_with_a_flat_tie(name):
    rng = np.random.default_rng(3)
    problem = make_problem(rng.normal(size=(30, 4)), rng.choice(list("abc"), 30))
    objective = Objective(problem, MARGIN_LOSSES[name], flat(3))
    solution = solve_one_vs_rest(objective, Limits(tol=1e-3))
    vectors = solution.vectors
    by_node = NodeVectors(np.ascontiguousarray(vectors.coef.T), flat(3).paths, vectors.intercept)
    ours, theirs = certify(objective, replace(solution, vectors=by_node)), certify(objective, solution)
    np.testing.assert_allclose(ours.class_primal, theirs.class_primal, rtol=1e-12)
    np.testing.assert_allclose(ours.class_dual, theirs.class_dual, rtol=1e-10)
    assert len(ours.class_primal) == 3


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_in_parts_by_the_kernel_and_on_threads_change_nothing(form, monkeypatch):
    from taxolearn.certificates import margin, scores, sums

    rng = np.random.default_rng(3)
    problem = make_problem(form(rng.normal(size=(30, 4))), rng.choice(list("abc"), 30))
    objective = Objective(problem, MARGIN_LOSSES["squared_hinge"], flat(3))
    solution = solve_one_vs_rest(objective, Limits(tol=1e-3))
    whole = certify(objective, solution)
    monkeypatch.setattr(margin, "_ROWS", 7)
    for module in (margin, sums):
        monkeypatch.setattr(module, "_LIGHT", 0)
    for module in (scores, sums):
        monkeypatch.setattr(module, "_MANY", 0)
    with ThreadEngine(1) as one_thread, ThreadEngine(3) as three_threads:
        one, three = (certify(objective, solution, engine) for engine in (one_thread, three_threads))
    assert (one.primal, one.dual) == (three.primal, three.dual)
    assert one.primal == pytest.approx(whole.primal, rel=1e-14)
    assert one.dual == pytest.approx(whole.dual, rel=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_scores_of_large_certificates(dtype):
    from taxolearn.kernels.exact_scores import multiply

    rng = np.random.default_rng(0)
    X = sp.random_array((50, 30), density=0.15, format="csr", rng=rng, dtype=dtype)
    X = sp.csr_array(sp.vstack([X, sp.csr_array((2, 30), dtype=dtype), X[:1]]))  # empty rows too
    columns, out = rng.normal(size=(30, 7)), np.full((53, 7), np.nan)
    multiply(X.indptr, X.indices, X.data, columns, out)
    np.testing.assert_allclose(out, X.astype(np.float64) @ columns, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_squares_of_large_certificates(dtype):
    from taxolearn.kernels.exact_scores import squares_of_sums

    rng = np.random.default_rng(1)
    X = sp.random_array((50, 30), density=0.15, format="csr", rng=rng, dtype=dtype)
    factors = sp.random_array((6, 50), density=0.3, format="csr", rng=rng)
    factors = sp.csr_array(
        sp.vstack([factors, sp.csr_array((1, 50)), factors[:1]])
    )  # a node without duals too
    found = np.full(8, np.nan)
    arrays = [part for matrix in (factors, X) for part in (matrix.indptr, matrix.indices, matrix.data)]
    squares_of_sums(*arrays, np.full(30, np.nan), found)
    np.testing.assert_allclose(
        found, np.sum((factors @ X.astype(np.float64)).toarray() ** 2, axis=1), rtol=1e-13
    )


@pytest.mark.parametrize("nodes", [None, sp.csr_array(np.array([[1.0, 1.0], [0.0, 1.0]]))])
def test_a_huge_column_whose_sums_cancel_does_not_widen_the_bound(nodes):
    """Errors count column by column; by the norms of rows that of the huge one would count times all sums."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(40, 3)), 1.7e9 + rng.integers(0, 1000, 40)])
    duals = rng.normal(size=(2, 40))
    duals -= duals @ X[:, [3]] / (X[:, 3] @ X[:, 3]) * X[:, 3]  # nearly nothing is left of the huge column
    adjoint = Adjoint((sp.csr_array(duals),), Ball(0.0))
    with running() as run:
        found = squares_of_sums(nodes, adjoint, Rows(X), run)
    sums = exact(duals) if nodes is None else exact_sums(nodes, duals)
    for value, error, weights in zip(found.value, found.error, sums, strict=True):
        truth = squared([dot(weights, exact(column)) for column in X.T])
        assert abs(Fraction(float(value)) - truth) <= Fraction(float(error))
        assert error < 1e-6 * value
    by_norms = sum_errors(nodes, adjoint, Rows(X), 40.0) * 2.0 * np.sqrt(found.value)
    assert np.all(found.error < 0.1 * by_norms)


def exact_sums(nodes, duals):
    """N M in rationals."""
    return [[dot(exact(row), exact(column)) for column in duals.T] for row in nodes.toarray()]


@every_loss
@every_case
@pytest.mark.parametrize("form", ["sparse", "sparse float32"])
def test_vectors_in_half_of_the_memory_leave_the_interval_true(name, case, form, monkeypatch):
    """As of many products: the interval holds the exact primal and is hardly wider, be it by a second look."""
    made = Made(name, *CASES[case], form=form)
    precise = made.certify()
    monkeypatch.setattr("taxolearn.certificates.scores._FEW", 0)
    monkeypatch.setattr("taxolearn.certificates.scores._DEAR", 0)
    rounded = made.certify()
    assert rounded.primal != precise.primal  # the vectors were rounded
    assert abs(rounded.primal - precise.primal) <= rounded.primal_error
    assert precise.primal_error < rounded.primal_error <= 1e-3 * (precise.primal - precise.dual)
    module = sys.modules["taxolearn.certificates.certify"]  # the package has the function under its name
    monkeypatch.setattr(module, "_NEGLIGIBLE", 1e-12)  # as if the gap were small
    again = made.certify()
    assert again.primal == pytest.approx(precise.primal, rel=1e-14)
    assert again.primal_error < 1e-3 * rounded.primal_error
