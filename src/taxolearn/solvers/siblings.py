"""Sibling hinge: ascent on each row's simplex of duals, in the metric that the tie makes of the units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Clock, Run
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Progress,
    Requires,
    Solution,
    Start,
    Watch,
    check_requirements,
    check_start,
    status_of,
)
from taxolearn.solvers.slot_run import SlotRun
from taxolearn.solvers.unit_geometry import geometry_of
from taxolearn.vectors import ClassVectors

REQUIRES = Requires(("siblings",), absolute=True)

_SINGLE_BYTES = 64 * 2**20  # vectors that would take more in double precision are kept in single,
_SINGLE_TOL = 1e-6  # unless this gap or a smaller one is asked for: single precision may not reach it
_ROUND_PASSES = (
    50  # passes, at most, between two looks at the exact gap, and at the metric where that is learned,
)
_ROUND_SHARE = 0.1  # or until the gap has fallen to this share
_SLOT_PASSES = 2  # passes over the slots of the rows with the largest gaps, after each pass over everything
_LARGE_GAP = 0.5  # a gap of at least so many times the mean makes a row one of these
_LIGHT_STEPS = 2**21  # multiplications in a pass over all rows: with fewer, the calling thread makes it
_DENSE_PULLS = 2**22  # numbers up to which sums of rows are made dense: products of them are then faster
_LIMITS = Limits(tol=1e-3)

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]


def solve_siblings(
    objective: Objective, limits: Limits = _LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise penalty(w) + sum_i c_i max(0, max over rivals j of row i of 1 - (w_own(j) - w_j) . x_i).

    The rivals of a row are the siblings of the nodes on the path of its class, own(j) is the node on the path that has
    j for a sibling. Of a quadratic penalty the metric Q is the covariance of the units. Of orthogonal transfer it is
    (K o S)^-1, and passes over the rows take turns with ascent on S, in which the dual is jointly concave: the
    solution's `details` have the numbers of S (`signs`, in the order of the tie's pairs). Any dual can be a start: it
    is made feasible.

    >>> from taxolearn.losses import sibling_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import transfer_tie
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> loss = sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2)
    >>> objective = Objective(problem, loss, transfer_tie(None, [0, 1]), C=10.0, bias_feature=0.0)
    >>> solve_siblings(objective, Limits(tol=1e-6)).vectors.coef.round(3).tolist()
    [[-0.5], [0.5]]
    """
    check_requirements("siblings", REQUIRES, objective)
    with limits.run() as run:
        return SiblingRun(objective, limits, run, start or Start(), watch).solve()


class Arrays(NamedTuple):
    """What the kernels read, and the vectors (`weights`, `bias`), `slots` and `gaps` that they change in place."""

    rows: Any
    square: Array
    label: npt.NDArray[np.int64]
    cost: Array
    siblings: Any
    metric: Any
    weights: npt.NDArray[Any]
    bias: Array
    bias_feature: float
    slots: Any
    gaps: Array


def _ascend(a: Arrays, task: tuple[Ids, bool], clock: Clock) -> Array:
    """Improve the duals of some rows; summed losses and gaps, as met on the way."""
    from taxolearn.kernels.sibling_passes import ascend

    order, full = task
    report = np.zeros(2)
    ascend(
        a.rows, a.square, a.label, a.cost, a.siblings, a.metric, a.weights, a.bias, a.bias_feature, a.slots, order,
        full, a.gaps, report, clock.stop,
    )  # fmt: skip
    return report


def _price(a: Arrays, rows: Ids, clock: Clock) -> Array:
    """Summed losses and gaps of some rows at the vectors as they stand; fills their slots."""
    from taxolearn.kernels.sibling_passes import price

    report = np.zeros(2)
    price(
        a.rows, a.label, a.cost, a.siblings, a.weights, a.bias, a.bias_feature, a.slots, rows, a.gaps, report,
        clock.stop,
    )  # fmt: skip
    return report


class SiblingRun(SlotRun):
    """One solve: what the kernels read, and the slots and vectors that they change."""

    def __init__(
        self, objective: Objective, limits: Limits, run: Run, start: Start, watch: Watch | None = None
    ) -> None:
        from taxolearn.kernels import sibling_passes
        from taxolearn.kernels.dual_descent import row_squares
        from taxolearn.kernels.rows import rows_of

        problem, self.features = objective.problem.compacted()
        self.X, loss = problem.X, objective.loss
        self.objective, self.limits, self.watch, self.run = objective, limits, watch, run
        self.geometry = geometry_of(objective.tie, start.state)
        self.shape = problem.n_rows, objective.n_units
        label, weight = problem.one_label
        cost = objective.C * weight
        self.weighted = np.flatnonzero((cost > 0) & (np.diff(loss.step_indptr)[label] > 0))
        entries = problem.X.nnz if sp.issparse(problem.X) else problem.X.size
        self.light = entries * objective.n_units <= _LIGHT_STEPS
        size = problem.n_features * objective.n_units
        single = size * 8 > _SINGLE_BYTES and limits.tol > _SINGLE_TOL
        rows: Any = rows_of(problem.X)
        steps = (loss.group_start, loss.step_indptr, loss.step_group, loss.step_own)
        self.arrays = Arrays(
            rows,
            row_squares(rows, objective.bias_feature),
            label,
            cost,
            sibling_passes.Siblings(*steps),
            self.geometry.metric(),
            np.zeros((problem.n_features, objective.n_units), dtype=np.float32 if single else np.float64),
            np.zeros(objective.n_units),
            objective.bias_feature,
            self.packed(sp.csr_array(self.shape)),
            np.zeros(problem.n_rows),
        )
        self.started = start.dual is not None
        if start.dual is not None:
            self._begin_with(start.dual)
        self.rng = np.random.default_rng(limits.seed)
        self.done = 0
        self.history: list[Progress] = []

    def _begin_with(self, dual: sp.csr_array) -> None:
        """Take over a dual, units x rows, made feasible: nothing negative, nothing at units that are no rivals."""
        check_start(dual, self.shape[::-1])
        entries = sp.coo_array(dual)
        own = self.objective.loss.own_units(self.arrays.label[entries.col], entries.row)
        self.take_over(entries.col, entries.row, np.where(own < 0, 0.0, np.maximum(entries.data, 0.0)))

    def solve(self) -> Solution:
        """Rounds of passes until the gap or a limit is reached; the last entry of the history is exact."""
        exact = self._settled() if self.started else None
        while not self._reached(exact) and self.done < self.limits.max_iter and not self.run.over():
            exact = self._settled() if self._passes() else None
        if exact is None:
            with self.to_the_end():
                exact = self._settled()
        assert exact is not None
        arrays = self.arrays
        vectors = ClassVectors(self._coef(), arrays.bias_feature * np.asarray(arrays.bias))
        self.run.over()  # a last look, so that no request goes unheard
        status = status_of(self._reached(exact), self.run.outcome)
        details = self.geometry.details()
        return Solution(vectors, self.dual(), status, self.done, self.history, details, self.geometry.state())

    def _coef(self) -> npt.NDArray[Any]:
        """The vectors, units x features; they are zero at features that no row has."""
        weights = self.arrays.weights
        if self.features is None:
            return np.ascontiguousarray(weights.T)
        coef = np.zeros((self.shape[1], self.objective.problem.n_features), dtype=weights.dtype)
        coef[:, self.features] = weights.T
        return coef

    def _reached(self, exact: Progress | None) -> bool:
        # the certificate adds up in another order
        return exact is not None and exact.primal - exact.dual <= 0.999 * self.limits.tol * exact.primal

    def _passes(self) -> bool:
        """Some passes over all rows; whether none was cut short."""
        for _ in range(
            _ROUND_PASSES if self.history else 1
        ):  # after the first, the gap to fall from is known
            if self.done >= self.limits.max_iter or self.run.over():
                break
            self.done += 1
            self.repack(self.kernels.MAX_NEW_CLASSES)
            seen = self._map(_ascend, (self.rng.permutation(self.weighted), True))
            if seen is None:
                return False
            if self.done == 1 and not self.started:
                return True  # all gaps were large before it, and none is known after
            for _ in range(_SLOT_PASSES):
                gaps = self.arrays.gaps
                large = np.flatnonzero(gaps > _LARGE_GAP * gaps.sum() / max(1, len(self.weighted)))
                self._map(_ascend, (self.rng.permutation(large), False))
            if self.history:
                last = self.history[
                    -1
                ]  # the gap seen in passing is that of the past, before a row was improved
                if seen[1] <= max(_ROUND_SHARE * (last.primal - last.dual), self.limits.tol * last.primal):
                    break  # time for an exact look
        return not self.run.clock.stop[0]

    def _map(self, function: Any, task: Any) -> Array | None:
        """What a task over rows reports; None where it was cut short."""
        report = self.run.map(function, self.arrays, [task], light=self.light)[0]
        return None if self.run.clock.stop[0] else report

    def _settled(self) -> Progress | None:
        """Learn the metric, make the vectors anew from the duals and price them; None where this is cut short."""
        pulls, sums = self._pulls()
        arrays, feature = self.arrays, self.objective.bias_feature
        self.geometry.learn(pulls, sums * feature)
        metric = self.geometry.metric()
        self.arrays = arrays = arrays._replace(metric=metric)
        self.geometry.fill(pulls, sums * feature, arrays.weights, arrays.bias)
        self.repack(self.kernels.MAX_NEW_CLASSES)
        report = self._map(_price, self.weighted)
        if report is None:
            return None
        above, quadratic = self.geometry.penalties(pulls, sums * feature, arrays.weights, arrays.bias)
        primal = above + float(report[0])
        dual = primal - float(report[1]) - (above - quadratic)
        self.history.append(Progress(self.run.clock.seconds, self.done, primal, dual))
        if self.watch is not None:
            self.watch(self.history[-1], self.dual)
        return self.history[-1]

    def _pulls(self) -> tuple[Any, Array]:
        """z of every unit, units x features, and the sums of its factors."""
        dual = self.dual().tocoo()
        own = self.objective.loss.own_units(self.arrays.label[dual.col], dual.row)
        data, row = np.concatenate((dual.data, -dual.data)), np.concatenate((own, dual.row))
        factors = sp.csr_array((data, (row, np.tile(dual.col, 2))), shape=dual.shape)
        pulls = factors @ self.X
        if sp.issparse(pulls) and self.shape[1] * self.X.shape[1] <= _DENSE_PULLS:
            pulls = pulls.toarray()
        return pulls, np.asarray(factors.sum(axis=1)).ravel()
