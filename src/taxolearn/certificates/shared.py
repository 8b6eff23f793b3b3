"""Vectors along paths whose scales are learned, at most one in sum along every path."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.path_sum import PathSumSide
from taxolearn.certificates.rounding import Array, Ball, gamma
from taxolearn.certificates.scores import Rows
from taxolearn.certificates.sums import Adjoint, squares_with_bias
from taxolearn.engines import Run
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import Solution
from taxolearn.structure import Taxonomy

_SLACK = 1e-9  # by which the sum along a path may exceed one; the scales are then divided by it


class SharedSide(PathSumSide):
    """The joint optimum over node vectors u and scales a of (14) of Choi, Sasaki and Srebro.

    Above: the penalty at u and at the scales found (`details["scale"]` of the solution, else those of the tie). Below,
    for any dual: the square is the largest of all scales, max over a of sum_n a_n ||z_n||^2.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import Status
    >>> from taxolearn.ties import shared_tie
    >>> from taxolearn.vectors import NodeVectors
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> tie = shared_tie(tree, tree.leaf_ids, np.full(3, 0.5))
    >>> objective = Objective(make_problem([[-1.0], [1.0]], ["Cat", "Dog"], tree), Hinge(), tie)
    >>> vectors = NodeVectors(np.ones((1, 3)), tie.paths, np.zeros(2))
    >>> SharedSide(objective, Solution(vectors, sp.csr_array((2, 2)), Status.CONVERGED, 0)).penalty().value
    3.0
    """

    def __init__(self, objective: Objective, solution: Solution) -> None:
        self.taxonomy: Taxonomy = objective.tie.taxonomy
        super().__init__(objective, solution)
        self.independent = False

    def _scale(self, solution: Solution) -> Array:
        scale = np.asarray(solution.details.get("scale", self.tie.scale), dtype=np.float64)
        self.most = float((self.tie.paths @ scale).max(initial=0.0))
        if self.most > 1 + _SLACK:
            raise DataError(f"scales sum to {self.most:g} along a path; learned ones may sum to at most 1")
        return scale

    def penalty(self) -> Ball:
        """1/2 sum_n ||u_n||^2 / a_n, with scales that keep to their sums exactly."""
        found = super().penalty()
        depth = float(np.diff(self.paths.indptr).max(initial=1))
        return found * Ball(max(1.0, self.most), gamma(depth))

    def square(self, adjoint: Adjoint, rows: Rows, run: Run) -> Ball:
        """max over scales a of sum_n a_n ||z_n||^2; z_n counts where the scale found is zero, too."""
        under = sp.csr_array(self.paths.T)
        squares = squares_with_bias(under, adjoint, rows, run, self.tied)
        if not np.isfinite(squares.value).all():
            return Ball(np.nan, np.inf)
        high = squares.value + squares.error
        low = np.maximum(0.0, squares.value - squares.error)
        if self.taxonomy.is_tree:
            value = _on_tree(self.taxonomy.parent, squares.value)
            change = max(
                _on_tree(self.taxonomy.parent, high) - value, value - _on_tree(self.taxonomy.parent, low)
            )
            return Ball(value, change + gamma(2.0 * len(high)) * value)
        above = _above_on_dag(self.paths, high)
        below = _below_on_dag(self.paths, low)
        return Ball(above, (above - below) + gamma(2.0 * len(high)) * above)


def _on_tree(parent: npt.NDArray[np.int32], squares: Array) -> float:
    """A unit of scale goes to a node, or once to each of its children's subtrees."""
    best = squares.tolist()
    below = [0.0] * len(best)
    for node in range(len(best) - 1, -1, -1):  # children have larger ids than their parent
        best[node] = max(best[node], below[node])
        if node:
            below[parent[node]] += best[node]
    return float(best[0])


def _above_on_dag(paths: sp.csr_array, squares: Array) -> float:
    """The dual of the linear programme: prices of paths that cover every node bound the maximum from above.

    What a solver's prices leave uncovered is added to them, so that its precision does not matter.
    """
    from scipy.optimize import linprog

    largest = float(squares.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    found = linprog(
        np.ones(paths.shape[0]), A_ub=-sp.csr_array(paths.T), b_ub=-squares / largest, method="highs"
    )
    prices = largest * np.maximum(found.x, 0.0)
    return float(prices.sum() + np.maximum(squares - paths.T @ prices, 0.0).sum())


def _below_on_dag(paths: sp.csr_array, squares: Array) -> float:
    """The sum at scales that the linear programme gives, divided by the largest sum along a path."""
    from scipy.optimize import linprog

    largest = float(squares.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    found = linprog(-squares / largest, A_ub=paths, b_ub=np.ones(paths.shape[0]), method="highs")
    scale = np.maximum(found.x, 0.0)
    return float(scale @ squares) / max(1.0, float((paths @ scale).max(initial=0.0)))
