"""The rows of a report: what is true of them, what the model answers, and what each answer costs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.metrics.distances import row_losses
from taxolearn.problem.labels import encode_labels
from taxolearn.structure import Taxonomy
from taxolearn.structure.assembly import ARTIFICIAL_ROOT
from taxolearn.structure.navigation import JOINTS
from taxolearn.terminal import cut

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LONGEST_NAME = 200  # characters of a name that are shown


@dataclass(frozen=True)
class NodeSets:
    """One set of nodes per row, as CSR without values.

    >>> NodeSets(np.array([0, 1, 3]), np.array([4, 5, 6])).rows.tolist()
    [0, 1, 1]
    """

    indptr: Ids
    nodes: Ids

    @property
    def rows(self) -> Ids:
        """The row of every node."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def of(self, row: int) -> list[int]:
        """The nodes of one row."""
        found: list[int] = self.nodes[self.indptr[row] : self.indptr[row + 1]].tolist()
        return found


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labelled rows, and the model's answers to them.

    Without a taxonomy all classes stand below one root, so that everything has a meaning: hierarchical F1 is then micro
    F1, and a wrong label costs 1.

    - `estimator`: the part of the model that scores rows; `rows`: features; `texts`: what they were made of, if texts;
    - `true`, `answered`: nodes; `class_nodes`: the node of each class.

    >>> from taxolearn import OneVsRestSVM
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> held = held_out(model, [[-2.0], [2.0], [3.0]], ["a", "b", "a"])
    >>> held.right.tolist(), held.losses.tolist(), held.taxonomy.nodes
    ([True, True, False], [0.0, 0.0, 1.0], ('<root>', 'a', 'b'))
    """

    model: Any
    estimator: Any
    rows: Any
    texts: Sequence[str] | None
    taxonomy: Taxonomy
    has_taxonomy: bool
    true: NodeSets
    answered: NodeSets
    class_nodes: Ids

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.true.indptr) - 1

    @property
    def several(self) -> bool:
        """Whether a row may have several labels."""
        return bool(self.estimator.decoder_.several)

    @cached_property
    def above(self) -> sp.csr_array:
        """Nodes x nodes: a node's row marks itself and what is above it, but the root."""
        return sp.csr_array(self.taxonomy.ancestor_matrix(include_root=False, dtype=np.float64))

    @cached_property
    def closed_true(self) -> sp.csr_array:
        """Rows x nodes: the true nodes and all above them, but the root."""
        return self._closed(self.true)

    @cached_property
    def closed_answered(self) -> sp.csr_array:
        """Rows x nodes: the answered nodes and all above them, but the root."""
        return self._closed(self.answered)

    def _closed(self, sets: NodeSets) -> sp.csr_array:
        return sp.csr_array((self.matrix(sets) @ self.above).sign())

    def matrix(self, sets: NodeSets) -> sp.csr_array:
        """Rows x nodes, a one where a row has a node."""
        shape = (len(sets.indptr) - 1, self.taxonomy.n_nodes)
        return sp.csr_array((np.ones(len(sets.nodes)), sets.nodes, sets.indptr), shape=shape)

    @cached_property
    def hits(self) -> sp.csr_array:
        """Rows x nodes that are both in truth and answer, closed as above."""
        return sp.csr_array(self.closed_true.multiply(self.closed_answered))

    @cached_property
    def sizes(self) -> tuple[Floats, Floats, Floats]:
        """Of each row, the number of nodes in both closed sets, in the true and in the answered one."""
        both, true, answered = (
            np.asarray(part.sum(axis=1), dtype=np.float64).ravel()
            for part in (self.hits, self.closed_true, self.closed_answered)
        )
        return both, true, answered

    @cached_property
    def right(self) -> npt.NDArray[np.bool_]:
        """Rows whose label, or whole set of labels, is right."""
        wrong = abs(self.matrix(self.true) - self.matrix(self.answered)).sum(axis=1)
        return np.asarray(wrong == 0).ravel()

    @cached_property
    def losses(self) -> Floats:
        """The tree loss of each row."""
        return row_losses(
            self.taxonomy, self.true.indptr, self.true.nodes, self.answered.indptr, self.answered.nodes
        )

    @cached_property
    def tree_parent(self) -> Ids:
        """One parent of each node, -1 for the root: in a DAG that of a shortest path, the first of several."""
        taxonomy = self.taxonomy
        if taxonomy.is_tree:
            return taxonomy.parent.astype(np.int64)
        steps, found = [0] * taxonomy.n_nodes, [-1] * taxonomy.n_nodes
        starts, parents = taxonomy.parent_indptr.tolist(), taxonomy.parent_indices.tolist()
        for node in range(1, taxonomy.n_nodes):
            best = min(parents[starts[node] : starts[node + 1]], key=steps.__getitem__)
            found[node], steps[node] = best, steps[best] + 1
        return np.array(found, dtype=np.int64)

    @cached_property
    def trained_rows(self) -> Ids | None:
        """Rows that the model learned from at each node itself; None where the model does not know."""
        counts = self.estimator.data_.get("class_rows")
        if counts is None:
            return None
        found = np.zeros(self.taxonomy.n_nodes, dtype=np.int64)
        found[self.class_nodes] = counts
        return found

    @cached_property
    def titles(self) -> Mapping[Hashable, str]:
        """What people call nodes, where that is known."""
        terms = self.taxonomy.terms
        return {name: term.label for name, term in terms.items() if term.label} | dict(
            getattr(self.model, "titles", None) or {}
        )

    @cached_property
    def labels(self) -> list[str]:
        """What each node is called: its name without the path before it, and its title."""
        names, found = self.taxonomy.nodes, []
        for node, (name, parent) in enumerate(zip(names, self.tree_parent.tolist(), strict=True)):
            shown = str(name)
            if node and isinstance(name, str) and isinstance(names[parent], str):
                shown = _last_word(name, str(names[parent]))
            title = self.titles.get(name)
            found.append(cut(shown if title is None or title == name else f"{shown} {title}", _LONGEST_NAME))
        return found

    def path(self, node: int) -> list[int]:
        """The nodes from the top down to a node, without an artificial root."""
        found = [node]
        while (parent := int(self.tree_parent[found[-1]])) >= 0:
            found.append(parent)
        if len(found) > 1 and self.taxonomy.nodes[0] == ARTIFICIAL_ROOT:
            found.pop()
        return found[::-1]

    def places(self, nodes: Sequence[int]) -> list[dict[str, Any]]:
        """Nodes as a report shows them: number and label."""
        return [{"node": int(node), "label": self.labels[node]} for node in nodes]


def held_out(model: Any, X: Any, y: Any) -> HeldOut:
    """Ask the model about labelled rows."""
    is_text = hasattr(model, "features_")
    texts = list(X) if is_text else None
    rows = model._rows(texts if is_text else X)
    estimator = model.estimator_ if is_text else model
    answers = estimator.decode(rows)
    taxonomy = estimator.taxonomy_
    classes = estimator.classes_.tolist()
    labels = encode_labels(y, taxonomy, allow_empty=True)
    if labels.n_rows != rows.shape[0]:
        raise DataError(f"X has {rows.shape[0]} rows, but y has {labels.n_rows}; give a label for each row")
    if not labels.n_rows:
        raise DataError("there are no rows to report on; give at least one")
    true = labels.indices.astype(np.int64)
    if taxonomy is not None:
        tree, class_nodes = taxonomy, np.asarray(taxonomy.ids_of(classes), dtype=np.int64)
    else:
        tree, class_nodes, place = _star(classes, labels.names)
        true = place[true]
    indptr, ids = answers.indptr.astype(np.int64), class_nodes[answers.ids]
    return HeldOut(
        model,
        estimator,
        rows,
        texts,
        tree,
        taxonomy is not None,
        NodeSets(labels.indptr.astype(np.int64), true),
        NodeSets(indptr, ids),
        class_nodes,
    )


def _star(classes: Sequence[Hashable], labels: Sequence[Hashable]) -> tuple[Taxonomy, Ids, Ids]:
    """All classes and labels below one root; the nodes of the classes, and of the labels."""
    names = list(dict.fromkeys((*classes, *labels)))
    place = {name: number + 1 for number, name in enumerate(names)}
    indptr = np.concatenate(([0], np.arange(len(names) + 1))).astype(np.int32)
    star = Taxonomy._trusted(indptr, np.zeros(len(names), dtype=np.int32), (ARTIFICIAL_ROOT, *names))
    ids = ([place[name] for name in some] for some in (classes, labels))
    of_classes, of_labels = (np.array(some, dtype=np.int64) for some in ids)
    return star, of_classes, of_labels


def _last_word(name: str, above: str) -> str:
    for joint in JOINTS:
        if name.startswith(above + joint) and len(name) > len(above + joint):
            return name[len(above + joint) :]
    return name
