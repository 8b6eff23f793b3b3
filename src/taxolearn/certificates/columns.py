"""Vectors of classes, however they are kept: one per class, or sums of one per node."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.rounding import TINY, Array, Ball, gamma, norm_bounds, pairwise

_TRANSPOSED = 8  # vectors put together one after the other before they become columns
_BYTES = 8 * 2**20  # of vectors in double precision at a time


class Columns(NamedTuple):
    """Vectors of some classes, features x classes, contiguous and in float64, or rounded to float32 where asked for;
    bounds on the summed norms of what each is made of; and, where asked for, the summed absolute values of that."""

    vectors: npt.NDArray[Any]
    sizes: Array
    magnitudes: Array | None


class VectorColumns(Protocol):
    """Vectors of classes however they are kept, their scores, and bounds on what these are made of.

    >>> columns: VectorColumns = ClassColumns(np.eye(2))
    >>> columns.n_classes
    2
    """

    n_classes: int
    n_features: int
    depth: int  # vectors that are added up to one of a class

    @property
    def sizes(self) -> Array:
        """The summed norms of the vectors that each class is made of, rounded up."""

    def of(self, block: npt.NDArray[Any], magnitudes: bool = False, short: bool = False) -> Columns:
        """The vectors of some classes, rounded to float32 if `short`."""

    def scores(self, X: Any) -> Array:
        """X w_l for all classes."""

    def bounds(self, X: Any) -> Array:
        """The sums of the absolute values of all products that each score is made of."""

    def prepare(self) -> None:
        """Find now what all tasks would find for themselves."""

    def apart(self) -> VectorColumns:
        """The same for one task, which shares nothing with others that is written to."""

    def seen(self) -> Any:
        """What was learned about the vectors that were asked for."""

    def note(self, seen: Any) -> None:
        """Take over what was learned elsewhere."""


class KeptColumns:
    """Vectors of which tasks learn nothing new: all that they need is found once."""

    sizes: Any

    def prepare(self) -> None:
        """Find now what all tasks would find for themselves."""
        self.sizes  # noqa: B018

    def apart(self) -> Self:
        """The same: nothing is written to."""
        return self

    def seen(self) -> None:
        """Nothing."""

    def note(self, seen: None) -> None:
        """Nothing to take over."""


class ClassColumns(KeptColumns):
    """Vectors that are kept one per class.

    >>> ClassColumns(np.array([[3.0, 4.0]])).of(np.array([0])).vectors.tolist()
    [[3.0], [4.0]]
    """

    depth = 1  # vectors that are added up to one of a class

    def __init__(self, coef: Any) -> None:
        self.coef = coef
        self.n_classes, self.n_features = coef.shape

    def of(self, block: npt.NDArray[Any], magnitudes: bool = False, short: bool = False) -> Columns:
        """The vectors of some classes, rounded to float32 if `short`."""
        rows = self.coef[block]
        dense = rows.toarray() if sp.issparse(rows) else rows
        vectors = np.ascontiguousarray(dense.T, dtype=np.float32 if short else np.float64)
        return Columns(vectors, self.sizes[block], np.abs(vectors) if magnitudes else None)

    @cached_property
    def squares(self) -> Ball:
        """||w_l||^2."""
        values = np.empty(self.n_classes)
        step = max(1, _BYTES // (8 * max(1, self.n_features)))
        for first in range(0, self.n_classes, step):
            block = self.coef[first : first + step].astype(np.float64, copy=False)
            products = block.multiply(block).toarray() if sp.issparse(block) else block * block
            values[first : first + step] = np.add.reduce(products, axis=1)
        values = _not_lost(values, self._any)
        return Ball(values, gamma(pairwise(self.n_features)) * values + self.n_features * TINY * (values > 0))

    def _any(self, classes: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which of these classes have a vector that is not zero."""
        rows = self.coef[classes]
        return np.asarray(
            abs(rows).max(axis=1).toarray().ravel() > 0 if sp.issparse(rows) else rows.any(axis=1)
        )

    def scores(self, X: Any) -> Array:
        """X w_l for all classes."""
        return all_products(X, self.coef, by_feature=False)

    def bounds(self, X: Any) -> Array:
        """|X| |w_l| for all classes."""
        return all_products(abs(X), abs(self.coef), by_feature=False)

    @cached_property
    def sizes(self) -> Array:
        """||w_l||, rounded up."""
        return _sizes(self.squares.value, self.n_features)


class NodeColumns:
    """Vectors that are kept one per node, or can be made so: on a tree each is asked for once, class after class.

    >>> from taxolearn.vectors import NodeVectors
    >>> paths = sp.csr_array(np.array([[1.0, 1.0]]))
    >>> columns = NodeColumns(NodeVectors(np.array([[1.0, 2.0]]), paths, np.zeros(1)), paths)
    >>> columns.of(np.array([0])).vectors.tolist(), columns.squares.value.tolist()
    ([[3.0]], [1.0, 4.0])
    """

    def __init__(self, vectors: Any, paths: sp.csr_array) -> None:
        self.vectors, self.paths = vectors, paths
        self.n_classes, self.n_nodes = paths.shape
        self.n_features = int(vectors.n_features)
        self.depth = int(np.diff(paths.indptr).max(initial=1))
        self._squares = np.full(self.n_nodes, -1.0)  # -1: not seen yet
        self._kept: dict[int, Array] = {}  # vectors of the nodes on the path of the last class
        self._above: list[int] | None = None
        self._sum_above = np.zeros(self.n_features)
        self._size_above = 0.0
        self._room: npt.NDArray[Any] = np.empty(0)

    def of(self, block: npt.NDArray[Any], magnitudes: bool = False, short: bool = False) -> Columns:
        """The vectors of some classes, rounded to float32 if `short`; valid until the next call."""
        size = self.n_features * len(block)
        dtype = np.dtype(np.float32 if short else np.float64)
        if len(self._room) < size or self._room.dtype != dtype:  # fresh memory is slow at the first touch
            self._room = np.empty(size, dtype)
        vectors = self._room[:size].reshape(self.n_features, len(block))
        sizes = np.zeros(len(block))
        few = np.empty((_TRANSPOSED, self.n_features))
        for start in range(0, len(block), _TRANSPOSED):
            numbers = block[start : start + _TRANSPOSED]
            for k, number in enumerate(numbers):
                sizes[start + k] = self._write(int(number), few[k])
            vectors[:, start : start + len(numbers)] = few[: len(numbers)].T
        summed = np.zeros_like(vectors) if magnitudes else None
        if summed is not None:
            for k, number in enumerate(block):
                for node in self._path(int(number)):
                    summed[:, k] += np.abs(self.vectors.node_vector(node))
        return Columns(vectors, sizes, summed)

    def prepare(self) -> None:
        """Nothing: every task asks for vectors of its own."""

    def apart(self) -> NodeColumns:
        """The same vectors, none asked for yet."""
        return NodeColumns(self.vectors, self.paths)

    def seen(self) -> tuple[npt.NDArray[np.intp], Array]:
        """The nodes that were asked for, and the squares of their vectors."""
        nodes = np.flatnonzero(self._squares >= 0)
        return nodes, self._squares[nodes]

    def note(self, seen: tuple[npt.NDArray[np.intp], Array]) -> None:
        """Take over squares, so that these vectors need not be made again."""
        nodes, squares = seen
        self._squares[nodes] = squares

    def _path(self, number: int) -> list[int]:
        path: list[int] = self.paths.indices[
            self.paths.indptr[number] : self.paths.indptr[number + 1]
        ].tolist()
        return path

    def _write(self, number: int, out: Array) -> float:
        """Write the vector of a class and tell the summed norms of its nodes' vectors, rounded up."""
        *above, last = self._path(number) or [-1]
        if last < 0:
            out[:] = 0.0
            return 0.0
        if above != self._above:  # siblings have the same nodes above them
            self._kept = {node: vector for node, vector in self._kept.items() if node in above}
            self._above = above
            self._sum_above[:] = 0.0
            for node in above:
                if node not in self._kept:
                    self._kept[node] = self._vector(node)
                self._sum_above += self._kept[node]
            self._size_above = float(_sizes(self._squares[above], self.n_features).sum())
        np.add(self._sum_above, self._vector(last), out=out)
        return self._size_above + float(_sizes(self._squares[last], self.n_features))

    def _vector(self, node: int) -> Array:
        """The vector of a node; its square is noted."""
        vector: Array = self.vectors.node_vector(node)
        self._squares[node] = (vector @ vector) or TINY * bool(vector.any())
        return vector

    @property
    def squares(self) -> Ball:
        """||u_n||^2."""
        if np.all(self._squares < 0) and isinstance(getattr(self.vectors, "nodes", None), np.ndarray):
            nodes = self.vectors.nodes
            self._squares[:] = _not_lost(column_squares(nodes), lambda few: nodes[:, few].any(axis=0))
        for node in np.flatnonzero(self._squares < 0).tolist():
            self._vector(node)
        terms = gamma(self.n_features)
        return Ball(self._squares, terms * self._squares + self.n_features * TINY * (self._squares > 0))

    @cached_property
    def sizes(self) -> Array:
        """Summed norms of the vectors on the path of each class, rounded up."""
        return np.asarray(self.paths @ _sizes(self.squares.value, self.n_features))

    @cached_property
    def _nodes(self) -> tuple[Any, bool]:
        """All node vectors and whether they are kept feature by feature."""
        nodes = getattr(self.vectors, "nodes", None)
        if nodes is None:
            return self.vectors.node_rows(np.arange(self.n_nodes)), False
        return nodes, not sp.issparse(nodes)

    def scores(self, X: Any) -> Array:
        """X w_l for all classes."""
        nodes, by_feature = self._nodes
        if by_feature and not sp.issparse(X) and X.shape[0] > self.n_features:
            return all_products(
                X, self._of_classes, by_feature
            )  # fewer additions than along the paths of all rows
        return self._along_paths(all_products(X, nodes, by_feature))

    @cached_property
    def _of_classes(self) -> Array:
        """The vectors of all classes, features x classes."""
        nodes = self._nodes[0]
        in_order = self.depth == 1 and np.array_equal(self.paths.indices, np.arange(self.n_nodes))
        if in_order and self.n_nodes == self.n_classes and np.all(self.paths.data == 1):
            return np.asarray(nodes)
        return self._along_paths(nodes)

    def bounds(self, X: Any) -> Array:
        """Sum over the path of |X| |u_n| for all classes."""
        nodes, by_feature = self._nodes
        return self._along_paths(all_products(abs(X), abs(nodes), by_feature))

    def _along_paths(self, by_node: Array) -> Array:
        return np.ascontiguousarray((self.paths.astype(np.float64, copy=False) @ by_node.T).T)


def _not_lost(squares: Array, are_any: Callable[[npt.NDArray[Any]], Any]) -> Array:
    """Squares of vectors, positive wherever a vector is not zero: those that underflow are put to the least number."""
    few = np.flatnonzero(squares == 0)
    if len(few):
        squares[few] = np.where(are_any(few), TINY, 0.0)
    return squares


def _sizes(squares: Any, n_features: int) -> Array:
    """Norms, rounded up, and zero only where vectors are."""
    return np.asarray(np.where(squares > 0, norm_bounds(squares, n_features), 0.0))


def in_double(X: Any) -> Any:
    """A sparse matrix in float64: SciPy would make it so at every product. The structure is shared.

    >>> in_double(sp.csr_array(np.eye(2, dtype=np.float32))).dtype
    dtype('float64')
    """
    if not sp.issparse(X) or (isinstance(X, sp.csr_array) and X.dtype == np.float64):
        return X
    return sp.csr_array((X.data.astype(np.float64, copy=False), X.indices, X.indptr), shape=X.shape)


def column_squares(nodes: npt.NDArray[Any]) -> Array:
    """The summed squares of each column, in double precision, a block of rows at a time.

    >>> column_squares(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [10.0, 20.0]
    """
    squares = np.zeros(nodes.shape[1])
    step = max(1, _BYTES // (8 * max(1, nodes.shape[1])))
    for first in range(0, nodes.shape[0], step):
        block = nodes[first : first + step].astype(np.float64, copy=False)
        squares += np.einsum("jn,jn->n", block, block)
    return squares


def all_products(X: Any, vectors: Any, by_feature: bool) -> Array:
    """X times all vectors in double precision, a block of features at a time: float32 is not copied whole.

    Dense `vectors` are features x vectors if `by_feature`, else vectors x features; sparse ones the latter.

    >>> all_products(np.eye(2), np.array([[1.0, 2.0]]), by_feature=False).tolist()
    [[1.0], [2.0]]
    """
    if sp.issparse(vectors):
        found = in_double(X) @ in_double(sp.csr_array(vectors)).T
        return np.asarray(found.toarray() if sp.issparse(found) else found)
    nodes = vectors if by_feature else vectors.T
    if sp.issparse(X) and nodes.dtype == np.float64 and nodes.flags.c_contiguous:  # as they are
        return np.asarray(in_double(X) @ nodes)
    n_features, n_vectors = nodes.shape
    scores = np.zeros((X.shape[0], n_vectors))
    step = max(1, _BYTES // (16 * max(1, n_vectors)))
    if not sp.issparse(X):
        for first in range(0, n_features, step):
            block = nodes[first : first + step].astype(np.float64, copy=False)
            scores += X[:, first : first + step].astype(np.float64, copy=False) @ block
        return scores
    by_column = X.tocsc()
    used = np.flatnonzero(np.diff(by_column.indptr))  # of a few thousand rows of text, a small part
    for first in range(0, len(used), step):
        some = used[first : first + step]
        # from the first of these features to the last there are no other entries
        start, end = by_column.indptr[some[0]], by_column.indptr[some[-1] + 1]
        ends = np.append(by_column.indptr[some], end) - start
        values, rows = by_column.data[start:end].astype(np.float64, copy=False), by_column.indices[start:end]
        part = sp.csc_array((values, rows, ends), shape=(X.shape[0], len(some)))
        scores += part @ nodes[some].astype(np.float64, copy=False)
    return scores
