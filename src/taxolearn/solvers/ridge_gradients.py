"""Least squares with tied classes, by conjugate gradients: rows and features too many for a decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from taxolearn.engines import Run
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Rounds,
    Solution,
    Start,
    Watch,
    check_requirements,
    check_start,
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

REQUIRES = Requires(("square",))
LIMITS = Limits()
_BLOCK_BYTES = 128 * 2**20  # of vectors and duals of the eigenvectors that are solved for together
_DIRECTIONS = 128  # of the rows' largest, in which the system is solved at once
_SHARE = 0.25  # of the gap asked for at which an eigenvector is done: the sum is over all of them


@dataclass(frozen=True, eq=False)
class Steering:
    """The largest eigenvalues of ZZ' (or Z'Z) and their eigenvectors: gradients are scaled in these directions.

    >>> Steering("rows", np.ones(1), np.ones((1, 1))).values.tolist()
    [1.0]
    """

    mark: Any
    values: Array
    vectors: Array

    def scaled(self, rest: Array, a: Array, h: float) -> Array:
        """Nearly (h + a ZZ')^-1 rest: Z is taken to have no direction but these, all others being as large as the
        least of them."""
        floor = h + a * self.values[-1]
        inside = 1.0 / (h + np.multiply.outer(self.values, a)) - 1.0 / floor
        return np.asarray(rest / floor + self.vectors @ (inside * (self.vectors.T @ rest)))


def steering_of(rows: RidgeRows, seed: int = 0) -> Steering:
    """By randomised decomposition, on the smaller side.

    >>> from taxolearn.problem import make_problem
    >>> steering_of(ridge_rows(make_problem([[3.0], [4.0]], ["a", "b"]), 0.0)).values.round(9).tolist()
    [25.0]
    """
    k = min(_DIRECTIONS, min(rows.Z.shape))
    left, values, right = randomized_svd(rows.Z, k, n_iter=2, random_state=seed)
    return Steering(rows.mark, values**2, left if _by_row(rows) else np.ascontiguousarray(right.T))


def _by_row(rows: RidgeRows) -> bool:
    return bool(rows.Z.shape[0] <= rows.Z.shape[1])


def solve_ridge_gradients(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """(h + a_j ZZ') b_j = r_j for every eigenvector j of the classes, or the same in the features if these are fewer.

    Eigenvectors are solved for in blocks; nothing rows x rows or features x features is made. `limits.max_iter`
    counts the steps of a block. It begins at the dual of a start.

    >>> from taxolearn.losses import Square
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> objective = Objective(problem, Square(), flat(2), C=0.5, bias_feature=0.0)
    >>> solve_ridge_gradients(objective, Limits(tol=1e-9)).vectors.coef.round(6).tolist()
    [[-0.333333], [0.333333]]
    """
    check_requirements("gradients", REQUIRES, objective)
    start = start or Start()
    check_start(start.dual, (objective.n_units, objective.problem.n_rows))
    h, rotation = half_ridge(objective), rotation_of(objective.tie)
    with np.errstate(over="ignore", invalid="ignore"), limits.run() as run, threads_of(run):
        rows = ridge_rows(objective.problem, objective.bias_feature)
        found = _first(rows, rotation, h, start)
        rounds = Rounds(limits, run, watch, lambda: rows.solution(found, rotation, h)[1])
        kept = isinstance(start.state, Steering) and start.state.mark == rows.mark
        steering: Steering | None = start.state if kept else None
        tol = _SHARE * limits.tol
        n_iter = 0
        while rounds.another(*bounds_of(rows, found, rotation, h)):
            steering = steering or steering_of(rows, limits.seed)
            steps = _solve(rows, steering, rotation, h, tol, found, run, limits.max_iter - n_iter)
            n_iter += steps
            tol *= 0.1
            if n_iter >= limits.max_iter or steps == 0:
                rounds.another(*bounds_of(rows, found, rotation, h))
                break
        vectors, dual = rows.solution(found, rotation, h)
    return Solution(vectors, dual, rounds.status, n_iter, rounds.history, {}, steering)


def _first(rows: RidgeRows, rotation: Rotation, h: float, start: Start) -> Found:
    """Zero, or what belongs to the dual of a start."""
    width = len(rotation.values)
    if start.dual is None:
        return Found(np.zeros((rows.Z.shape[1], width)), np.zeros((rows.Z.shape[0], width)))
    roots = rows.roots[:, None]
    given = start.dual.T.toarray()
    duals = rotation.of(np.divide(given, roots, out=np.zeros_like(given), where=roots > 0))
    vectors = (rows.Z.T @ duals) * rotation.values
    if not _by_row(rows):
        duals = (rotation.of(rows.targets) - rows.Z @ vectors) / h
    return Found(np.asarray(vectors), np.asarray(duals))


def _solve(
    rows: RidgeRows,
    steering: Steering,
    rotation: Rotation,
    h: float,
    tol: float,
    found: Found,
    run: Run,
    most: int,
) -> int:
    """Improve what was found, in place; the largest number of steps of a block."""
    taken = 0
    step = max(1, _BLOCK_BYTES // (8 * 4 * sum(rows.Z.shape)))
    for first in range(0, len(rotation.values), step):
        few = slice(first, first + step)
        a = rotation.values[few]
        R = (
            rotation.of(rows.targets)[:, few]
            if rotation.vectors is None
            else rows.targets @ rotation.vectors[:, few]
        )
        block = _by_rows if _by_row(rows) else _by_features
        taken = max(taken, block(rows, steering, a, h, tol, R, found, few, run, most))
        if run.over():
            break
    return taken


def _by_rows(
    rows: RidgeRows, steering: Steering, a: Array, h: float, tol: float, R: Array, found: Found, few: slice, run: Run,
    most: int,
) -> int:  # fmt: skip
    duals = found.duals[:, few].copy()

    def product(z: Array) -> Array:
        return np.asarray(h * z + rows.Z @ ((rows.Z.T @ z) * a))

    def undone(b: Array, rest: Array) -> Any:
        """The gap is ||rest||^2 / (2 h), the dual b . (r + rest) / 2."""
        gap = np.einsum("ij,ij->j", rest, rest) / (2.0 * h)
        return gap > tol * (gap + 0.5 * np.einsum("ij,ij->j", b, R + rest))

    steps = conjugate_gradients(product, lambda z: steering.scaled(z, a, h), R, duals, undone, run, most)
    found.duals[:, few] = duals
    found.vectors[:, few] = (rows.Z.T @ duals) * a
    return steps


def _by_features(
    rows: RidgeRows, steering: Steering, a: Array, h: float, tol: float, R: Array, found: Found, few: slice, run: Run,
    most: int,
) -> int:  # fmt: skip
    vectors = found.vectors[:, few].copy()
    right = (rows.Z.T @ R) * a
    squares = np.einsum("ij,ij->j", R, R) / (2.0 * h)

    def product(z: Array) -> Array:
        return np.asarray(h * z + (rows.Z.T @ (rows.Z @ z)) * a)

    def undone(v: Array, rest: Array) -> Any:
        """The gap is ||rest||^2 / (2 a h^2), the primal ||r||^2 / (2 h) - v . (right + rest) / (2 a h)."""
        gap = np.einsum("ij,ij->j", rest, rest) / (2.0 * a * h * h)
        return gap > tol * (squares - np.einsum("ij,ij->j", v, right + rest) / (2.0 * a * h))

    steps = conjugate_gradients(
        product, lambda z: steering.scaled(z, a, h), right, vectors, undone, run, most
    )
    found.vectors[:, few] = vectors
    found.duals[:, few] = (R - rows.Z @ vectors) / h
    return steps


def conjugate_gradients(
    product: Any, scaled: Any, right: Array, x: Array, undone: Any, run: Run, most: int
) -> int:
    """Solve product(x) = right for all columns at once, from x on and in place; the number of steps.

    `scaled(z)` is nearly the inverse; `undone(x, rest)` says which columns go on.

    >>> from taxolearn.engines import running
    >>> x, A = np.zeros((2, 1)), np.diag([1.0, 4.0])
    >>> with running() as run:
    ...     conjugate_gradients(
    ...         lambda z: A @ z, lambda z: z, np.ones((2, 1)), x, lambda x, r: (r**2).sum(axis=0) > 1e-20, run, 9
    ...     )
    2
    >>> x.round(9).tolist()
    [[1.0], [0.25]]
    """
    rest = right - product(x)
    direction = np.array(scaled(rest))
    size = np.einsum("ij,ij->j", rest, direction)
    for step in range(most):
        going = undone(x, rest)
        if not going.any() or run.over():
            return step
        along = product(direction)
        curvature = np.einsum("ij,ij->j", direction, along)
        ahead = np.where(going & (curvature > 0), size / np.where(curvature > 0, curvature, 1.0), 0.0)
        x += ahead * direction
        rest -= ahead * along
        better = scaled(rest)
        next_size = np.einsum("ij,ij->j", rest, better)
        turn = np.where(size > 0, next_size / np.where(size > 0, size, 1.0), 0.0)
        direction = better + np.where(going, turn, 0.0) * direction
        size = next_size
    return most
