"""Smooth losses of all rows along lines: scores move linearly, so that a line search reads no rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Run
from taxolearn.objective import Objective
from taxolearn.solvers.newton_terms import simplex_dual_of

Floats = npt.NDArray[np.floating[Any]]
Span = tuple[int, int]

_BLOCK = 2**17  # scores at a time: they stay in cache between one operation and the next
_HEAVY = 2**28  # products rows x features x classes from which on more than one thread helps
_SAMPLE = 300  # rows that mean curvatures are taken of


class Ended(Exception):
    """A limit ended the work of several threads half way: what they were making is of no use."""


class RowProducts:
    """Products of rows with vectors U L', in one precision; with several workers each has a stretch of rows.

    Threads of BLAS are not used for that: between two products they would wait busily.
    """

    def __init__(self, X: Any, factor: Any, n_classes: int, dtype: Any, run: Run) -> None:
        self.X = X.astype(dtype, copy=False)
        self.factor = None if factor is None else factor.astype(dtype, copy=False)
        self.run, self.n_classes, self.dtype = run, n_classes, dtype
        n, heavy = X.shape[0], not sp.issparse(X) and X.size * n_classes >= _HEAVY
        parts = run.engine.n_workers if heavy else 1
        ends = np.linspace(0, n, parts + 1).astype(int)
        self.spans: list[Span] = [(int(a), int(b)) for a, b in pairwise(ends)]

    def each(self, work: Callable[[int, int], Any]) -> list[Any]:
        """What work(first, last) returns for every stretch of rows."""
        if len(self.spans) == 1:
            return [work(*self.spans[0])]
        found = self.run.map(_on_span, work, self.spans)
        if any(one is None for one in found):
            raise Ended
        return found

    def scores(self, theta: Floats, out: Floats) -> None:
        """X U L', rows x classes."""
        factor: Any = self.factor
        by_row = factor is not None and self.X.shape[1] > self.X.shape[0]
        columns = theta if factor is None or by_row else np.asarray(theta @ factor.T)

        def work(first: int, last: int) -> bool:
            if by_row:
                out[first:last] = (self.X[first:last] @ columns) @ factor.T
            elif sp.issparse(self.X):
                out[first:last] = self.X[first:last] @ columns
            else:
                np.matmul(self.X[first:last], columns, out=out[first:last])
            return True

        self.each(work)

    def adjoint(self, gradient: Floats) -> Floats:
        """X' G L, features x columns."""
        factor: Any = self.factor
        by_row = factor is not None and self.X.shape[1] > self.X.shape[0]

        def work(first: int, last: int) -> Floats:
            part = gradient[first:last]
            return np.asarray(self.X[first:last].T @ (part @ factor if by_row else part))

        total: Any = sum(self.each(work))
        return np.asarray(total if by_row or factor is None else total @ factor)


def _on_span(work: Callable[[int, int], Any], span: Span, clock: Any) -> Any:
    return work(*span)


class LineLosses:
    """The summed losses at scores + t direction, and their derivative in the scores there, `gradient`."""

    def __init__(self, objective: Objective, rows: RowProducts) -> None:
        self.rows = rows
        shape = (objective.problem.n_rows, objective.problem.n_classes)
        self.scores = np.zeros(shape, dtype=rows.dtype)
        self.direction = np.zeros(shape, dtype=rows.dtype)
        self.gradient = np.zeros(shape, dtype=rows.dtype)
        self.sample = np.arange(0, shape[0], -(-shape[0] // _SAMPLE) if shape[0] else 1)

    def at(self, t: float) -> tuple[float, float]:
        """The losses and their derivative along the line, both in double precision; sets the gradient."""
        found = self.rows.each(lambda first, last: self._evaluate(t, first, last))
        return sum(one[0] for one in found), sum(one[1] for one in found)

    def move(self, t: float) -> None:
        """Begin the next line at a point of this one."""
        self.direction *= self.rows.dtype(t)
        self.scores += self.direction

    def drawn_at_zero(self) -> Floats:
        """X' times the gradient where all classes have the same scores."""
        return self.rows.adjoint(self.gradient)

    def _evaluate(self, t: float, first: int, last: int) -> tuple[float, float]:
        raise NotImplementedError


class SoftmaxLine(LineLosses):
    """sum_i c_i (log sum_l exp(s_il) - s_{i,y_i})."""

    def __init__(self, objective: Objective, rows: RowProducts) -> None:
        super().__init__(objective, rows)
        self.own, weight = objective.problem.one_label
        self.cost = objective.C * weight
        self.in_dtype = self.cost.astype(rows.dtype)
        self.every = np.arange(len(self.own))
        self.step = max(1, _BLOCK // max(1, self.scores.shape[1]))

    def _evaluate(self, t: float, first: int, last: int) -> tuple[float, float]:
        losses = slope = 0.0
        for start in range(first, last, self.step):
            rows = slice(start, min(start + self.step, last))
            block, along, cost, own = (
                part[rows] for part in (self.gradient, self.direction, self.cost, self.own)
            )
            np.multiply(along, self.rows.dtype(t), out=block)
            block += self.scores[rows]
            block -= block.max(axis=1, keepdims=True)
            every = self.every[: len(own)]
            ahead = block[every, own].astype(np.float64)
            np.exp(block, out=block)
            total = block.sum(axis=1)
            losses += float(cost @ (np.log(total, dtype=np.float64) - ahead))
            block *= (self.in_dtype[rows] / total)[:, None]
            block[every, own] -= self.in_dtype[rows]
            slope += float(np.vdot(block, along))
        return losses, slope

    def drawn_at_zero(self) -> Floats:
        """X' times the gradient where all classes have the same scores: all rows alike, less a class's own rows."""
        X, cost = self.rows.X, self.in_dtype
        n, n_classes = self.scores.shape
        own = sp.csr_array((cost, (self.own, self.every)), shape=(n_classes, n))
        drawn = np.asarray((X.T @ cost) / self.rows.dtype(n_classes))[:, None] - (own @ X).T
        return np.asarray(drawn if self.rows.factor is None else drawn @ self.rows.factor)

    def curvature(self) -> tuple[Floats, float]:
        """Of one row in the mean: that of every column of the factor, and that of a class."""
        own, cost = self.own[self.sample], self.cost[self.sample]
        p = self.gradient[self.sample] / np.where(cost > 0, cost, 1.0).astype(self.rows.dtype)[:, None]
        p[np.arange(len(own)), own] += cost > 0
        share, factor = cost / max(1, len(own)), self.rows.factor
        of_class = float(np.mean(share @ (p - p * p))) if p.size else 0.0
        if factor is None:
            return np.array([of_class]), of_class
        return np.asarray(share @ (p @ factor**2 - (p @ factor) ** 2)), of_class

    def dual(self, scores: Floats) -> sp.csr_array:
        """The probabilities at these scores."""
        return simplex_dual_of(scores)

    def gradient_of(self, dual: sp.csr_array) -> Floats:
        """c_i (p_il - 1[l = y_i])."""
        gradient = dual.toarray().T * self.cost[:, None]
        gradient[self.every, self.own] -= self.cost
        return np.asarray(gradient.astype(self.rows.dtype))


class MarginLine(LineLosses):
    """sum_il c_il loss(y_il s_il); classes without rows are left out. In double precision."""

    def __init__(self, objective: Objective, rows: RowProducts) -> None:
        from taxolearn.kernels.margin_terms import margin_terms

        super().__init__(objective, rows)
        problem = objective.problem
        self._kernel, self._loss = margin_terms, objective.loss
        self._sign = np.where(problem.targets.toarray() > 0, 1.0, -1.0)
        self._costs = (
            problem.targets.indptr.astype(np.int64),
            problem.targets.indices.astype(np.int64),
            objective.C * problem.row_weight,
            np.where(problem.counted, problem.positive_weight, 0.0),
            np.where(problem.counted, problem.negative_weight, 0.0),
        )
        self._moved, self._curvature = np.zeros_like(self.scores), np.zeros_like(self.scores)

    def _evaluate(self, t: float, first: int, last: int) -> tuple[float, float]:
        rows = slice(first, last)
        np.multiply(self.direction[rows], t, out=self._moved[rows])
        self._moved[rows] += self.scores[rows]
        buffers = (self.gradient, self._curvature)
        losses = float(self._kernel(self._loss, self._moved, *self._costs, first, last, *buffers))
        self.gradient[rows] *= -self._sign[rows]
        return losses, float(np.vdot(self.gradient[rows], self.direction[rows]))

    def curvature(self) -> tuple[Floats, float]:
        """Of one row in the mean: that of every column of the factor, and that of a class."""
        of_classes = self._curvature.mean(axis=0)
        of_class, factor = float(of_classes.mean()), self.rows.factor
        return (np.array([of_class]) if factor is None else np.asarray(of_classes @ factor**2)), of_class

    def dual(self, scores: Floats) -> sp.csr_array:
        """d_il at these scores."""
        dual, spare = np.zeros_like(scores), np.zeros_like(scores)
        self._kernel(self._loss, scores, *self._costs, 0, len(scores), dual, spare)
        return sp.csr_array(dual.T)

    def gradient_of(self, dual: sp.csr_array) -> Floats:
        """-d_il y_il."""
        return np.asarray(-self._sign * dual.toarray().T)


def line_losses(objective: Objective, rows: RowProducts) -> SoftmaxLine | MarginLine:
    """The losses of an objective along lines."""
    return (SoftmaxLine if objective.loss.facts.kind == "softmax" else MarginLine)(objective, rows)
