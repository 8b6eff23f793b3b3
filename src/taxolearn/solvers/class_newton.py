"""Newton's method for a smooth loss of one class on dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import get_lapack_funcs

from taxolearn.engines import Clock
from taxolearn.solvers.line_search import search

Array = npt.NDArray[np.float64]

_STEEP = 0.5  # share of the slope that a line search may leave


class ClassNewton:
    """Newton's method for one class against the rest, on rows with their bias feature."""

    def __init__(self, loss: Any, X: Array, sign: Any, cost: Any, z: Any, scores: Any) -> None:
        self.loss, self.X = loss, X
        self.sign, self.cost = np.ascontiguousarray(sign), np.ascontiguousarray(cost)
        self.z, self.scores = z.copy(), np.ascontiguousarray(scores)
        self.primal = self.gap = np.inf
        self.converged = False

    def minimise(self, tol: float, clock: Clock, most: int) -> int:
        """Steps until the gap is reached; how many."""
        X, sign, cost = self.X, self.sign, self.cost
        solve = get_lapack_funcs("posv", (X,))
        values, slopes = self.loss.value_and_slope(self.scores * sign)
        self.primal = float(cost @ values + 0.5 * self.z @ self.z)
        steps = 0
        while True:
            gradient = self.z - X.T @ (cost * slopes * sign)
            self.gap = 0.5 * float(gradient @ gradient)
            self.converged = self.gap <= 0.999 * tol * self.primal
            if self.converged or steps >= most or clock.stop[0] or clock.late:
                return steps
            weight = cost * self.loss.second_slope(self.scores * sign)
            bent = np.flatnonzero(weight)
            rows = X if len(bent) == len(X) else X[bent]
            half = rows * np.sqrt(weight if rows is X else weight[bent])[:, None]
            hessian = half.T @ half
            hessian.flat[:: len(hessian) + 1] += 1.0
            scale = 1.0 / np.sqrt(hessian.diagonal())  # features may be of very different sizes
            hessian *= scale
            hessian *= scale[:, None]
            _, way, failed = solve(hessian, -scale * gradient, overwrite_a=True)
            if failed:
                return steps
            way *= scale
            found = self._search(way, float(gradient @ way))
            if found is None:
                return steps
            steps += 1
            t, move, slopes, self.primal = found
            self.z = self.z + t * way
            self.scores = self.scores + t * move

    def _search(self, way: Array, slope: float) -> tuple[float, Array, Array, float] | None:
        """A lower point along the way: its length, the move of scores, slopes of the losses and the objective there."""
        move = self.X @ way
        square, across, length = float(self.z @ self.z), float(self.z @ way), float(way @ way)
        slopes, primal = move, np.inf

        def evaluate(t: float) -> tuple[float, float]:
            nonlocal slopes, primal
            values, slopes = self.loss.value_and_slope((self.scores + t * move) * self.sign)
            primal = float(self.cost @ values) + 0.5 * (square + 2 * t * across + t * t * length)
            return primal, across + t * length - float((self.cost * slopes * self.sign) @ move)

        t, last = search(evaluate, self.primal, slope, _STEEP)
        if not t:
            return None
        if t != last:
            evaluate(t)
        return t, move, slopes, primal
