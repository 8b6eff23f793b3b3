"""Structured hinge with one label per row: ascent on each row's simplex of duals, vectors kept at the nodes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Clock, Run, blas_threads
from taxolearn.errors import DataError
from taxolearn.losses.structured import RESCALINGS, StructuredHinge
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Solution,
    Start,
    Watch,
    check_requirements,
)
from taxolearn.solvers.mean_dual import MeanDual
from taxolearn.solvers.row_ascent import Array, Ids, RowAscent
from taxolearn.solvers.simplex_face import ascend_face, make_face
from taxolearn.solvers.slot_run import SlotRun
from taxolearn.vectors import NodeVectors

REQUIRES = Requires(("structured",), paths=True)

_TABLE_CLASSES = (
    2048  # up to so many classes all costs are tabulated; above, columns are computed when needed
)
_SINGLE_BYTES = 64 * 2**20  # node vectors that would take more in double precision are kept in single,
_SINGLE_TOL = 1e-6  # unless this gap or a smaller one is asked for: single precision may not reach it
_SLOT_PASSES = 2  # passes over the slots of the rows with the largest gaps, after each pass over everything
_LIGHT_SLOT_PASSES = 4  # the same where a pass takes less than the call of a kernel
# by which vectors are made longer, as shares of the gap: on short texts of 1,918 classes an eighth was best for all C
_STRETCHES = np.array([0.25, 0.125, 0.0625])
_LEAST_GAIN = (
    2e-5  # share of the objective below which that is not done: single precision rounds what is multiplied
)
_MOST_FREE = 2048  # duals on a face
_ONE_THREAD = 2**18  # multiplications for which BLAS takes one thread anyway
_FACE_PASSES = (
    256  # passes that have as many multiplications as a step on a face may: BLAS is quicker at them
)
_MEAN_STEPS = 2**26  # multiplications in a pass from which on the mean of some is worth its making
_LIMITS = Limits(tol=1e-3)


def solve_structured(
    objective: Objective, limits: Limits = _LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise 1/2 sum_n ||u_n||^2 / a_n + sum_i c_i max(0, max_l D(l, y_i) - S(l, y_i) (w_{y_i} - w_l) . x_i).

    w_l is the sum of u_n along the path of class l, D and S come from the loss, c_i is C times the weights of row and
    class, and the bias is the weight of one more feature of value `bias_feature`, tied like the others. This is
    Crammer and Singer's multi-class SVM, HSVM (2), NHSVM (10) and (13) of Choi, Sasaki and Srebro, and TREELOSS.
    Needs one label per row. Any dual can be a start: it is made feasible. The solution's `details` have the bias of
    every node (`node_bias`), ||u_n||^2 (`node_squares`, bias included), ||z_n||^2 of the dual (`dual_squares`), and
    sum alpha D (`linear`). Vectors are those of the dual, u_n = a_n z_n, all longer by one factor. Where there are
    enough entries, rows are improved by several threads at once and without locks (Hsieh, Yu and Dhillon 2015): two
    runs then agree to the gap only.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> loss = structured_hinge(problem, flat(2))
    >>> solution = solve_structured(Objective(problem, loss, flat(2), C=10.0, bias_feature=0.0))
    >>> solution.vectors.coef.round(3).tolist()
    [[-0.5], [0.5]]
    """
    check_requirements("structured", REQUIRES, objective)
    with limits.run() as run:
        ascent = StructuredRun(objective, limits, run, watch)
        if start is not None and start.dual is not None:
            ascent.begin_with(start.dual)
        return ascent.solve()


class Arrays(NamedTuple):
    """What the kernels read, and the vectors (`nodes`, `bias`), `slots` and `gaps` that they change in place."""

    rows: Any
    square: Array
    label: npt.NDArray[np.int64]
    cost: Array
    paths: Any
    costs: Any
    nodes: npt.NDArray[Any]
    bias: Array
    bias_feature: float
    slots: Any
    gaps: Array
    stretches: Array  # factors on the vectors, the largest first


def _ascend(arrays: Arrays, task: tuple[Ids, bool, int], clock: Clock) -> tuple[Array]:
    """Improve the duals of some rows; several such tasks write to the same vectors at once.

    Returns summed losses and gaps, as met on the way, and the losses with longer vectors.
    """
    from taxolearn.kernels.simplex_passes import ascend

    order, full, again = task
    scores = np.empty(arrays.nodes.shape[1], dtype=arrays.nodes.dtype)
    report = np.zeros(2 + len(arrays.stretches))
    a = arrays
    ascend(
        a.rows, a.square, a.label, a.cost, a.paths, a.costs, a.nodes, a.bias, a.bias_feature, a.slots, order, full,
        again, scores, a.gaps, a.stretches, report, clock.stop,
    )  # fmt: skip
    return (report,)


def price_rows(arrays: Arrays, rows: Ids, clock: Clock) -> tuple[Array]:
    """Summed losses and gaps of some rows at the vectors as they stand, in double precision, and the losses with longer
    vectors; fills their slots."""
    from taxolearn.kernels.simplex_passes import price

    report, scores = np.zeros(2 + len(arrays.stretches)), np.empty(arrays.nodes.shape[1])
    a = arrays
    price(
        a.rows, a.label, a.cost, a.paths, a.costs, a.nodes, a.bias, a.bias_feature, a.slots, rows, scores, a.gaps,
        a.stretches, report, clock.stop,
    )  # fmt: skip
    return (report,)


def _make_vectors(arrays: Arrays, _: None, clock: Clock) -> bool:
    """Make the vectors anew from the duals."""
    from taxolearn.kernels.simplex_passes import weights_of

    a = arrays
    weights_of(a.rows, a.label, a.paths, a.costs, a.nodes, a.bias, a.bias_feature, a.slots, clock.stop)
    return True


class StructuredRun(RowAscent, SlotRun):
    """One solve: what the kernels read, and the slots and node vectors that they change."""

    price_task = staticmethod(price_rows)
    first_face, every_face = 20, 5  # passes before Newton steps on the face, and from one to the next
    on_face = False  # whether the duals that are not zero were few enough for such steps
    stretch = 1.0  # of the vectors of the duals at the end: the objective is least there

    def __init__(self, objective: Objective, limits: Limits, run: Run, watch: Watch | None = None) -> None:
        problem, tie = objective.problem, objective.tie
        self.shape, self.scale = (problem.n_rows, problem.n_classes), tie.scale
        label, weight = problem.one_label
        cost = objective.C * weight
        entries = problem.X.nnz if sp.issparse(problem.X) else problem.X.size
        steps = entries * tie.n_nodes + problem.n_rows * tie.paths.nnz
        self.steps = steps
        self.begin(objective, limits, run, watch, cost, steps)
        self.mean = MeanDual()
        self.slot_passes = _LIGHT_SLOT_PASSES if self.light else _SLOT_PASSES
        rows, square, nodes, bias_feature = self._layout()
        self.arrays = Arrays(
            rows,
            square,
            label,
            cost,
            kernel_paths(tie.paths, tie.scale, _ranks(tie)),
            kernel_costs(objective.loss),
            nodes,
            np.zeros(tie.n_nodes),
            bias_feature,
            self.packed(sp.csr_array(self.shape)),
            np.zeros(problem.n_rows),
            _stretches(1.0),
        )

    def _layout(self) -> tuple[Any, Array, npt.NDArray[Any], float]:
        """Rows, their squares, vectors of zero and the bias feature."""
        from taxolearn.kernels.dual_descent import row_squares
        from taxolearn.kernels.rows import rows_of

        problem, n_nodes, bias_feature = (
            self.objective.problem,
            self.objective.tie.n_nodes,
            self.objective.bias_feature,
        )
        single = problem.n_features * n_nodes * 8 > _SINGLE_BYTES and self.limits.tol > _SINGLE_TOL
        nodes = np.zeros((problem.n_features, n_nodes), dtype=np.float32 if single else np.float64)
        rows: Any = rows_of(problem.X)
        return rows, row_squares(rows, bias_feature), nodes, bias_feature

    def begin_with(self, dual: sp.csr_array) -> None:
        """Take over a dual, classes x rows, made feasible: none negative or at a row's own class, sums at most c_i."""
        if dual.shape != self.shape[::-1]:
            raise DataError(
                f"start has shape {dual.shape}, but the duals, classes x rows, have {self.shape[::-1]}"
            )
        entries = sp.coo_array(dual)
        own = entries.row == self.arrays.label[entries.col]
        self.take_over(entries.col, entries.row, np.where(own, 0.0, np.maximum(entries.data, 0.0)))
        self.make_vectors()

    def make_vectors(self) -> None:
        """The vectors that the duals make: rounding, and threads that write at once, blur them."""
        self.run.map(_make_vectors, self.arrays, [None], light=self.light)

    def one_pass(self) -> tuple[Array, bool]:
        """One visit to all rows, and more to those of them with large gaps."""
        return self.ascend(self.weighted, full=True, again=self.slot_passes)

    def ascend(self, rows: Ids, full: bool, again: int = 0) -> tuple[Array, bool]:
        """One pass of ascent over some rows, in random order, and more over those of them with large gaps; summed
        losses and gaps as met on the way."""
        if full:
            self.before_price()
        pieces = self._pieces(self.rng.permutation(rows))
        report, _, whole = self._reports(_ascend, [(piece, full, again) for piece in pieces])
        return report, whole

    def bounds(self, report: Array) -> tuple[float, float]:
        """Primal of the vectors, stretched to where it is least, and dual."""
        penalty, factors = self._penalty(), self.arrays.stretches
        plain, gap = penalty + float(report[0]), float(report[1])
        primals = factors**2 * penalty + (report[2:] if len(report) > 2 else 0.0)  # no rows, no losses
        best = int(np.argmin(primals))
        longer = primals[best] <= (1 - _LEAST_GAIN) * plain
        self.stretch = float(factors[best]) if longer else 1.0
        self.arrays = self.arrays._replace(stretches=_stretches(gap / plain if plain > 0 else 0.0))
        return float(primals[best]) if longer else plain, plain - gap

    def after_pass(self) -> None:
        """Now and then, where few duals are left that are not zero, Newton steps on all of them at once."""
        if self.done < self.first_face or (self.done - self.first_face) % self.every_face:
            return
        self.repack(0)
        slots, cost = self.arrays.slots, self.arrays.cost
        size = float(len(slots.alpha))
        self.on_face = 0 < size <= _MOST_FREE and size**3 <= _FACE_PASSES * self.steps
        if not self.on_face:
            return
        row = np.repeat(np.arange(len(cost)), slots.count)
        with nullcontext() if size**3 <= _ONE_THREAD else blas_threads(1):
            slots.alpha[:] = ascend_face(make_face(self.objective, row, slots.classes, cost), slots.alpha)
        self.make_vectors()

    def ends_at_the_mean(self, gap: float) -> bool:
        """Every ten passes, where these take long, the mean of their duals is looked at if it promises an end."""
        if self.steps < _MEAN_STEPS or self.done < self.first_face:
            return False
        now = self.dual()
        self.mean.add(now)
        if not self.mean.full:
            return False
        mean = self.mean.take()
        if not self.mean.promises(gap, self.limits.tol):
            return False
        self.begin_with(mean)
        self.before_price()
        report, _, whole = self._reports(self.price_task, self._pieces(self.weighted))
        if not whole:
            return False
        primal, dual = self.bounds(report)
        found = (primal - dual) / primal if primal > 0 else np.inf
        if found <= self.limits.tol:
            self.exact = self._note(primal, dual)
            return True
        self.mean.learn(gap, found)
        self.begin_with(now)
        return False

    def before_price(self) -> None:
        """Make room for the classes that a look at all of them may bring."""
        self.repack(self.kernels.MAX_NEW_CLASSES)

    def solution(self) -> Solution:
        """What was reached, `exact` being its bounds."""
        arrays, tie = self.arrays, self.objective.tie
        squares = self.kernels.node_squares(arrays.nodes, arrays.bias)
        if self.stretch != 1.0:
            arrays.nodes[:] *= arrays.nodes.dtype.type(self.stretch)
            arrays.bias[:] *= self.stretch
        details = {
            "node_bias": arrays.bias,
            "node_squares": self.stretch**2 * squares,
            "dual_squares": np.divide(squares, tie.scale**2, out=np.zeros_like(squares), where=tie.scale > 0),
            "linear": self.kernels.linear_part(arrays.label, arrays.costs, arrays.slots),
        }
        vectors = NodeVectors(arrays.nodes, tie.paths, arrays.bias_feature * (tie.paths @ arrays.bias))
        return self._finished(vectors, details)


def _stretches(gap: float) -> Array:
    """Factors on the vectors that may lower the objective at such a gap: errors of scores only add to the largest of
    many violations, and slightly longer vectors make up for that."""
    return 1.0 + min(gap, 0.5) * _STRETCHES


def kernel_paths(paths: sp.csr_array, weight: Array, rank: npt.NDArray[np.int64] | None = None) -> Any:
    """A classes x nodes matrix of ones as the kernels want it: node ids ascending in each row."""
    from taxolearn.kernels.simplex_rows import Paths

    ordered = paths if paths.has_sorted_indices else paths.sorted_indices()
    return Paths(
        ordered.indptr.astype(np.int64),
        ordered.indices.astype(np.int64),
        np.array(weight, dtype=np.float64),
        np.zeros(0, dtype=np.int64) if rank is None else rank,
    )


def _ranks(tie: Any) -> npt.NDArray[np.int64] | None:
    """The place of every class from left to right in a tree, so that those below a node stand together."""
    if tie.parents is None:
        return None
    indptr, nodes = tie.paths.indptr, tie.paths.indices
    order = sorted(range(tie.n_classes), key=lambda one: nodes[indptr[one] : indptr[one + 1]].tolist())
    rank = np.empty(tie.n_classes, dtype=np.int64)
    rank[order] = np.arange(tie.n_classes)
    return rank


def kernel_costs(loss: StructuredHinge) -> Any:
    """The costs as the kernels want them: a table, or what a column of it is computed from."""
    from taxolearn.kernels.simplex_rows import Costs

    table = np.zeros((0, 0)) if loss.table is None else np.array(loss.table)
    if loss.table is None and loss.n_classes <= _TABLE_CLASSES:
        table = loss.costs(np.arange(loss.n_classes))
    totals = np.asarray(loss.paths @ loss.node_cost, dtype=np.float64)
    rescaling = RESCALINGS.index(loss.rescaling)
    return Costs(table, kernel_paths(loss.paths, loss.node_cost), totals, int(loss.root), rescaling)
