"""Rows of a kernel matrix when they are asked for, the last used kept within a limit of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.gram.row_products import Array, Ids, RowProducts

_BLOCK = 64  # rows whose products with each other give the diagonal
_BLOCK_BYTES = 32 * 2**20  # of new products at a time


class Gram:
    """The matrix K of a problem's rows, of which rows are computed once and kept while there is room.

    Where all fit into `cache_bytes` of the products, none is computed twice; else those not used for the longest time
    make room. A matrix that was given is not copied.

    >>> from taxolearn.gram import row_kernel, row_products
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> gram = Gram(X, row_products(row_kernel("linear"), X))
    >>> gram.rows(np.array([2, 1])).tolist(), gram.diagonal().tolist()
    ([[0.0, 2.0, 4.0], [0.0, 1.0, 2.0]], [0.0, 1.0, 4.0])
    """

    def __init__(self, X: Any, products: RowProducts, n_jobs: int = 1) -> None:
        self._X, self._products, self._n_jobs = X, products, n_jobs
        self.n_rows = int(X.shape[0])
        self._all = np.arange(self.n_rows)
        self._given = products.matrix is not None or products.kernel.is_precomputed
        self.computed = 0  # rows so far
        room = int(products.cache_bytes // (8 * max(1, self.n_rows)))
        self.capacity = self.n_rows if self._given else min(self.n_rows, room)
        self._kept = np.empty((0 if self._given else self.capacity, self.n_rows))
        self._place = np.full(self.n_rows, -1, dtype=np.intp)  # of each row among those kept
        self._owner = np.full(len(self._kept), -1, dtype=np.intp)
        self._used = np.zeros(len(self._kept), dtype=np.int64)  # when each was asked for last
        self._time = 0

    def rows(self, ids: Ids) -> Array:
        """Some different rows of K, each with all columns; a copy.

        >>> from taxolearn.gram import row_kernel, row_products
        >>> gram = Gram(np.eye(2), row_products(row_kernel("rbf"), np.eye(2)))
        >>> gram.rows(np.array([1, 0])).shape, gram.rows(np.array([1])).shape, gram.computed
        ((2, 2), (1, 2), 2)
        """
        if self._given:
            return self._products.between(self._X, ids, self._all)
        self._time += 1
        known = self._place[ids] >= 0
        found = np.empty((len(ids), self.n_rows))
        found[known] = self._kept[self._place[ids[known]]]
        self._used[self._place[ids[known]]] = self._time
        missing = np.flatnonzero(~known)
        step = max(1, _BLOCK_BYTES // (8 * self.n_rows))
        for first in range(0, len(missing), step):
            some = missing[first : first + step]
            found[some] = self._products.between(self._X, ids[some], self._all, self._n_jobs)
        self.computed += len(missing)
        self._keep(ids[missing], found, missing)
        return found

    def diagonal(self) -> Array:
        """k(x, x) of every row.

        >>> from taxolearn.gram import row_kernel, row_products
        >>> Gram(np.eye(2), row_products(row_kernel("rbf"), np.eye(2))).diagonal()
        array([1., 1.])
        """
        found = np.empty(self.n_rows)
        for first in range(0, self.n_rows, _BLOCK):
            some = self._all[first : first + _BLOCK]
            found[some] = np.diagonal(self._products.between(self._X, some, some))
        return found

    def _keep(self, ids: Ids, values: Array, places: npt.NDArray[np.intp]) -> None:
        """Put rows where those stand that were not asked for for the longest time."""
        free = np.flatnonzero(self._used < self._time)
        count = min(len(ids), len(free))
        if count == 0:
            return
        oldest = free[np.argsort(self._used[free], kind="stable")[:count]]
        gone = self._owner[oldest]
        self._place[gone[gone >= 0]] = -1
        self._kept[oldest] = values[places[:count]]
        self._owner[oldest], self._used[oldest] = ids[:count], self._time
        self._place[ids[:count]] = oldest
