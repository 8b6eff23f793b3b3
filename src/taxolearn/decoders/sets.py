"""Several labels per row: the label set of the best sum of node scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from taxolearn.decoders.base import Answers, Arrays, Ids, check_units, stored_array
from taxolearn.decoders.label_sets import LabelSets, check_at_most, decode_sets
from taxolearn.decoders.label_space import LabelSpace
from taxolearn.decoders.set_row import SetRow
from taxolearn.errors import DataError, ModelError
from taxolearn.vectors import Vectors
from taxolearn.vectors.scoring import check_beam, check_k

Floats = npt.NDArray[Any]
_LARGEST = 1e300  # sums of potentials stay finite


@dataclass(frozen=True, eq=False)
class Sets:
    """Answers the classes of the label set with the largest sum of node scores; units are nodes.

    `space` says which sets are labels. `offset` is added to the score of every node but the root: above zero, sets
    become larger. `at_most` limits the number of labels: nodes of the set without another one below. If the rows'
    labels were closed (`space.closed`), all classes of the set are answered, else the most specific ones.

    The score of a class is its max-marginal: the best sum of a set with its node, less the best of one without. On DAGs
    it is the change of the best sum when the node alone is added (with what it needs) or dropped (with what needs it):
    of chosen classes at least the max-marginal, of others at most. A class that every set has scores the best sum. So
    chosen classes score 0 or more, all others 0 or less; predicted ones come first in every ranking. (Scores know
    nothing of `at_most`: with it, others may score more than 0, too.)

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.vectors import ClassVectors
    >>> tree = Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Dog"])  # units: <root>, Cat, Lion, Lynx, Dog
    >>> decoder = Sets(LabelSpace.over(tree, ["Lion", "Lynx", "Dog"]))
    >>> vectors, X = ClassVectors(np.eye(5), np.zeros(5)), np.array([[0.0, -1.0, 2.0, -0.5, 0.25]])
    >>> decoder.decode(vectors, X).ids, decoder.scores(vectors, X)
    (array([0, 2], dtype=int32), array([[ 1.  , -0.5 ,  0.25]]))
    """

    space: LabelSpace
    offset: float = 0.0
    at_most: int | None = None
    name: ClassVar[str] = "sets"
    several: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not math.isfinite(self.offset):
            raise DataError(f"the offset must be a finite number, not {self.offset}")
        object.__setattr__(self, "offset", float(self.offset))
        check_at_most(self.at_most)

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> Sets(LabelSpace.star(3)).n_classes
        3
        """
        return self.space.n_classes

    @property
    def n_units(self) -> int:
        """Number of vectors: one per node, the root included.

        >>> Sets(LabelSpace.star(3)).n_units
        4
        """
        return self.space.n_units

    def decode(self, vectors: Vectors, X: Any, *, beam: int | None = None, n_threads: int = 1) -> Answers:
        """The classes of the best set, those of the largest score first; `beam` must be left out.

        >>> from taxolearn.vectors import ClassVectors
        >>> Sets(LabelSpace.star(2)).decode(ClassVectors(np.eye(3), np.zeros(3)), np.array([[0.0, 1.0, 2.0]])).ids
        array([1, 0], dtype=int32)
        """
        counts, ids, scores = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0)]
        for _, potentials, sets in self._decoded(vectors, X, beam, n_threads):
            answers = self.space.classes_of(self._matrix(sets))
            rows = np.repeat(np.arange(len(potentials)), np.diff(answers.indptr))
            found = self._changes(potentials, sets, answers.indptr, answers.indices)
            order = np.lexsort((answers.indices, -found, rows))
            counts.append(np.diff(answers.indptr))
            ids.append(answers.indices[order])
            scores.append(found[order])
        indptr = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
        return Answers(indptr, np.concatenate(ids).astype(np.int32), _cast(np.concatenate(scores), vectors))

    def top_k(
        self, vectors: Vectors, X: Any, k: int, *, beam: int | None = None, n_threads: int = 1
    ) -> tuple[Ids, Floats]:
        """The k best classes of each row and their scores: the predicted ones, then the others, by score.

        >>> from taxolearn.vectors import ClassVectors
        >>> Sets(LabelSpace.star(2)).top_k(ClassVectors(np.eye(3), np.zeros(3)), np.array([[0.0, 1.0, 2.0]]), 1)
        (array([[1]], dtype=int32), array([[2.]]))
        """
        check_k(k, self.n_classes)
        ids = np.empty((X.shape[0], k), dtype=np.int32)
        best = np.empty((X.shape[0], k))
        for rows, potentials, sets in self._decoded(vectors, X, beam, n_threads):
            scores = self._all_changes(potentials, sets)
            order = np.argsort(-scores, axis=1, kind="stable")
            others = ~self.space.classes_of(self._matrix(sets)).toarray().astype(bool)
            later = np.argsort(np.take_along_axis(others, order, axis=1), axis=1, kind="stable")
            ids[rows] = np.take_along_axis(order, later, axis=1)[:, :k]
            best[rows] = np.take_along_axis(scores, ids[rows].astype(np.intp), axis=1)
        return ids, _cast(best, vectors)

    def scores(self, vectors: Vectors, X: Any, *, n_threads: int = 1) -> Floats:
        """The scores of all classes, rows x classes.

        >>> from taxolearn.vectors import ClassVectors
        >>> vectors = ClassVectors(np.eye(3), np.zeros(3))
        >>> Sets(LabelSpace.star(2), offset=0.5).scores(vectors, np.array([[0.0, 1.0, -2.0]]))
        array([[ 3. , -1.5]])
        """
        found = np.empty((X.shape[0], self.n_classes))
        for rows, potentials, sets in self._decoded(vectors, X, None, n_threads):
            found[rows] = self._all_changes(potentials, sets)
        return _cast(found, vectors)

    def row_facts(self, vectors: Vectors, X: Any) -> SetRow:
        """How X, a single row, is decided on.

        >>> from taxolearn.vectors import ClassVectors
        >>> vectors = ClassVectors(np.eye(3), np.zeros(3))
        >>> facts = Sets(LabelSpace.star(2)).row_facts(vectors, np.array([[0.0, 1.0, -2.0]]))
        >>> facts.parts(0), facts.parts(1)
        (((1,), (2,)), ((2,), ()))
        """
        [(_, potentials, sets)] = self._decoded(vectors, X, None, 1)
        answers = self.space.classes_of(self._matrix(sets)).indices
        scores = self._all_changes(potentials, sets)[0]
        return SetRow(self._shifted(vectors), self.space, potentials[0], sets.of(0), answers, scores)

    def arrays(self) -> Arrays:
        """The arrays of the label space, and the offset.

        >>> sorted(Sets(LabelSpace.star(2)).arrays())
        ['class_nodes', 'closed', 'must', 'offset', 'parent_indices', 'parent_indptr']
        """
        space = self.space
        found: Arrays = {
            "parent_indptr": space.parent_indptr,
            "parent_indices": space.parent_indices,
            "must": space.must.astype(np.int32),
            "class_nodes": space.class_nodes,
            "closed": np.array([space.closed], dtype=np.int32),
            "offset": np.array([self.offset]),
        }
        if self.at_most is not None:
            found["at_most"] = np.array([self.at_most], dtype=np.int32)
        if space.unit_nodes is not None:
            found |= {"unit_nodes": space.unit_nodes, "n_units": np.array([space.n_units], dtype=np.int32)}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_classes: int) -> Sets:
        """The decoder of a stored model.

        >>> Sets.from_arrays(Sets(LabelSpace.star(2)).arrays(), 3)
        Traceback (most recent call last):
        ...
        taxolearn.errors.ModelError: stored decoder: there are 2 classes, not 3
        """
        ints = {
            name: stored_array(arrays, name, (np.int32,))
            for name in ("parent_indptr", "parent_indices", "must", "class_nodes", "closed")
        }
        offset = stored_array(arrays, "offset", (np.float64,))
        if len(ints["closed"]) != 1 or len(offset) != 1 or not _flags(ints["must"], ints["closed"]):
            raise ModelError("stored decoder: must, closed and offset are not those of a label space")
        most = stored_array(arrays, "at_most", (np.int32,)).tolist() if "at_most" in arrays else [None]
        if len(most) != 1:
            raise ModelError("stored decoder: at_most is not one number")
        units = None
        n_units = np.zeros(1, dtype=np.int32)
        if "unit_nodes" in arrays:
            units = stored_array(arrays, "unit_nodes", (np.int32,))
            n_units = stored_array(arrays, "n_units", (np.int32,))
            if len(n_units) != 1:
                raise ModelError("stored decoder: n_units is not one number")
        try:
            space = LabelSpace(
                ints["parent_indptr"],
                ints["parent_indices"],
                ints["must"].astype(bool),
                ints["class_nodes"],
                bool(ints["closed"][0]),
                units,
                int(n_units[0]),
            )
            decoder = cls(space, float(offset[0]), most[0], **cls._more(arrays))
        except DataError as error:
            raise ModelError(f"stored decoder: {error}") from None
        if decoder.n_classes != n_classes:
            raise ModelError(f"stored decoder: there are {decoder.n_classes} classes, not {n_classes}")
        return decoder

    @classmethod
    def _more(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
        """Fields that only some kinds of this decoder have."""
        return {}

    def _shifted(self, vectors: Vectors) -> Vectors:
        """Vectors with the offset in their intercepts."""
        intercept = np.array(vectors.intercept)
        units = np.arange(self.n_units) if self.space.unit_nodes is None else self.space.unit_nodes
        intercept[units[1:]] += self.offset
        return vectors.with_intercept(intercept)

    def _decoded(
        self, vectors: Vectors, X: Any, beam: int | None, n_threads: int
    ) -> Iterator[tuple[slice, Floats, LabelSets]]:
        """Blocks of rows with the potentials of their nodes and their best sets."""
        check_units(vectors, self.n_units)
        check_beam(beam)
        if beam is not None:
            raise DataError("label sets are compared as a whole, a beam cannot search them; leave beam out")
        for rows, block in vectors.score_blocks(X, n_threads=n_threads):
            chosen = block if self.space.unit_nodes is None else block[:, self.space.unit_nodes]
            potentials, sets = self._sets_of(np.array(chosen, dtype=np.float64), n_threads)
            self._tell(sets)
            yield rows, potentials, sets

    def _tell(self, sets: LabelSets) -> None:
        left = np.flatnonzero(~sets.proved)
        if len(left):
            gap = float((sets.bounds - sets.values)[left].max())
            warnings.warn(
                f"the label sets of {len(left)} of {len(sets.values)} rows are not proved to be the best; another "
                f"set may have a sum that is larger by up to {gap:.3g}",
                ConvergenceWarning,
                stacklevel=5,
            )

    def sets_of(self, potentials: Floats) -> LabelSets:
        """The sets of rows whose nodes have these scores, rows x nodes of the label space.

        >>> Sets(LabelSpace.star(2)).sets_of(np.array([[0.0, 1.0, -2.0]])).of(0).tolist()
        [0, 1]
        """
        return self._sets_of(np.array(potentials, dtype=np.float64), 1)[1]

    def _sets_of(self, potentials: Floats, n_threads: int) -> tuple[Floats, LabelSets]:
        """What is added up, made of the scores of nodes in place, and the sets of the largest sums."""
        potentials[:, 1:] += self.offset
        _make_finite(potentials)
        sets = decode_sets(self.space, potentials, exact=False, at_most=self.at_most, n_threads=n_threads)
        return potentials, sets

    def _matrix(self, sets: LabelSets) -> sp.csr_array:
        ones = np.ones(len(sets.indices), dtype=np.int32)
        return sp.csr_array((ones, sets.indices, sets.indptr), shape=(len(sets.values), self.space.n_nodes))

    def _all_changes(self, potentials: Floats, sets: LabelSets) -> Floats:
        """What each class matters, rows x classes."""
        n_rows, n = len(potentials), self.n_classes
        numbers = np.tile(np.arange(n, dtype=np.int32), n_rows)
        found = self._changes(potentials, sets, n * np.arange(n_rows + 1), numbers)
        return np.asarray(found.reshape(n_rows, n))

    def _changes(self, potentials: Floats, sets: LabelSets, indptr: Any, numbers: Any) -> Floats:
        """What the classes numbers[indptr[i]:indptr[i + 1]] matter to row i."""
        from taxolearn.kernels.dag_set_changes import dag_changes
        from taxolearn.kernels.tree_set_changes import tree_marginals

        space = self.space
        nodes = space.class_nodes[numbers]
        rows = np.repeat(np.arange(len(potentials)), np.diff(indptr))
        if space.is_tree:
            marginals = np.empty_like(potentials)
            tree_marginals(potentials, space.parent, space.subtree_end, space.must, marginals)
            found: Floats = marginals[rows, nodes]
        else:
            found = np.empty(len(nodes))
            pointer = np.asarray(indptr, dtype=np.int64)
            dag_changes(potentials, space.dag, space.must, sets.indptr, sets.indices, pointer, nodes, found)
        always = np.isinf(found)
        found[always] = sets.values[rows[always]]
        return found


def _make_finite(potentials: Floats) -> None:
    """Infinite scores become larger than all others of their row together; what is no number comes last."""
    limit = _LARGEST / potentials.shape[1]
    for row in np.flatnonzero(~np.isfinite(potentials).all(axis=1)).tolist():
        sizes = np.abs(potentials[row])
        beyond = 4.0 * (1.0 + sizes[np.isfinite(sizes)].sum())
        potentials[row] = np.nan_to_num(potentials[row], nan=-beyond, posinf=beyond, neginf=-beyond)
    np.clip(potentials, -limit, limit, out=potentials)


def _flags(*arrays: npt.NDArray[Any]) -> bool:
    return all(bool(np.all((array == 0) | (array == 1))) for array in arrays)


def _cast(scores: Floats, vectors: Vectors) -> Floats:
    """In the type of the vectors' scores, finite."""
    largest = float(np.finfo(vectors.dtype).max)
    made: Floats = np.clip(scores, -largest, largest).astype(vectors.dtype)
    return made
