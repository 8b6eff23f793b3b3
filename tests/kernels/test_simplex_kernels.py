"""Pricing and ascent on each row's simplex, held to a slow twin."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from reference.structured_twin import Twin, ascend_row, cost_matrix, margins_and_scalings, with_constant
from taxolearn import Taxonomy
from taxolearn.engines import frozen
from taxolearn.kernels import simplex_passes as passes
from taxolearn.kernels.dual_descent import row_squares
from taxolearn.kernels.rows import rows_of
from taxolearn.losses import structured_hinge
from taxolearn.problem import make_problem
from taxolearn.solvers import structured
from taxolearn.ties import path_sum

SLOW = bool(numba.config.DISABLE_JIT)
N, WIDTH, BIAS = 14, 5, 0.7
TREE = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 3), ("b", 4), (4, 5), ("r", 6)])
DAG = Taxonomy.from_edges(
    [("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 2), ("b", 3), ("r", 3), ("b", 4)]
)
SETTINGS = [
    (TREE, "hamming", "margin"),
    (TREE, "zero_one", "slack"),
    (TREE, "normalized", "unit"),
    (DAG, "tree", "slack"),
    (DAG, "sqrt_hamming", "unit"),
    (DAG, "normalized", "margin"),
]
every_setting = pytest.mark.parametrize(
    "setting", SETTINGS, ids=[f"{'tree' if s[0] is TREE else 'dag'}-{s[1]}-{s[2]}" for s in SETTINGS]
)
every_layout = pytest.mark.parametrize("layout", ["dense", "sparse", "tail"])


class State:
    """A small problem as the kernels see it, beside its twin."""

    def __init__(self, setting, layout, table=True, seed=0):
        taxonomy, cost, rescaling = setting
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(N, WIDTH)) * (rng.random((N, WIDTH)) < 0.7)
        if layout == "tail":
            X = X.astype(np.float32).astype(np.float64)
        nodes = [
            node for node in range(taxonomy.n_nodes) if taxonomy.is_leaf[node] or taxonomy.nodes[node] == 4
        ]
        names = [taxonomy.nodes[node] for node in nodes]
        y = [names[k] for k in [*range(len(names)), *rng.integers(0, len(names), N - len(names))]]
        problem = make_problem(X, [[name] for name in y], taxonomy)
        self.n_classes = problem.n_classes
        scale = rng.choice([0.3, 1.0, 2.0], size=taxonomy.n_nodes)
        scale[0] = 0.0  # the root has no vector
        tie = path_sum(taxonomy, problem.class_nodes, scale)
        delta = cost_matrix(cost, taxonomy, problem.class_nodes, scale)
        self.label, _ = problem.one_label
        self.cost = rng.choice([0.5, 1.0, 3.0], size=N)
        self.twin = Twin(
            with_constant(X, BIAS), self.label, self.cost, tie.paths.toarray(), scale,
            *margins_and_scalings(delta, rescaling),
        )  # fmt: skip
        loss = structured_hinge(problem, tie, cost, rescaling)
        self.costs = structured.kernel_costs(loss)
        if not table and loss.table is None:
            self.costs = self.costs._replace(table=np.zeros((0, 0)))
        self.paths = structured.kernel_paths(tie.paths, scale, structured._ranks(tie))
        self.rows = rows_of(X if layout == "dense" else sp.csr_array(X))
        if layout == "tail":
            first = WIDTH // 2
            tail = frozen(X[:, first:].astype(np.float32))
            self.rows = rows_of(sp.csr_array(X[:, :first]))._replace(tail=tail, first=first)
        self.square = row_squares(self.rows, BIAS)
        self.nodes, self.bias = np.zeros((WIDTH, taxonomy.n_nodes)), np.zeros(taxonomy.n_nodes)
        self.scores, self.gaps = np.empty(taxonomy.n_nodes), np.zeros(N)
        self.stop = np.zeros(1, dtype=np.int32)
        share = rng.random((N, self.n_classes)) * (rng.random((N, self.n_classes)) < 0.4)
        share[np.arange(N), self.label] = 0.0
        bound = np.maximum(share.sum(axis=1), 1e-9) * rng.choice(
            [1.0, 1.5], size=N
        )  # some rows at their bound
        self.set_dual(share / bound[:, None] * self.cost[:, None])

    def set_dual(self, alpha):
        dual = sp.csr_array(alpha)
        self.slots = passes.repack(
            passes.Slots(
                dual.indptr.astype(np.int64), np.diff(dual.indptr).astype(np.int32),
                dual.indices.astype(np.int32), dual.data,
            ),
            passes.MAX_NEW_CLASSES,
        )  # fmt: skip
        passes.weights_of(
            self.rows, self.label, self.paths, self.costs, self.nodes, self.bias, BIAS, self.slots, self.stop
        )

    @property
    def alpha(self):
        found = np.zeros((N, self.n_classes))
        for i in range(N):
            for k in range(self.slots.indptr[i], self.slots.indptr[i] + self.slots.count[i]):
                found[i, self.slots.classes[k]] = self.slots.alpha[k]
        return found

    @property
    def U(self):
        return np.vstack([self.nodes, self.bias]).T

    def slot(self, i):
        return self.slots.classes[self.slots.indptr[i] : self.slots.indptr[i] + self.slots.count[i]].tolist()

    def price(self, rows, stretches=()):
        report = np.zeros(2 + len(stretches))
        passes.price(
            self.rows, self.label, self.cost, self.paths, self.costs, self.nodes, self.bias, BIAS, self.slots,
            rows, self.scores, self.gaps, np.array(stretches, dtype=float), report, self.stop,
        )  # fmt: skip
        return report

    def ascend(self, rows, full, again=0):
        report = np.zeros(2)
        passes.ascend(
            self.rows, self.square, self.label, self.cost, self.paths, self.costs, self.nodes, self.bias, BIAS,
            self.slots, rows, full, again, self.scores, self.gaps, np.zeros(0), report, self.stop,
        )  # fmt: skip
        return report


@every_setting
@every_layout
@pytest.mark.parametrize("table", [True, False])
def test_weights_and_gaps_are_those_of_the_dual(setting, layout, table):
    state = State(setting, layout, table)
    twin = state.twin
    np.testing.assert_allclose(state.U, twin.a[:, None] * twin.node_sums(state.alpha), atol=1e-12)
    squares = passes.node_squares(state.nodes, state.bias)
    np.testing.assert_allclose(squares, (state.U**2).sum(axis=1), rtol=1e-12)
    live = twin.a > 0
    penalty = 0.5 * (squares[live] / twin.a[live]).sum()
    linear = passes.linear_part(state.label, state.costs, state.slots)
    assert linear - penalty == pytest.approx(twin.dual(state.alpha), rel=1e-11)
    losses, gap = state.price(np.arange(N))
    assert penalty + losses == pytest.approx(twin.primal(state.U), rel=1e-11)
    assert gap == pytest.approx(twin.primal(state.U) - twin.dual(state.alpha), rel=1e-9)
    assert state.gaps.sum() == pytest.approx(gap)


@every_setting
def test_pricing_adds_the_worst_violators(setting, monkeypatch):
    state = State(setting, "sparse")
    violations, alpha = state.twin.violations(state.U), state.alpha
    before = [set(state.slot(i)) for i in range(N)]
    state.price(np.arange(N))
    for i in range(N):
        held = [violations[i, k] for k in before[i]]
        held += [0.0] if state.cost[i] - alpha[i].sum() > 1e-12 else []
        added = [k for k in state.slot(i) if k not in before[i]]
        others = [k for k in range(state.n_classes) if k not in before[i] and k != state.label[i]]
        wanted = [k for k in others if violations[i, k] > min(held) + 1e-9]
        assert set(wanted) <= set(added) or len(added) == passes.MAX_NEW_CLASSES
        assert [violations[i, k] for k in added] == sorted((violations[i, k] for k in added), reverse=True)
    np.testing.assert_array_equal(state.alpha, alpha)


@every_setting
@every_layout
@pytest.mark.parametrize("full", [True, False])
def test_a_visit_leaves_a_tenth_of_the_rows_gap(setting, layout, full):
    for i in range(3 if SLOW else N):
        state = State(setting, layout, seed=i)
        if not full:
            state.price(np.array([i]))
        before, value = state.alpha, state.twin.dual(state.alpha)
        violations = state.twin.violations(state.U)[i]
        state.ascend(np.array([i]), full)
        classes = [state.label[i], *state.slot(i)]

        def gap(violations, alpha, among, i=i, cost=state.cost):
            return cost[i] * max(violations[among].max(), 0.0) - alpha[i] @ violations

        seen = gap(violations, before, np.arange(state.n_classes) if full else classes)
        assert state.gaps[i] == pytest.approx(seen, abs=1e-11)
        now = state.twin.violations(state.U)[i]
        assert gap(now, state.alpha, classes) <= passes.ROW_TOL * seen + 1e-11
        assert state.twin.dual(state.alpha) >= value - 1e-11
        np.testing.assert_allclose(
            state.U, state.twin.a[:, None] * state.twin.node_sums(state.alpha), atol=1e-11
        )
        others = np.arange(N) != i
        np.testing.assert_array_equal(state.alpha[others], before[others])


@every_setting
def test_steps_to_the_end_find_the_twins_optimum_of_the_row(setting):
    for i in range(2 if SLOW else 6):
        state = State(setting, "dense", seed=i)
        before, y, c = state.alpha, state.label[i], state.cost[i]
        others = [k for k in range(state.n_classes) if k != y]
        rank = state.paths.rank
        classes = np.array([y, *(sorted(others, key=lambda k: rank[k]) if len(rank) else others)])
        scaling = np.array([0.0, *state.twin.S[classes[1:], y]])
        gram = np.empty((len(classes), len(classes)))
        passes.row_gram(state.paths, y, classes, scaling, len(classes), state.square[i], gram)
        gradient = state.twin.violations(state.U)[i][classes]
        alpha = before[i][classes]
        alpha[0] = c - alpha.sum()
        passes.pairwise_steps(gram, gradient, alpha, len(classes), c, 1e-12, 10_000)
        assert alpha.sum() == pytest.approx(c)
        assert np.all(alpha >= 0)
        found, expected = before.copy(), before.copy()
        found[i] = 0.0
        found[i, classes[1:]] = alpha[1:]
        expected[i] = ascend_row(state.twin, before, i, classes[1:].tolist(), 1e-9)
        np.testing.assert_allclose(
            gradient,
            state.twin.violations(state.twin.a[:, None] * state.twin.node_sums(found))[i][classes],
            atol=1e-9,
        )
        assert state.twin.dual(found) == pytest.approx(state.twin.dual(expected), rel=1e-8)


@every_setting
def test_passes_raise_the_dual_and_keep_it_feasible(setting):
    state = State(setting, "sparse")
    last = state.twin.dual(state.alpha)
    for step in range(3 if SLOW else 20):
        state.slots = passes.repack(state.slots, passes.MAX_NEW_CLASSES)
        state.ascend(np.random.default_rng(step).permutation(N), step % 3 == 0)
        now = state.twin.dual(state.alpha)
        assert now >= last - 1e-12
        assert np.all(state.alpha >= 0)
        assert np.all(state.alpha.sum(axis=1) <= state.cost * (1 + 1e-12))
        last = now
    if not SLOW:
        for step in range(600):
            state.slots = passes.repack(state.slots, passes.MAX_NEW_CLASSES)
            state.ascend(np.random.default_rng(step).permutation(N), True)
        losses, gap = state.price(np.arange(N))
        assert gap <= 1e-3 * (losses + 1.0)


def test_a_row_of_zeros_goes_to_its_worst_class():
    state = State(SETTINGS[0], "dense")
    rows = rows_of(np.zeros((N, WIDTH)))
    gram, gradient = np.zeros((3, 3)), np.array([0.0, 2.0, 1.0])
    alpha = np.array([0.5, 0.0, 0.5])
    passes.pairwise_steps(gram, gradient, alpha, 3, 1.0, 0.0, 10)
    np.testing.assert_array_equal(alpha, [0.0, 1.0, 0.0])
    assert row_squares(rows, 0.0).max() == 0.0
    state.stop[0] = 1
    before = state.alpha
    assert state.ascend(np.arange(N), True).tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(state.alpha, before)


@every_setting
def test_rows_with_large_gaps_are_visited_again_on_their_slots(setting):
    order = np.random.default_rng(5).permutation(N)
    together, apart = State(setting, "sparse"), State(setting, "sparse")
    report = together.ascend(order, True, again=2)
    np.testing.assert_array_equal(report, apart.ascend(order, True))
    state = np.array([(int(order[0]) * 2654435761 + 88172645463325252) % 2**64], dtype=np.uint64)
    few, left = [], N // 2
    for bar in [passes.LARGE_GAP] * 2 + [passes.HUGE_GAP] * passes.HUGE_TURNS:
        gaps, shuffled = apart.gaps[order], order.copy()
        few.append(order[gaps > bar * gaps.mean()])
        assert passes._rows_of_large_gaps(order, apart.gaps, bar, state, shuffled) == len(few[-1])
        left -= len(few[-1]) if bar == passes.HUGE_GAP else 0
        if left < 0:
            break
        shuffled = shuffled[: len(few[-1])]
        assert sorted(shuffled) == sorted(few[-1])
        assert len(few) > 1 or shuffled.tolist() != few[0].tolist()
        apart.ascend(shuffled, False)
    assert 0 < len(few[0]) < N
    np.testing.assert_array_equal(together.alpha, apart.alpha)
    np.testing.assert_array_equal(together.nodes, apart.nodes)


@every_setting
def test_losses_of_longer_vectors(setting):
    state = State(setting, "dense")
    stretches = [1.3, 1.05, 1.001]
    report = state.price(np.arange(N), stretches)
    live = state.twin.a > 0
    for stretch, losses in zip(stretches, report[2:], strict=True):
        U = stretch * state.U
        penalty = 0.5 * ((U[live] ** 2).sum(axis=1) / state.twin.a[live]).sum()
        assert penalty + losses == pytest.approx(state.twin.primal(U), rel=1e-11)
