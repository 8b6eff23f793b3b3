"""Vectors of classes W = L U for any matrix L."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from taxolearn.certificates.columns import ClassColumns, Columns, KeptColumns, all_products, column_squares
from taxolearn.certificates.rounding import TINY, Array, Ball, gamma, norm_bounds, pairwise
from taxolearn.certificates.scores import Rows
from taxolearn.certificates.sums import Adjoint, squares_with_bias
from taxolearn.engines import Run
from taxolearn.objective import Objective
from taxolearn.solvers.base import Solution

_BLOCK_BYTES = 32 * 2**20  # of vectors at a time
_RANK = 1e-12  # singular values below this share of the largest count as zero
_OUTSIDE = 1e-8  # share of the vectors that may be outside the range of L; more is no rounding
_NOTHING = 1e-150  # norms of vectors whose squares underflow


class FactorColumns(KeptColumns):
    """Vectors of classes from those of the columns of L, which are kept.

    `nodes` is features x columns, or columns x features if sparse.

    >>> columns = FactorColumns(np.array([[1.0, 2.0]]), sp.csr_array(np.array([[3.0, -1.0]])))
    >>> columns.of(np.array([0])).vectors.tolist(), columns.scores(np.array([[2.0]])).tolist()
    ([[1.0]], [[2.0]])
    """

    def __init__(self, nodes: Any, matrix: sp.csr_array) -> None:
        self.nodes = nodes.T.toarray() if sp.issparse(nodes) else nodes
        self.matrix = matrix
        self.n_classes, self.n_features = matrix.shape[0], self.nodes.shape[0]
        self.depth = 2 * int(np.diff(matrix.indptr).max(initial=1))

    def of(self, block: Any, magnitudes: bool = False, short: bool = False) -> Columns:
        """The vectors of some classes, rounded to float32 if `short`."""
        return Columns(
            _times(self.nodes, self.matrix[block]).astype(np.float32 if short else np.float64, copy=False),
            self.sizes[block],
            _times(np.abs(self.nodes), abs(self.matrix[block])) if magnitudes else None,
        )

    @cached_property
    def squares(self) -> Ball:
        """||u_c||^2 of every column."""
        values = column_squares(self.nodes)
        values = np.where(values > 0, values, TINY * self.nodes.any(axis=0))
        return Ball(values, gamma(self.n_features) * values + self.n_features * TINY * (values > 0))

    @cached_property
    def sizes(self) -> Array:
        """sum_c |L_lc| ||u_c||, rounded up."""
        norms = norm_bounds(self.squares.value, self.n_features)
        return np.asarray(abs(self.matrix) @ np.where(self.squares.value > 0, norms, 0.0))

    def scores(self, X: Any) -> Array:
        """X w_l for all classes."""
        return _times(all_products(X, self.nodes, by_feature=True), self.matrix)

    def bounds(self, X: Any) -> Array:
        """sum_c |L_lc| |X| |u_c| for all classes."""
        return _times(all_products(abs(X), np.abs(self.nodes), by_feature=True), abs(self.matrix))


def _times(left: Any, matrix: sp.csr_array) -> Array:
    return np.ascontiguousarray((matrix @ left.T.astype(np.float64, copy=False)).T)


class FactorSide:
    """Penalty 1/2 ||U||^2 with W = L U, the least of all such U, and square ||L' V||^2.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import Status
    >>> from taxolearn.ties import Factor
    >>> from taxolearn.vectors import ClassVectors
    >>> tie = Factor(sp.csr_array(2.0 * np.eye(2)))
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), tie)
    >>> solution = Solution(ClassVectors(np.ones((2, 1)), np.zeros(2)), sp.csr_array((2, 2)), Status.CONVERGED, 0)
    >>> FactorSide(objective, solution).penalty().value
    0.25
    """

    independent = False

    def __init__(self, objective: Objective, solution: Solution) -> None:
        self.matrix = objective.tie.factor()
        vectors: Any = solution.vectors
        self.tied = objective.bias_feature if objective.loss.facts.tied_bias else 0.0
        self.columns: ClassColumns | FactorColumns
        self.offset: Array | float = 0.0
        self.slack: Array | float = 0.0
        dense = self.matrix.toarray()
        if hasattr(vectors, "nodes") and vectors.paths.shape == self.matrix.shape:
            self.columns = FactorColumns(vectors.nodes, self.matrix)
            self._penalty = self.columns.squares.sum() * 0.5
        else:
            self.columns = ClassColumns(vectors.coef)
            self._penalty, self.slack = least_squares(dense, vectors.coef)
        if self.tied:
            more, slack = least_squares(dense, (vectors.intercept / self.tied)[:, None])
            self._penalty, self.offset = self._penalty + more, self.tied * slack

    def penalty(self) -> Ball:
        """1/2 ||U||^2; infinite where there is no U."""
        return self._penalty

    def square(self, adjoint: Adjoint, rows: Rows, run: Run) -> Ball:
        """||L' V||^2."""
        under = sp.csr_array(self.matrix.T)
        return squares_with_bias(under, adjoint, rows, run, self.tied).sum()


def least_squares(factor: Array, coef: Any) -> tuple[Ball, Array]:
    """The least 1/2 ||U||^2 with L U = W, and bounds on the norms by which vectors of classes L U are off.

    With U found, R = W - L U, any Lambda and D = U - L' Lambda: the least is no less than
    tr(Lambda' W) - 1/2 ||L' Lambda||^2 = 1/2 ||U||^2 + tr(Lambda' R) - 1/2 ||D||^2. And some E no longer than
    ||R|| / sigma, sigma being the least singular value, has L E = R: the square of U + E is
    1/2 ||U||^2 + tr(Lambda' R) + tr(D' E) + 1/2 ||E||^2. Where L has full rank every W has a U, and nothing is off.

    >>> penalty, off = least_squares(np.array([[1.0], [1.0]]), np.array([[2.0], [2.0]]))
    >>> round(penalty.value, 9), bool(off.max() < 1e-14)
    (2.0, True)
    """
    n_classes, n_features = coef.shape
    if not np.isfinite(factor).all() or not np.isfinite(coef.data if sp.issparse(coef) else coef).all():
        return Ball(np.inf), np.zeros(n_classes)
    left, values, right = np.linalg.svd(factor, full_matrices=False)
    kept = values > _RANK * values.max(initial=0.0)
    inverse = (right[kept].T / values[kept]) @ left[:, kept].T
    n_columns = factor.shape[1]
    given, rest, multipliers = np.zeros(n_classes), np.zeros(n_classes), np.zeros(n_classes)
    parts, wrong = np.zeros(n_columns), np.zeros(n_columns)
    width = max(1, _BLOCK_BYTES // (32 * (n_classes + n_columns)))
    for first in range(0, n_features, width):
        block = coef[:, first : first + width]
        block = (block.toarray() if sp.issparse(block) else block).astype(np.float64, copy=False)
        found = inverse @ block
        found += inverse @ (block - factor @ found)
        prices = inverse.T @ found
        sums = (given, block), (rest, block - factor @ found), (multipliers, prices)
        for squares, part in (*sums, (parts, found), (wrong, found - factor.T @ prices)):
            squares += np.add.reduce(part * part, axis=1)
    sizes = np.abs(factor)
    of_given, of_parts, of_prices = (norm_bounds(part, n_features) for part in (given, parts, multipliers))
    off = norm_bounds(rest, n_features) + gamma(n_columns + 4.0) * (of_given + sizes @ of_parts)
    if not off.max(initial=0.0) <= _OUTSIDE * (of_given + sizes @ of_parts).max(initial=0.0) + _NOTHING:
        return Ball(np.inf), np.zeros(n_classes)  # no U gives these vectors
    total = (
        Ball(parts, gamma(n_features // width + pairwise(n_features)) * parts + n_features * TINY).sum() * 0.5
    )
    least = values[kept].min(initial=np.inf) - 1e-13 * values.max(initial=0.0)
    longer = float(np.sqrt(np.sum(off**2))) / least if least > 0 else np.inf
    wrong_by = norm_bounds(wrong, n_features) + gamma(n_classes + 4.0) * (of_parts + sizes.T @ of_prices)
    mistake = float(np.sqrt(np.sum(wrong_by**2)))
    change = float(of_prices @ off) + max(0.5 * mistake**2, longer * (mistake + 0.5 * longer))
    full = int(kept.sum()) == n_classes
    penalty = Ball(total.value, total.error + (change if off.any() else 0.0))
    return penalty, np.zeros(n_classes) if full else off
