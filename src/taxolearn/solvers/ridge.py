"""Least squares with tied classes, by one decomposition of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
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
from taxolearn.solvers.ridge_rows import (
    Array,
    Found,
    RidgeRows,
    Rotation,
    bounds_of,
    half_ridge,
    ridge_rows,
    rotation_of,
    threads_of,
)

# a decomposition serves every C and every tie; there is nothing to go on from
REQUIRES = Requires(("square",), starts=False)
LIMITS = Limits()
_RANK = 1e-13  # eigenvalues below this share of the largest are rounding
_UNEVEN = 1e8  # ratio of the squared norms of columns from which on squares of Z lose too many digits
_LEAST_GAIN = 0.5  # of the gap that a step of refinement must leave at most


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvectors and eigenvalues of Z'Z or of ZZ', whichever is smaller: good for every C and every tie.

    >>> from taxolearn.problem import make_problem
    >>> spectrum_of(ridge_rows(make_problem([[3.0], [4.0]], ["a", "b"]), 0.0)).values.round(9).tolist()
    [25.0]
    """

    rows: RidgeRows
    values: Array
    vectors: Array
    of_features: bool
    other: Array | None = None  # the singular vectors of the other side, where Z itself was decomposed

    def solve(self, rotation: Rotation, h: float) -> Found:
        """Vectors and duals of all eigenvectors of the classes."""
        a = rotation.values
        R = rotation.of(self.rows.targets)
        shrunk = 1.0 / (h + np.multiply.outer(self.values, a))
        if self.other is not None:
            # each from its own side: vectors made of duals, or duals of residuals, would lose all to a large column
            right, left = (self.vectors, self.other) if self.of_features else (self.other, self.vectors)
            inside = left.T @ R
            vectors = right @ (np.sqrt(self.values)[:, None] * shrunk * inside) * a
            return Found(vectors, left @ (shrunk * inside) + (R - left @ inside) / h)
        if self.of_features:
            vectors = self.vectors @ (shrunk * (self.vectors.T @ (self.rows.Z.T @ R))) * a
            return Found(vectors, (R - self.rows.Z @ vectors) / h)
        duals = self.vectors @ (shrunk * (self.vectors.T @ R))
        return Found((self.rows.Z.T @ duals) * a, duals)

    def refined(self, found: Found, rotation: Rotation, h: float) -> Found:
        """One more step with what the last one left over."""
        a = rotation.values
        R = rotation.of(self.rows.targets)
        shrunk = 1.0 / (h + np.multiply.outer(self.values, a))
        if self.of_features:
            slope = found.vectors - a * (self.rows.Z.T @ found.duals)
            vectors = found.vectors - h * (self.vectors @ (shrunk * (self.vectors.T @ slope)))
            return Found(vectors, (R - self.rows.Z @ vectors) / h)
        rest = R - h * found.duals - self.rows.Z @ ((self.rows.Z.T @ found.duals) * a)
        duals = found.duals + self.vectors @ (shrunk * (self.vectors.T @ rest))
        return Found((self.rows.Z.T @ duals) * a, duals)

    def left_out(self, rotation: Rotation, h: float) -> Array:
        """The scores of each row by vectors learned without it, rows x classes, in closed form; C stays as it is.

        With b the duals and H the smoother, the residual without row i is h b_i / (1 - H_ii), and 1 - H_ii is h times
        the i-th diagonal entry of (h + a ZZ')^-1. Rows without weight have NaN.
        """
        a = rotation.values
        found = self.solve(rotation, h)
        parts = self._row_parts
        shrunk = 1.0 / (h + np.multiply.outer(self.values, a))
        # the part of a row that no eigenvector has is divided by h alone
        outside = np.maximum(0.0, 1.0 - parts.sum(axis=1))[:, None] / h
        rest = found.duals / (parts @ shrunk + outside)
        roots = self.rows.roots[:, None]
        residuals = rotation.back(np.divide(rest, roots, out=np.full_like(rest, np.nan), where=roots > 0))
        Y = self.rows.targets.toarray()
        Y = np.divide(Y, roots, out=np.zeros_like(Y), where=roots > 0)
        reached = Y if rotation.full else rotation.back(rotation.of(Y))
        return np.asarray(reached - residuals)

    @cached_property
    def _row_parts(self) -> Array:
        """The squared share of every row in every eigenvector of ZZ', rows x eigenvectors."""
        if not self.of_features:
            return np.asarray(self.vectors**2)
        sides = np.asarray(self.rows.Z @ self.vectors) ** 2
        least = _RANK * float(self.values.max(initial=0.0))
        return np.asarray(np.divide(sides, self.values, out=np.zeros_like(sides), where=self.values > least))


def spectrum_of(rows: RidgeRows, exact: bool = False) -> Spectrum:
    """The eigenvectors of the smaller of Z'Z and ZZ'; `exact` ones are the singular vectors of Z.

    Squares lose half of the digits: where columns differ by more than that, Z itself is decomposed, which takes
    several times as long.

    >>> from taxolearn.problem import make_problem
    >>> spectrum_of(ridge_rows(make_problem([[3.0, 0.0, 1.0]] * 2, ["a", "b"]), 0.0)).of_features
    False
    """
    Z = rows.Z
    of_features = Z.shape[1] <= Z.shape[0]
    if exact or _is_uneven(Z):
        left, roots, right = np.linalg.svd(Z.toarray() if sp.issparse(Z) else Z, full_matrices=False)
        sides = (right.T, left) if of_features else (left, right.T)
        return Spectrum(rows, roots**2, sides[0], of_features, sides[1])
    gram: Any = Z.T @ Z if of_features else Z @ Z.T
    gram = gram.toarray() if sp.issparse(gram) else gram
    values, vectors = np.linalg.eigh(gram)
    return Spectrum(rows, np.maximum(values, 0.0), vectors, of_features)


def _is_uneven(Z: Any) -> bool:
    squares = np.asarray((Z.multiply(Z) if sp.issparse(Z) else Z * Z).sum(axis=0)).ravel()
    squares = squares[squares > 0]
    return bool(len(squares)) and bool(squares.max() > _UNEVEN * squares.min())


def solve_ridge(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """RLS-Taxonomy (Mroueh, Poggio, Rosasco, Algorithm 1, with the factor n that it drops), on the smaller side.

    The rows are decomposed once; a `start` whose state is the `Spectrum` of the same rows is not decomposed again,
    whatever C and tie. Rounding is mended by steps of refinement, which `limits.max_iter` counts.

    >>> from taxolearn.losses import Square
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_ridge(Objective(problem, Square(), flat(2), C=0.5, bias_feature=0.0))
    >>> solution.vectors.coef.round(6).tolist(), solution.status.value
    ([[-0.333333], [0.333333]], 'converged')
    """
    check_requirements("decomposition", REQUIRES, objective)
    h, rotation = half_ridge(objective), rotation_of(objective.tie)
    with np.errstate(over="ignore", invalid="ignore"), limits.run() as run, threads_of(run):
        rows = ridge_rows(objective.problem, objective.bias_feature)
        width = len(rotation.values)
        found = Found(np.zeros((rows.Z.shape[1], width)), np.zeros((rows.Z.shape[0], width)))
        rounds = Rounds(limits, run, watch, lambda: rows.solution(found, rotation, h)[1])
        spectrum, stalls, stalled = None, False, False
        primal, gap = bounds_of(rows, found, rotation, h)
        while rounds.another(primal, gap) and not stalled:
            if spectrum is None or stalls:
                kept = None if stalls else _kept(start, rows)
                spectrum = kept or spectrum_of(rows, exact=stalls)
                better = spectrum.solve(rotation, h)
            else:
                better = spectrum.refined(found, rotation, h)
            value, left = bounds_of(rows, better, rotation, h)
            stalls = not left <= _LEAST_GAIN * gap
            if left < gap:
                found, primal, gap = better, value, left
            stalled = spectrum.other is not None  # what is left is rounding
        vectors, dual = rows.solution(found, rotation, h)
    status = Status.ROUNDING if stalled and not rounds.converged else rounds.status
    return Solution(vectors, dual, status, rounds.done, rounds.history, {}, spectrum)


def _kept(start: Start | None, rows: RidgeRows) -> Spectrum | None:
    state = None if start is None else start.state
    return state if isinstance(state, Spectrum) and state.rows.mark == rows.mark else None
