"""One-vs-rest problems of classes that are tied together: what all solvers of them need of rows, labels and costs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Clock, Run
from taxolearn.objective import Objective
from taxolearn.solvers.base import dense_start
from taxolearn.vectors import NodeVectors

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

BLOCK_CLASSES = 16  # priced at a time: one read of X serves them all
LIGHT_WORK = 2**22  # additions in a few milliseconds: below it tasks are not worth a thread
_ROW_WORK = 8  # additions that a row costs besides those of its features


class TiedRows(NamedTuple):
    """Rows, labels and costs as plain arrays: what every task reads.

    `loss` is a NamedTuple of numbers, `rows` one of arrays (`taxolearn.kernels.rows`). The rows of class l are
    positive_rows[positive_indptr[l]:positive_indptr[l + 1]].
    """

    loss: Any
    sparse_dual: bool
    rows: Any
    squares: Array
    positive_indptr: Ids
    positive_rows: Ids
    counted: npt.NDArray[np.bool_]
    row_cost: Array
    positive_weight: Array
    negative_weight: Array
    bias_feature: float

    def own_rows(self, number: int | np.integer[Any]) -> Ids:
        """The rows that have a class."""
        return self.positive_rows[self.positive_indptr[number] : self.positive_indptr[number + 1]]

    def labels(self, classes: Ids) -> tuple[Any, ...]:
        """Rows, counts and weights of some classes, numbered from zero, in the order in which kernels take them."""
        starts = self.positive_indptr[classes]
        counts = self.positive_indptr[classes + 1] - starts
        indptr = np.concatenate(([0], np.cumsum(counts)))
        places = np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])
        weights = (self.positive_weight[classes], self.negative_weight[classes])
        return indptr, self.positive_rows[places], self.counted[classes], self.row_cost, *weights


class PriceRows(NamedTuple):
    """What prices of all blocks read: the rows, the vectors of nodes, and which of them each class adds up."""

    tied: TiedRows
    path_indptr: npt.NDArray[np.integer]
    path_nodes: npt.NDArray[np.integer]
    vectors: Array


class PriceTask(NamedTuple):
    """A block of classes, with their biases and duals."""

    classes: Ids
    biases: Array
    duals: Array


class Prices(NamedTuple):
    """Losses, gaps and working rows of a block of classes."""

    losses: Array
    gaps: Array
    working: npt.NDArray[np.uint8]


def price_block(shared: PriceRows, task: PriceTask, clock: Clock) -> Prices:
    """Exact losses and gaps of a block of classes over all rows; writes nothing but its result."""
    from taxolearn.kernels import path_descent

    tied, width = shared.tied, len(task.classes)
    first, last = task.classes[0], task.classes[-1] + 1
    ends = shared.path_indptr[first : last + 1]
    nodes = shared.path_nodes[ends[0] : ends[-1]]
    paths = sp.csr_array((np.ones(len(nodes)), nodes, ends - ends[0]), (width, len(shared.vectors)))
    found = Prices(np.zeros(width), np.zeros(width), np.zeros((width, len(tied.row_cost)), dtype=np.uint8))
    path_descent.price_classes(
        tied.loss,
        tied.sparse_dual,
        tied.rows,
        *tied.labels(task.classes),
        tied.bias_feature,
        np.arange(width),
        np.ascontiguousarray((paths @ shared.vectors).T),
        task.biases,
        task.duals,
        found.working,
        found.losses,
        found.gaps,
    )
    return found


class TiedClasses:
    """The rows of an objective as tasks take them, and what prices found; duals are dense, classes x rows.

    Classes without a weighted row of their own do not count: they have no losses and no duals.
    """

    def __init__(self, objective: Objective) -> None:
        from taxolearn.kernels import path_descent
        from taxolearn.kernels.rows import rows_of
        from taxolearn.losses.for_kernels import for_kernels

        problem, loss = objective.problem, objective.loss
        self.problem, self.bias_prior = problem, objective.bias_prior
        rows: Any = rows_of(problem.X)
        self.rows = TiedRows(
            for_kernels(loss),
            loss.facts.sparse_dual,
            rows,
            path_descent.feature_squares(rows),
            *problem.rows_of_classes,
            problem.counted,
            objective.C * problem.row_weight,
            np.ascontiguousarray(problem.positive_weight),
            np.ascontiguousarray(problem.negative_weight),
            objective.bias_feature,
        )
        entries = problem.X.nnz if sp.issparse(problem.X) else problem.X.size
        self.class_work = entries + _ROW_WORK * problem.n_rows  # of one look at all rows
        self.working = np.ones((problem.n_classes, problem.n_rows), dtype=np.uint8)
        self.losses = np.zeros(problem.n_classes)
        self.gaps = np.zeros(problem.n_classes)

    @property
    def n_counted(self) -> int:
        """How many classes have losses, at least one."""
        return max(1, int(self.rows.counted.sum()))

    def is_light(self, looks: int) -> bool:
        """Whether so many looks at all rows take a few milliseconds at most."""
        return bool(looks * self.class_work <= LIGHT_WORK)

    def first_duals(self, dual: sp.csr_array | None) -> Array:
        """Duals to begin with: those given, brought within their bounds, or zero."""
        from taxolearn.kernels import path_descent

        tied, duals = self.rows, dense_start(dual, self.working.shape)
        for c in range(len(duals)):
            path_descent.fit_duals(
                tied.loss,
                tied.sparse_dual,
                tied.own_rows(c),
                bool(tied.counted[c]),
                tied.row_cost,
                tied.positive_weight[c],
                tied.negative_weight[c],
                duals[c],
            )
        return duals

    def class_vectors(self, duals: Array) -> tuple[Array, Array]:
        """v_l = sum_i d_il y_il x_i, classes x features, and beta_l = s sum_i d_il y_il."""
        from taxolearn.kernels import path_descent

        tied = self.rows
        vectors = np.zeros((self.problem.n_classes, self.problem.n_features))
        betas = np.zeros(self.problem.n_classes)
        for c in np.flatnonzero(tied.counted):
            betas[c] = path_descent.vector_of_duals(
                tied.rows, tied.own_rows(c), duals[c], tied.bias_feature, vectors[c]
            )
        return vectors, betas

    def price(self, run: Run, paths: sp.csr_array, vectors: Array, biases: Array, duals: Array) -> None:
        """Set losses, gaps and working rows; `vectors` is nodes x features, `paths` classes x nodes, of ones."""
        every = np.arange(self.problem.n_classes)
        tasks = []
        for at in range(0, len(every), BLOCK_CLASSES):
            block = slice(at, at + BLOCK_CLASSES)
            tasks.append(PriceTask(every[block], biases[block], duals[block]))

        def collect(task: PriceTask, found: Prices) -> None:
            block = slice(task.classes[0], task.classes[-1] + 1)
            self.losses[block], self.gaps[block], self.working[block] = found

        shared = PriceRows(self.rows, paths.indptr, paths.indices, vectors)
        run.map(price_block, shared, tasks, collect, light=self.is_light(len(every)))


def fitting_nodes(state: Any, matrix: sp.csr_array, n_features: int) -> NodeVectors | None:
    """The state to begin with, if it is node vectors under this very matrix of classes x nodes.

    >>> matrix = sp.csr_array(np.eye(2))
    >>> fitting_nodes(NodeVectors(np.zeros((3, 2)), matrix, np.zeros(2)), matrix, 4) is None
    True
    """
    if not isinstance(state, NodeVectors) or state.n_features != n_features:
        return None
    paths, matrix = state.paths, sp.csr_array(matrix, dtype=state.dtype)
    if paths.shape != matrix.shape or paths.nnz != matrix.nnz:
        return None
    same = all(
        np.array_equal(getattr(paths, part), getattr(matrix, part)) for part in ("indptr", "indices", "data")
    )
    return state if same else None
