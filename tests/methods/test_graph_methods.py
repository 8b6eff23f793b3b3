"""The graph estimators: certified, equal to the tree's answer on a tree, stored and loaded, clear about bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import taxolearn
from taxolearn import (
    ClassGraph,
    GraphRecursiveLogistic,
    GraphRecursiveSVM,
    OneVsRestSVM,
    RecursiveSVM,
    Taxonomy,
)
from taxolearn.errors import DataError, TaxonomyError

LEAVES = ["a1", "a2", "b1", "b2"]


def rows(seed: int = 0, n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.array(LEAVES)[rng.integers(4, size=n)]
    centres = {name: rng.normal(size=5) for name in LEAVES}
    return np.array([centres[name] for name in y]) + 0.5 * rng.normal(size=(n, 5)), y


def test_a_tree_given_as_a_graph_gives_the_answer_of_the_tree() -> None:
    X, y = rows()
    tree = Taxonomy.from_paths(["all/a/a1", "all/a/a2", "all/b/b1", "all/b/b2"])
    graph = ClassGraph.from_taxonomy(tree)
    on_tree = RecursiveSVM(tree, tol=1e-9, max_iter=5000).fit(X, y)
    on_graph = GraphRecursiveSVM(graph, ridge=0.0, pinned=["all"], tol=1e-9, max_iter=5000).fit(X, y)
    order = [on_graph.classes_.tolist().index(name) for name in on_tree.classes_]
    assert on_graph.certificate_.primal == pytest.approx(on_tree.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(on_graph.coef_[order], on_tree.coef_, atol=1e-4)


def test_without_edges_a_ridge_of_one_is_one_vs_rest() -> None:
    X, y = rows(1)
    flat = OneVsRestSVM(tol=1e-9).fit(X, y)
    graph = GraphRecursiveSVM(None, ridge=1.0, tol=1e-9, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(graph.coef_, flat.coef_, atol=1e-4)
    assert graph.certificate_.primal == pytest.approx(flat.certificate_.primal, rel=1e-7)


@pytest.mark.parametrize(
    "model",
    [GraphRecursiveSVM(loss="hinge"), GraphRecursiveSVM(), GraphRecursiveLogistic()],
    ids=["hinge", "squared", "logistic"],
)
def test_certified_and_stored(model: Any, tmp_path: Path) -> None:
    X, y = rows(2)
    graph = ClassGraph.from_edges([("a1", "a2", 2.0), ("b1", "b2"), ("b2", "latent")])
    model.set_params(graph=graph, tol=1e-3, warm_start=True).fit(X, y)
    assert model.certificate_.holds(1e-3)
    assert model.score(X, y) > 0.7
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ <= cold
    model.save(tmp_path / "model")
    again = taxolearn.load(tmp_path / "model")
    assert again.graph == graph
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_several_labels_a_row() -> None:
    X, y = rows(3)
    sets = [[name, "b2"] if name == "a1" else [name] for name in y]
    model = GraphRecursiveSVM(ClassGraph.from_edges([("a1", "b2")], nodes=LEAVES), tol=1e-2).fit(X, sets)
    assert model.certificate_.holds(1e-2)
    assert isinstance(model.predict(X[:2])[0], list)


@pytest.mark.parametrize(
    ("parameters", "kind", "text"),
    [
        ({"graph": "a-b"}, DataError, "graph must be a taxolearn.ClassGraph"),
        ({"graph": ClassGraph.from_edges([("a1", "a2")])}, TaxonomyError, "'b1' is not a node of the graph"),
        ({"ridge": 0.0}, TaxonomyError, "give ridge > 0 or pin one"),
        ({"ridge": -1.0}, DataError, "ridge"),
        ({"ridge": "one"}, DataError, "ridge='one' is not allowed"),
        ({"pinned": "a1"}, DataError, "give a list of names"),
        ({"loss": "softmax"}, DataError, "loss='softmax' is not known"),
    ],
)
def test_bad_parameters_get_one_sentence(
    parameters: dict[str, Any], kind: type[Exception], text: str
) -> None:
    X, y = rows()
    with pytest.raises(kind, match=text.replace("(", r"\(")) as caught:
        GraphRecursiveSVM(**parameters).fit(X, y)
    assert "\n" not in str(caught.value)
