"""One-vs-rest problems of smooth losses on dense rows: L-BFGS side by side, products for all at once, then Newton."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Clock
from taxolearn.objective import Objective
from taxolearn.solvers.class_newton import ClassNewton, hessian
from taxolearn.solvers.newton_terms import stored_dual
from taxolearn.solvers.row_metric import RowMetric

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating[Any]]
Ids = npt.NDArray[np.intp]

_LEAST_PRODUCTS = (
    2**19
)  # rows x features x classes: below, ascent on the duals takes less than these steps' overhead
_MOST_FEATURES = 1500  # whose principal axes are cheap
_SINGLE_SIZE = 2**22  # products from which on single precision saves time
_MEMORY = 10  # steps that L-BFGS remembers
_SEARCH = 20  # evaluations in one line search, at most
_ARMIJO, _STEEP = 1e-4, 0.9  # decrease that a step must bring, and how much of the slope it may leave
_WIDEN = 4.0  # times as far that a line search looks, at most
_BLOCK = 2**16  # scores at a time: they stay in cache
_ACTIVE = 0.3  # share of rows that bend a loss
_NEWTON_STEPS = 8  # that a class takes, about
_LEAST_STEPS = 16  # of L-BFGS: where Newton's method costs less than these, it comes first
_COMPRESS = 0.75  # share of classes that are still at work, below which the others' columns are dropped
_SLOW_STEPS = 4  # in a row that lower an objective by rounding errors only
_AIM = 0.9  # share of the tolerated gap that single precision aims at


class DenseRows(NamedTuple):
    """What all blocks of classes read."""

    loss: Any
    X: Array
    positive_indptr: npt.NDArray[np.int64]
    positive_rows: npt.NDArray[np.int64]
    row_cost: Array  # C included
    positive_weight: Array
    negative_weight: Array
    bias_feature: float
    tol: float
    max_iter: int


class SolvedSide(NamedTuple):
    """Weights, biases, duals of a block of classes, and of each: primal, dual, whether it converged, steps."""

    coef: Array
    biases: Array
    dual: sp.csr_array
    primal: Array
    lower: Array
    converged: npt.NDArray[np.bool_]
    steps: int


def suits_side_by_side(objective: Objective) -> bool:
    """Whether classes are better solved side by side: a smooth loss, dense rows and no more than some features.

    >>> from taxolearn.losses import Logistic
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> suits_side_by_side(Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Logistic(), flat(2)))
    True
    """
    problem, loss = objective.problem, objective.loss
    if problem.products is not None or objective.tie.facts.shares:
        return False
    if sp.issparse(problem.X) or not loss.facts.smooth or not hasattr(loss, "second_slope"):
        return False
    return problem.n_features <= _MOST_FEATURES


def solve_side_by_side(
    shared: DenseRows, classes: Ids, clock: Clock, coef: Array | None = None, biases: Array | None = None
) -> SolvedSide:
    """Solve the problems of some classes, each against the rest, from the given weights and biases on where these are
    better than zeros.

    L-BFGS comes first, in single precision where that saves time; classes that take more steps of it than Newton's
    method would cost are left to that.
    """
    with np.errstate(all="ignore"):
        n, d = shared.X.shape
        z = np.zeros((d + 1, len(classes)))
        if coef is not None:
            z[:-1], z[-1] = coef.T, biases
            z[:, ~_Side(shared, classes, z).is_below_zero()] = 0.0
        patience, steps = int(_NEWTON_STEPS * _newton_cost(n, d)), 0
        if patience >= _LEAST_STEPS and shared.X.size * len(classes) >= _SINGLE_SIZE:
            first = _Side(shared, classes, z.astype(np.float32))
            if first.begin():
                steps = first.minimise(_AIM * shared.tol, clock, patience)
                z = first.found.astype(np.float64)
        side = _Side(shared, classes, z)
        if patience >= _LEAST_STEPS:
            side.begin()
            steps += side.minimise(shared.tol, clock, patience - steps)
        steps += newton(side, shared.tol, clock, shared.max_iter - steps)
        return side.solved(steps)


def _newton_cost(n: int, d: int) -> float:
    """What a step of Newton's method costs, in steps of L-BFGS."""
    newton_work = _ACTIVE * n * float(d) ** 2 + float(d) ** 3 / 3
    return newton_work / (n * (6.0 * d + 20.0))


def newton(side: _Side, tol: float, clock: Clock, most: int) -> int:
    """Steps of Newton's method for every class that has not converged, one after the other; the most of one class."""
    left = np.flatnonzero(~side.converged)
    if not len(left):
        return 0
    scores, sign, cost = (np.ascontiguousarray(part.T) for part in side.of_all)
    X = np.hstack([side.X, np.full((len(side.X), 1), side.shared.bias_feature)])
    loss, longest, curved = side.shared.loss, 0, None
    if (
        not scores.any() and (cost[left] == cost[left[0]]).all()
    ):  # the first step has one Hessian for all classes
        curved = hessian(X, cost[left[0]] * loss.second_slope(scores[left[0]]))
    signed, shown = X.copy(), np.ones(len(X))
    for k in left:
        other = np.flatnonzero(sign[k] != shown)  # from class to class few rows change their sign
        signed[other] *= -1.0
        shown = sign[k]
        one = ClassNewton(loss, signed, cost[k], side.found[:, k].astype(np.float64), scores[k] * shown)
        longest = max(longest, one.minimise(tol, clock, most, curved))
        side.found[:, k], side.of_all[0][:, k] = one.z, one.margins * shown
        side.primal[k], side.gap[k], side.converged[k] = one.primal, one.gap, one.converged
    return longest


class _Side:
    """The iterates of all classes in one precision, features x classes with the bias as the last feature.

    `z`, `drawn` and all with a row per score are of the classes `at` only, which are still at work.
    """

    def __init__(self, shared: DenseRows, classes: Ids, z: Floats) -> None:
        self.shared, self.dtype = shared, z.dtype.type
        self.X = shared.X.astype(self.dtype, copy=False)
        self.at = np.arange(len(classes))
        self.found, self.z = z.copy(), z
        n = len(self.X)
        self.sign = np.full((n, len(classes)), -1.0, dtype=self.dtype)
        self.cost: Floats = np.outer(shared.row_cost, shared.negative_weight[classes]).astype(self.dtype)
        for place, number in enumerate(classes):
            own = shared.positive_rows[shared.positive_indptr[number] : shared.positive_indptr[number + 1]]
            self.sign[own, place] = 1.0
            self.cost[own, place] = shared.row_cost[own] * shared.positive_weight[number]
        self.bias = self.dtype(shared.bias_feature)
        self.scores = self._scores(z) if z.any() else np.zeros_like(self.sign)
        self.of_all = self.scores, self.sign, self.cost
        self.primal, self.gap = np.zeros(len(classes)), np.full(len(classes), np.inf)
        self.converged = np.zeros(len(classes), dtype=bool)

    def begin(self) -> bool:
        """What the steps need besides scores; whether all of it is finite in this precision."""
        n_classes = len(self.at)
        self.way_scores = np.zeros_like(self.scores)
        self.gradient = np.zeros_like(self.scores)
        self.losses, _ = self._evaluate(np.zeros(n_classes), np.arange(n_classes))
        self.drawn = self._drawn()
        self.pairs: list[tuple[Floats, Floats, Floats]] = []
        shape = (self.X.shape[1], n_classes)
        self.metric = RowMetric(self.X, self.shared.bias_feature, shape, True, n_classes)
        return bool(self.metric.is_finite and np.isfinite(self.losses).all())

    def is_below_zero(self) -> npt.NDArray[np.bool_]:
        """Whether the objective of each class is lower than with vectors of zero."""
        value = self.shared.loss.value
        here = np.einsum("ij,ij->j", self.cost, value(self.scores * self.sign)) + 0.5 * _columns(
            self.z, self.z
        )
        return np.asarray(here < self.cost.sum(axis=0) * value(np.zeros(1)))

    def _scores(self, z: Floats) -> Floats:
        scores = self.X @ z[:-1]
        if self.bias:
            scores += self.bias * z[-1]
        return np.asarray(scores)

    def _drawn(self) -> Floats:
        """The gradient of the losses in the variables."""
        bias = self.bias * self.gradient.sum(axis=0, dtype=np.float64)
        return np.vstack([self.X.T @ self.gradient, bias.astype(self.dtype)])

    def _evaluate(self, t: Array, some: Ids) -> tuple[Array, Array]:
        """Losses and slopes of some classes (places among those at work) at lengths t; sets their gradients."""
        losses, slopes = np.zeros(len(some)), np.zeros(len(some))
        everything = len(some) == self.scores.shape[1]
        step = max(1, _BLOCK // max(1, len(some)))
        lengths = t.astype(self.dtype)
        for first in range(0, len(self.X), step):
            place: Any = slice(first, first + step)
            at: Any = place if everything else (place, some)
            way, sign, cost = self.way_scores[at], self.sign[at], self.cost[at]
            margins = (self.scores[at] + lengths * way) * sign
            values, steep = self.shared.loss.value_and_slope(margins)
            losses += np.einsum("ij,ij->j", cost, values)
            steep *= cost
            steep *= sign
            np.negative(steep, out=steep)
            self.gradient[at] = steep
            slopes += np.einsum("ij,ij->j", steep, way)
        return losses, slopes

    def minimise(self, tol: float, clock: Clock, most: int) -> int:
        """Steps until all classes have their gap or cannot go on, and no more than so many; how many."""
        steps, slow = 0, np.zeros(len(self.at), dtype=int)
        least = float(np.finfo(self.dtype).eps)
        while True:
            square = _columns(self.z, self.z)
            residual = self.z + self.drawn
            primal = self.losses + 0.5 * square
            gap = 0.5 * _columns(residual, residual)
            before = self.primal[self.at]
            self.primal[self.at], self.gap[self.at] = primal, gap
            self.found[:, self.at] = self.z
            self.converged[self.at] = gap <= 0.999 * tol * primal
            if steps:
                slow = np.where(before - primal < least * primal, slow + 1, 0)
            going = ~self.converged[self.at] & (slow < _SLOW_STEPS)
            if not going.any() or steps >= min(most, self.shared.max_iter) or clock.stop[0] or clock.late:
                self._put_back()
                return steps
            if going.mean() < _COMPRESS:
                self._keep(going)
                slow, square, residual, primal = slow[going], square[going], residual[:, going], primal[going]
            if steps & (steps - 1) == 0:  # at 0, 1, 2, 4, 8 ... steps
                self.metric.measure(self._curvature(), 0.0)
            slow = np.where(self._step(residual, primal, square), slow, _SLOW_STEPS)
            steps += 1

    def _curvature(self) -> Array:
        """Of one row in the mean, per class."""
        few = slice(None, None, max(1, len(self.X) // 2000))
        second = self.shared.loss.second_slope(self.scores[few] * self.sign[few])
        return np.asarray((self.cost[few] * second).mean(axis=0), dtype=np.float64)

    def _step(self, residual: Floats, primal: Array, square: Any) -> npt.NDArray[np.bool_]:
        """One step of every class at work; which of them moved."""
        way = self._direction(residual)
        slope = _columns(residual, way)
        np.copyto(self.way_scores, self._scores(way))
        across, length = _columns(self.z, way), _columns(way, way)
        t, losses = self._search(primal, slope, 0.5 * square, across, length)
        moved = t > 0
        if not moved.all():  # the gradients of those that stay are those of before
            self._evaluate(np.zeros(int((~moved).sum())), np.flatnonzero(~moved))
        step = way * t.astype(self.dtype)
        self.scores += self.way_scores * t.astype(self.dtype)
        self.z = self.z + step
        drawn = self._drawn()
        change = step + (drawn - self.drawn)
        self.drawn, self.losses = drawn, np.where(moved, losses, self.losses)
        along = _columns(step, change)
        inverse = np.where(along > 0, 1.0 / np.where(along > 0, along, 1.0), 0.0)
        self.pairs = [*self.pairs[1 - _MEMORY :], (step, change, inverse.astype(self.dtype))]
        return moved

    def _search(self, value: Array, slope: Any, half: Any, across: Any, square: Any) -> tuple[Array, Array]:
        """How far each class goes, 0 where nothing is lower, and its losses there."""
        k = len(value)
        best, best_losses = np.zeros(k), np.zeros(k)
        low, low_slope, high, high_slope = np.zeros(k), slope.copy(), np.full(k, np.inf), np.zeros(k)
        t, open_ = np.ones(k), np.flatnonzero(slope < 0)
        last = np.zeros(k)
        for _ in range(_SEARCH):
            if not len(open_):
                break
            at = t[open_]
            losses, along = self._evaluate(at, open_)
            last[open_] = at
            new = losses + half[open_] + at * across[open_] + 0.5 * at * at * square[open_]
            along += across[open_] + at * square[open_]
            lower = (new < value[open_]) & (new <= value[open_] + _ARMIJO * at * slope[open_])
            best[open_] = np.where(lower, at, best[open_])
            best_losses[open_] = np.where(lower, losses, best_losses[open_])
            settled = lower & (np.abs(along) <= _STEEP * np.abs(slope[open_]))
            up = lower & (along < 0)
            low[open_], low_slope[open_] = (
                np.where(up, at, low[open_]),
                np.where(up, along, low_slope[open_]),
            )
            high[open_], high_slope[open_] = (
                np.where(up, high[open_], at),
                np.where(up, high_slope[open_], along),
            )
            open_ = open_[~settled]
            a, b = low[open_], high[open_]
            free = np.isinf(b)
            wide = np.where(free, 0.0, b - a)
            aim = a - wide * low_slope[open_] / (high_slope[open_] - low_slope[open_])
            inside = np.clip(np.where(np.isfinite(aim), aim, a), a + 0.1 * wide, a + 0.9 * wide)
            further = t[open_] * slope[open_] / (slope[open_] - low_slope[open_])
            further = np.where(low_slope[open_] > slope[open_], further, np.inf)
            t[open_] = np.where(free, np.clip(further, 1.2 * t[open_], _WIDEN * t[open_]), inside)
            open_ = open_[free | (wide > 1e-10 * np.where(free, 1.0, b))]
        elsewhere = np.flatnonzero((best > 0) & (best != last))
        if len(elsewhere):  # gradients there
            self._evaluate(best[elsewhere], elsewhere)
        return best, best_losses

    def _direction(self, residual: Floats) -> Floats:
        """Minus the inverse Hessian times the gradient, per class, as far as the remembered steps tell."""
        left, factors = residual.copy(), []
        for step, change, inverse in reversed(self.pairs):
            factors.append(inverse * _columns(step, left))
            left -= factors[-1] * change
        way = self._by_metric(left)
        if self.pairs:
            _, change, inverse = self.pairs[-1]
            known = inverse > 0
            size = _columns(change, self._by_metric(change))
            way *= np.where(known, 1.0 / np.where(known, inverse * size, 1.0), 1.0)
        for (step, change, inverse), factor in zip(self.pairs, reversed(factors), strict=True):
            way += (factor - inverse * _columns(change, way)) * step
        return np.negative(way, out=way)

    def _by_metric(self, columns: Floats) -> Floats:
        return self.metric.applied(columns.ravel(), 1.0).reshape(columns.shape)

    def _put_back(self) -> None:
        """Scores of the classes at work, where those of all are kept."""
        if self.scores is not self.of_all[0]:
            self.of_all[0][:, self.at] = self.scores

    def _keep(self, going: npt.NDArray[np.bool_]) -> None:
        """Drop the columns of classes that are done."""
        self._put_back()
        self.scores = self.scores[:, going]
        self.sign, self.cost = self.sign[:, going], self.cost[:, going]
        self.way_scores, self.gradient = self.way_scores[:, going], self.gradient[:, going]
        self.z, self.drawn, self.losses = self.z[:, going], self.drawn[:, going], self.losses[going]
        self.pairs = [(s[:, going], y[:, going], r[going]) for s, y, r in self.pairs]
        self.metric.narrowed(going)
        self.at = self.at[going]

    def solved(self, steps: int) -> SolvedSide:
        """What was found; the duals are those that belong to the scores."""
        scores, sign, cost = self.of_all
        duals = np.empty(scores.shape[::-1])
        step = max(1, _BLOCK // max(1, scores.shape[1]))
        for first in range(0, len(scores), step):
            rows = slice(first, first + step)
            slopes = self.shared.loss.value_and_slope(scores[rows] * sign[rows])[1]
            duals[:, rows] = (cost[rows] * slopes).T
        dual = stored_dual(duals, int(np.count_nonzero(duals)))
        found = np.ascontiguousarray(self.found[:-1].T, dtype=np.float64)
        bias = self.found[-1].astype(np.float64)
        return SolvedSide(found, bias, dual, self.primal, self.primal - self.gap, self.converged, steps)


def _columns(one: Floats, other: Floats) -> Floats:
    """The product of each two columns."""
    return np.asarray(np.einsum("ij,ij->j", one, other))
