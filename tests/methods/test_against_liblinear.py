"""The same objective as LIBLINEAR's through scikit-learn: same optimum, same weights, same predictions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from taxolearn import OneVsRestLogistic, OneVsRestSVM

pytestmark = pytest.mark.filterwarnings("ignore")

TIGHT = 1e-8
LOSSES = {
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "squared_hinge": lambda m: np.maximum(0.0, 1.0 - m) ** 2,
    "logistic": lambda m: np.logaddexp(0.0, -m),
}


@cache
def data(name: str) -> tuple[Any, Any]:
    if name == "iris":
        X, y = load_iris(return_X_y=True)
        return (X - X.mean(axis=0)) / X.std(axis=0), y
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X[:400] / 16.0, y[:400]
    # 20 classes of text-like rows: few words a row, some of them the class's own
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 15)
    X = sp.lil_array((len(y), 500))
    for i, label in enumerate(y):
        own = rng.integers(label * 12, label * 12 + 12, size=4)
        common = 240 + np.minimum(rng.zipf(1.5, size=8), 259)
        X[i, np.concatenate([own, common])] = 1.0
    X = sp.csr_array(X)
    X = sp.csr_array(sp.diags_array(1.0 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    return X, np.array([f"topic {label:02d}" for label in y])


def objective(
    X: Any, y: Any, coef: Any, intercept: Any, loss: str, C: float, scaling: float, weight: Any = None
) -> float:
    """The sum over the classes, as the estimators' docstrings write it."""
    classes = np.unique(y)
    total = 0.0
    for c, w, b in zip(classes, coef, intercept, strict=True):
        sign = np.where(y == c, 1.0, -1.0)
        losses = LOSSES[loss](sign * (X @ w + b))
        costs = np.ones(len(y)) if weight is None else weight(c)
        total += 0.5 * (w @ w + (b / scaling) ** 2) + C * float(costs @ losses)
    return total


def fitted_liblinear(
    X: Any, y: Any, loss: str, C: float, fit_intercept: bool, scaling: float
) -> tuple[Any, Any, Any]:
    common = {
        "C": C,
        "fit_intercept": fit_intercept,
        "intercept_scaling": scaling,
        "tol": 1e-9,
        "max_iter": 100_000,
    }
    if loss == "logistic":
        model: Any = OneVsRestClassifier(
            LogisticRegression(solver="liblinear", dual=True, random_state=0, **common)
        )
        model.fit(X, y)
        coef = np.vstack([part.coef_ for part in model.estimators_])
        intercept = np.array([float(np.ravel(part.intercept_)[0]) for part in model.estimators_])
    else:
        model = LinearSVC(loss=loss, dual=True, random_state=0, **common).fit(X, y)
        coef, intercept = model.coef_, model.intercept_
    return coef, np.broadcast_to(intercept, len(coef)), model.predict(X)


@pytest.mark.parametrize(("fit_intercept", "scaling"), [(True, 1.0), (True, 10.0), (False, 1.0)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("name", ["iris", "digits", "text"])
def test_same_objective_weights_and_predictions(
    name: str, loss: str, fit_intercept: bool, scaling: float
) -> None:
    X, y = data(name)
    kind: Any = OneVsRestLogistic if loss == "logistic" else OneVsRestSVM
    C = 0.5
    ours = kind(
        loss=loss, C=C, fit_intercept=fit_intercept, intercept_scaling=scaling, tol=1e-7, max_iter=20_000
    ).fit(X, y)
    coef, intercept, predicted = fitted_liblinear(X, y, loss, C, fit_intercept, scaling)
    theirs = objective(X, y, coef, intercept, loss, C, scaling)
    mine = objective(X, y, ours.coef_, ours.intercept_, loss, C, scaling)
    assert mine == pytest.approx(ours.certificate_.primal, rel=1e-10)
    assert mine <= theirs * (1 + 2e-7)
    assert ours.certificate_.dual <= theirs * (1 + 1e-12)  # a lower bound for everybody
    assert mine == pytest.approx(theirs, rel=1e-4)
    if not fit_intercept:
        assert not ours.intercept_.any()
    # rows on which two classes tie to the solvers' accuracy may go either way
    scores = np.sort(ours.decision_function(X), axis=1)
    clear = scores[:, -1] - scores[:, -2] > 1e-2
    assert clear.mean() > 0.9
    assert np.array_equal(ours.predict(X)[clear], predicted[clear])


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_two_classes_are_one_problem_as_in_scikit_learn(loss: str) -> None:
    X, y = data("iris")
    X, y = X[y > 0], np.where(y[y > 0] == 1, "no", "yes")
    kind: Any = OneVsRestLogistic if loss == "logistic" else OneVsRestSVM
    ours = kind(loss=loss, tol=1e-12).fit(X, y)
    theirs: Any = (
        LogisticRegression(solver="liblinear", tol=1e-9)
        if loss == "logistic"
        else LinearSVC(tol=1e-9, max_iter=100_000, random_state=0)
    )
    theirs.fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape == (1, 4)
    assert ours.intercept_.shape == (1,)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    if loss == "logistic":
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("class_weight", [{0: 5.0, 2: 0.2}, "balanced"])
def test_class_weight_means_what_liblinear_means(class_weight: Any) -> None:
    X, y = data("iris")
    X, y = X[:120], y[:120]  # 50, 50, 20 rows
    ours = OneVsRestSVM(class_weight=class_weight, tol=TIGHT).fit(X, y)
    theirs = LinearSVC(class_weight=class_weight, tol=1e-9, max_iter=100_000, random_state=0).fit(X, y)
    weights = {0: 5.0, 1: 1.0, 2: 0.2} if isinstance(class_weight, dict) else {0: 0.8, 1: 0.8, 2: 2.0}

    def cost(c: int) -> Any:  # only the rows of the class itself weigh more or less
        return np.where(y == c, weights[c], 1.0)

    mine = objective(X, y, ours.coef_, ours.intercept_, "squared_hinge", 1.0, 1.0, cost)
    other = objective(X, y, theirs.coef_, theirs.intercept_, "squared_hinge", 1.0, 1.0, cost)
    assert mine == pytest.approx(ours.certificate_.primal, rel=1e-10)
    assert mine == pytest.approx(other, rel=1e-4)
    assert mine <= other * (1 + 1e-7)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_class_weight_of_two_classes_weighs_each_row_by_its_class() -> None:
    X, y = data("iris")
    X, y = X[50:], y[50:]
    weight = {1: 3.0, 2: 0.5}
    ours = OneVsRestSVM(class_weight=weight, tol=1e-10).fit(X, y)
    theirs = LinearSVC(class_weight=weight, tol=1e-9, max_iter=100_000, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    by_row = OneVsRestSVM(tol=1e-10).fit(X, y, sample_weight=[weight[label] for label in y])
    np.testing.assert_allclose(ours.coef_, by_row.coef_, atol=1e-5)


def test_sample_weight_means_what_liblinear_means() -> None:
    X, y = data("iris")
    weight = np.random.default_rng(3).uniform(0.0, 3.0, size=len(y))
    weight[::10] = 0.0
    ours = OneVsRestSVM(tol=1e-10).fit(X, y, sample_weight=weight)
    theirs = LinearSVC(tol=1e-9, max_iter=100_000, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    kept = weight > 0
    without = OneVsRestSVM(tol=1e-10).fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(ours.coef_, without.coef_, atol=1e-5)


def test_many_labels_a_row_equal_one_liblinear_fit_a_label() -> None:
    X, _ = data("digits")
    rng = np.random.default_rng(1)
    scores = X @ rng.normal(size=(64, 4))
    Y = (scores > np.quantile(scores, 0.7, axis=0)).astype(int)
    ours = OneVsRestSVM(tol=TIGHT).fit(X, Y)
    theirs = OneVsRestClassifier(LinearSVC(tol=1e-9, max_iter=100_000, random_state=0)).fit(X, Y)
    scores = ours.decision_function(X)
    np.testing.assert_allclose(scores, theirs.decision_function(X), atol=2e-2)
    clear = np.abs(scores) > 2e-2
    assert np.array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])
