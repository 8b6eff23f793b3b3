"""Learned taxonomy matrices: steps against cone programmes, turns that never rise, and what is made of the graph."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from taxolearn import (
    ClassGraph,
    GraphRecursiveSVM,
    NormalizedHierarchicalSVM,
    Taxonomy,
    TaxonomyLearningRidge,
    TaxonomyRidge,
    load,
)
from taxolearn.datasets import read_graph, write_graph
from taxolearn.errors import DataError, LabelError, TaxonomyError
from taxolearn.gram import RowKernel, row_products
from taxolearn.problem import Problem, make_problem
from taxolearn.solvers.structure_learning import covariance_of_means
from taxolearn.solvers.structure_steps import (
    GraphicalLasso,
    SparseGraph,
    SpectralBall,
    graph_step,
    lasso_step,
)

Array = np.ndarray[Any, Any]
STRUCTURES = ["graphical_lasso", "sparse_graph", "spectral"]
NAMES = ["lion", "lynx", "puma", "oak", "fir", "elm"]
TREE = Taxonomy.from_paths(
    [f"all/cat/{name}" for name in NAMES[:3]] + [f"all/tree/{name}" for name in NAMES[3:]]
)


def square(seed: int, n: int = 5) -> Array:
    """S = W W' of random vectors, some of them alike."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 8)) + 0.5 * rng.normal(size=(n, 8))
    S = W @ W.T
    return np.asarray(S / np.mean(np.diag(S)))


def rows(seed: int = 0, each: int = 8) -> tuple[Array, Array]:
    """Rows around centres that are close for the classes of one parent."""
    rng = np.random.default_rng(seed)
    parents = rng.normal(size=(2, 12))
    centres = 2.0 * np.repeat(parents, 3, axis=0) + 0.7 * rng.normal(size=(6, 12))
    number = np.tile(np.arange(6), each)
    return centres[number] + rng.normal(size=(len(number), 12)), np.array(NAMES)[number]


def solved(problem: Any) -> None:
    problem.solve(cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert problem.status in ("optimal", "optimal_inaccurate")


@pytest.mark.parametrize("nu", [0.05, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_graphical_lasso_is_the_cone_programme(seed: int, nu: float) -> None:
    S = square(seed)
    found = lasso_step(S, np.eye(5), nu)
    theta = cp.Variable((5, 5), symmetric=True)
    solved(cp.Problem(cp.Minimize(cp.trace(theta @ S) - cp.log_det(theta) + nu * cp.sum(cp.abs(theta)))))
    exact = 0.5 * (theta.value + theta.value.T)
    assert found.value == pytest.approx(GraphicalLasso(nu).value(exact, S), abs=1e-5)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(exact), atol=2e-4)
    assert 0 <= found.value - GraphicalLasso(nu).value(exact, S) + 1e-6 <= found.gap + 1e-5
    assert found.gap < 1e-5


@pytest.mark.parametrize("nu", [0.05, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_sparse_graph_is_the_cone_programme(seed: int, nu: float) -> None:
    S, gamma = square(seed), 0.7
    found = graph_step(S, np.eye(5) * gamma, nu, gamma)
    W = cp.Variable((5, 5), symmetric=True)
    theta = cp.diag(cp.sum(W, axis=1)) - W + gamma * np.eye(5)
    cost = cp.trace(theta @ S) - cp.log_det(theta) + nu * cp.sum(W)
    problem = cp.Problem(cp.Minimize(cost), [W >= 0, cp.diag(W) == 0])
    solved(problem)
    assert found.value == pytest.approx(problem.value, abs=1e-5)
    np.testing.assert_allclose(found.precision, theta.value, atol=1e-4)
    assert found.gap < 1e-5


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_a_spectral_ball_is_the_cone_programme(p: float) -> None:
    S, radius = square(0), 2.0
    found = SpectralBall(p, radius).best(S, np.eye(5) * 5 ** (1 / p) / radius)
    # min tr(A^-1 S) is jointly convex: t >= tr(W' A^-1 W) with S = W W'; in the eigenbasis of S A is diagonal
    values = np.linalg.eigvalsh(S)
    a = cp.Variable(5)
    problem = cp.Problem(cp.Minimize(values @ cp.inv_pos(a)), [cp.pnorm(a, p) <= radius])
    solved(problem)
    assert found.value == pytest.approx(problem.value, rel=1e-5)
    np.testing.assert_allclose(np.linalg.eigvalsh(found.covariance), np.sort(a.value), atol=1e-5)
    assert np.sum(np.linalg.eigvalsh(found.covariance) ** p) == pytest.approx(radius**p)
    # no rotation away from the eigenvectors of S does better
    rng = np.random.default_rng(1)
    for _ in range(20):
        Q = np.linalg.qr(np.eye(5) + 0.1 * rng.normal(size=(5, 5)))[0]
        assert np.sum(np.linalg.inv(Q @ found.covariance @ Q.T) * S) >= found.value - 1e-9


def test_5_as_printed_has_no_edges() -> None:
    """Without a log determinant tr(L S) is least at no edge at all, or with ||W||_1 = 1 at one edge."""
    S = square(0)
    W = cp.Variable((5, 5), symmetric=True)
    cost = cp.trace((cp.diag(cp.sum(W, axis=1)) - W) @ S)
    solved(cp.Problem(cp.Minimize(cost), [W >= 0, cp.diag(W) == 0, cp.sum(W) <= 1]))
    np.testing.assert_allclose(W.value, 0.0, atol=1e-6)
    solved(cp.Problem(cp.Minimize(cost), [W >= 0, cp.diag(W) == 0, cp.sum(W) == 1]))
    assert np.sum(W.value > 1e-4) == 2  # one edge, both ways


@pytest.mark.parametrize(
    ("structure", "source"),
    [*((name, "vectors") for name in STRUCTURES), ("sparse_graph", "means"), ("spectral", "means")],
)
@pytest.mark.parametrize("solver", ["decomposition", "gradients"])
def test_turns_never_raise_the_objective_and_end_stationary(structure: str, solver: str, source: str) -> None:
    X, y = rows()
    model = TaxonomyLearningRidge(
        structure=structure, lambda_=1.0, solver=solver, tol=1e-8, stationary=1e-4, learned_from=source,
        max_turns=100,
    )  # fmt: skip
    model.fit(X, y)
    history = np.array(model.joint_history_)
    assert len(history) > 2
    assert np.all(np.diff(history) <= 1e-8 * np.abs(history[:-1]))
    assert 0 <= model.stationarity_ <= 1e-4
    assert model.certificate_.holds(1e-8)
    given = TaxonomyRidge(covariance=model.covariance_, lambda_=1.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), given.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_objective_is_that_of_the_docstring(structure: str) -> None:
    X, y = rows()
    C, n = 0.02, 6
    model = TaxonomyLearningRidge(
        structure=structure, C=C, scale=0.3, nu=0.2, tol=1e-10, learned_from="vectors"
    ).fit(X, y)
    W = np.hstack([model.coef_, model.intercept_[:, None]])
    prior: Any = {
        "graphical_lasso": GraphicalLasso(0.2),
        "sparse_graph": SparseGraph(0.2, 1.0),
        "spectral": SpectralBall(1.0, n),
    }[structure]
    omega = prior.value(model.precision_, W @ W.T / 0.3)
    losses = np.sum(((y[:, None] == model.classes_) - model.decision_function(X)) ** 2)
    assert 0.5 * 0.3 * omega + C * losses == pytest.approx(model.joint_history_[-1], rel=1e-7)


def test_too_few_turns_are_told() -> None:
    with pytest.warns(ConvergenceWarning, match="stopped after 1 turns, and its matrix has .* left to gain"):
        TaxonomyLearningRidge(structure="spectral", lambda_=10.0, stationary=1e-12, max_turns=1).fit(*rows())


@pytest.mark.parametrize("structure", ["graphical_lasso", "spectral"])
def test_one_turn_is_enough_where_more_would_concentrate(structure: str) -> None:
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = TaxonomyLearningRidge(structure=structure, lambda_=1.0).fit(X, y)
    assert len(model.joint_history_) == 3
    assert np.all(np.diff(model.joint_history_) <= 0)
    assert model.stationarity_ > model.stationary  # told, not hidden


def test_a_strong_lambda_finds_the_families_and_a_weak_one_turns_them_round() -> None:
    X, y = rows()
    strong = TaxonomyLearningRidge(TREE, lambda_=100.0, learned_from="vectors").fit(X, y)
    assert strong.graph_.compare(TREE).auc == 1.0
    weak = TaxonomyLearningRidge(TREE, structure="spectral", lambda_=0.01, learned_from="vectors").fit(X, y)
    assert weak.graph_.compare(TREE).auc < 0.5


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_structure_is_found_whatever_lambda_size_offset_and_numbers_of_rows(structure: str) -> None:
    X, y = rows(each=12)
    kept = np.flatnonzero(np.arange(len(y)) < 6 * np.array([NAMES.index(name) + 7 for name in y]))
    assert len(np.unique(np.unique(y[kept], return_counts=True)[1])) > 1
    for lambda_ in (1e-6, 1e-2, 1e3):
        for rows_ in (X, 1e-3 * X, X + 1e6):
            model = TaxonomyLearningRidge(TREE, structure=structure, lambda_=lambda_).fit(
                rows_[kept], y[kept]
            )
            agreement = model.graph_.compare(TREE)
            assert agreement.siblings > 0.999
            # a lasso ties who are alike given all others: of three in a row the outer two are not
            assert agreement.auc >= (0.7 if structure == "graphical_lasso" else 1.0)


@pytest.mark.parametrize("form", ["dense", "sparse", "kernel"])
def test_means_are_what_many_rows_would_have(form: str) -> None:
    """Without noise, by weights as by copies, and whatever the form of the rows."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 30))
    counts = [3, 5, 8, 200]
    y = np.repeat(np.arange(4), counts)
    expected = (centres - centres.mean(axis=0)) @ (centres - centres.mean(axis=0)).T
    found = []
    for seed in range(200):
        X = centres[y] + np.random.default_rng(seed).normal(size=(len(y), 30))
        found.append(covariance_of_means(made_problem(X, y, form)))
    # nearly unbiased, the diagonal of the class with three rows included; negative eigenvalues are cut
    np.testing.assert_allclose(np.mean(found, axis=0), expected, atol=0.5)
    few = ((X[y == 0].mean(axis=0) - centres.mean(axis=0)) ** 2).sum()
    assert few > expected[0, 0] + 5.0  # what three rows of this noise add
    weight = rng.integers(1, 4, len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    weighted = covariance_of_means(made_problem(X, y, form, weight))
    np.testing.assert_allclose(
        weighted, covariance_of_means(made_problem(X[copies], y[copies], form)), atol=1e-9
    )


def made_problem(X: Array, y: Array, form: str, weight: Array | None = None) -> Problem:
    problem = make_problem(sp.csr_array(X) if form == "sparse" else X, y, sample_weight=weight)
    kernel = RowKernel("linear")
    return replace(problem, products=row_products(kernel, X)) if form == "kernel" else problem


@pytest.mark.parametrize("wrong", ["rows", None, 1.0])
def test_a_wrong_source_is_told(wrong: Any) -> None:
    with pytest.raises(DataError, match="learned_from="):
        TaxonomyLearningRidge(learned_from=wrong).fit(*rows())


def test_the_graph_becomes_a_tree_that_other_methods_take() -> None:
    X, y = rows()
    model = TaxonomyLearningRidge(lambda_=100.0).fit(X, y)
    tree = model.graph_.to_taxonomy()
    groups = {frozenset(tree.leaves_under(name)) for name in tree.children(tree.root)}
    assert groups == {frozenset(NAMES[:3]), frozenset(NAMES[3:])}
    assert set(tree.leaves) == set(NAMES)
    assert NormalizedHierarchicalSVM(tree).fit(X, y).certificate_.holds(1e-3)
    assert GraphRecursiveSVM(model.graph_).fit(X, y).certificate_.holds(5e-2)


@pytest.mark.parametrize("lambda_", [1.0, "loo"])
def test_what_was_learned_is_saved(tmp_path: Path, lambda_: Any) -> None:
    model = TaxonomyLearningRidge(lambda_=lambda_, n_jobs=1).fit(*rows())
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.graph_ == model.graph_
    np.testing.assert_array_equal(again.covariance_, model.covariance_)
    assert again.joint_history_ == model.joint_history_
    assert (again.stationarity_, again.best_lambda_) == (model.stationarity_, model.best_lambda_)
    if lambda_ == "loo":
        np.testing.assert_array_equal(np.stack(again.leave_one_out_), np.stack(model.leave_one_out_))


def test_graphs_as_files_text_and_trees(tmp_path: Path) -> None:
    graph = ClassGraph.from_edges([("a b", "c", 0.1), ("c", "d", 2.0)], nodes=["lone"])
    write_graph(tmp_path / "graph.tsv", graph, sep="\t")
    again = read_graph(tmp_path / "graph.tsv", sep="\t")
    assert set(again.edges) == set(graph.edges)
    assert "lone" in again
    with pytest.raises(LabelError, match="cannot be written to an edge file"):
        write_graph(tmp_path / "graph.txt", graph)
    assert "... and 1 more edges" in graph.to_text(max_edges=1)
    with pytest.raises(TaxonomyError, match="max_edges must be an integer of at least 1, not 0"):
        graph.to_text(max_edges=0)
    with pytest.raises(TaxonomyError, match=r"gamma=0\.0 must be positive"):
        graph.to_taxonomy(gamma=0.0)
    with pytest.raises(TaxonomyError, match="there is nothing to compare"):
        graph.compare(TREE)
    assert ClassGraph.from_edges([], nodes=["x"]).to_taxonomy().leaves == ("x",)
    clash = ClassGraph.from_edges([("group 1", "b", 9.0), ("c", "d", 9.0)])
    assert set(clash.to_taxonomy().leaves) == {"group 1", "b", "c", "d"}


def test_several_labels_sparse_rows_and_weights() -> None:
    X, y = rows()
    both = [
        [name, NAMES[(NAMES.index(name) + 1) % 3]] if name in NAMES[:3] else [name] for name in y.tolist()
    ]
    model = TaxonomyLearningRidge(lambda_=1.0).fit(
        sp.csr_array(X), both, sample_weight=np.linspace(1, 2, len(y))
    )
    assert model.certificate_.holds(1e-3)
    assert model.decoder_.several


def test_odd_shapes() -> None:
    """Two classes, one class of several labels, and classes that no row tells apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for structure in STRUCTURES:
            made = TaxonomyLearningRidge(structure=structure)
            assert made.fit([[-1.0], [1.0]], ["a", "b"]).predict([[2.0]]).tolist() == ["b"]
            assert made.fit([[1.0], [2.0]], [["a"], ["a"]]).graph_.n_edges == 0
            assert made.fit(np.zeros((4, 2)), list("abcd")).certificate_.holds(1e-3)
