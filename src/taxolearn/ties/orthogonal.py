"""The tie of orthogonal transfer: absolute products of the vectors of nodes and their ancestors are penalised."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show
from taxolearn.ties.base import Array, Tie, TieFacts
from taxolearn.ties.signs import best_signs

_DENSE = 1000  # nodes up to which eigenvalues are found by dense algebra; above, by Lanczos' method
_AUTO_SHARE = 0.95  # of the largest alpha that works, taken by alpha="auto"
_CLEAR = 1e-9  # share of the diagonal by which the comparison matrix must be positive definite


@dataclass(frozen=True, eq=False)
class OrthogonalTie(Tie):
    """Penalty Omega(w) = 1/2 sum_ij K_ij |w_i . w_j|, (4) and (5) of Zhou, Xiao and Wu (2011).

    `matrix` is K, units x units, symmetric and not negative; its comparison matrix (the diagonal of K, minus K beside
    it) must be positive definite, which makes Omega strongly convex (Theorem 1, Corollary 2). It is no quadratic form
    but the largest of many:

        Omega(w) = max over S in [-1, 1], S_ii = 1, of 1/2 tr(W' (K o S) W),

    so that the covariance has no one value; `factor` is that of S = I, vectors that are left alone.

    >>> tie = OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]]))
    >>> tie.penalty(np.array([[1.0, 0.0], [-1.0, 0.0]])), tie.penalty(np.eye(2))
    (3.0, 2.0)
    """

    matrix: sp.csr_array

    def __post_init__(self) -> None:
        matrix = sp.csr_array(self.matrix, dtype=np.float64)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        object.__setattr__(self, "matrix", matrix)
        check_penalties(matrix)
        least = self.largest_share
        if least <= 1.0 + _CLEAR:
            raise DataError(
                "the comparison matrix of K is not positive definite, its smallest eigenvalue being "
                f"{self.smallest_eigenvalue:.3g}, and the objective would not be convex; multiply what stands beside "
                f"the diagonal by less than {least:.6g}"
            )

    @property
    def n_classes(self) -> int:
        """Number of units.

        >>> OrthogonalTie(sp.csr_array(np.eye(3))).n_classes
        3
        """
        return int(self.matrix.shape[0])

    @property
    def facts(self) -> TieFacts:
        """The penalty has absolute products.

        >>> OrthogonalTie(sp.csr_array(np.eye(3))).facts.absolute
        True
        """
        return TieFacts(absolute=True, shares=len(self.pairs[0]) > 0)

    def factor(self) -> sp.csr_array:
        """That of vectors that are orthogonal to each other.

        >>> OrthogonalTie(sp.csr_array([[4.0]])).factor().toarray().tolist()
        [[0.5]]
        """
        return sp.csr_array(sp.diags_array(1.0 / np.sqrt(self.matrix.diagonal())))

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The three arrays of K.

        >>> len(OrthogonalTie(sp.csr_array(np.eye(2))).arrays())
        3
        """
        return self.matrix.indptr, self.matrix.indices, self.matrix.data

    @cached_property
    def pairs(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Array]:
        """i < j and K_ij of all pairs with K_ij > 0, by i.

        >>> [part.tolist() for part in OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]])).pairs]
        [[0], [1], [1.0]]
        """
        upper = sp.triu(self.matrix, 1, format="coo")
        return upper.row, upper.col, upper.data

    @cached_property
    def component(self) -> npt.NDArray[Any]:
        """Which units hang together by pairs: the number of the component of each.

        >>> OrthogonalTie(sp.csr_array(np.eye(2))).component.tolist()
        [0, 1]
        """
        return np.asarray(sp.csgraph.connected_components(self.matrix, directed=False)[1])

    @cached_property
    def comparison(self) -> sp.csr_array:
        """The diagonal of K, and minus K beside it.

        >>> OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]])).comparison.toarray().tolist()
        [[2.0, -1.0], [-1.0, 2.0]]
        """
        return sp.csr_array(2.0 * sp.diags_array(self.matrix.diagonal()) - self.matrix)

    @cached_property
    def smallest_eigenvalue(self) -> float:
        """Of the comparison matrix: the convexity parameter of the penalty.

        >>> round(OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]])).smallest_eigenvalue, 9)
        1.0
        """
        return -largest_eigenvalue(sp.csr_array(-self.comparison))

    @cached_property
    def largest_share(self) -> float:
        """By less than this, what stands beside the diagonal of K may be multiplied; infinite where nothing does.

        >>> round(OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]])).largest_share, 9)
        2.0
        """
        return largest_share(self.matrix)

    def penalty(self, vectors: Array) -> float:
        """1/2 sum_ij K_ij |w_i . w_j|, from the definition.

        >>> OrthogonalTie(sp.csr_array([[1.0]])).penalty(np.array([[3.0]]))
        4.5
        """
        first, second, weight = self.pairs
        products = np.einsum("ij,ij->i", vectors[first], vectors[second])
        squares = np.einsum("ij,ij->i", vectors, vectors)
        return float(0.5 * self.matrix.diagonal() @ squares + weight @ np.abs(products))

    def square(self, pulls: Array) -> float:
        """Twice the conjugate of the penalty: the least tr(V' (K o S)^-1 V) over S.

        >>> round(OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]])).square(np.ones((2, 1))), 6)
        0.666667
        """
        first, second, weight = self.pairs
        signs = best_signs(self.matrix.diagonal(), (first, second, weight), pulls @ pulls.T, None)
        signed = np.diag(self.matrix.diagonal())
        signed[first, second] = signed[second, first] = weight * signs
        return float(np.sum(pulls * np.linalg.solve(signed, pulls)))


def orthogonal_tie(
    taxonomy: Taxonomy | None, nodes: npt.ArrayLike, alpha: Any = 1.0, K: Any = None
) -> OrthogonalTie:
    """The tie over some nodes (ids) of a tree: K of (6) by `alpha`, or K as given, one row per node of the taxonomy.

    (6): K_ii is the number of nodes at and below i, K_ij = alpha for nodes and their ancestors, the root left out.
    alpha="auto" is 0.95 of the largest one that works, at most 1. Vectors of nodes that do not score rows are zero,
    and their rows of K are left out. Without a taxonomy the nodes are classes and K of (6) is the identity.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Rock"])
    >>> orthogonal_tie(tree, tree.ids_of(["Animal", "Cat", "Dog", "Rock"])).matrix.toarray()
    array([[3., 1., 1., 0.],
           [1., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 0., 0., 1.]])
    >>> chain = Taxonomy.from_paths(["a/b/c/d"])
    >>> orthogonal_tie(chain, [1, 2, 3], alpha=2.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: alpha=2.0 is too large for this taxonomy: ...; give alpha below 0.879385, or "auto"
    """
    ids = np.asarray(nodes, dtype=np.int64)
    if K is not None:
        return OrthogonalTie(_given(K, taxonomy, ids))
    if taxonomy is None:
        return OrthogonalTie(sp.csr_array(sp.eye_array(len(ids))))
    sizes = (taxonomy.subtree_end - np.arange(taxonomy.n_nodes))[ids].astype(np.float64)
    above = sp.csr_array(taxonomy.ancestor_matrix(ids), dtype=np.float64)[:, ids]
    beside = sp.csr_array(above + above.T)
    beside.setdiag(0.0)
    beside.eliminate_zeros()
    most = largest_share(sp.csr_array(sp.diags_array(sizes) + beside))
    value = min(1.0, _AUTO_SHARE * most) if isinstance(alpha, str) else float(alpha)
    matrix = sp.csr_array(sp.diags_array(sizes) + value * beside)
    if value >= most / (1.0 + _CLEAR):
        comparison = sp.csr_array(2.0 * sp.diags_array(sizes) - matrix)
        raise DataError(
            f"alpha={alpha!r} is too large for this taxonomy: the comparison matrix of K has the smallest eigenvalue "
            f"{-largest_eigenvalue(sp.csr_array(-comparison)):.3g}, and the objective would not be convex; give alpha "
            f'below {most:.6g}, or "auto"'
        )
    return OrthogonalTie(matrix)


def _given(K: Any, taxonomy: Taxonomy | None, ids: npt.NDArray[np.int64]) -> sp.csr_array:
    try:
        matrix = sp.csr_array(K, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"K={show(K)} is not a matrix of numbers") from None
    n = len(ids) if taxonomy is None else taxonomy.n_nodes
    if matrix.shape != (n, n):
        raise DataError(
            f"K has shape {matrix.shape}, and there are {n} {'classes' if taxonomy is None else 'nodes'}; give one row "
            "and one column for each"
        )
    check_penalties(matrix)
    return sp.csr_array(matrix[ids][:, ids])


def check_penalties(matrix: sp.csr_array) -> None:
    """Whether a matrix is symmetric, with nothing negative and a positive diagonal.

    >>> check_penalties(sp.csr_array([[1.0, -1.0], [-1.0, 1.0]]))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: K holds the number -1; give numbers from zero on
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"K has shape {matrix.shape}; give a square matrix")
    wrong = matrix.data[~(np.isfinite(matrix.data) & (matrix.data >= 0))]
    if len(wrong):
        raise DataError(f"K holds the number {wrong[0]:g}; give numbers from zero on")
    if not _symmetric(matrix):
        raise DataError("K is not symmetric; give a symmetric matrix")
    empty = np.flatnonzero(matrix.diagonal() <= 0)
    if len(empty):
        raise DataError(f"K has 0 on its diagonal, in row {empty[0]}; give positive numbers there")


def _symmetric(matrix: sp.csr_array) -> bool:
    if matrix.shape[0] <= _DENSE:
        whole = matrix.toarray()
        return bool(np.array_equal(whole, whole.T))
    return bool(abs(matrix - matrix.T).max() == 0)


def largest_share(matrix: sp.csr_array) -> float:
    """By less than this, what stands beside the diagonal may be multiplied, or else the comparison matrix is not
    positive definite: one over the largest eigenvalue of D^-1/2 (K - D) D^-1/2, D being the diagonal.

    >>> largest_share(sp.csr_array([[4.0, 2.0], [2.0, 4.0]]))
    2.0
    """
    entries = sp.coo_array(matrix)
    scale = 1.0 / np.sqrt(matrix.diagonal())
    row, column = entries.coords
    beside = (row != column) & (entries.data != 0)
    row, column = row[beside], column[beside]
    if not len(row):
        return float("inf")
    values = scale[row] * entries.data[beside] * scale[column]
    return 1.0 / largest_eigenvalue(sp.coo_array((values, (row, column)), shape=matrix.shape))


def largest_eigenvalue(matrix: sp.sparray) -> float:
    """Of a symmetric matrix; above a thousand rows by Lanczos' method, which only multiplies.

    >>> round(largest_eigenvalue(sp.csr_array([[0.0, 2.0], [2.0, 0.0]])), 9)
    2.0
    """
    n = matrix.shape[0]
    if n <= _DENSE:
        return float(np.linalg.eigvalsh(matrix.toarray())[-1])
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).random(n) + 0.5
    return float(
        eigsh(sp.csr_array(matrix), k=1, which="LA", v0=start, tol=1e-10, return_eigenvectors=False)[0]
    )
