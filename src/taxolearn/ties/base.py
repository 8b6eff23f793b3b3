"""What every tie offers: how the vectors of classes hold together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[np.float64]


class TieFacts(NamedTuple):
    """What callers branch on, never on the class of a tie.

    - `paths`: vectors of classes are sums of node vectors along paths (`PathSum`).
    - `tree`: these paths are those of a tree, or of several.
    - `precision`: it has a sparse inverse covariance of its nodes (`GraphTie`).
    - `shares`: two classes have something in common.
    - `definite`: its covariance has an inverse, not much larger than itself.
    - `learned`: the scales of its nodes are found together with the vectors.
    - `absolute`: the penalty has absolute products of vectors (`OrthogonalTie`); it is no quadratic form, and its
      covariance, penalty and square do not belong together as those of one do.
    - `by_feature`: the covariance of the classes differs from feature to feature (`FeaturePathSum`).

    >>> TieFacts(paths=True, tree=True).precision
    False
    """

    paths: bool = False
    tree: bool = False
    precision: bool = False
    shares: bool = True
    learned: bool = False
    absolute: bool = False
    definite: bool = False
    by_feature: bool = False


class Tie(ABC):
    """A prior over the vectors W of the classes with covariance A = L L' (classes x classes).

    W = L U, with penalty 1/2 ||U||^2. A tie says what L is (`factor`), its `facts` and its `arrays`; the rest
    follows, slowly and in dense algebra: solvers and certificates of large ties have their own ways.

    >>> from taxolearn.ties import flat
    >>> flat(3).penalty(np.eye(3)), flat(3).square(np.eye(3))
    (1.5, 3.0)
    """

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    @abstractmethod
    def facts(self) -> TieFacts:
        """What callers branch on."""

    @abstractmethod
    def factor(self) -> sp.csr_array:
        """L, classes x columns, with A = L L'."""

    @abstractmethod
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """All that makes this tie what it is: equal arrays, equal tie."""

    @cached_property
    def covariance(self) -> Array:
        """A = L L', classes x classes and dense.

        >>> from taxolearn.ties import flat
        >>> flat(2).covariance.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        factor = self.factor()
        return np.asarray((factor @ factor.T).todense())

    def penalty(self, vectors: Array) -> float:
        """The least 1/2 ||U||^2 with L U = W, classes x features: 1/2 tr(W' A^+ W); infinite where there is no such U.

        >>> from taxolearn.ties import flat
        >>> flat(2).penalty(np.array([[3.0], [4.0]]))
        12.5
        """
        factor = self.factor().toarray()
        parts, *_ = np.linalg.lstsq(factor, vectors, rcond=None)
        if not np.allclose(
            factor @ parts, vectors, rtol=1e-9, atol=1e-9 * float(np.abs(vectors).max(initial=0.0))
        ):
            return float("inf")
        return 0.5 * float(np.vdot(parts, parts))

    def square(self, pulls: Array) -> float:
        """tr(V' A V) = ||L' V||^2, V being classes x features: twice the conjugate of the penalty.

        >>> from taxolearn.ties import flat
        >>> flat(2).square(np.array([[3.0], [4.0]]))
        25.0
        """
        shared = self.factor().T @ pulls
        return float(np.vdot(shared, shared))
