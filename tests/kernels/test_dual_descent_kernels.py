"""Sweeps, Newton steps on the free face and whole blocks, held to what the dual promises and to a slow twin."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.one_vs_rest_twin import coordinate_descent, dual_of, primal_of, with_constant
from taxolearn.engines import frozen
from taxolearn.kernels import dual_descent
from taxolearn.kernels import rows as row_kernels
from taxolearn.kernels.dual_descent import (
    FACE_STEPS,
    REPORT_CONVERGED,
    REPORT_DUAL,
    REPORT_EPOCHS,
    REPORT_PRIMAL,
)
from taxolearn.kernels.face_newton import _newton_by_gradients, face_step
from taxolearn.kernels.rows import DenseRows, SparseRows
from taxolearn.kernels.working_rows import mark_largest
from taxolearn.losses import MARGIN_LOSSES
from taxolearn.losses.for_kernels import for_kernels
from taxolearn.solvers import margin_face
from taxolearn.solvers.margin_block import MAX_ROWS_UNSHRUNK, solve_block

SLOW = bool(numba.config.DISABLE_JIT)  # plain Python runs the same bodies: small sizes
EXAMPLES = 5 if SLOW else 40
LAYOUTS = ("dense", "sparse", "tail")

every_loss = pytest.mark.parametrize("name", list(MARGIN_LOSSES))
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
both_steps = pytest.mark.parametrize("compiled", [True, False], ids=["kernel", "solver"])


class State:
    """One class: rows, signs, costs, and the arrays that kernels change in place."""

    def __init__(self, name, layout, n, width, seed, bias_feature=1.0, density=0.7, zero_costs=False):
        rng = np.random.default_rng(seed)
        self.name, self.loss, self.bias_feature = name, MARGIN_LOSSES[name], bias_feature
        self.X = rng.normal(size=(n, width)) * (rng.random((n, width)) < density)
        if layout == "tail":
            self.X = self.X.astype(np.float32).astype(np.float64)
        self.sign = np.where(rng.random(n) < 0.4, 1.0, -1.0)
        self.cost = rng.choice([0.1, 1.0, 3.0], size=n)
        if zero_costs:
            self.cost[::3] = 0.0
        self.Z = with_constant(self.X, bias_feature)
        self.square = (self.Z**2).sum(axis=1)
        self.rows = rows_of(self.X, layout)
        self.set_dual(np.minimum(1e-3, 1e-3 * self.cost) if name == "logistic" else np.zeros(n))
        self.random = np.array([seed + 12345], dtype=np.uint64)
        self.stop = np.zeros(1, dtype=np.int32)

    def set_dual(self, dual):
        self.dual = np.array(dual, dtype=np.float64)
        v = self.Z.T @ (self.dual * self.sign)
        self.w, self.bias = v[:-1].copy(), np.zeros(1)
        if self.bias_feature:
            self.bias[0] = v[-1]  # the bias is the weight of the constant feature

    def random_dual(self, rng):
        upper = 3.0 * self.cost if self.name == "squared_hinge" else self.cost
        share = rng.random(len(upper))
        if self.name != "logistic":  # some at the bounds
            share[rng.random(len(upper)) < 0.3] = 0.0
            share[rng.random(len(upper)) < 0.2] = 1.0
        self.set_dual(share * upper)

    def sweep(self, epochs=1, goal=-1.0, relative=0.0):
        return dual_descent.sweep(
            for_kernels(self.loss), self.rows, self.sign, self.cost, self.square, self.dual, self.w, self.bias,
            self.bias_feature, goal, relative, epochs, self.random, self.stop, FACE_STEPS,
        )  # fmt: skip

    def face_step(self, per_row, compiled=True):
        """The kernel's step, or that of the solver: two ways to write the same one."""
        given = (
            self.rows,
            self.sign,
            self.cost,
            self.square,
            self.dual,
            self.w,
            self.bias,
            self.bias_feature,
        )
        if compiled:
            return face_step(for_kernels(self.loss), *given, per_row)
        return margin_face.face_step(self.loss, *given, 2.0 * per_row * len(self.dual), len(self.dual))

    @property
    def v(self):
        return np.append(self.w, self.bias)

    @property
    def primal(self):
        return primal_of(self.name, self.Z, self.sign, self.cost, self.v)

    @property
    def dual_value(self):
        return dual_of(self.name, self.Z, self.sign, self.cost, self.dual)

    def check(self):
        """Weights are the sum of d y x, and every dual is inside its bounds."""
        expected = self.Z.T @ (self.dual * self.sign)
        np.testing.assert_allclose(self.v, expected, rtol=1e-9, atol=1e-9 * (1.0 + np.abs(self.dual).sum()))
        assert np.all(self.dual >= 0.0)
        if self.name != "squared_hinge":
            assert np.all(self.dual <= self.cost)
        assert np.isfinite(self.dual_value)


def rows_of(X, layout):
    if layout == "dense":
        return DenseRows(np.ascontiguousarray(X))
    matrix, tail, first = sp.csr_array(X), np.empty((0, 0), np.float32), 0
    if layout == "tail":
        first = X.shape[1] // 2
        matrix, tail = sp.csr_array(X[:, :first]), X[:, first:].astype(np.float32)
    # the types that `gather` makes, which are not read-only: blocks, and both layouts, share one compilation
    return SparseRows(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32), matrix.data, tail, first
    )


@every_loss
@every_layout
@settings(deadline=None, max_examples=EXAMPLES)
@given(
    n=st.integers(1, 12),
    width=st.integers(1, 6),
    seed=st.integers(0, 2**20),
    bias_feature=st.sampled_from([0.0, 1.0, 2.5]),
)
def test_a_sweep_never_lowers_the_dual(name, layout, n, width, seed, bias_feature):
    state = State(name, layout, n, width, seed, bias_feature)
    value = state.dual_value
    for _ in range(4):
        assert state.sweep() == 1
        state.check()
        assert state.dual_value >= value - 1e-10 * (1.0 + abs(value))
        assert state.dual_value <= state.primal + 1e-10 * (1.0 + state.primal)
        value = state.dual_value


@both_steps
@every_loss
@every_layout
@settings(deadline=None, max_examples=EXAMPLES)
@given(n=st.integers(1, 14), width=st.integers(1, 8), seed=st.integers(0, 2**20))
def test_a_newton_step_never_lowers_the_dual(compiled, name, layout, n, width, seed):
    state = State(name, layout, n, width, seed)
    state.random_dual(np.random.default_rng(seed))
    before, value = state.dual.copy(), state.dual_value
    if state.face_step(float(width), compiled):
        assert state.dual_value >= value - 1e-10 * (1.0 + abs(value))
        assert not np.array_equal(state.dual, before)
    else:
        np.testing.assert_array_equal(state.dual, before)
    state.check()
    at_bound = (before == 0.0) | ((before == state.cost) & (name != "squared_hinge"))
    np.testing.assert_array_equal(state.dual[at_bound], before[at_bound])  # the face is what moves


@both_steps
@pytest.mark.parametrize(
    ("name", "n", "width"),
    # with more rows than features the hinge's face has no unique end
    [("hinge", 5, 9), ("squared_hinge", 5, 9), ("squared_hinge", 9, 3)],
)
@every_layout
def test_one_newton_step_ends_a_quadratic_face(compiled, name, layout, n, width):
    state = State(name, layout, n, width, seed=3, density=1.0)
    state.cost[:] = 0.5 if name == "squared_hinge" else 1e3
    ridge = 1.0 / (2.0 * state.cost) if name == "squared_hinge" else np.zeros(n)
    G = (state.Z * state.sign[:, None]) @ (state.Z * state.sign[:, None]).T + np.diag(ridge)
    # signs of the rows chosen so that the unconstrained optimum G d = 1 is inside the bounds
    end = np.linalg.solve(G, np.ones(n))
    while np.any(end <= 0.0):
        flipped = np.where(end <= 0.0, -1.0, 1.0)
        state.sign = state.sign * flipped
        G = G * np.outer(flipped, flipped)
        end = np.linalg.solve(G, np.ones(n))
    state.set_dual(end * np.linspace(0.9, 1.1, n))
    assert state.face_step(float(width), compiled)
    state.check()
    # the proximal term that makes the face solvable leaves a little of the way
    left = np.abs(state.dual - end).max()
    assert left <= 1e-3 * 0.1 * end.max()


@every_loss
def test_a_newton_step_by_conjugate_gradients(name):
    # many sparse rows: the exact solve would cost more than forty sweeps
    n = 40
    state = State(name, "sparse", n, 60, seed=5, density=0.03)
    rng = np.random.default_rng(1)
    state.set_dual(state.cost * (0.2 + 0.6 * rng.random(n)))
    value = state.dual_value
    best = coordinate_descent(name, state.Z, state.sign, state.cost, 1e-6, 500)[1]
    best_value = dual_of(name, state.Z, state.sign, state.cost, best)
    assert state.face_step(1.0)
    state.check()
    assert state.dual_value > value + 0.2 * (best_value - value)


def test_conjugate_gradients_need_no_more_steps_than_unknowns():
    n = 8
    state = State("hinge", "sparse", n, 12, seed=6, density=1.0)
    state.X[:, 0] += 20.0  # rows alike: steepest descent would creep
    state.rows, state.Z = rows_of(state.X, "sparse"), with_constant(state.X, 1.0)
    square, curvature = (state.Z**2).sum(axis=1), np.full(n, 1e-3)
    residual = np.linspace(-1.0, 2.0, n)
    step = _newton_by_gradients(
        state.rows, np.arange(n), state.sign, curvature, square, residual, 12, 1.0, n
    )  # fmt: skip
    signed = state.Z * state.sign[:, None]
    left = residual - (signed @ signed.T @ step + curvature * step)
    diagonal = square + curvature
    assert (left**2 / diagonal).sum() <= 1.01e-4 * (residual**2 / diagonal).sum()


@every_loss
@every_layout
@pytest.mark.parametrize(("n", "width"), [(6, 15), (15, 6)])
def test_the_solvers_newton_step_is_the_kernels(name, layout, n, width):
    # exact in the rows, and in the features
    states = [State(name, layout, n, width, seed=3) for _ in range(2)]
    for state, compiled in zip(states, (True, False), strict=True):
        state.random_dual(np.random.default_rng(4))
        assert state.face_step(1e3, compiled)
        state.check()
    np.testing.assert_allclose(states[1].dual, states[0].dual, rtol=1e-6, atol=1e-9)


@every_loss
@every_layout
def test_the_solvers_three_ways_to_a_step_agree(name, layout):
    state = State(name, layout, 8, 5, seed=6)
    free, curvature = np.arange(8), np.linspace(0.5, 2.0, 8)
    rows = margin_face.FreeRows(state.rows, free, state.sign, 1.0, 5)
    np.testing.assert_allclose(rows.matrix(), state.Z * state.sign[:, None], rtol=1e-12)
    residual = np.linspace(-1.0, 2.0, 8)
    expected = np.linalg.solve(rows.matrix() @ rows.matrix().T + np.diag(curvature), residual)
    for step in (
        margin_face.by_products(rows, curvature, residual),
        margin_face.by_features(rows, curvature, residual),
    ):
        np.testing.assert_allclose(step, expected, rtol=1e-9, atol=1e-12)
    step = margin_face.by_gradients(rows, curvature, state.square, residual, 8)
    diagonal = curvature + state.square
    left = residual - (rows.matrix() @ (rows.matrix().T @ step) + curvature * step)
    assert (left**2 / diagonal).sum() <= 1.01e-4 * (residual**2 / diagonal).sum()


@every_loss
def test_nothing_free_means_no_newton_step(name):
    state = State(name, "dense", 6, 3, seed=1)
    state.set_dual(np.zeros(6))
    assert not state.face_step(3.0)
    assert not state.face_step(3.0, compiled=False)
    assert not state.dual.any()


@both_steps
@pytest.mark.parametrize("dual", [5e-324, 1e-310, 1e-200])
def test_a_newton_step_survives_duals_near_the_smallest_float(compiled, dual):
    state = State("logistic", "dense", 6, 3, seed=1)
    start = 0.5 * state.cost
    start[0] = dual
    state.set_dual(start)
    value = state.dual_value
    state.face_step(3.0, compiled)
    state.check()
    assert state.dual_value >= value - 1e-12 * abs(value)


@every_loss
@every_layout
@pytest.mark.parametrize("bias_feature", [0.0, 2.0])
def test_sweeps_reach_the_goal_and_the_optimum_of_the_twin(name, layout, bias_feature):
    state = State(name, layout, 15 if SLOW else 30, 5, seed=7, bias_feature=bias_feature)
    v, dual = coordinate_descent(name, state.Z, state.sign, state.cost, 1e-7, 3000)
    expected = dual_of(name, state.Z, state.sign, state.cost, dual)
    goal = 1e-6 * expected
    epochs = state.sweep(5000, goal)
    assert 1 < epochs < 5000
    state.check()
    assert state.dual_value == pytest.approx(expected, rel=2e-6)
    assert state.primal == pytest.approx(expected, rel=1e-4)  # the goal is met by sums taken while sweeping
    np.testing.assert_allclose(state.v, v, atol=5e-3 * np.abs(v).max())


@every_loss
def test_a_relative_goal_is_measured_against_the_primal(name):
    state = State(name, "dense", 20, 4, seed=2)
    used = state.sweep(5000, 0.0, 0.8)
    rough = state.primal - state.dual_value
    fine = State(name, "dense", 20, 4, seed=2)
    assert used < fine.sweep(5000, 0.0, 1e-5) < 5000
    assert fine.primal - fine.dual_value < min(rough, 1e-4 * fine.primal)


@every_loss
def test_the_stop_flag_and_the_epoch_limit_end_a_sweep(name):
    state = State(name, "dense", 10, 4, seed=4)
    assert state.sweep(7) == 7
    before = state.dual.copy()
    state.stop[0] = 1
    assert state.sweep(7) == 0
    np.testing.assert_array_equal(state.dual, before)


def test_a_row_of_zeros_without_a_bias_feature():
    state = State("hinge", "dense", 6, 3, seed=4, bias_feature=0.0)
    state.X[2] = 0.0
    state.rows = rows_of(state.X, "dense")
    state.Z = with_constant(state.X, 0.0)
    state.square = (state.Z**2).sum(axis=1)
    state.sweep(50)
    state.check()
    assert state.dual[2] == state.cost[2]  # its margin is 0, below 1 whatever the weights


class Block:
    """A whole block of classes: inputs of `solve_block` and its answers."""

    def __init__(
        self, name, layout, n, width, n_classes, seed, bias_feature=1.0, zero_costs=False, density=0.7
    ):
        rng = np.random.default_rng(seed)
        self.name, self.loss, self.bias_feature = name, MARGIN_LOSSES[name], bias_feature
        self.X = rng.normal(size=(n, width)) * (rng.random((n, width)) < density)
        label = rng.integers(0, n_classes, n)
        label[:n_classes] = np.arange(n_classes)
        self.X[np.arange(n), label % width] += 1.0
        if layout == "tail":
            self.X = self.X.astype(np.float32).astype(np.float64)
        self.Z = with_constant(self.X, bias_feature)
        members = [np.flatnonzero(label == k) for k in range(n_classes)]
        self.indptr = np.concatenate([[0], np.cumsum([len(rows) for rows in members])]).astype(np.int64)
        self.positive_rows = np.concatenate(members).astype(np.int64)
        self.row_weight = rng.choice([0.5, 1.0, 2.0], size=n)
        if zero_costs:
            self.row_weight[::4] = 0.0
        self.positive_weight = rng.choice([1.0, 3.0], size=n_classes)
        self.negative_weight = rng.choice([1.0, 0.5], size=n_classes)
        positive = label[:, None] == np.arange(n_classes)
        self.sign = np.where(positive, 1.0, -1.0)
        self.cost = self.row_weight[:, None] * np.where(positive, self.positive_weight, self.negative_weight)
        self.rows = row_kernels.rows_of(self.X if layout == "dense" else sp.csr_array(self.X))
        if layout == "tail":
            self.rows = frozen(rows_of(self.X, layout))

    def solve(self, classes, tol=1e-4, max_epochs=1000, seed=0, stopped=False):
        classes = np.array(classes, dtype=np.int64)
        self.weights = np.zeros((len(classes), self.X.shape[1]))
        self.biases = np.zeros(len(classes))
        self.duals = np.zeros((len(classes), len(self.X)))
        self.report = np.zeros((len(classes), dual_descent.REPORT_WIDTH))
        stop = np.array([int(stopped)], dtype=np.int32)
        squares = dual_descent.row_squares(self.rows, self.bias_feature)
        weights = frozen((self.row_weight, self.positive_weight, self.negative_weight))
        solve_block(
            self.loss, self.rows,
            *frozen((squares, self.indptr, self.positive_rows)), classes, *weights, self.bias_feature, tol, max_epochs,
            seed, stop, self.weights, self.biases, self.duals, self.report,
        )  # fmt: skip
        return self

    def check(self, classes, tol):
        """The report is honest, weights belong to the dual, the gap is what was asked for."""
        for b, k in enumerate(classes):
            sign, cost = self.sign[:, k], self.cost[:, k]
            v = np.append(self.weights[b], self.biases[b])
            expected = self.Z.T @ (self.duals[b] * sign)
            np.testing.assert_allclose(v, expected, rtol=1e-9, atol=1e-9 * (1.0 + self.duals[b].sum()))
            primal = primal_of(self.name, self.Z, sign, cost, v)
            dual = dual_of(self.name, self.Z, sign, cost, self.duals[b])
            assert self.report[b, REPORT_PRIMAL] == pytest.approx(primal, rel=1e-9)
            assert self.report[b, REPORT_DUAL] == pytest.approx(dual, rel=1e-8, abs=1e-9 * primal)
            assert (primal - dual <= tol * primal * (1 + 1e-6)) == (self.report[b, REPORT_CONVERGED] == 1.0)
            assert not self.duals[b][cost == 0.0].any()


@every_loss
@every_layout
def test_a_block_meets_the_gap_and_the_twin(name, layout):
    n, n_classes = (24, 2) if SLOW else (60, 5)
    block = Block(name, layout, n, 5, n_classes, seed=1, zero_costs=True)
    classes = list(range(n_classes))[::-1]
    block.solve(classes, tol=1e-5).check(classes, 1e-5)
    assert np.all(block.report[:, REPORT_CONVERGED] == 1.0)
    assert np.all(block.report[:, REPORT_EPOCHS] >= 1)
    for b, k in enumerate(classes[:2]):
        v, _ = coordinate_descent(name, block.Z, block.sign[:, k], block.cost[:, k], 1e-5, 2000)
        expected = primal_of(name, block.Z, block.sign[:, k], block.cost[:, k], v)
        assert block.report[b, REPORT_PRIMAL] == pytest.approx(expected, rel=2e-5)


@every_loss
@every_layout
def test_a_growing_working_set_meets_the_gap(name, layout):
    # more than MAX_ROWS_UNSHRUNK rows: the sparse duals start from the positives and what is near them
    n, n_classes = (MAX_ROWS_UNSHRUNK + 40, 1) if SLOW else (1500, 4)
    block = Block(name, layout, n, 6, n_classes + 3, seed=2, zero_costs=True)
    classes = list(range(n_classes))
    tol = 1e-2 if SLOW else 1e-5
    block.solve(classes, tol=tol).check(classes, tol)
    assert np.all(block.report[:, REPORT_CONVERGED] == 1.0)


@every_loss
def test_classes_do_not_depend_on_the_block_they_are_in(name):
    block = Block(name, "dense", 20 if SLOW else 80, 4, 4, seed=3)
    block.solve([0, 1, 2, 3], seed=11)
    together, duals = block.weights.copy(), block.duals.copy()
    for k in (3, 1):
        block.solve([k], seed=11)
        np.testing.assert_array_equal(block.weights[0], together[k])
        np.testing.assert_array_equal(block.duals[0], duals[k])
    block.solve([1], seed=12)
    assert not np.array_equal(block.weights[0], together[1])  # the seed does matter


@every_loss
def test_limits_leave_an_honest_report(name):
    block = Block(name, "dense", 40, 4, 3, seed=4)
    classes = [0, 1, 2]
    block.solve(classes, tol=1e-9, max_epochs=1).check(classes, 1e-9)
    assert np.all(block.report[:, REPORT_EPOCHS] == 1)
    assert not block.report[:, REPORT_CONVERGED].any()
    block.solve(classes, tol=1e-9, stopped=True).check(classes, 1e-9)
    assert not block.report[:, REPORT_EPOCHS].any()
    assert not block.report[:, REPORT_CONVERGED].any()


@settings(deadline=None, max_examples=EXAMPLES * 3)
@given(
    values=st.lists(st.floats(-5.0, 100.0), min_size=1, max_size=60),
    count=st.integers(1, 40),
    least=st.sampled_from([0.0, 1.0]),
    marked=st.integers(0, 2**60),
)
def test_marking_the_largest(values, count, least, marked):
    values = np.array(values)
    before = np.array([(marked >> i) & 1 for i in range(len(values))], dtype=np.uint8)
    marks = before.copy()
    mark_largest(values, least, count, marks)
    fresh = (marks == 1) & (before == 0)
    could = (before == 0) & (values > least)
    assert np.all(marks[before == 1] == 1)  # what was marked stays
    assert fresh.sum() <= count
    assert np.all(could[fresh])
    if could.sum() <= count:
        assert fresh.sum() == could.sum()
    else:
        assert fresh.any()  # progress, whatever the ties
        left = could & ~fresh
        distinct = len(np.unique(values[could])) == could.sum()
        if distinct and np.diff(np.sort(values[could])).min() > 1e-3:
            assert fresh.sum() >= count // 2
        assert values[fresh].max() >= values[left].max() - 1e-6  # none of the largest is passed over
