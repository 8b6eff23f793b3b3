"""Structured hinge with one label a row: ascent on each row's simplex of duals, weights kept at the nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Outcome, ThreadEngine
from taxolearn.errors import LabelError
from taxolearn.losses.structured import RESCALINGS, StructuredHinge
from taxolearn.models import NodeWeights
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.solution import Progress, Solution, status_of

_TABLE_CLASSES = (
    2048  # up to so many classes all costs are tabulated; above, a column is computed when a row asks
)
_SINGLE_BYTES = 64 * 2**20  # node weights that would take more in double precision are kept in single,
_SINGLE_TOL = 1e-6  # unless this gap or a smaller one is asked for: single precision may not reach it
_SLOT_PASSES = 2  # over the slots of the rows with the largest gaps, after each pass over everything
_WORTH = 0.5  # of the mean gap makes a row one of these
_THREAD_ENTRIES = (
    2**20
)  # of X: with fewer, threads cost more than they save and write over each other too often

Array = npt.NDArray[np.float64]


def solve_structured(
    problem: Problem,
    loss: StructuredHinge,
    tie: PathSum,
    C: float,
    *,
    bias_feature: float = 1.0,
    tol: float = 1e-3,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    start: Any = None,
    on_epoch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Minimise 1/2 sum_n ||u_n||^2 / a_n + sum_i c_i max(0, max_l D(l, y_i) - S(l, y_i) (w_{y_i} - w_l) . x_i).

    w_l is the sum of u_n along the path of class l (`tie`), D and S come from `loss`, c_i is C times the weights of row
    and class, and the bias is the weight of one more feature of value `bias_feature`, tied like the others. This is
    Crammer and Singer's multi-class SVM, HSVM (2), NHSVM (10) and (13) of Choi, Sasaki and Srebro, and TREELOSS.
    Needs one label a row, and stops at a relative gap of `tol` or after `max_iter` passes over all rows; `start` is a
    dual (rows x classes) to begin with. The solution's dual is rows x classes; `details` has the bias of every node
    (`node_bias`), ||u_n||^2 (`node_squares`, bias included), and sum alpha D (`linear`). With several threads
    rows are improved at once and without locks (Hsieh, Yu and Dhillon 2015): two runs then agree to the gap only.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> loss = structured_hinge(problem, flat(2))
    >>> solve_structured(problem, loss, flat(2), C=10.0, bias_feature=0.0).weights.coef.round(3).tolist()
    [[-0.5], [0.5]]
    """
    run = StructuredRun(problem, loss, tie, C, bias_feature, tol, ThreadEngine(n_jobs, max_seconds), seed)
    if start is not None:
        run.begin_with(start)
    return run.solve(max_iter, on_epoch)


def one_label_a_row(problem: Problem) -> tuple[npt.NDArray[np.int64], Array]:
    """The class of every row (0 for rows that have none, which then weigh nothing) and its weight.

    >>> from taxolearn.problem import make_problem
    >>> one_label_a_row(make_problem([[0.0], [1.0]], ["a", "b"]))
    (array([0, 1]), array([1., 1.]))
    """
    counts = np.diff(problem.targets.indptr)
    if counts.max(initial=0) > 1:
        row = int(np.argmax(counts))
        raise LabelError(f"row {row} has {counts[row]} labels; a structured hinge takes one label a row")
    label = np.zeros(problem.n_rows, dtype=np.int64)
    label[counts == 1] = problem.targets.indices
    weight = problem.row_weight * problem.positive_weight[label] * (counts == 1)
    return label, weight


class StructuredRun:
    """One solve: what the kernels read, and the slots and node weights that they change."""

    def __init__(
        self,
        problem: Problem,
        loss: StructuredHinge,
        tie: PathSum,
        C: float,
        bias_feature: float,
        tol: float,
        engine: ThreadEngine,
        seed: int,
    ) -> None:
        from taxolearn.kernels import simplex_passes
        from taxolearn.kernels.dual_descent import row_squares
        from taxolearn.kernels.rows import rows_of

        self.kernels, self.engine, self.tol, self.tie = simplex_passes, engine, tol, tie
        self.problem = problem
        self.bias_feature = float(bias_feature)
        X = problem.X
        self.rows: Any = rows_of(problem.X)
        self.square = row_squares(self.rows, self.bias_feature)
        self.label, weight = one_label_a_row(problem)
        self.cost = C * weight
        self.live = np.flatnonzero(self.cost > 0)
        entries = X.nnz if sp.issparse(X) else X.size
        self.n_threads = engine.n_workers if entries >= _THREAD_ENTRIES else 1
        self.paths = kernel_paths(tie.paths, tie.scale)
        self.costs = kernel_costs(loss)
        size = problem.n_features * tie.n_nodes
        single = size * 8 > _SINGLE_BYTES and tol > _SINGLE_TOL
        self.nodes = np.zeros((problem.n_features, tie.n_nodes), dtype=np.float32 if single else np.float64)
        self.bias = np.zeros(tie.n_nodes)
        self.gaps = np.zeros(problem.n_rows)
        self.slots = self._slots(sp.csr_array((problem.n_rows, problem.n_classes)))
        self.rng = np.random.default_rng(seed)
        self.outcome = Outcome.COMPLETED
        self.history: list[Progress] = []

    def _slots(self, dual: sp.csr_array) -> Any:
        count = np.diff(dual.indptr).astype(np.int32)
        classes, alpha = dual.indices.astype(np.int32), dual.data.astype(np.float64)
        return self.kernels.Slots(dual.indptr.astype(np.int64), count, classes, alpha)

    def begin_with(self, dual: Any) -> None:
        """Take over a dual, made feasible: no negative entries, none at the row's own class, sums at most c_i."""
        entries = sp.coo_array(dual)
        alpha = np.where(entries.col == self.label[entries.row], 0.0, np.maximum(entries.data, 0.0))
        sums = np.bincount(entries.row, alpha, minlength=len(self.cost)).astype(
            np.float64
        )  # of nothing it is an int
        factor = np.divide(self.cost, sums, out=np.ones_like(sums), where=sums > self.cost)
        alpha *= factor[entries.row]
        self.make_weights(sp.csr_array((alpha, (entries.row, entries.col)), shape=entries.shape))

    def make_weights(self, dual: sp.csr_array) -> None:
        """Take over a dual as it is, and the weights it makes."""
        self.slots = self.kernels.repack(self._slots(dual), 0)
        self.work(self._weights_of, [0])

    def solve(self, max_iter: int, on_epoch: Callable[[Progress], None] | None) -> Solution:
        epochs, exact = 0, None
        try:
            epochs, exact = self._passes(max_iter, on_epoch)
        except KeyboardInterrupt:  # between two runs of the engine
            self.outcome = Outcome.INTERRUPTED
            epochs = self.history[-1].done if self.history else 0
        if exact is None or self.history[-1] is not exact:
            self.engine.stop[0], self.engine.deadline = 0, None  # one more pass tells what was reached
            self.work(self._weights_of, [0])  # those of the start may have been cut short
            exact = self.certified(epochs, on_epoch)
        return self.solution(exact, epochs)

    def _passes(
        self, max_iter: int, on_epoch: Callable[[Progress], None] | None
    ) -> tuple[int, Progress | None]:
        """Passes until the gap, the limit or an interruption; how many, and the last exact bounds."""
        gap = last = np.inf
        exact = None
        epochs = 0
        while epochs < max_iter and not self.over():
            report = self._ascend(self.live, True)
            epochs += 1
            if self.over():
                break  # the report is of part of the rows
            primal = self._penalty() + report[0]
            last, gap = gap, report[1] / primal if primal > 0 else 0.0
            self._note(Progress(self.engine.seconds, epochs, primal, primal - report[1]), on_epoch)
            for _ in range(_SLOT_PASSES):
                self._ascend(
                    np.flatnonzero(self.gaps > _WORTH * self.gaps.sum() / max(1, len(self.live))), False
                )
            self._mend()
            # the gap seen in passing is that of the past; what it fell by since is guessed from its last fall
            if gap * (min(1.0, 0.9 * gap / last) if epochs > 1 else 1.0) <= self.tol:
                exact = self.certified(epochs, on_epoch)
                if self.engine.stop[0]:
                    return epochs, None  # of part of the rows, too
                if exact.gap <= self.tol:
                    break
        return epochs, exact

    def _mend(self) -> None:
        """Threads that write to one place at once lose something: make the weights anew from the duals."""
        if self.n_threads > 1:
            self.work(self._weights_of, [0])

    def over(self) -> bool:
        """Whether to stop before the next pass: the engine itself looks at the clock only while long tasks run."""
        if self.engine.late and self.outcome is Outcome.COMPLETED:
            self.outcome = Outcome.TIME_LIMIT
        return self.outcome is not Outcome.COMPLETED

    def _note(self, progress: Progress, on_epoch: Callable[[Progress], None] | None) -> None:
        self.history.append(progress)
        if on_epoch is not None:
            on_epoch(progress)

    def work(self, function: Callable[[Any], Any], tasks: list[Any]) -> list[Any]:
        results: list[Any] = []
        outcome = self.engine.run(function, tasks, lambda _, result: results.append(result))
        if self.outcome is Outcome.COMPLETED:
            self.outcome = outcome
        return results

    def _pieces(self, rows: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
        return [piece for piece in np.array_split(rows, self.n_threads) if len(piece)]

    def _ascend(self, rows: npt.NDArray[np.intp], full: bool) -> Array:
        """One pass of ascent over some rows, in random order; returns summed losses and gaps as met on the way."""
        if full:
            self.slots = self.kernels.repack(self.slots, self.kernels.VIOLATORS)

        def piece_of(order: Any) -> Array:
            report = np.zeros(2)
            self.kernels.ascend(
                self.rows, self.square, self.label, self.cost, self.paths, self.costs, self.nodes, self.bias,
                self.bias_feature, self.slots, order, full, self.scores(), self.gaps, report, self.engine.stop,
            )  # fmt: skip
            return report

        reports = self.work(piece_of, self._pieces(self.rng.permutation(rows)))
        return np.sum(reports, axis=0) if reports else np.zeros(2)

    def certified(self, epochs: int, on_epoch: Callable[[Progress], None] | None) -> Progress:
        """Primal and dual of the weights as they stand, by pricing all rows in double precision."""
        self.slots = self.kernels.repack(self.slots, self.kernels.VIOLATORS)

        def piece_of(rows: Any) -> Array:
            report = np.zeros(2)
            self.kernels.price(
                self.rows, self.label, self.cost, self.paths, self.costs, self.nodes, self.bias,
                self.bias_feature, self.slots, rows, np.empty(self.tie.n_nodes), self.gaps, report, self.engine.stop,
            )  # fmt: skip
            return report

        reports = self.work(piece_of, self._pieces(self.live))
        report = np.sum(reports, axis=0) if reports else np.zeros(2)
        primal = self._penalty() + report[0]
        # stopped on the way, the report is of part of the rows: then zero is the one bound that is sure
        dual = 0.0 if self.engine.stop[0] else primal - report[1]
        exact = Progress(self.engine.seconds, epochs, primal, dual)
        self._note(exact, on_epoch)
        return exact

    def scores(self) -> Any:
        return np.empty(self.nodes.shape[1], dtype=self.nodes.dtype)

    def _weights_of(self, _: Any) -> None:
        self.kernels.weights_of(
            self.rows, self.label, self.paths, self.costs, self.nodes, self.bias, self.bias_feature, self.slots,
            self.engine.stop,
        )  # fmt: skip

    def _penalty(self) -> float:
        squares = self.kernels.node_squares(self.nodes, self.bias)
        has = self.tie.scale > 0
        return 0.5 * float(np.sum(squares[has] / self.tie.scale[has]))

    def solution(self, exact: Progress, epochs: int) -> Solution:
        status = status_of(exact.gap <= self.tol, self.outcome)
        slots = self.kernels.repack(self.slots, 0)
        details = {
            "node_bias": self.bias,
            "node_squares": self.kernels.node_squares(self.nodes, self.bias),
            "linear": self.kernels.linear_part(self.label, self.costs, slots),
        }
        shape = (self.problem.n_rows, self.problem.n_classes)
        dual = sp.csr_array((slots.alpha, slots.classes, slots.indptr), shape=shape)
        dual.sort_indices()  # in place: the slots are of no more use
        intercept = self.bias_feature * (self.tie.paths @ self.bias)
        weights = NodeWeights(self.nodes, self.tie.paths, intercept)
        return Solution(weights, dual, status, epochs, self.history, details)


def kernel_paths(paths: sp.csr_array, weight: Array) -> Any:
    """A classes x nodes matrix of ones as the kernels want it: node ids ascending in each row."""
    from taxolearn.kernels.simplex_rows import Paths

    ordered = paths.sorted_indices()
    return Paths(
        ordered.indptr.astype(np.int64), ordered.indices.astype(np.int64), np.array(weight, dtype=np.float64)
    )


def kernel_costs(loss: StructuredHinge) -> Any:
    """The costs as the kernels want them: a table, or what a column of it is computed from."""
    from taxolearn.kernels.simplex_rows import Costs

    table = np.zeros((0, 0)) if loss.table is None else np.array(loss.table)
    if loss.table is None and loss.n_classes <= _TABLE_CLASSES:
        table = loss.costs(np.arange(loss.n_classes))
    totals = np.asarray(loss.paths @ loss.node_cost, dtype=np.float64)
    rescaling = RESCALINGS.index(loss.rescaling)
    return Costs(table, kernel_paths(loss.paths, loss.node_cost), totals, int(loss.root), rescaling)
