"""One-vs-rest problems of classes that are tied together: what all solvers of them need of rows, labels and costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.losses import MarginLoss
from taxolearn.problem import Problem
from taxolearn.solvers.smooth_terms import counted_classes
from taxolearn.solvers.solution import dense_start

Array = npt.NDArray[np.float64]

BLOCK_CLASSES = 16  # priced at a time: one read of X serves them all


class TiedClasses:
    """Rows, labels and costs as the kernels want them; duals are dense, classes x rows.

    Classes without a weighted row of their own do not count: they have no losses and no duals.
    """

    def __init__(self, problem: Problem, loss: MarginLoss, C: float, bias_feature: float) -> None:
        from taxolearn.kernels import path_descent
        from taxolearn.kernels.rows import rows_of

        self.kernels, self.problem, self.loss = path_descent, problem, loss
        self.bias_feature = float(bias_feature)
        self.rows: Any = rows_of(problem.X)
        self.squares = path_descent.feature_squares(self.rows)
        positives = problem.targets.tocsc()
        self.counted = counted_classes(problem)
        self.labels = (
            positives.indptr.astype(np.int64),
            positives.indices.astype(np.int64),
            self.counted,
            C * problem.row_weight,
            np.ascontiguousarray(problem.positive_weight),
            np.ascontiguousarray(problem.negative_weight),
        )
        self.working = np.ones((problem.n_classes, problem.n_rows), dtype=np.uint8)
        self.losses = np.zeros(problem.n_classes)
        self.gaps = np.zeros(problem.n_classes)

    def own_rows(self, number: int) -> npt.NDArray[np.int64]:
        """The rows that have a class."""
        indptr, indices = self.labels[:2]
        rows: npt.NDArray[np.int64] = indices[indptr[number] : indptr[number + 1]]
        return rows

    def first_duals(self, start: sp.csr_array | None) -> Array:
        """Duals to begin with: those of `start`, brought within their bounds, or zero."""
        shape = (self.problem.n_classes, self.problem.n_rows)
        duals = dense_start(start, shape, "classes x rows")
        _, _, counted, row_cost, positive, negative = self.labels
        for c in range(shape[0]):
            self.kernels.fit_duals(
                self.loss,
                self.loss.sparse_dual,
                self.own_rows(c),
                bool(counted[c]),
                row_cost,
                positive[c],
                negative[c],
                duals[c],
            )
        return duals

    def class_vectors(self, duals: Array) -> tuple[Array, Array]:
        """v_l = sum_i d_il y_il x_i, classes x features, and beta_l = s sum_i d_il y_il."""
        vectors = np.zeros((self.problem.n_classes, self.problem.n_features))
        betas = np.zeros(self.problem.n_classes)
        for c in range(len(vectors)):
            betas[c] = self.kernels.vector_of_duals(
                self.rows, self.own_rows(c), duals[c], self.bias_feature, vectors[c]
            )
        return vectors, betas

    def blocks(self) -> list[npt.NDArray[np.int64]]:
        """The classes in the groups in which they are priced."""
        every = np.arange(self.problem.n_classes)
        return [every[at : at + BLOCK_CLASSES] for at in range(0, len(every), BLOCK_CLASSES)]

    def price(self, block: npt.NDArray[np.int64], vectors: Array, biases: Array, duals: Array) -> None:
        """Set losses, gaps and working rows of a block of classes; `vectors` is block x features."""
        self.kernels.price_classes(
            self.loss,
            self.loss.sparse_dual,
            self.rows,
            *self.labels,
            self.bias_feature,
            block,
            np.ascontiguousarray(vectors.T),
            biases,
            duals,
            self.working,
            self.losses,
            self.gaps,
        )
