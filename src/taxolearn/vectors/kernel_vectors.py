"""Vectors that are sums of training rows in the space of a kernel: the rows that count, and their coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from taxolearn.engines import Engine
from taxolearn.errors import DataError
from taxolearn.gram import RowKernel
from taxolearn.gram.row_products import given_products
from taxolearn.vectors.class_vectors import read_only
from taxolearn.vectors.scoring import Best, Terms, Vectors

_PRODUCT_BYTES = 32 * 2**20  # of products with support rows at a time
_TOGETHER = 32  # rows whose products are found in one call where a score must be the same in any company


@dataclass(frozen=True, eq=False)
class KernelVectors(Vectors):
    """Node n has the vector sum over support rows j of nodes[n, j] phi(x_j), with phi(x) . phi(z) = k(x, z).

    Class k scores the sum of its nodes' vectors along `paths` (classes x nodes, a CSR), plus intercept[k]. `rows` are
    the support rows (None where products are given: a row then has those with all rows that were fitted), `support`
    their numbers among those, `labels` the classes that they have, `width` how many features a row must have.

    >>> vectors = _tiny()
    >>> vectors.scores(np.array([[1.0], [3.0]])).round(3).tolist()
    [[1.0, 0.368], [0.018, 0.368]]
    >>> vectors
    KernelVectors('rbf', 2 support rows, 2 classes, 1 features)
    """

    kernel: RowKernel
    rows: Any
    nodes: sparse.csr_array
    paths: sparse.csr_array
    intercept: np.ndarray[Any, np.dtype[np.float64]]
    support: np.ndarray[Any, np.dtype[np.int64]]
    labels: np.ndarray[Any, np.dtype[np.int32]]
    width: int

    by_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        n = len(self.support)
        if (self.rows is None) != self.kernel.is_precomputed:
            raise DataError("support rows belong to a kernel that can be evaluated, and to no other")
        if self.rows is not None and self.rows.shape != (n, self.n_features):
            raise DataError(
                f"there are {n} support rows of {self.n_features} features, not {self.rows.shape}"
            )
        if self.nodes.shape[1] != n or self.labels.shape != (n,):
            raise DataError(f"the coefficients and labels must be for {n} support rows")
        if self.paths.shape != (len(self.intercept), self.nodes.shape[0]):
            raise DataError(f"paths must be {len(self.intercept)} classes by {self.nodes.shape[0]} nodes")
        intercept = np.asarray(self.intercept, dtype=np.float64)
        object.__setattr__(self, "intercept", read_only(intercept))

    def __repr__(self) -> str:
        sizes = f"{len(self.support)} support rows, {self.n_classes} classes, {self.n_features} features"
        return f"KernelVectors({self.kernel.name}, {sizes})"

    @property
    def n_features(self) -> int:
        """Number of features a row must have; with given products, the number of rows that were fitted.

        >>> _tiny().n_features
        1
        """
        return self.width

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of all scores.

        >>> _tiny().dtype
        dtype('float64')
        """
        return np.dtype(np.float64)

    @property
    def is_sparse(self) -> bool:
        """Coefficients are stored sparse.

        >>> _tiny().is_sparse
        True
        """
        return True

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays.

        >>> _tiny().n_bytes
        128
        """
        parts: list[Any] = [self.intercept, self.support, self.labels]
        matrices = [self.nodes, self.paths, *([self.rows] if sparse.issparse(self.rows) else [])]
        for matrix in matrices:
            parts += [matrix.data, matrix.indices, matrix.indptr]
        if isinstance(self.rows, np.ndarray):
            parts.append(self.rows)
        return int(sum(part.nbytes for part in parts))

    @property
    def coef(self) -> Any:
        """Weights of the classes, classes x features; only the linear kernel has them.

        >>> _tiny().coef
        Traceback (most recent call last):
        ...
        AttributeError: coef is of vectors with features, and kernel 'rbf' has none; kernel='linear' has
        """
        if not self.kernel.is_linear:
            raise AttributeError(
                f"coef is of vectors with features, and kernel {self.kernel.name} has none; kernel='linear' has"
            )
        found = self.class_coef @ self.rows
        return found if sparse.issparse(found) else np.ascontiguousarray(found)

    @cached_property
    def class_coef(self) -> sparse.csr_array:
        """The coefficients of the classes, classes x support rows.

        >>> _tiny().class_coef.toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return sparse.csr_array(self.paths @ self.nodes)

    def products(self, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """k(x, z) of all rows x of X and all support rows z.

        >>> _tiny().products(np.array([[1.0]])).round(3).tolist()
        [[1.0, 0.368]]
        """
        return self._some_products(X, np.arange(len(self.support)))

    def _some_products(self, X: Any, some: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        if self.kernel.is_precomputed:
            return given_products(X, self.support[some])
        return self.kernel.evaluate(X, self.rows if len(some) == len(self.support) else self.rows[some])

    def entries(self, number: int, columns: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The coefficients of one class at some support rows.

        >>> _tiny().entries(1, [1, 0])
        array([1., 0.])
        """
        found: np.ndarray[Any, Any] = self.class_coef[[number]].toarray()[0]
        picked: np.ndarray[Any, Any] = found[np.asarray(columns)]
        return picked

    def mean_entries(self, classes: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """There are no weights of features to take the mean of.

        >>> _tiny().mean_entries([0])
        Traceback (most recent call last):
        ...
        taxolearn.errors.DataError: kernel 'rbf' gives features no weights; explain names the training rows that decide
        """
        if self.kernel.is_linear:
            return super().mean_entries(classes)
        raise DataError(
            f"kernel {self.kernel.name} gives features no weights; explain names the training rows that decide"
        )

    def terms(self, X: Any, feature_names: Any = None, classes: Sequence[Any] = ()) -> Terms:
        """What a score of X, one row, is a sum over: its products with the support rows, which are named by their
        numbers and labels.

        >>> _tiny().terms(np.array([[1.0]]), None, ["cat", "dog"]).names
        ['row 4 (cat)', 'row 7 (dog)']
        """
        names = [
            f"row {number} ({classes[label]})" if 0 <= label < len(classes) else f"row {number}"
            for number, label in zip(self.support.tolist(), self.labels.tolist(), strict=True)
        ]
        return Terms(np.arange(len(names)), self.products(X)[0], names)

    def unit_scores(self, X: Any, units: Any) -> np.ndarray[Any, Any]:
        """The scores of some classes, picked by a slice or an index array, on all rows of X.

        >>> _tiny().unit_scores(np.array([[1.0]]), [1]).round(3)
        array([[0.368]])
        """
        X = self._checked(X)
        coef = sparse.csr_array(self.class_coef[units])
        some, place = np.unique(coef.indices, return_inverse=True)
        coef = sparse.csr_array((coef.data, place, coef.indptr), shape=(coef.shape[0], len(some)))
        scores = np.empty((X.shape[0], coef.shape[0]))
        # BLAS rounds a row otherwise in other company: always so many rows at a time
        for first in range(0, X.shape[0], _TOGETHER):
            rows = np.arange(first, min(first + _TOGETHER, X.shape[0]))
            block = X[np.resize(rows, _TOGETHER)]
            scores[rows] = (coef @ self._some_products(block, some).T).T[: len(rows)]
        scores += self.intercept[units]
        return scores

    def _beam_top_k(self, X: Any, k: int, beam: int, engine: Engine) -> Best:
        raise DataError(
            "beam search needs vectors of features at the nodes of a taxonomy, and a kernel has none; leave beam out"
        )

    def _product(self, X: Any) -> Callable[[Any], np.ndarray[Any, Any]]:
        height = max(1, _PRODUCT_BYTES // (8 * max(1, len(self.support))))

        def product(block: Any) -> np.ndarray[Any, Any]:
            scores = np.empty((block.shape[0], self.n_classes))
            for first in range(0, block.shape[0], height):
                found = self.products(block[first : first + height])
                scores[first : first + height] = (self.paths @ (self.nodes @ found.T)).T
            return scores

        return product


def _tiny() -> KernelVectors:
    """For the examples: two classes, a support row each."""
    kernel, alone = RowKernel("rbf", (("gamma", 1.0),)), sparse.csr_array(np.eye(2))
    numbers = np.array([4, 7], dtype=np.int64), np.array([0, 1], dtype=np.int32)
    return KernelVectors(kernel, np.array([[1.0], [2.0]]), alone, alone, np.zeros(2), *numbers, 1)
