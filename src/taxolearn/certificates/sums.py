"""What a dual makes of the rows: sums of rows per class or node, their squares, and bounds on their rounding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.columns import in_double
from taxolearn.certificates.rounding import (
    TINY,
    UNIT,
    Array,
    Ball,
    gamma,
    pairwise,
    segment_sums,
    square,
    square_norm,
)
from taxolearn.certificates.scores import Rows
from taxolearn.engines import Run, frozen

_NODE_BYTES = 32 * 2**20  # of sums of rows at a time
_MANY = 2**24  # products that are worth a compiled kernel
_LIGHT = 2**20  # products that take a millisecond
_SMALL = 2**20  # entries of sparse rows that may be made dense
_DENSE = 0.05  # share of duals from which on a dense product is faster
_ALWAYS_DENSE = 2**14  # entries of a dense M that takes less time than to make a sparse one
_MOST_DENSE = 2**26  # entries of a dense M: 512 MB
_WIDE = 1e-9  # relative errors above it are looked at column by column
_SUMMED = 64  # rows added up one after the other, at least

Nodes: TypeAlias = Any  # csr_array, nodes x classes, None where each class is a node


@dataclass(frozen=True, eq=False)
class Adjoint:
    """The matrix M, classes x rows, of which V = M X; it is the sum of `parts`, each entry right to `relative`.

    `conjugates` are the dual terms of the losses, one per class or one for all.

    >>> adjoint = Adjoint((sp.csr_array(np.array([[1.0, -2.0]])),), Ball(0.0))
    >>> adjoint.sums.value.tolist()
    [-1.0]
    """

    parts: tuple[sp.csr_array, ...]
    conjugates: Ball
    relative: float = 0.0

    @cached_property
    def sums(self) -> Ball:
        """The sum of each row of M."""
        values = [segment_sums(part.data, part.indptr) for part in self.parts]
        sizes = sum(segment_sums(np.abs(part.data), part.indptr) for part in self.parts)
        roundings = pairwise(sum(np.diff(part.indptr) for part in self.parts)) + len(values)
        return Ball(sum(values), (gamma(roundings) + self.relative) * sizes)

    def sizes(self, norms: Array) -> Array:
        """sum_i |m_li| ||x_i|| for each class l, the parts of m taken by themselves."""
        found = [
            np.abs(_as_array(part)) @ norms
            if _is_full(part)
            else segment_sums(np.abs(part.data) * norms[part.indices], part.indptr)
            for part in self.parts
        ]
        return np.asarray(sum(found))

    def under(self, nodes: Nodes, numbers: npt.NDArray[Any] | None = None) -> sp.csr_array:
        """N M, or only some rows of it."""
        if nodes is None:
            parts = [part if numbers is None else part[numbers] for part in self.parts]
        else:
            few = nodes if numbers is None else nodes[numbers]
            parts = [few @ part for part in self.parts]
        found = parts[0]
        for part in parts[1:]:
            found = found + part
        return found

    def is_dense(self) -> bool:
        """Whether a dense M takes less time than a sparse one, and there is room for it."""
        size = self.parts[0].shape[0] * self.parts[0].shape[1]
        return size <= _ALWAYS_DENSE or (
            size <= _MOST_DENSE and any(part.nnz >= _DENSE * size for part in self.parts)
        )

    def dense_under(self, nodes: Nodes, numbers: npt.NDArray[Any] | None = None) -> Array:
        """N M, or only some rows of it, as an array."""
        few = numbers if nodes is None else None
        found = sum(_as_array(part if few is None else part[few]) for part in self.parts)
        if nodes is None:
            return np.asarray(found)
        return np.asarray((nodes if numbers is None else nodes[numbers]) @ found)

    @property
    def n_classes(self) -> int:
        """Rows of M."""
        return int(self.parts[0].shape[0])

    @property
    def nnz(self) -> int:
        """Entries of all parts."""
        return sum(int(part.nnz) for part in self.parts)


def squares_of_sums(nodes: Nodes, adjoint: Adjoint, rows: Rows, run: Run) -> Ball:
    """||z_n||^2 of every row n of N M X, N being nodes x classes, or None where each class is a node.

    >>> from taxolearn.engines import running
    >>> adjoint = Adjoint((sp.csr_array(np.array([[1.0, 2.0]])),), Ball(0.0))
    >>> with running() as run:
    ...     squares_of_sums(sp.csr_array([[2.0]]), adjoint, Rows(np.eye(2)), run).value.tolist()
    [20.0]
    """
    many = sp.issparse(rows.X) and adjoint.nnz * rows.nnz >= _MANY * max(1, rows.n_rows)
    X = rows.X if many else _for_sums(rows.X)
    width = max(1, _NODE_BYTES // (16 * max(rows.n_features, 1)))
    n_nodes = adjoint.n_classes if nodes is None else nodes.shape[0]
    blocks: list[Any] = [None]
    if n_nodes > width:
        blocks = [np.arange(a, min(a + width, n_nodes)) for a in range(0, n_nodes, width)]
    light = adjoint.nnz * max(1, rows.nnz // max(1, rows.n_rows)) < _LIGHT
    shared = run.share(_Sums(nodes, adjoint, X, many))
    found = run.map(_squares_of, shared, blocks, light=light, anywhere=True)
    values, terms = (np.concatenate(part) for part in zip(*found, strict=True))
    error = sum_errors(nodes, adjoint, rows, terms)
    squares = square_norm(values, error, gamma(rows.n_features if many else pairwise(rows.n_features)))
    # an error that is lost where the squares are added up is no matter: those of a root may cancel to nothing
    wide = np.maximum(_WIDE * squares.value, UNIT * squares.value.max(initial=0.0))
    if sp.issparse(X) or not np.any(squares.error > wide):
        return squares
    by_column = np.concatenate(run.map(_errors_by_column, shared, blocks, light=light, anywhere=True))
    return Ball(values, np.fmin(squares.error, gamma(pairwise(rows.n_features)) * values + by_column))


def sum_errors(nodes: Nodes, adjoint: Adjoint, rows: Rows, terms: Any) -> Array:
    """Bounds on the norms by which sums of `terms` rows, found by `vector_sums`, are off.

    >>> adjoint = Adjoint((sp.csr_array(np.array([[1.0, 2.0]])),), Ball(0.0))
    >>> bool(sum_errors(sp.csr_array([[1.0]]), adjoint, Rows(np.eye(2)), 2.0).max() < 1e-14)
    True
    """
    sizes, added = adjoint.sizes(rows.norms), 1
    if nodes is not None:
        sizes, added = _magnitudes(nodes) @ sizes, np.diff(nodes.indptr)
    lost = np.where(sizes > 0, terms * rows.n_features * TINY, 0.0)
    return np.asarray((gamma(terms + len(adjoint.parts) * added + 4.0) + adjoint.relative) * sizes + lost)


def vector_sums(duals: sp.csr_array, X: Any) -> tuple[Any, Any]:
    """duals X, dense or sparse, and after how many additions; dense rows are added up in blocks.

    >>> vector_sums(sp.csr_array([[1.0, 2.0]]), np.eye(2))[0].tolist()
    [[1.0, 2.0]]
    """
    if sp.issparse(X) or duals.nnz < _DENSE * duals.shape[1] * duals.shape[0]:
        return duals @ X, np.diff(duals.indptr)
    return dense_sums(duals.toarray(), X)


def dense_sums(weights: Array, X: Array) -> tuple[Array, int]:
    """weights X, added up in blocks of rows, and after how many additions.

    >>> dense_sums(np.array([[1.0, 2.0]]), np.eye(2))
    (array([[1., 2.]]), 2)
    """
    n = weights.shape[1]
    step = max(_SUMMED, int(np.sqrt(n)))
    total = np.zeros((weights.shape[0], X.shape[1]))
    for first in range(0, n, step):
        total += weights[:, first : first + step] @ X[first : first + step]
    return total, min(n, step + n // step + 1)


def node_sums(nodes: Nodes, adjoint: Adjoint) -> Ball:
    """The sum of each row of N M.

    >>> adjoint = Adjoint((sp.csr_array(np.array([[1.0, -2.0]])),), Ball(0.0))
    >>> node_sums(sp.csr_array([[3.0]]), adjoint).value.tolist()
    [-3.0]
    """
    if nodes is None:
        return adjoint.sums
    sizes = abs(nodes) @ np.abs(adjoint.sums.value)
    terms = gamma(np.diff(nodes.indptr) + 2.0)
    return Ball(nodes @ adjoint.sums.value, abs(nodes) @ adjoint.sums.error + terms * sizes)


def squares_with_bias(nodes: Nodes, adjoint: Adjoint, rows: Rows, run: Run, bias_feature: float) -> Ball:
    """`squares_of_sums` of rows with one more feature of this value.

    >>> from taxolearn.engines import running
    >>> adjoint = Adjoint((sp.csr_array(np.array([[1.0, 2.0]])),), Ball(0.0))
    >>> with running() as run:
    ...     squares_with_bias(None, adjoint, Rows(np.eye(2)), run, 2.0).value.tolist()
    [41.0]
    """
    squares = squares_of_sums(nodes, adjoint, rows, run)
    return squares + square(node_sums(nodes, adjoint) * bias_feature) if bias_feature else squares


class _Sums(NamedTuple):
    """What all tasks read."""

    nodes: Nodes
    adjoint: Adjoint
    X: Any
    many: bool


def _squares_of(shared: _Sums, numbers: npt.NDArray[Any] | None, clock: Any) -> tuple[Array, Array]:
    """||z_n||^2 of some nodes, and after how many additions."""
    with np.errstate(all="ignore"):
        # the duals of all classes under a node first: rows that they share are multiplied once
        if not sp.issparse(shared.X) and shared.adjoint.is_dense():
            weights = shared.adjoint.dense_under(shared.nodes, numbers)
            vectors, added = dense_sums(weights, shared.X)
            return np.add.reduce(vectors * vectors, axis=1), np.full(len(weights), float(added))
        duals = shared.adjoint.under(shared.nodes, numbers)
        if shared.many:
            return _by_kernel(duals, shared.X), np.diff(duals.indptr).astype(np.float64)
        vectors, terms = vector_sums(duals, shared.X)
        if sp.issparse(vectors):
            squares = segment_sums(vectors.data * vectors.data, vectors.indptr)
        else:
            squares = np.add.reduce(vectors * vectors, axis=1)
        return squares, np.broadcast_to(np.asarray(terms, dtype=np.float64), duals.shape[0])


def _errors_by_column(shared: _Sums, numbers: npt.NDArray[Any] | None, clock: Any) -> Array:
    """By how much ||z_n||^2 is off where z_nj is off by e_nj: sum_j 2 |z_nj| e_nj + e_nj^2.

    A column at 1e9 is off by more than all others, but the sums of its entries are next to nothing: by the norms of
    rows its error would count times theirs.
    """
    with np.errstate(all="ignore"):
        nodes, adjoint, dense = shared.nodes, shared.adjoint, shared.adjoint.is_dense()
        some = nodes if nodes is None or numbers is None else nodes[numbers]
        parts = [part if nodes is not None or numbers is None else part[numbers] for part in adjoint.parts]
        magnitudes = [abs(_as_array(part) if dense else part) for part in parts]
        sizes, added = sum(part @ np.abs(shared.X) for part in magnitudes), np.ones(1)
        if some is not None:
            sizes, added = _magnitudes(some) @ sizes, np.diff(some.indptr)
        vectors: Any
        if dense:
            vectors, terms = dense_sums(adjoint.dense_under(nodes, numbers), shared.X)
        else:
            vectors, terms = vector_sums(adjoint.under(nodes, numbers), shared.X)
        rounds = gamma(np.asarray(terms) + len(adjoint.parts) * added + 4.0) + adjoint.relative
        off = rounds[:, None] * sizes + np.where(sizes > 0, np.max(terms, initial=0) * TINY, 0.0)
        vectors = vectors.toarray() if sp.issparse(vectors) else vectors
        return np.asarray(np.add.reduce(off * (2.0 * np.abs(vectors) + off), axis=1))


def _by_kernel(duals: sp.csr_array, X: Any) -> Array:
    """||sum_i d_ni x_i||^2 for every row n of the duals: sparse rows are added up in one dense vector at a time."""
    from taxolearn.kernels.exact_scores import squares_of_sums

    squares = np.empty(duals.shape[0])
    factors, rows = frozen(((duals.indptr, duals.indices, duals.data), (X.indptr, X.indices, X.data)))
    squares_of_sums(*factors, *rows, np.empty(X.shape[1]), squares)
    return squares


def _for_sums(X: Any) -> Any:
    """Rows in double precision, dense if there are few: dense sums have smaller errors."""
    if not sp.issparse(X):
        return X
    return X.toarray().astype(np.float64, copy=False) if X.shape[0] * X.shape[1] <= _SMALL else in_double(X)


def _magnitudes(nodes: sp.csr_array) -> sp.csr_array:
    """Absolute values; paths have no others."""
    return abs(nodes) if nodes.data.min(initial=0.0) < 0 else nodes


def _as_array(part: sp.csr_array) -> Array:
    """A sparse matrix as an array; one that lacks no entry is not copied."""
    if _is_full(part):
        return np.asarray(part.data.reshape(part.shape), dtype=np.float64)
    return np.asarray(part.toarray(), dtype=np.float64)


def _is_full(part: sp.csr_array) -> bool:
    """Whether a sparse matrix lacks no entry, zeros being entries too."""
    return bool(part.nnz == part.shape[0] * part.shape[1] and part.has_canonical_format)
