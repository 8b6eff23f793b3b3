"""Several labels per row: by probabilities of nodes, made of those of classes so that they fall along the paths."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.base import Answers, Arrays, Decoder, Ids, RowFacts
from taxolearn.decoders.expected_f1 import cut_sets, falling
from taxolearn.decoders.label_space import LabelSpace
from taxolearn.decoders.least_cost import probability_blocks
from taxolearn.decoders.links import Link
from taxolearn.errors import DataError, ModelError
from taxolearn.problem import Problem
from taxolearn.structure import Taxonomy
from taxolearn.vectors import Vectors
from taxolearn.vectors.scoring import check_k

Floats = npt.NDArray[np.float64]


class NodeMarginals:
    """Probabilities of nodes from those of classes; a node that is no class has a label below it unless none of the
    classes below it applies, independently.

    Where a class is more probable than a node above it, both are wrong: the lowest of a node and all above it and the
    highest of it and all below it both fall along the paths, and their mean is taken (`combine`).

    >>> tree = Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Dog"])
    >>> marginals = NodeMarginals(LabelSpace.over(tree, ["Lion", "Lynx", "Dog"]))
    >>> marginals(np.array([[0.5, 0.5, 0.25]])).tolist()  # <root>, Cat, Lion, Lynx, Dog
    [[1.0, 0.75, 0.5, 0.5, 0.25]]
    """

    def __init__(self, space: LabelSpace, combine: str = "mean") -> None:
        self.space, self.combine = space, combine
        is_class = np.zeros(space.n_nodes, dtype=bool)
        is_class[space.class_nodes] = True
        self._others = np.flatnonzero(~is_class)
        self._others = self._others[self._others > 0]
        every = space.label_sets(sp.csr_array(sp.eye_array(space.n_classes)))  # each class with its ancestors
        self._below = sp.csr_array(every[:, self._others].T.astype(np.float64))

    @classmethod
    def of(cls, taxonomy: Taxonomy | None, classes: Sequence[Hashable], closed: bool) -> NodeMarginals:
        """Over a taxonomy; a label set needs a class below every node that is none.

        >>> NodeMarginals.of(None, ["a", "b"], False).space.n_nodes
        3
        """
        if taxonomy is None:
            return cls(LabelSpace.star(len(classes)))
        must = np.ones(taxonomy.n_nodes, dtype=bool)
        must[taxonomy.ids_of(classes)] = False
        return cls(LabelSpace.over(taxonomy, classes, must, closed=closed))

    def __call__(self, p: Floats) -> Floats:
        """From rows x classes to rows x nodes of the label space."""
        nodes = np.ones((len(p), self.space.n_nodes))
        nodes[:, self.space.class_nodes] = p
        if len(self._others):
            none = self._below @ np.log1p(-np.minimum(p, 1.0 - 1e-12)).T
            nodes[:, self._others] = -np.expm1(none.T)
        return falling(self.space, nodes, self.combine)


class MarginalColumns:
    """The probabilities of all nodes of a taxonomy; zero where no class is at or below a node.

    >>> tree = Taxonomy.from_paths(["Cat/Lion", "Dog"])
    >>> columns = MarginalColumns(NodeMarginals.of(tree, ["Lion"], False), tree)
    >>> columns(np.array([[0.5]])).tolist()
    [[1.0, 0.5, 0.5, 0.0]]
    """

    def __init__(self, marginals: NodeMarginals, taxonomy: Taxonomy) -> None:
        self._marginals, self.width = marginals, 2 * taxonomy.n_nodes

    def __call__(self, p: Floats) -> Floats:
        """From rows x classes to rows x nodes."""
        found = self._marginals(p)
        space = self._marginals.space
        if space.unit_nodes is None:
            return found
        wide = np.zeros((len(p), space.n_units))
        wide[:, space.unit_nodes] = found
        return wide


@dataclass(frozen=True, eq=False)
class ProbableLabels:
    """Answers the label set of the largest expected F1 (`by_f1`, see `expected_f1_sets`), or all nodes that are more
    probable than not; with rows that had their labels' ancestors all classes of it, else the most specific ones.

    The score of a class is its probability less the row's cut; of answers zero or more, of all others zero or less.

    >>> from taxolearn.decoders.links import Sigmoids
    >>> from taxolearn.decoders.thresholds import Thresholds
    >>> from taxolearn.vectors import ClassVectors
    >>> link, vectors = Sigmoids(np.ones(2), np.zeros(2)), ClassVectors(np.eye(2), np.zeros(2))
    >>> decoder = ProbableLabels(Thresholds(np.zeros(2)), link, NodeMarginals.of(None, ["a", "b"], False), by_f1=True)
    >>> decoder.decode(vectors, np.array([[3.0, -0.5], [0.0, 0.0]])).ids
    array([0, 0, 1], dtype=int32)
    """

    plain: Decoder
    link: Link
    marginals: NodeMarginals
    by_f1: bool = True
    name: ClassVar[str] = "probable_labels"
    several: ClassVar[bool] = True

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.plain.n_classes

    def decode(self, vectors: Vectors, X: Any, *, beam: int | None = None, n_threads: int = 1) -> Answers:
        """The answered classes, those of the largest score first; `beam` must be left out."""
        counts, ids, scores = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0)]
        for _, found, chosen in self._decided(vectors, X, beam, n_threads):
            rows, columns = np.nonzero(chosen)
            values = found[rows, columns]
            order = np.lexsort((columns, -values, rows))
            counts.append(chosen.sum(axis=1))
            ids.append(columns[order].astype(np.int32))
            scores.append(values[order])
        indptr = np.concatenate(([0], np.cumsum(np.concatenate(counts)))).astype(np.int64)
        return Answers(indptr, np.concatenate(ids), np.concatenate(scores))

    def top_k(
        self, vectors: Vectors, X: Any, k: int, *, beam: int | None = None, n_threads: int = 1
    ) -> tuple[Ids, Floats]:
        """The k best classes of each row and their scores: the answers, then the others."""
        check_k(k, self.n_classes)
        ids, best = np.empty((X.shape[0], k), dtype=np.int32), np.empty((X.shape[0], k))
        for rows, found, chosen in self._decided(vectors, X, beam, n_threads):
            order = np.argsort(-found, axis=1, kind="stable")
            later = np.argsort(~np.take_along_axis(chosen, order, axis=1), axis=1, kind="stable")
            ids[rows] = np.take_along_axis(order, later, axis=1)[:, :k]
            best[rows] = np.take_along_axis(found, ids[rows].astype(np.intp), axis=1)
        return ids, best

    def scores(self, vectors: Vectors, X: Any, *, n_threads: int = 1) -> Floats:
        """The scores of all classes, rows x classes."""
        parts = [found for _, found, _ in self._decided(vectors, X, None, n_threads)]
        return np.concatenate([np.empty((0, self.n_classes)), *parts])

    def _decided(
        self, vectors: Vectors, X: Any, beam: int | None, n_threads: int
    ) -> Iterator[tuple[slice, Floats, npt.NDArray[np.bool_]]]:
        """Some rows at a time, the scores of their classes, and which of these are answered."""
        if beam is not None:
            raise DataError("label sets are compared as a whole, a beam cannot search them; leave beam out")
        space = self.marginals.space
        width = 4 * space.n_nodes
        for rows, p in probability_blocks(self.plain, self.link, vectors, X, n_threads, width):
            nodes = self.marginals(p)
            if self.by_f1:
                sets, nodes, cuts = cut_sets(space, nodes)
                ones = np.ones(len(sets.indices), dtype=np.int32)
                matrix = sp.csr_array((ones, sets.indices, sets.indptr), shape=nodes.shape)
            else:
                cuts = np.full(len(nodes), 0.5)
                matrix = sp.csr_array((nodes > 0.5).astype(np.int32))
            chosen = space.classes_of(matrix).toarray().astype(bool)
            chances = nodes[:, space.class_nodes]
            if getattr(self.plain, "fill", False):
                empty = np.flatnonzero(~chosen.any(axis=1))
                chosen[empty, np.argmax(chances[empty], axis=1)] = True
            found = chances - cuts[:, None]
            yield rows, np.where(chosen, np.maximum(found, 0.0), np.minimum(found, 0.0)), chosen

    def row_facts(self, vectors: Vectors, X: Any) -> RowFacts:
        """How X, a single row, is scored: probabilities are made of these scores."""
        return self.plain.row_facts(vectors, X)

    def arrays(self) -> Arrays:
        """Nothing: it is made anew for every question, of what the model keeps."""
        return {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_classes: int) -> ProbableLabels:
        """It is not stored."""
        raise ModelError("stored decoder: probabilities of nodes are not stored")


def labels_are_closed(problem: Problem) -> bool:
    """Whether rows have several labels, among them the ancestors of each but the root, and some row has one.

    >>> from taxolearn.problem import make_problem
    >>> tree = Taxonomy.from_paths(["Cat/Lion", "Dog"])
    >>> labels_are_closed(make_problem([[0.0], [1.0]], [["Cat", "Lion"], ["Dog"]], tree))
    True
    """
    taxonomy = problem.taxonomy
    if taxonomy is None or not problem.labels.multilabel:
        return False
    targets = problem.targets
    shape = (targets.shape[0], taxonomy.n_nodes)
    ones = np.ones(len(targets.indices), dtype=np.int32)
    own = sp.csr_array((ones, problem.class_nodes[targets.indices], targets.indptr), shape=shape)
    parents = np.ones(taxonomy.n_edges, dtype=np.int32)
    size = (taxonomy.n_nodes, taxonomy.n_nodes)
    upward = sp.csr_array((parents, taxonomy.parent_indices, taxonomy.parent_indptr), shape=size)
    above = sp.csr_array((own @ upward)[:, 1:]).sign()
    return bool(above.nnz) and above.multiply(own[:, 1:]).nnz == above.nnz
