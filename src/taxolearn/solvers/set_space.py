"""Label sets as the kernels want them, and marginals that a solve can begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.losses.sets import SetHinge

_LEAST_CURVATURE = (
    1e-6  # of a node, as a share of the largest cost; vectors of scale zero have none of their own
)

Array = npt.NDArray[np.float64]


def within(counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """0, 1, ... for each stretch of so many."""
    ends = np.cumsum(counts)
    return np.asarray(np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts))


def with_places(matrix: sp.csr_array, places: sp.csr_array) -> sp.csr_array:
    """The same matrix, with entries at all `places`, zero ones too; rows in rising order."""
    n, width = matrix.shape
    keys = np.repeat(np.arange(n, dtype=np.int64), np.diff(matrix.indptr)) * width + matrix.indices
    more = np.repeat(np.arange(n, dtype=np.int64), np.diff(places.indptr)) * width + places.indices
    every = np.union1d(keys, more)
    data = np.zeros(len(every))
    data[np.searchsorted(every, keys)] = matrix.data
    indptr = np.searchsorted(every, np.arange(n + 1, dtype=np.int64) * width)
    return sp.csr_array((data, (every % width).astype(np.int32), indptr), shape=matrix.shape)


def feasible_rows(loss: SetHinge, mu: sp.csr_array, slack: float) -> npt.NDArray[np.bool_]:
    """Which rows of marginals, rows x nodes, lie in the hull of the sets, each bound up to `slack`."""
    n_rows, n_nodes = mu.shape
    owner = np.repeat(np.arange(n_nodes), np.diff(loss.parent_indptr))
    edges = np.arange(len(owner))
    child = sp.csr_array((np.ones(len(owner)), (owner, edges)), shape=(n_nodes, len(owner)))
    parent = sp.csr_array((np.ones(len(owner)), (loss.parent_indices, edges)), shape=(n_nodes, len(owner)))
    above = sp.csr_array(mu @ child) - sp.csr_array(mu @ parent)
    bad = _rows_with(above, above.data > slack, n_rows)
    bad |= _rows_with(mu, (mu.data < -slack) | (mu.data > 1 + slack), n_rows)
    bad |= np.abs(mu[:, [0]].toarray().ravel() - 1.0) > slack
    if loss.is_tree:
        needs = (loss.must & loss.has_children).astype(np.float64)
        up = sp.csr_array((np.ones(len(owner)), (owner, loss.parent_indices)), shape=(n_nodes, n_nodes))
        short = sp.csr_array((mu - sp.csr_array(mu @ up)) @ sp.diags_array(needs))
        bad |= _rows_with(short, short.data > slack, n_rows)
    return ~bad


def _rows_with(matrix: sp.csr_array, wanted: npt.NDArray[np.bool_], n_rows: int) -> npt.NDArray[np.bool_]:
    rows = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
    found = np.zeros(n_rows, dtype=bool)
    found[rows[wanted]] = True
    return found


def kernel_space(loss: SetHinge, scale: Array) -> Any:
    """The sets and costs as the kernels want them."""
    from taxolearn.kernels.closure_rows import Dag
    from taxolearn.kernels.set_passes import Space
    from taxolearn.kernels.set_rows import Tree

    n = loss.n_nodes
    indptr, parents = loss.parent_indptr.astype(np.int64), loss.parent_indices.astype(np.int64)
    owner = np.repeat(np.arange(n), np.diff(indptr))
    edges = np.argsort(parents, kind="stable")
    below = np.concatenate(([0], np.cumsum(np.bincount(parents, minlength=n)))).astype(np.int64)
    first = np.full(n, -1, dtype=np.int64)
    first[owner[::-1]] = parents[::-1]
    tree = Tree(below, owner[edges], first, np.array(loss.must))
    dag = Dag(indptr, parents, owner, below, edges, owner[edges])
    largest = max(float(loss.miss.max()), float(loss.false_alarm.max()), np.finfo(np.float64).tiny)
    least = np.full(n, _LEAST_CURVATURE * largest)
    return Space(loss.is_tree, tree, dag, np.array(loss.miss), np.array(loss.false_alarm), scale, least)
