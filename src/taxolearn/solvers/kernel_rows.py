"""Structured hinge on rows that are known by a kernel: ascent on blocks of rows, scores of all rows kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import blas_threads
from taxolearn.gram import Gram
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Progress,
    Requires,
    Solution,
    Start,
    Watch,
    check_requirements,
    status_of,
)
from taxolearn.solvers.row_ascent import Array, Ids
from taxolearn.solvers.structured import StructuredRun, price_rows
from taxolearn.vectors import KernelVectors

REQUIRES = Requires(("structured",), paths=True, row_products=True)

_BLOCK = 2048  # rows improved together, at most
_SMALL_GAP = 0.01  # times the mean gap below which a row without free duals is left out
_LEAST_BLOCK = 32  # rows, also where fewer can be kept
_LEFT = 0.1  # share of a block's gap that is left when its passes end
_SLOT_PASSES = 8  # passes over the slots of rows with large gaps, after each over all classes
_MOST_PASSES = 20  # over all classes, on one block
_BOUND = 1e-12  # share of a row's cost below which nothing of it is left
_LARGE_GAP = 0.5  # times the mean gap from which on a row is in these
_LIGHT_PRODUCTS = 2**20  # of rows with a block: with fewer, the calling thread makes a pass
_COEFFICIENT_BYTES = 32 * 2**20  # of coefficients at a time, before their zeros go
_LIMITS = Limits(tol=1e-3)


def solve_kernel_rows(
    objective: Objective, limits: Limits = _LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise the objective of `solve_structured` over vectors u_n = sum_i b_ni phi(x_i), phi being the kernel's.

    The optimum is of that form, with b_n = a_n z_n of the dual (representer theorem), and the dual needs nothing but
    the products k(x_i, x_j) + s^2, s being the bias feature. Scores of all rows are kept. In turn, the rows with the
    largest gaps are improved by themselves, one after the other and on their simplex of duals, and what they have
    moved is then added to the scores of all others. Rows of the kernel's matrix come from `Gram`.

    >>> from dataclasses import replace
    >>> from taxolearn.gram import row_kernel, row_products
    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [0.0], [1.0]], ["a", "b", "a"])
    >>> problem = replace(problem, products=row_products(row_kernel("rbf"), problem.X))
    >>> solution = solve_kernel_rows(Objective(problem, structured_hinge(problem, flat(2)), flat(2), C=10.0))
    >>> solution.status.value, solution.vectors.scores(problem.X).argmax(axis=1).tolist()
    ('converged', [0, 1, 0])
    """
    check_requirements("kernel_rows", REQUIRES, objective)
    with limits.run() as run, blas_threads(run.engine.n_workers):
        ascent = KernelRun(objective, limits, run, watch)
        if start is not None and start.dual is not None:
            ascent.begin_with(start.dual)
        return ascent.solve()


class KernelRun(StructuredRun):
    """One solve: `nodes` of the arrays are the scores of all rows at all nodes, biases included."""

    def _layout(self) -> tuple[Any, Array, npt.NDArray[Any], float]:
        problem, n_nodes = self.objective.problem, self.objective.tie.n_nodes
        assert problem.products is not None
        self.gram = Gram(problem.X, problem.products, self.run.engine.n_workers)
        self.constant = (
            self.objective.bias_feature**2
        )  # the bias is a feature like others: it adds to all products
        self.height = min(_BLOCK, problem.n_rows, max(_LEAST_BLOCK, self.gram.capacity))
        self.n_threads, self.light = 1, problem.n_rows * self.height <= _LIGHT_PRODUCTS
        self.visits = 0
        self.stale = False  # whether scores are not those of the duals
        scores = np.zeros((problem.n_rows, n_nodes))
        return self._no_block(problem.n_rows), self.gram.diagonal() + self.constant, scores, 0.0

    def _no_block(self, n_rows: int) -> Any:
        """Rows of which each only notes its coefficients."""
        from taxolearn.kernels.rows import GramRows

        nobody = np.zeros(0, dtype=np.int64)
        moved = np.zeros((n_rows, self.objective.tie.n_nodes))
        return GramRows(np.zeros((0, 0)), nobody, np.arange(n_rows), moved)

    def make_vectors(self) -> None:
        """The scores that the duals make."""
        coefficients = self.coefficients()
        self.arrays.nodes[:] = 0.0
        self.stale = True
        active = np.flatnonzero(np.diff(coefficients.indptr))
        for first in range(0, len(active), self.height):
            if self.run.over():
                return
            ids = active[first : first + self.height]
            self._add(self._products(ids), sp.csr_array(coefficients[ids]))
        self.stale = False

    def solve(self) -> Solution:
        """Blocks until the gap or a limit is reached; the last entry of the history is exact."""
        self._passes()
        if self.exact is None:
            with self.to_the_end():
                if self.stale:
                    self.make_vectors()
                self.exact = self.price()
        return self.solution()

    def price(self) -> Progress | None:
        """Primal and dual of the scores as they stand; None where this is cut short."""
        self.repack(self.kernels.MAX_NEW_CLASSES)
        report, _, whole = self._reports(price_rows, self._pieces(self.weighted))
        if not whole or self.stale:
            return None
        losses, gaps = report[:2]
        # sum_il alpha_il (D - g) is twice the penalty, g being the margins violated
        a = self.arrays
        linear = self.kernels.linear_part(a.label, a.costs, a.slots)
        primal = 0.5 * (linear - losses + gaps) + losses
        return self._note(primal, primal - gaps)

    def _note(self, primal: float, dual: float) -> Progress:
        """One entry of the history per pass over as many rows as there are, and one for the end."""
        if not self.history or self.history[-1].done < self.done:
            return super()._note(primal, dual)
        self.history.pop()
        watch, self.watch = self.watch, self.watch if primal - dual <= self.limits.tol * primal else None
        progress = super()._note(primal, dual)
        self.watch = watch
        return progress

    def _products(self, ids: Ids) -> Array:
        products = self.gram.rows(ids)
        products += self.constant
        return products

    def _add(self, products: Array, moved: sp.csr_array) -> None:
        """Add to all scores what some rows have moved, rows x nodes."""
        self.arrays.nodes[:] += (sp.csr_array(moved.T) @ products).T

    def coefficients(self) -> sp.csr_array:
        """b of the duals as they stand, rows x nodes."""
        n_rows, n_nodes = self.arrays.nodes.shape
        step, slots = max(1, _COEFFICIENT_BYTES // (8 * n_nodes)), self.arrays.slots
        parts = [sp.csr_array((0, n_nodes))]
        for first in range(0, n_rows, step):
            last = min(first + step, n_rows)
            some = self._no_block(last - first)
            few = slots._replace(indptr=slots.indptr[first : last + 1], count=slots.count[first:last])
            a, stop = self.arrays, np.zeros(1, dtype=np.int32)
            nothing = np.zeros((1, n_nodes))
            self.kernels.weights_of(
                some, a.label[first:last], a.paths, a.costs, nothing, a.bias, 0.0, few, stop
            )
            parts.append(sp.csr_array(some.moved))
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _passes(self) -> None:
        while True:
            self.exact = self.price()
            if self.exact is None or self.exact.gap <= self.limits.tol:
                return
            if self.done >= self.limits.max_iter or self.run.over():
                return
            self.exact = None
            self._improve(self._chosen())

    def _chosen(self) -> Ids:
        """Rows with gaps, the largest first, and those whose duals are free to move when others do."""
        gaps, slots = self.arrays.gaps, self.arrays.slots
        holds = slots.alpha > 0
        row = np.repeat(np.arange(self.shape[0]), np.diff(slots.indptr))[holds]
        positive = np.bincount(row, minlength=self.shape[0])
        left = self.arrays.cost - np.bincount(row, slots.alpha[holds], minlength=self.shape[0])
        free = (positive > 0) & (positive + (left > _BOUND * self.arrays.cost) > 1)
        some: Ids = self.weighted[(free | (gaps > _SMALL_GAP * gaps.mean()))[self.weighted]]
        if len(some) <= self.height:
            return some
        largest: Ids = some[np.argpartition(-gaps[some], self.height)[: self.height]]
        return largest

    def _improve(self, ids: Ids) -> None:
        """Bring down the gaps of a block of rows, then tell all other rows."""
        from taxolearn.kernels.rows import GramRows

        products = self._products(ids)
        place = np.full(self.shape[0], -1, dtype=np.int64)
        place[ids] = np.arange(len(ids))
        scores = self.arrays.nodes
        before = scores[ids]
        moved = np.zeros((len(ids), scores.shape[1]))
        block = GramRows(np.ascontiguousarray(products[:, ids]), ids.astype(np.int64), place, moved)
        self.arrays = self.arrays._replace(rows=block)
        assert self.history
        goal = max(_LEFT * self.arrays.gaps[ids].sum(), 0.1 * self.limits.tol * self.history[-1].primal)
        for _ in range(_MOST_PASSES):
            report, whole = self.ascend(ids, full=True)
            self.visits += len(ids)
            self.done = -(-self.visits // len(self.weighted))
            if not whole or report[1] <= goal or self.done >= self.limits.max_iter:
                break
            for _ in range(_SLOT_PASSES):
                gaps = self.arrays.gaps[ids]
                self.ascend(ids[gaps > _LARGE_GAP * gaps.mean()], full=False)
        scores[ids] = before
        self._add(products, sp.csr_array(moved))

    def solution(self) -> Solution:
        """What was reached, `exact` being its bounds."""
        assert self.exact is not None
        problem, tie = self.objective.problem, self.objective.tie
        assert problem.products is not None
        coefficients = self.coefficients()
        own = np.flatnonzero(np.diff(coefficients.indptr))
        nodes = sp.csr_array(coefficients[own].T)
        kernel = problem.products.kernel
        vectors = KernelVectors(
            kernel,
            None if kernel.is_precomputed else problem.X[own],
            nodes,
            tie.paths,
            self.constant * (tie.paths @ np.asarray(nodes.sum(axis=1)).ravel()),
            problem.products.numbers[own].astype(np.int64),
            problem.one_label[0][own].astype(np.int32),
            problem.n_features,
        )
        dual = self.dual()
        self.run.over()  # a last look, so that no request goes unheard
        status = status_of(self.exact.gap <= self.limits.tol, self.run.outcome)
        return Solution(vectors, dual, status, self.done, self.history, {"computed_rows": self.gram.computed})
