"""The tie of Shared SVM: sums along paths whose scales are learned together with the vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.conic import Block, minimise
from taxolearn.scales.shared_bound import largest_penalty
from taxolearn.structure import Taxonomy
from taxolearn.ties.base import Array, TieFacts
from taxolearn.ties.path_sum import PathSum, path_sum


@dataclass(frozen=True, eq=False)
class SharedTie(PathSum):
    """The path sum with the best scales: the least 1/2 sum_n ||u_n||^2 / a_n over the node vectors u and all a >= 0
    whose sum along every path is at most one.

    This is half the square of the structured shared norm (16) of Choi, Sasaki and Srebro. It is convex, and has no
    covariance of its own: `scale` holds the scales that a solve begins with, or those it has learned, and `factor`
    and `covariance` are those of the path sum with these scales.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> tie = shared_tie(tree, tree.leaf_ids, np.full(3, 0.5))
    >>> alike, unlike = np.array([[1.0], [1.0]]), np.array([[1.0], [-1.0]])
    >>> round(tie.penalty(alike), 6), round(tie.penalty(unlike), 6)  # one vector for both, or one for each
    (0.5, 1.0)
    >>> tie.square(alike), tie.square(unlike)
    (4.0, 2.0)
    """

    taxonomy: Taxonomy
    class_nodes: npt.NDArray[np.integer]

    @cached_property
    def used(self) -> npt.NDArray[np.bool_]:
        """Which nodes are on the path of a class.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> shared_tie(tree, tree.ids_of(["Dog"]), np.ones(3)).used.tolist()
        [True, False, True]
        """
        return np.bincount(self.paths.indices, minlength=self.n_nodes) > 0

    @cached_property
    def facts(self) -> TieFacts:
        """Those of the paths, with scales that are learned.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> shared_tie(tree, tree.leaf_ids, np.full(3, 0.5)).facts.learned
        True
        """
        shares = bool(np.any(np.bincount(self.paths.indices, minlength=1) > 1))
        return TieFacts(paths=True, tree=self.parents is not None, shares=shares, learned=True)

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The paths alone: the optimum does not depend on the scales that a solve begins with.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> len(shared_tie(tree, tree.leaf_ids, np.full(3, 0.5)).arrays())
        2
        """
        return self.paths.indptr, self.paths.indices

    def penalty(self, vectors: Array) -> float:
        """Half the square of (16), by cone programme: for up to a few dozen classes.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> round(shared_tie(tree, tree.leaf_ids, np.full(3, 0.5)).penalty(np.array([[3.0, 4.0], [3.0, 4.0]])), 6)
        12.5
        """
        size = float(np.linalg.norm(vectors))
        if size == 0.0:
            return 0.0
        vectors = np.asarray(vectors, dtype=np.float64) / size
        if vectors.shape[1] > vectors.shape[0]:  # a rotation of the features changes nothing
            vectors = np.linalg.qr(vectors.T)[1].T
        paths = sp.csr_array(sp.csc_array(self.paths)[:, self.used])
        n_nodes, width = paths.shape[1], vectors.shape[1]
        # Columns: for each node a, t and u; t a >= ||u||^2 is the second-order cone |(t - a, 2 u)| <= t + a.
        parts = np.eye(2 + width)
        scales, costs, own = (sp.csr_array(part) for part in (parts[:1], parts[1:2], parts[2:]))
        cone = sp.vstack([costs + scales, costs - scales, 2.0 * own])
        blocks: list[Block] = [
            (sp.kron(paths, own), vectors.ravel(), [("zero", vectors.size)]),
            (sp.kron(paths, scales), np.ones(self.n_classes), [("nonnegative", self.n_classes)]),
            (
                -sp.kron(sp.eye_array(n_nodes), cone),
                np.zeros(n_nodes * (2 + width)),
                [("second_order", 2 + width)] * n_nodes,
            ),
        ]
        cost = np.tile(0.5 * parts[1], n_nodes)
        return size**2 * float(cost @ minimise(cost, blocks, what="the structured shared norm"))

    def square(self, pulls: Array) -> float:
        """max over the allowed scales of sum_n a_n ||z_n||^2, z_n being the sum of V over the classes below n.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> shared_tie(tree, tree.leaf_ids, np.full(3, 0.5)).square(np.array([[3.0, 4.0], [0.0, 0.0]]))
        25.0
        """
        sums = self.paths.T @ pulls
        return largest_penalty(self.taxonomy, self.paths, np.einsum("nj,nj->n", sums, sums))[0]


def shared_tie(
    taxonomy: Taxonomy, class_nodes: npt.NDArray[np.integer], scale: npt.NDArray[np.float64]
) -> SharedTie:
    """The tie with learned scales of classes that are nodes of a tree or DAG; `scale` is what a solve begins with.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> shared_tie(tree, tree.leaf_ids, np.full(3, 0.5)).scale.tolist()
    [0.5, 0.5, 0.5]
    """
    tie = path_sum(taxonomy, class_nodes, scale)
    return SharedTie(tie.paths, tie.scale, taxonomy, class_nodes)
