"""The certificate of one-vs-rest losses whose class weights are sums of node vectors along paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.base import Certificate
from taxolearn.losses import MarginLoss
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.solution import Solution

_BLOCK_BYTES = 64 * 2**20  # of class weights at a time: one read of X serves them all
_NODE_BYTES = 32 * 2**20  # of node vectors at a time
_KEPT_BYTES = 128 * 2**20  # of vectors of shared nodes that the next classes ask for again

Array = npt.NDArray[np.float64]


def certify_path_sum(
    problem: Problem,
    solution: Solution,
    loss: MarginLoss,
    tie: PathSum,
    C: float,
    bias_feature: float,
    bias_prior: float = 0.0,
) -> Certificate:
    """Both objectives of recursive regularization (Gopal, Yang 2013, HR-SVM and HR-LR) on any tree or DAG.

    With w_l the sum of the node vectors u_n on the path of class l, b_l its own bias weight, s the bias feature, b_0 the
    bias prior and v_l = sum_i d_il y_il x_i, beta_l = s sum_i d_il y_il:

        primal = 1/2 sum_n ||u_n||^2 / a_n + 1/2 sum_l (b_l - b_0)^2 + sum_il c_il loss(y_il (w_l . x_i + s b_l))
        dual   = -1/2 sum_n a_n ||sum_{l under n} v_l||^2 - 1/2 sum_l beta_l^2 - b_0 sum_l beta_l
                 - sum_il (c_il loss)*(-d_il)

    A class without a weighted row of its own has no losses: it takes its parent's vector. Where the weights hold one
    vector a class instead of one a node, the penalty is the least one of all node vectors that add up to them. The
    objectives do not fall apart by class, so the certificate has one part.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import SquaredHinge
    >>> from taxolearn.models import LinearWeights
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import path_sum
    >>> from taxolearn.solvers import Status
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/puma", "all/dog"])
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["lion", "puma", "dog"], tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.ones(tree.n_nodes))
    >>> nothing = Solution(LinearWeights(np.zeros((3, 1)), np.zeros(3)), sp.csr_array((3, 3)), Status.CONVERGED, 0)
    >>> certify_path_sum(problem, nothing, SquaredHinge(), tie, 1.0, 1.0)
    Certificate(primal=9, dual=0, gap=1.0e+00, converged)
    """
    X = problem.X if not sp.issparse(problem.X) else problem.X.astype(np.float64, copy=False)
    intercept = np.asarray(solution.weights.intercept, dtype=np.float64)
    bias = intercept / bias_feature if bias_feature else np.full_like(intercept, bias_prior)
    primal = _penalty(solution.weights, tie) + 0.5 * float(np.sum((bias - bias_prior) ** 2))
    counted = (problem.targets.T @ (problem.row_weight > 0).astype(np.float64)) > 0
    losses = _losses(problem, X, solution.weights, intercept, loss, tie, np.flatnonzero(counted))
    dual = _dual(problem, X, sp.csr_array(solution.dual), counted, loss, tie, C, bias_feature, bias_prior)
    return Certificate(np.array([primal + C * losses]), np.array([dual]), solution.status)


def _losses(
    problem: Problem, X: Any, weights: Any, intercept: Array, loss: MarginLoss, tie: PathSum, classes: Any
) -> float:
    """Sum over the given classes and all rows of the weighted losses, C left out."""
    n = problem.n_rows
    positives = problem.targets.tocsc()
    width = max(1, min(64, _BLOCK_BYTES // (8 * max(n, problem.n_features))))
    blocks = [classes[start : start + width] for start in range(0, len(classes), width)]
    total = 0.0
    for block, vectors in zip(blocks, _class_vectors(weights, tie, blocks), strict=True):
        scores = np.asarray(X @ vectors)
        scores += intercept[block]
        own = positives[:, block].tocoo()
        at_own = scores[own.row, own.col]
        # every row as a negative, then the classes it has put right
        np.negative(scores, out=scores)
        total += float((problem.row_weight @ loss.value(scores)) @ problem.negative_weight[block])
        as_positive = problem.positive_weight[block][own.col] * loss.value(at_own)
        as_negative = problem.negative_weight[block][own.col] * loss.value(-at_own)
        total += float(problem.row_weight[own.row] @ (as_positive - as_negative))
    return total


def _class_vectors(weights: Any, tie: PathSum, blocks: list[Any]) -> Iterator[Array]:
    """The weights of each block of classes, features x block, contiguous."""
    if not _by_node(weights):
        for block in blocks:
            rows = weights.coef[block]
            dense = rows.toarray() if sp.issparse(rows) else rows
            yield np.ascontiguousarray(dense.T, dtype=np.float64)
        return
    paths = tie.paths
    kept: dict[int, Array] = {}
    for k, block in enumerate(blocks):
        vectors = np.zeros((weights.n_features, len(block)))
        wanted, uses = np.unique(paths[block].indices, return_counts=True)
        later = set(paths[blocks[k + 1]].indices.tolist()) if k + 1 < len(blocks) else set()
        for node in [node for node in kept if node not in later and node not in wanted]:
            del kept[node]
        column_of = paths[block].tocsc()
        for node, count in zip(wanted.tolist(), uses.tolist(), strict=True):
            columns = column_of.indices[column_of.indptr[node] : column_of.indptr[node + 1]]
            if node not in kept and count == 1 and node not in later:
                row = _node_rows(weights, np.array([node]))
                if sp.issparse(row):
                    vectors[row.indices, columns[0]] += row.data
                else:
                    vectors[:, columns[0]] += row[0]
                continue
            vector = kept.get(node)
            if vector is None:
                row = _node_rows(weights, np.array([node]))
                vector = row.toarray()[0] if sp.issparse(row) else row[0]
                if node in later and (len(kept) + 1) * vector.nbytes <= _KEPT_BYTES:
                    kept[node] = vector
            for column in columns:
                vectors[:, column] += vector
        yield vectors


def _penalty(weights: Any, tie: PathSum) -> float:
    """1/2 sum_n ||u_n||^2 / a_n; infinite where a node without a scale has a vector."""
    if not _by_node(weights):
        return _least_penalty(weights.coef, tie)
    total = 0.0
    for nodes in _node_blocks(len(tie.scale), weights.n_features):
        squares = _row_squares(_node_rows(weights, nodes))
        if np.any(squares[tie.scale[nodes] == 0] > 0):
            return np.inf
        total += float(np.sum(squares / np.where(tie.scale[nodes] > 0, tie.scale[nodes], 1.0)))
    return 0.5 * total


def _least_penalty(coef: Any, tie: PathSum) -> float:
    """The least 1/2 sum_n ||u_n||^2 / a_n with class weights P u = W: 1/2 tr(W' A^+ W), A = P diag(a) P'.

    Where every class has a node of its own, those take what the shared nodes leave, and the least-squares problem in the
    shared nodes is small, sparse and definite. Otherwise (labels at inner nodes) A is inverted on its range.
    """
    live = np.flatnonzero(tie.scale > 0)
    paths, scale = tie.paths.tocsc()[:, live], tie.scale[live]
    alone = np.diff(paths.indptr) == 1
    own = np.zeros(coef.shape[0])  # scales of a class's own nodes add up
    np.add.at(own, paths.indices[np.repeat(alone, np.diff(paths.indptr))], scale[alone])
    if np.all(own > 0):
        shared, loose = paths[:, ~alone], 1.0 / own
        fit = (shared.T * loose) @ coef
        total = float(loose @ _row_squares(coef))
        if shared.shape[1]:
            system = (shared.T * loose) @ shared + sp.diags_array(1.0 / scale[~alone])
            total -= _weighted_square(system, fit)
        return 0.5 * total
    if sp.issparse(coef):
        coef = coef.toarray()
    values, vectors = np.linalg.eigh(((paths * scale) @ paths.T).toarray())
    within = values > 1e-12 * max(values[-1], 0.0)
    turned = vectors.T @ coef
    squares = _row_squares(turned)
    if squares[~within].sum() > 1e-16 * squares.sum():
        return np.inf
    return 0.5 * float(np.sum(squares[within] / values[within]))


def _weighted_square(system: Any, right: Any) -> float:
    """tr(R' S^-1 R) for a sparse definite S."""
    from scipy.sparse.linalg import splu

    factors = splu(sp.csc_array(system))
    total = 0.0
    width = max(1, _NODE_BYTES // (16 * right.shape[0]))
    for start in range(0, right.shape[1], width):
        part = right[:, start : start + width]
        part = np.asfortranarray(part.toarray() if sp.issparse(part) else part)
        total += float(np.einsum("ij,ij->", part, factors.solve(part)))
    return total


def _dual(
    problem: Problem,
    X: Any,
    dual: sp.csr_array,
    counted: npt.NDArray[np.bool_],
    loss: MarginLoss,
    tie: PathSum,
    C: float,
    bias_feature: float,
    bias_prior: float,
) -> float:
    """The dual objective; minus infinity for a dual outside its bounds or of a class without losses."""
    k = np.repeat(np.arange(dual.shape[0], dtype=np.int32), np.diff(dual.indptr))
    i, d = dual.indices, dual.data.astype(np.float64, copy=False)
    if np.any(d[~counted[k]] != 0):
        return -np.inf
    has = _has_class(problem.targets, i, k)
    cost = C * problem.row_weight[i] * np.where(has, problem.positive_weight[k], problem.negative_weight[k])
    conjugates = float(np.sum(loss.conjugate(d, cost)))  # (c loss)*(0) = 0: only stored duals matter
    # at d = 0 the logistic conjugate is 0 as well: c log c cancels
    signed = sp.csr_array((np.where(has, d, -d), i, dual.indptr), shape=dual.shape)
    del k, has, cost
    beta = bias_feature * np.asarray(signed.sum(axis=1)).ravel()
    total = -0.5 * float(beta @ beta) - bias_prior * float(beta.sum()) - conjugates
    under = tie.paths.T.tocsr()
    for nodes in _node_blocks(len(tie.scale), problem.n_features):
        # the duals of all classes under a node first: rows that they share are multiplied once
        squares = _row_squares((under[nodes] @ signed) @ X)
        total -= 0.5 * float(tie.scale[nodes] @ squares)
    return total


def _has_class(targets: sp.csr_array, rows: Any, classes: Any) -> npt.NDArray[np.bool_]:
    """Whether row rows[j] has class classes[j], for every j."""
    n, n_classes = targets.shape
    keys = np.repeat(np.arange(n, dtype=np.int64) * n_classes, np.diff(targets.indptr)) + targets.indices
    keys.sort()
    wanted = rows.astype(np.int64) * n_classes + classes
    place = np.searchsorted(keys, wanted)
    place[place == len(keys)] = 0
    found: npt.NDArray[np.bool_] = keys[place] == wanted
    return found


def _by_node(weights: Any) -> bool:
    return hasattr(weights, "node_rows") or hasattr(weights, "nodes")


def _node_rows(weights: Any, nodes: npt.NDArray[np.intp]) -> Any:
    """Vectors of some nodes, nodes x features, float64."""
    if hasattr(weights, "node_rows"):
        return weights.node_rows(nodes)
    found = weights.nodes[nodes] if sp.issparse(weights.nodes) else weights.nodes[:, nodes].T
    return found.astype(np.float64, copy=False)


def _node_blocks(n_nodes: int, n_features: int) -> Iterator[npt.NDArray[np.intp]]:
    width = max(1, _NODE_BYTES // (16 * n_features))
    for start in range(0, n_nodes, width):
        yield np.arange(start, min(n_nodes, start + width))


def _row_squares(matrix: Any) -> Array:
    if sp.issparse(matrix):
        return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", matrix, matrix))
