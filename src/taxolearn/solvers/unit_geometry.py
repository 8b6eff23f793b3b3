"""What a tie is to an ascent over units: a metric, given or learned, and the penalty of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.solvers.unit_metric import Blocks, inverse_blocks
from taxolearn.ties.signs import best_signs, signed_inverse

Array = npt.NDArray[np.float64]


class Quadratic:
    """A quadratic penalty: the metric is the covariance of the units, and nothing is learned.

    >>> from taxolearn.ties import transfer_tie
    >>> Quadratic(transfer_tie(None, [0, 1])).metric().data.round(9).tolist()
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


class Orthogonal:
    """Orthogonal transfer: the metric is (K o S)^-1, and S is learned.

    >>> from taxolearn.ties import OrthogonalTie
    >>> Orthogonal(OrthogonalTie(sp.csr_array([[2.0, 1.0], [1.0, 2.0]])), None).metric().data.round(9).tolist()
    [0.5, 0.0, 0.0, 0.5]
    """

    def __init__(self, tie: Any, signs: Array | None) -> None:
        self.blocks = Blocks(tie.component)
        self.diagonal = tie.matrix.diagonal()
        first, second, weight = tie.pairs
        self.signs = np.zeros(len(weight)) if signs is None else np.clip(signs, -1.0, 1.0)
        of_block = self.blocks.block[first]
        place = self.blocks.place
        self.of_block = [np.flatnonzero(of_block == k) for k in range(len(self.blocks.members))]
        self.pairs = [(place[first[some]], place[second[some]], weight[some]) for some in self.of_block]
        self.grams = [np.zeros((len(members), len(members))) for members in self.blocks.members]
        self._invert()

    def _invert(self) -> None:
        self.matrices = [
            signed_inverse(self.diagonal[members], pairs, self.signs[some])
            for members, pairs, some in zip(self.blocks.members, self.pairs, self.of_block, strict=True)
        ]

    def metric(self) -> Any:
        """Q for the kernels."""
        return self.blocks.metric(self.matrices)

    def learn(self, pulls: Any, sums: Array) -> None:
        """The best S for these duals."""
        for k, members in enumerate(self.blocks.members):
            some = pulls[members]
            gram = some @ some.T
            gram = gram.toarray() if sp.issparse(gram) else gram
            self.grams[k] = np.asarray(gram, dtype=np.float64) + np.outer(sums[members], sums[members])
            if len(self.of_block[k]):
                self.signs[self.of_block[k]] = best_signs(
                    self.diagonal[members], self.pairs[k], self.grams[k], self.signs[self.of_block[k]]
                )
        self._invert()

    def fill(self, pulls: Any, sums: Array, weights: npt.NDArray[Any], bias: Array) -> None:
        """weights (features x units) and bias from z: w = Q z."""
        fill(self.blocks, self.matrices, pulls, sums, weights, bias)

    def penalties(self, pulls: Any, sums: Array, weights: Any, bias: Array) -> tuple[float, float]:
        """Omega of the vectors, and 1/2 tr(Z' Q Z), which is not above it; from the last `learn` and `fill`."""
        above = quadratic = 0.0
        for k, (members, matrix) in enumerate(zip(self.blocks.members, self.matrices, strict=True)):
            first, second, weight = self.pairs[k]
            half = matrix @ self.grams[k]
            products = half @ matrix
            beside = float(weight @ np.abs(products[first, second]))
            above += 0.5 * float(self.diagonal[members] @ np.diag(products)) + beside
            quadratic += 0.5 * float(np.trace(half))
        return max(above, quadratic), quadratic

    def details(self) -> dict[str, Any]:
        """S, for the certificate."""
        return {"signs": self.signs}

    def state(self) -> Any:
        """S, to go on from."""
        return self.signs


def geometry_of(tie: Any, state: Any = None) -> Any:
    """The geometry of a tie; `state` is that of an earlier solve, taken if it is one for as many pairs.

    >>> from taxolearn.ties import transfer_tie
    >>> geometry_of(transfer_tie(None, [0, 1])).details()
    {}
    """
    if not tie.facts.absolute:
        return Quadratic(tie)
    known = (
        isinstance(state, np.ndarray) and state.shape == tie.pairs[2].shape and bool(np.isfinite(state).all())
    )
    return Orthogonal(tie, np.array(state, dtype=np.float64) if known else None)


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
