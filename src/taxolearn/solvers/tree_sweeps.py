"""Recursive regularization on a tree or a DAG: sweeps over the few rows that matter, priced against all rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Run, frozen
from taxolearn.objective import Objective
from taxolearn.solvers import tree_rows
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Rounds,
    Solution,
    Start,
    Watch,
    check_requirements,
    check_start,
)
from taxolearn.solvers.tree_active import first_rows
from taxolearn.solvers.tree_forest import make_forest
from taxolearn.solvers.tree_tasks import (
    Part,
    PriceTask,
    Shared,
    SweepTask,
    Swept,
    part_of,
    price_task,
    prices_in_single,
    release_scratch,
    sweep_task,
)
from taxolearn.solvers.tree_vectors import Form, dual_vectors, make_vectors, vectors_form

REQUIRES = Requires(("margin",), sparse_dual=True, paths=True)
LIMITS = Limits(tol=5e-2, max_iter=100)  # unless the caller gives others

_SWEEPS = (3, 10)  # sweeps between two pricings: least, where pricing is cheap, and most
_GROWTH = 8.0  # largest factor by which the rows of a class grow at one pricing
_AHEAD = (0.05, 0.15)  # rows that miss a loss by less are worked on too: where pricing is cheap, and at most
_LEFT_OUT_SHARE = 0.3  # losses of rows that a class does not work on, as a share of the tolerated gap
_VISIT_TOL_SHARE = 0.1  # gap of a class at which a visit ends, as a share of the tolerated gap
_SPAN_CLASSES = 64  # least classes that a task prices, if there are as many
_TASKS_PER_WORKER = 8  # trees and classes differ much in work: several tasks per worker even that out
_LIGHT_STEPS = 2**21  # multiply-adds that take some milliseconds
# pairs of row and class from which on duals are kept in single precision: kernels are then compiled once more
_MANY_PAIRS = 2**28

Array = npt.NDArray[np.float64]


def solve_tree_sweeps(
    objective: Objective,
    limits: Limits = LIMITS,
    start: Start | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Minimise 1/2 sum_n ||u_n||^2/a_n + 1/2 sum_l (b_l - b0)^2 + sum_il c_il loss(y_il (w_l . x_i + s b_l)).

    w_l is the sum of the node vectors u_n on the path of class l: recursive regularization (Gopal, Yang 2013, HR-SVM),
    with s = `bias_feature` and b0 = `bias_prior`. Needs a loss whose dual is sparse (hinge, squared hinge). Trees that
    share no node are solved as tasks of their own; a DAG is unfolded into a tree, in which a node stands wherever a
    class reaches it. Classes without a weighted row have no losses and take their parent's vector.

    Only non-zero duals are kept. Each pass sweeps them by coordinate descent, then prices every class against all
    rows, which yields both objectives, the best bias of each class and the rows it was missing. It stops at a
    relative gap of `tol`, after `max_iter` passes, `max_seconds`, or on Ctrl-C. It begins with the dual of `start`;
    `watch` is told after each pass.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import SquaredHinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/puma", "all/dog"])
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["lion", "puma", "dog"], tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    >>> solution = solve_tree_sweeps(Objective(problem, SquaredHinge(), tie), Limits(tol=1e-4))
    >>> solution.status.value, round(solution.history[-1].primal, 3)
    ('converged', 5.142)
    """
    check_requirements("tree", REQUIRES, objective)
    dual = None if start is None else start.dual
    check_start(dual, (objective.problem.n_classes, objective.problem.n_rows))
    with limits.run() as run:
        trees = _Trees(objective, limits, dual, run)
        rounds = Rounds(limits, run, watch, trees.dual, done=1)
        while trees.another_pass(run):
            primal, below = trees.bounds()
            if not rounds.another(float(primal.sum()), float((primal - below).sum())):
                break
            trees.open = primal - below > 0.999 * limits.tol * primal
    return trees.solution(rounds)


class _Change(NamedTuple):
    """What becomes of the rows of the classes start .. stop-1; no two changes start at one class."""

    start: int
    stop: int
    keep: npt.NDArray[np.uint8]  # flags, as bits, of those that stay; empty if all do
    fresh: npt.NDArray[np.int32]


_NO_CHANGE = (np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int32))


class _Trees:
    """One solve: the arrays that all tasks read, the active rows of each class, and the bounds so far."""

    def __init__(self, objective: Objective, limits: Limits, dual: sp.csr_array | None, run: Run) -> None:
        from taxolearn.kernels import tree_descent, tree_pricing
        from taxolearn.kernels.dual_descent import row_squares
        from taxolearn.kernels.rows import rows_of
        from taxolearn.losses.for_kernels import for_kernels

        self.pricing = tree_pricing
        self.objective, self.limits = objective, limits
        problem, loss = objective.problem, objective.loss
        self.forest = make_forest(objective.tie, problem.counted)
        order = self.forest.classes
        single = prices_in_single(problem.X, len(order), limits.tol)
        # the largest dual of a row of cost 1, as the kernels know it; single precision might pass it
        highest = float(type(loss).kernel_upper(loss, objective.C))
        short = single and not np.isfinite(highest) and problem.n_rows * len(order) >= _MANY_PAIRS
        rng = np.random.default_rng(limits.seed)
        self.active = first_rows(
            problem, self.forest, rng, dual, highest, np.float32 if short else np.float64
        )
        self.biases = np.full(len(order), objective.bias_prior)
        if dual is not None:
            self.biases += objective.bias_feature * _signed_sums(self.active)
        self.polished = self.biases.copy()
        self.report = np.zeros((len(order), tree_pricing.REPORT_WIDTH))
        self.goals = np.zeros(len(order))
        # where the fresh rows of each class stand in its change
        self.fresh_start, self.fresh_stop = np.zeros((2, len(order)), dtype=np.int64)
        self.open = np.ones(len(self.forest.tops), dtype=bool)
        self.passes = 0
        X = problem.X
        rows: Any = rows_of(X, _by_frequency(X) if sp.issparse(X) else None)
        shared = Shared(
            for_kernels(loss),
            rows,
            row_squares(rows, 0.0),
            self.forest.arrays(),
            tree_descent.Costs(
                objective.C * problem.row_weight,
                problem.positive_weight[order],
                problem.negative_weight[order],
            ),
            problem.n_features,
            objective.bias_feature,
            objective.bias_prior,
            min(_AHEAD[0] * (1.0 + self._dearness()), _AHEAD[1]),
            _LEFT_OUT_SHARE * limits.tol,
            single,
        )
        self.tree, self.shared = shared.tree, run.share(shared)

    def another_pass(self, run: Run) -> bool:
        """Sweep the open trees and price them; whether that was done to the end."""
        self.sweep(run)
        if run.over():
            self.lower_stale([])
            return False
        changes, complete = self.price(run)
        if not complete:
            run.over()  # notes why
            self.lower_stale([(change.start, change.stop) for change in changes])
            return False
        self._regrow(changes)
        self.passes += 1
        return True

    def sweep(self, run: Run) -> None:
        """Coordinate descent over the open trees."""
        sweeps = int(min(max(_SWEEPS[0], 2 + 4 * self._dearness()), _SWEEPS[1]))
        light = 4 * sweeps * len(self.active.rows) * (8 + self._row_size()) <= _LIGHT_STEPS
        tasks = self._sweep_tasks(1 if light else _TASKS_PER_WORKER * run.cluster.n_workers, sweeps)
        first, last, indptr = self.forest.first, self.forest.last, self.active.indptr

        def put(task: SweepTask, found: Swept) -> None:
            own = slice(first[task.part.start], last[task.part.stop - 1])
            self.active.dual[indptr[own.start] : indptr[own.stop]] = found.dual
            self.biases[own] = found.biases

        run.map(sweep_task, self.shared, tasks, put, light=light, keep=False, anywhere=True)

    def _sweep_tasks(self, n_tasks: int, sweeps: int) -> list[SweepTask]:
        """The open trees, neighbours together as long as there are about so many tasks; those with most rows first."""
        forest, indptr = self.forest, self.active.indptr
        work = indptr[forest.last[forest.tops]] - indptr[forest.first[forest.tops]]
        enough = work[self.open].sum() / n_tasks
        groups: list[tuple[int, int, int]] = []  # from, to, work
        for k, size in zip(np.flatnonzero(self.open).tolist(), work[self.open].tolist(), strict=True):
            if groups and groups[-1][1] == k and groups[-1][2] + size <= enough:
                start, _, before = groups.pop()
                groups.append((start, k + 1, before + size))
            else:
                groups.append((k, k + 1, size))
        tasks = []
        for a, b, _ in sorted(groups, key=lambda group: -group[2]):
            tops = forest.tops[a:b]
            part = self._part(int(tops[0]), int(forest.end[tops[-1]]))
            goals = self.goals[forest.first[tops[0]] : forest.last[tops[-1]]]
            tasks.append(SweepTask(part, tops, goals, sweeps, self.limits.seed + self.passes))
        return tasks

    def _part(self, start: int, stop: int) -> Part:
        return frozen(part_of(self.tree, self.active, self.biases, start, stop))  # type: ignore[no-any-return]

    def price(self, run: Run) -> tuple[list[_Change], bool]:
        """Objectives of the open trees over all rows; how the active rows change, and whether all were priced."""
        steps = self.objective.problem.n_rows * len(self.report) * (40 + self._row_size())  # with biases
        spans, tasks = self._price_tasks(run)
        light = bool(steps <= _LIGHT_STEPS)
        found = run.map(price_task, self.shared, tasks, light=light, anywhere=True)
        release_scratch()
        changes = []
        for own, priced in zip(spans, found, strict=True):
            if priced is not None:
                self.report[own] = priced.report
                self.polished[own] = priced.report[:, self.pricing.BIAS]
                self.fresh_start[own], self.fresh_stop[own] = priced.fresh_start, priced.fresh_stop
                changes.append(_Change(own.start, own.stop, priced.keep, priced.fresh))
        return changes, len(changes) == len(tasks)

    def _price_tasks(self, run: Run) -> tuple[list[slice], list[PriceTask]]:
        """Spans of classes, and the tasks that price them."""
        forest, n_workers = self.forest, run.cluster.n_workers
        first = forest.first[forest.tops]
        sizes = np.diff(self.active.indptr)
        growth = min(max(1.0, self._dearness()), _GROWTH)
        most = (growth * np.maximum(64, sizes)).astype(np.int64)
        width = _SPAN_CLASSES * max(1, len(self.report) // (_SPAN_CLASSES * _TASKS_PER_WORKER * n_workers))
        spans, tasks = [], []
        parts: dict[tuple[int, int], Any] = {}  # a large tree is priced by several tasks, and sent once
        # runs of neighbouring open trees are priced together: blocks stay full
        edges = np.flatnonzero(np.diff(np.concatenate(([False], self.open, [False]))))
        for a, b in edges.reshape(-1, 2):
            end = int(forest.last[forest.tops[b - 1]])
            for start in range(int(first[a]), end, width):
                stop = min(end, start + width)
                one, other = forest.tops[np.searchsorted(first, (start, stop - 1), side="right") - 1]
                nodes = int(one), int(forest.end[other])
                if nodes not in parts:
                    parts[nodes] = run.share(self._part(*nodes))
                base, past = int(forest.first[one]), int(forest.last[other])
                spans.append(slice(start, stop))
                tasks.append(PriceTask(parts[nodes], start - base, stop - base, most[base:past]))
        return spans, tasks

    def _open_classes(self) -> npt.NDArray[np.bool_]:
        tops = self.forest.tops
        return np.repeat(self.open, self.forest.last[tops] - self.forest.first[tops])

    def lower_stale(self, priced: list[tuple[int, int]]) -> None:
        """Biases of classes that moved since they were priced: the lower of the polished and the dual's.

        Rows that a class does not know yet are negatives: a bias too low costs little there, one too high a loss each.
        """
        moved = self._open_classes()
        for start, stop in priced:
            moved[start:stop] = False
        self.polished[moved] = np.minimum(self.polished, self.biases)[moved]

    def _dearness(self) -> float:
        """Roughly what one pricing of all classes costs, in sweeps of some epochs over the active rows."""
        return 0.015 * self.objective.problem.n_rows * len(self.report) / max(1, len(self.active.rows))

    def _row_size(self) -> float:
        X = self.objective.problem.X
        return float((X.nnz if sp.issparse(X) else X.size) / X.shape[0])

    def _regrow(self, changes: list[_Change]) -> None:
        """Drop rows and add fresh ones in place: two copies would be what a solve takes most memory for."""
        old, positive, rows, dual, permanent = active = self.active
        self.active = None
        begin, finish = self.fresh_start, self.fresh_stop
        # classes of closed trees stay as they are
        edges = [0, *sorted(edge for change in changes for edge in change[:2]), len(positive)]
        closed = [_Change(a, b, *_NO_CHANGE) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
        for change in closed:
            begin[change.start : change.stop] = finish[change.start : change.stop] = 0
        changes = sorted([*changes, *closed], key=lambda change: change.start)
        kept = np.zeros_like(old)
        for start, stop, bits, _ in changes:
            keep = np.unpackbits(bits, count=old[stop] - old[start] if len(bits) else 0)
            tree_rows.drop_rows(start, stop, old, keep, rows, dual, kept)
        indptr = np.concatenate(([0], np.cumsum(np.diff(kept) + finish - begin)))
        rows.resize(indptr[-1], refcheck=False)
        dual.resize(indptr[-1], refcheck=False)
        for start, stop, _, fresh in reversed(changes):
            tree_rows.add_rows(start, stop, kept, indptr, fresh, begin, finish, rows, dual)
        self.active = type(active)(indptr, positive, rows, dual, permanent)

    def bounds(self) -> tuple[Array, Array]:
        """Primal and dual of each tree at the last pricing."""
        p, r, prior = self.pricing, self.report, self.objective.bias_prior
        beta = self.biases - prior
        primal = r[:, p.LOSSES] + 0.5 * r[:, p.QUADRATIC] + 0.5 * (r[:, p.BIAS] - prior) ** 2
        dual = -0.5 * r[:, p.QUADRATIC] - 0.5 * beta**2 - prior * beta - r[:, p.CONJUGATES]
        self.goals[:] = _VISIT_TOL_SHARE * self.limits.tol * primal
        starts = self.forest.first[self.forest.tops]
        return np.add.reduceat(primal, starts), np.add.reduceat(dual, starts)

    def solution(self, rounds: Rounds) -> Solution:
        """What was reached."""
        objective, order = self.objective, self.forest.classes
        problem, tie = objective.problem, objective.tie
        intercept = np.full(problem.n_classes, objective.bias_prior * objective.bias_feature)
        intercept[order] = self.polished * objective.bias_feature
        form = vectors_form(problem, tie, self.forest, self.active)
        if form is Form.DUALS:
            found = self.dual(release=True)
            vectors = dual_vectors(problem, tie, found, intercept)
            return Solution(vectors, found, rounds.status, self.passes, rounds.history)
        made = make_vectors(problem, tie, self.forest, self.active, form, intercept)
        return Solution(made, self.dual(), rounds.status, self.passes, rounds.history)

    def dual(self, release: bool = False) -> sp.csr_array:
        """The duals, classes x rows; `release` lets go of the solver's own as they are copied."""
        (indptr, _, rows, dual, _), order = self.active, self.forest.classes
        if release:
            self.active = None
        problem = self.objective.problem
        found = np.empty(len(order), dtype=np.int64)
        tree_rows.count_live(indptr, dual, found)
        counts = np.zeros(problem.n_classes, dtype=np.int64)
        counts[order] = found
        ends = np.concatenate(([0], np.cumsum(counts)))
        indices = np.empty(ends[-1], dtype=np.int32)
        tree_rows.take_live(indptr, dual, rows, ends[order], indices)
        del rows
        data = np.empty(ends[-1], dtype=dual.dtype)
        tree_rows.take_live(indptr, dual, dual, ends[order], data)
        if ends[-1] < 2**31:
            ends = ends.astype(np.int32)  # of two types SciPy takes the larger for both, and copies
        matrix = sp.csr_array((data, indices, ends), shape=(problem.n_classes, problem.n_rows))
        matrix.sort_indices()
        return matrix


def _signed_sums(active: Any) -> Array:
    """sum_i d_il y_il of each class."""
    sums = np.zeros(len(active.positive))
    for k in range(len(sums)):
        start, stop = active.indptr[k], active.indptr[k + 1]
        signed = active.dual[start:stop].astype(np.float64)
        signed[active.positive[k] :] *= -1.0
        sums[k] = signed.sum()
    return sums


def _by_frequency(X: Any) -> npt.NDArray[Any]:
    """The columns of X's entries, counted from the most frequent one: what is read most often stays in cache."""
    counts = np.bincount(X.indices, minlength=X.shape[1])
    rank = np.empty(X.shape[1], dtype=X.indices.dtype)
    rank[np.argsort(-counts, kind="stable")] = np.arange(X.shape[1])
    ranked: npt.NDArray[Any] = rank[X.indices]
    return ranked
