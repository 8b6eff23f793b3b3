"""Losses of all rows as one smooth function of their scores: value, gradient, Hessian-vector product and dual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.losses.base import Kind
from taxolearn.objective import Objective
from taxolearn.solvers.base import dense_start

Array = npt.NDArray[np.float64]

_BLOCK = 2**16  # probabilities at a time: they stay in cache
_MOSTLY = 0.5  # share of probabilities from which on all are stored
_NEGLIGIBLE = 1e-12  # probabilities below this are not stored: what they add to the dual is lost in rounding


class ScoreTerms(Protocol):
    """The summed losses f(S) of scores S (rows x classes); derivatives are those at the scores last passed to `at`."""

    gradient: Array

    def value(self, scores: Array) -> float:
        """f(S); derivatives stay those of before."""

    def at(self, scores: Array) -> None:
        """Set `gradient`, the derivative of f, and the curvature that `hessian_product` and `diagonal` use."""

    def hessian_product(self, direction: Array) -> Array:
        """The second derivative of f times a direction, rows x classes."""

    def curvature(self) -> Array:
        """The second derivative of f: rows x classes where scores of a row are apart, else rows x classes x classes."""

    def diagonal(self, squares: Any, factor: Any) -> tuple[Array, Array]:
        """Diagonal of the Hessian of f in the vectors, features x columns, and in additions to a class's scores."""

    def dual(self) -> sp.csr_array:
        """The dual point of the gradient, classes x rows."""

    def gradient_of(self, dual: sp.csr_array) -> Array:
        """The gradient of which a dual is the point, rows x classes."""


class MarginTerms:
    """sum_il c_il loss(y_il s_il) for a smooth loss of the margin; classes without rows are left out."""

    def __init__(self, objective: Objective) -> None:
        from taxolearn.kernels.margin_terms import margin_terms
        from taxolearn.losses.for_kernels import for_kernels

        problem = objective.problem
        self._kernel, self._loss = margin_terms, for_kernels(objective.loss)
        self._sign = np.where(problem.targets.toarray() > 0, 1.0, -1.0)
        self._costs = (
            problem.targets.indptr.astype(np.int64),
            problem.targets.indices.astype(np.int64),
            objective.C * problem.row_weight,
            np.where(problem.counted, problem.positive_weight, 0.0),
            np.where(problem.counted, problem.negative_weight, 0.0),
        )
        self._dual = np.zeros((problem.n_rows, problem.n_classes))
        self._curvature = np.zeros_like(self._dual)
        self._spare = (np.zeros_like(self._dual), np.zeros_like(self._dual))
        self._seen: Array | None = None
        self.gradient = np.zeros_like(self._dual)

    def value(self, scores: Array) -> float:
        """f(S); the duals found on the way wait in the spare arrays for `at`."""
        self._seen = scores
        return float(self._kernel(self._loss, scores, *self._costs, 0, len(scores), *self._spare))

    def at(self, scores: Array) -> None:
        """Gradient and curvature; nothing is computed twice for the scores that `value` saw last."""
        if self._seen is not scores:
            self.value(scores)
        self._seen = None
        found, self._spare = self._spare, (self._dual, self._curvature)
        self._dual, self._curvature = found
        np.multiply(self._dual, -self._sign, out=self.gradient)

    def hessian_product(self, direction: Array) -> Array:
        """Each score has a curvature of its own."""
        return self._curvature * direction

    def curvature(self) -> Array:
        """c_il loss''(m_il)."""
        return self._curvature

    def diagonal(self, squares: Any, factor: Any) -> tuple[Array, Array]:
        """sum_l L_lk^2 sum_i c_il loss''(m_il) x_ij^2, and sum_i c_il loss''(m_il)."""
        return np.asarray((squares.T @ self._curvature) @ factor**2), self._curvature.sum(axis=0)

    def dual(self) -> sp.csr_array:
        """d_il."""
        return sp.csr_array(self._dual.T)

    def gradient_of(self, dual: sp.csr_array) -> Array:
        """-d_il y_il."""
        return np.asarray(-self._sign * dense_start(dual, self.gradient.shape[::-1]).T)


class SoftmaxTerms:
    """sum_i c_i (log sum_l exp(s_il) - s_{i,y_i}), c_i = C times the weights of the row and of its class."""

    def __init__(self, objective: Objective) -> None:
        self._loss = objective.loss
        self._own, weight = objective.problem.one_label
        self._cost = objective.C * weight
        self._p = np.zeros((objective.problem.n_rows, objective.problem.n_classes))
        self.gradient = np.zeros_like(self._p)

    def value(self, scores: Array) -> float:
        """f(S)."""
        return float(self._cost @ self._loss.value(scores, self._own))

    def at(self, scores: Array) -> None:
        """Gradient c_i (p_il - 1[l = y_i]) and the probabilities p."""
        self._p = self._loss.probabilities(scores)
        self.gradient = self._gradient(self._p)

    def _gradient(self, p: Array) -> Array:
        gradient = p * self._cost[:, None]
        gradient[np.arange(len(p)), self._own] -= self._cost
        return gradient

    def hessian_product(self, direction: Array) -> Array:
        """c_i (p o d - p (p . d)) of each row."""
        weighted = self._p * direction
        weighted -= self._p * weighted.sum(axis=1, keepdims=True)
        weighted *= self._cost[:, None]
        return weighted

    def curvature(self) -> Array:
        """c_i (diag(p) - p p') of each row."""
        weighted = self._cost[:, None] * self._p
        found = -weighted[:, :, None] * self._p[:, None, :]
        every = np.arange(self._p.shape[1])
        found[:, every, every] += weighted
        return found

    def diagonal(self, squares: Any, factor: Any) -> tuple[Array, Array]:
        """sum_i c_i x_ij^2 (sum_l L_lk^2 p_il - (sum_l L_lk p_il)^2), and sum_i c_i (p_il - p_il^2)."""
        spread = self._p @ factor**2 - (self._p @ factor) ** 2
        columns = np.asarray(squares.T @ (self._cost[:, None] * spread))
        return columns, self._cost @ (self._p - self._p**2)

    def dual(self) -> sp.csr_array:
        """p_il; they sum to one per row."""
        return simplex_dual(self._p)

    def gradient_of(self, dual: sp.csr_array) -> Array:
        """c_i (p_il - 1[l = y_i])."""
        return self._gradient(dense_start(dual, self.gradient.shape[::-1]).T)


def simplex_dual(p: Array) -> sp.csr_array:
    """Probabilities, given rows x classes, as the dual of softmax: classes x rows, without negligible ones.

    >>> simplex_dual(np.array([[0.25, 0.75], [1.0, 1e-15]])).toarray().tolist()
    [[0.25, 1.0], [0.75, 0.0]]
    """
    return _by_class(p.shape, lambda rows: np.array(p[rows]))


def simplex_dual_of(scores: npt.NDArray[Any]) -> sp.csr_array:
    """The probabilities that scores give, as `simplex_dual` has them; scores may be in single precision.

    >>> simplex_dual_of(np.array([[0.0, 0.0]])).toarray().tolist()
    [[0.5], [0.5]]
    """

    def probabilities(rows: slice) -> Array:
        p = scores[rows].astype(np.float64)
        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=1, keepdims=True)
        return np.asarray(p)

    return _by_class(scores.shape, probabilities)


def _by_class(shape: tuple[int, int], probabilities: Callable[[slice], Array]) -> sp.csr_array:
    """The dual of probabilities that are made a block of rows at a time."""
    n, n_classes = shape
    by_class, kept = np.empty((n_classes, n)), 0
    step = max(1, _BLOCK // max(1, n_classes))
    for first in range(0, n, step):
        rows = slice(first, first + step)
        p = probabilities(rows)
        p[p <= _NEGLIGIBLE] = 0.0
        p /= p.sum(axis=1, keepdims=True)
        kept += int(np.count_nonzero(p))
        by_class[:, rows] = p.T
    return stored_dual(by_class, kept)


def stored_dual(by_class: Array, n_kept: int) -> sp.csr_array:
    """Duals, classes x rows, of which so many are not zero; where these are most, zeros are stored too, so that no
    place has to be looked for.

    >>> stored_dual(np.array([[1.0, 0.0]]), 1).nnz, stored_dual(np.array([[1.0, 0.0, 0.0]]), 1).nnz
    (2, 1)
    """
    n_classes, n = by_class.shape
    index = np.int32 if by_class.size < 2**31 else np.int64
    if n_kept < _MOSTLY * by_class.size:
        kept = by_class != 0
        ends = np.concatenate(([0], np.cumsum(np.count_nonzero(kept, axis=1)))).astype(index)
        return sp.csr_array((by_class[kept], kept.nonzero()[1].astype(index), ends), shape=by_class.shape)
    places = np.tile(np.arange(n, dtype=index), n_classes)
    ends = (n * np.arange(n_classes + 1)).astype(index)
    return sp.csr_array((by_class.ravel(), places, ends), shape=by_class.shape)


_TERMS: dict[Kind, type[MarginTerms] | type[SoftmaxTerms]] = {"margin": MarginTerms, "softmax": SoftmaxTerms}


def score_terms(objective: Objective) -> ScoreTerms:
    """The losses of an objective as a function of the scores.

    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> terms = score_terms(Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Softmax(), flat(2)))
    >>> round(terms.value(np.zeros((2, 2))), 6)
    1.386294
    """
    return _TERMS[objective.loss.facts.kind](objective)
