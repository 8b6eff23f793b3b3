"""Vectors along paths whose nodes have a scale per feature."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from taxolearn.certificates.columns import NodeColumns
from taxolearn.certificates.rounding import Array, Ball, gamma, square
from taxolearn.certificates.scores import Rows
from taxolearn.certificates.sums import Adjoint, squares_of_sums
from taxolearn.engines import Run
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import Solution
from taxolearn.ties import FeaturePathSum

_ROUNDINGS = 3.0  # of a feature times the root of its scale


class FeatureSide:
    """Penalty 1/2 sum_nj u_nj^2 / a_nj and square sum_nj a_nj (sum over classes l below n of v_lj)^2.

    The square is that of rows whose features are multiplied with the roots of a node's scales; nodes with the same
    scales are looked at together. Vectors must be given per node.

    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import Status
    >>> from taxolearn.vectors import NodeVectors
    >>> paths = sp.csr_array(np.eye(2))
    >>> tie = FeaturePathSum(paths, np.array([[1.0, 4.0], [1.0, 4.0]]))
    >>> objective = Objective(make_problem([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]), Softmax(), tie)
    >>> vectors = NodeVectors(np.array([[1.0, 0.0], [0.0, 2.0]]), paths, np.zeros(2))
    >>> FeatureSide(objective, Solution(vectors, sp.csr_array((2, 2)), Status.CONVERGED, 0)).penalty().value
    1.0
    """

    independent = False

    def __init__(self, objective: Objective, solution: Solution) -> None:
        self.tie: FeaturePathSum = objective.tie
        if objective.loss.facts.tied_bias:
            raise DataError("scales by feature have none for a bias that is tied like a feature")
        vectors = solution.vectors
        if not hasattr(vectors, "nodes"):
            raise DataError("scales by feature are certified for node vectors; give those of the solver")
        self.nodes = vectors.nodes.T.toarray() if sp.issparse(vectors.nodes) else vectors.nodes
        self.columns = NodeColumns(vectors, self.tie.paths)
        self.offset: Array | float = 0.0
        self.slack: Array | float = 0.0

    def penalty(self) -> Ball:
        """1/2 sum_nj u_nj^2 / a_nj; infinite where a node of no scale has a vector."""
        scale = self.tie.scale.T
        if np.any(self.nodes[scale == 0]):
            return Ball(np.inf)
        parts = square(Ball(self.nodes.astype(np.float64, copy=False)))
        return (parts / np.where(scale > 0, scale, 1.0)).sum() * 0.5

    def square(self, adjoint: Adjoint, rows: Rows, run: Run) -> Ball:
        """sum_nj a_nj z_nj^2."""
        adjoint = replace(adjoint, relative=adjoint.relative + gamma(_ROUNDINGS))
        total, under = Ball(0.0), sp.csr_array(self.tie.paths.T)
        distinct, which = np.unique(self.tie.scale, axis=0, return_inverse=True)
        for number, scale in enumerate(distinct):
            if not scale.any():
                continue
            nodes = under[np.flatnonzero(which.ravel() == number)]
            root = np.sqrt(scale)
            scaled = sp.csr_array(rows.X * root[None, :]) if sp.issparse(rows.X) else rows.X * root
            total = total + squares_of_sums(nodes, adjoint, Rows(scaled), run).sum()
        return total
