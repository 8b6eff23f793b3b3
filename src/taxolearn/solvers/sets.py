"""Structured hinge over label sets: exact steps on each row's node marginals, vectors kept at the nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Clock, Run
from taxolearn.losses.sets import SetHinge
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Solution,
    Start,
    Watch,
    check_requirements,
    check_start,
)
from taxolearn.solvers.row_ascent import Array, Ids, RowAscent
from taxolearn.solvers.set_space import feasible_rows, kernel_space, with_places, within
from taxolearn.vectors import NodeVectors

REQUIRES = Requires(("sets",), paths=True, independent=True)

_SINGLE_BYTES = 4 * 2**20  # node vectors that would take more in double precision are kept in single,
_SINGLE_TOL = 1e-6  # unless this gap or a smaller one is asked for: single precision may not reach it
_SLOT_PASSES = 5  # passes over the slots of the rows with the largest gaps, after each pass over everything
_DAG_SLOT_PASSES = 2  # on a DAG, where they take longer
_DAG_SLOT = (
    256  # nodes in the mean slot of a DAG from which on a step on a slot takes as long as one on everything
)
_LARGE_GAP = 0.5  # a gap of at least so many times the mean makes a row one of these
_FEASIBLE = (
    1e-9  # share by which marginals of a start may break a bound; others are put back to the row's own set
)
_LIMITS = Limits(tol=1e-3)


def solve_sets(
    objective: Objective, limits: Limits = _LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise 1/2 sum_n ||u_n||^2 / a_n + sum_i c_i max over sets Y of Delta(Y, Y_i) + s_i(Y) - s_i(Y_i).

    s_i(Y) is the sum of u_n . x_i over the nodes of Y, Delta and the sets come from the loss (see `SetHinge`), c_i is C
    times the weight of row i, and the bias is the weight of one more feature of value `bias_feature`. Every step is the
    optimum over one row's node marginals, which are kept sparse: on a tree by a programme over piecewise linear
    functions, on a DAG by maximum closures. A pass visits all rows at all nodes, then a few times those of large
    gaps at their active nodes. The dual, nodes x rows, is c_i |mu_in - y_in|. Any dual can be a start; rows whose
    marginals are not feasible begin anew. Where there are enough entries, rows are improved by several threads
    at once and without locks.

    >>> from taxolearn.losses import star_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0], [0.5]], [["a"], ["b"], ["a", "b"]])
    >>> solution = solve_sets(Objective(problem, star_hinge(2), flat(3), C=10.0), Limits(tol=1e-6))
    >>> solution.status.value, solution.vectors.coef.shape
    ('converged', (3, 1))
    """
    check_requirements("sets", REQUIRES, objective)
    with limits.run() as run:
        ascent = SetRun(objective, limits, run, watch)
        if start is not None and start.dual is not None:
            ascent.begin_with(start.dual)
        return ascent.solve()


class Arrays(NamedTuple):
    """What the kernels read, and the vectors (`nodes`, `bias`), `slots` and `gaps` that they change in place."""

    rows: Any
    square: Array
    sets: Any
    cost: Array
    space: Any
    nodes: npt.NDArray[Any]
    bias: Array
    bias_feature: float
    slots: Any
    gaps: Array


def _ascend_all(arrays: Arrays, order: Ids, clock: Clock) -> Any:
    """Improve the marginals of some rows; several such tasks write to the same vectors at once.

    Returns summed losses and gaps, as met on the way, and the new slots of these rows.
    """
    from taxolearn.kernels.set_passes import ascend_all

    report, scores = np.zeros(2), np.empty(arrays.nodes.shape[1], dtype=arrays.nodes.dtype)
    a = arrays
    slots = ascend_all(
        a.rows, a.square, a.sets, a.cost, a.space, a.nodes, a.bias, a.bias_feature, a.slots, order, scores, a.gaps,
        report, clock.stop,
    )  # fmt: skip
    return report, order, *slots


def _ascend_some(arrays: Arrays, order: Ids, clock: Clock) -> Any:
    """The same on the nodes of the rows' slots alone."""
    from taxolearn.kernels.set_passes import ascend_some

    report = np.zeros(2)
    a = arrays
    ascend_some(
        a.rows, a.square, a.sets, a.cost, a.space, a.nodes, a.bias, a.bias_feature, a.slots, order, a.gaps, report,
        clock.stop,
    )  # fmt: skip
    return (report,)


def _price(arrays: Arrays, rows: Ids, clock: Clock) -> Any:
    """Summed losses and gaps of some rows at the vectors as they stand, in double precision."""
    from taxolearn.kernels.set_passes import price

    report, scores = np.zeros(2), np.empty(arrays.nodes.shape[1])
    a = arrays
    price(
        a.rows, a.sets, a.cost, a.space, a.nodes, a.bias, a.bias_feature, a.slots, rows, scores, a.gaps, report,
        clock.stop,
    )  # fmt: skip
    return (report,)


def _make_vectors(arrays: Arrays, _: None, clock: Clock) -> bool:
    """Make the vectors anew from the marginals."""
    from taxolearn.kernels.set_passes import weights_of

    a = arrays
    weights_of(a.rows, a.sets, a.cost, a.space, a.nodes, a.bias, a.bias_feature, a.slots, clock.stop)
    return True


class SetRun(RowAscent):
    """One solve: what the kernels read, and the slots and node vectors that they change."""

    price_task = staticmethod(_price)

    def __init__(self, objective: Objective, limits: Limits, run: Run, watch: Watch | None = None) -> None:
        from taxolearn.kernels import set_passes
        from taxolearn.kernels.dual_descent import row_squares
        from taxolearn.kernels.rows import rows_of

        problem, loss, tie = objective.problem, objective.loss, objective.tie
        self.kernels, self.scale = set_passes, np.asarray(tie.paths @ tie.scale, dtype=np.float64)
        self.own: sp.csr_array = loss.sets(problem)
        cost = objective.C * loss.weights(problem)
        entries = problem.X.nnz if sp.issparse(problem.X) else problem.X.size
        self.begin(objective, limits, run, watch, cost, (entries + 8 * problem.n_rows) * loss.n_nodes)
        single = problem.n_features * loss.n_nodes * 8 > _SINGLE_BYTES and limits.tol > _SINGLE_TOL
        rows: Any = rows_of(problem.X)
        self.arrays = Arrays(
            rows,
            row_squares(rows, objective.bias_feature),
            set_passes.Sets(self.own.indptr.astype(np.int64), self.own.indices.astype(np.int32)),
            cost,
            kernel_space(loss, self.scale),
            np.zeros((problem.n_features, loss.n_nodes), dtype=np.float32 if single else np.float64),
            np.zeros(loss.n_nodes),
            objective.bias_feature,
            self._slots(self.own),
            np.zeros(problem.n_rows),
        )

    def _slots(self, mu: sp.csr_array) -> Any:
        """Slots of marginals, rows x nodes, each row in rising order."""
        start, count = mu.indptr[:-1].astype(np.int64), np.diff(mu.indptr).astype(np.int32)
        return self.kernels.Slots(start, count, mu.indices.astype(np.int32), mu.data.astype(np.float64))

    def begin_with(self, dual: sp.csr_array) -> None:
        """Take over a dual, nodes x rows; rows whose marginals are not feasible begin with their own set."""
        loss: SetHinge = self.objective.loss
        n_rows = self.objective.problem.n_rows
        check_start(dual, (loss.n_nodes, n_rows))
        cost = self.arrays.cost
        parts = sp.coo_array(sp.csr_array(dual).T)
        share = np.divide(
            parts.data, cost[parts.row], out=np.zeros(len(parts.data)), where=cost[parts.row] > 0
        )
        moved = sp.csr_array((share, (parts.row, parts.col)), shape=self.own.shape)
        both = sp.csr_array(
            self.own - 2.0 * self.own.multiply(moved) + moved
        )  # 1 - d where y = 1, d elsewhere
        wrong = ~feasible_rows(loss, both, _FEASIBLE)
        kept = sp.csr_array(sp.diags_array((~wrong).astype(np.float64)) @ both)
        kept = sp.csr_array(kept + sp.diags_array(wrong.astype(np.float64)) @ self.own)
        np.clip(kept.data, 0.0, 1.0, out=kept.data)
        # the nodes of y stand in every slot, at zero too
        self.arrays = self.arrays._replace(slots=self._slots(with_places(kept, self.own)))
        self.make_vectors()

    def make_vectors(self) -> None:
        """The vectors that the marginals make: rounding, and threads that write at once, blur them."""
        self.run.map(_make_vectors, self.arrays, [None], light=self.light)

    def after_pass(self) -> None:
        """Some more visits to the rows of large gaps, at their active nodes."""
        for _ in range(self._slot_passes()):
            gaps = self.arrays.gaps
            large = np.flatnonzero(gaps > _LARGE_GAP * gaps.sum() / max(1, len(self.weighted)))
            self._reports(_ascend_some, self._pieces(self.rng.permutation(large)))

    def _slot_passes(self) -> int:
        if self.objective.loss.is_tree:
            return _SLOT_PASSES
        return _DAG_SLOT_PASSES if self.arrays.slots.count.mean() < _DAG_SLOT else 0

    def one_pass(self) -> tuple[Array, bool]:
        """One visit to all rows, in random order; summed losses and gaps as met on the way."""
        report, done, whole = self._reports(_ascend_all, self._pieces(self.rng.permutation(self.weighted)))
        if not done:
            return report, whole
        old = self.arrays.slots
        start, count = old.start.copy(), old.count.copy()
        visited = np.zeros(len(start), dtype=bool)
        parts, filled = [], 0
        for _, order, counts, nodes, mu in done:
            start[order] = filled + np.cumsum(counts) - counts
            count[order] = counts
            visited[order] = True
            filled += len(nodes)
            parts.append((nodes, mu))
        rest = np.flatnonzero(~visited)
        if len(rest):
            place = np.repeat(old.start[rest], old.count[rest]) + within(old.count[rest])
            parts.append((old.nodes[place], old.mu[place]))
            start[rest] = filled + np.cumsum(old.count[rest]) - old.count[rest]
        nodes, mu = (np.concatenate(part) for part in zip(*parts, strict=True))
        self.arrays = self.arrays._replace(slots=self.kernels.Slots(start, count, nodes, mu))
        return report, whole

    def marginals(self) -> sp.csr_array:
        """mu as it stands, rows x nodes."""
        slots = self.arrays.slots
        place = np.repeat(slots.start, slots.count) + within(slots.count)
        indptr = np.concatenate(([0], np.cumsum(slots.count)))
        return sp.csr_array((slots.mu[place], slots.nodes[place], indptr), shape=self.own.shape)

    def dual(self) -> sp.csr_array:
        """c_i |mu_in - y_in|, nodes x rows."""
        moved = sp.csr_array(self.marginals() - self.own)
        moved.eliminate_zeros()
        moved.data = np.abs(moved.data) * np.repeat(self.arrays.cost, np.diff(moved.indptr))
        return sp.csr_array(moved.T)

    def solution(self) -> Solution:
        """What was reached, `exact` being its bounds."""
        arrays = self.arrays
        vectors = NodeVectors(arrays.nodes, self.objective.tie.paths, arrays.bias_feature * arrays.bias)
        return self._finished(vectors, {"node_bias": arrays.bias})
