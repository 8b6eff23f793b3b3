"""Recursive regularization on a tree or a DAG: sweeps over the few rows that matter, priced against all rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Outcome, ThreadEngine
from taxolearn.errors import DataError
from taxolearn.losses import MarginLoss
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.rounds import OnPass
from taxolearn.solvers.solution import Progress, Solution, Status
from taxolearn.solvers.tree_active import first_rows
from taxolearn.solvers.tree_forest import make_forest
from taxolearn.solvers.tree_weights import Form, dual_weights, make_weights, weights_form

_EPOCHS = 2  # over a class's rows at a visit
_SWEEPS = (3, 10)  # over the tree between two pricings, where pricing is cheap and where it is dear
_GROWTH = 8.0  # times as many rows at most that a class works on after a pricing
# rows this near to having a loss are worked on too, where pricing is cheap and where it is dear
_AHEAD = (0.05, 0.15)
_SHARE = 0.3  # of the tolerated gap may come from rows that a class does not work on
_GOAL = 0.1  # of the tolerated gap is left to a class at a visit
_BLOCK_CLASSES = 64  # one read of X prices this many
_TURNED = 8  # vectors turned into columns at a time
_SCRATCH_BYTES = 80 * 2**20  # of a worker's room for pricing

Array = npt.NDArray[np.float64]


def solve_tree_sweeps(
    problem: Problem,
    loss: MarginLoss,
    tie: PathSum,
    C: float,
    *,
    bias_feature: float = 1.0,
    bias_prior: float = 0.0,
    tol: float = 5e-2,
    max_iter: int = 100,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    start: sp.csr_array | None = None,
    on_pass: OnPass | None = None,
) -> Solution:
    """Minimise 1/2 sum_n ||u_n||^2/a_n + 1/2 sum_l (b_l - b0)^2 + sum_il c_il loss(y_il (w_l . x_i + s b_l)).

    w_l is the sum of the node vectors u_n on the path of class l: recursive regularization (Gopal, Yang 2013, HR-SVM),
    with s = `bias_feature` and b0 = `bias_prior`. Needs a loss whose dual is sparse (hinge, squared hinge). Trees that
    share no node are solved on threads of their own (`n_jobs`); a DAG is unfolded into a tree, in which a node stands
    wherever a class reaches it. Classes without a weighted row have no losses and take their parent's vector.

    Only non-zero duals are kept. Each pass sweeps them by coordinate descent, then prices every class against all
    rows, which yields both objectives, the best bias of each class and the rows it was missing. It stops at a
    relative gap of `tol`, after `max_iter` passes, `max_seconds`, or on Ctrl-C. `start` is a dual to go on from,
    classes x rows; `on_pass(progress, dual)` is called after each pass, dual() being the duals so far.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import SquaredHinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/puma", "all/dog"])
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["lion", "puma", "dog"], tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    >>> solution = solve_tree_sweeps(problem, SquaredHinge(), tie, C=1.0, tol=1e-4)
    >>> solution.status.value, round(solution.history[-1].primal, 3)
    ('converged', 5.142)
    """
    import threadpoolctl

    if not loss.sparse_dual:
        raise DataError(
            f"tree sweeps need a loss with a sparse dual, not {loss.name}; use solve_path_descent"
        )
    # the solver's own threads are the parallelism; BLAS threads inside them would only fight for the cores
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        run = _Run(problem, loss, tie, C, bias_feature, bias_prior, tol, seed, start)
        return run.solve(ThreadEngine(n_jobs, max_seconds), max_iter, on_pass)


class _Part(NamedTuple):
    """What pricing some classes found: which of their rows stay, as bits, and fresh ones. No two start at one class."""

    start: int
    stop: int
    keep: npt.NDArray[np.uint8]
    fresh: npt.NDArray[np.int32]


_NOTHING = (np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int32))


class _Run:
    """One solve: the arrays that all tasks read, the active rows of each class, and the bounds so far."""

    def __init__(
        self,
        problem: Problem,
        loss: MarginLoss,
        tie: PathSum,
        C: float,
        bias_feature: float,
        bias_prior: float,
        tol: float,
        seed: int,
        start: sp.csr_array | None,
    ) -> None:
        from taxolearn.kernels import tree_descent, tree_pricing, tree_rows
        from taxolearn.kernels.dual_descent import row_squares
        from taxolearn.kernels.rows import DenseRows, SparseRows

        self.descent, self.pricing, self.storage = tree_descent, tree_pricing, tree_rows
        self.problem, self.loss, self.tie, self.tol, self.seed = problem, loss, tie, tol, seed
        self.bias_feature, self.bias_prior = float(bias_feature), float(bias_prior)
        X = problem.X
        self.rows: Any = SparseRows(X.indptr, _by_frequency(X), X.data) if sp.issparse(X) else DenseRows(X)
        self.squares = row_squares(self.rows, 0.0)
        counted = (problem.targets.T @ (problem.row_weight > 0).astype(np.float64)) > 0
        self.forest = make_forest(tie, counted)
        self.tree = self.forest.arrays()
        order = self.forest.classes
        self.costs = tree_descent.Costs(
            C * problem.row_weight, problem.positive_weight[order], problem.negative_weight[order]
        )
        self.float = np.float32 if tol >= 1e-3 else np.float64  # of scores while pricing
        # the largest dual of a row of cost 1, as the kernels know it; single precision might pass it
        highest = float(type(loss).kernel_upper(loss, C))  # type: ignore[attr-defined]
        dtype = np.float64 if np.isfinite(highest) else self.float
        rng = np.random.default_rng(seed)
        self.active = first_rows(problem, self.forest, rng, start, highest, dtype)
        self.biases = bias_prior + self.bias_feature * self._signed_sums()
        self.polished = self.biases.copy()
        self.report = np.zeros((len(order), tree_pricing.REPORT_WIDTH))
        self.goals = np.zeros(len(order))
        self.scratch: list[tuple[Any, ...]] = []
        self.open = np.ones(len(self.forest.tops), dtype=bool)
        self.passes = 0
        self.ahead = min(_AHEAD[0] * (1.0 + self._dearness()), _AHEAD[1])

    def _signed_sums(self) -> Array:
        """sum_i d_il y_il of each class."""
        active = self.active
        sums = np.zeros(len(active.positive))
        for k in range(len(sums)):
            start, stop = active.indptr[k], active.indptr[k + 1]
            signed = active.dual[start:stop].astype(np.float64)
            signed[active.positive[k] :] *= -1.0
            sums[k] = signed.sum()
        return sums

    def sweep(self, engine: ThreadEngine) -> Outcome:
        """Coordinate descent over the open trees, each on one thread."""
        tops = self.forest.tops[self.open]
        sweeps = int(min(max(_SWEEPS[0], 2 + 4 * self._dearness()), _SWEEPS[1]))
        work = self.active.indptr[self.forest.last[tops]] - self.active.indptr[self.forest.first[tops]]

        def task(top: int) -> float:
            w = np.zeros(self.problem.n_features)
            gap: float = self.descent.sweep_tree(
                self.loss,
                self.rows,
                self.squares,
                self.tree,
                self.active,
                self.costs,
                top,
                self.bias_feature,
                sweeps,
                _EPOCHS,
                self.goals,
                w,
                self.biases,
                self.seed + self.passes,
                engine.stop,
            )
            return gap

        return engine.run(task, [int(top) for top in tops[np.argsort(-work)]], lambda *_: None)

    def price(self, engine: ThreadEngine) -> Outcome:
        """Objectives of the open trees over all rows; the active rows grow by what was missing."""
        n = len(self.active.positive)
        sizes = np.diff(self.active.indptr)
        growth = min(max(1.0, self._dearness()), _GROWTH)
        most = (growth * np.maximum(64, sizes)).astype(np.int64)
        begin, finish = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        parts: list[_Part] = []
        tasks = self._price_tasks(engine.n_workers)

        def task(span: tuple[int, int, int]) -> _Part | None:
            top, start, stop = span
            keep = np.ones(self.active.indptr[stop] - self.active.indptr[start], dtype=np.bool_)
            scratch = self.scratch.pop() if self.scratch else self._make_scratch()
            fresh = np.empty(int(most[start:stop].sum()), dtype=np.int32)
            self.pricing.price_classes(
                self.loss,
                self.rows,
                self.tree,
                self.active,
                self.costs,
                top,
                start,
                stop,
                self.bias_feature,
                self.bias_prior,
                self.ahead,
                _SHARE * self.tol,
                most,
                *scratch,
                self.biases,
                keep,
                fresh,
                begin,
                finish,
                self.report,
                engine.stop,
            )
            self.scratch.append(scratch)
            if engine.stop[0]:
                return None
            return _Part(start, stop, np.packbits(keep), fresh[: finish[stop - 1]].copy())

        def keep_part(_span: tuple[int, int, int], part: _Part | None) -> None:
            if part is not None:
                parts.append(part)

        outcome = engine.run(task, tasks, keep_part)
        self.scratch.clear()
        for start, stop, *_ in parts:
            self.polished[start:stop] = self.report[start:stop, self.pricing.BIAS]
        if outcome is Outcome.COMPLETED:
            self._regrow(sorted(parts), begin, finish)
            self.passes += 1
        else:
            self.lower_stale([(part.start, part.stop) for part in parts])
        return outcome

    def lower_stale(self, priced: list[tuple[int, int]]) -> None:
        """Biases of classes that moved since they were priced: the lower of the polished and the dual's.

        Rows that a class does not know yet are negatives: a bias too low costs little there, one too high a loss each.
        """
        tops = self.forest.tops
        moved = np.repeat(self.open, self.forest.last[tops] - self.forest.first[tops])
        for start, stop in priced:
            moved[start:stop] = False
        self.polished[moved] = np.minimum(self.polished, self.biases)[moved]

    def _dearness(self) -> float:
        """Roughly what one pricing of all classes costs, in sweeps of some epochs over the active rows."""
        return 0.015 * self.problem.n_rows * len(self.report) / max(1, len(self.active.rows))

    def _make_scratch(self) -> tuple[Any, ...]:
        n, width = self.problem.n_rows, self.problem.n_features
        item = np.dtype(self.float).itemsize
        room = max(1, min(_BLOCK_CLASSES, len(self.report), _SCRATCH_BYTES // (item * (n + width))))
        return (
            np.zeros(width),
            np.empty((_TURNED, width), dtype=self.float),
            np.empty(width * room, dtype=self.float),
            np.empty(n * room, dtype=self.float),
        )

    def _price_tasks(self, n_workers: int) -> list[tuple[int, int, int]]:
        forest = self.forest
        tasks = []
        size = _BLOCK_CLASSES * max(1, len(self.report) // (_BLOCK_CLASSES * 8 * n_workers))
        # runs of neighbouring open trees are priced together: blocks stay full
        edges = np.flatnonzero(np.diff(np.concatenate(([False], self.open, [False]))))
        for a, b in edges.reshape(-1, 2):
            begin, finish = forest.first[forest.tops[a]], forest.last[forest.tops[b - 1]]
            for start in range(begin, finish, size):
                top = forest.tops[np.searchsorted(forest.first[forest.tops], start, side="right") - 1]
                tasks.append((int(top), int(start), int(min(finish, start + size))))
        return tasks

    def _regrow(self, parts: list[_Part], begin: Any, finish: Any) -> None:
        """Drop rows and add fresh ones in place: two copies would be what a solve takes most memory for."""
        old, positive, rows, dual, lasting = self.active
        self.active = None
        # classes of closed trees stay as they are
        edges = [0, *(edge for part in parts for edge in (part.start, part.stop)), len(positive)]
        closed = [_Part(a, b, *_NOTHING) for a, b in zip(edges[::2], edges[1::2], strict=True)]
        parts = sorted([*parts, *(part for part in closed if part.start < part.stop)])
        kept = np.zeros_like(old)
        for start, stop, bits, _ in parts:
            keep = np.unpackbits(bits, count=old[stop] - old[start] if len(bits) else 0)
            self.storage.drop_rows(start, stop, old, keep, rows, dual, kept)
        indptr = np.concatenate(([0], np.cumsum(np.diff(kept) + finish - begin)))
        rows.resize(indptr[-1], refcheck=False)
        dual.resize(indptr[-1], refcheck=False)
        for start, stop, _, fresh in reversed(parts):
            self.storage.add_rows(start, stop, kept, indptr, fresh, begin, finish, rows, dual)
        self.active = self.descent.Active(indptr, positive, rows, dual, lasting)

    def bounds(self) -> tuple[Array, Array]:
        """Primal and dual of each tree at the last pricing."""
        p, r = self.pricing, self.report
        beta = self.biases - self.bias_prior
        primal = r[:, p.LOSSES] + 0.5 * r[:, p.QUADRATIC] + 0.5 * (r[:, p.BIAS] - self.bias_prior) ** 2
        dual = -0.5 * r[:, p.QUADRATIC] - 0.5 * beta**2 - self.bias_prior * beta - r[:, p.CONJUGATES]
        self.goals[:] = _GOAL * self.tol * primal
        starts = self.forest.first[self.forest.tops]
        return np.add.reduceat(primal, starts), np.add.reduceat(dual, starts)

    def solve(self, engine: ThreadEngine, max_iter: int, on_pass: OnPass | None) -> Solution:
        history: list[Progress] = []
        goal = 0.999 * self.tol  # the certificate adds up in another order and precision
        status = Status.ITERATION_LIMIT
        while self.passes < max_iter:
            outcome = self.sweep(engine)
            if outcome is Outcome.COMPLETED:
                outcome = self.price(engine)
            else:
                self.lower_stale([])
            if outcome is not Outcome.COMPLETED:
                status = Status.INTERRUPTED if outcome is Outcome.INTERRUPTED else Status.TIME_LIMIT
                break
            primal, dual = self.bounds()
            history.append(Progress(engine.seconds, self.passes, float(primal.sum()), float(dual.sum())))
            if on_pass is not None:
                on_pass(history[-1], self.dual)
            if history[-1].gap <= goal:
                status = Status.CONVERGED
                break
            if engine.late:  # passes may be too short for the engine to look at its clock
                status = Status.TIME_LIMIT
                break
            self.open = primal - dual > goal * primal
        problem, order = self.problem, self.forest.classes
        intercept = np.full(problem.n_classes, self.bias_prior * self.bias_feature)
        intercept[order] = self.polished * self.bias_feature
        form = weights_form(problem, self.tie, self.forest, self.active)
        if form is Form.DUALS:
            found = self.dual(release=True)
            return Solution(
                dual_weights(problem, self.tie, found, intercept), found, status, self.passes, history
            )
        weights = make_weights(problem, self.tie, self.forest, self.active, form, intercept)
        return Solution(weights, self.dual(), status, self.passes, history)

    def dual(self, release: bool = False) -> sp.csr_array:
        """The duals, classes x rows; `release` lets go of the solver's own as they are copied."""
        (indptr, _, rows, dual, _), order = self.active, self.forest.classes
        if release:
            self.active = None
        found = np.empty(len(order), dtype=np.int64)
        self.storage.count_live(indptr, dual, found)
        counts = np.zeros(self.problem.n_classes, dtype=np.int64)
        counts[order] = found
        ends = np.concatenate(([0], np.cumsum(counts)))
        indices = np.empty(ends[-1], dtype=np.int32)
        self.storage.take_live(indptr, dual, rows, ends[order], indices)
        del rows
        data = np.empty(ends[-1], dtype=dual.dtype)
        self.storage.take_live(indptr, dual, dual, ends[order], data)
        if ends[-1] < 2**31:
            ends = ends.astype(np.int32)  # of two types SciPy takes the larger for both, and copies
        matrix = sp.csr_array((data, indices, ends), shape=(self.problem.n_classes, self.problem.n_rows))
        matrix.sort_indices()
        return matrix


def _by_frequency(X: Any) -> npt.NDArray[np.int32]:
    """The columns of X's entries, counted from the most frequent one: what is read most often stays in cache."""
    counts = np.bincount(X.indices, minlength=X.shape[1])
    rank = np.empty(X.shape[1], dtype=X.indices.dtype)
    rank[np.argsort(-counts, kind="stable")] = np.arange(X.shape[1])
    ranked: npt.NDArray[np.int32] = rank[X.indices]
    ranked.flags.writeable = False
    return ranked
