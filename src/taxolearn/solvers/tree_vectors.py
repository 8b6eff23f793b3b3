"""Vectors of a tree solve from its duals: dense by class, sparse by node, or left as duals, by what they would take."""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import frozen
from taxolearn.problem import Problem
from taxolearn.solvers.tree_forest import Forest
from taxolearn.ties import PathSum
from taxolearn.vectors import ClassVectors, NodeVectors
from taxolearn.vectors.dual_vectors import DualVectors

_DENSE_BYTES = 2**30  # largest size of class vectors that are stored dense
_SPARSE_BYTES = 2**30  # largest size of node vectors that are stored sparse

Array = npt.NDArray[np.float64]


class Form(Enum):
    """How vectors are held."""

    CLASSES = "one dense vector per class"
    NODES = "one sparse vector per node"
    DUALS = "not at all: made of the duals when asked for"


def vectors_form(problem: Problem, tie: PathSum, forest: Forest, active: Any) -> Form:
    """The first form that is not too large."""
    if problem.n_classes * problem.n_features * 8 <= _DENSE_BYTES:
        return Form.CLASSES
    return Form.NODES if _stored_bytes(problem, tie, forest, active) <= _SPARSE_BYTES else Form.DUALS


def make_vectors(
    problem: Problem, tie: PathSum, forest: Forest, active: Any, form: Form, intercept: Array
) -> ClassVectors | NodeVectors:
    """u_n = a_n sum over classes l under n of sum_i d_il y_il x_i, and w_l the sum along the path of class l.

    `active` are the duals as the kernels take them. A class without rows of its own takes what its ancestors have.
    """
    vectors = _Vectors(problem, forest, active)
    if form is Form.CLASSES:
        return ClassVectors(_dense(problem, tie, forest, vectors), intercept)
    return NodeVectors(_sparse(tie, forest, vectors), tie.paths, intercept)


def dual_vectors(problem: Problem, tie: PathSum, dual: sp.csr_array, intercept: Array) -> DualVectors:
    """The same vectors left as duals: `dual` is classes x rows, with sorted indices, which they share."""
    return DualVectors(problem.X, _signed(problem, dual), tie.paths, tie.scale, intercept)


def _signed(problem: Problem, dual: sp.csr_array) -> sp.csr_array:
    """d_il y_il; shares its structure with the duals."""
    data = -dual.data
    targets = problem.targets.tocsc()
    for k in range(problem.n_classes):
        start, stop = dual.indptr[k], dual.indptr[k + 1]
        rows, own = dual.indices[start:stop], targets.indices[targets.indptr[k] : targets.indptr[k + 1]]
        if len(rows):
            place = np.minimum(np.searchsorted(rows, own), len(rows) - 1)
            data[start + place[rows[place] == own]] *= -1.0
    return sp.csr_array((data, dual.indices, dual.indptr), shape=dual.shape)


class _Vectors:
    """Sums of signed rows, by node of the forest and by class."""

    def __init__(self, problem: Problem, forest: Forest, active: Any) -> None:
        from taxolearn.kernels import tree_descent
        from taxolearn.kernels.rows import rows_of

        self.rows: Any = rows_of(problem.X)
        self.kernels, self.forest = tree_descent, forest
        self.active = frozen(active)
        self.tree = frozen(forest.arrays())
        # a node's sum without its scale
        self.plain = self.tree._replace(scale=frozen(np.ones(len(forest.scale))))
        self.w = np.zeros(problem.n_features)
        self.share, self.touched = np.zeros(problem.n_rows), np.zeros(problem.n_rows, dtype=np.bool_)

    def of_node(self, number: int) -> Array:
        """z of a node of the forest; valid until the next call."""
        self.w[:] = 0.0
        self.kernels.add_node(
            self.rows, self.plain, self.active, number, 1.0, self.w, self.share, self.touched
        )
        return self.w

    def write_classes(self, out: Array) -> None:
        """w of all classes of the forest, each to its row of `out`."""
        self.w[:] = 0.0
        for top in self.forest.tops:
            self.kernels.class_vectors(
                self.rows, self.tree, self.active, top, self.forest.classes, self.w, out
            )


def _dense(problem: Problem, tie: PathSum, forest: Forest, vectors: _Vectors) -> Array:
    coef = np.zeros((problem.n_classes, problem.n_features))
    vectors.write_classes(coef)
    empty = np.setdiff1d(np.arange(problem.n_classes), forest.classes)
    users = tie.paths[empty].tocsc()
    for node in np.flatnonzero(np.diff(users.indptr)):
        if forest.member[node] >= 0:
            vector = tie.scale[node] * vectors.of_node(int(forest.member[node]))
            for k in users.indices[users.indptr[node] : users.indptr[node + 1]]:
                coef[empty[k]] += vector
    return coef


def _sparse(tie: PathSum, forest: Forest, vectors: _Vectors) -> sp.csr_array:
    indices: list[Any] = []
    data: list[Any] = []
    counts = np.zeros(tie.n_nodes, dtype=np.int64)
    for node in np.flatnonzero(forest.member >= 0):
        vector = vectors.of_node(int(forest.member[node]))
        where = np.flatnonzero(vector)
        counts[node] = len(where)
        indices.append(where.astype(np.int32))
        data.append((tie.scale[node] * vector[where]).astype(np.float32))
    indptr = np.concatenate(([0], np.cumsum(counts)))
    parts = (np.concatenate(data), np.concatenate(indices), indptr.astype(np.int32))
    return sp.csr_array(parts, shape=(tie.n_nodes, len(vectors.w)))


def _stored_bytes(problem: Problem, tie: PathSum, forest: Forest, active: Any) -> float:
    """What the node vectors take at most, in float32 with 32-bit indices."""
    if not sp.issparse(problem.X):
        return 8.0 * tie.n_nodes * problem.n_features
    row_sizes = np.diff(problem.X.indptr)
    ends = np.zeros(len(forest.classes) + 1)
    for k, (start, stop) in enumerate(pairwise(active.indptr.tolist())):
        rows = active.rows[start:stop][active.dual[start:stop] != 0]
        ends[k + 1] = ends[k] + row_sizes[rows].sum()
    sums = np.concatenate(([0.0], np.cumsum(ends[forest.spans[:, 1]] - ends[forest.spans[:, 0]])))
    bound = np.minimum(sums[forest.span_last] - sums[forest.span_first], problem.n_features)
    return 8.0 * float(bound[forest.member[forest.member >= 0]].sum())
