"""The taxonomy matrix that suits given class vectors best: graphical lasso, balls of spectral norms, sparse graphs.

With S = W W' of the class vectors, each step minimises tr(Theta S) plus what speaks against Theta, the inverse of A,
and bounds how far above the least it ends.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning

Array = npt.NDArray[np.float64]

_LASSO_TOL = 1e-9  # gap of scikit-learn's graphical lasso, per class
_LASSO_PASSES = 200
_LEAST = 1e-12  # eigenvalues of A, as a share of the largest: what is zero could never rise
_NO_EDGE = 1e-9  # weights below this share of the largest are none


class Matrix(NamedTuple):
    """A and its inverse; the value of tr(Theta S) and all that speaks against Theta; and how far above the least it is
    at most.

    >>> Matrix(np.eye(2), np.eye(2), 2.0, 0.0).value
    2.0
    """

    covariance: Array
    precision: Array
    value: float
    gap: float


class Prior(Protocol):
    """What speaks against a Theta: its value with tr(Theta S), and the best Theta for an S.

    >>> prior: Prior = GraphicalLasso(0.1)
    >>> prior.value(np.eye(2), np.eye(2))
    2.2
    """

    def value(self, precision: Array, S: Array) -> float:
        """tr(Theta S) and what speaks against Theta."""

    def best(self, S: Array, first: Array) -> Matrix:
        """The Theta of the least value; never worse than the first."""


@dataclass(frozen=True)
class GraphicalLasso:
    """-log det Theta + nu ||Theta||_1: (6), (8) and (11).

    >>> GraphicalLasso(0.1).best(np.eye(2), np.eye(2)).precision.round(3).tolist()
    [[0.909, 0.0], [0.0, 0.909]]
    """

    nu: float

    def value(self, precision: Array, S: Array) -> float:
        """tr(Theta S) and what speaks against Theta."""
        return lasso_value(precision, S, self.nu)

    def best(self, S: Array, first: Array) -> Matrix:
        """See `lasso_step`."""
        return lasso_step(S, first, self.nu)


@dataclass(frozen=True)
class SpectralBall:
    """||A||_p <= radius, section 3.2: the trace norm with p = 1.

    >>> SpectralBall(1.0, 2.0).best(np.eye(2), np.eye(2)).covariance.round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    p: float
    radius: float

    def value(self, precision: Array, S: Array) -> float:
        """tr(Theta S), for a Theta within the ball."""
        return float(np.sum(precision * S))

    def best(self, S: Array, first: Array) -> Matrix:
        """See `spectral_step`."""
        return spectral_step(S, first, self.p, self.radius)


@dataclass(frozen=True)
class SparseGraph:
    """-log det Theta + nu ||W||_1 with Theta = Laplacian of W + gamma I, W >= 0.

    >>> SparseGraph(0.1, 1.0).best(np.ones((2, 2)), np.eye(2)).precision.round(3).tolist()
    [[5.5, -4.5], [-4.5, 5.5]]
    """

    nu: float
    gamma: float

    def value(self, precision: Array, S: Array) -> float:
        """tr(Theta S) and what speaks against Theta."""
        return graph_value(precision, S, self.nu)

    def best(self, S: Array, first: Array) -> Matrix:
        """See `graph_step`."""
        return graph_step(S, first, self.nu, self.gamma)


def _inverse(matrix: Array) -> Array:
    return np.linalg.inv(matrix).astype(np.float64, copy=False)


def lasso_value(precision: Array, S: Array, nu: float) -> float:
    """tr(Theta S) - log det Theta + nu ||Theta||_1, the norm being over all entries: (6) and (8) of the paper.

    >>> lasso_value(np.eye(2), np.eye(2), 0.5)
    3.0
    """
    sign, log = np.linalg.slogdet(precision)
    if sign <= 0:
        return np.inf
    return float(np.sum(precision * S) - log + nu * np.abs(precision).sum())


def lasso_step(S: Array, first: Array, nu: float) -> Matrix:
    """The least `lasso_value`, by scikit-learn's graphical lasso on each connected part.

    Classes whose entries of S are all at most nu fall apart (Witten, Friedman, Simon 2011). The gap is that of the dual
    point closest to the inverse: log det of a matrix within nu of S, plus the number of classes.

    >>> lasso_step(np.array([[1.0, 0.5], [0.5, 1.0]]), np.eye(2), 0.1).precision.round(3).tolist()
    [[1.048, -0.381], [-0.381, 1.048]]
    """
    n = len(S)
    # scikit-learn leaves the diagonal out of the norm; there it only adds nu to that of S
    shifted = S + nu * np.eye(n)
    size = float(np.mean(np.diag(shifted)))
    precision = np.diag(1.0 / np.diag(shifted))
    beside = ~np.eye(n, dtype=bool)
    parts, part = connected_components((np.abs(S) > nu) & beside, directed=False)
    for number in range(parts):
        own = np.ix_(part == number, part == number)
        if len(shifted[own]) > 1:
            precision[own] = _lasso_of_part(shifted[own] / size, nu / size) / size
    before = lasso_value(first, S, nu)
    value = lasso_value(precision, S, nu)
    if not value <= before:
        precision, value = first, before
    covariance = _inverse(precision)
    dual = np.clip(0.5 * (covariance + covariance.T), S - nu, S + nu)
    dual[~beside] = np.diag(shifted)
    sign, log = np.linalg.slogdet(dual)
    lower = log + n if sign > 0 and np.linalg.eigvalsh(dual)[0] > 0 else -np.inf
    return Matrix(0.5 * (covariance + covariance.T), precision, value, max(0.0, value - lower))


def _lasso_of_part(S: Array, nu: float) -> Array:
    if nu == 0:
        return np.asarray(np.linalg.inv(S))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is measured above
        try:
            _, precision = graphical_lasso(
                S, alpha=nu, tol=_LASSO_TOL * len(S), enet_tol=1e-8, max_iter=_LASSO_PASSES
            )
        except FloatingPointError:
            return np.diag(1.0 / np.diag(S))
    return np.asarray(0.5 * (precision + precision.T))


def spectral_step(S: Array, first: Array, p: float, radius: float) -> Matrix:
    """The least tr(A^+ S) over A with ||A||_p <= radius, the norm being that of the eigenvalues; p = 1 is the trace.

    In closed form: A has the eigenvectors of S, and eigenvalues in proportion to those of S to the power 1 / (p + 1).

    >>> spectral_step(np.diag([4.0, 1.0]), np.eye(2), 1.0, 3.0).covariance.round(3).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    found, vectors = np.linalg.eigh(S)
    found = np.maximum(found, 0.0)
    top = found.max(initial=0.0)
    # eigenvalues of zero get a share that is none to four digits, and can rise again
    raised = np.maximum(found, (_LEAST ** (p + 1.0)) * top) if top > 0 else np.ones_like(found)
    shares = raised ** (1.0 / (p + 1.0))
    values = radius * shares / np.sum(shares**p) ** (1.0 / p)
    value = float(np.sum(found / values))
    least = float(np.sum(found ** (p / (p + 1.0))) ** ((p + 1.0) / p)) / radius
    covariance, precision = ((vectors * part) @ vectors.T for part in (values, 1.0 / values))
    before = float(np.sum(first * S))
    if before < value:
        return Matrix(_inverse(first), first, before, before - least)
    return Matrix(covariance, precision, value, max(0.0, value - least))


def graph_value(precision: Array, S: Array, nu: float) -> float:
    """tr(Theta S) - log det Theta + nu ||W||_1 where Theta is the Laplacian of W >= 0 plus a diagonal.

    >>> graph_value(np.array([[2.0, -1.0], [-1.0, 2.0]]), np.eye(2), 0.5).__round__(3)
    3.901
    """
    sign, log = np.linalg.slogdet(precision)
    if sign <= 0:
        return np.inf
    beside = float(np.abs(precision).sum() - np.abs(np.diag(precision)).sum())
    return float(np.sum(precision * S) - log + nu * beside)


def graph_step(S: Array, first: Array, nu: float, gamma: float) -> Matrix:
    """The least `graph_value` over weights w >= 0: as (5), with the log determinant of Lake and Tenenbaum.

    (5) by itself is no choice: tr(L S) is least without any edge, and with ||W||_1 = 1 at the single edge between the
    two closest classes. Solved by L-BFGS-B in the weights. The gap is that of the dual point in proportion to the
    inverse: log det + T - gamma tr, with (e_i - e_j)' Sigma (e_i - e_j) at most what edge ij costs.

    >>> S = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> (-graph_step(S, np.eye(3), 0.1, 1.0).precision).round(2)[0, :2].tolist()
    [-3.0, 2.0]
    """
    n = len(S)
    if n == 1:
        return Matrix(_inverse(first), first, graph_value(first, S, nu), 0.0)
    left, right = np.triu_indices(n, 1)
    diagonal = np.diag(S)
    costs = diagonal[left] + diagonal[right] - 2.0 * S[left, right] + 2.0 * nu

    def matrix(w: Array) -> Array:
        found = np.zeros((n, n))
        found[left, right] = found[right, left] = -w
        found[np.arange(n), np.arange(n)] = gamma - found.sum(axis=1)
        return found

    def spans(sigma: Array) -> Array:
        of = np.diag(sigma)
        return np.asarray(of[left] + of[right] - 2.0 * sigma[left, right])

    def value(w: Array) -> tuple[float, Array]:
        theta = matrix(w)
        lower = np.linalg.cholesky(theta)
        sigma = _inverse(theta)
        return float(costs @ w - 2.0 * np.log(np.diag(lower)).sum()), costs - spans(sigma)

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    start = np.maximum(0.0, -first[left, right])
    found = minimize(
        value, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start), options=options
    )
    w = np.where(found.x > _NO_EDGE * max(float(found.x.max(initial=0.0)), gamma), found.x, 0.0)
    precision = matrix(w)
    total, before = graph_value(precision, S, nu), graph_value(first, S, nu)
    if before < total:
        precision, total = first, before
    covariance = _inverse(precision)
    share = min(1.0, float(np.min(costs / spans(covariance), initial=np.inf)))
    log = np.linalg.slogdet(covariance)[1] + n * np.log(share) if share > 0 else -np.inf
    lower = log + n + gamma * (np.trace(S) - share * np.trace(covariance))
    return Matrix(covariance, precision, total, max(0.0, total - lower))
