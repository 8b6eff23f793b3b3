"""The certificate of a structured hinge with one label a row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.base import Certificate
from taxolearn.errors import DataError
from taxolearn.losses.structured import StructuredHinge
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.solution import Solution

# of class weights or node sums, in double precision, at a time; more is not faster
_WEIGHT_BYTES = 8 * 2**20
_ENTRIES = 2**18  # of rows, in double precision, at a time
_ROUNDING = 1e-9  # by which a sum of duals may exceed its bound; it is then scaled down to it

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]


def certify_structured(
    problem: Problem, solution: Solution, loss: StructuredHinge, tie: PathSum, C: float, bias_feature: float
) -> Certificate:
    """Both objectives of the structured hinge for the given weights and dual, in one part.

    With x_i carrying the bias feature as one more feature, c_i = C times the weights of row and class:

        primal = 1/2 sum_n ||u_n||^2 / a_n + sum_i c_i max(0, max_{l != y} D(l, y) - S(l, y) (w_y - w_l) . x_i)
        dual   = sum_il alpha_il D(l, y_i) - 1/2 sum_n a_n ||z_n||^2,   alpha_il >= 0, sum_l alpha_il <= c_i
        z_n    = sum_il alpha_il S(l, y_i) (1[n in path(y_i)] - 1[n in path(l)]) x_i

    Weights are read a block at a time: no second copy of them is made. The biases of the nodes, of which the
    intercepts are sums, are `solution.details["node_bias"]`.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import flat
    >>> from taxolearn.solvers import solve_structured
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> loss = structured_hinge(problem, flat(3))
    >>> solution = solve_structured(problem, loss, flat(3), C=1.0, tol=1e-6)
    >>> certify_structured(problem, solution, loss, flat(3), 1.0, 1.0).holds(1e-6)
    True
    """
    linear, squares = structured_dual(problem, solution.dual, loss, tie, C, bias_feature)
    dual = linear - 0.5 * float(tie.scale @ squares)
    primal = structured_primal(problem, solution, loss, tie, C, bias_feature)
    return Certificate(np.array([primal]), np.array([dual]), solution.status)


def _labels(problem: Problem, C: float) -> tuple[Ids, Array]:
    """The label of every row and c_i, zero for rows without one."""
    counts = np.diff(problem.targets.indptr)
    label = np.zeros(problem.n_rows, dtype=np.intp)
    label[counts == 1] = problem.targets.indices[problem.targets.indptr[:-1][counts == 1]]
    return label, C * problem.row_weight * problem.positive_weight[label] * (counts == 1)


def structured_primal(
    problem: Problem, solution: Solution, loss: StructuredHinge, tie: PathSum, C: float, bias_feature: float
) -> float:
    """The primal objective of `certify_structured`."""
    label, cost = _labels(problem, C)
    bias = np.zeros(tie.n_nodes)
    if bias_feature:
        bias = np.asarray(solution.details["node_bias"], dtype=np.float64)
        intercept = bias_feature * (tie.paths @ bias)
        # rounding of a sum is measured by the sizes of its terms, which may cancel
        rounding = 1e-12 * bias_feature * float((tie.paths @ np.abs(bias)).max())
        if not np.allclose(intercept, solution.weights.intercept, rtol=1e-12, atol=rounding):
            raise DataError(
                "the intercepts are not the sums of the solution's node biases; certify it as it was solved"
            )
    losses = _largest_violations(problem, solution.weights, loss, label)
    return _penalty(solution.weights.nodes, bias, tie) + float(cost @ losses)  # type: ignore[attr-defined]


def _penalty(nodes: Any, bias: Array, tie: PathSum) -> float:
    squares = bias**2
    if sp.issparse(nodes):
        squares += np.asarray(nodes.multiply(nodes).astype(np.float64).sum(axis=1)).ravel()
    else:
        step = max(1, _WEIGHT_BYTES // (8 * max(1, nodes.shape[1])))
        for first in range(0, nodes.shape[0], step):
            block = nodes[first : first + step].astype(np.float64)
            squares += np.einsum("jn,jn->n", block, block)
    has = tie.scale > 0
    if np.any(squares[~has] > 0):
        return float("inf")  # a node without a vector has one
    return 0.5 * float(np.sum(squares[has] / tie.scale[has]))


def _largest_violations(problem: Problem, weights: Any, loss: StructuredHinge, label: Ids) -> Array:
    """max(0, max_{l != y} D(l, y) - S(l, y) (s_y - s_l)) of every row."""
    largest = np.zeros(problem.n_rows)
    n_nodes, n_classes = weights.n_nodes, weights.n_classes
    height = max(1, _WEIGHT_BYTES // (16 * n_nodes))
    width = max(1, _WEIGHT_BYTES // (8 * 8 * n_classes))  # rows whose costs are looked up together
    for first in range(0, problem.n_rows, height):
        scores = _node_scores(problem.X[first : first + height], weights.nodes)
        for start in range(0, len(scores), width):
            rows = np.arange(first + start, first + min(len(scores), start + width))
            by_class = (
                weights.paths.astype(np.float64) @ scores[start : start + width].T
            ).T + weights.intercept
            names, number = np.unique(label[rows], return_inverse=True)
            margins, scalings = loss.margins_and_scalings(names)
            own = by_class[np.arange(len(rows)), label[rows]]
            violation = margins[number] - scalings[number] * (own[:, None] - by_class)
            largest[rows] = np.maximum(0.0, violation.max(axis=1))
    return largest


def _node_scores(X: Any, nodes: Any) -> Array:
    """X nodes in double precision, a block of features at a time: weights in single precision are not copied whole."""
    if sp.issparse(nodes):
        found = X.astype(np.float64) @ nodes.T.astype(np.float64)
        return found.toarray() if sp.issparse(found) else np.asarray(found)
    scores = np.zeros((X.shape[0], nodes.shape[1]))
    step = max(1, _WEIGHT_BYTES // (16 * nodes.shape[1]))
    if not sp.issparse(X):
        for first in range(0, nodes.shape[0], step):
            block = nodes[first : first + step].astype(np.float64)
            scores += X[:, first : first + step].astype(np.float64) @ block
        return scores
    by_feature = X.tocsc()
    used = np.flatnonzero(np.diff(by_feature.indptr))  # of a few thousand rows of text, a small part
    for first in range(0, len(used), step):
        some = used[first : first + step]
        # from the first of these features to the last there are no other entries
        start, end = by_feature.indptr[some[0]], by_feature.indptr[some[-1] + 1]
        ends = np.append(by_feature.indptr[some], end) - start
        values, rows = by_feature.data[start:end].astype(np.float64), by_feature.indices[start:end]
        part = sp.csc_array((values, rows, ends), shape=(X.shape[0], len(some)))
        scores += part @ nodes[some].astype(np.float64)
    return scores


def _row_blocks(X: Any, rows: Ids) -> Iterator[tuple[Ids, Any]]:
    """Some rows of X in double precision, a block at a time."""
    sizes = np.diff(X.indptr)[rows] if sp.issparse(X) else np.full(len(rows), X.shape[1])
    block = np.cumsum(sizes) // _ENTRIES
    for first, last in _runs(block):
        part = rows[first:last]
        # a range of rows is cut out without a search
        whole = len(part) == part[-1] - part[0] + 1
        yield part, (X[part[0] : part[-1] + 1] if whole else X[part]).astype(np.float64)


def _runs(values: npt.NDArray[np.integer]) -> Iterator[tuple[int, int]]:
    bounds = np.concatenate(([0], np.flatnonzero(np.diff(values)) + 1, [len(values)]))
    return ((a, b) for a, b in pairwise(bounds.tolist()) if a < b)


def structured_dual(
    problem: Problem, dual: sp.csr_array, loss: StructuredHinge, tie: PathSum, C: float, bias_feature: float
) -> tuple[float, Array]:
    """sum_il alpha_il D(l, y_i), minus infinity for an infeasible dual, and ||z_n||^2 of every node with a scale."""
    label, cost = _labels(problem, C)
    alphas = dual.tocoo()
    row, other, alpha = alphas.row, alphas.col, alphas.data.astype(np.float64)
    sums = np.bincount(row, alpha, minlength=problem.n_rows).astype(np.float64)  # of nothing it is an int
    if np.any(alpha < 0) or np.any(sums > cost * (1 + _ROUNDING)):
        return -float("inf"), np.zeros(tie.n_nodes)
    alpha = alpha * np.divide(cost, sums, out=np.ones(problem.n_rows), where=sums > cost)[row]
    margin, scaling = np.empty(len(alpha)), np.empty(len(alpha))
    order = np.argsort(label[row], kind="stable")
    step = max(1, _WEIGHT_BYTES // (16 * problem.n_classes))
    for first, last in _runs(label[row][order] // step):
        entries = order[first:last]
        start = label[row[entries[0]]] // step * step
        block = np.arange(start, min(start + step, problem.n_classes))
        margins, scalings = loss.margins_and_scalings(block)
        margin[entries] = margins[label[row[entries]] - start, other[entries]]
        scaling[entries] = scalings[label[row[entries]] - start, other[entries]]
    moved = alpha * scaling
    shape = (problem.n_rows, problem.n_classes)
    by_class = sp.csr_array((moved, (row, label[row])), shape=shape) - sp.csr_array(
        (moved, (row, other)), shape=shape
    )
    by_node = sp.csr_array((by_class @ tie.paths).T)
    squares = (bias_feature * np.asarray(by_node.sum(axis=1)).ravel()) ** 2
    return float(alpha @ margin), squares + _node_sum_squares(problem.X, by_node, tie.scale)


def _node_sum_squares(X: Any, by_node: sp.csr_array, scale: Array) -> Array:
    """||sum_i g_ni x_i||^2 of every node with a scale, zero elsewhere."""
    squares = np.zeros(len(scale))
    step = max(1, _WEIGHT_BYTES // (16 * X.shape[1]))  # a product is added to the sums: twice their size
    nodes = np.flatnonzero((scale > 0) & (np.diff(by_node.indptr) > 0))
    for first in range(0, len(nodes), step):
        some = nodes[first : first + step]
        by_row = by_node[some].T.tocsr()
        sums = np.zeros((X.shape[1], len(some)))
        for rows, block in _row_blocks(X, np.flatnonzero(np.diff(by_row.indptr))):
            sums += block.T @ by_row[rows].toarray()
        squares[some] = np.einsum("jn,jn->n", sums, sums)
    return squares
