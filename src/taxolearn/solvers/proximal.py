"""Structured hinges on middling dense rows: proximal points of the dual, each by Newton steps on the vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import blas_threads
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Rounds,
    Solution,
    Start,
    Status,
    Watch,
    check_requirements,
    dense_start,
)
from taxolearn.solvers.interior_terms import StructuredTerms, by_class
from taxolearn.solvers.proximal_rows import FreeRows, project
from taxolearn.vectors import NodeVectors

Array = npt.NDArray[np.float64]

REQUIRES = Requires(("structured",), paths=True)
LIMITS = Limits()
# lengths of steps on the duals are counted in those that are best for a row alone
_FIRST_LENGTH, _LONGER, _SHORTER = 16.0, 2.0, 1.5
_LONGEST = 1e8  # times the cost of a row: a dual would be lost in rounding beside a longer step
_FEW_STEPS, _MANY_STEPS, _MOST_STEPS = 3, 12, 40  # Newton steps after which lengths are made longer, shorter
_ABREAST = 0.3  # a point is close enough where the gradient adds this share of what rows add to the gap
_FORCING = 0.2  # residual of a Newton direction, as a share of the gradient
_MOST_GRADIENTS = 300  # conjugate gradients for a direction
_ARMIJO = 1e-4  # decrease that a step must bring, as a share of what the gradient promises
_ROUNDING = 1e-13  # share of a value that is lost in adding it up
_SHORTEST_STEP = 1e-8
_PATIENCE = 30  # points without a smaller gap after which rounding is what is left
_LEAST_SQUARE = 1e-3  # of a row, as a share of the mean: rows of zeros have no step that is best for them
_WORST_CONDITION = 1e8  # of the covariance of the classes


def solve_proximal(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise as `solve_structured` does, on dense rows, by steps that all rows and classes take at once.

    A proximal point maximises the dual less ||a - a_0||^2 / (2 s), a_0 being the last one (Rockafellar 1976). Its
    vectors minimise a smooth function, 1/2 tr(W' A^-1 W) + sum of softened losses, whose gradient is piecewise linear,
    and Newton's method ends there after a few steps (Li, Sun and Toh 2018). Directions come from conjugate gradients
    on rows with duals strictly inside their bounds, after a change of coordinates class by class that makes features of
    any size alike. The steps s grow as long as few Newton steps are enough. Any dual can be a start: it is made
    feasible. Needs a covariance of the classes that has an inverse.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> objective = Objective(problem, structured_hinge(problem, flat(2)), flat(2), C=10.0, bias_feature=0.0)
    >>> solve_proximal(objective).vectors.coef.round(3).tolist()
    [[-0.5], [0.5]]
    """
    check_requirements("proximal", REQUIRES, objective)
    if sp.issparse(objective.problem.X):
        raise DataError("solver='proximal' needs dense rows; use X.toarray() or solver='auto'")
    # threads of BLAS wait for each other longer than these products take
    with np.errstate(all="ignore"), limits.run() as run, blas_threads(1):
        points = _Points(objective, None if start is None else start.dual)
        rounds = Rounds(limits, run, watch, points.dual)
        stuck = points.minimise(rounds)
    status = Status.ROUNDING if stuck and not rounds.converged else rounds.status
    vectors, details = points.of_user()
    return Solution(vectors, points.dual(), status, rounds.done, rounds.history, details)


def inverse_covariance(objective: Objective) -> Array | None:
    """A^-1 of the classes; None where there is none, or rounding would spoil it.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> inverse_covariance(Objective(problem, structured_hinge(problem, flat(2)), flat(2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    values, vectors = np.linalg.eigh(objective.tie.covariance)
    if not values[0] * _WORST_CONDITION > values[-1]:
        return None
    return np.asarray((vectors / values) @ vectors.T)


class _Vectors(NamedTuple):
    """Vectors (features x classes), and what they lack to meet each constraint (rows x classes)."""

    weights: Array
    short: Array

    def moved(self, direction: _Vectors, length: float) -> _Vectors:
        return _Vectors(
            self.weights + length * direction.weights,
            self.short + length * direction.short,
        )


class _Softened(NamedTuple):
    """The smooth function at some vectors, and the duals that are its slope."""

    value: float
    duals: Array
    at_cost: npt.NDArray[np.bool_]  # rows whose duals sum up to their cost


class _Points:
    """Proximal points: `center` are the duals of the last one; the best vectors and duals so far."""

    def __init__(self, objective: Objective, dual: sp.csr_array | None) -> None:
        problem, tie = objective.problem, objective.tie
        inverse = inverse_covariance(objective)
        if inverse is None:
            raise DataError(
                "solver='proximal' needs a covariance of classes that has an inverse; use solver='auto'"
            )
        self.objective, self.inverse = objective, inverse
        self.terms = StructuredTerms(objective)
        X = np.asarray(problem.X, dtype=np.float64)
        self.rows = (
            np.column_stack([X, np.full(len(X), objective.bias_feature)]) if objective.bias_feature else X
        )
        square = np.einsum("ij,ij->i", self.rows, self.rows)
        least = max(_LEAST_SQUARE * float(square.mean()), np.finfo(float).tiny)
        spread = max(float(np.diag(tie.covariance).mean()), np.finfo(float).tiny)
        self.best_alone = 1.0 / (spread * np.maximum(square, least))
        given = dense_start(dual, (problem.n_classes, problem.n_rows)).T
        given = np.where(self.terms.on, np.maximum(given, 0.0), 0.0)
        self.center, _ = project(given, self.terms.cost)
        self.length = _FIRST_LENGTH
        weights = self._drawn(self.center) @ tie.covariance
        self.vectors = self._at(weights)
        self.best_weights, self.best_dual = weights, np.zeros_like(self.center)
        self.primal, self.lower = np.inf, 0.0  # the dual objective of no dual at all

    def dual(self) -> sp.csr_array:
        """The best dual so far."""
        return by_class(self.best_dual)

    def _at(self, weights: Array) -> _Vectors:
        """These vectors, with what they lack."""
        return _Vectors(weights, self.terms.margin - self.terms.ahead(self.rows @ weights))

    def _drawn(self, duals: Array) -> Array:
        """What duals draw the vectors to, before the covariance: features x classes."""
        return np.asarray(self.rows.T @ self.terms.pulls(duals))

    def minimise(self, rounds: Rounds) -> bool:
        """Points until the gap or a limit is reached; whether rounding ended it."""
        waited, last = 0, np.inf
        longest = _LONGEST * float(np.max(self.terms.cost / self.best_alone, initial=0.0))
        while waited <= _PATIENCE:
            steps = self._point(rounds)
            if steps is None:
                return False
            gap = self.primal - self.lower
            if gap <= _ROUNDING * self.primal:
                return True
            waited, last = (0, gap) if gap < 0.99 * last else (waited + 1, last)
            if steps <= _FEW_STEPS:
                self.length = min(_LONGER * self.length, longest)
            elif steps > _MANY_STEPS:
                self.length /= _SHORTER
        return True

    def _point(self, rounds: Rounds) -> int | None:
        """The next point, and the number of Newton steps to it; None where the gap or a limit is reached."""
        self.vectors = self._at(self.vectors.weights)  # steps add up roundings
        now = self._softened(self.vectors)
        for steps in range(_MOST_STEPS + 1):
            missed = self._drawn(now.duals) - self.vectors.weights @ self.inverse
            of_rows, of_gradient = self._note(now, missed)
            if of_gradient <= _ABREAST * of_rows or steps == _MOST_STEPS:
                break
            if not rounds.another(self.primal, self.primal - self.lower):
                return None
            after = self._step(now, missed)
            if after is None:
                break
            now = after
        self.center = now.duals
        if steps == 0 and not rounds.another(self.primal, self.primal - self.lower):
            return None
        return steps

    def _softened(self, vectors: _Vectors) -> _Softened:
        """max over duals a of a . short - (a - center)^2 / (2 length), and the penalty."""
        terms, lengths = self.terms, self.length * self.best_alone
        wanted = self.center + lengths[:, None] * vectors.short
        duals, at_cost = project(np.where(terms.on, wanted, -np.inf), terms.cost)
        moved = duals - self.center
        far = float(np.sum(np.einsum("ij,ij->i", moved, moved) / (2.0 * lengths)))
        value = self._penalty(vectors.weights) + float(np.vdot(duals, vectors.short)) - far
        return _Softened(value, duals, at_cost)

    def _penalty(self, weights: Array) -> float:
        return 0.5 * float(np.vdot(weights, weights @ self.inverse))

    def _note(self, now: _Softened, missed: Array) -> tuple[float, float]:
        """Keep vectors and duals if they are better; what rows and what the gradient add to the gap."""
        terms, (weights, short) = self.terms, self.vectors
        losses = float(terms.cost @ terms.largest(short))
        of_rows = losses - float(np.vdot(now.duals, short))
        of_gradient = 0.5 * float(np.vdot(missed, missed @ self.objective.tie.covariance))
        primal = self._penalty(weights) + losses
        if primal < self.primal:
            self.primal, self.best_weights = primal, weights
        if primal - of_rows - of_gradient > self.lower:
            self.lower, self.best_dual = primal - of_rows - of_gradient, now.duals
        return of_rows, of_gradient

    def _step(self, now: _Softened, missed: Array) -> _Softened | None:
        """One Newton step; None where none lowers the function."""
        direction = self._direction(now, missed)
        slope = -float(np.vdot(missed, direction.weights))
        length, allowed = 1.0, _ROUNDING * abs(now.value)
        while length >= _SHORTEST_STEP:
            vectors = self.vectors.moved(direction, length)
            after = self._softened(vectors)
            rise = after.value - now.value
            if rise <= _ARMIJO * length * slope + allowed:
                self.vectors = vectors
                return after
            # where a parabola through what is known is least
            length *= float(np.clip(-0.5 * length * slope / (rise - length * slope), 0.1, 0.5))
        return None

    def _direction(self, now: _Softened, missed: Array) -> _Vectors:
        """(A^-1 + H) D = missed by conjugate gradients, H being the second derivatives of the softened losses."""
        free = FreeRows(self.rows, self.terms, now.duals, now.at_cost, self.length * self.best_alone)
        inverses = free.inverse_blocks(np.diag(self.inverse))

        def near(residual: Array) -> Array:
            return np.asarray(np.matmul(inverses, residual.T[:, :, None])[:, :, 0].T)

        found, left = np.zeros_like(missed), missed
        along = close = near(left)
        square = first = float(np.vdot(left, close))
        for _ in range(_MOST_GRADIENTS):
            applied = along @ self.inverse + free.curved(along)
            share = square / float(np.vdot(along, applied))
            found, left = found + share * along, left - share * applied
            close = near(left)
            last, square = square, float(np.vdot(left, close))
            if not square > _FORCING**2 * first:
                break
            along = close + square / last * along
        return _Vectors(found, -self.terms.ahead(self.rows @ found))

    def of_user(self) -> tuple[NodeVectors, dict[str, Any]]:
        """Vectors at the nodes, and what `solve_structured` tells besides."""
        tie, s = self.objective.tie, self.objective.bias_feature
        sums = tie.paths.T @ (self.best_weights @ self.inverse).T
        drawn = tie.paths.T @ self._drawn(self.best_dual).T
        vectors = sums * tie.scale[:, None]
        nodes, node_bias = (vectors[:, :-1], vectors[:, -1]) if s else (vectors, np.zeros(len(vectors)))
        details = {
            "node_bias": node_bias,
            "node_squares": np.einsum("nj,nj->n", vectors, vectors),
            "dual_squares": np.einsum("nj,nj->n", drawn, drawn),
            "linear": float(np.vdot(self.best_dual, self.terms.margin)),
        }
        return NodeVectors(np.ascontiguousarray(nodes.T), tie.paths, s * (tie.paths @ node_bias)), details
