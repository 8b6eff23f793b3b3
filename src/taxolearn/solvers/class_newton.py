"""Newton's method for a smooth loss of one class on dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dposv

from taxolearn.engines import Clock
from taxolearn.solvers.line_search import search

Array = npt.NDArray[np.float64]

_STEEP = 0.5  # share of the slope that a line search may leave


class ClassNewton:
    """Newton's method for one class against the rest: rows have their bias feature, and the sign of their label."""

    def __init__(self, loss: Any, rows: Array, cost: Array, z: Array, margins: Array) -> None:
        self.loss, self.rows, self.cost = loss, rows, cost
        self.z, self.margins = z, margins
        values, slopes = loss.value_and_slope(margins)
        self.dual = cost * slopes
        self.primal = float(cost @ values + 0.5 * (z @ z))
        self.gap, self.converged = np.inf, False

    def minimise(self, tol: float, clock: Clock, most: int, curved: Array | None = None) -> int:
        """Steps until the gap is reached; how many. The first step is by the Hessian `curved`, if it is given."""
        steps = 0
        while True:
            gradient = self.z - self.dual @ self.rows
            self.gap = 0.5 * float(gradient @ gradient)
            self.converged = self.gap <= 0.999 * tol * self.primal
            if self.converged or steps >= most or clock.stop[0] or clock.late:
                return steps
            if steps or curved is None:
                curved = hessian(self.rows, self.cost * self.loss.second_slope(self.margins))
            # Cholesky factors are as good as those of a matrix whose features were brought to one size
            _, way, failed = dposv(curved.T, gradient)
            if failed or not self._moved(-way, -float(gradient @ way)):
                return steps
            steps += 1

    def _moved(self, way: Array, slope: float) -> bool:
        """Go to a lower point along the way, if there is one."""
        before = self.margins, self.dual, self.primal
        z, margins, cost, move = self.z, self.margins, self.cost, self.rows @ way
        square, across, length = float(z @ z), float(z @ way), float(way @ way)

        def evaluate(t: float) -> tuple[float, float]:
            self.margins = margins + t * move
            values, slopes = self.loss.value_and_slope(self.margins)
            self.dual = cost * slopes
            self.primal = float(cost @ values) + 0.5 * (square + 2 * t * across + t * t * length)
            return self.primal, across + t * length - float(self.dual @ move)

        t, last = search(evaluate, self.primal, slope, _STEEP)
        if not t:
            self.margins, self.dual, self.primal = before
            return False
        if t != last:
            evaluate(t)
        self.z = z + t * way
        return True


def hessian(rows: Array, weight: Array) -> Array:
    """I + the sum of rows' squares, each with its weight.

    >>> hessian(np.array([[1.0, 2.0]]), np.array([4.0])).tolist()
    [[5.0, 8.0], [8.0, 17.0]]
    """
    bent = weight.nonzero()[0]
    if len(bent) < len(weight):
        rows, weight = rows.take(bent, axis=0), weight[bent]
    half = rows * np.sqrt(weight)[:, None]
    found = half.T @ half
    found.flat[:: len(found) + 1] += 1.0
    return np.asarray(found)
