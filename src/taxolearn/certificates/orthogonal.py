"""Vectors whose absolute products are penalised: orthogonal transfer."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from taxolearn.certificates.columns import ClassColumns
from taxolearn.certificates.rounding import TINY, UNIT, Array, Ball, gamma, norm_bounds, pairwise
from taxolearn.certificates.scores import Rows
from taxolearn.certificates.sums import Adjoint, sum_errors, vector_sums
from taxolearn.engines import Run
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import Solution
from taxolearn.ties.orthogonal import OrthogonalTie

_BLOCK_BYTES = 32 * 2**20  # of vectors at a time


class OrthogonalSide:
    """Penalty 1/2 sum_ij K_ij |w_i . w_j|, and a square that is not below twice its conjugate.

    For any S with entries from -1 to 1 the penalty is at least 1/2 tr(W' (K o S) W), so that tr(V' (K o S)^-1 V) bounds
    the square from above. S is `details["signs"]` of the solution, one number per pair of the tie; else zero.

    >>> from taxolearn.losses import sibling_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import Status
    >>> from taxolearn.vectors import ClassVectors
    >>> tie = OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]]))
    >>> loss = sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2)
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), loss, tie)
    >>> vectors = ClassVectors(np.array([[1.0], [-2.0]]), np.zeros(2))
    >>> OrthogonalSide(objective, Solution(vectors, sp.csr_array((2, 2)), Status.CONVERGED, 0)).penalty().value
    7.0
    """

    independent = False
    offset = 0.0
    slack = 0.0

    def __init__(self, objective: Objective, solution: Solution) -> None:
        self.tie: OrthogonalTie = objective.tie
        vectors: Any = solution.vectors
        self.columns = ClassColumns(vectors.coef)
        self.tied = objective.bias_feature if objective.loss.facts.tied_bias else 0.0
        self.bias = Ball(vectors.intercept) / self.tied if self.tied else None
        self.signed = signed_matrix(self.tie, solution.details.get("signs"))

    def penalty(self) -> Ball:
        """1/2 sum_ij K_ij |w_i . w_j|, from the definition."""
        coef, (first, second, weight) = self.columns.coef, self.tie.pairs
        n_units, n_features = coef.shape
        squares, products = np.zeros(n_units), np.zeros(len(weight))
        width = max(1, _BLOCK_BYTES // (24 * (n_units + len(weight))))
        for start in range(0, n_features, width):
            block = coef[:, start : start + width]
            block = (block.toarray() if sp.issparse(block) else block).astype(np.float64, copy=False)
            squares += np.einsum("ij,ij->i", block, block)
            products += np.einsum("ij,ij->i", block[first], block[second])
        norms = norm_bounds(squares, n_features)
        squared = Ball(squares, gamma(n_features + 1.0) * squares + n_features * TINY)
        lost = n_features * TINY
        crossed = Ball(products, gamma(n_features + 1.0) * norms[first] * norms[second] + lost)
        if self.bias is not None:
            squared = squared + self.bias * self.bias
            crossed = crossed + Ball(self.bias.value[first], self.bias.error[first]) * Ball(
                self.bias.value[second], self.bias.error[second]
            )
        apart = Ball(np.abs(crossed.value), crossed.error) * weight
        found = (squared * self.tie.matrix.diagonal()).sum() * 0.5 + apart.sum()
        return found if np.isfinite(found.value) else Ball(np.inf)

    def square(self, adjoint: Adjoint, rows: Rows, run: Run) -> Ball:
        """tr(V' M^-1 V) with M = K o S: for any Y and R = V - M Y it is tr(Y' (V + R)) + tr(R' M^-1 R)."""
        vectors, terms = vector_sums(adjoint.under(None), rows.X)
        vectors = vectors.toarray() if sp.issparse(vectors) else vectors
        found = self._square(np.asarray(vectors), sum_errors(None, adjoint, rows, terms))
        if not self.tied:
            return found
        sums = adjoint.sums * self.tied
        return found + self._square(sums.value[:, None], sums.error)

    @cached_property
    def _inverse(self) -> tuple[Any, float]:
        """Factors of K o S, and a bound on the norm of its inverse."""
        return splu(sp.csc_array(self.signed)), inverse_norm(self.tie)

    def _square(self, vectors: Array, errors: Array) -> Ball:
        """The square of vectors of units, whose norms are off by at most `errors`."""
        if not np.isfinite(vectors).all():
            return Ball(np.nan, np.inf)
        factors, inverse = self._inverse
        most = float(np.diff(self.signed.indptr).max(initial=1)) + 4.0
        total, norms, residual = Ball(0.0), np.zeros(len(vectors)), 0.0
        width = max(1, _BLOCK_BYTES // (64 * len(vectors)))
        for start in range(0, vectors.shape[1], width):
            right = np.ascontiguousarray(vectors[:, start : start + width], dtype=np.float64)
            found = np.asarray(factors.solve(right))
            products = self.signed @ found
            sizes = abs(self.signed) @ np.abs(found)
            rest = right - products
            error = gamma(most) * sizes + 2 * UNIT * (np.abs(right) + np.abs(products)) + most * TINY
            both = found * (right + rest)
            lost = np.abs(found) * (error + 2 * UNIT * (np.abs(right) + np.abs(rest)))
            lost_by = (
                float(lost.sum()) + gamma(pairwise(both.size)) * float(np.abs(both).sum()) + both.size * TINY
            )
            total = total + Ball(float(both.sum()), lost_by)
            residual += float(np.sum((np.abs(rest) + error) ** 2))
            norms += np.add.reduce(found * found, axis=1)
        longer = norm_bounds(norms, vectors.shape[1]) + inverse * np.sqrt(residual)
        moved = 2 * float(longer @ errors) + inverse * float(np.sum(errors**2))
        last = inverse * residual  # of tr(R' M^-1 R), which lies between 0 and this
        return Ball(total.value, total.error + last + moved) if np.any(vectors) else Ball(0.0)


def signed_matrix(tie: OrthogonalTie, signs: npt.NDArray[Any] | None) -> sp.csr_array:
    """K o S; products of K and numbers up to one are not larger than K, also when rounded.

    >>> tie = OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]]))
    >>> signed_matrix(tie, np.array([-0.5])).toarray().tolist()
    [[2.0, -0.5], [-0.5, 2.0]]
    """
    first, second, weight = tie.pairs
    diagonal = tie.matrix.diagonal()
    if signs is None or not len(weight):
        return sp.csr_array(sp.diags_array(diagonal))
    signs = np.asarray(signs, dtype=np.float64)
    if signs.shape != weight.shape or not np.all(np.abs(signs) <= 1.0):
        raise DataError(f"signs must be {len(weight)} numbers from -1 to 1, one per pair of nodes")
    every, beside = np.arange(len(diagonal)), weight * signs
    entries = np.concatenate([beside, beside, diagonal])
    places = np.concatenate([first, second, every]), np.concatenate([second, first, every])
    return sp.csr_array((entries, places), shape=tie.matrix.shape)


def inverse_norm(tie: OrthogonalTie) -> float:
    """||(K o S)^-1|| of every S is at most that of the comparison matrix, and this at most max z / min of its product
    with z, for any z > 0 with such a product: no entry beside its diagonal is positive, and it is the smallest of all.

    >>> round(inverse_norm(OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]]))), 3)
    1.0
    """
    comparison = tie.comparison
    z = np.asarray(splu(sp.csc_array(comparison)).solve(np.ones(comparison.shape[0])))
    error = gamma(np.diff(comparison.indptr) + 2.0) * (abs(comparison) @ np.abs(z))
    least = float((comparison @ z - error).min())
    return 1.0001 * float(z.max()) / least if least > 0 and float(z.min()) > 0 else np.inf
