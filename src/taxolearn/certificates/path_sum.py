"""The certificate of one-vs-rest losses whose class weights are sums of node vectors along paths."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import gen_batches
from threadpoolctl import threadpool_limits

from taxolearn.certificates.base import Certificate
from taxolearn.losses import MarginLoss
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum, merge_nodes
from taxolearn.solvers.solution import Solution

_BLOCK_BYTES = 144 * 2**20  # of class weights at a time: one read of X serves them all
_TURNED = 8  # vectors put together row by row before they are turned into columns
_NODE_BYTES = 32 * 2**20  # of node vectors at a time
_ROWS = 2**14  # scored at a time: their losses are added up while in cache
_MANY = 2**24  # products that are worth a compiled kernel
_DUALS = 2**20  # looked at together
_DENSE_NODES = 1500  # shared nodes up to which the penalty of class weights is found by dense algebra

Array = npt.NDArray[np.float64]


def certify_path_sum(
    problem: Problem,
    solution: Solution,
    loss: MarginLoss,
    tie: PathSum,
    C: float,
    bias_feature: float,
    bias_prior: float = 0.0,
    n_threads: int = 1,
) -> Certificate:
    """Both objectives of recursive regularization (Gopal, Yang 2013, HR-SVM and HR-LR) on any tree or DAG.

    With w_l the sum of the node vectors u_n on the path of class l, b_l its own bias weight, s the bias feature,
    b_0 the bias prior and v_l = sum_i d_il y_il x_i, beta_l = s sum_i d_il y_il:

        primal = 1/2 sum_n ||u_n||^2 / a_n + 1/2 sum_l (b_l - b_0)^2 + sum_il c_il loss(y_il (w_l . x_i + s b_l))
        dual   = -1/2 sum_n a_n ||sum_{l under n} v_l||^2 - 1/2 sum_l beta_l^2 - b_0 sum_l beta_l
                 - sum_il (c_il loss)*(-d_il)

    A class without a weighted row of its own has no losses: it takes its parent's vector. Where the weights hold one
    vector a class instead of one a node, the penalty is the least one of all node vectors that add up to them. The
    objectives do not fall apart by class, so the certificate has one part. Rows are scored on `n_threads` threads.

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
    # the products here are thin: threads of BLAS would spend more time on waiting than on them
    with threadpool_limits(1, user_api="blas"):
        X = problem.X
        weights = solution.weights
        intercept = np.asarray(weights.intercept, dtype=np.float64)
        bias = intercept / bias_feature if bias_feature else np.full_like(intercept, bias_prior)
        counted = (problem.targets.T @ (problem.row_weight > 0).astype(np.float64)) > 0
        vectors: _ClassVectors | _NodeVectors
        vectors = _NodeVectors(weights, tie) if _by_node(weights) else _ClassVectors(weights, tie)
        with ThreadPoolExecutor(n_threads) as pool:
            losses = _losses(problem, X, vectors, intercept, loss, np.flatnonzero(counted), pool)
            penalty = vectors.penalty()
            primal = penalty + 0.5 * float(np.sum((bias[counted] - bias_prior) ** 2)) + C * losses
            signed, sums, conjugates = _signed_dual(problem, sp.csr_array(solution.dual), counted, loss, C)
            beta = bias_feature * sums
            dual = -0.5 * float(beta @ beta) - bias_prior * float(beta.sum()) - conjugates
            if _are_of(weights, signed):  # u_n = a_n z_n, hence a_n ||z_n||^2 = ||u_n||^2 / a_n
                dual -= penalty
            else:
                dual -= 0.5 * _quadratic(X, signed, tie, pool)
        return Certificate(np.array([primal]), np.array([dual]), solution.status)


def _in_double(X: Any) -> Any:
    """A sparse matrix in float64: SciPy would make it so at every product. The structure is shared."""
    if not sp.issparse(X):
        return X
    return sp.csr_array((X.data.astype(np.float64, copy=False), X.indices, X.indptr), shape=X.shape)


def _view(X: Any, rows: slice) -> Any:
    """Some rows of X, not copied."""
    if not sp.issparse(X):
        return X[rows]
    ends = X.indptr[rows.start : rows.stop + 1]
    entries = slice(ends[0], ends[-1])
    shape = (len(ends) - 1, X.shape[1])
    return sp.csr_array((X.data[entries], X.indices[entries], ends - ends[0]), shape=shape)


def _losses(
    problem: Problem,
    X: Any,
    vectors: Any,
    intercept: Array,
    loss: MarginLoss,
    classes: npt.NDArray[np.intp],
    pool: ThreadPoolExecutor,
) -> float:
    """Sum over the given classes and all rows of the weighted losses, C left out."""
    width = max(1, min(64, _BLOCK_BYTES // (8 * max(problem.n_rows, problem.n_features))))
    parts = [(rows, _view(X, rows)) for rows in gen_batches(problem.n_rows, _ROWS)]
    total = 0.0
    for start in range(0, len(classes), width):
        block = classes[start : start + width]
        columns = vectors.of_classes(block)

        def of_part(place: tuple[slice, Any], block: Any = block, columns: Array = columns) -> float:
            rows, part = place
            scores = _scores(part, columns)
            scores += intercept[block]
            return _losses_of(problem, rows, block, scores, loss)

        total += sum(pool.map(of_part, parts))
    return total


def _scores(X: Any, columns: Array) -> Array:
    """X columns; for many products by a kernel of the certificates' own, which takes half of SciPy's time."""
    if not sp.issparse(X) or X.nnz * columns.shape[1] < _MANY:
        return np.asarray(_in_double(X) @ columns)
    from taxolearn.kernels.exact_scores import multiply

    scores = np.empty((X.shape[0], columns.shape[1]))
    multiply(X.indptr, X.indices, X.data, columns, scores)
    return scores


def _losses_of(problem: Problem, rows: slice, block: Any, scores: Array, loss: MarginLoss) -> float:
    """Sum over some rows and classes of the weighted losses; `scores` is used up."""
    weight = problem.row_weight[rows]
    own = problem.targets[rows][:, block].tocoo()
    at_own = scores[own.row, own.col]
    # every row as a negative, then the classes it has put right
    np.negative(scores, out=scores)
    as_positive = problem.positive_weight[block][own.col] * loss.value(at_own)
    as_negative = problem.negative_weight[block][own.col] * loss.value(-at_own)
    total = float((weight @ loss.value(scores)) @ problem.negative_weight[block])
    return total + float(weight[own.row] @ (as_positive - as_negative))


class _ClassVectors:
    """Weights that hold a vector a class."""

    def __init__(self, weights: Any, tie: PathSum) -> None:
        self.coef, self.tie = weights.coef, tie

    def of_classes(self, block: Any) -> Array:
        """The weights of some classes, features x block, contiguous."""
        rows = self.coef[block]
        dense = rows.toarray() if sp.issparse(rows) else rows
        return np.ascontiguousarray(dense.T, dtype=np.float64)

    def penalty(self) -> float:
        return _least_penalty(self.coef, self.tie)


class _NodeVectors:
    """Weights that hold a vector a node, or can make one: on a tree each is asked for once, class after class."""

    def __init__(self, weights: Any, tie: PathSum) -> None:
        self.weights, self.paths, self.scale = weights, tie.paths, tie.scale
        self.squares = np.full(len(tie.scale), -1.0)  # -1: not seen yet
        self.kept: dict[int, Array] = {}  # vectors of the nodes on the path of the last class
        self.above: list[int] = []
        self.sum_above = np.zeros(weights.n_features)
        self.turned = np.empty((_TURNED, weights.n_features))
        self.room = np.empty(0)

    def of_classes(self, block: Any) -> Array:
        """The weights of some classes, features x block, contiguous; valid until the next call."""
        size = self.weights.n_features * len(block)
        if len(self.room) < size:  # fresh memory is slow at the first touch
            self.room = np.empty(size)
        vectors = self.room[:size].reshape(self.weights.n_features, len(block))
        for start in range(0, len(block), _TURNED):
            few = block[start : start + _TURNED]
            for k, number in enumerate(few):
                self._write_class(number, self.turned[k])
            vectors[:, start : start + len(few)] = self.turned[: len(few)].T
        return vectors

    def _write_class(self, number: int, out: Array) -> None:
        *above, last = self.paths.indices[self.paths.indptr[number] : self.paths.indptr[number + 1]].tolist()
        if above != self.above:  # siblings have the same nodes above them
            self.kept = {node: vector for node, vector in self.kept.items() if node in above}
            self.above = above
            self.sum_above[:] = 0.0
            for node in above:
                if node not in self.kept:
                    self.kept[node] = self._vector(node)
                self.sum_above += self.kept[node]
        np.add(self.sum_above, self._vector(last), out=out)

    def _vector(self, node: int) -> Array:
        """The vector of a node; its square is noted."""
        vector: Array = self.weights.node_vector(node)
        self.squares[node] = vector @ vector
        return vector

    def penalty(self) -> float:
        """1/2 sum_n ||u_n||^2 / a_n; infinite where a node without a scale has a vector."""
        for node in np.flatnonzero(self.squares < 0).tolist():
            self._vector(node)
        live = self.scale > 0
        if np.any(self.squares[~live] > 0):
            return np.inf
        return 0.5 * float(np.sum(self.squares[live] / self.scale[live]))


def _least_penalty(coef: Any, tie: PathSum) -> float:
    """The least 1/2 sum_n ||u_n||^2 / a_n with class weights P u = W: 1/2 tr(W' A^+ W), A = P diag(a) P'.

    Where every class has a node of its own, those take what the shared nodes leave, and the least-squares problem
    in the shared nodes is small, sparse and definite. Otherwise (labels at inner nodes) A is inverted on its range.
    """
    merged, _ = merge_nodes(tie)  # chains would make the problem large and dense
    paths, scale = merged.paths.tocsc(), merged.scale
    alone = np.diff(paths.indptr) == 1
    own = np.zeros(coef.shape[0])  # scales of a class's own nodes add up
    np.add.at(own, paths.indices[np.repeat(alone, np.diff(paths.indptr))], scale[alone])
    if np.all(own > 0):
        shared, loose = paths[:, ~alone], 1.0 / own
        spread = sp.csr_array(shared.T * loose)
        fit = spread @ coef
        total = float(loose @ _row_squares(coef))
        if shared.shape[1]:
            system = spread @ shared + sp.diags_array(1.0 / scale[~alone])
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
    """tr(R' S^-1 R) for a sparse definite S, R dense or sparse."""
    if system.shape[0] <= _DENSE_NODES:
        gram = right @ right.T  # R is much wider than high
        gram = gram.toarray() if sp.issparse(gram) else gram
        return float(np.trace(np.linalg.solve(system.toarray(), gram)))
    from scipy.sparse.linalg import splu

    factors = splu(sp.csc_array(system))
    total = 0.0
    width = max(1, _NODE_BYTES // (16 * right.shape[0]))
    for start in range(0, right.shape[1], width):
        part = right[:, start : start + width]
        part = np.asfortranarray(part.toarray() if sp.issparse(part) else part)
        total += float(np.einsum("ij,ij->", part, factors.solve(part)))
    return total


def _signed_dual(
    problem: Problem, dual: sp.csr_array, counted: npt.NDArray[np.bool_], loss: MarginLoss, C: float
) -> tuple[sp.csr_array, Array, float]:
    """d_il y_il, its sum over i, and sum_il (c_il loss)*(-d_il): infinite outside the bounds and without losses."""
    keys = _keys(problem.targets)
    signed = np.empty_like(dual.data)
    sums = np.zeros(problem.n_classes)
    conjugates = 0.0
    for start in range(0, dual.nnz, _DUALS):
        span = slice(start, min(start + _DUALS, dual.nnz))
        k = np.searchsorted(dual.indptr, np.arange(span.start, span.stop), side="right") - 1
        i, d = dual.indices[span], dual.data[span].astype(np.float64, copy=False)
        has = _has_class(keys, problem.n_classes, i, k)
        cost = (
            C * problem.row_weight[i] * np.where(has, problem.positive_weight[k], problem.negative_weight[k])
        )
        conjugates += float(np.sum(loss.conjugate(d, cost)))  # (c loss)*(0) = 0: only stored duals matter
        if np.any(d[~counted[k]] != 0):
            conjugates = np.inf
        d = np.where(has, d, -d)
        sums += np.bincount(k, d, problem.n_classes)
        signed[span] = d
    return sp.csr_array((signed, dual.indices, dual.indptr), shape=dual.shape), sums, conjugates


def _quadratic(X: Any, signed: sp.csr_array, tie: PathSum, pool: ThreadPoolExecutor) -> float:
    """sum_n a_n ||z_n||^2, z_n = sum over classes l under n and rows i of d_il y_il x_i."""
    under = tie.paths.T.tocsr()
    signed = _in_double(signed)
    many = sp.issparse(X) and signed.nnz * X.nnz >= _MANY * max(1, X.shape[0])
    rows = X if many else _in_double(X)

    def of_nodes(nodes: npt.NDArray[np.intp]) -> float:
        # the duals of all classes under a node first: rows that they share are multiplied once
        duals = under[nodes] @ signed
        squares = _squares_of_sums(duals, rows) if many else _row_squares(duals @ rows)
        return float(tie.scale[nodes] @ squares)

    return sum(pool.map(of_nodes, _blocks(np.flatnonzero(tie.scale), X.shape[1])))


def _squares_of_sums(duals: sp.csr_array, X: Any) -> Array:
    """||sum_i d_ni x_i||^2 for every row n of the duals: sparse rows are added up in one dense vector at a time."""
    from taxolearn.kernels.exact_scores import squares_of_sums

    squares = np.empty(duals.shape[0])
    factors, rows = (duals.indptr, duals.indices, duals.data), (X.indptr, X.indices, X.data)
    squares_of_sums(*factors, *rows, np.empty(X.shape[1]), squares)
    return squares


def _are_of(weights: Any, signed: sp.csr_array) -> bool:
    """Whether the weights are made of these very duals."""
    made_of = getattr(weights, "signed_dual", None)
    return made_of is not None and all(
        np.array_equal(getattr(made_of, part), getattr(signed, part))
        for part in ("indptr", "indices", "data")
    )


def _keys(targets: sp.csr_array) -> npt.NDArray[np.int64]:
    """A number for each row and class of it, sorted."""
    n, n_classes = targets.shape
    keys: npt.NDArray[np.int64] = np.repeat(np.arange(n, dtype=np.int64) * n_classes, np.diff(targets.indptr))
    keys += targets.indices
    keys.sort()
    return keys


def _has_class(keys: npt.NDArray[np.int64], n_classes: int, rows: Any, classes: Any) -> npt.NDArray[np.bool_]:
    """Whether row rows[j] has class classes[j], for every j."""
    wanted = rows.astype(np.int64) * n_classes + classes
    place = np.searchsorted(keys, wanted)
    place[place == len(keys)] = 0
    found: npt.NDArray[np.bool_] = keys[place] == wanted
    return found


def _by_node(weights: Any) -> bool:
    return hasattr(weights, "node_vector")


def _blocks(nodes: npt.NDArray[np.intp], n_features: int) -> Iterator[npt.NDArray[np.intp]]:
    width = max(1, _NODE_BYTES // (16 * n_features))
    for start in range(0, len(nodes), width):
        yield nodes[start : start + width]


def _row_squares(matrix: Any) -> Array:
    if not sp.issparse(matrix):
        return np.asarray(np.einsum("ij,ij->i", matrix, matrix))
    return np.asarray(matrix.multiply(matrix).sum(axis=1), dtype=np.float64).ravel()
