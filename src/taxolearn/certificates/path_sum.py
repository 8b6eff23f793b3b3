"""Vectors of classes that are sums of node vectors along paths."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from taxolearn.certificates.columns import ClassColumns, NodeColumns, VectorColumns
from taxolearn.certificates.factor import least_squares
from taxolearn.certificates.rounding import TINY, Array, Ball, gamma, norm_bounds, pairwise, square
from taxolearn.certificates.scores import Rows
from taxolearn.certificates.sums import Adjoint, squares_with_bias, sum_errors
from taxolearn.engines import Run
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import Solution
from taxolearn.ties import PathSum, merge_nodes

_BLOCK_BYTES = 2**20  # of class vectors at a time: what is made of them stays in cache
_LEAST_WIDTH = 64  # features at a time
_DENSE_NODES = 1500  # shared nodes up to which a system is factorised as a dense one
_SPARSE = 0.04  # share of entries of a factor's inverse up to which sparse products are faster
_SHIFT = 1e-10  # of the diagonal of a singular system, as a share of its largest entry


class PathSumSide:
    """Penalty 1/2 sum_n ||u_n||^2 / a_n and square sum_n a_n ||sum_{l under n} v_l||^2.

    Where one vector per class is given instead of one per node, the penalty is the least one of all node vectors that
    add up to them.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import Status
    >>> from taxolearn.ties import flat
    >>> from taxolearn.vectors import ClassVectors
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2))
    >>> solution = Solution(ClassVectors(np.ones((2, 1)), np.zeros(2)), sp.csr_array((2, 2)), Status.CONVERGED, 0)
    >>> PathSumSide(objective, solution).penalty().value.tolist()
    [0.5, 0.5]
    """

    columns: VectorColumns

    def __init__(self, objective: Objective, solution: Solution) -> None:
        self.tie: PathSum = objective.tie
        self.vectors = solution.vectors
        self.paths, self.scale = self.tie.paths, self._scale(solution)
        self.tied = objective.bias_feature if objective.loss.facts.tied_bias else 0.0
        users = np.bincount(self.paths.indices, minlength=self.tie.n_nodes)
        self.alone = bool(np.all(users[self.scale > 0] == 1))  # whether every node is of one class
        self.independent = self.alone and objective.loss.facts.kind == "margin"
        self.offset: Array | float = 0.0
        self.slack: Array | float = 0.0
        if hasattr(self.vectors, "node_vector"):
            self.columns = NodeColumns(self.vectors, self.paths)
            self._penalty: Ball | None = None
            if self.tied:
                self.bias, self.offset = self._node_bias(solution)
        else:
            coef: Any = self.vectors.coef
            self.columns = ClassColumns(coef)
            self._penalty, self.slack = self._least_penalty(coef, self.columns.squares)
            if self.tied:
                bias = (self.vectors.intercept / self.tied)[:, None]
                squares = square(Ball(bias[:, 0], gamma(1) * np.abs(bias[:, 0])))
                more, slack = self._least_penalty(bias, squares)
                self._penalty, self.offset = self._penalty + more, self.tied * slack

    def _scale(self, solution: Solution) -> Array:
        return self.tie.scale

    @cached_property
    def _class_scale(self) -> Array:
        """The summed scales along the path of each class."""
        return np.asarray(self.paths @ self.scale)

    def _node_bias(self, solution: Solution) -> tuple[Array, Array]:
        """The biases of the nodes, of which intercepts are sums, and by how much these are off."""
        given = solution.details.get("node_bias")
        if given is None:
            raise DataError(
                "the solution has no node biases, and this loss ties them; put them in its details as 'node_bias'"
            )
        bias = np.asarray(given, dtype=np.float64)
        intercept = self.tied * (self.paths @ bias)
        # rounding of a sum is measured by the sizes of its terms, which may cancel
        sizes = abs(self.tied) * (self.paths @ np.abs(bias))
        off = np.abs(intercept - self.vectors.intercept)
        if np.any(off > 1e-12 * (sizes.max(initial=0.0) + np.abs(self.vectors.intercept))):
            raise DataError(
                "the intercepts are not the sums of the solution's node biases; certify it as it was solved"
            )
        return bias, off + gamma(self.columns.depth + 3) * sizes

    def _least_penalty(self, coef: Any, squares: Ball) -> tuple[Ball, Array | float]:
        if not self.alone:
            return least_penalty(coef, squares, self.tie, self.scale)
        own = self._class_scale
        if np.any(squares.value[own == 0] > 0):
            return Ball(np.inf), 0.0
        found = squares / np.where(own > 0, own, 1.0) * 0.5
        return Ball(found.value, found.error + gamma(self.tie.n_nodes) * found.value), 0.0

    def penalty(self) -> Ball:
        """1/2 sum_n ||u_n||^2 / a_n, per class where classes are independent; infinite where a node of no scale has a
        vector."""
        if self._penalty is None:
            assert isinstance(self.columns, NodeColumns)
            squares = self.columns.squares
            if self.tied:
                squares = squares + square(Ball(self.bias))
            with_scale = self.scale > 0
            if np.any(squares.value[~with_scale] > 0):
                return Ball(np.inf)
            nodes = squares[with_scale] / self.scale[with_scale] * 0.5
            if not self.independent:
                return nodes.sum()
            classes = self.paths[:, np.flatnonzero(with_scale)]
            return Ball(classes @ nodes.value, classes @ nodes.error)
        return self._penalty if self.independent else self._penalty.sum()

    def square(self, adjoint: Adjoint, rows: Rows, run: Run) -> Ball:
        """sum_n a_n ||z_n||^2, per class where classes are independent."""
        if _are_of(self.vectors, adjoint) and not self.tied:  # u_n = a_n z_n
            return self._square_of_vectors(adjoint, rows)
        if self.alone:
            own = self._class_scale
            found = squares_with_bias(None, adjoint, rows, run, self.tied) * Ball(
                own, gamma(self.tie.n_nodes) * own
            )
            return found if self.independent else found.sum()
        used = np.flatnonzero(self.scale)
        under = sp.csr_array(self.paths.T)
        under = under if len(used) == len(self.scale) else under[used]
        return (squares_with_bias(under, adjoint, rows, run, self.tied) * self.scale[used]).sum()

    def _square_of_vectors(self, adjoint: Adjoint, rows: Rows) -> Ball:
        """sum_n ||u_n||^2 / a_n where the vectors are made of the dual; they are off as sums of rows are."""
        assert isinstance(self.columns, NodeColumns)
        used = np.flatnonzero(self.scale)
        scale, under = self.scale[used], sp.csr_array(self.paths.T)[used]
        nodes = self.columns.squares[used] / scale
        terms = np.asarray(under @ np.diff(adjoint.parts[0].indptr))
        error = sum_errors(under, adjoint, rows, terms + 2.0)
        # a_n (||z_n|| + e)^2 - a_n ||z_n||^2, z_n being the exact sum
        nodes = Ball(nodes.value, nodes.error + error * (2 * np.sqrt(nodes.value * scale) + error * scale))
        if not self.independent:
            return nodes.sum()
        classes = self.paths[:, used]
        return Ball(classes @ nodes.value, classes @ nodes.error)


def _are_of(vectors: Any, adjoint: Adjoint) -> bool:
    """Whether the vectors are made of these very duals."""
    made_of = getattr(vectors, "signed_dual", None)
    return (
        made_of is not None
        and len(adjoint.parts) == 1
        and all(
            np.array_equal(getattr(made_of, part), getattr(adjoint.parts[0], part))
            for part in ("indptr", "indices", "data")
        )
    )


def least_penalty(coef: Any, squares: Ball, tie: PathSum, scale: Array) -> tuple[Ball, Array | float]:
    """The least 1/2 sum_n ||u_n||^2 / a_n with class vectors P u = W, and by how much P u is off.

    Where every class has a node of its own, those take what the shared nodes leave, and the least-squares problem in
    the shared nodes is small, sparse and definite. Its solution need not be exact: with g_n = sum_{l under n} r_l /
    own_l - u_n / a_n, r_l being what is left, the penalty is above the least one by 1/2 sum_n a_n ||g_n||^2. Otherwise
    (labels at inner nodes) vectors are found by dense least squares.

    >>> from taxolearn.ties import flat
    >>> least_penalty(np.eye(2), Ball(np.ones(2)), flat(2), np.ones(2))[0].value.tolist()
    [0.5, 0.5]
    """
    merged, _ = merge_nodes(PathSum(tie.paths, scale))  # chains would make the problem large and dense
    paths, scale = merged.paths.tocsc(), merged.scale
    alone = np.diff(paths.indptr) == 1
    own = np.zeros(coef.shape[0])  # after the merge a class has one node of its own, or none
    np.add.at(own, paths.indices[np.repeat(alone, np.diff(paths.indptr))], scale[alone])
    if not np.all(own > 0):
        return least_squares((paths * np.sqrt(scale)).toarray(), coef)
    merges = gamma(tie.n_nodes - merged.n_nodes + 1.0)  # of the sums of scales
    if np.all(alone):
        found = squares / own * 0.5
        return Ball(found.value, found.error + merges * found.value), 0.0
    shared = sp.csr_array(paths[:, ~alone])
    sizes = norm_bounds(squares.value + squares.error, coef.shape[1])
    found = _split(coef, sizes, shared, own, scale[~alone])
    return Ball(found.value, found.error + merges * found.value), 0.0


def _split(coef: Any, sizes: Array, shared: sp.csr_array, own: Array, scale: Array) -> Ball:
    """The penalty of shared nodes and of what they leave to the classes' own, features in blocks.

    `sizes` are bounds on the norms of the classes' vectors.
    """
    n_classes, n_features = coef.shape
    spread = sp.csr_array(shared.T * (1.0 / own))
    n_under = np.diff(spread.indptr)
    solve = _solver(spread @ shared + sp.diags_array(1.0 / scale), n_under)
    left, taken, off = np.zeros(n_classes), np.zeros(len(scale)), np.zeros(len(scale))
    width = max(_LEAST_WIDTH, _BLOCK_BYTES // (8 * n_classes))
    for first in range(0, n_features, width):
        block = coef[:, first : first + width]
        block = block.toarray() if sp.issparse(block) else block
        block = np.ascontiguousarray(block, dtype=np.float64)
        nodes = solve(spread @ block)
        rest = block - shared @ nodes
        wrong = spread @ rest - nodes / scale[:, None]
        for sums, part in ((left, rest), (taken, nodes), (off, wrong)):
            sums += np.add.reduce(part * part, axis=1)
    blocks = n_features // width + pairwise(n_features)
    norms = norm_bounds(taken, n_features)
    depth = float(np.diff(shared.indptr).max(initial=0)) + 4.0
    error = gamma(depth) * (sizes + shared @ norms)  # of the rest of each class
    lost = n_features * TINY
    rests = Ball(left, error * (2 * np.sqrt(left) + error) + gamma(blocks) * left + lost) / own
    total = (rests.sum() + (Ball(taken, gamma(blocks) * taken + lost) / scale).sum()) * 0.5
    most = norm_bounds(left, n_features) + error
    wrongs = (
        norm_bounds(off, n_features) + gamma(n_under + 4.0) * (spread @ most + norms / scale) + spread @ error
    )
    return Ball(total.value, total.error + 0.5 * float(np.sum(scale * wrongs**2)))


def _solver(system: Any, n_under: npt.NDArray[Any]) -> Callable[[Array], Array]:
    """What solves the system nearly; `n_under` are the numbers of classes under the nodes."""
    system = sp.csc_array(system)
    if not np.isfinite(system.data).all():
        return lambda right: np.full_like(right, np.nan)
    try:
        return _factorised(system, n_under)
    except (np.linalg.LinAlgError, RuntimeError):  # definite, but singular in floating point
        shift = _SHIFT * float(system.diagonal().max())
        return _factorised(sp.csc_array(system + shift * sp.eye_array(len(n_under))), n_under)


def _factorised(system: sp.csc_array, n_under: npt.NDArray[Any]) -> Callable[[Array], Array]:
    """With nodes before those above them, the Cholesky factor of a tree has an entry per node and node above it, and
    its inverse has no more; on a DAG they have a few more."""
    n = len(n_under)
    if n > _DENSE_NODES:
        from scipy.sparse.linalg import splu

        return splu(system).solve  # type: ignore[no-any-return]
    order = np.argsort(n_under, kind="stable")
    factor = np.linalg.cholesky(system.toarray()[np.ix_(order, order)])
    half = np.empty_like(factor)
    half[:, order] = solve_triangular(factor, np.eye(n), lower=True, check_finite=False)
    if np.count_nonzero(half) > _SPARSE * n * n:
        inverse = half.T @ half
        return lambda right: np.asarray(inverse @ right)
    down, up = sp.csr_array(half), sp.csr_array(half.T)
    return lambda right: up @ (down @ right)
