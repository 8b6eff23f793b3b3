"""Why a row got its class: the score as a sum over features, or with a kernel over training rows, and the margin at
each node of the path.

What an estimator needs for it: `classes_`, `taxonomy_`, `vectors_`, `decoder_`, `_rows(X)`, `_path(name)`, and
`feature_names_in_` if it has names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders import RowFacts
from taxolearn.errors import DataError, LabelError
from taxolearn.explain.explanation import INTERCEPT, Contributions, Explanation, NodeExplanation
from taxolearn.problem.label_paths import node_called
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show
from taxolearn.vectors import Vectors

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.integer[Any]]
Units = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ExplainedRow:
    """The row to explain by what its scores are sums over: columns, values, names; for a text also its words' shares.

    `shares` are matrices side by side with one row per word and a column for each entry; rows add up to `values`.

    >>> ExplainedRow(np.array([0]), np.array([2.0]), ["length"]).names
    ['length']
    """

    columns: Ids
    values: Floats
    names: Sequence[str]
    words: Sequence[str] | None = None
    shares: Sequence[Any] | None = None


def explain(
    estimator: Any,
    x: Any,
    *,
    k: int,
    runners_up: int,
    label: Hashable = None,
    titles: Mapping[Hashable, str] | None = None,
) -> Explanation:
    """Explain the best class of one row, or the class `label`; see `VectorClassifier.explain`.

    >>> from taxolearn import OneVsRestSVM
    >>> model = OneVsRestSVM().fit([[-1.0, 0.0], [1.0, 0.5]], ["a", "b"])
    >>> explanation = explain(model, [2.0, 0.0], k=6, runners_up=3)
    >>> [name for name, _ in explanation.contributions]
    ['x0', '(intercept)']
    """
    rows = estimator._rows(one_row(x))
    if rows.shape[0] != 1:
        raise DataError(f"explain takes one row, not {rows.shape[0]}; call it for each row")
    names = getattr(estimator, "feature_names_in_", None)
    row = ExplainedRow(*estimator.vectors_.terms(rows, names, estimator.classes_.tolist()))
    return explain_row(estimator, rows, row, k=k, runners_up=runners_up, label=label, titles=titles)


def explain_row(
    estimator: Any,
    X: Any,
    row: ExplainedRow,
    *,
    k: int,
    runners_up: int,
    label: Hashable = None,
    titles: Mapping[Hashable, str] | None = None,
) -> Explanation:
    """Explain X, the one row that is described by `row`.

    The model's decoder says who is best, and what is compared at each node, as it does for `predict`. What is reported
    is computed anew in float64, so that contributions add up also where the weights are float32.

    >>> from taxolearn import OneVsRestSVM
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> row = ExplainedRow(np.array([0]), np.array([2.0]), ["length"])
    >>> explain_row(model, np.array([[2.0]]), row, k=6, runners_up=0).contributions[0][0]
    'length'
    """
    _check_counts(k, runners_up)
    groups = ClassGroups(estimator.classes_.tolist(), estimator.taxonomy_)
    decoder, vectors = estimator.decoder_, estimator.vectors_
    asked = None if label is None else groups.number(label)
    ranking = decoder.top_k(vectors, X, min(runners_up + 2, decoder.n_classes))[0][0].tolist()
    number = ranking[0] if asked is None else asked
    others = [other for other in ranking if other != number][:runners_up]
    path = estimator._path(groups.classes[number])
    facts = decoder.row_facts(vectors, X)
    sums, deciding = _Sums(facts.scored, row), _Sums(facts.deciding, row)
    nodes = tuple(
        _explain_node(name, groups, own, beside, facts, sums, deciding)
        for name, own, beside in groups.contests(groups.path(number), number, facts.node_by_node)
    )
    mentioned = {*groups.path(number), groups.classes[number], *(groups.classes[c] for c in others)}
    mentioned.update(name for node in nodes for name in (node.best, node.runner_up, node.rival))
    return Explanation(
        groups.classes[number],
        path,
        sums.score(*facts.parts(number)),
        tuple((groups.classes[c], sums.score(*facts.parts(c))) for c in others),
        sums.features(*facts.parts(number)),
        nodes,
        sums.words(*facts.parts(number)),
        _titles(estimator.taxonomy_, titles, mentioned),
        k,
    )


def _titles(
    taxonomy: Taxonomy | None, titles: Mapping[Hashable, str] | None, mentioned: set[Hashable]
) -> dict[Hashable, str]:
    """What to call the nodes that are mentioned: their titles, else the labels of the taxonomy."""
    found = (
        {} if taxonomy is None else {name: term.label for name, term in taxonomy.terms.items() if term.label}
    )
    return {name: title for name, title in (found | dict(titles or {})).items() if name in mentioned}


def one_row(x: Any) -> Any:
    """A row that was given without the second pair of brackets gets it.

    >>> one_row([1.0, 2.0]).shape
    (1, 2)
    """
    if sp.issparse(x):
        return x if x.ndim == 2 else x.reshape(1, -1)
    try:
        flat = np.ndim(x) == 1
    except ValueError:  # rows of different lengths
        return x
    return np.asarray(x).reshape(1, -1) if flat else x


def _check_counts(k: Any, runners_up: Any) -> None:
    for name, value, least in (("k", k, 1), ("runners_up", runners_up, 0)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise DataError(f"{name}={show(value)} is not allowed; give a whole number from {least} on")


class ClassGroups:
    """Which classes are under each node; without a taxonomy every class is a node, and all are siblings.

    >>> groups = ClassGroups(["Cat", "Dog"], Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]))
    >>> groups.under("Animal").tolist(), groups.beside("Cat").tolist()
    ([0, 1], [1])
    """

    def __init__(self, classes: Sequence[Hashable], taxonomy: Taxonomy | None) -> None:
        self.classes = classes
        self._taxonomy = taxonomy
        if taxonomy is not None:
            # rows: nodes, columns: the classes under them
            self._below = taxonomy.ancestor_matrix(taxonomy.ids_of(classes), dtype=np.int8).T.tocsr()

    def number(self, label: Hashable) -> int:
        """The number of a class that the user asks about.

        >>> groups = ClassGroups(["Cat", "Dog"], Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]))
        >>> groups.number("Animal")
        Traceback (most recent call last):
        ...
        taxolearn.errors.LabelError: 'Animal' is a node of the taxonomy, but not a class of this model
        """
        if self._taxonomy is not None:
            label = node_called(label, self._taxonomy)
        for number, name in enumerate(self.classes):
            if name == label:
                return number
        if self._taxonomy is None:
            raise LabelError(f"{show(label)} is not a class of this model; classes_ lists them")
        raise LabelError(f"{show(label)} is a node of the taxonomy, but not a class of this model")

    def path(self, number: int) -> tuple[Hashable, ...]:
        """The nodes from the top down to a class.

        >>> ClassGroups(["Cat", "Dog"], Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])).path(1)
        ('Animal', 'Dog')
        """
        name = self.classes[number]
        return (name,) if self._taxonomy is None else self._taxonomy.named_path(name)

    def node(self, name: Hashable) -> int | None:
        """The id of a node; None without a taxonomy.

        >>> ClassGroups(["Cat", "Dog"], Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])).node("Dog")
        2
        """
        return None if self._taxonomy is None else self._taxonomy.id_of(name)

    def under(self, name: Hashable) -> Ids:
        """Numbers of the classes under a node, itself included.

        >>> ClassGroups(["a", "b"], None).under("b").tolist()
        [1]
        """
        if self._taxonomy is None:
            return np.array([self.number(name)])
        node = self._taxonomy.id_of(name)
        return np.sort(self._below.indices[self._below.indptr[node] : self._below.indptr[node + 1]])

    def beside(self, name: Hashable) -> Ids:
        """Numbers of the classes under siblings of a node and, in a DAG, not under the node itself.

        >>> ClassGroups(["a", "b", "c"], None).beside("b").tolist()
        [0, 2]
        """
        if self._taxonomy is None:
            return np.delete(np.arange(len(self.classes)), self.under(name))
        found = [self.under(sibling) for sibling in self._taxonomy.siblings(name)]
        return np.setdiff1d(np.concatenate([np.empty(0, np.intp), *found]), self.under(name))

    def sibling(self, name: Hashable, number: int) -> Hashable:
        """The sibling of a node (the first of several) that a class is under; else the class itself.

        >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"])
        >>> ClassGroups(["Lion", "Dog"], tree).sibling("Dog", 0)
        'Cat'
        """
        if self._taxonomy is None:
            return self.classes[number]
        siblings = self._taxonomy.siblings(name)
        return next((other for other in siblings if number in self.under(other)), self.classes[number])

    def contests(
        self, path: Sequence[Hashable], number: int, node_by_node: bool
    ) -> Iterator[tuple[Hashable, Ids, Ids]]:
        """Every node of the path to a class, the classes under it, and those that it has to win against.

        Where decisions are made node by node, a class at the parent is a rival too: to stop there. And a class with
        others below it comes once more: stopping there wins against them.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> groups = ClassGroups(["Animal", "Dog"], tree)
        >>> [(name, own.tolist(), others.tolist()) for name, own, others in groups.contests(["Animal"], 0, True)]
        [('Animal', [0, 1], []), ('Animal', [0], [1])]
        """
        above = np.empty(0, dtype=np.intp)
        for name in path:
            own = self.under(name)
            yield name, own, np.union1d(self.beside(name), above)
            if node_by_node:
                above = np.array([c for c in own.tolist() if self.classes[c] == name], dtype=np.intp)
        below = self.under(self.classes[number])
        if node_by_node and len(below) > 1:
            yield self.classes[number], np.array([number]), below[below != number]


def _explain_node(
    name: Hashable,
    groups: ClassGroups,
    own: Ids,
    others: Ids,
    facts: RowFacts,
    sums: _Sums,
    deciding: _Sums,
) -> NodeExplanation:
    best, units, rival, rival_units, compared = facts.contest(own, others, groups.node(name))
    alone = NodeExplanation(
        name, sums.score(units), groups.classes[best], sums.features(units), words=sums.words(units)
    )
    if rival is None and compared is None:
        return alone
    mine = units if compared is None else compared
    return replace(
        alone,
        margin=deciding.score(mine, rival_units),
        runner_up=None if rival is None else groups.sibling(name, rival),
        rival=None if rival is None else groups.classes[rival],
        deciding=deciding.features(mine, rival_units),
        deciding_words=deciding.words(mine, rival_units),
    )


class _Sums:
    """Scores of units on one row, less those of others, as sums over its entries, or over its words."""

    def __init__(self, vectors: Vectors, row: ExplainedRow) -> None:
        self._vectors = vectors
        self._row = row
        self._units: dict[int, tuple[Floats, float]] = {}  # a unit is in several sums

    def score(self, plus: Units, minus: Units = ()) -> float:
        coef, intercept = self._of(plus, minus)
        return float(self._row.values @ coef) + intercept

    def features(self, plus: Units, minus: Units = ()) -> Contributions:
        coef, intercept = self._of(plus, minus)
        found: dict[str, float] = {}
        for name, value in zip(self._row.names, (self._row.values * coef).tolist(), strict=True):
            if value:  # entries of one name are one thing: the columns of an embedding
                found[name] = found.get(name, 0.0) + value
        return tuple(sorted([*found.items(), (INTERCEPT, intercept)], key=lambda term: -abs(term[1])))

    def words(self, plus: Units, minus: Units = ()) -> Contributions | None:
        if self._row.words is None or self._row.shares is None:
            return None
        coef, intercept = self._of(plus, minus)
        ends = accumulate(part.shape[1] for part in self._row.shares)
        values = sum(
            (
                part @ coef[end - part.shape[1] : end]
                for part, end in zip(self._row.shares, ends, strict=True)
            ),
            start=np.zeros(len(self._row.words)),
        )
        return (*zip(self._row.words, values.tolist(), strict=True), (INTERCEPT, intercept))

    def _of(self, plus: Units, minus: Units) -> tuple[Floats, float]:
        """Weights of the row's entries and intercept, added up over units, less those of others."""
        coef, intercept = np.zeros(len(self._row.columns)), 0.0
        for sign, units in ((1.0, plus), (-1.0, minus)):
            for unit in units:
                weights, constant = self._unit(unit)
                coef += sign * weights
                intercept += sign * constant
        return coef, intercept

    def _unit(self, unit: int) -> tuple[Floats, float]:
        if unit not in self._units:
            weights = self._vectors.entries(unit, self._row.columns)
            self._units[unit] = weights, float(self._vectors.intercept[unit])
        return self._units[unit]
