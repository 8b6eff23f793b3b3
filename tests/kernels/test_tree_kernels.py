"""Tree kernels against plain dense arithmetic."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.engines import frozen
from taxolearn.kernels import tree_descent, tree_pricing
from taxolearn.kernels.rows import rows_of
from taxolearn.losses import MARGIN_LOSSES, Hinge, SquaredHinge
from taxolearn.losses.for_kernels import for_kernels
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, tree_rows, tree_sweeps, tree_tasks
from taxolearn.solvers.tree_forest import make_forest
from taxolearn.ties import path_sum

N, WIDTH = 12, 5
TREE = Taxonomy.from_edges(
    [("all", "a"), ("all", "b"), ("a", "a1"), ("a", "a2"), ("a2", "a21"), ("a2", "a22"), ("b", "b1")]
)
LABELS = ["a", "a1", "a21", "a22", "b1"]  # one of them at an inner node


class Made:
    """Random rows and duals on a tree, once as the kernels take them and once dense."""

    def __init__(self, name="squared_hinge", seed=0):
        rng = np.random.default_rng(seed)
        self.name, self.loss = name, MARGIN_LOSSES[name]
        self.X = rng.normal(size=(N, WIDTH)) * (rng.random((N, WIDTH)) < 0.7)
        scale = rng.uniform(0.3, 2.0, TREE.n_nodes)
        scale[0] = 0.0
        self.tie = path_sum(TREE, TREE.ids_of(LABELS), scale)
        self.forest = make_forest(self.tie, np.ones(5, dtype=bool))
        self.tree = frozen(self.forest.arrays())
        self.A = self.tie.covariance[np.ix_(self.forest.classes, self.forest.classes)]
        self.rows = rows_of(sp.csr_array(self.X))
        self.squares = frozen((self.X**2).sum(axis=1))
        costs = tree_descent.Costs(
            rng.uniform(0.5, 1.5, N), rng.uniform(0.5, 1.5, 5), rng.uniform(0.5, 1.5, 5)
        )
        self.costs = frozen(costs)
        # class k has rows 2k and 2k+1, works on those and on four others
        lists = [[2 * k, 2 * k + 1, *((2 * k + 2 + np.arange(4)) % N)] for k in range(5)]
        active = tree_descent.Active(
            np.arange(0, 31, 6),
            np.full(5, 2),
            np.array(lists, dtype=np.int32).ravel(),
            rng.uniform(0.0, 0.4, 30) * (rng.random(30) < 0.7),
            np.full(5, 3),
        )
        self.active = frozen(active)._replace(dual=active.dual)
        self.sign = -np.ones((5, N))
        for k in range(5):
            self.sign[k, 2 * k : 2 * k + 2] = 1.0

    @property
    def dual(self):
        dense = np.zeros((5, N))
        for k in range(5):
            dense[k, self.active.rows[6 * k : 6 * k + 6]] = self.active.dual[6 * k : 6 * k + 6]
        return dense

    @property
    def W(self):
        return self.A @ ((self.dual * self.sign) @ self.X)

    def cost(self):
        return self.costs.row_weight * np.where(
            self.sign > 0, self.costs.positive[:, None], self.costs.negative[:, None]
        )

    def dual_value(self, b0=0.0):
        signed = self.dual * self.sign
        beta = signed.sum(axis=1)
        quadratic = np.sum((signed @ self.X) * self.W)
        conjugates = self.loss.conjugate(self.dual, self.cost()).sum()
        return -0.5 * quadratic - 0.5 * beta @ beta - b0 * beta.sum() - conjugates

    def sweep(self, sweeps=1, stop=0):
        biases = (self.dual * self.sign).sum(axis=1)
        w = np.zeros(WIDTH)
        for top in self.forest.tops:
            tree_descent.sweep_tree(
                for_kernels(self.loss),
                self.rows,
                self.squares,
                self.tree,
                self.active,
                self.costs,
                top,
                1.0,
                sweeps,
                3,
                np.zeros(5),
                w,
                biases,
                0,
                np.full(len(self.tree.end), -1),
                np.empty((0, WIDTH)),
                np.full(1, stop, dtype=np.int32),
            )
            np.testing.assert_array_equal(w, 0.0)
        return biases


def test_a_chain_is_one_node_and_labels_at_inner_nodes_come_first():
    made = Made()
    assert made.forest.classes.tolist() == [0, 1, 2, 3, 4]
    assert made.forest.tops.tolist() == [0, 5]
    assert made.forest.own.tolist()[0] == 1
    b, b1 = TREE.ids_of(["b", "b1"])
    assert made.forest.member[b] == made.forest.member[b1] == 5
    assert made.forest.scale[5] == pytest.approx(made.tie.scale[b] + made.tie.scale[b1])


def test_class_vectors_are_sums_along_the_paths():
    made = Made()
    out, place = np.empty((5, WIDTH)), np.array([3, 0, 4, 1, 2])
    for top in made.forest.tops:
        tree_descent.class_vectors(
            made.rows, made.tree, frozen(made.active), top, place, np.zeros(WIDTH), out
        )
    np.testing.assert_allclose(out[place], made.W, atol=1e-12)


def test_sweeps_raise_the_dual_to_its_optimum_on_the_active_rows():
    made = Made()
    before = made.dual_value()
    biases = made.sweep()
    middle = made.dual_value()
    assert middle > before
    np.testing.assert_allclose(biases, (made.dual * made.sign).sum(axis=1), atol=1e-12)
    made.sweep(sweeps=300)
    assert made.dual_value() >= middle
    # optimal: no active dual has a slope that its bound does not hold back
    margins = made.sign * (made.W @ made.X.T + (made.dual * made.sign).sum(axis=1)[:, None])
    slope = (margins + made.dual / (2 * made.cost()) - 1.0).ravel()
    active = np.zeros((5, N), dtype=bool)
    for k in range(5):
        active[k, made.active.rows[6 * k : 6 * k + 6]] = True
    held = (made.dual.ravel() == 0.0) & (slope > 0)
    assert np.abs(slope[active.ravel() & ~held]).max() < 1e-6


def test_a_raised_flag_stops_before_the_first_node():
    made = Made()
    before = made.active.dual.copy()
    made.sweep(stop=1)
    np.testing.assert_array_equal(made.active.dual, before)


def price(made, bias_feature, b0, room, biases, ahead=0.0, halt=0):
    """Price all five classes, at most two fresh rows each."""
    report = np.zeros((5, tree_pricing.REPORT_WIDTH))
    keep = np.ones(30, dtype=np.bool_)
    fresh = np.empty(10, dtype=np.int32)
    begin, finish = np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.int64)
    tree_pricing.price_classes(
        for_kernels(made.loss),
        made.rows,
        made.tree,
        frozen(made.active),
        made.costs,
        0,
        0,
        5,
        bias_feature,
        b0,
        ahead,
        0.0,
        np.full(5, 2),
        np.zeros(WIDTH),
        np.empty((3, WIDTH)),
        np.empty(WIDTH * room),
        np.empty(N * room),
        biases,
        keep,
        fresh,
        begin,
        finish,
        report,
        np.full(len(made.tree.end), -1),
        np.empty((0, WIDTH)),
        np.array([halt], dtype=np.int32),
    )
    return report, keep, fresh, begin, finish


@pytest.mark.parametrize("bias_feature", [0.0, 1.0])
@pytest.mark.parametrize("room", [1, 2, 5])
def test_pricing_finds_objectives_biases_and_missing_rows(bias_feature, room):
    made = Made()
    b0 = -0.5
    biases = b0 + bias_feature * (made.dual * made.sign).sum(axis=1)
    report, keep, fresh, begin, finish = price(made, bias_feature, b0, room, biases)
    scores = made.W @ made.X.T
    np.testing.assert_allclose(
        report[:, tree_pricing.QUADRATIC], (made.dual * made.sign * scores).sum(axis=1), atol=1e-12
    )
    np.testing.assert_allclose(
        report[:, tree_pricing.CONJUGATES],
        made.loss.conjugate(made.dual, made.cost()).sum(axis=1),
        atol=1e-12,
    )

    def objective(b):
        margins = made.sign * (scores + bias_feature * b[:, None])
        losses = made.cost() * made.loss.value(margins)
        return losses, losses.sum(axis=1) + 0.5 * (b - b0) ** 2

    b = report[:, tree_pricing.BIAS]
    losses, value = objective(b)
    np.testing.assert_allclose(report[:, tree_pricing.LOSSES], losses.sum(axis=1), rtol=1e-12)
    assert np.all(value <= objective(biases)[1] + 1e-12)
    if bias_feature:  # each pricing goes on towards the best there is
        further = b.copy()  # contiguous, as solvers hand them over
        for _ in range(5):
            further = price(made, bias_feature, b0, room, further)[0][:, tree_pricing.BIAS].copy()
        best = np.min([objective(b0 + np.full(5, t))[1] for t in np.linspace(-8, 8, 4001)], axis=0)
        np.testing.assert_allclose(objective(further)[1], best, rtol=1e-4)
    # rows that have a loss at the polished bias or at the dual's
    losses, _ = objective(np.maximum(b, biases))
    for k in range(5):
        mine = set(made.active.rows[6 * k : 6 * k + 6].tolist())
        others = sorted(
            (i for i in range(N) if i not in mine and losses[k, i] > 0), key=lambda i: -losses[k, i]
        )
        assert set(fresh[begin[k] : finish[k]].tolist()) == set(others[:2])
        left = sum(losses[k, i] for i in others[2:])
        assert report[k, tree_pricing.LEFT_OUT] == pytest.approx(left, abs=1e-12)
        for at in range(6 * k + 2, 6 * k + 6):
            useful = made.active.dual[at] != 0.0 or losses[k, made.active.rows[at]] > 0.0
            assert keep[at] == (useful or at < 6 * k + made.active.permanent[k])


def test_pricing_ahead_finds_rows_that_are_about_to_have_a_loss():
    made = Made()
    biases = np.full(5, -1.4)  # low: few rows have a loss
    report, _, fresh, begin, finish = price(made, 1.0, -1.4, 5, biases, ahead=0.4)
    scores = made.W @ made.X.T + np.maximum(report[:, tree_pricing.BIAS], biases)[:, None]
    found = 0
    for k in range(5):
        others = np.setdiff1d(np.arange(N), made.active.rows[6 * k : 6 * k + 6])
        near = [i for i in others if scores[k, i] + 0.4 > -1.0]
        worst = sorted(near, key=lambda i: -made.cost()[k, i] * made.loss.value(-scores[k, i] - 0.4))
        assert set(fresh[begin[k] : finish[k]].tolist()) == set(worst[:2])
        found += sum(scores[k, i] <= -1.0 for i in worst[:2])
    assert found > 0  # rows without a loss now are among them


def test_rows_that_only_the_polished_bias_puts_right_are_not_overlooked():
    made = Made()
    biases = np.full(5, 3.0)  # far too high: at the dual's bias every row has a loss, polishing lowers it
    report, _, fresh, begin, finish = price(made, 1.0, 0.0, 5, biases)
    assert np.all(report[:, tree_pricing.BIAS] < 1.0)
    assert np.all(finish - begin == 2)
    scores = made.W @ made.X.T
    for k in range(5):
        others = np.setdiff1d(np.arange(N), made.active.rows[6 * k : 6 * k + 6])
        worst = sorted(others, key=lambda i: -made.cost()[k, i] * made.loss.value(-scores[k, i] - 3.0))
        assert set(fresh[begin[k] : finish[k]].tolist()) == set(worst[:2])


def test_pricing_ends_at_a_raised_flag():
    report, *_ = price(Made(), 1.0, 0.0, 2, np.zeros(5), halt=1)
    assert not report.any()


def test_rows_are_dropped_and_added_in_place():
    made = Made()
    keep = np.ones(30, dtype=np.uint8)
    keep[[3, 10]] = 0
    begin, finish = np.array([0, 1, 1, 1, 0]), np.array([1, 1, 1, 1, 2])
    indptr = np.array([0, 6, 11, 17, 23, 31])
    rows, dual = np.full(31, -1, dtype=np.int32), np.full(31, np.nan)
    rows[:30], dual[:30] = made.active.rows, made.active.dual
    old = np.zeros_like(made.active.indptr)
    everything = np.empty(0, dtype=np.uint8)
    for start, stop, flags in ((0, 1, keep[:6]), (1, 3, keep[6:18]), (3, 5, everything)):
        tree_rows.drop_rows(start, stop, np.array(made.active.indptr), flags, rows, dual, old)
    assert old.tolist() == [0, 5, 10, 16, 22, 28]
    tree_rows.add_rows(3, 5, old, indptr, np.array([8, 9], dtype=np.int32), begin, finish, rows, dual)
    tree_rows.add_rows(0, 3, old, indptr, np.array([7], dtype=np.int32), begin, finish, rows, dual)
    kept = np.delete(made.active.rows, [3, 10]), np.delete(made.active.dual, [3, 10])
    np.testing.assert_array_equal(rows, np.concatenate([kept[0][:5], [7], kept[0][5:], [8, 9]]))
    np.testing.assert_array_equal(dual, np.concatenate([kept[1][:5], [0.0], kept[1][5:], [0.0, 0.0]]))


def test_duals_that_are_not_zero_are_taken_in_any_order_of_classes():
    made = Made()
    made.active.dual[[0, 7, 8, 29]] = 0.0
    counts = np.empty(5, dtype=np.int64)
    tree_rows.count_live(np.array(made.active.indptr), made.active.dual, counts)
    expected = [np.count_nonzero(made.active.dual[6 * k : 6 * k + 6]) for k in range(5)]
    assert counts.tolist() == expected
    places = np.concatenate(([0], np.cumsum(counts[::-1])))[:5][::-1].copy()  # the last class first
    indices, data = np.empty(sum(expected), dtype=np.int32), np.empty(sum(expected))
    for values, out in ((made.active.rows, indices), (made.active.dual, data)):
        tree_rows.take_live(np.array(made.active.indptr), made.active.dual, np.array(values), places, out)
    for k in range(5):
        live = [j for j in range(6 * k, 6 * k + 6) if made.active.dual[j] != 0.0]
        span = slice(places[k], places[k] + len(live))
        np.testing.assert_array_equal(indices[span], made.active.rows[live])
        np.testing.assert_array_equal(data[span], made.active.dual[live])


@pytest.mark.parametrize(
    ("allowed", "most"), [(0.0, 100), (3.0, 100), (3.0, 20), (1e9, 100), (3.0, 0), (0.0, 60)]
)
def test_the_largest_losses_are_chosen(allowed, most):
    rng = np.random.default_rng(0)
    values = np.concatenate((rng.gamma(0.5, size=50), np.full(10, 0.25)))
    candidates = np.arange(100, 160)
    left = tree_pricing._choose(values, candidates, 60, allowed, most)
    taken = candidates >= 0
    assert np.all(candidates[taken] == np.arange(100, 160)[taken])
    assert left == pytest.approx(values[~taken].sum(), abs=1e-12)
    bin_width = values.max() / 1024
    if taken.any() and not taken.all():
        assert values[taken].min() >= values[~taken].max() - bin_width
    # as few as leave at most `allowed`, up to what shares a bin, and as many as may be where that is too many
    largest = np.sort(values)[::-1]
    fewest = int(np.sum(np.cumsum(largest[::-1]) > allowed))
    assert min(fewest, most) <= taken.sum() <= min(most, np.sum(values > largest[fewest - 1] - bin_width))


@pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="run by `make plain`: compiled for many pairs only")
def test_duals_of_many_pairs_are_kept_in_single_precision(monkeypatch):
    rng = np.random.default_rng(3)
    y = np.array(["a1", "a21", "a22", "b1"])[np.arange(24) % 4]
    problem = make_problem(rng.normal(size=(24, WIDTH)), list(y), TREE)
    tie = path_sum(TREE, problem.class_nodes, np.ones(TREE.n_nodes))
    objective = Objective(problem, SquaredHinge(), tie)
    usual = tree_sweeps.solve_tree_sweeps(objective, Limits(tol=1e-3))
    monkeypatch.setattr(tree_sweeps, "_MANY_PAIRS", 24 * 4)
    monkeypatch.setattr(tree_tasks, "_MANY_PRODUCTS", 0)
    few_digits = tree_sweeps.solve_tree_sweeps(objective, Limits(tol=1e-3))
    closer = tree_sweeps.solve_tree_sweeps(objective, Limits(tol=1e-4))
    hinge = tree_sweeps.solve_tree_sweeps(Objective(problem, Hinge(), tie), Limits(tol=1e-2))
    assert [found.dual.dtype for found in (usual, few_digits, closer, hinge)] == [
        np.float64,
        np.float32,  # only where nothing holds a dual back, and the gap is coarse
        np.float64,
        np.float64,
    ]
    for found in (usual, few_digits):
        certificate = certify(objective, found)
        assert certificate.gap <= 1e-3
        assert certificate.primal == pytest.approx(certify(objective, closer).primal, rel=1e-3)
