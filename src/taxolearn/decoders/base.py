"""What every decoder offers: the way from the scores of vectors to answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError, ModelError
from taxolearn.vectors import Vectors

Ids = npt.NDArray[np.int32]
Arrays = dict[str, npt.NDArray[Any]]


class Answers(NamedTuple):
    """The predicted classes of each row, best first, as CSR: row i has ids[indptr[i]:indptr[i + 1]] and their scores.

    >>> Answers(np.array([0, 1, 1]), np.array([7], dtype=np.int32), np.array([0.5])).indptr.tolist()
    [0, 1, 1]
    """

    indptr: npt.NDArray[np.int64]
    ids: Ids
    scores: npt.NDArray[Any]


class Contest(NamedTuple):
    """What a decoder compares at a node: units that speak for the node, and those of its strongest rival.

    `best` and `rival` are the classes that the two lead to; without a rival it is None. Where more than the node's own
    units is compared with `rival_units`, `compared` has all of these; there may then be a margin without a rival.

    >>> Contest(3, (3,)).rival is None
    True
    """

    best: int
    units: tuple[int, ...]
    rival: int | None = None
    rival_units: tuple[int, ...] = ()
    compared: tuple[int, ...] | None = None


class RowFacts(Protocol):
    """How a decoder decides on one row, for `explain`.

    >>> from taxolearn.decoders import Best
    >>> from taxolearn.vectors import ClassVectors
    >>> facts = Best(3).row_facts(ClassVectors(np.eye(3), np.zeros(3)), np.array([[1.0, 5.0, 2.0]]))
    >>> facts.contest(np.array([0, 1]), np.array([2]))
    Contest(best=1, units=(1,), rival=2, rival_units=(2,), compared=None)
    """

    @property
    def scored(self) -> Vectors:
        """The vectors whose scores are reported."""

    @property
    def deciding(self) -> Vectors:
        """The vectors whose scores are compared."""

    @property
    def node_by_node(self) -> bool:
        """Whether a decision is made at each node; then a class at an inner node is a rival of what is below it."""

    def parts(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The units whose scores add up to that of a class, and the units whose scores are taken off."""

    def contest(self, own: npt.NDArray[Any], others: npt.NDArray[Any], node: int | None = None) -> Contest:
        """What is compared at the node that has the classes `own` under it and `others` beside it.

        `node` is its id in the taxonomy, None where every class is a node of its own.
        """


class Decoder(Protocol):
    """The only way from scores to answers; a frozen dataclass.

    The predicted classes of a row are the first of its ranking: with one label exactly the first. A method that scores
    something else than classes (nodes, say) has vectors with other units, and its decoder makes classes of them.

    >>> from taxolearn.decoders import Best
    >>> decoder: Decoder = Best(2)
    >>> decoder.name, decoder.several, decoder.n_classes
    ('best', False, 2)
    """

    name: ClassVar[str]
    several: ClassVar[bool]  # whether a row may get several labels, or none

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    def decode(self, vectors: Vectors, X: Any, *, beam: int | None = None, n_threads: int = 1) -> Answers:
        """The classes that `predict` answers."""

    def top_k(
        self, vectors: Vectors, X: Any, k: int, *, beam: int | None = None, n_threads: int = 1
    ) -> tuple[Ids, npt.NDArray[Any]]:
        """The k best classes of each row, best first and equals by the smaller id, and their scores."""

    def scores(self, vectors: Vectors, X: Any, *, n_threads: int = 1) -> npt.NDArray[Any]:
        """The scores of all classes, rows x classes."""

    def row_facts(self, vectors: Vectors, X: Any) -> RowFacts:
        """How X, a single row, is decided on."""

    def arrays(self) -> Arrays:
        """What a stored model keeps of the decoder besides its name and the number of classes."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_classes: int) -> Self:
        """Undo `arrays`; whatever does not make a decoder of so many classes is a `ModelError`."""


def one_per_row(ids: Ids, scores: npt.NDArray[Any]) -> Answers:
    """The answers where every row has exactly one class.

    >>> one_per_row(np.array([4, 2], dtype=np.int32), np.array([0.5, 1.5])).indptr.tolist()
    [0, 1, 2]
    """
    return Answers(np.arange(len(ids) + 1, dtype=np.int64), ids, scores)


def check_units(vectors: Vectors, n_units: int) -> None:
    """The vectors must be those that the decoder is for.

    >>> from taxolearn.vectors import ClassVectors
    >>> check_units(ClassVectors(np.eye(2), np.zeros(2)), 3)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: the decoder needs 3 vectors, but there are 2
    """
    if vectors.n_classes != n_units:
        raise DataError(f"the decoder needs {n_units} vectors, but there are {vectors.n_classes}")


def stored_array(arrays: Mapping[str, npt.NDArray[Any]], name: str, kinds: tuple[type, ...]) -> Any:
    """A one-dimensional array of a stored decoder.

    >>> stored_array({}, "thresholds", (np.float64,))
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: stored decoder: the array 'thresholds' is missing or of another type
    """
    array = arrays.get(name)
    if array is None or array.dtype not in kinds or array.ndim != 1:
        raise ModelError(f"stored decoder: the array {name!r} is missing or of another type")
    return array
