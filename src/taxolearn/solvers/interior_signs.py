"""Orthogonal transfer on raw features: interior points for given signs take turns with the best signs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

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
)
from taxolearn.solvers.interior import LIMITS, Inside, follow_path
from taxolearn.solvers.unit_geometry import Orthogonal
from taxolearn.ties import Factor
from taxolearn.vectors import ClassVectors

Array = npt.NDArray[np.float64]

REQUIRES = Requires(("siblings",), absolute=True, starts=False)
_INNER = 0.2  # share of the tolerated gap that each solve for given signs may leave,
_OF_LAST = 0.03  # or of the gap that was left by the last one, where that is more,
_FIRST_GAP = 0.1  # and this gap at most
_LONGEST = 1.0  # times its length that a step of the signs is stretched by, at most
_LEAST_GAIN = 0.99  # a round that leaves more of the gap than this share has done nothing,
_PATIENCE = 3  # and after so many of them rounding is what is left


def solve_interior_signs(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise an objective whose penalty is 1/2 sum_ij K_ij |w_i . w_j|, by dense linear algebra.

    With S given the penalty is a quadratic form, for which `solve_interior` finds vectors and duals; S is then made the
    best for these, in turns: the dual is jointly concave in duals and S, so that such a round raises it. From the
    second on, steps of S are stretched towards where they lead, until a round gains nothing.

    >>> from taxolearn.losses import sibling_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import OrthogonalTie
    >>> problem = make_problem([[1e9], [1e9 + 2.0]], ["a", "b"])
    >>> loss = sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2)
    >>> objective = Objective(problem, loss, OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]])), C=10.0)
    >>> solve_interior_signs(objective, Limits(tol=1e-4)).status.value
    'converged'
    """
    check_requirements("interior", REQUIRES, objective)
    geometry = Orthogonal(objective.tie, None)
    with limits.run() as run:
        found, steps_of_signs = _Best(objective), _Steps()
        inside: Inside | None = None
        rounds = Rounds(limits, run, watch, lambda: found.dual)
        last, waited, steps, stuck, bold, warm = np.inf, 0, 0, False, True, True
        while True:
            # rounds that gained little were too bold
            bold, tol = bold and not waited, _INNER * limits.tol
            if bold:
                tol = max(tol, min(_FIRST_GAP, _OF_LAST * found.relative_gap))
            inner = replace(limits, tol=tol, max_seconds=run.clock.left, engine=run.engine)
            tie = Factor(sp.csr_array(_root(geometry)))
            solution, inside = follow_path(replace(objective, tie=tie), inner, begin=inside if warm else None)
            steps += solution.n_iter
            vectors = _of_units(solution.vectors, objective.bias_feature)
            found.take(objective, geometry, solution, vectors)
            if warm and (solution.status is Status.ROUNDING or found.gap > _LEAST_GAIN * last):
                warm = False  # a point that is too close to the boundary for where signs have gone
            else:
                waited, last = (waited + 1, last) if found.gap > _LEAST_GAIN * last else (0, found.gap)
            if not rounds.another(found.primal, found.gap):
                break
            if waited > _PATIENCE:
                stuck = True
                break
            pulls, before = _signed(geometry) @ vectors, geometry.signs.copy()
            geometry.learn(pulls[:, :-1], pulls[:, -1])
            geometry.signs = steps_of_signs.further(before, geometry.signs, plain=not bold)
    status = Status.ROUNDING if stuck and not rounds.converged else rounds.status
    return Solution(
        found.vectors, found.dual, status, steps, rounds.history, {"signs": found.signs}, found.signs
    )


class _Steps:
    """The steps that signs take. Each is a share of the one before, so that two of them tell where they lead to: that
    is where signs go next (Anderson's acceleration of depth one; any signs within their bounds give valid duals)."""

    def __init__(self) -> None:
        self.signs: Array | None = None
        self.step: Array | None = None

    def further(self, before: Array, signs: Array, plain: bool) -> Array:
        """The signs to go on with, those best for the last duals being `signs`; with `plain` exactly these."""
        step, last, last_signs = signs - before, self.step, self.signs
        self.signs, self.step = signs.copy(), step
        if plain or last is None or last_signs is None:
            return signs
        change = step - last
        square = float(change @ change)
        if not square > 0:
            return signs
        further = min(-float(step @ change) / square, _LONGEST)
        return np.asarray(np.clip(signs + max(0.0, further) * (signs - last_signs), -1.0, 1.0))


class _Best:
    """The best vectors and the best dual so far, each with its objective."""

    def __init__(self, objective: Objective) -> None:
        shape = objective.n_units, objective.problem.n_rows
        self.primal, self.lower = np.inf, 0.0
        self.vectors: Any = None
        self.dual, self.signs = sp.csr_array(shape), np.zeros(len(objective.tie.pairs[2]))

    @property
    def gap(self) -> float:
        return self.primal - self.lower

    @property
    def relative_gap(self) -> float:
        return self.gap / self.primal if np.isfinite(self.primal) and self.primal > 0 else 1.0

    def take(self, objective: Objective, geometry: Orthogonal, solution: Solution, vectors: Array) -> None:
        """Keep what is better than before of a solution for the signs of the geometry."""
        primal, lower = solution.history[-1].primal, solution.history[-1].dual
        quadratic = 0.5 * float(np.sum(vectors * (_signed(geometry) @ vectors)))
        primal += objective.tie.penalty(vectors) - quadratic
        if primal < self.primal:
            self.primal = primal
            feature = objective.bias_feature
            self.vectors = ClassVectors(np.ascontiguousarray(vectors[:, :-1]), feature * vectors[:, -1])
        if lower >= self.lower:
            self.lower, self.dual, self.signs = lower, solution.dual, geometry.signs.copy()


def _of_units(vectors: Any, bias_feature: float) -> Array:
    """The vectors of all units, with the bias as one more feature."""
    bias = vectors.intercept / bias_feature if bias_feature else np.zeros(len(vectors.intercept))
    return np.column_stack([vectors.coef, bias])


def _signed(geometry: Orthogonal) -> Array:
    """K o S."""
    found = np.diag(geometry.diagonal)
    for members, (first, second, weight), some in zip(
        geometry.blocks.members, geometry.pairs, geometry.of_block, strict=True
    ):
        beside = weight * geometry.signs[some]
        found[members[first], members[second]] = found[members[second], members[first]] = beside
    return found


def _root(geometry: Orthogonal) -> Array:
    """L with L L' = (K o S)^-1."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(_signed(geometry))).T)
