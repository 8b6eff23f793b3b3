"""The certificate of one-vs-rest losses over a graph of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from taxolearn.certificates.base import Certificate
from taxolearn.losses import MarginLoss
from taxolearn.problem import Problem
from taxolearn.regularizers.graph_laplacian import GraphTie
from taxolearn.solvers.solution import Solution

Array = npt.NDArray[np.float64]


def certify_graph(
    problem: Problem,
    solution: Solution,
    loss: MarginLoss,
    tie: GraphTie,
    C: float,
    bias_feature: float,
    bias_prior: float = 0.0,
) -> Certificate:
    """Both objectives of HR-SVM and HR-LR on a graph (Gopal, Yang 2013), Q being the Laplacian plus the ridge.

        primal = 1/2 (sum over edges e_ij ||w_i - w_j||^2 + ridge sum_i ||w_i||^2) + 1/2 sum_l (b_l - b_0)^2
                 + sum_il c_il loss(y_il (w_l . x_i + s b_l))
        dual   = -1/2 tr(V' Q^-1 V) - 1/2 sum_l beta_l^2 - b_0 sum_l beta_l - sum_il (c_il loss)*(-d_il)

    V has the row v_l = sum_i d_il y_il x_i at the node of class l and zeros at latent nodes; pinned nodes are
    left out of Q. The weights hold the vectors of the classes; latent nodes get the ones that make the penalty
    least, so that the upper bound is the one of the best latent vectors. A class without a weighted row of its
    own has no losses.

    >>> from taxolearn import ClassGraph
    >>> from taxolearn.losses import SquaredHinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers.graph_laplacian import graph_tie
    >>> from taxolearn.solvers.graph import solve_graph
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> tie = graph_tie(ClassGraph.from_edges([("a", "b"), ("b", "c")]), problem.classes, ridge=0.5)
    >>> solution = solve_graph(problem, SquaredHinge(), tie, C=1.0, tol=1e-6)
    >>> certify_graph(problem, solution, SquaredHinge(), tie, 1.0, 1.0).holds(1e-6)
    True
    """
    X = problem.X.astype(np.float64, copy=False) if sp.issparse(problem.X) else problem.X
    counted = (problem.targets.T @ (problem.row_weight > 0).astype(np.float64)) > 0
    positives = problem.targets.tocsc()
    coef = solution.weights.coef.toarray() if sp.issparse(solution.weights.coef) else solution.weights.coef
    coef = coef.astype(np.float64, copy=False)
    intercept = np.asarray(solution.weights.intercept, dtype=np.float64)
    bias = intercept / bias_feature if bias_feature else np.full_like(intercept, bias_prior)
    primal = graph_penalty(coef, tie) + 0.5 * float(np.sum((bias - bias_prior) ** 2))
    duals = sp.csr_array(solution.dual, dtype=np.float64)
    vectors = np.zeros_like(coef)
    beta = np.zeros(problem.n_classes)
    conjugates = 0.0
    for c in range(problem.n_classes):
        d = duals[[c]].toarray()[0]
        if not counted[c]:
            conjugates += np.inf if np.any(d != 0) else 0.0
            continue
        sign = np.full(problem.n_rows, -1.0)
        cost = C * problem.row_weight * problem.negative_weight[c]
        own = positives.indices[positives.indptr[c] : positives.indptr[c + 1]]
        sign[own] = 1.0
        cost[own] = C * problem.row_weight[own] * problem.positive_weight[c]
        primal += float(cost @ loss.value(sign * (np.asarray(X @ coef[c]) + intercept[c])))
        conjugates += float(np.sum(loss.conjugate(d, cost)))
        vectors[c] = (d * sign) @ X
        beta[c] = bias_feature * float(d @ sign)
    dual = (
        -0.5 * graph_square(vectors, tie)
        - 0.5 * float(beta @ beta)
        - bias_prior * float(beta.sum())
        - conjugates
    )
    return Certificate(np.array([primal]), np.array([dual]), solution.status)


def graph_penalty(coef: Array, tie: GraphTie) -> float:
    """The least penalty of node vectors that agree with the classes' and are zero at pinned nodes.

    >>> from taxolearn import ClassGraph
    >>> from taxolearn.regularizers.graph_laplacian import graph_tie
    >>> tie = graph_tie(ClassGraph.from_edges([("a", "b", 3.0)]), ["a", "b"], ridge=1.0)
    >>> graph_penalty(np.array([[1.0], [2.0]]), tie)  # 1/2 (3 (1 - 2)^2 + 1^2 + 2^2)
    4.0
    """
    precision = tie.graph.laplacian() + tie.ridge * sp.eye_array(tie.graph.n_nodes)
    precision = sp.csr_array(precision)
    if np.any(coef[tie.pinned[tie.class_nodes]] != 0):
        return np.inf
    known = tie.pinned.copy()
    known[tie.class_nodes] = True
    nodes = np.zeros((tie.graph.n_nodes, coef.shape[1]))
    nodes[tie.class_nodes] = coef
    latent = np.flatnonzero(~known)
    if len(latent):
        nodes[latent] = _solved(precision[latent][:, latent], -(precision[latent] @ nodes))
    # edge by edge: the Laplacian's own product would lose what neighbours have in common
    total = tie.ridge * float(np.vdot(nodes, nodes))
    edges = sp.triu(sp.csr_array(precision), k=1).tocoo()
    for i, j, weight in zip(edges.row, edges.col, -edges.data, strict=True):
        difference = nodes[i] - nodes[j]
        total += float(weight * (difference @ difference))
    return 0.5 * total


def graph_square(vectors: Array, tie: GraphTie) -> float:
    """tr(V' Q^-1 V) over the nodes that are not pinned, V having a row a class.

    >>> from taxolearn import ClassGraph
    >>> from taxolearn.regularizers.graph_laplacian import graph_tie
    >>> tie = graph_tie(ClassGraph.from_edges([], nodes=["a", "b"]), ["a", "b"], ridge=2.0)
    >>> graph_square(np.array([[1.0], [3.0]]), tie)
    5.0
    """
    place = np.full(tie.graph.n_nodes, -1)
    place[tie.free] = np.arange(len(tie.free))
    at = place[tie.class_nodes]
    right = np.zeros((len(tie.free), vectors.shape[1]))
    np.add.at(right, at[at >= 0], vectors[at >= 0])
    return float(np.vdot(right, _solved(tie.precision(), right))) if len(tie.free) else 0.0


def _solved(matrix: Any, right: Array) -> Array:
    return np.asarray(splu(sp.csc_array(matrix)).solve(right))
