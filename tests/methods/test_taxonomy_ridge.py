"""TaxonomyRidge: against a direct Kronecker solve, brute force, the equivalences of section 3.1, and its lambdas."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from taxolearn import ClassGraph, CovarianceSVM, Taxonomy, TaxonomyRidge
from taxolearn.errors import DataError
from taxolearn.losses import Square
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Start, ridge, ridge_gradients
from taxolearn.solvers.ridge_rows import ridge_rows, rotation_of
from taxolearn.testing import check_loss, check_solver
from taxolearn.ties import covariance_tie, flat

NAMES = np.array(list("abcde"))
TREE = Taxonomy.from_paths(["all/x/a", "all/x/b", "all/y/c", "all/y/d", "all/e"])
Array = np.ndarray[Any, Any]


def data(n: int = 24, width: int = 6, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    number = np.arange(n) % len(NAMES)
    return rng.normal(size=(len(NAMES), width))[number] + rng.normal(size=(n, width)), NAMES[number]


def some_covariance(rank: int = 5, seed: int = 1) -> Array:
    L = np.random.default_rng(seed).normal(size=(len(NAMES), rank))
    return np.asarray(L @ L.T)


def kronecker(X: Array, Y: Array, A: Array, ridge: float, weight: Array) -> Array:
    """vec(Z) of (10), n restored: (D (K x A) + ridge I) vec(C) = vec(D Y), Z = C A; the scores of the rows are K Z."""
    n, T = Y.shape
    K = X @ X.T
    system = np.kron(K, A) + ridge * np.kron(np.diag(1.0 / weight), np.eye(T))
    return np.asarray((X.T @ np.linalg.solve(system, Y.ravel()).reshape(n, T) @ A).T)


@pytest.mark.parametrize("rank", [5, 2])
@pytest.mark.parametrize("width", [6, 40])
@pytest.mark.parametrize("solver", ["decomposition", "gradients"])
def test_a_direct_kronecker_solve(rank: int, width: int, solver: str) -> None:
    X, y = data(width=width)
    A, lambda_ = some_covariance(rank), 0.03
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    model = TaxonomyRidge(covariance=A, lambda_=lambda_, solver=solver, tol=1e-22, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # nothing can be proved to 1e-22
        model.fit(X, y, sample_weight=weight)
    wide = np.hstack([X, np.ones((len(X), 1))])
    expected = kronecker(wide, (y[:, None] == NAMES).astype(float), A, lambda_ * weight.sum(), weight)
    found = np.hstack([model.coef_, model.intercept_[:, None]])
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
    assert model.certificate_.holds(1e-9)


def test_algorithm_1_with_n_restored() -> None:
    """Eigenvectors of Theta, then (K + n lambda Lambda_ii I)^-1 for each, as printed but for the n."""
    X, y = data(width=40)
    A, lambda_, n = some_covariance(), 0.2, len(y)
    values, U = np.linalg.eigh(np.linalg.inv(A))
    K, Y = X @ X.T, (y[:, None] == NAMES).astype(float)
    rotated = Y @ U
    Z = np.stack(
        [np.linalg.solve(K + n * lambda_ * values[i] * np.eye(n), rotated[:, i]) for i in range(5)], axis=1
    )
    model = TaxonomyRidge(covariance=A, lambda_=lambda_, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), K @ Z @ U.T, atol=1e-10)


def test_one_vs_all_is_the_identity() -> None:
    X, y = data()
    model = TaxonomyRidge(C=0.5, fit_intercept=False).fit(X, y)
    peer = Ridge(alpha=1.0, fit_intercept=False).fit(X, (y[:, None] == NAMES).astype(float))
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-12)


def same(one: Any, other: Any, X: Array) -> None:
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)


def test_a_graph_is_the_inverse_of_its_laplacian() -> None:
    """(3), each edge taken once: the printed sum over j and t counts it twice."""
    X, y = data()
    graph = ClassGraph.from_edges([("a", "b", 2.0), ("b", "c"), ("d", "e", 0.5)], nodes=NAMES.tolist())
    A = np.linalg.inv(graph.laplacian().toarray() + 0.7 * np.eye(5))
    model = TaxonomyRidge(graph=graph, gamma=0.7).fit(X, y)
    same(model, TaxonomyRidge(covariance=A).fit(X, y), X)
    W = np.hstack([model.coef_, model.intercept_[:, None]])
    pulls = sum(
        weight * np.sum((W["abcde".index(i)] - W["abcde".index(j)]) ** 2) for i, j, weight in graph.edges
    )
    losses = np.sum(((y[:, None] == NAMES) - model.decision_function(X)) ** 2)
    assert 0.5 * (pulls + 0.7 * np.sum(W**2)) + losses == pytest.approx(model.certificate_.primal, rel=1e-9)


def test_a_code_is_its_inner_products() -> None:
    X, y = data()
    B = np.random.default_rng(3).normal(size=(5, 7))
    model = TaxonomyRidge(code=B).fit(X, y)
    same(model, TaxonomyRidge(covariance=B @ B.T).fit(X, y), X)
    same(model, TaxonomyRidge(code=sp.csr_array(B)).fit(X, y), X)
    # one vector u per column of the code with A = I, a class scoring b_l . (U x), against the canonical targets
    wide = np.hstack([X, np.ones((len(X), 1))])
    system = np.kron(B.T @ B, wide.T @ wide) + 0.5 * np.eye(7 * wide.shape[1])
    right = (B.T @ (y[:, None] == NAMES).T @ wide).ravel()
    U = np.linalg.solve(system, right).reshape(7, -1)
    np.testing.assert_allclose(model.decision_function(X), wide @ U.T @ B.T, atol=1e-9)


def test_regression_on_code_words_is_another_method_unless_all_eigenvalues_are_equal() -> None:
    """The paper's "easy to show" does not hold for least squares on the words: that gives A times the flat scores."""
    X, y = data()
    Y = (y[:, None] == NAMES).astype(float)

    def by_words(B: Array, C: float) -> Array:
        peer = Ridge(alpha=0.5 / C, fit_intercept=False).fit(X, Y @ B)
        return np.asarray(peer.predict(X) @ B.T)

    B = np.linalg.cholesky(some_covariance() + np.eye(5))
    tied = TaxonomyRidge(code=B, fit_intercept=False).fit(X, y).decision_function(X)
    assert not np.allclose(by_words(B, 1.0), tied, atol=1e-2)
    even = 2.0 * np.linalg.qr(B)[0]
    tied = TaxonomyRidge(code=even, fit_intercept=False).fit(X, y).decision_function(X)
    np.testing.assert_allclose(by_words(even, 4.0), 4.0 * tied, atol=1e-9)


def test_any_matrix_is_a_code() -> None:
    X, y = data()
    A = some_covariance()
    values, U = np.linalg.eigh(A)
    same(TaxonomyRidge(covariance=A).fit(X, y), TaxonomyRidge(code=U * np.sqrt(values)).fit(X, y), X)


@pytest.mark.parametrize("path_code", ["ancestors", "signs"])
@pytest.mark.parametrize("weights", [1.0, "rho", "maxmin"])
def test_a_taxonomy_is_the_code_of_its_paths(path_code: str, weights: Any) -> None:
    X, y = data()
    model = TaxonomyRidge(TREE, path_code=path_code, weights=weights, root="free").fit(X, y)
    P = TREE.ancestor_matrix(TREE.ids_of(NAMES.tolist())).toarray().astype(float)
    P = P if path_code == "ancestors" else 2.0 * P - 1.0
    same(model, TaxonomyRidge(code=P * np.sqrt(model.node_weights_)).fit(X, y), X)
    assert P.shape[1] == 5 + TREE.n_nodes - TREE.n_leaves


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("form", ["definite", "low rank", "graph", "taxonomy", "signs"])
def test_every_form_with_the_losses_of_the_margin(loss: str, form: str) -> None:
    X, y = data()
    graph = ClassGraph.from_edges([("a", "b"), ("d", "e", 0.5)], nodes=NAMES.tolist())
    given: dict[str, Any] = {
        "definite": {"covariance": some_covariance() + np.eye(5)},
        "low rank": {"covariance": some_covariance(2)},
        "graph": {"graph": graph},
        "taxonomy": {"taxonomy": TREE},
        "signs": {"taxonomy": TREE, "path_code": "signs"},
    }[form]
    assert CovarianceSVM(loss=loss, tol=1e-3, **given).fit(X, y).certificate_.holds(1e-3)


@pytest.mark.parametrize("width", [6, 40])
def test_leave_one_out_is_brute_force(width: int) -> None:
    X, y = data(width=width)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    problem = make_problem(X, y, sample_weight=weight)
    tie = covariance_tie(some_covariance(3))
    rows = ridge_rows(problem, 1.0)
    found = ridge.spectrum_of(rows).left_out(rotation_of(tie), 0.3)
    for i in range(len(y)):
        kept = np.flatnonzero(np.arange(len(y)) != i)
        less = Objective(problem.subset(kept), Square(), tie, C=0.5 / 0.3)
        scores = ridge.solve_ridge(less, Limits(1e-12)).vectors.scores(X[i : i + 1])
        np.testing.assert_allclose(found[i], scores[0], atol=1e-9)


def test_lambda_by_leave_one_out() -> None:
    X, y = data(n=60)
    grid = [1e-3, 1e-1, 1e1]
    model = TaxonomyRidge(TREE, lambda_="loo", lambdas=grid).fit(X, y)
    report = model.leave_one_out_
    assert report is not None
    assert model.best_lambda_ == grid[int(np.argmin(report.square))]
    same(model, TaxonomyRidge(TREE, lambda_=model.best_lambda_).fit(X, y), X)
    wide = TaxonomyRidge(TREE, lambda_="loo").fit(X, y)
    assert wide.leave_one_out_ is not None
    assert wide.leave_one_out_.square.min() < 0.16  # that of the best constant


def test_leave_one_out_of_too_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taxolearn.solvers.choice.MOST_DECOMPOSED", 5)
    X, y = data()
    with pytest.raises(
        DataError, match=r"lambda_='loo' needs a decomposition, and X has 24 rows and 6 features"
    ):
        TaxonomyRidge(lambda_="loo").fit(X, y)
    assert TaxonomyRidge(tol=1e-8).fit(X, y).certificate_.holds(1e-8)


def test_a_path_of_lambdas_decomposes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    calls = []
    whole = ridge.spectrum_of
    monkeypatch.setattr(ridge, "spectrum_of", lambda *rows, **exact: calls.append(1) or whole(*rows, **exact))
    path = {}
    for model in TaxonomyRidge(TREE).fit_path(X, y, lambdas=[0.1, 1.0, 0.01]):
        path[model.lambda_] = model.decision_function(X)
    assert list(path) == [1.0, 0.1, 0.01]
    assert len(calls) == 1
    for value, scores in path.items():
        np.testing.assert_allclose(
            scores, TaxonomyRidge(TREE, lambda_=value).fit(X, y).decision_function(X), atol=1e-10
        )
    by_C = [model.C for model in TaxonomyRidge(TREE, lambda_=3.0).fit_path(X, y, [1.0, 0.1])]
    assert by_C == [0.1, 1.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"covariance": np.eye(5), "code": np.eye(5)},
            "covariance and code both say how classes are related",
        ),
        ({"covariance": np.eye(4)}, "covariance has 4 rows, but y has 5 classes"),
        ({"code": np.eye(3)}, "code has 3 rows, but y has 5 classes"),
        ({"code": [["x"]]}, r"the code \[\['x'\]\] is not a matrix of numbers"),
        ({"graph": np.eye(5)}, "graph must be a taxolearn.ClassGraph or None"),
        ({"lambda_": "best"}, "lambda_='best' is not allowed; give a positive number, 'loo', or None for C"),
        ({"lambda_": 0.0}, "lambda_=0.0 is not allowed; give a positive number"),
        ({"lambda_": "loo", "lambdas": []}, r"lambdas=\[\] is not allowed; give a list of positive numbers"),
        ({"gamma": 0.0}, "gamma=0.0 is not allowed; give a positive number"),
    ],
)
def test_one_clear_sentence(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        TaxonomyRidge(**given).fit(*data())


def test_a_path_needs_cs_or_lambdas() -> None:
    with pytest.raises(DataError, match="give Cs or lambdas, one of the two"):
        next(TaxonomyRidge().fit_path(*data()))


def test_the_square_loss_keeps_its_contract() -> None:
    check_loss(Square())


@pytest.mark.parametrize("solver", [ridge.solve_ridge, ridge_gradients.solve_ridge_gradients])
@pytest.mark.parametrize("width", [3, 40])
def test_solvers_keep_their_contract(solver: Any, width: int) -> None:
    requires = ridge.REQUIRES if solver is ridge.solve_ridge else ridge_gradients.REQUIRES
    for tie in (flat(5), covariance_tie(some_covariance(2))):
        check_solver(
            solver, requires, Objective(make_problem(*data(width=width)), Square(), tie, C=0.3), tol=1e-6
        )


def test_gradients_without_all_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few directions to steer by, steps are needed, and they lead to the same place; so does a later start."""
    monkeypatch.setattr(ridge_gradients, "_DIRECTIONS", 2)
    for width in (30, 80):
        X, y = data(n=60, width=width)
        objective = Objective(
            make_problem(sp.csr_array(X), y), Square(), covariance_tie(some_covariance()), C=3.0
        )
        exact = ridge.solve_ridge(objective, Limits(1e-12))
        found = ridge_gradients.solve_ridge_gradients(objective, Limits(1e-10))
        assert found.n_iter > 3
        np.testing.assert_allclose(found.vectors.coef, exact.vectors.coef, atol=1e-4)
        again = ridge_gradients.solve_ridge_gradients(objective, Limits(1e-10), Start(found.dual))
        assert again.n_iter <= (0 if width == 80 else found.n_iter)


def test_several_labels_are_above_the_middle_of_the_targets() -> None:
    X = np.repeat(np.array([[4.0, 0.0], [0.0, 4.0], [4.0, 4.0], [-4.0, -4.0]]), 5, axis=0)
    y = [["a"]] * 5 + [["b"]] * 5 + [["a", "b"]] * 5 + [["c"]] * 5
    model = TaxonomyRidge(C=10.0).fit(X, y)
    assert model.predict(X)[:15] == y[:15]
    assert model.thresholds_.tolist() == [0.5, 0.5, 0.5]


def test_rows_weigh_as_their_classes() -> None:
    X, y = data()
    weighted = TaxonomyRidge(class_weight={"a": 3.0}).fit(X, y)
    same(weighted, TaxonomyRidge().fit(X, y, sample_weight=np.where(y == "a", 3.0, 1.0)), X)
