"""The metric Q of units that a dual ascent works in: dense blocks of units that hang together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from taxolearn.errors import DataError

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]

_MOST_ENTRIES = 2**28  # of all blocks together: 2 GB


class Blocks:
    """Units in blocks, those of `component` k in block k; and dense matrices over them as the kernels want them.

    >>> blocks = Blocks(np.array([0, 1, 0]))
    >>> [block.tolist() for block in blocks.members]
    [[0, 2], [1]]
    """

    def __init__(self, component: npt.NDArray[Any]) -> None:
        _, self.block = np.unique(component, return_inverse=True)
        order = np.argsort(self.block, kind="stable")
        sizes = np.bincount(self.block)
        self.indptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self.members: list[Ids] = np.split(order, self.indptr[1:-1])
        self.start = np.concatenate(([0], np.cumsum(sizes.astype(np.int64) ** 2)))
        if self.start[-1] > _MOST_ENTRIES:
            raise DataError(
                f"{int(sizes.max()):,} nodes hang together, too many for this solver, which keeps a number for each "
                "pair; use TopDownSVM"
            )
        self.place = np.empty(len(order), dtype=np.int64)
        self.place[order] = np.arange(len(order)) - self.indptr[:-1][self.block[order]]

    def metric(self, matrices: list[Array]) -> Any:
        """A symmetric matrix per block, for the kernels.

        >>> Blocks(np.array([0, 0])).metric([np.eye(2)]).data.tolist()
        [1.0, 0.0, 0.0, 1.0]
        """
        from taxolearn.kernels.sibling_passes import Metric

        data = np.concatenate([matrix.ravel() for matrix in matrices])
        members = np.concatenate(self.members).astype(np.int64)
        return Metric(self.block.astype(np.int64), self.place, self.indptr, members, self.start, data)


def inverse_blocks(precision: sp.csr_array, units: npt.NDArray[Any]) -> tuple[Blocks, list[Array]]:
    """The covariance of some nodes, (precision^-1)[units, units], block by block.

    >>> blocks, matrices = inverse_blocks(sp.csr_array(np.diag([1.0, 2.0, 4.0])), np.array([2, 0]))
    >>> [matrix.tolist() for matrix in matrices]
    [[[1.0]], [[0.25]]]
    """
    component = sp.csgraph.connected_components(precision, directed=False)[1]
    blocks = Blocks(component[units])
    matrices = []
    for members in blocks.members:
        nodes = np.flatnonzero(component == component[units[members[0]]])
        right = np.zeros((len(nodes), len(members)))
        at = np.searchsorted(nodes, units[members])
        right[at, np.arange(len(members))] = 1.0
        found = splu(sp.csc_array(precision[nodes][:, nodes])).solve(right)[at]
        matrices.append(0.5 * (found + found.T))
    return blocks, matrices
