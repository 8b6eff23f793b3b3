"""Scores along the paths of large sparse node vectors, which are read once for as many rows as memory allows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from taxolearn.engines import Clock, Engine, Outcome
from taxolearn.errors import ModelError
from taxolearn.vectors.path_tree import PathTree

_STRETCH_ENTRIES = 4 * 2**20  # entries of node vectors transposed at a time, at most
_STRETCH_NODES = 1024  # nodes transposed at a time, at most: scores of a row stay in the first cache
_WALK_BYTES = 64 * 2**20  # bytes kept for the rows that walk together
_ROWS_PER_TASK = 2**14  # rows led along a stretch by one task: Ctrl-C waits for it
_MAX_SORTED = 128  # largest k whose best classes are kept in order; beyond it sorting all scores is quicker


class VectorSource(Protocol):
    """Where the walk gets its vectors from."""

    paths: sparse.csr_array
    intercept: np.ndarray[Any, np.dtype[np.float64]]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the vectors and of all scores."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    def vector_sizes(self) -> np.ndarray[Any, Any]:
        """For each node, how many entries its vector has at most."""

    def vectors_of(self, nodes: np.ndarray[Any, Any]) -> tuple[sparse.csr_array, np.ndarray[Any, Any]]:
        """A matrix in which the vectors of these nodes stand, and in which rows."""


def walk_scores(
    weights: VectorSource, X: sparse.csr_array, tree: PathTree, intercept: Any, engine: Engine
) -> np.ndarray[Any, Any]:
    """Scores of all rows, rows x classes of the tree.

    >>> from taxolearn.engines import ThreadEngine
    >>> from taxolearn.vectors import NodeVectors
    >>> from taxolearn.vectors.path_tree import products_only
    >>> nodes = NodeVectors(sparse.csr_array(np.eye(2)), sparse.csr_array(np.eye(2)), np.zeros(2))
    >>> with ThreadEngine() as engine:
    ...     walk_scores(nodes, sparse.csr_array([[3.0, 4.0]]), products_only(2), np.zeros(2), engine)
    array([[3., 4.]])
    """
    out = np.empty((X.shape[0], len(tree.classes)), dtype=weights.dtype)
    nothing = np.empty((X.shape[0], 0), dtype=weights.dtype)
    _walk(weights, X, tree, intercept, out, nothing, nothing.astype(np.int32), engine)
    return out


def walk_top_k(
    weights: VectorSource, X: sparse.csr_array, tree: PathTree, k: int, engine: Engine
) -> tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, Any]]:
    """The k best classes of each row and their scores, kept while walking.

    >>> from taxolearn.engines import ThreadEngine
    >>> from taxolearn.vectors import NodeVectors
    >>> from taxolearn.vectors.path_tree import path_tree
    >>> nodes = NodeVectors(sparse.csr_array(np.eye(2)), sparse.csr_array(np.eye(2)), np.zeros(2))
    >>> with ThreadEngine() as engine:
    ...     walk_top_k(nodes, sparse.csr_array([[3.0, 4.0]]), path_tree(nodes.paths), 1, engine)
    (array([[1]], dtype=int32), array([[4.]]))
    """
    ids, best = new_best(X.shape[0], k, len(weights.intercept), weights.dtype)
    kept = (len(tree.depth) and int(tree.depth.max()) + 2) * weights.dtype.itemsize
    if X.dtype != weights.dtype:
        kept += 12 * X.nnz // max(1, X.shape[0])
    step = max(1, _WALK_BYTES // kept)
    nothing = np.empty((0, 0), dtype=weights.dtype)
    for first in range(0, X.shape[0], step):
        rows = slice(first, min(first + step, X.shape[0]))
        some = X if step >= X.shape[0] else X[rows]
        _walk(weights, some, tree, weights.intercept, nothing, best[rows], ids[rows], engine)
    return ids, best


def new_best(n_rows: int, k: int, n_classes: int, dtype: Any) -> tuple[Any, Any]:
    """Room for the best classes of each row; none is found yet.

    >>> new_best(1, 2, 9, np.float64)
    (array([[9, 9]], dtype=int32), array([[-inf, -inf]]))
    """
    return np.full((n_rows, k), n_classes, dtype=np.int32), np.full((n_rows, k), -np.inf, dtype=dtype)


def walks_for(k: int) -> bool:
    """Whether so many best classes are kept while walking.

    >>> walks_for(5), walks_for(5000)
    (True, False)
    """
    return k <= _MAX_SORTED


def kernel_rows(matrix: sparse.csr_array, dtype: Any) -> Any:
    """A CSR matrix as the kernels take it: few combinations of types, so that few are compiled.

    >>> kernel_rows(sparse.csr_array([[3.0]]), np.float64).indptr.tolist()
    [0, 1]
    """
    from taxolearn.kernels.rows import SparseRows

    indices = matrix.indices
    if indices.dtype != np.int32 and matrix.shape[1] < 2**31 and indices.nbytes < _WALK_BYTES:
        indices = indices.astype(np.int32)
    parts = (matrix.indptr.astype(np.int64, copy=False), indices, matrix.data.astype(dtype, copy=False))
    for_reading = []
    for part in parts:
        view = part.view()
        view.flags.writeable = False  # a mapped file cannot be written to: for numba that is another type
        for_reading.append(view)
    return SparseRows(*for_reading)


def bad_index(node: int) -> ModelError:
    """What to say of a file that was mapped without being read first.

    >>> str(bad_index(3))
    'the stored vector of node 3 has an index out of range; the model is damaged'
    """
    return ModelError(f"the stored vector of node {node} has an index out of range; the model is damaged")


def stretches(sizes: np.ndarray[Any, Any]) -> Iterator[tuple[int, int]]:
    """Cut nodes whose vectors have these sizes into pieces that are transposed at a time: (first, last) of each.

    >>> list(stretches(np.array([3_000_000, 3_000_000, 10])))
    [(0, 1), (1, 3)]
    """
    first, entries = 0, 0
    for at, size in enumerate(sizes.tolist()):
        if at > first and (entries + size > _STRETCH_ENTRIES or at - first == _STRETCH_NODES):
            yield first, at
            first, entries = at, 0
        entries += size
    if first < len(sizes):
        yield first, len(sizes)


class Transposer:
    """Transposes node vectors, so that they stand feature by feature, for the features that some rows have.

    >>> from taxolearn.vectors import NodeVectors
    >>> nodes = NodeVectors(sparse.csr_array(np.eye(2)), sparse.csr_array(np.eye(2)), np.zeros(2))
    >>> rows = kernel_rows(sparse.csr_array([[0.0, 1.0]]), np.float64)
    >>> Transposer(nodes, rows).transpose(np.array([0, 1])).start.tolist()
    [0, 0, 2]
    """

    def __init__(self, weights: VectorSource, rows: Any) -> None:
        from taxolearn.kernels import node_scores

        self.kernels, self.weights = node_scores, weights
        self.used = np.zeros(weights.n_features, dtype=np.uint8)
        node_scores.mark_features(rows.indices, self.used)
        self.start = np.empty(weights.n_features + 1, dtype=np.int32)
        self.place = np.empty(weights.n_features, dtype=np.int32)
        self.member, self.value = np.empty(0, dtype=np.uint16), np.empty(0, dtype=weights.dtype)

    def transpose(self, nodes: np.ndarray[Any, Any]) -> Any:
        """The vectors of these nodes as `Transposed`; valid until the next call."""
        matrix, places = self.weights.vectors_of(nodes)
        vectors = kernel_rows(matrix, self.weights.dtype)
        size = self.kernels.count_features(vectors, places, self.used, self.start)
        if size < 0:
            raise bad_index(_damaged(matrix, nodes, places))
        if size > len(self.value):
            self.member = np.empty(size, dtype=np.uint16)
            self.value = np.empty(size, dtype=self.weights.dtype)
        found = self.kernels.Transposed(self.start, self.member, self.value)
        self.kernels.transpose_vectors(vectors, places, self.place, found)
        return found


class _Stretch(NamedTuple):
    """What the tasks of a stretch read; `path`, `table`, `best` and `ids` are written to, by each in its own rows.

    These rows go on with the next stretch, so that sending them back and forth would cost more than the work.
    """

    rows: Any
    vectors: Any
    walk: Any
    intercept: Any
    path: Any
    table: Any
    best: Any
    ids: Any


def _walk(
    weights: VectorSource,
    X: sparse.csr_array,
    tree: PathTree,
    intercept: Any,
    table: Any,
    best: Any,
    ids: Any,
    engine: Engine,
) -> None:
    from taxolearn.kernels import node_scores

    n_rows, dtype = X.shape[0], weights.dtype
    rows = kernel_rows(X, dtype)
    transposer = Transposer(weights, rows)
    path = np.zeros((n_rows, int(tree.depth.max(initial=0)) + 2), dtype=dtype)
    intercept = np.asarray(intercept).astype(dtype)
    pieces = min(n_rows, max(engine.n_workers, -(-n_rows // _ROWS_PER_TASK)))
    tasks = list(pairwise(np.linspace(0, n_rows, pieces + 1).astype(np.int64).tolist()))
    for first, last in stretches(weights.vector_sizes()[tree.order]):
        vectors = transposer.transpose(tree.order[first:last])
        walk = node_scores.Walk(tree.depth[first:last], tree.class_start[first : last + 1], tree.classes)
        stretch = _Stretch(rows, vectors, walk, intercept, path, table, best, ids)
        run_all(engine, _lead_rows, stretch, tasks)


def _lead_rows(stretch: _Stretch, task: tuple[int, int], clock: Clock) -> None:
    from taxolearn.kernels import node_scores

    rows, *rest = stretch
    node_scores.walk_rows(rows, *task, *rest)


def run_all(engine: Engine, function: Any, shared: Any, tasks: Any, on_result: Any = None) -> None:
    """Run tasks to their end; Ctrl-C ends them early, and is a KeyboardInterrupt here.

    Inside a fit, where Ctrl-C is a request, they are done to the end.

    >>> from taxolearn.engines import ThreadEngine
    >>> with ThreadEngine() as engine:
    ...     run_all(engine, lambda shared, task, clock: shared + task, 1, [2], print)
    2 3
    """
    clock = Clock()
    outcome = engine.map(function, shared, tasks, clock, on_result or _nothing)
    if outcome is not Outcome.COMPLETED or clock.stop[0]:
        raise KeyboardInterrupt


def _nothing(task: Any, result: Any) -> None:
    pass


def _damaged(matrix: sparse.csr_array, nodes: np.ndarray[Any, Any], places: np.ndarray[Any, Any]) -> int:
    for node, place in zip(nodes.tolist(), places.tolist(), strict=True):
        indices = matrix.indices[matrix.indptr[place] : matrix.indptr[place + 1]]
        if indices.size and (indices.min() < 0 or indices.max() >= matrix.shape[1]):
            return int(node)
    raise AssertionError("all indices are in range")
