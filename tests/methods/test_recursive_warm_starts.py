"""Warm starts of RecursiveSVM and RecursiveLogistic: what is taken over, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from recursive_cases import DAG, LEAVES, STAR, TREE, blobs, estimator, every_loss
from sklearn.base import clone

from taxolearn import RecursiveSVM, Taxonomy
from taxolearn.solvers import Status, tree_vectors

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@every_loss
def test_a_warm_start_takes_fewer_passes(loss: str) -> None:
    X, y = blobs(spread=2.0)
    model = estimator(loss, TREE, tol=1e-5, warm_start=True).fit(X, y)
    cold = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < cold
    assert model.certificate_.holds(1e-5)
    fresh = estimator(loss, TREE, tol=1e-5, C=1.2).fit(X, y)
    model.set_params(C=1.2).fit(X, y)
    assert model.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=2e-5)


def test_a_fit_that_is_stopped_keeps_better_weights_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = blobs(spread=2.0)
    model = RecursiveSVM(TREE, tol=1e-2, solver="tree", warm_start=True, random_state=0).fit(X, y)
    first, coef = model.certificate_, model.coef_.copy()
    solve = RecursiveSVM._solve

    def spoiled(
        self: Any, *given: Any
    ) -> Any:  # as in the middle of a pass: the dual is fine, the weights are not
        solution = solve(self, *given)
        worse = replace(solution.vectors, coef=100.0 * solution.vectors.coef)
        return replace(solution, vectors=worse, status=Status.TIME_LIMIT)

    monkeypatch.setattr(RecursiveSVM, "_solve", spoiled)
    for _ in range(2):  # and of the one before that
        model.set_params(tol=1e-4).fit(X, y)
        np.testing.assert_array_equal(model.coef_, coef)
        assert model.certificate_.primal == first.primal
        assert model.certificate_.dual > first.dual
        assert model.certificate_.status is Status.TIME_LIMIT
    # of another problem they say nothing
    model.set_params(C=2.0).fit(X, y)
    assert np.abs(model.coef_).max() > 20 * np.abs(coef).max()
    monkeypatch.undo()
    assert model.set_params(C=1.0).fit(X, y).certificate_.holds(1e-4)


@pytest.mark.parametrize(
    ("solver", "tol"),
    # not "lbfgs": what it remembers of its steps is gone after each fit
    [("levels", 1e-4), ("newton", 1e-4), ("descent", 1e-4), ("tree", 5e-2)],
)
def test_fits_of_one_pass_each_come_to_the_optimum(solver: str, tol: float) -> None:
    X, y = blobs(spread=2.0)
    whole = RecursiveSVM(TREE, solver=solver, tol=tol, random_state=0).fit(X, y)
    model = RecursiveSVM(TREE, solver=solver, tol=tol, random_state=0, warm_start=True, max_iter=1)
    found = [model.fit(X, y).certificate_ for _ in range(4 * whole.n_iter_)]
    assert found[-1].holds(tol)
    assert np.all(np.diff([certificate.primal for certificate in found]) <= 0)
    assert np.all(np.diff([certificate.dual for certificate in found]) >= 0)
    assert found[-1].primal == pytest.approx(whole.certificate_.primal, rel=2 * tol)


def test_weights_left_as_duals_are_of_the_rows_of_the_last_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_vectors, "_DENSE_BYTES", 0)
    monkeypatch.setattr(tree_vectors, "_SPARSE_BYTES", 0)
    X, y = blobs(spread=2.0)
    rows = sp.csr_array(X)
    model = RecursiveSVM(TREE, tol=1e-3, random_state=0, warm_start=True).fit(rows, y)
    first, scores = model.certificate_, model.decision_function(X)
    again = rows.copy()
    rows.data *= -7.0
    solve = RecursiveSVM._solve

    def spoiled(self: Any, *given: Any) -> Any:
        solution = solve(self, *given)
        worse = replace(solution.vectors, intercept=solution.vectors.intercept + 100.0)
        return replace(solution, vectors=worse)

    monkeypatch.setattr(RecursiveSVM, "_solve", spoiled)
    model.fit(again, y)
    assert model.certificate_.primal == first.primal
    np.testing.assert_allclose(model.decision_function(X), scores)


CHANGES: list[dict[str, Any]] = [
    {"inner_labels": "shared"},
    {"taxonomy": STAR},
    {"taxonomy": DAG},
    {"taxonomy": Taxonomy.from_edges([*TREE.edges, ("animal", "emu")])},
    {"taxonomy": Taxonomy.from_edges([("top", "all"), *TREE.edges])},
    {"root": "free"},
    {"weights": 0.1},
    {"C": 3.0},
    {"intercept_prior": -0.5},
    {"fit_intercept": False},
]
SOLVERS = {
    "squared_hinge": ("tree", "descent", "newton", "lbfgs", "levels"),
    "hinge": ("tree", "descent", "levels"),
    "logistic": ("descent", "newton", "levels"),
    "softmax": ("descent", "newton", "lbfgs"),
}
OTHER = {"squared_hinge": "hinge", "hinge": "squared_hinge", "logistic": "softmax", "softmax": "logistic"}
CASES = [
    (loss, change)
    for loss, other in OTHER.items()
    for change in (*CHANGES, *({"solver": solver} for solver in SOLVERS[loss]), {"loss": other})
]


@pytest.mark.parametrize(("number", "loss", "change"), [(k, *case) for k, case in enumerate(CASES)], ids=str)
def test_what_does_not_fit_is_not_taken_over(number: int, loss: str, change: dict[str, Any]) -> None:
    """On dense rows and on sparse ones in turn: what is taken over is decided before rows are looked at."""
    form = (np.asarray, sp.csr_array)[number % 2]
    X, y = blobs(LEAVES if "taxonomy" in change else ["animal", "cat", "rose", "oak"])
    model = estimator(loss, TREE, tol=1e-3, max_iter=5000, warm_start=True).fit(form(X), y)
    before = {name: model.get_params()[name] for name in change}
    for now in (change, before):  # there and back
        model.set_params(**now).fit(form(X), y)
        fresh = clone(model).fit(form(X), y)
        assert model.certificate_.holds(1e-3)
        assert model.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=2e-3)
