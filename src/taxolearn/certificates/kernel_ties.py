"""Penalty and square of ties over units, from the products of their vectors with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from taxolearn.certificates.orthogonal import inverse_norm, signed_matrix
from taxolearn.certificates.rounding import Array, Ball, gamma


class GramTie:
    """A tie whose penalty is 1/2 tr(W' M W) or, with absolute products, 1/2 sum_ij M_ij |w_i . w_j|.

    M is the precision of a graph, whose other nodes than the units get vectors that make the penalty least, or K of
    orthogonal transfer, of which `signs` bound the square.

    >>> from taxolearn.ties import transfer_tie
    >>> tie = GramTie(transfer_tie(None, [0, 1]), None)
    >>> products = Ball(np.array([[4.0, 1.0], [1.0, 9.0]]), np.zeros((2, 2)))
    >>> tie.penalty(products).value, tie.square(products).value
    (6.5, 13.0)
    """

    def __init__(self, tie: Any, signs: npt.NDArray[Any] | None) -> None:
        self.tie, self.absolute = tie, tie.facts.absolute
        if self.absolute:
            self.matrix = signed_matrix(tie, signs)
            self.units = np.arange(tie.n_classes)
            self.inverse = inverse_norm(tie)
        else:
            self.matrix = sp.csr_array(tie.precision())
            self.units = np.asarray(tie.class_nodes)
            size = abs(self.matrix)
            beside = np.asarray(size.sum(axis=1)).ravel() - size.diagonal()
            least = float((self.matrix.diagonal() * (1 - 1e-12) - beside * (1 + 1e-12)).min())  # Gershgorin
            self.inverse = 1.0 / least if least > 0 else np.inf
        self.terms = float(np.diff(self.matrix.indptr).max(initial=1)) + 4.0

    def penalty(self, products: Ball) -> Ball:
        """Of vectors with these products: an upper bound that is as sharp as rounding lets it be."""
        if self.absolute:
            first, second, weight = self.tie.pairs
            beside = products[first, second]
            diagonal = Ball(np.diagonal(products.value), np.diagonal(products.error))
            own = (diagonal * self.tie.matrix.diagonal()).sum() * 0.5
            apart: Ball = (Ball(np.abs(beside.value), beside.error) * weight).sum()
            total: Ball = own + apart
            return total
        lift = self._lift()
        sizes = np.abs(lift).T @ (abs(self.matrix) @ np.abs(lift))
        form = Ball(lift.T @ (self.matrix @ lift), gamma(self.terms + len(lift) + 4.0) * sizes)
        found: Ball = (products * form).sum() * 0.5
        return found

    def _lift(self) -> Array:
        """Vectors of all nodes from those of the units: any will do, and the best are near."""
        n_nodes = self.matrix.shape[0]
        lift = np.zeros((n_nodes, len(self.units)))
        lift[self.units, np.arange(len(self.units))] = 1.0
        latent = np.setdiff1d(np.arange(n_nodes), self.units)
        if len(latent):
            right = -np.asarray(self.matrix[latent] @ lift)
            lift[latent] = splu(sp.csc_array(self.matrix[latent][:, latent])).solve(right)
        return lift

    def square(self, products: Ball) -> Ball:
        """tr(V' M^-1 V): with Y = A V for any A and R = V - M Y it is tr(Y' (V + R)) + tr(R' M^-1 R)."""
        n_nodes, n_units = self.matrix.shape[0], len(self.units)
        right = np.zeros((n_nodes, n_units))
        right[self.units, np.arange(n_units)] = 1.0
        found = np.asarray(splu(sp.csc_array(self.matrix)).solve(right))
        sizes = abs(self.matrix) @ np.abs(found)
        rest = right - self.matrix @ found
        error = gamma(self.terms) * (sizes + right)
        form = Ball(
            found.T @ (right + rest),
            np.abs(found).T @ error + gamma(n_nodes + 4.0) * (np.abs(found).T @ (right + np.abs(rest))),
        )
        total = (products * form).sum()
        trace = Ball(np.diagonal(products.value), np.diagonal(products.error)).sum()
        residual = float(np.sum((np.abs(rest) + error) ** 2)) * (trace.value + trace.error)
        return Ball(total.value, total.error + self.inverse * residual * 1.001)
