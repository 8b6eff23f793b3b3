"""Sets of nodes that are closed under ancestors: which nodes need a chosen child, and what the sets fulfil."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.structure.names import show

Must = Literal["auto", "all", "root"]
MUST: tuple[Must, ...] = ("auto", "all", "root")

Flags = npt.NDArray[np.bool_]


def upward(parent_indptr: Any, parent_indices: Any) -> sp.csr_array:
    """Nodes x nodes: the parents of each node.

    >>> upward(np.array([0, 0, 1, 2]), np.array([0, 1])).toarray().tolist()
    [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    """
    n = len(parent_indptr) - 1
    ones = np.ones(len(parent_indices), dtype=np.int32)
    return sp.csr_array((ones, np.asarray(parent_indices), np.asarray(parent_indptr)), shape=(n, n))


def with_ancestors(sets: sp.csr_array, up: sp.csr_array) -> sp.csr_array:
    """The nodes of each set, rows x nodes, with all nodes above them.

    >>> up = upward(np.array([0, 0, 1, 2]), np.array([0, 1]))
    >>> with_ancestors(sp.csr_array(np.array([[0, 0, 1], [0, 0, 0]])), up).toarray().tolist()
    [[1, 1, 1], [0, 0, 0]]
    """
    found = ones_of(sp.csr_array(sets, copy=True))
    while True:
        more = ones_of(sp.csr_array(found + found @ up))
        if more.nnz == found.nnz:
            more.sort_indices()
            return more
        found = more


def ends_of(sets: sp.csr_array, up: sp.csr_array) -> sp.csr_array:
    """The nodes of each closed set that have no child in it.

    >>> up = upward(np.array([0, 0, 1, 2]), np.array([0, 1]))
    >>> ends_of(sp.csr_array(np.array([[1, 1, 1]])), up).toarray().tolist()
    [[0, 0, 1]]
    """
    above = ones_of(sp.csr_array(sets @ up))
    found = sp.csr_array(sets - above.multiply(sets))
    found.eliminate_zeros()
    found.sort_indices()
    return found


def ones_of(matrix: sp.csr_array) -> sp.csr_array:
    """The same entries, all one, in place.

    >>> ones_of(sp.csr_array(np.array([[3, 0]]))).toarray().tolist()
    [[1, 0]]
    """
    matrix.data[:] = 1
    return matrix


def needs_child(must: Must, inner: Flags, stops: Flags) -> Flags:
    """Which nodes need a chosen child: "all" `inner` ones, only the "root", or ("auto") inner ones where no row stops.
    The root always does.

    >>> inner, stops = np.array([True, True, False]), np.array([False, True, True])
    >>> [needs_child(must, inner, stops).tolist() for must in MUST]
    [[True, False, False], [True, True, False], [True, False, False]]
    """
    if must not in MUST:
        raise DataError(f"must={show(must)} is not allowed; give 'auto', 'all' or 'root'")
    found = {"auto": inner & ~stops, "all": inner.copy(), "root": np.zeros_like(inner)}[must]
    found[0] = True
    return np.asarray(found)


def set_constraints(up: sp.csr_array, must: Flags) -> tuple[sp.csr_array, npt.NDArray[np.float64]]:
    """A and b of A z <= b, for z in [0, 1] that is 1 at the root: (19) of Choi, Sasaki and Srebro.

    z_child <= z_parent; z_n <= sum of z_children where a child is needed; and the sum over nodes that may be ends is 1
    at least, which the sets fulfil anyway, but not the relaxed z without it.

    >>> A, b = set_constraints(upward(np.array([0, 0, 1, 2]), np.array([0, 0])), np.array([True, False, False]))
    >>> A.toarray().tolist(), b.tolist()
    ([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [1.0, -1.0, -1.0], [0.0, -1.0, -1.0]], [0.0, 0.0, 0.0, -1.0])
    """
    n = up.shape[0]
    edges = np.arange(len(up.indices))
    child = np.repeat(np.arange(n), np.diff(up.indptr))
    ones, shape = np.ones(len(edges)), (len(edges), n)
    closed = sp.csr_array((ones, (edges, child)), shape=shape) - sp.csr_array(
        (ones, (edges, up.indices)), shape=shape
    )
    needs = children_left_over(up)[np.flatnonzero(must)]
    ends = sp.csr_array(-1.0 * ~must[None, :])
    A, b = sp.vstack((closed, needs, ends)), np.zeros(len(edges) + needs.shape[0] + 1)
    b[-1] = -1.0
    return sp.csr_array(A), b


def children_left_over(up: sp.csr_array) -> sp.csr_array:
    """Nodes x nodes: z_n less the sum of its children.

    >>> children_left_over(upward(np.array([0, 0, 1]), np.array([0]))).toarray().tolist()
    [[1.0, -1.0], [0.0, 1.0]]
    """
    return sp.csr_array(sp.eye_array(up.shape[0]) - up.astype(np.float64).T)
