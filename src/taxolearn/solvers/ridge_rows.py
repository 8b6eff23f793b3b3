"""Least squares with tied classes: the rows, weighted; the classes, rotated; and what a solution of both is.

The classes' covariance A = Q diag(a) Q' turns the problem into one ridge regression per eigenvector ("the effect of the
taxonomy matrix amounts to rotating the label space, and setting a new regularization parameter for each class"; Mroueh,
Poggio, Rosasco, section 4.1). With the weighted rows Z, a row z_i = sqrt(c_i) (x_i, s), their rotated targets R and
h = 1 / (2 C), eigenvector j has

    primal(v) = ||v||^2 / (2 a_j) + ||r_j - Z v||^2 / (2 h)
    dual(b)   = b . r_j - h ||b||^2 / 2 - a_j ||Z' b||^2 / 2,    optimal at (h + a_j Z Z') b = r_j and v = a_j Z' b.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Run, blas_threads
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.problem import Problem
from taxolearn.ties import Tie
from taxolearn.vectors import ClassVectors

Array = npt.NDArray[np.float64]

_RANK = 1e-13  # eigenvalues below this share of the largest count as zero
_MOST_CLASSES = 10_000  # whose covariance may be decomposed
_BLOCK_BYTES = 64 * 2**20


class Rotation(NamedTuple):
    """A = Q diag(a) Q', without the eigenvectors of eigenvalue zero; `vectors` is None where A is diagonal.

    >>> Rotation(np.array([2.0, 3.0]), None).back(np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    values: Array
    vectors: Array | None

    def of(self, targets: Any) -> Array:
        """Targets times Q, rows x eigenvectors."""
        if self.vectors is None:
            return np.asarray(targets.toarray() if sp.issparse(targets) else targets, dtype=np.float64)
        return np.asarray(targets @ self.vectors)

    def back(self, columns: Array) -> Array:
        """Columns of eigenvectors as columns of classes."""
        return columns if self.vectors is None else columns @ self.vectors.T

    @property
    def full(self) -> bool:
        """Whether no direction is left out."""
        return self.vectors is None or self.vectors.shape[0] == self.vectors.shape[1]


def rotation_of(tie: Tie) -> Rotation:
    """The eigenvectors of a tie's covariance.

    >>> from taxolearn.ties import covariance_tie
    >>> rotation_of(covariance_tie([[2.0, 1.0], [1.0, 2.0]])).values.round(9).tolist()
    [1.0, 3.0]
    """
    if tie.n_classes > _MOST_CLASSES:
        raise DataError(
            f"{tie.n_classes} classes are too many for least squares, which needs a dense matrix classes x classes; "
            f"there is room for {_MOST_CLASSES}"
        )
    if not tie.facts.shares:
        factor = tie.factor()
        return Rotation(np.asarray(factor.multiply(factor).sum(axis=1)).ravel(), None)
    values, vectors = np.linalg.eigh(tie.covariance)
    kept = values > _RANK * values[-1]
    return Rotation(values[kept], np.ascontiguousarray(vectors[:, kept]))


@dataclass(frozen=True, eq=False)
class RidgeRows:
    """Z, the rows with their bias feature, times the roots of their weights, and the same of their targets.

    `mark` tells rows and weights apart; `roots` are those of the weights.

    >>> from taxolearn.problem import make_problem
    >>> ridge_rows(make_problem([[3.0], [1.0]], ["a", "b"], sample_weight=[4.0, 1.0]), 1.0).Z.tolist()
    [[6.0, 2.0], [1.0, 1.0]]
    """

    Z: Any
    targets: sp.csr_array
    roots: Array
    bias_feature: float
    n_features: int
    mark: tuple[str, float]

    def solution(self, found: Found, rotation: Rotation, h: float) -> tuple[ClassVectors, sp.csr_array]:
        """Vectors and dual of the classes, from those of the eigenvectors."""
        coef = np.ascontiguousarray(rotation.back(found.vectors).T)
        intercept = np.zeros(len(coef))
        if self.bias_feature:
            intercept = self.bias_feature * coef[:, -1]
            coef = np.ascontiguousarray(coef[:, :-1])
        return ClassVectors(coef, intercept), self.dual(found, rotation, h)

    def dual(self, found: Found, rotation: Rotation, h: float) -> sp.csr_array:
        """The dual of the classes, classes x rows."""
        dual = rotation.back(found.duals)
        if not rotation.full:  # targets that no vector of these classes can reach
            Y = self.targets.toarray()
            dual = dual + (Y - rotation.back(rotation.of(Y))) / h
        return sp.csr_array((dual * self.roots[:, None]).T)


class Found(NamedTuple):
    """Vectors, features x eigenvectors, and duals, rows x eigenvectors.

    >>> Found(np.zeros((2, 1)), np.zeros((3, 1))).duals.shape
    (3, 1)
    """

    vectors: Array
    duals: Array


def ridge_rows(problem: Problem, bias_feature: float) -> RidgeRows:
    """The weighted rows of a problem, in float64 and sparse if its rows are.

    >>> from taxolearn.problem import make_problem
    >>> ridge_rows(make_problem([[3.0], [1.0]], ["a", "b"]), 0.0).Z.shape
    (2, 1)
    """
    roots = np.sqrt(problem.weight_by_labels)
    X = problem.X
    if sp.issparse(X):
        data = X.data * np.repeat(roots, np.diff(X.indptr))
        Z: Any = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
        if bias_feature:
            Z = sp.csr_array(sp.hstack([Z, bias_feature * roots[:, None]], format="csr"))
    else:
        Z = np.empty((X.shape[0], X.shape[1] + bool(bias_feature)))
        np.multiply(X, roots[:, None], out=Z[:, : X.shape[1]])
        if bias_feature:
            Z[:, -1] = bias_feature * roots
    targets = sp.csr_array(sp.diags_array(roots) @ problem.targets)
    mark = (problem.fingerprint(), bias_feature)
    return RidgeRows(Z, targets, roots, bias_feature, problem.n_features, mark)


def half_ridge(objective: Objective) -> float:
    """h = 1 / (2 C).

    >>> from taxolearn.losses import Square
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> half_ridge(Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Square(), flat(2), C=2.0))
    0.25
    """
    return 0.5 / objective.C


def bounds_of(rows: RidgeRows, found: Found, rotation: Rotation, h: float) -> tuple[float, float]:
    """The primal objective of the vectors and its distance from the dual one of the duals.

    >>> from taxolearn.problem import make_problem
    >>> rows = ridge_rows(make_problem([[3.0], [1.0]], ["a", "b"]), 0.0)
    >>> bounds_of(rows, Found(np.zeros((1, 2)), np.zeros((2, 2))), Rotation(np.ones(2), None), 0.5)
    (2.0, 2.0)
    """
    a = rotation.values
    primal, gap = 0.0, 0.0
    step = max(1, _BLOCK_BYTES // (8 * sum(rows.Z.shape)))
    for first in range(0, len(a), step):
        few = slice(first, first + step)
        vectors, duals, some = found.vectors[:, few], found.duals[:, few], a[few]
        R = _targets(rows, rotation, few)
        rest = R - rows.Z @ vectors
        primal += 0.5 * float(np.sum(vectors**2 @ (1.0 / some)) + np.sum(rest**2) / h)
        # (||v||^2 / a + a ||Z' b||^2) / 2 - v . Z' b, and likewise for the losses: both are squares
        pulled = rows.Z.T @ duals
        gap += 0.5 * float(np.sum((vectors - some * pulled) ** 2 @ (1.0 / some)))
        gap += 0.5 * float(np.sum((rest - h * duals) ** 2)) / h
    if not rotation.full:
        Y = rows.targets.toarray()
        primal += 0.5 * float(np.sum((Y - rotation.back(rotation.of(Y))) ** 2)) / h
    return primal, gap


def _targets(rows: RidgeRows, rotation: Rotation, few: slice) -> Array:
    if rotation.vectors is None:
        return np.asarray(rows.targets[:, few].toarray())
    return np.asarray(rows.targets @ rotation.vectors[:, few])


@contextmanager
def threads_of(run: Run) -> Iterator[None]:
    """BLAS on as many threads as the run has workers.

    >>> from taxolearn.engines import running
    >>> with running() as run, threads_of(run):
    ...     run.engine.n_workers
    1
    """
    with blas_threads(run.engine.n_workers):
        yield
