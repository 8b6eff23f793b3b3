"""Top-down decoding: from the root to the child of the best score, until a class is reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.decoders.base import Answers, Arrays, Ids, check_units, one_per_row, stored_array
from taxolearn.decoders.decisions import check_decisions, decisions_of, passing_decisions
from taxolearn.decoders.top_down_row import TopDownRow
from taxolearn.decoders.top_down_search import MOST_OPEN, Reached, search
from taxolearn.errors import DataError, ModelError
from taxolearn.structure import Taxonomy
from taxolearn.vectors import Vectors
from taxolearn.vectors.scoring import check_beam, check_k

Floats = npt.NDArray[Any]
_ROWS_TOGETHER = 4096  # rows searched together: more of them stand at the same node


class Choice(NamedTuple):
    """A node with several options: the slice of their units, and below which option (from 0) each class lies.

    >>> Choice(slice(0, 2), np.array([4, 5]), np.array([0, 1])).units
    slice(0, 2, None)
    """

    units: slice
    classes: Ids
    option: Ids


@dataclass(frozen=True, eq=False)
class TopDown:
    """Recursive prediction (Dumais and Chen 2000; (1) of Zhou, Xiao and Wu 2011): at each node the best option wins.

    Node n has the options indptr[n] .. indptr[n + 1] - 1. Option o leads to the node children[o], or ends at the class
    classes[o]; the other of the two is -1. The root is node 0, parents come before their children. A class at an inner
    node is an option of that node: to stop there. Or nobody stops there (`TopDown.passing`): an option that leads to a
    node and has a class as well passes that class on its way. Where there is a choice each option has a unit, a vector
    that scores it; units are numbered in the order of the options.

    The score of a class is the sum, along its path, of the unit's score less the best one among its siblings: 0 for
    the recursive answer, negative for all others. Equal options go to the first; a class that loses only so, or that
    is only passed, scores the largest negative number instead of 0. In a DAG a class takes the best of its paths.

    >>> from taxolearn.vectors import ClassVectors
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Rock"])
    >>> decoder = TopDown.over(tree, tree.ids_of(["Cat", "Dog", "Rock"]))
    >>> decoder.n_units  # Animal, Rock; Cat, Dog
    4
    >>> vectors = ClassVectors(np.eye(4), np.zeros(4))
    >>> decoder.scores(vectors, np.array([[2.0, 1.5, 0.0, 3.0]]))  # Animal, then Dog
    array([[-3. ,  0. , -0.5]])
    """

    indptr: Ids
    children: Ids
    classes: Ids
    name: ClassVar[str] = "top-down"
    several: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field in ("indptr", "children", "classes"):
            array = np.array(getattr(self, field), dtype=np.int32)
            array.flags.writeable = False
            object.__setattr__(self, field, array)
        check_decisions(self.indptr, self.children, self.classes)

    @classmethod
    def over(cls, taxonomy: Taxonomy, class_nodes: npt.ArrayLike) -> TopDown:
        """The decoder for classes that sit at these nodes (ids) of a tree or DAG.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> TopDown.over(tree, tree.ids_of(["Animal", "Dog"])).classes  # to stop at Animal, or Dog
        array([0, 1], dtype=int32)
        """
        return cls(*decisions_of(taxonomy, class_nodes))

    @classmethod
    def passing(cls, taxonomy: Taxonomy, class_nodes: npt.ArrayLike) -> TopDown:
        """The decoder whose walks end at leaves, (1) of Zhou, Xiao and Wu: classes at inner nodes are passed.

        Nodes without a class below are left out: a class with no other class below it is a leaf.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> decoder = TopDown.passing(tree, tree.ids_of(["Animal", "Cat", "Dog"]))
        >>> decoder.children.tolist(), decoder.classes.tolist()
        ([1, -1, -1], [0, 1, 2])
        """
        return cls(*passing_decisions(taxonomy, class_nodes)[:3])

    @cached_property
    def n_classes(self) -> int:
        """Number of classes.

        >>> TopDown([0, 2], [-1, -1], [0, 1]).n_classes
        2
        """
        return int(self.classes.max()) + 1

    @property
    def n_units(self) -> int:
        """Number of vectors: one per option where there is a choice.

        >>> TopDown([0, 1], [-1], [0]).n_units
        0
        """
        return int(self.unit_start[-1])

    @cached_property
    def unit_start(self) -> npt.NDArray[np.int64]:
        """The units of node n are unit_start[n] .. unit_start[n + 1] - 1; none where there is one option.

        >>> TopDown([0, 1, 3], [1, -1, -1], [-1, 0, 1]).unit_start
        array([0, 0, 2])
        """
        sizes = np.diff(self.indptr)
        return np.concatenate(([0], np.cumsum(np.where(sizes > 1, sizes, 0))))

    def choices(self) -> Iterator[Choice]:
        """Every node with a choice: its units, and the classes below each option; what a method fits at the node.

        In a DAG a class that is below several options counts for the first.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Rock"])
        >>> for choice in TopDown.over(tree, tree.ids_of(["Cat", "Dog", "Rock"])).choices():
        ...     choice.units, choice.classes.tolist(), choice.option.tolist()
        (slice(0, 2, None), [0, 1, 2], [0, 0, 1])
        (slice(2, 4, None), [0, 1], [0, 1])
        """
        n_nodes = len(self.indptr) - 1
        below: list[Ids] = [np.empty(0, dtype=np.int32)] * n_nodes
        options: list[Ids] = list(below)
        for node in range(n_nodes - 1, -1, -1):
            span = slice(*self.indptr[node : node + 2].tolist())
            lists = []
            for child, number in zip(self.children[span].tolist(), self.classes[span].tolist(), strict=True):
                own = np.array([number] if number >= 0 else [], dtype=np.int32)
                lists.append(np.append(below[child], own) if child >= 0 else own)
            which = np.repeat(np.arange(len(lists), dtype=np.int32), [len(some) for some in lists])
            below[node], first = np.unique(np.concatenate(lists), return_index=True)
            options[node] = which[first]
        starts = self.unit_start.tolist()
        for node in range(n_nodes):
            if starts[node] < starts[node + 1]:
                yield Choice(slice(starts[node], starts[node + 1]), below[node], options[node])

    def decode(self, vectors: Vectors, X: Any, *, beam: int | None = None, n_threads: int = 1) -> Answers:
        """The class that each row comes to; only the options of nodes that it passes are scored.

        `beam` changes nothing here: the recursive answer is the best of all classes.

        >>> from taxolearn.vectors import ClassVectors
        >>> decoder = TopDown([0, 2], [-1, -1], [0, 1])
        >>> decoder.decode(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]])).ids
        array([1], dtype=int32)
        """
        check_units(vectors, self.n_units)
        check_beam(beam)
        ids = self._answers(vectors, X, n_threads)
        return one_per_row(ids, np.zeros(len(ids), dtype=vectors.dtype))

    def top_k(
        self, vectors: Vectors, X: Any, k: int, *, beam: int | None = None, n_threads: int = 1
    ) -> tuple[Ids, Floats]:
        """The k best classes of each row and their scores; exact, as scores only fall on the way down.

        With `beam` only so many nodes of a level are looked below.

        >>> from taxolearn.vectors import ClassVectors
        >>> decoder = TopDown([0, 2], [-1, -1], [0, 1])
        >>> decoder.top_k(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]]), 2)
        (array([[1, 0]], dtype=int32), array([[ 0., -4.]]))
        """
        check_units(vectors, self.n_units)
        check_k(k, self.n_classes)
        check_beam(beam)
        answers = self._answers(vectors, X, n_threads)
        if k == 1:
            return answers[:, None], np.zeros((len(answers), 1), dtype=vectors.dtype)
        step = _ROWS_TOGETHER
        if beam is not None:
            step = min(step, max(1, MOST_OPEN // min(beam, len(self.indptr) - 1)))
        ids = np.empty((len(answers), k), dtype=np.int32)
        scores = np.empty((len(answers), k), dtype=vectors.dtype)
        for first in range(0, len(answers), step):
            rows = slice(first, first + step)
            some = X if step >= len(answers) else X[rows]

            def expand(reached: Reached, some: Any = some) -> tuple[Reached, Reached]:
                return self._expand(vectors, some, reached)

            ids[rows], scores[rows] = search(expand, answers[rows], int(k), beam, vectors.dtype)
        return ids, scores

    def scores(self, vectors: Vectors, X: Any, *, n_threads: int = 1) -> Floats:
        """The scores of all classes, rows x classes.

        >>> from taxolearn.vectors import ClassVectors
        >>> decoder = TopDown([0, 2], [-1, -1], [0, 1])
        >>> decoder.scores(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]]))
        array([[-4.,  0.]])
        """
        check_units(vectors, self.n_units)
        answers = self._answers(vectors, X, n_threads)
        found = np.full((len(answers), self.n_classes), -np.inf, dtype=vectors.dtype)
        for rows, units in vectors.score_blocks(X, n_threads=n_threads):
            self._add_up(units, found[rows])
        np.minimum(found, largest_negative(vectors.dtype), out=found)
        found[np.arange(len(answers)), answers] = 0.0
        return found

    def row_facts(self, vectors: Vectors, X: Any) -> TopDownRow:
        """How X, a single row, is decided on, node by node.

        >>> from taxolearn.vectors import ClassVectors
        >>> decoder, vectors = TopDown([0, 2], [-1, -1], [0, 1]), ClassVectors(np.eye(2), np.zeros(2))
        >>> decoder.row_facts(vectors, np.array([[1.0, 5.0]])).contest(np.array([1]), np.array([0]))
        Contest(best=1, units=(1,), rival=0, rival_units=(0,), compared=None)
        """
        check_units(vectors, self.n_units)
        units = vectors.unit_scores(X, slice(None))[0] if self.n_units else np.empty(0, dtype=vectors.dtype)
        return TopDownRow(vectors, units, self.indptr, self.children, self.classes, self.unit_start)

    def arrays(self) -> Arrays:
        """The options of all nodes.

        >>> sorted(TopDown([0, 2], [-1, -1], [0, 1]).arrays())
        ['children', 'classes', 'indptr']
        """
        return {"indptr": self.indptr, "children": self.children, "classes": self.classes}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_classes: int) -> TopDown:
        """The decoder of a stored model.

        >>> TopDown.from_arrays(TopDown([0, 2], [-1, -1], [0, 1]).arrays(), 3)
        Traceback (most recent call last):
        ...
        taxolearn.errors.ModelError: stored decoder: there are 2 classes, not 3
        """
        parts = [stored_array(arrays, name, (np.int32,)) for name in ("indptr", "children", "classes")]
        try:
            decoder = cls(*parts)
        except DataError as error:
            raise ModelError(f"stored decoder: {error}") from None
        if decoder.n_classes != n_classes:
            raise ModelError(f"stored decoder: there are {decoder.n_classes} classes, not {n_classes}")
        return decoder

    def _answers(self, vectors: Vectors, X: Any, n_threads: int) -> Ids:
        """Row by row the class that is reached; rows at the same node are scored together, or each walks by itself."""
        options = vectors.walked(X, (self.indptr, self.children, self.unit_start), n_threads)
        if options is not None:
            reached: Ids = self.classes[options]
            return reached
        answers = np.empty(X.shape[0], dtype=np.int32)
        rows, nodes = np.arange(X.shape[0]), np.zeros(X.shape[0], dtype=np.int64)
        while len(rows):
            option = self.indptr[nodes].astype(np.int64)
            for node, some in _groups(nodes):
                if self.indptr[node + 1] - self.indptr[node] > 1:
                    option[some] += np.argmax(self._option_scores(vectors, X, rows[some], node), axis=1)
            ends = self.children[option] < 0
            answers[rows[ends]] = self.classes[option[ends]]
            rows, nodes = rows[~ends], self.children[option[~ends]].astype(np.int64)
        return answers

    def _option_scores(self, vectors: Vectors, X: Any, rows: npt.NDArray[Any], node: int) -> Floats:
        some = X if len(rows) == X.shape[0] else X[rows]
        found = vectors.unit_scores(some, slice(*self.unit_start[node : node + 2].tolist()))
        found[np.isnan(found)] = -np.inf  # not a number: last of all
        return found

    def _expand(self, vectors: Vectors, X: Any, reached: Reached) -> tuple[Reached, Reached]:
        """From nodes that rows have reached one step down: the nodes, and the classes, that they come to."""
        parts: tuple[list[Reached], list[Reached]] = ([], [])
        for node, some in _groups(reached.ids):
            rows, scores = reached.rows[some], reached.scores[some][:, None]
            span = slice(*self.indptr[node : node + 2].tolist())
            if span.stop - span.start > 1:
                scores = scores + behind(self._option_scores(vectors, X, rows, node))
            for ids, found in zip((self.children[span], self.classes[span]), parts, strict=True):
                there = np.flatnonzero(ids >= 0)
                found.append(
                    Reached(
                        np.repeat(rows, len(there)), np.tile(ids[there], len(rows)), scores[:, there].ravel()
                    )
                )
        nodes, classes = (
            Reached(*(np.concatenate(column) for column in zip(*found, strict=True))) for found in parts
        )
        return nodes, classes._replace(scores=np.minimum(classes.scores, largest_negative(vectors.dtype)))

    def _add_up(self, units: Floats, out: Floats) -> None:
        """Put the sums along all paths into `out`, rows x classes, which comes as -inf."""
        units = np.where(np.isnan(units), -np.inf, units)
        along = np.full((len(self.indptr) - 1, len(units)), -np.inf, dtype=out.dtype)
        along[0] = 0.0
        for node, first in enumerate(self.indptr[:-1].tolist()):
            last = int(self.indptr[node + 1])
            sums = along[node][:, None]
            if last - first > 1:
                sums = sums + behind(units[:, self.unit_start[node] : self.unit_start[node + 1]])
            for place, option in enumerate(range(first, last)):
                child, number = self.children[option], self.classes[option]
                reached = [along[child]] if child >= 0 else []
                for best in (*reached, *([out[:, number]] if number >= 0 else [])):
                    np.maximum(best, sums[:, place], out=best)


def _groups(nodes: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Each node that occurs, and where."""
    order = np.argsort(nodes, kind="stable")
    cuts = np.flatnonzero(np.diff(nodes[order])) + 1
    for some in np.split(order, cuts) if len(order) else []:
        yield int(nodes[some[0]]), some


def behind(scores: Floats) -> Floats:
    """How far each score is behind the best of its row: 0 or negative, also where scores are infinite.

    >>> behind(np.array([[1.0, 3.0], [-np.inf, -np.inf]]))
    array([[-2.,  0.],
           [ 0.,  0.]])
    """
    best = scores.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        less: Floats = np.where(scores == best, scores.dtype.type(0.0), scores - best)
    return less


def largest_negative(dtype: Any) -> Any:
    """The score of a class that is equal to the answer, but comes later: its half is still not zero.

    >>> float(largest_negative(np.float32)) < 0.0
    True
    """
    return -np.finfo(dtype).tiny
