"""Least squares in the space of a kernel: against scikit-learn, the linear form, brute force and the definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from taxolearn import ClassGraph, Taxonomy, TaxonomyLearningRidge, TaxonomyRidge, load
from taxolearn.errors import DataError
from taxolearn.testing import check_method

NAMES = np.array(list("abcde"))
TREE = Taxonomy.from_paths(["all/x/a", "all/x/b", "all/y/c", "all/y/d", "all/e"])
GRAPH = ClassGraph.from_edges([("a", "b", 2.0), ("d", "e", 0.5)], nodes=NAMES.tolist())
RBF: dict[str, Any] = {"kernel": "rbf", "kernel_params": {"gamma": 0.2}}
Array = np.ndarray[Any, Any]


def data(n: int = 30, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    number = np.arange(n) % len(NAMES)
    return rng.normal(size=(len(NAMES), 4))[number] + rng.normal(size=(n, 4)), NAMES[number]


def some_covariance(rank: int = 5) -> Array:
    L = np.random.default_rng(1).normal(size=(len(NAMES), rank))
    return np.asarray(L @ L.T)


FORMS: dict[str, dict[str, Any]] = {
    "identity": {},
    "taxonomy": {"taxonomy": TREE},
    "signs": {"taxonomy": TREE, "path_code": "signs"},
    "covariance": {"covariance": some_covariance()},
    "low rank": {"covariance": some_covariance(2)},
    "graph": {"graph": GRAPH},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_linear_kernel_is_the_linear_form(form: str) -> None:
    X, y = data()
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    linear = TaxonomyRidge(C=0.4, **FORMS[form]).fit(X, y, sample_weight=weight)
    kernel = TaxonomyRidge(C=0.4, kernel="linear", **FORMS[form]).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(kernel.decision_function(X), linear.decision_function(X), atol=1e-8)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-9)
    assert kernel.certificate_.holds(1e-9)


def test_one_vs_all_is_scikit_learns() -> None:
    X, y = data()
    model = TaxonomyRidge(C=0.5, fit_intercept=False, **RBF).fit(X, y)
    peer = KernelRidge(alpha=1.0, kernel="rbf", gamma=0.2).fit(X, (y[:, None] == NAMES).astype(float))
    np.testing.assert_allclose(model.decision_function(X + 0.1), peer.predict(X + 0.1), atol=1e-10)


@pytest.mark.parametrize("form", ["taxonomy", "covariance", "low rank", "signs", "graph"])
def test_a_direct_kronecker_solve_and_the_definition(form: str) -> None:
    """(9) with n restored, and both objectives of the certificate as they are written."""
    X, y = data()
    model = TaxonomyRidge(lambda_=0.05, **RBF, **FORMS[form]).fit(X, y)
    A = TaxonomyRidge(**FORMS[form])._tie(_problem(X, y, FORMS[form])).covariance
    K, Y = rbf_kernel(X, gamma=0.2) + 1.0, (y[:, None] == NAMES).astype(float)
    n, T = Y.shape
    c = np.linalg.solve(np.kron(K, A) + n * 0.05 * np.eye(n * T), Y.ravel()).reshape(n, T)
    scores = K @ c @ A
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-8)
    C = 0.5 / (0.05 * n)
    primal = 0.5 * np.sum((c.T @ K @ c) * A) + C * np.sum((Y - scores) ** 2)
    m = 2.0 * C * (Y - scores)
    dual = -0.5 * np.sum((m.T @ K @ m) * A) - np.sum(m**2 / (4.0 * C) - m * Y)
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert model.certificate_.dual == pytest.approx(dual, rel=1e-9)
    assert model.certificate_.holds(1e-8)


def _problem(X: Array, y: Array, form: dict[str, Any]) -> Any:
    from taxolearn.problem import make_problem

    return make_problem(X, y, form.get("taxonomy"))


def test_products_that_are_given(tmp_path: Path) -> None:
    X, y = data()
    K = rbf_kernel(X, gamma=0.2)
    given = TaxonomyRidge(TREE, kernel="precomputed").fit(K, y)
    computed = TaxonomyRidge(TREE, **RBF).fit(X, y)
    np.testing.assert_allclose(given.decision_function(K), computed.decision_function(X), atol=1e-9)
    given.save(tmp_path / "given")
    np.testing.assert_array_equal(load(tmp_path / "given").predict(K), given.predict(K))


def test_leave_one_out_and_a_path_of_lambdas() -> None:
    X, y = data()
    model = TaxonomyRidge(TREE, lambda_="loo", lambdas=[0.01, 0.1, 1.0], **RBF).fit(X, y)
    report = model.leave_one_out_
    assert report is not None
    wrong = []
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        less = TaxonomyRidge(TREE, C=0.5 / (0.1 * len(y)), **RBF).fit(X[kept], y[kept])
        wrong.append(np.mean(((y[i] == NAMES) - less.decision_function(X[i : i + 1])[0]) ** 2))
    assert report.square[1] == pytest.approx(np.mean(wrong), rel=1e-8)
    for fitted in TaxonomyRidge(TREE, **RBF).fit_path(X, y, lambdas=[0.1, 1.0]):
        again = TaxonomyRidge(TREE, lambda_=fitted.lambda_, **RBF).fit(X, y)
        np.testing.assert_allclose(fitted.decision_function(X), again.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("structure", ["sparse_graph", "graphical_lasso", "spectral"])
def test_a_structure_is_learned_through_a_kernel(structure: str) -> None:
    X, y = data(40)
    kernel = TaxonomyLearningRidge(structure=structure, lambda_=1.0, kernel="linear").fit(X, y)
    linear = TaxonomyLearningRidge(structure=structure, lambda_=1.0).fit(X, y)
    np.testing.assert_allclose(kernel.covariance_, linear.covariance_, atol=1e-5)
    assert TaxonomyLearningRidge(structure=structure, lambda_=1.0, **RBF).fit(X, y).certificate_.holds(1e-6)


def test_the_contract_of_all_answers() -> None:
    X, y = data()
    check_method(TaxonomyRidge(TREE, **RBF), X, y.tolist())
    several = [[name] if k % 3 else sorted({name, "a"}) for k, name in enumerate(y.tolist())]
    check_method(TaxonomyRidge(TREE, **RBF), X, several)


def test_conjugate_gradients_take_no_kernel() -> None:
    with pytest.raises(DataError, match="needs rows as vectors, not a kernel of them"):
        TaxonomyRidge(solver="gradients", **RBF).fit(*data())
