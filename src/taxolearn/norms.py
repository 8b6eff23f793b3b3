"""Norms of a class weight matrix that pay once for what classes share, by cone programme.

From Choi, Sasaki and Srebro, "Normalized Hierarchical SVM", section 6. They are here to check what Shared SVM
regularizes with; sizes up to a few dozen classes. Theorem 2, for U with r rows and c columns:

    ||U||_* / sqrt(r c)  <=  ||U||_s / sqrt(c)  <=  ||U||_max    and    ||U||_s  <=  ||U||_sG  <=  ||U||_F

Where Appendix B differs from Table 1 the table is right: for full sharing ||U||_s is ||u||, not sqrt(Y) ||u||. In
Lemma 3 the last norm is not squared, and in "factor scaling" max a_i means max |a_i|.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.conic import Block, minimise
from taxolearn.errors import DataError
from taxolearn.structure import Taxonomy

__all__ = ["max_norm", "shared_norm", "structured_shared_norm", "trace_norm"]

FloatArray = npt.NDArray[np.float64]


def trace_norm(U: npt.ArrayLike) -> float:
    """||U||_*, the least ||A||_F ||W||_F with A W' = U: the sum of the singular values.

    >>> round(trace_norm([[3.0, 0.0], [0.0, 4.0]]), 6)
    7.0
    """
    return float(np.linalg.svd(_check_matrix(U), compute_uv=False).sum())


def max_norm(U: npt.ArrayLike) -> float:
    """||U||_max, the least product of the largest row norms of A and W with A W' = U (Srebro and Shraibman 2005).

    >>> round(max_norm([[1.0, 1.0], [1.0, 1.0]]), 6)
    1.0
    """
    return _factor_norm(_check_matrix(U), largest_column=True)


def shared_norm(U: npt.ArrayLike) -> float:
    """||U||_s of (17), the least product of the largest row norm of A and the Frobenius norm of V with A V = U.

    A row of A says how much of each row of V a class takes, and a row of V is paid once, however many take of it.

    >>> round(shared_norm([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), 6)
    1.0
    """
    return _factor_norm(_fewer_columns(_check_matrix(U)))


def structured_shared_norm(
    U: npt.ArrayLike,
    taxonomy: Taxonomy,
    *,
    class_nodes: npt.ArrayLike | None = None,
    root: Literal["free", "pinned"] = "free",
) -> float:
    """||U||_sG of (16): as (17), with one row of V for each node and A_ln = a_n for the nodes n on class l's path.

    Its square is the least sum_n ||u_n||^2 / a_n^2 with U_l the sum of u_n along the path of l, and the sum of a_n^2
    along every path at most one: what (14) regularizes with.

    Parameters
    ----------
    U : array, classes x features
    taxonomy : Taxonomy
    class_nodes : array of int, optional
        The node of each row of U, by default the leaves by id.
    root : {"free", "pinned"}
        "pinned" gives the root no vector; then classes under different children of the root share nothing.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> round(structured_shared_norm([[3.0, 4.0], [3.0, 4.0]], tree), 6)
    5.0
    """
    if root not in ("free", "pinned"):
        raise DataError(f"root={root!r} is not known here; choose 'free' or 'pinned'")
    matrix = _check_matrix(U)
    paths = taxonomy.ancestor_matrix(
        taxonomy.leaf_ids if class_nodes is None else class_nodes, include_root=root == "free"
    )
    if paths.shape[0] != len(matrix):
        raise DataError(f"U has {len(matrix)} rows for {paths.shape[0]} classes; give one row per class")
    if not np.diff(paths.indptr).all():
        raise DataError("a class is the root, which has no vector; use root='free'")
    used = sp.csr_array(sp.csc_array(paths)[:, np.unique(paths.indices)])
    return _factor_norm(_fewer_columns(matrix), paths=used)


def _factor_norm(U: FloatArray, *, paths: sp.csr_array | None = None, largest_column: bool = False) -> float:
    """The least (max_i X_ii + c) / 2 with [[X, U], [U', Y]] semidefinite; c is the sum, or the largest, of the Y_jj.

    X = A A' and Y = V' V. Factors can be scaled against each other, so the least mean is the least product, rooted.
    With `paths` X = P diag(w) P', w >= 0, else X is free.
    """
    size = float(np.linalg.norm(U))
    if size == 0.0:
        return 0.0
    n_rows, n_columns = U.shape
    order = n_rows + n_columns
    right, left = np.tril_indices(order)  # left <= right: the upper triangle, column by column
    scale = np.where(left == right, 1.0, np.sqrt(2.0))
    in_X, in_Y = right < n_rows, left >= n_rows
    known = ~(in_X | in_Y)
    target = np.zeros(len(left))
    target[known] = np.sqrt(2.0) / size * U[left[known], right[known] - n_rows]
    if paths is None:
        entries_of_X = sp.eye_array(int(in_X.sum()))
    else:
        entries_of_X = paths[left[in_X]].multiply(paths[right[in_X]])
    # Variables: what X is made of, the entries of Y, the bounds s and c.
    n_X, n_Y = entries_of_X.shape[1], int(in_Y.sum())
    entries = sp.block_diag([entries_of_X, sp.csr_array((n_rows * n_columns, 0)), sp.eye_array(n_Y)])
    place = np.argsort(np.concatenate([np.flatnonzero(part) for part in (in_X, known, in_Y)]))
    entries = sp.csr_array(sp.hstack([sp.csr_array(entries)[place], sp.csr_array((len(left), 2))]))
    diagonal = entries[np.flatnonzero(left == right)]
    of_X, of_Y = diagonal[:n_rows], diagonal[n_rows:]
    if not largest_column:
        of_Y = sp.csr_array(np.ones((1, n_columns)) @ of_Y)
    bounds = sp.csr_array(sp.vstack([of_X, of_Y]))
    which = sp.block_diag([np.ones((n_rows, 1)), np.ones((of_Y.shape[0], 1))])
    bounds = bounds - sp.hstack([sp.csr_array((len(which.toarray()), n_X + n_Y)), which])
    blocks: list[Block] = [
        (-sp.diags_array(scale) @ entries, target, [("semidefinite", order)]),
        (bounds, np.zeros(bounds.shape[0]), [("nonnegative", bounds.shape[0])]),
    ]
    if paths is not None:
        blocks.append((-sp.eye_array(n_X, n_X + n_Y + 2), np.zeros(n_X), [("nonnegative", n_X)]))
    cost = np.concatenate([np.zeros(n_X + n_Y), [0.5, 0.5]])
    return size * float(cost @ minimise(cost, blocks, what="a factorisation norm"))


def _fewer_columns(U: FloatArray) -> FloatArray:
    """A rotation of U on the right, with no more columns than rows; the shared norms do not see it."""
    if U.shape[1] <= U.shape[0]:
        return U
    _, triangle = np.linalg.qr(U.T)
    return np.ascontiguousarray(triangle.T)


def _check_matrix(U: npt.ArrayLike) -> FloatArray:
    matrix = np.asarray(U, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size:
        raise DataError(f"U has shape {matrix.shape}; give a matrix of classes x features")
    if not np.isfinite(matrix).all():
        raise DataError("U holds NaN or infinity; give finite numbers")
    return matrix
