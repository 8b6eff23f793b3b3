"""What a tie is to an ascent over units: a metric, given or learned, and the penalty of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.solvers.unit_metric import Blocks, inverse_blocks
from taxolearn.ties import Tie

Array = npt.NDArray[np.float64]


class Quadratic:
    """A quadratic penalty: the metric is the covariance of the units, and nothing is learned.

    >>> from taxolearn.ties import transfer_tie
    >>> Quadratic(transfer_tie(None, [0, 1])).metric().data.tolist()
    [1.0, 1.0]
    """

    def __init__(self, tie: Any) -> None:
        self.blocks, self.matrices = inverse_blocks(tie.precision(), tie.class_nodes)

    def metric(self) -> Any:
        """Q for the kernels."""
        return self.blocks.metric(self.matrices)

    def learn(self, pulls: Any, sums: Array) -> None:
        """Nothing."""

    def fill(self, pulls: Any, sums: Array, weights: npt.NDArray[Any], bias: Array) -> None:
        """weights (features x units) and bias from z: w = Q z."""
        fill(self.blocks, self.matrices, pulls, sums, weights, bias)

    def penalties(self, pulls: Any, sums: Array, weights: Any, bias: Array) -> tuple[float, float]:
        """The penalty of the vectors, and 1/2 tr(Z' Q Z), which is the same."""
        half = 0.5 * products(pulls, sums, weights, bias)
        return half, half

    def details(self) -> dict[str, Any]:
        """Nothing to tell."""
        return {}

    def state(self) -> Any:
        """Nothing to go on from but the dual."""
        return None


def geometry_of(tie: Tie, state: Any = None) -> Any:
    """The geometry of a tie; `state` is that of an earlier solve."""
    return Quadratic(tie)


def fill(
    blocks: Blocks,
    matrices: list[Array],
    pulls: Any,
    sums: Array,
    weights: npt.NDArray[Any],
    bias: Array,
) -> None:
    """weights (features x units) and bias from z, block by block: w = Q z.

    >>> weights, bias = np.zeros((1, 2)), np.zeros(2)
    >>> fill(Blocks(np.zeros(2)), [2.0 * np.eye(2)], np.array([[1.0], [3.0]]), np.ones(2), weights, bias)
    >>> weights.tolist(), bias.tolist()
    ([[2.0, 6.0]], [2.0, 2.0])
    """
    for members, matrix in zip(blocks.members, matrices, strict=True):
        some = pulls[members]
        some = some.toarray() if sp.issparse(some) else some
        weights[:, members] = (matrix @ some).T
        bias[members] = matrix @ sums[members]


def products(pulls: Any, sums: Array, weights: npt.NDArray[Any], bias: Array) -> float:
    """sum over units of z . w, the bias feature included.

    >>> products(sp.csr_array([[1.0, 0.0], [0.0, 2.0]]), np.ones(2), np.array([[3.0, 0.0], [0.0, 4.0]]), np.ones(2))
    13.0
    """
    if sp.issparse(pulls):
        entries = pulls.tocoo()
        inner = float(np.sum(entries.data * weights[entries.col, entries.row]))
    else:
        inner = float(np.sum(pulls.T * weights))
    return inner + float(sums @ bias)
