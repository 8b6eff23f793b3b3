"""What proximal points of a structured hinge need of its rows: projected duals, and second derivatives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from taxolearn.solvers.interior_terms import StructuredTerms

Array = npt.NDArray[np.float64]


def project(wanted: Array, cost: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The nearest duals that are not negative and sum up to the cost of their row at most; and the rows that do.

    >>> duals, at_cost = project(np.array([[3.0, 2.0, 0.5], [0.5, -1.0, 0.0]]), np.array([2.0, 2.0]))
    >>> duals.tolist(), at_cost.tolist()
    ([[1.5, 0.5, 0.0], [0.5, 0.0, 0.0]], [True, False])
    """
    duals = np.maximum(wanted, 0.0)
    at_cost = duals.sum(axis=1) > cost
    rows = np.flatnonzero(at_cost)
    if len(rows):
        falling = -np.sort(-duals[rows], axis=1)
        over = np.cumsum(falling, axis=1) - cost[rows][:, None]
        number = np.arange(1, falling.shape[1] + 1)
        kept = np.maximum(1, np.sum(falling * number > over, axis=1))
        shift = over[np.arange(len(rows)), kept - 1] / kept
        found = np.maximum(duals[rows] - shift[:, None], 0.0)
        # a shift far above the cost leaves its rounding, by which the sum would pass the cost
        sums = found.sum(axis=1)
        duals[rows] = found * np.divide(cost[rows], sums, out=np.ones_like(sums), where=sums > 0)[:, None]
    return duals, at_cost


class FreeRows:
    """Rows with duals that may move either way: the second derivatives of softened losses come from them alone.

    Those of a row are length x S (I - 1 1' / n) S in the differences s_y - s_l of its n positive duals, or
    length x S^2 where their sum is below the cost.
    """

    def __init__(
        self,
        rows: Array,
        terms: StructuredTerms,
        duals: Array,
        at_cost: npt.NDArray[np.bool_],
        lengths: Array,
    ) -> None:
        positive = duals > 0
        count = positive.sum(axis=1)
        chosen = np.flatnonzero(count > at_cost)
        self.rows = rows[chosen]
        self.own = np.arange(len(chosen)), terms.own[1][chosen]
        self.scaling = np.where(positive[chosen], terms.scaling[chosen], 0.0)
        self.positive = positive[chosen].astype(np.float64)
        self.lengths = lengths[chosen]
        self.shares = np.where(at_cost[chosen], 1.0 / count[chosen], 0.0)

    def curved(self, direction: Array) -> Array:
        """The second derivatives along a direction, features x classes."""
        scores = self.rows @ direction
        moved = scores - scores[self.own][:, None]
        moved *= self.scaling
        moved -= (self.shares * moved.sum(axis=1))[:, None] * self.positive
        moved *= self.scaling
        moved *= self.lengths[:, None]
        moved[self.own] = -moved.sum(axis=1)
        return np.asarray(self.rows.T @ moved)

    def inverse_blocks(self, diagonal: Array) -> Array:
        """Inverses of the second derivatives of each class, with so much on the diagonal: classes x features x
        features."""
        weights = self.scaling**2 * (self.lengths * (1.0 - self.shares))[:, None]
        total = self.scaling.sum(axis=1)
        weights[self.own] = self.lengths * (np.sum(self.scaling**2, axis=1) - self.shares * total**2)
        roots = np.sqrt(np.maximum(weights, 0.0))
        width = self.rows.shape[1]
        blocks = np.zeros((len(diagonal), width, width))
        every = np.arange(width)
        for block, one, root in zip(blocks, diagonal, roots.T, strict=True):
            some = np.flatnonzero(root)
            scaled = self.rows[some] * root[some, None]
            np.matmul(scaled.T, scaled, out=block)
            block[every, every] += one
        return np.asarray(np.linalg.inv(blocks))
