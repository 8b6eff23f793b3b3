"""The certificate of the softmax loss, over path sums and over graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.base import Certificate
from taxolearn.certificates.graph import graph_penalty, graph_square
from taxolearn.losses.softmax import Softmax
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.regularizers.graph_laplacian import GraphTie
from taxolearn.solvers.solution import Solution

_BLOCK_BYTES = 32 * 2**20  # of scores at a time


def certify_softmax(
    problem: Problem,
    solution: Solution,
    tie: PathSum | GraphTie,
    C: float,
    bias_feature: float,
    bias_prior: float = 0.0,
) -> Certificate:
    """Both objectives of the softmax loss with one label y_i a row, c_i = C row_weight[i] positive_weight[y_i].

    The dual is p, rows x classes: any point of the simplex for each row (rows are scaled to sum to one). With
    mu_il = c_i (1[l = y_i] - p_il), v_l = sum_i mu_il x_i and beta_l = s sum_i mu_il,

        primal = 1/2 sum_n ||u_n||^2 / a_n + 1/2 sum_l (b_l - b_0)^2 + sum_i c_i (log sum_l exp(s_il) - s_{i, y_i})
        dual   = -1/2 sum_n a_n ||sum_{l under n} v_l||^2 - 1/2 sum_l beta_l^2 - sum_i c_i sum_l p_il log p_il,

    s_il = w_l . x_i + s b_l: the conjugate of c (logsumexp(s) - s_y) at c (p - e_y) is c sum_l p_l log p_l, and
    the bias prior drops out because the betas sum to zero. Over path sums the weights hold one vector a node. Over a
    graph they hold one a class, and the quadratic terms are those of `certify_graph`.

    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import flat
    >>> from taxolearn.solvers.smooth import solve_smooth
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> solution = solve_smooth(problem, Softmax(), flat(3), C=1.0, tol=1e-6)
    >>> certify_softmax(problem, solution, flat(3), 1.0, 1.0).holds(1e-6)
    True
    """
    loss = Softmax()
    X = problem.X.astype(np.float64, copy=False) if sp.issparse(problem.X) else problem.X
    weighted = problem.row_weight > 0
    counts = np.diff(problem.targets.indptr)
    own = np.zeros(problem.n_rows, dtype=np.intp)
    own[counts == 1] = problem.targets.indices[np.repeat(counts == 1, counts)]
    cost = C * problem.row_weight * problem.positive_weight[own]
    if np.any(counts[weighted] != 1):
        return Certificate(np.array([np.inf]), np.array([-np.inf]), solution.status)

    weights = solution.weights
    intercept = np.asarray(weights.intercept, dtype=np.float64)
    bias = intercept / bias_feature if bias_feature else np.full_like(intercept, bias_prior)
    coef = weights.coef.toarray() if sp.issparse(weights.coef) else weights.coef
    vectors = np.ascontiguousarray(coef.T, dtype=np.float64)
    penalty = graph_penalty(vectors.T, tie) if isinstance(tie, GraphTie) else _penalty(weights, tie)
    primal = penalty + 0.5 * float(np.sum((bias - bias_prior) ** 2))

    p = sp.csr_array(solution.dual, dtype=np.float64)
    feasible = p.shape == problem.targets.shape and bool(np.all(p.data >= 0))
    sums = np.asarray(p.sum(axis=1)).ravel()
    feasible = feasible and bool(np.all(sums[weighted] > 0))
    pulls = np.zeros((problem.n_features, problem.n_classes))
    beta = np.zeros(problem.n_classes)
    dual = 0.0
    width = max(1, _BLOCK_BYTES // (8 * problem.n_classes))
    for first in range(0, problem.n_rows, width):
        rows = np.arange(first, min(problem.n_rows, first + width))
        rows = rows[weighted[rows]]
        scores = np.asarray(X[rows] @ vectors) + intercept
        primal += float(cost[rows] @ loss.value(scores, own[rows]))
        if feasible:
            share = p[rows].toarray() / sums[rows][:, None]
            dual -= float(np.sum(loss.conjugate(share, cost[rows])))
            mu = -cost[rows][:, None] * share
            mu[np.arange(len(rows)), own[rows]] += cost[rows]
            pulls += np.asarray(X[rows].T @ mu)
            beta += bias_feature * mu.sum(axis=0)
    if feasible:
        dual -= 0.5 * (_square(pulls, tie) + float(beta @ beta))
    else:
        dual = -np.inf
    return Certificate(np.array([primal]), np.array([dual]), solution.status)


def _square(pulls: npt.NDArray[np.float64], tie: PathSum | GraphTie) -> float:
    """sum_n a_n ||sum_{l under n} v_l||^2, or tr(V' Q^-1 V); `pulls` is features x classes."""
    if isinstance(tie, GraphTie):
        return graph_square(np.ascontiguousarray(pulls.T), tie)
    under = pulls @ tie.paths  # features x nodes
    return float(tie.scale @ np.einsum("ij,ij->j", under, under))


def _penalty(weights: Any, tie: PathSum) -> float:
    """1/2 sum_n ||u_n||^2 / a_n; infinite where a node without a scale has a vector."""
    nodes = weights.nodes.toarray().T if sp.issparse(weights.nodes) else weights.nodes
    squares: npt.NDArray[np.float64] = np.einsum("ij,ij->j", nodes, nodes, dtype=np.float64)
    if np.any(squares[tie.scale == 0] > 0):
        return np.inf
    live = tie.scale > 0
    return 0.5 * float(np.sum(squares[live] / tie.scale[live]))
