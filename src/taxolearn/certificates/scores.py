"""Rows, and the scores that vectors give them, with bounds on the rounding of these scores.

A score added up from n products is off by at most gamma(n) |x| . |w|, in whatever order. That is bounded by the norms
of row and vector, or, where there is time for it, found by one more product.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.columns import VectorColumns, in_double
from taxolearn.certificates.rounding import TINY, Array, gamma, norm_bounds, segment_sums
from taxolearn.engines import frozen

_BYTES = 8 * 2**20  # of rows in double precision at a time
_MANY = 2**24  # products that are worth a compiled kernel
_DEAR = 2**34  # products that are worth a try with vectors in half of the memory
_ROUNDED, _UNDERFLOW = (
    2.0**-24,
    2.0**-149,
)  # of a number that becomes a float32: relative, and absolute at most
_FEW = 2**22  # products that may be done twice, for a bound that is closer


class Rows:
    """X, the norms of its rows rounded up, and how many products a score of each row takes.

    >>> rows = Rows(np.array([[3.0, 4.0]]))
    >>> rows.norms.round(6).tolist(), rows.terms.tolist()
    ([5.0], [2])
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.nnz = int(X.nnz) if sp.issparse(X) else int(X.size)

    @cached_property
    def terms(self) -> npt.NDArray[Any]:
        """Entries of each row."""
        return np.diff(self.X.indptr) if sp.issparse(self.X) else np.full(self.n_rows, self.n_features)

    @cached_property
    def norms(self) -> Array:
        """||x_i||, rounded up."""
        if sp.issparse(self.X):
            data = self.X.data.astype(np.float64, copy=False)
            squares = segment_sums(data * data, self.X.indptr)
        else:
            squares = np.empty(self.n_rows)
            step = max(1, _BYTES // (8 * max(1, self.n_features)))
            for first in range(0, self.n_rows, step):
                block = self.X[first : first + step].astype(np.float64, copy=False)
                squares[first : first + step] = np.einsum("ij,ij->i", block, block)
        return np.asarray(norm_bounds(squares, self.terms))

    def part(self, first: int, last: int) -> Any:
        """Some rows, not copied."""
        if (first, last) == (0, self.n_rows):
            return self.X
        if not sp.issparse(self.X):
            return self.X[first:last]
        ends = self.X.indptr[first : last + 1]
        entries = slice(ends[0], ends[-1])
        shape = (len(ends) - 1, self.n_features)
        return sp.csr_array((self.X.data[entries], self.X.indices[entries], ends - ends[0]), shape=shape)


class RowScores(Protocol):
    """Scores of rows however they are made, with bounds on their errors; `products` says what all of them take.

    >>> from taxolearn.certificates.columns import ClassColumns
    >>> scores: RowScores = Scores(Rows(np.eye(2)), ClassColumns(np.eye(2)), np.zeros(2))
    >>> scores.products
    8
    """

    products: int

    def of_rows(self, first: int, last: int) -> tuple[Array, Array]:
        """The scores of some rows and bounds on their errors, one per row or one per score."""


class Scores:
    """The scores of all rows and classes, and bounds on their errors.

    `intercept` is exact but for `offset`; `slack` bounds the norms by which vectors of classes are off.

    >>> from taxolearn.certificates.columns import ClassColumns
    >>> scores = Scores(Rows(np.eye(2)), ClassColumns(np.eye(2)), np.zeros(2))
    >>> scores.tight, scores.of_rows(0, 2)[0].tolist()
    (True, [[1.0, 0.0], [0.0, 1.0]])
    """

    def __init__(
        self,
        rows: Rows,
        columns: VectorColumns,
        intercept: Array,
        offset: Array | float = 0.0,
        slack: Array | float = 0.0,
    ) -> None:
        self.rows, self.columns, self.intercept = rows, columns, intercept
        n_classes = columns.n_classes
        self.offset: Array = np.zeros(n_classes) + offset
        self.slack: Array = np.zeros(n_classes) + slack
        self.products = rows.nnz * n_classes
        self.tight = self.products <= _FEW
        # whether vectors may be rounded to float32, see `rounded`; sums of sparse rows are in float64 all the same
        self.short = sp.issparse(rows.X) and self.products >= _DEAR

    @cached_property
    def gammas(self) -> Array:
        """The relative error of the scores of each row, by the sizes of their terms."""
        return np.asarray(gamma(self.rows.terms + self.columns.depth + 4.0))

    def prepare(self) -> None:
        """Find now what all tasks would find for themselves."""
        self.rows.norms, self.gammas  # noqa: B018
        self.columns.prepare()

    def of_rows(self, first: int, last: int) -> tuple[Array, Array]:
        """The scores of some rows and bounds on their errors, one per row or one per score."""
        X = self.rows.part(first, last)
        scores = self.columns.scores(X)
        scores += self.intercept
        norms, g = self.rows.norms[first:last, None], self.gammas[first:last, None]
        fixed = self.offset + self.lost(self.columns.sizes)
        if self.tight:
            sizes = self.columns.bounds(X) + np.abs(self.intercept)
            return scores, g * sizes + norms * self.slack + fixed
        sizes = norms * self.columns.sizes.max() + np.abs(self.intercept).max()
        return scores, g * sizes + norms * self.slack.max() + fixed.max()

    def rounded(self, sizes: Array) -> Array:
        """By how much, in norm, vectors in float32 are off at most."""
        return np.where(sizes > 0, 1.001 * _ROUNDED * sizes + self.rows.n_features * _UNDERFLOW, 0.0)

    def lost(self, sizes: Array) -> Array:
        """What products that underflow may take from a score; nothing of vectors that are zero."""
        return np.where(sizes > 0, self.rows.n_features * TINY, 0.0)


def exact_products(X: Any, columns: Array) -> Array:
    """X columns; for many products by a kernel of the certificates' own, which takes half of SciPy's time.

    >>> exact_products(np.eye(2), np.array([[1.0], [2.0]])).tolist()
    [[1.0], [2.0]]
    """
    if not sp.issparse(X) or X.nnz * columns.shape[1] < _MANY:
        return np.ascontiguousarray(in_double(X) @ columns)
    from taxolearn.kernels.exact_scores import multiply

    scores = np.empty((X.shape[0], columns.shape[1]))
    multiply(*frozen((X.indptr, X.indices, X.data)), columns, scores)
    return scores
