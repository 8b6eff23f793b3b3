"""One-vs-rest classification by dual coordinate descent, blocks of classes as tasks."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Clock, blas_threads
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Progress,
    Requires,
    Solution,
    Start,
    Status,
    Watch,
    check_requirements,
    check_start,
    status_of,
)
from taxolearn.solvers.begun import in_bounds, vectors_of
from taxolearn.solvers.side_by_side import DenseRows, solve_side_by_side, suits_side_by_side
from taxolearn.vectors import ClassVectors

REQUIRES = Requires(("margin",), paths=True, independent=True)
LIMITS = Limits(tol=1e-4)  # unless the caller gives others

_BLOCK_CLASSES = 16  # classes that one read of X prices
_BLOCK_BYTES = 128 * 2**20  # duals and scores of a block of classes
_DENSE_BYTES = 2**30  # largest size of weights that are kept dense
_SIDE_NUMBERS = 2**24  # scores of classes that are solved side by side: 128 MB, a few times
_LIGHT_SIDE = 2**18  # rows x features x classes that take a few milliseconds side by side
_ONE_THREAD = 2**18  # multiplications for which BLAS takes one thread anyway
_LIGHT_STEPS = 2**24  # multiply-adds that take some 10 ms

Ids = npt.NDArray[np.int64]


class Block(NamedTuple):
    """Some classes, and the duals that they begin with, block x rows; None: zero.

    Where classes are solved side by side they begin with weights and biases.
    """

    classes: Ids
    dual: sp.csr_array | None
    coef: Any = None
    biases: Any = None


class Shared(NamedTuple):
    """What all blocks of classes read."""

    loss: Any
    rows: Any
    squares: npt.NDArray[np.float64]
    positive_indptr: npt.NDArray[
        np.int64
    ]  # the rows of class l are positive_rows[positive_indptr[l]:...[l + 1]]
    positive_rows: npt.NDArray[np.int64]
    row_cost: npt.NDArray[np.float64]  # C included
    positive_weight: npt.NDArray[np.float64]
    negative_weight: npt.NDArray[np.float64]
    n_features: int
    bias_feature: float
    tol: float
    max_iter: int
    seed: int
    sparse: bool  # whether weights are returned sparse


class SolvedBlock(NamedTuple):
    """Weights, biases, duals and report of a block of classes, one row per class."""

    coef: Any
    biases: npt.NDArray[np.float64]
    dual: sp.csr_array
    report: npt.NDArray[np.float64]


def solve_one_vs_rest(
    objective: Objective,
    limits: Limits = LIMITS,
    start: Start | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Minimise, for every class, 1/2 ||w||^2 + 1/2 b^2 + sum_i c_i loss(y_i (w . x_i + s b)).

    Needs a loss of the margin and the tie of classes that have nothing in common (`flat`), and takes no prior of the
    biases. Each class stops at a relative gap of `tol` or after `max_iter` epochs. With two classes of one label per
    row only one problem is solved: the other is its mirror image. A class without a weighted row has no losses: its
    vector is zero, and its intercept says no. Classes begin with the dual of `start`, if there is one, and where they
    are solved side by side with the vectors of its state; `watch` is told after each block of classes.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> objective = Objective(problem, Hinge(), flat(2), C=10.0, bias_feature=0.0)
    >>> solve_one_vs_rest(objective).vectors.coef.round(3).tolist()
    [[-1.0], [1.0]]
    """
    check_requirements("one_vs_rest", REQUIRES, objective)
    _check_penalty(objective)
    start = start or Start(None)
    check_start(start.dual, (objective.problem.n_classes, objective.problem.n_rows))
    return _OneVsRest(objective, limits, start).solve(watch)


def _check_penalty(objective: Objective) -> None:
    """The kernels know no other penalty than 1/2 ||w||^2 + 1/2 b^2."""
    if np.any(objective.tie.class_scale != 1.0):
        raise DataError("solver='one_vs_rest' needs scales of one; use solver='tree' for others")
    if objective.bias_prior:
        raise DataError(
            f"solver='one_vs_rest' takes no prior of the biases, not {objective.bias_prior:g}; use solver='tree'"
        )


def solve_classes(shared: Shared, block: Block, clock: Clock) -> SolvedBlock:
    """Solve the problems of some classes, each against the rest."""
    from taxolearn.kernels import dual_descent
    from taxolearn.solvers.margin_block import solve_block

    classes = block.classes
    weights = np.zeros((len(classes), shared.n_features))
    biases = np.zeros(len(classes))
    if block.dual is None:
        duals = np.zeros((len(classes), len(shared.squares)))
    else:
        duals = block.dual.toarray().astype(np.float64, order="C", copy=False)
    report = np.zeros((len(classes), dual_descent.REPORT_WIDTH))
    solve_block(
        shared.loss,
        shared.rows,
        shared.squares,
        shared.positive_indptr,
        shared.positive_rows,
        classes,
        shared.row_cost,
        shared.positive_weight,
        shared.negative_weight,
        shared.bias_feature,
        shared.tol,
        shared.max_iter,
        shared.seed,
        clock.stop,
        weights,
        biases,
        duals,
        report,
    )
    return SolvedBlock(
        sp.csr_array(weights) if shared.sparse else weights, biases, sp.csr_array(duals), report
    )


def solve_dense_classes(shared: DenseRows, block: Block, clock: Clock) -> SolvedBlock:
    """Solve the problems of some classes side by side."""
    from taxolearn.kernels import dual_descent

    found = solve_side_by_side(shared, block.classes, clock, block.coef, block.biases)
    report = np.zeros((len(block.classes), dual_descent.REPORT_WIDTH))
    report[:, dual_descent.REPORT_PRIMAL], report[:, dual_descent.REPORT_DUAL] = found.primal, found.lower
    report[:, dual_descent.REPORT_EPOCHS], report[:, dual_descent.REPORT_CONVERGED] = (
        found.steps,
        found.converged,
    )
    return SolvedBlock(found.coef, found.biases, found.dual, report)


def _share_dense(objective: Objective, limits: Limits) -> DenseRows:
    problem = objective.problem
    return DenseRows(
        objective.loss,
        problem.X,
        *problem.rows_of_classes,
        objective.C * problem.row_weight,
        problem.positive_weight,
        problem.negative_weight,
        objective.bias_feature,
        float(limits.tol),
        limits.max_iter,
    )


def _share(objective: Objective, limits: Limits, sparse: bool) -> Shared:
    from taxolearn.kernels.dual_descent import row_squares
    from taxolearn.kernels.rows import rows_of

    problem = objective.problem
    rows: Any = rows_of(problem.X)
    return Shared(
        objective.loss,
        rows,
        row_squares(rows, objective.bias_feature),
        *problem.rows_of_classes,
        objective.C * problem.row_weight,
        problem.positive_weight,
        problem.negative_weight,
        problem.n_features,
        objective.bias_feature,
        float(limits.tol),
        limits.max_iter,
        limits.seed,
        sparse,
    )


class _OneVsRest:
    """One solve: which classes are solved, and where their answers are collected."""

    def __init__(self, objective: Objective, limits: Limits, start: Start) -> None:
        from taxolearn.kernels import dual_descent

        self.kernels, self.objective, self.limits = dual_descent, objective, limits
        self.begun = None if start.dual is None else in_bounds(objective, sp.csr_array(start.dual))
        self.given = start.state
        problem = self.problem = objective.problem
        counted = problem.counted
        self.mirrored = problem.n_classes == 2 and not problem.labels.multilabel and bool(counted.all())
        self.solved: Ids = np.array([1]) if self.mirrored else np.flatnonzero(counted)
        self.sparse = len(self.solved) * problem.n_features * 8 > _DENSE_BYTES
        self.side_by_side = not self.sparse and suits_side_by_side(objective)
        self.coef = np.zeros((0 if self.sparse else problem.n_classes, problem.n_features))
        self.biases = np.zeros(problem.n_classes)
        self.report = np.zeros((problem.n_classes, dual_descent.REPORT_WIDTH))
        self.groups: list[Ids] = []
        self.duals: dict[int, sp.csr_array] = {}  # by the first class of their block
        self.sparse_coefs: dict[int, sp.csr_array] = {}

    def blocks(self, n_workers: int) -> list[Block]:
        """Groups of classes with what they begin with."""
        self.groups = self._groups(n_workers)
        if self.begun is None:
            return [Block(some, None) for some in self.groups]
        if not self.side_by_side:
            return [Block(some, self.begun[some]) for some in self.groups]
        vectors = (
            self._given(some) or vectors_of(self.objective, some, self.begun[some]) for some in self.groups
        )
        return [Block(some, None, *found) for some, found in zip(self.groups, vectors, strict=True)]

    def _given(self, classes: Ids) -> tuple[Any, Any] | None:
        """Vectors that a fit with another C left: they are closer than those of its duals, which grow with C."""
        given, feature = self.given, self.objective.bias_feature
        if (
            not self.side_by_side
            or not isinstance(given, ClassVectors)
            or given.coef.shape != self.coef.shape
        ):
            return None
        return given.coef[classes], given.intercept[classes] / feature if feature else np.zeros(len(classes))

    def _groups(self, n_workers: int) -> list[Ids]:
        """Classes in groups: large enough to share reads of X, small enough for memory and for all workers."""
        if self.side_by_side:  # products of all at once; several blocks for memory and for all workers only
            fit = max(1, _SIDE_NUMBERS // max(1, self.problem.n_rows))
            width = max(1, min(fit, -(-len(self.solved) // n_workers)))
            return [self.solved[start : start + width] for start in range(0, len(self.solved), width)]
        fit = _BLOCK_BYTES // (25 * max(1, self.problem.n_rows))
        # classes differ much in work: several blocks per worker even that out
        share = len(self.solved) if n_workers == 1 else max(4, -(-len(self.solved) // (6 * n_workers)))
        width = max(1, min(_BLOCK_CLASSES, fit, share))
        return [self.solved[start : start + width] for start in range(0, len(self.solved), width)]

    def is_light(self) -> bool:
        """Whether all epochs that are allowed would take milliseconds only."""
        X = self.problem.X
        steps = X.nnz if sp.issparse(X) else X.size  # per class and epoch
        steps += 8 * X.shape[0]  # a visit of a row costs something by itself
        return bool(steps * len(self.solved) * self.limits.max_iter <= _LIGHT_STEPS)

    def solve(self, watch: Watch | None) -> Solution:
        history: list[Progress] = []
        report, kernels = self.report, self.kernels

        with self.limits.run() as run:

            def collect(block: Block, found: SolvedBlock) -> None:
                self._put(block.classes, found)
                primal, dual = report[:, kernels.REPORT_PRIMAL].sum(), report[:, kernels.REPORT_DUAL].sum()
                done = sum(duals.shape[0] for duals in self.duals.values())
                history.append(
                    Progress(run.clock.seconds, done, float(primal), float(dual), len(self.solved))
                )
                if watch is not None:
                    watch(history[-1], self.dual)

            blocks = self.blocks(run.cluster.n_workers)
            where: dict[str, Any] = {"keep": False, "anywhere": True}
            if self.side_by_side:
                shared = run.share(_share_dense(self.objective, self.limits))
                where["light"] = self.problem.X.size * len(self.solved) <= _LIGHT_SIDE
                small = self.problem.X.size * (self.problem.n_features + 1) <= _ONE_THREAD
                with nullcontext() if small else blas_threads(1):
                    run.map(solve_dense_classes, shared, blocks, collect, **where)
            else:
                shared = run.share(_share(self.objective, self.limits, self.sparse))
                with blas_threads(1):
                    run.map(solve_classes, shared, blocks, collect, light=self.is_light(), **where)
            outcome = run.outcome
        for classes, dual in self._unsolved():
            coef, biases = self._given(classes) or vectors_of(self.objective, classes, dual)
            coef = coef.toarray() if sp.issparse(coef) and not self.sparse else coef
            self._put(classes, SolvedBlock(coef, biases, dual, report[classes]))
        converged = bool(np.all(report[self.solved, kernels.REPORT_CONVERGED] > 0))
        iterations = int(report[:, kernels.REPORT_EPOCHS].max())
        status = status_of(converged, outcome)
        if self.side_by_side and status is Status.ITERATION_LIMIT and iterations < self.limits.max_iter:
            status = Status.ROUNDING  # no limit ended the steps: another solver may know better
        return Solution(self.vectors(), self.dual(), status, iterations, history)

    def _put(self, classes: Ids, found: SolvedBlock) -> None:
        first = int(classes[0])
        if self.sparse:
            self.sparse_coefs[first] = found.coef
        else:
            self.coef[classes] = found.coef
        self.biases[classes] = found.biases
        self.duals[first] = found.dual
        self.report[classes] = found.report

    def _unsolved(self) -> list[tuple[Ids, sp.csr_array]]:
        """Classes that were not solved yet, with the duals that they begin with."""
        begun, left = self.begun, (some for some in self.groups if int(some[0]) not in self.duals)
        return [] if begun is None else [(some, begun[some]) for some in left]

    def vectors(self) -> ClassVectors:
        """Of all classes; those that were never begun have zeros."""
        problem, objective = self.problem, self.objective
        coef: Any = self.coef
        if self.sparse:
            coef = self._whole(self.sparse_coefs, problem.n_features, -1.0)
        elif self.mirrored:
            coef[0] = -coef[1]
        intercept = self.biases * objective.bias_feature
        if self.mirrored:
            intercept[0] = -intercept[1]
        if objective.bias_feature:
            total = objective.C * float(problem.row_weight.sum())
            for number in np.flatnonzero(~problem.counted):
                intercept[number] = objective.loss.low_intercept(total * problem.negative_weight[number])
        return ClassVectors(coef, intercept)

    def dual(self) -> sp.csr_array:
        """The duals so far, classes x rows."""
        begun = {int(classes[0]): dual for classes, dual in self._unsolved()}
        return self._whole(self.duals | begun, self.problem.n_rows, 1.0)

    def _whole(self, parts: dict[int, sp.csr_array], width: int, mirror: float) -> sp.csr_array:
        """One matrix of blocks of classes, zero for classes of none; of two classes the first is `mirror` times the
        second.
        """
        if self.mirrored:
            only = parts[1] if 1 in parts else sp.csr_array((1, width))
            data, indices = np.concatenate((mirror * only.data, only.data)), np.tile(only.indices, 2)
            return sp.csr_array((data, indices, only.nnz * np.arange(3)), shape=(2, width))
        found = [parts[first] for first in sorted(parts)]
        if len(found) == 1 and found[0].shape == (self.problem.n_classes, width):
            return found[0]
        counts = np.zeros(self.problem.n_classes, dtype=np.int64)
        for first, part in parts.items():
            place = int(np.searchsorted(self.solved, first))
            counts[self.solved[place : place + part.shape[0]]] = np.diff(part.indptr)
        indptr = np.concatenate(([0], np.cumsum(counts)))
        data = np.concatenate([np.empty(0), *(part.data for part in found)])
        indices = np.concatenate([np.empty(0, dtype=np.int32), *(part.indices for part in found)])
        return sp.csr_array((data, indices, indptr), shape=(len(counts), width))
