"""Sums along paths in which every node has a scale per feature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.ties.base import Array, Tie, TieFacts


@dataclass(frozen=True, eq=False)
class FeaturePathSum(Tie):
    """w_l = sum of u_n over the nodes n of class l's path, with penalty 1/2 sum_n sum_j u_nj^2 / a_nj.

    `paths` is classes x nodes (CSR of ones), `scale` holds a_nj >= 0, nodes x features; a node has scales for all
    features or for none. For each feature j the classes have the covariance P diag(a_j) P' of a path sum; together they
    have none, and `factor` is that of the mean scales.

    >>> paths = sp.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> tie = FeaturePathSum(paths, np.array([[4.0, 0.25], [1.0, 1.0], [1.0, 1.0]]))
    >>> tie.square(np.array([[1.0, 0.0], [1.0, 0.0]])), tie.square(np.array([[0.0, 1.0], [0.0, 1.0]]))
    (18.0, 3.0)
    """

    paths: sp.csr_array
    scale: Array

    def __post_init__(self) -> None:
        if self.scale.ndim != 2 or len(self.scale) != self.paths.shape[1]:
            raise DataError(
                f"scales of shape {self.scale.shape} do not suit {self.paths.shape[1]} nodes; give nodes x features"
            )
        has = self.scale > 0
        if not np.array_equal(has.all(axis=1), has.any(axis=1)):
            raise DataError("a node must have positive scales for all features, or for none")

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> FeaturePathSum(sp.csr_array(np.eye(2)), np.ones((2, 3))).n_classes
        2
        """
        return int(self.paths.shape[0])

    @property
    def n_nodes(self) -> int:
        """Number of nodes, those without a vector included.

        >>> FeaturePathSum(sp.csr_array(np.eye(2)), np.ones((2, 3))).n_nodes
        2
        """
        return int(self.paths.shape[1])

    @cached_property
    def facts(self) -> TieFacts:
        """What callers branch on.

        >>> FeaturePathSum(sp.csr_array(np.eye(2)), np.ones((2, 3))).facts.by_feature
        True
        """
        users = np.bincount(self.paths.indices, minlength=self.n_nodes)
        return TieFacts(shares=bool(np.any((users > 1) & (self.scale > 0).any(axis=1))), by_feature=True)

    def factor(self) -> sp.csr_array:
        """P diag(sqrt(mean_j a_nj)).

        >>> FeaturePathSum(sp.csr_array(np.eye(1)), np.array([[3.0, 5.0]])).factor().toarray().tolist()
        [[2.0]]
        """
        return sp.csr_array(self.paths * np.sqrt(self.scale.mean(axis=1))[None, :])

    def of_feature(self, feature: int) -> Array:
        """P diag(sqrt(a_j)) of one feature.

        >>> FeaturePathSum(sp.csr_array(np.eye(1)), np.array([[9.0, 4.0]])).of_feature(1).tolist()
        [[2.0]]
        """
        return np.asarray((self.paths * np.sqrt(self.scale[:, feature])[None, :]).todense())

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Scales and paths.

        >>> len(FeaturePathSum(sp.csr_array(np.eye(2)), np.ones((2, 3))).arrays())
        3
        """
        return self.scale, self.paths.indptr, self.paths.indices

    def penalty(self, vectors: Array) -> float:
        """The sum over features of 1/2 w' A_j^+ w.

        >>> FeaturePathSum(sp.csr_array(np.eye(1)), np.array([[1.0, 4.0]])).penalty(np.array([[1.0, 2.0]]))
        1.0
        """
        total = 0.0
        for j in range(self.scale.shape[1]):
            factor = self.of_feature(j)
            parts, *_ = np.linalg.lstsq(factor, vectors[:, j], rcond=None)
            if not np.allclose(
                factor @ parts, vectors[:, j], rtol=1e-9, atol=1e-9 * float(np.abs(vectors).max())
            ):
                return float("inf")
            total += 0.5 * float(parts @ parts)
        return total

    def square(self, pulls: Array) -> float:
        """sum_nj a_nj z_nj^2, z_n being the sum of V over the classes below n.

        >>> FeaturePathSum(sp.csr_array(np.eye(1)), np.array([[1.0, 4.0]])).square(np.array([[1.0, 2.0]]))
        17.0
        """
        return float(np.sum(self.scale * np.asarray(self.paths.T @ pulls) ** 2))
