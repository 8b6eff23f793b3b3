"""Which decoder answers a question: the model's own, or the one of least expected cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.decoders import (
    Decoder,
    HierarchicalF1,
    LeastCost,
    MarginalColumns,
    NodeMarginals,
    NodeSums,
    ProbableLabels,
    TreeLoss,
    cost_by_table,
)
from taxolearn.decoders.expected_cost import ExpectedCost
from taxolearn.errors import DataError, TaxonomyError
from taxolearn.methods.inputs import names_array
from taxolearn.problem.label_paths import node_called
from taxolearn.structure.names import show

Floats = npt.NDArray[np.float64]
_RULES = (
    "best", "tree_loss", "hierarchical_f1", "label_f1", "probable", "accuracy_and_tree_loss", "accuracy_and_f1",
    "mostly_accuracy_and_tree_loss", "mostly_accuracy_and_f1",
)  # fmt: skip
# metric that counts -> the rule that serves it: with one label per row, with several. Of one label all flat F1 are
# accuracy; a whole set of independent labels is right most often if each is; sets of the largest expected F1 were
# best by every F1. Where labels come without their ancestors F1 counts labels alone.
_OF_SETS = ("label_f1", "probable")
SERVED = {
    "accuracy": ("best", "probable"),
    "zero_one_loss": ("best", "probable"),
    "example_f1": ("best", "label_f1"),
    "jaccard": ("best", "label_f1"),
    "micro_f1": ("best", "label_f1"),
    "macro_f1": ("best", "label_f1"),
    "lca_f1": ("hierarchical_f1", "hierarchical_f1"),
}
WORDS = (*_RULES, *SERVED)
_OF_TREES: dict[str, Any] = {"tree_loss": TreeLoss, "hierarchical_f1": HierarchicalF1}
# what counts besides being right, and how many times as much being right counts
_WITH_ACCURACY = {
    "accuracy_and_tree_loss": ("tree_loss", 1.0),
    "accuracy_and_f1": ("hierarchical_f1", 1.0),
    "mostly_accuracy_and_tree_loss": ("tree_loss", 3.0),
    "mostly_accuracy_and_f1": ("hierarchical_f1", 3.0),
}


def check_decision(decision: Any) -> Any:
    """The decision, if it is a known word, a table of costs or a function of two names.

    >>> check_decision("cheapest")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: decision='cheapest' is not known; choose 'best', 'tree_loss', 'hierarchical_f1', \
'label_f1', 'probable', 'accuracy_and_tree_loss', 'accuracy_and_f1', 'mostly_accuracy_and_tree_loss', \
'mostly_accuracy_and_f1', a metric that counts ('accuracy', \
'zero_one_loss', 'example_f1', 'jaccard', 'micro_f1', 'macro_f1', 'lca_f1'), \
a table of costs, or a function of the true and the answered name
    """
    if isinstance(decision, str) and decision not in WORDS:
        raise DataError(
            f"decision={show(decision)} is not known; choose {', '.join(map(repr, _RULES))}, a metric that counts "
            f"({', '.join(map(repr, SERVED))}), a table of costs, or a function of the true and the answered name"
        )
    return decision


def rule_of(decision: Any, *, several: bool) -> Any:
    """The rule by which a metric is served; rules, tables and functions as they are.

    >>> rule_of("accuracy", several=False), rule_of("accuracy", several=True), rule_of("macro_f1", several=True)
    ('best', 'probable', 'label_f1')
    """
    if isinstance(decision, str) and decision in SERVED:
        return SERVED[decision][several]
    return decision


def deciding(model: Any, decision: Any, inner: bool) -> tuple[Decoder, npt.NDArray[Any]]:
    """The decoder that decides so for a fitted model, and the names that its answers are numbers of.

    >>> from taxolearn import OneVsRestLogistic
    >>> model = OneVsRestLogistic().fit([[0.0], [1.0]], ["a", "b"])
    >>> deciding(model, [[0.0, 1.0], [9.0, 0.0]], False)[0].name
    'least_cost'
    """
    if model.decoder_.several:
        return _of_sets(model, decision, inner), model.classes_
    if isinstance(decision, str) and decision in _OF_SETS:
        raise DataError(f"decision={decision!r} is for several labels per row; with one use 'best'")
    taxonomy, link = model.taxonomy_, model._link()
    names, answers = model.classes_, None
    if inner:
        if taxonomy is None:
            raise TaxonomyError(
                "inner=True answers nodes of a taxonomy, and this model has none; leave it out"
            )
        names, answers = names_array(taxonomy.nodes, model.classes_), np.arange(taxonomy.n_nodes)
    cost = _cost(model, decision, names, answers)
    return LeastCost(model.decoder_, link, cost, len(names)), names


def _cost(model: Any, decision: Any, names: npt.NDArray[Any], answers: Any) -> ExpectedCost:
    """Expected costs of the classes, or of all nodes (`answers`)."""
    taxonomy, n_classes = model.taxonomy_, len(model.classes_)
    if callable(decision):
        return cost_by_table(_table(decision, model.classes_, names), n_classes, len(names))
    if not isinstance(decision, str):
        return cost_by_table(decision, n_classes, len(names))
    if decision == "best" or taxonomy is None:
        if answers is None:
            return lambda p: 1.0 - p  # every other class is equally far
        nodes = np.asarray(taxonomy.ids_of(model.classes_.tolist()))
        return _most_probable(nodes, len(answers))
    if decision in _WITH_ACCURACY:
        near, times = _WITH_ACCURACY[decision]
        wrong, far = (_cost(model, one, names, answers) for one in ("best", near))
        most = times * (max(1, taxonomy.max_depth) if near == "tree_loss" else 1)
        return lambda p: wrong(p) + far(p) / most  # but for the times both are 1 at most
    nodes = np.asarray(taxonomy.ids_of(model.classes_.tolist()))
    asked = nodes if answers is None else answers
    key = f"{decision} of {'classes' if answers is None else 'nodes'}"
    found: ExpectedCost = _kept(model, key, lambda: _OF_TREES[decision](taxonomy, nodes, asked))
    return found


def _kept(model: Any, key: str, make: Callable[[], Any]) -> Any:
    """What is made of taxonomy and classes once, and thrown away with them."""
    mark = (model.taxonomy_, model.classes_)
    last = vars(model).get("_made_for_decisions")
    if last is None or any(one is not other for one, other in zip(last[0], mark, strict=True)):
        last = (mark, {})
        vars(model)["_made_for_decisions"] = last
    if key not in last[1]:
        last[1][key] = make()
    return last[1][key]


def _marginals(model: Any, *, labels_alone: bool = False) -> NodeMarginals:
    """Probabilities of nodes; of labels alone each is a child of the root."""

    def make() -> NodeMarginals:
        taxonomy = None if labels_alone else model.taxonomy_
        return NodeMarginals.of(taxonomy, model.classes_.tolist(), model._closed_labels)

    found: NodeMarginals = _kept(model, f"marginals of {'labels' if labels_alone else 'nodes'}", make)
    return found


def _most_probable(nodes: npt.NDArray[Any], n_nodes: int) -> ExpectedCost:
    """One for every answer but the true class."""

    def cost(p: Floats) -> Floats:
        found = np.ones((n_nodes, p.shape[1]))
        found[nodes] -= p
        return found

    return cost


def _table(cost: Callable[[Any, Any], float], classes: npt.NDArray[Any], names: npt.NDArray[Any]) -> Floats:
    true, answered = classes.tolist(), names.tolist()
    try:
        return np.array([[float(cost(one, other)) for other in answered] for one in true])
    except (TypeError, ValueError) as error:
        raise DataError(f"decision: the function of the true and the answered name failed: {error}") from None


def _of_sets(model: Any, decision: Any, inner: bool) -> Decoder:
    if inner:
        raise DataError("inner=True is for one label per row; with several the answers have their ancestors")
    if isinstance(decision, str) and decision == "best":
        found: Decoder = model.decoder_
        return found
    if not isinstance(decision, str) or decision not in ("hierarchical_f1", *_OF_SETS):
        raise DataError(
            "with several labels per row choose decision='hierarchical_f1' (the label set of the largest expected "
            "F1, ancestors counted), 'label_f1' (labels alone counted), 'probable' (all labels more probable than not) "
            "or 'best'"
        )
    alone = decision == "label_f1" and not model._closed_labels
    return ProbableLabels(
        model.decoder_, model._link(), _marginals(model, labels_alone=alone), by_f1=decision != "probable"
    )


class _ClassColumns:
    """Every class is a node."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __call__(self, p: Floats) -> Floats:
        return p


class _NodeColumns:
    """Sums over the classes at or below each node."""

    def __init__(self, model: Any) -> None:
        self._sums = NodeSums(model.taxonomy_, model.taxonomy_.ids_of(model.classes_.tolist()))
        self.width = 2 * model.taxonomy_.n_nodes

    def __call__(self, p: Floats) -> Floats:
        return self._sums(np.ascontiguousarray(p.T)).T


def node_columns(model: Any, nodes: Any) -> tuple[npt.NDArray[np.intp], Any]:
    """Which columns are asked for, and the function that makes all columns of the probabilities of classes.

    >>> from taxolearn import OneVsRestLogistic
    >>> model = OneVsRestLogistic().fit([[0.0], [1.0]], ["a", "b"])
    >>> node_columns(model, ["b"])[0]
    array([1])
    """
    taxonomy = model.taxonomy_
    if taxonomy is None:
        place = {name: number for number, name in enumerate(model.classes_.tolist())}
        asked = list(place) if nodes is None else _names(nodes)
        unknown = [name for name in asked if name not in place]
        if unknown:
            raise DataError(f"{show(unknown[0])} is not a class of this model; classes_ lists them")
        return np.array([place[name] for name in asked], dtype=np.intp), _ClassColumns(len(place))
    columns = np.arange(taxonomy.n_nodes, dtype=np.intp)
    if nodes is not None:
        called = [node_called(name, taxonomy) for name in _names(nodes)]
        columns = np.asarray(taxonomy.ids_of(called), dtype=np.intp)
    if model.decoder_.several:
        return columns, MarginalColumns(_marginals(model), taxonomy)
    return columns, _kept(model, "sums", lambda: _NodeColumns(model))


def _names(nodes: Any) -> list[Any]:
    if isinstance(nodes, str | bytes) or not hasattr(nodes, "__iter__"):
        raise DataError(f"nodes={show(nodes)} is not a list of names; give [{show(nodes)}]")
    return nodes.tolist() if isinstance(nodes, np.ndarray) else list(nodes)
