"""The Hessian of losses as one matrix, against sums over single rows; and Newton steps that solve with it."""

from __future__ import annotations

import numpy as np
import pytest

from taxolearn.losses import Softmax, SquaredHinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import smooth
from taxolearn.solvers.base import Limits
from taxolearn.solvers.newton import solve_newton
from taxolearn.solvers.score_hessian import losses_hessian
from taxolearn.ties import covariance_tie

SIZES = {"small": (5, 3, 4, 2), "large": (60, 12, 9, 11)}  # rows, features, classes, columns of the factor


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("biases", [False, True])
def test_it_is_the_sum_over_rows(size: str, joint: bool, biases: bool) -> None:
    n, d, k, columns = SIZES[size]
    rng = np.random.default_rng(0)
    X, factor, offsets = rng.normal(size=(n, d)), rng.normal(size=(k, columns)), rng.normal(size=(k, 2))
    half = rng.normal(size=(n, k, k))
    curvature = half @ half.transpose(0, 2, 1) if joint else rng.random((n, k))
    expected = 0.0
    for i in range(n):
        derivative = np.kron(X[i], factor)  # of the scores in the vectors, feature by feature
        if biases:
            derivative = np.hstack([derivative, offsets])
        expected = expected + derivative.T @ (curvature[i] if joint else np.diag(curvature[i])) @ derivative
    found = losses_hessian(curvature, X, factor, offsets if biases else None)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("loss", [Softmax(), SquaredHinge()])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_exact_steps_end_where_conjugate_gradients_do(
    loss: object, bias: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 40)
    X = rng.normal(size=(40, 4)) + y[:, None]
    tie = covariance_tie([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    objective = Objective(make_problem(X, ["abc"[k] for k in y]), loss, tie, 3.0, bias, 0.5)
    exact = solve_newton(objective, Limits(tol=1e-12))
    assert exact.details["products"] == 0
    monkeypatch.setattr(smooth, "_TINY_WORK", 0)
    other = solve_newton(objective, Limits(tol=1e-12))
    assert other.details["products"] > 0
    np.testing.assert_allclose(exact.vectors.coef, other.vectors.coef, atol=1e-5)
    np.testing.assert_allclose(exact.vectors.intercept, other.vectors.intercept, atol=1e-5)
