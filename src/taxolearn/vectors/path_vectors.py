"""What weights at the nodes of a taxonomy share: large sparse ones are walked along, and searched by beam."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from taxolearn.engines import Engine
from taxolearn.errors import DataError
from taxolearn.vectors.class_vectors import ClassVectors
from taxolearn.vectors.path_order import PathOrder, path_order
from taxolearn.vectors.path_tree import PathTree, path_tree, products_only
from taxolearn.vectors.scoring import Best, Vectors
from taxolearn.vectors.walking import stretches, walk_scores, walk_top_k, walks_for

# From so many stored entries on the compiled walk is worth loading the compiler. It depends on the model alone, so
# that a row gets the same scores in any company.
WALK_FROM = 5_000_000


class PathVectors(Vectors):
    """Base of `NodeVectors` and `DualVectors`; needs `paths`, `vector_sizes`, `vectors_of` and `node_vector` besides.

    >>> from taxolearn.vectors import DualVectors, NodeVectors
    >>> issubclass(NodeVectors, PathVectors), issubclass(DualVectors, PathVectors)
    (True, True)
    """

    paths: sparse.csr_array

    def vector_sizes(self) -> np.ndarray[Any, Any]:
        """For each node, how many entries its vector has at most.

        >>> from taxolearn.vectors import NodeVectors
        >>> NodeVectors(np.zeros((5, 2)), sparse.csr_array(np.eye(2)), np.zeros(2)).vector_sizes()
        array([5, 5])
        """
        raise NotImplementedError

    def vectors_of(self, nodes: np.ndarray[Any, Any]) -> tuple[sparse.csr_array, np.ndarray[Any, Any]]:
        """A csr_array in which the vectors of these nodes stand, and in which of its rows.

        >>> from taxolearn.vectors import NodeVectors
        >>> weights = NodeVectors(np.eye(2), sparse.csr_array(np.eye(2)), np.zeros(2))
        >>> weights.vectors_of(np.array([1]))[0].toarray()
        array([[0., 1.]])
        """
        raise NotImplementedError

    def node_vector(self, node: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The vector of one node, dense, in float64.

        >>> from taxolearn.vectors import NodeVectors
        >>> NodeVectors(np.eye(2), sparse.csr_array(np.eye(2)), np.zeros(2)).node_vector(1)
        array([0., 1.])
        """
        raise NotImplementedError

    def unit_scores(self, X: Any, units: Any) -> np.ndarray[Any, Any]:
        """The scores of some classes, picked by a slice or an index array, on all rows of X.

        >>> from taxolearn.vectors import NodeVectors
        >>> paths = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
        >>> NodeVectors(np.array([[1.0, 2.0, 3.0]]), paths, np.zeros(2)).unit_scores(np.array([[2.0]]), [1])
        array([[8.]])
        """
        paths = self.paths[units].astype(self.dtype)
        nodes, position = np.unique(paths.indices, return_inverse=True)
        few = sparse.csr_array((paths.data, position, paths.indptr), shape=(paths.shape[0], len(nodes)))
        matrix, places = self.vectors_of(nodes)
        return ClassVectors(sparse.csr_array(few @ matrix[places]), self.intercept[units]).unit_scores(
            X, slice(None)
        )

    def with_intercept(self, intercept: Any) -> Self:
        """The same vectors with other intercepts; nothing else is copied.

        >>> from taxolearn.vectors import NodeVectors
        >>> vectors = NodeVectors(np.eye(2), sparse.csr_array(np.eye(2)), np.zeros(2))
        >>> vectors.with_intercept([1.0, 0.0]).scores(np.array([[3.0, 4.0]]))
        array([[4., 4.]])
        """
        other = super().with_intercept(intercept)
        vars(other).pop("_order", None)  # all else that is cached does not depend on intercepts
        return other

    @cached_property
    def _tree(self) -> PathTree | None:
        return path_tree(self.paths)

    @cached_property
    def _order(self) -> PathOrder | None:
        return path_order(self.paths, self.intercept, self.squares)

    @cached_property
    def squares(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Squared norms of the node vectors; stored with a model, so that they need not be read for it.

        >>> from taxolearn.vectors import NodeVectors
        >>> weights = NodeVectors(sparse.csr_array([[3.0, 4.0], [0.0, 1.0]]), sparse.csr_array(np.eye(2)), np.zeros(2))
        >>> weights.squares.tolist()
        [25.0, 1.0]
        """
        found = [np.zeros(0)]
        for first, last in stretches(self.vector_sizes()):
            matrix, places = self.vectors_of(np.arange(first, last))
            ends = matrix.indptr[places[0] : places[-1] + 2]
            values = matrix.data[ends[0] : ends[-1]].astype(np.float64)
            found.append(np.diff(np.concatenate(([0.0], np.cumsum(values * values)))[ends - ends[0]]))
        return np.concatenate(found)

    def _walks(self, X: Any) -> bool:
        return bool(self.is_sparse and sparse.issparse(X) and self.vector_sizes().sum() >= WALK_FROM)

    def _scorer(self, X: Any, engine: Engine) -> Callable[[Any], np.ndarray[Any, Any]]:
        if not self._walks(X):
            return super()._scorer(X, engine)
        if self._tree is not None:
            tree = self._tree
            return lambda block: walk_scores(self, block, tree, self.intercept, engine)
        every = products_only(self.paths.shape[1])

        def along_paths(block: Any) -> np.ndarray[Any, Any]:
            products = walk_scores(self, block, every, np.zeros(len(every.order)), engine)
            scores = np.ascontiguousarray((self.paths.astype(self.dtype) @ products.T).T)
            scores += self.intercept
            return scores

        return along_paths

    def _top_k(self, X: Any, k: int, engine: Engine) -> Best:
        if self._walks(X) and self._tree is not None and walks_for(k):
            return walk_top_k(self, X, self._tree, k, engine)
        return super()._top_k(X, k, engine)

    def _beam_top_k(self, X: Any, k: int, beam: int, engine: Engine) -> Best:
        from taxolearn.vectors.beam import beam_top_k

        if self._order is None:
            raise DataError(
                "beam search needs classes that hang below nodes of a taxonomy, and this model has none; "
                "leave beam out"
            )
        return beam_top_k(self, X, self._order, k, beam, engine)
