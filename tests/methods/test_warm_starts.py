"""Warm starts, the better of two fits, and sample weights, for every method of the registry."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from test_contract import EVERY_METHOD, LEAVES, TREE, made, one_label, rows

from taxolearn import RecursiveLogistic
from taxolearn.methods.warm_start import rescaled
from taxolearn.registry import METHODS, Method

TOL = 1e-5
# learned variances are part of the objective, and after another start they are others, within the gap of the vectors
ONE_OBJECTIVE = pytest.mark.parametrize(
    "method", [method for method in METHODS if method.name != "bayesian"], ids=lambda method: method.name
)


def fitted(model: Any, X: Any, y: Any, **given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **given)


@ONE_OBJECTIVE
@pytest.mark.parametrize("loss", range(2))
def test_a_warm_fit_with_another_C_reaches_the_same_optimum(method: Method, loss: int) -> None:
    if loss >= max(1, len(method.losses)):
        return
    y = one_label(LEAVES, 5)
    X = rows(y)
    named = {"loss": method.losses[loss]} if method.losses else {}
    model = made(method, TREE, LEAVES, tol=TOL, warm_start=True, random_state=0, max_iter=20_000, **named)
    fitted(model, X, y)
    warm = fitted(model.set_params(C=3.0), X, y)
    cold = fitted(made(method, TREE, LEAVES, tol=TOL, C=3.0, random_state=0, max_iter=20_000, **named), X, y)
    assert warm.certificate_.holds(TOL)
    assert warm.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=3 * TOL)


@EVERY_METHOD
def test_a_start_from_other_rows_is_no_start(method: Method) -> None:
    y = one_label(LEAVES, 5)
    model = made(method, TREE, LEAVES, tol=1e-3, warm_start=True, random_state=0)
    fitted(model, rows(y), y)
    other = rows(y, seed=9)
    warm = fitted(model, other, y)
    cold = fitted(made(method, TREE, LEAVES, tol=1e-3, random_state=0), other, y)
    assert warm.n_iter_ == cold.n_iter_
    np.testing.assert_array_equal(warm.decision_function(other), cold.decision_function(other))


@EVERY_METHOD
def test_a_fit_that_is_stopped_early_never_makes_a_model_worse(method: Method) -> None:
    y = one_label(LEAVES, 5)
    X = rows(y)
    model = made(method, TREE, LEAVES, tol=1e-4, warm_start=True, random_state=0, max_iter=20_000)
    first = fitted(model, X, y).certificate_
    second = fitted(model.set_params(max_iter=1, tol=1e-9), X, y).certificate_
    assert second.upper <= first.upper
    assert second.lower >= first.lower


@EVERY_METHOD
@pytest.mark.parametrize("loss", range(2))
def test_a_weight_of_two_is_a_row_given_twice(method: Method, loss: int) -> None:
    """With a taxonomy: intercept priors, costs and held-in classes count weight, not rows."""
    if loss >= max(1, len(method.losses)):
        return
    y = one_label(LEAVES, 4)
    X = rows(y)
    named = {"loss": method.losses[loss]} if method.losses else {}
    weight = np.where(np.arange(len(y)) % 3 == 0, 2, 1)
    copies = np.repeat(np.arange(len(y)), weight)
    make = {"tol": 1e-7, "random_state": 0, "max_iter": 50_000, **named}
    weighted = fitted(made(method, TREE, LEAVES, **make), X, y, sample_weight=weight)
    repeated = fitted(made(method, TREE, LEAVES, **make), X[copies], [y[i] for i in copies])
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-5)
    new = rows(y, seed=3)
    np.testing.assert_allclose(
        weighted.decision_function(new), repeated.decision_function(new), rtol=0.02, atol=0.02
    )


@pytest.mark.parametrize(("loss", "grows"), [("softmax", False), ("logistic", True)])
def test_duals_grow_with_C_but_probabilities_do_not(loss: str, grows: bool) -> None:
    y = one_label(LEAVES, 3)
    model = fitted(RecursiveLogistic(TREE, loss=loss, warm_start=True, random_state=0), rows(y), y)
    kept = model._kept
    other = RecursiveLogistic(TREE, loss=loss, C=2.0)._objective(kept.problem)
    ratio = rescaled(kept, other).sum() / kept.dual.sum()
    assert ratio == pytest.approx(2.0 if grows else 1.0)
