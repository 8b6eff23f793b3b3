"""The tie of all hierarchical methods: a class's weights are the sum of the vectors of its ancestors and itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show
from taxolearn.ties.base import Tie, TieFacts

_FEW = 256  # classes whose flat tie is kept for the next fit: its facts take a small fit's time


@dataclass(frozen=True, eq=False)
class PathSum(Tie):
    """w_l = sum of u_n over the nodes n of class l's path, with penalty 1/2 sum_n ||u_n||^2 / a_n.

    `paths` is classes x nodes (CSR of ones), `scale` holds a_n >= 0; a node of scale zero has no vector. The classes'
    covariance is A = P diag(a) P'. With a_n = 1 this is recursive regularization (u_n = w_n - w_parent; Gopal and
    Yang 2013) and HSVM (Cai and Hofmann 2004), with the weights (6) to (8) of Choi, Sasaki and Srebro it is NHSVM.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> path_sum(tree, tree.leaf_ids, np.ones(3)).covariance.tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """

    paths: sp.csr_array
    scale: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.paths.nnz and not np.all(self.paths.data == 1.0):
            raise DataError("paths must be a matrix of ones, classes x nodes; use Factor for other numbers")
        if not self.paths.has_sorted_indices:
            object.__setattr__(self, "paths", self.paths.sorted_indices())

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> flat(3).n_classes
        3
        """
        return int(self.paths.shape[0])

    @property
    def n_nodes(self) -> int:
        """Number of nodes, those without a vector included.

        >>> flat(3).n_nodes
        3
        """
        return int(self.paths.shape[1])

    @cached_property
    def facts(self) -> TieFacts:
        """What callers branch on.

        >>> facts = flat(3).facts
        >>> facts.paths, facts.tree, facts.shares
        (True, True, False)
        """
        users = np.bincount(self.paths.indices, minlength=self.n_nodes)
        shares = bool(np.any((users > 1) & (self.scale > 0)))
        return TieFacts(paths=True, tree=self.parents is not None, shares=shares)

    @cached_property
    def parents(self) -> npt.NDArray[np.intp] | None:
        """The node above each node on all paths it is on, -1 for tops and nodes without classes; None on a DAG.

        Ids go from the top down.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> path_sum(tree, tree.leaf_ids, np.ones(3)).parents.tolist()
        [-1, 0, 0]
        """
        indptr, nodes = self.paths.indptr, self.paths.indices
        parents = np.full(self.n_nodes, -1, dtype=np.intp)
        above = np.concatenate(([-1], nodes[:-1])).astype(np.intp)[: len(nodes)]
        above[indptr[:-1][np.diff(indptr) > 0]] = -1
        parents[nodes] = above
        return parents if np.array_equal(parents[nodes], above) else None

    @cached_property
    def seats(self) -> npt.NDArray[np.intp]:
        """The last node on the path of every class, -1 for a class without nodes.

        >>> flat(3).seats.tolist()
        [0, 1, 2]
        """
        ends = self.paths.indptr[1:]
        last = self.paths.indices[np.maximum(ends - 1, 0)] if len(self.paths.indices) else np.zeros_like(ends)
        return np.where(np.diff(self.paths.indptr) > 0, last, -1).astype(np.intp)

    @cached_property
    def class_scale(self) -> npt.NDArray[np.float64]:
        """The summed scales along the path of each class, the diagonal of A.

        >>> flat(2).class_scale.tolist()
        [1.0, 1.0]
        """
        return np.asarray(self.paths @ self.scale)

    def factor(self) -> sp.csr_array:
        """P diag(sqrt(a)).

        >>> flat(2).factor().toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        paths = self.paths  # a product with a row of numbers takes SciPy several times as long
        roots = np.sqrt(self.scale)[paths.indices]
        return sp.csr_array((roots, paths.indices.copy(), paths.indptr.copy()), shape=paths.shape)

    @cached_property
    def dense_factor(self) -> npt.NDArray[np.float64]:
        """The same as an array.

        >>> flat(2).dense_factor.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return np.asarray(self.factor().toarray())

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Scales and paths.

        >>> len(flat(2).arrays())
        3
        """
        return self.scale, self.paths.indptr, self.paths.indices


def flat(n_classes: int) -> PathSum:
    """The tie of classes that know nothing of each other: A = I.

    >>> flat(2).scale.tolist()
    [1.0, 1.0]
    """
    return _kept_flat(n_classes) if n_classes <= _FEW else _flat(n_classes)


def _flat(n_classes: int) -> PathSum:
    ones, every = np.ones(n_classes), np.arange(n_classes + 1, dtype=np.int32)
    return PathSum(sp.csr_array((ones, every[:-1], every), shape=(n_classes, n_classes)), ones.copy())


_kept_flat = lru_cache(_flat)


def path_sum(
    taxonomy: Taxonomy, class_nodes: npt.NDArray[np.integer], scale: npt.NDArray[np.float64]
) -> PathSum:
    """The tie of classes that are nodes of a tree or DAG, each path being all ancestors and the node itself.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"])
    >>> path_sum(tree, tree.ids_of(["Lion", "Cat"]), np.ones(4)).paths.toarray().tolist()
    [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]]
    """
    scale = np.asarray(scale, dtype=np.float64)
    if scale.shape != (taxonomy.n_nodes,):
        raise DataError(
            f"node weights have shape {scale.shape}, but the taxonomy has {taxonomy.n_nodes} nodes; give one a node"
        )
    wrong = np.flatnonzero(~(np.isfinite(scale) & (scale >= 0)))
    if len(wrong):
        name = show(taxonomy.name_of(wrong[0]))
        raise DataError(f"the node weight of {name} is {scale[wrong[0]]}; give a number from zero on")
    paths = sp.csr_array(taxonomy.ancestor_matrix(class_nodes, dtype=np.float64))
    return PathSum(paths, scale)


def with_own_nodes(tie: PathSum, classes: npt.NDArray[np.integer], scale: npt.NDArray[np.float64]) -> PathSum:
    """The tie in which some classes have one more node each, which is theirs alone; those nodes come last.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"])
    >>> tie = path_sum(tree, tree.ids_of(["Lion", "Cat"]), np.ones(4))
    >>> with_own_nodes(tie, np.array([1]), np.ones(1)).paths.toarray().tolist()
    [[1.0, 1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0, 1.0]]
    """
    if not len(classes):
        return tie
    entries = (np.ones(len(classes)), (classes, np.arange(len(classes))))
    own = sp.csr_array(entries, shape=(tie.n_classes, len(classes)))
    paths = sp.csr_array(sp.hstack((tie.paths, own)))
    paths.sort_indices()
    return PathSum(paths, np.concatenate((tie.scale, scale)))


def merge_nodes(tie: PathSum) -> tuple[PathSum, npt.NDArray[np.int64]]:
    """The tie in which nodes with the same classes under them are one, with the sum of their scales.

    Their vectors are multiples of each other at the optimum, so nothing is lost. Also told: the new number of every
    node, -1 for those that have no scale or no class and are gone.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Puma"])
    >>> merged, numbers = merge_nodes(path_sum(tree, tree.leaf_ids, np.ones(4)))
    >>> merged.scale.tolist(), merged.paths.toarray().tolist(), numbers.tolist()
    ([2.0, 1.0, 1.0], [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [0, 0, 1, 2])
    """
    under = sp.csc_array(tie.paths)
    under.sort_indices()
    number = np.full(tie.n_nodes, -1, dtype=np.int64)
    found: dict[bytes, int] = {}
    first: list[int] = []
    for node in np.flatnonzero((tie.scale > 0) & (np.diff(under.indptr) > 0)).tolist():
        classes = under.indices[under.indptr[node] : under.indptr[node + 1]].tobytes()
        number[node] = found.setdefault(hashlib.blake2b(classes, digest_size=16).digest(), len(first))
        if number[node] == len(first):
            first.append(node)
    used = number >= 0
    scale = np.zeros(len(first))
    np.add.at(scale, number[used], tie.scale[used])
    return PathSum(sp.csr_array(under[:, np.array(first, dtype=np.intp)]), scale), number


def on_used_nodes(tie: PathSum) -> tuple[PathSum, npt.NDArray[np.intp]]:
    """The tie on the nodes that some class has on its path, and which these are: the others have vectors of zero.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"])
    >>> small, used = on_used_nodes(path_sum(tree, tree.ids_of(["Dog"]), np.ones(4)))
    >>> small.paths.toarray().tolist(), used.tolist()
    ([[1.0, 1.0]], [0, 3])
    """
    used, places = np.unique(tie.paths.indices, return_inverse=True)
    entries = (tie.paths.data, places.astype(tie.paths.indices.dtype), tie.paths.indptr)
    return PathSum(sp.csr_array(entries, shape=(tie.n_classes, len(used))), tie.scale[used]), used
