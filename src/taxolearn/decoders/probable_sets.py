"""Several labels per row: the label set of the largest expected F1, by probabilities made of node scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.base import Arrays, stored_array
from taxolearn.decoders.calibration import fit_sigmoids, sigmoid
from taxolearn.decoders.expected_f1 import cut_sets, falling
from taxolearn.decoders.label_sets import LabelSets
from taxolearn.decoders.label_space import LabelSpace
from taxolearn.decoders.set_row import SetRow
from taxolearn.decoders.sets import Sets
from taxolearn.errors import DataError
from taxolearn.vectors import Vectors

Floats = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ProbableSets(Sets):
    """Answers the classes of the label set with the largest expected F1 (see `expected_f1_sets`); units are nodes.

    The probability of a node is 1 / (1 + exp(-(slope m + bias))), m being its max-marginal: how much larger the best
    sum of a set with the node is than that of one without it (on DAGs as in `Sets`). A row's set is the one with the
    largest sum of probabilities less the row's cut, and the score of a class is what it matters to that sum.
    `explain` is about max-marginals, which the probabilities are made of.

    >>> from taxolearn.vectors import ClassVectors
    >>> decoder = ProbableSets(LabelSpace.star(2), slopes=np.ones(3), biases=np.zeros(3))
    >>> vectors, X = ClassVectors(np.eye(3), np.zeros(3)), np.array([[0.0, 3.0, 0.5]])
    >>> decoder.decode(vectors, X).ids, decoder.probabilities(vectors, X).round(2).tolist()
    (array([0, 1], dtype=int32), [[1.0, 0.95, 0.62]])
    """

    slopes: Floats = field(default_factory=lambda: np.zeros(0))
    biases: Floats = field(default_factory=lambda: np.zeros(0))
    name: ClassVar[str] = "probable_sets"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("slopes", "biases"):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (self.space.n_nodes,) or not np.isfinite(array).all():
                raise DataError(f"{name} must be {self.space.n_nodes} finite numbers, one per node")
            object.__setattr__(self, name, array)

    def probabilities(self, vectors: Vectors, X: Any, *, n_threads: int = 1) -> Floats:
        """The probabilities of all nodes of the label space, rows x nodes; they fall along the paths.

        >>> from taxolearn.vectors import ClassVectors
        >>> decoder = ProbableSets(LabelSpace.star(2), slopes=np.ones(3), biases=np.zeros(3))
        >>> decoder.probabilities(ClassVectors(np.eye(3), np.zeros(3)), np.array([[0.0, 0.0, 0.0]])).tolist()
        [[1.0, 0.5, 0.5]]
        """
        found = np.empty((X.shape[0], self.space.n_nodes))
        for rows, sums, sets in self._plain._decoded(vectors, X, None, n_threads):
            found[rows] = falling(self.space, self._probable(sums, sets))
        return found

    def row_facts(self, vectors: Vectors, X: Any) -> SetRow:
        """How X, a single row, is decided on: by max-marginals.

        >>> from taxolearn.vectors import ClassVectors
        >>> decoder = ProbableSets(LabelSpace.star(2), slopes=np.ones(3), biases=np.zeros(3))
        >>> decoder.row_facts(ClassVectors(np.eye(3), np.zeros(3)), np.array([[0.0, 1.0, -2.0]])).answers
        array([0])
        """
        [(_, sums, _)] = self._plain._decoded(vectors, X, None, 1)
        facts = super().row_facts(vectors, X)
        return replace(facts, potential=sums[0])

    def arrays(self) -> Arrays:
        """The arrays of the label space, slopes and biases.

        >>> decoder = ProbableSets(LabelSpace.star(2), slopes=np.ones(3), biases=np.zeros(3))
        >>> decoder.arrays()["slopes"].tolist()
        [1.0, 1.0, 1.0]
        """
        return super().arrays() | {"slopes": self.slopes, "biases": self.biases}

    @classmethod
    def _more(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
        return {name: stored_array(arrays, name, (np.float64,)) for name in ("slopes", "biases")}

    @property
    def _plain(self) -> Sets:
        """The decoder of the best sums."""
        return Sets(self.space, self.offset)

    def _probable(self, potentials: Floats, sets: LabelSets) -> Floats:
        marginals = node_marginals(self.space, potentials, sets)
        always = np.isinf(marginals)
        marginals[always] = 0.0
        found = sigmoid(self.slopes * marginals + self.biases)
        found[always] = 1.0
        return found

    def _tell(self, sets: LabelSets) -> None:
        """Bounds are those of any set of nodes, and seldom met where nodes need children: nothing to warn of."""

    def _sets_of(self, potentials: Floats, n_threads: int) -> tuple[Floats, LabelSets]:
        sums, sets = self._plain._sets_of(potentials, n_threads)
        chosen, p, cuts = cut_sets(self.space, self._probable(sums, sets), self.at_most)
        p -= cuts[:, None]
        p[:, 0] = 0.0
        return p, chosen


def calibrated_sets(
    plain: Sets, potentials: npt.ArrayLike, targets: sp.csr_array, row_weight: Floats | None = None
) -> ProbableSets:
    """The decoder whose sigmoids fit held-out rows: `potentials` is rows x nodes, `targets` rows x classes.

    >>> plain = Sets(LabelSpace.star(2))
    >>> scores = np.array([[0.0, 2.0, -2.0], [0.0, -2.0, 2.0]] * 10)
    >>> decoder = calibrated_sets(plain, scores, sp.csr_array(np.array([[1, 0], [0, 1]] * 10)))
    >>> decoder.sets_of(scores[:1]).of(0).tolist()
    [0, 1]
    """
    space = plain.space
    sums, sets = replace(plain, at_most=None)._sets_of(np.array(potentials, dtype=np.float64), 1)
    marginals = node_marginals(space, sums, sets)
    marginals[np.isinf(marginals)] = 0.0
    truth = space.label_sets(sp.csr_array(targets)).toarray() > 0
    slopes, biases = fit_sigmoids(marginals, truth, row_weight)
    return ProbableSets(space, plain.offset, plain.at_most, slopes, biases)


def node_marginals(space: LabelSpace, potentials: Floats, sets: LabelSets) -> Floats:
    """The max-marginals of all nodes, rows x nodes; infinite for nodes that every set has. On DAGs what adding or
    dropping the node changes, as in `Sets`.

    >>> from taxolearn.decoders import decode_sets
    >>> space, potentials = LabelSpace.star(2), np.array([[0.0, 1.0, -2.0]])
    >>> node_marginals(space, potentials, decode_sets(space, potentials)).tolist()
    [[inf, 3.0, -2.0]]
    """
    from taxolearn.kernels.dag_set_changes import dag_changes
    from taxolearn.kernels.tree_set_changes import tree_marginals

    found = np.empty_like(potentials)
    if space.is_tree:
        tree_marginals(potentials, space.parent, space.subtree_end, space.must, found)
        return found
    n_rows, n = potentials.shape
    nodes = np.tile(np.arange(n, dtype=np.int32), n_rows)
    pointer = n * np.arange(n_rows + 1, dtype=np.int64)
    dag_changes(
        potentials, space.dag, space.must, sets.indptr, sets.indices, pointer, nodes, found.reshape(-1)
    )
    return found
