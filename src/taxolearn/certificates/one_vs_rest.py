"""The certificate of one-vs-rest classification with independent classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.base import Certificate
from taxolearn.losses import MarginLoss
from taxolearn.problem import Problem
from taxolearn.solvers.solution import Solution

_BLOCK_BYTES = 4 * 2**20  # of scores or of weights at a time: stays in cache


def certify_one_vs_rest(
    problem: Problem, solution: Solution, loss: MarginLoss, C: float, bias_feature: float
) -> Certificate:
    """Both objectives of one-vs-rest classification for the given weights and dual, class by class.

    primal_l = 1/2 (||w_l||^2 + b_l^2) + sum_i c_il loss(y_il (w_l . x_i + b_l s)), with s the bias feature
    and b_l s the intercept; dual_l = -1/2 ||sum_i d_il y_il (x_i, s)||^2 - sum_i (c_il loss)*(-d_il).

    >>> from taxolearn.losses import SquaredHinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import solve_one_vs_rest
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> solution = solve_one_vs_rest(problem, SquaredHinge(), C=1.0, tol=1e-6)
    >>> certify_one_vs_rest(problem, solution, SquaredHinge(), 1.0, 1.0).holds(1e-6)
    True
    """
    n, n_classes = problem.n_rows, len(solution.weights.intercept)
    X = problem.X if not sp.issparse(problem.X) else problem.X.astype(np.float64, copy=False)
    targets = problem.targets.tocsc()
    primal = np.empty(n_classes)
    dual = np.empty(n_classes)
    width = max(1, _BLOCK_BYTES // (8 * max(n, problem.n_features)))
    for start in range(0, n_classes, width):
        block = slice(start, min(n_classes, start + width))
        weights = solution.weights.coef[block].astype(np.float64, copy=False)
        intercept = solution.weights.intercept[block].astype(np.float64, copy=False)
        positive = targets[:, block].toarray() > 0
        row, column = np.nonzero(positive)
        scores = X @ (weights.T.tocsc() if sp.issparse(weights) else weights.T)
        scores = np.asarray(scores.todense() if sp.issparse(scores) else scores) + intercept
        bias = intercept / bias_feature if bias_feature else np.zeros_like(intercept)
        # every row as a negative, then its own classes put right
        as_negative = loss.value(-scores)
        losses = problem.negative_weight[block] * (problem.row_weight @ as_negative)
        corrections = problem.row_weight[row] * (
            problem.positive_weight[block][column] * loss.value(scores[row, column])
            - problem.negative_weight[block][column] * as_negative[row, column]
        )
        losses += np.bincount(column, corrections, minlength=len(losses))
        primal[block] = 0.5 * (_row_squares(weights) + bias**2) + C * losses

        duals = solution.dual[block].tocoo()
        k, i, d = duals.row, duals.col, duals.data.astype(np.float64)
        has = positive[i, k]
        cost = (
            C
            * problem.row_weight[i]
            * np.where(has, problem.positive_weight[block][k], problem.negative_weight[block][k])
        )
        signed = sp.csr_array((np.where(has, d, -d), (k, i)), shape=duals.shape)
        vector_bias = bias_feature * np.asarray(signed.sum(axis=1)).ravel()
        conjugates = np.bincount(k, loss.conjugate(d, cost), minlength=duals.shape[0])  # (c loss)*(0) = 0
        dual[block] = -0.5 * (_row_squares(signed @ X) + vector_bias**2) - conjugates
    return Certificate(primal, dual, solution.status)


def _row_squares(matrix: Any) -> npt.NDArray[np.float64]:
    if sp.issparse(matrix):
        return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    squares: npt.NDArray[np.float64] = np.einsum("ij,ij->i", matrix, matrix)
    return squares
