"""Losses of all rows as one smooth function of their scores: value, slope, curvature and dual."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError, LabelError
from taxolearn.losses import MarginLoss
from taxolearn.losses.softmax import Softmax
from taxolearn.problem import Problem
from taxolearn.solvers.solution import dense_start

Array = npt.NDArray[np.float64]

_NEGLIGIBLE = 1e-12  # probabilities below this are not stored: what they add to the dual is lost in rounding


class ScoreTerms(Protocol):
    """The summed losses f(S) of scores S (rows x classes) at the point last passed to `move_to`."""

    slope: Array

    def value(self, scores: Array) -> float:
        """f(S), nothing else changed."""

    def move_to(self, scores: Array) -> None:
        """Set `slope`, the derivative of f, and the curvature that `bend` and `diagonal` use."""

    def bend(self, direction: Array) -> Array:
        """The second derivative of f times a direction, rows x classes."""

    def diagonal(self, squares: Any, factor: Any) -> tuple[Array, Array]:
        """Diagonal of the Hessian of f in the node vectors, features x nodes, and in additions to a class's scores."""

    def dual(self) -> sp.csr_array:
        """The dual point of the slope, in the form the certificate of the loss expects."""

    def slope_of(self, dual: sp.csr_array) -> Array:
        """The slope of which a dual is the point, rows x classes."""


def counted_classes(problem: Problem) -> npt.NDArray[np.bool_]:
    """Classes with a weighted row of their own; the others have no losses of the margin."""
    return np.asarray((problem.targets.T @ (problem.row_weight > 0).astype(np.float64)) > 0)


class MarginTerms:
    """sum_il c_il loss(y_il s_il) for a smooth loss of the margin; classes without rows are left out."""

    def __init__(self, problem: Problem, loss: MarginLoss, C: float) -> None:
        from taxolearn.kernels.margin_terms import margin_terms

        self._kernel, self._loss = margin_terms, loss
        counted = counted_classes(problem)
        self._sign = np.where(problem.targets.toarray() > 0, 1.0, -1.0)
        self._costs = (
            problem.targets.indptr.astype(np.int64),
            problem.targets.indices.astype(np.int64),
            C * problem.row_weight,
            np.where(counted, problem.positive_weight, 0.0),
            np.where(counted, problem.negative_weight, 0.0),
        )
        self._dual = np.zeros((problem.n_rows, problem.n_classes))
        self._bend = np.zeros_like(self._dual)
        self._spare = (np.zeros_like(self._dual), np.zeros_like(self._dual))
        self.slope = np.zeros_like(self._dual)

    def value(self, scores: Array) -> float:
        """f(S); the duals found on the way wait in the spare arrays for `move_to`."""
        return float(self._kernel(self._loss, scores, *self._costs, 0, len(scores), *self._spare))

    def move_to(self, scores: Array) -> None:
        """Slope and curvature at the scores that `value` saw last."""
        kept = (self._dual, self._bend)
        (self._dual, self._bend), self._spare = self._spare, kept
        np.multiply(self._dual, -self._sign, out=self.slope)

    def bend(self, direction: Array) -> Array:
        """Each score bends for itself."""
        return self._bend * direction

    def diagonal(self, squares: Any, factor: Any) -> tuple[Array, Array]:
        """sum_l B_lk^2 sum_i c_il loss''(m_il) x_ij^2, and sum_i c_il loss''(m_il)."""
        return np.asarray((squares.T @ self._bend) @ factor**2), self._bend.sum(axis=0)

    def dual(self) -> sp.csr_array:
        """d_il, classes x rows."""
        return sp.csr_array(self._dual.T)

    def slope_of(self, dual: sp.csr_array) -> Array:
        """-d_il y_il."""
        return np.asarray(-self._sign * dense_start(dual, self.slope.shape[::-1], "classes x rows").T)


class SoftmaxTerms:
    """sum_i c_i (log sum_l exp(s_il) - s_{i,y_i}), c_i = C times the weights of the row and of its class."""

    def __init__(self, problem: Problem, loss: Softmax, C: float) -> None:
        self._loss = loss
        self._own, self._cost = row_labels(problem, C)
        self._p = np.zeros((problem.n_rows, problem.n_classes))
        self.slope = np.zeros_like(self._p)

    def value(self, scores: Array) -> float:
        """f(S)."""
        return float(self._cost @ self._loss.value(scores, self._own))

    def move_to(self, scores: Array) -> None:
        """Slope c_i (p_il - 1[l = y_i]) and the probabilities p."""
        self._p = self._loss.probabilities(scores)
        np.multiply(self._p, self._cost[:, None], out=self.slope)
        self.slope[np.arange(len(scores)), self._own] -= self._cost

    def bend(self, direction: Array) -> Array:
        """c_i (p o d - p (p . d)) of each row."""
        weighted = self._p * direction
        weighted -= self._p * weighted.sum(axis=1, keepdims=True)
        weighted *= self._cost[:, None]
        return weighted

    def diagonal(self, squares: Any, factor: Any) -> tuple[Array, Array]:
        """sum_i c_i x_ij^2 (sum_l B_lk^2 p_il - (sum_l B_lk p_il)^2), and sum_i c_i (p_il - p_il^2)."""
        spread = self._p @ factor**2 - (self._p @ factor) ** 2
        nodes = np.asarray(squares.T @ (self._cost[:, None] * spread))
        return nodes, self._cost @ (self._p - self._p**2)

    def dual(self) -> sp.csr_array:
        """p_il, rows x classes; every row sums to one."""
        return simplex_dual(self._p)

    def slope_of(self, dual: sp.csr_array) -> Array:
        """c_i (p_il - 1[l = y_i])."""
        slope = dense_start(dual, self.slope.shape, "rows x classes") * self._cost[:, None]
        slope[np.arange(len(slope)), self._own] -= self._cost
        return slope


def simplex_dual(p: Array) -> sp.csr_array:
    """Probabilities, rows x classes, without negligible ones; every row sums to one."""
    kept = np.where(p > _NEGLIGIBLE, p, 0.0)
    return sp.csr_array(kept / kept.sum(axis=1, keepdims=True))


def row_labels(problem: Problem, C: float) -> tuple[npt.NDArray[np.intp], Array]:
    """The class of every row and c_i = C row_weight[i] positive_weight[y_i]; rows without weight may have none."""
    counts = np.diff(problem.targets.indptr)
    wrong = np.flatnonzero((counts != 1) & (problem.row_weight > 0))
    if len(wrong):
        raise LabelError(
            f"row {wrong[0]} has {counts[wrong[0]]} labels, but loss='softmax' needs exactly one a row; "
            "use loss='logistic' for several"
        )
    own = np.zeros(problem.n_rows, dtype=np.intp)
    own[counts == 1] = problem.targets.indices[np.repeat(counts == 1, counts)]
    return own, C * problem.row_weight * problem.positive_weight[own]


def score_terms(problem: Problem, loss: MarginLoss | Softmax, C: float) -> ScoreTerms:
    """The losses of a problem as a function of the scores; refuses losses without a derivative."""
    if isinstance(loss, Softmax):
        return SoftmaxTerms(problem, loss, C)
    if not loss.smooth:
        raise DataError(f"loss={loss.name!r} has no derivative everywhere; solve_smooth needs one that has")
    return MarginTerms(problem, loss, C)
