"""Features as users have them, at default parameters: no method ends at chance, and every fit is certified."""

from __future__ import annotations

import warnings
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

from taxolearn import MulticlassSVM, OneVsRestSVM, Taxonomy
from taxolearn.registry import METHODS, Method

POINT = 0.01
CASES = [(method, loss) for method in METHODS for loss in method.losses or (None,)]


@cache
def rows(name: str) -> tuple[Any, Any]:
    if name == "wine":
        return load_wine(return_X_y=True)
    if name == "breast cancer":
        return load_breast_cancer(return_X_y=True)
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    if name == "timestamp":
        return np.column_stack([X, 1.7e9 + rng.integers(0, 3 * 10**7, len(X))]), y
    if name == "offset":
        return X + np.array([0.0, 0.0, 1e9, 0.0]), y
    return integers(rng, 300)


def integers(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Counts, measurements, a pay and a number of cells: columns from a few to millions, as in a medical table."""
    y = np.arange(n) % 3
    columns = (
        rng.poisson(2 + 2 * y),
        rng.normal(110 + 20 * y, 25),
        rng.normal(70, 12, n),
        rng.poisson(40 + 30 * y) * rng.integers(1, 6, n),
        rng.integers(10_000, 90_000, n) + 9_000 * y,
        rng.normal(4e6 + 1e6 * y, 1e6),
    )
    return np.rint(np.stack(columns, axis=1)).clip(0), y


@cache
def of_scikit_learn(name: str, loss: str) -> float:
    """What scikit-learn's classifier of the same kind of loss has."""
    X, y = rows(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peers = {
            "logistic": LogisticRegression(),
            "softmax": LogisticRegression(),
            "ridge": RidgeClassifier(),
        }
        model = peers.get(loss, LinearSVC(random_state=0))
        return float(model.fit(X, y).score(X, y))


def made(method: Method, loss: str | None, n_classes: int) -> Any:
    """The method at its defaults, over a tree of two levels where it takes one."""
    edges = (
        [("all", 0), ("all", 1)]
        if n_classes == 2
        else [("all", 0), ("all", "both"), ("both", 1), ("both", 2)]
    )
    options: dict[str, Any] = {} if loss is None else {"loss": loss}
    if "taxonomy" in signature(method.kind).parameters:
        options["taxonomy"] = Taxonomy.from_edges(edges)
    return method.kind(**options, random_state=0)


# what any of these losses has at its certified optimum, two thirds of the rows or more above chance
LEAST = {"wine": 0.96, "breast cancer": 0.94, "integers": 0.65, "timestamp": 0.94, "offset": 0.89}


@pytest.mark.parametrize("name", LEAST)
@pytest.mark.parametrize(("method", "loss"), CASES, ids=[f"{m.name}-{loss}" for m, loss in CASES])
def test_every_method_is_as_good_as_scikit_learn_and_certified(method, loss, name):
    X, y = rows(name)
    model = made(method, loss, len(np.unique(y))).fit(X, y)
    assert model.certificate_.holds(model.tol)
    right = model.score(X, y)
    kind = next(
        (peer for peer in ("logistic", "softmax", "ridge") if peer in f"{method.name} {loss}"), "hinge"
    )
    assert right >= of_scikit_learn(name, kind) - POINT
    # least squares on indicators masks the middle one of three classes in a row, with iris 0.85 in any library
    assert right >= (0.65 if kind == "ridge" else LEAST[name])


@pytest.mark.parametrize("model", [OneVsRestSVM(random_state=0), MulticlassSVM(random_state=0)])
def test_standardised_features_are_solved_as_ever(model):
    X, y = rows("wine")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if isinstance(model, MulticlassSVM):  # so few rows as there are have another reason
        X, y = np.tile(X, (15, 1)) + np.random.default_rng(0).normal(size=(15 * len(X), 13)), np.tile(y, 15)
    first = model.fit(X, y).coef_
    kept = type(model)._solvers
    try:
        type(model)._solvers = tuple(name for name in kept if name != "interior")
        assert np.array_equal(model.fit(X, y).coef_, first)
    finally:
        type(model)._solvers = kept


def test_what_cannot_be_solved_names_its_worst_columns():
    X, y = rows("wine")
    with pytest.warns(
        ConvergenceWarning, match=r"differ widely in scale: 12 \(spread 7e\+02, up to 1.7e\+03\)"
    ):
        OneVsRestSVM(max_iter=5).fit(sp.csr_array(X), y)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=load_wine().feature_names)
    with pytest.warns(ConvergenceWarning, match=r"'proline' .*; use sklearn\.preprocessing\.StandardScaler$"):
        MulticlassSVM(solver="dual", max_iter=5).fit(frame, y)
    with pytest.warns(ConvergenceWarning, match="or accept the gap$"):
        MulticlassSVM(solver="dual", max_iter=1, tol=1e-9).fit((X - X.mean(axis=0)) / X.std(axis=0), y)


@pytest.mark.parametrize("size", [1e5, 1e9])
@pytest.mark.parametrize(("method", "loss"), CASES, ids=[f"{m.name}-{loss}" for m, loss in CASES])
def test_one_outlier_does_not_keep_a_method_from_its_certified_optimum(method, loss, size):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.array([[2.0, 0.0], [-2.0, 1.0], [-2.0, -1.0]])[y] + rng.normal(size=(60, 2))
    X[0, 0] = size
    model = made(method, loss, 3).fit(X, y)
    assert model.certificate_.holds(model.tol)
    if "ridge" not in method.name:  # one far row is what least squares fits first
        assert model.score(X, y) >= 0.7
