"""Kernels of tied classes against plain sums; also run with the compiler off."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from reference.one_vs_rest_twin import LOSSES, conjugate_at, loss_at, loss_slope
from taxolearn.engines import frozen
from taxolearn.kernels import path_descent
from taxolearn.kernels.margin_terms import margin_terms
from taxolearn.kernels.rows import rows_of
from taxolearn.losses import MARGIN_LOSSES
from taxolearn.losses.for_kernels import for_kernels

every_loss = pytest.mark.parametrize("name", LOSSES)

X = np.random.default_rng(0).normal(size=(7, 2)).astype(np.float32).astype(np.float64)
X.flags.writeable = False  # as in a problem: solvers and direct calls share one compilation
OWN = np.array([0, 1, 2, 0, 1, 2, 0])
SIGN = np.where(OWN[:, None] == np.arange(3), 1.0, -1.0)
ROW_COST = np.array([1.0, 0.5, 2.0, 0.0, 1.0, 1.0, 0.3])
POSITIVE, NEGATIVE = np.array([1.0, 2.0, 1.0]), np.array([1.0, 1.0, 0.5])
COST = ROW_COST[:, None] * np.where(SIGN > 0, POSITIVE, NEGATIVE)
PATHS = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])  # class 2 stands alone
SCALE = np.array([2.0, 1.0, 0.5, 0.0])  # and its only node has no vector
LABELS = (
    np.searchsorted(np.sort(OWN), np.arange(4)).astype(np.int64),
    np.argsort(OWN, kind="stable").astype(np.int64),
    np.ones(3, dtype=bool),
    ROW_COST,
    POSITIVE,
    NEGATIVE,
)
BIAS, PRIOR = 0.5, -1.0


def both_objectives(name, nodes, biases, duals):
    w = PATHS @ nodes
    margins = SIGN * (X @ w.T + BIAS * biases)
    live = SCALE > 0
    primal = 0.5 * np.sum(nodes[live] ** 2 / SCALE[live, None]) + 0.5 * np.sum((biases - PRIOR) ** 2)
    v, beta = (duals * SIGN.T) @ X, BIAS * (duals * SIGN.T).sum(axis=1)
    under = PATHS.T @ v
    dual = -0.5 * np.sum(SCALE[:, None] * under**2) - 0.5 * np.sum(beta**2) - PRIOR * np.sum(beta)
    for i in range(7):
        for c in range(3):
            primal += COST[i, c] * loss_at(name, margins[i, c])
            dual -= conjugate_at(name, duals[c, i], COST[i, c])
    return primal, dual


@every_loss
@pytest.mark.parametrize("layout", ["dense", "tail"])
def test_sweeps_keep_vectors_and_duals_together_and_prices_are_the_gap(name, layout):
    loss, rows = MARGIN_LOSSES[name], rows_of(X)
    if layout == "tail":
        rows = rows_of(sp.csr_array(X[:, :1]))._replace(tail=frozen(X[:, 1:].astype(np.float32)), first=1)
    duals = np.zeros((3, 7))
    for c in range(3):
        own = LABELS[1][LABELS[0][c] : LABELS[0][c + 1]]
        path_descent.fit_duals(
            for_kernels(loss), loss.facts.sparse_dual, own, True, ROW_COST, POSITIVE[c], NEGATIVE[c], duals[c]
        )
    v = (duals * SIGN.T) @ X
    nodes, biases = SCALE[:, None] * (PATHS.T @ v), PRIOR + BIAS * (duals * SIGN.T).sum(axis=1)
    working = np.ones((3, 7), dtype=np.uint8)
    losses, gaps = np.zeros(3), np.zeros(3)
    indptr, indices = np.array([0, 2, 4, 5]), np.array([0, 1, 0, 2, 3])
    squares = path_descent.feature_squares(rows)
    stop = np.zeros(1, dtype=np.int32)
    last = -np.inf
    for seed in range(60):
        every, goals = np.arange(3), np.zeros(3)
        path = (indptr, indices, SCALE, BIAS, every, working, goals, 3, seed, stop, nodes, biases, duals)
        path_descent.sweep_paths(for_kernels(loss), rows, squares, *LABELS, *path)
        v = (duals * SIGN.T) @ X
        np.testing.assert_allclose(nodes, SCALE[:, None] * (PATHS.T @ v), atol=1e-10)
        np.testing.assert_allclose(biases, PRIOR + BIAS * (duals * SIGN.T).sum(axis=1), atol=1e-10)
        primal, dual = both_objectives(name, nodes, biases, duals)
        assert dual >= last - 1e-10
        last = dual
        vectors = np.ascontiguousarray((PATHS @ nodes).T)
        found = (every, vectors, biases, duals, working, losses, gaps)
        path_descent.price_classes(for_kernels(loss), loss.facts.sparse_dual, rows, *LABELS, BIAS, *found)
        assert gaps.sum() == pytest.approx(primal - dual, abs=1e-9)
    assert gaps.sum() <= 1e-3 * primal
    assert np.all(duals[:, 3] == 0.0)  # its row weighs nothing


@pytest.mark.parametrize("name", ["squared_hinge", "logistic"])
def test_slopes_and_curvatures_of_smooth_losses(name):
    loss = MARGIN_LOSSES[name]
    scores = np.random.default_rng(1).normal(size=(7, 3)) * 2
    dual, bend = np.full((7, 3), np.nan), np.full((7, 3), np.nan)
    total = margin_terms(
        for_kernels(loss), scores, np.arange(8), OWN.astype(np.int64), *LABELS[3:], 0, 7, dual, bend
    )
    step = 1e-6
    expected = 0.0
    for i in range(7):
        for c in range(3):
            margin = SIGN[i, c] * scores[i, c]
            expected += COST[i, c] * loss_at(name, margin)
            assert dual[i, c] == pytest.approx(-COST[i, c] * loss_slope(name, margin), abs=1e-12)
            change = (loss_slope(name, margin + step) - loss_slope(name, margin - step)) / (2 * step)
            assert bend[i, c] == pytest.approx(COST[i, c] * change, abs=1e-6)
    assert total == pytest.approx(expected)
