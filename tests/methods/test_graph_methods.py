"""The graph estimators: certified, equal to the tree's answer on a tree, stored and loaded, clear about bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import taxolearn
from taxolearn import (
    ClassGraph,
    GraphRecursiveLogistic,
    GraphRecursiveSVM,
    OneVsRestSVM,
    RecursiveLogistic,
    RecursiveSVM,
    Taxonomy,
)
from taxolearn.errors import DataError, LabelError, TaxonomyError
from taxolearn.ties import graph

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


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_and_so_does_the_logistic_loss(loss: str) -> None:
    X, y = rows()
    tree = Taxonomy.from_paths(["all/a/a1", "all/a/a2", "all/b/b1", "all/b/b2"])
    shared: dict[str, Any] = {"loss": loss, "C": 3.0, "tol": 1e-11, "max_iter": 5000}
    on_tree = RecursiveLogistic(tree, **shared).fit(X, y)
    graph = ClassGraph.from_taxonomy(tree)
    on_graph = GraphRecursiveLogistic(graph, ridge=0.0, pinned=["all"], **shared).fit(X, y)
    order = [on_graph.classes_.tolist().index(name) for name in on_tree.classes_]
    assert on_graph.certificate_.primal == pytest.approx(on_tree.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(on_graph.coef_[order], on_tree.coef_, atol=1e-4)
    np.testing.assert_allclose(on_graph.predict_proba(X)[:, order], on_tree.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("pinned", [None, ["latent"], ["a1"]], ids=str)
def test_softmax_over_a_graph_is_the_cone_programme(pinned: Any) -> None:
    import cvxpy as cp

    X, y = rows(4, n=20)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], size=20)
    edges = [("a1", "a2", 2.0), ("a2", "latent", 1.0), ("b1", "latent", 0.5), ("b1", "b2", 1.5)]
    model = GraphRecursiveLogistic(
        ClassGraph.from_edges(edges), C=2.0, loss="softmax", ridge=0.3, pinned=pinned, tol=1e-9, max_iter=500
    ).fit(X, y, sample_weight=weight)
    names = [*LEAVES, "latent"]
    W, b = cp.Variable((5, 5)), cp.Variable(4)
    at = {name: W[k] for k, name in enumerate(names)}
    penalty = sum(e * cp.sum_squares(at[i] - at[j]) for i, j, e in edges) + 0.3 * cp.sum_squares(W)
    scores = X @ W[:4].T + np.ones((20, 1)) @ cp.reshape(b, (1, 4), order="C")
    own = np.eye(4)[[LEAVES.index(name) for name in y]]
    losses = cp.log_sum_exp(scores, axis=1) - cp.sum(cp.multiply(own, scores), axis=1)
    objective = 0.5 * penalty + 0.5 * cp.sum_squares(b) + 2.0 * weight @ losses
    programme = cp.Problem(cp.Minimize(objective), [at[name] == 0 for name in pinned or []])
    programme.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert programme.status == cp.OPTIMAL
    certificate = model.certificate_
    assert certificate.holds(1.01e-9)
    assert certificate.primal == pytest.approx(programme.value, rel=1e-6)
    assert certificate.dual <= programme.value * (1 + 1e-7)
    order = [model.classes_.tolist().index(name) for name in LEAVES]
    np.testing.assert_allclose(model.coef_[order], W.value[:4], atol=1e-4)


def test_softmax_has_one_label_a_row() -> None:
    X, y = rows(3)
    sets = [[name, "b2"] if name == "a1" else [name] for name in y]
    with pytest.raises(LabelError, match="takes one label per row"):
        GraphRecursiveLogistic(ClassGraph.from_edges([], nodes=LEAVES), loss="softmax").fit(X, sets)


def test_too_many_classes_for_a_dense_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "_DENSE_CLASSES", 3)
    with pytest.raises(DataError, match="a graph of 4 classes is too large for this loss"):
        GraphRecursiveLogistic(ClassGraph.from_edges([], nodes=LEAVES), loss="softmax").fit(*rows())


def test_without_edges_a_ridge_of_one_is_one_vs_rest() -> None:
    X, y = rows(1)
    flat = OneVsRestSVM(tol=1e-9).fit(X, y)
    graph = GraphRecursiveSVM(None, ridge=1.0, tol=1e-9, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(graph.coef_, flat.coef_, atol=1e-4)
    assert graph.certificate_.primal == pytest.approx(flat.certificate_.primal, rel=1e-7)


@pytest.mark.parametrize(
    "model",
    [
        GraphRecursiveSVM(loss="hinge"),
        GraphRecursiveSVM(),
        GraphRecursiveLogistic(),
        GraphRecursiveLogistic(loss="softmax"),
    ],
    ids=["hinge", "squared", "logistic", "softmax"],
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


def test_a_warm_start_takes_over_only_what_fits() -> None:
    X, y = rows(2)
    graph = ClassGraph.from_edges([("a1", "a2", 2.0), ("b1", "b2")], nodes=LEAVES)
    larger = ClassGraph.from_edges([("a1", "a2", 2.0), ("b1", "b2"), ("b2", "latent")], nodes=LEAVES)
    options: dict[str, Any] = {"tol": 1e-3, "max_iter": 5000}
    model = GraphRecursiveLogistic(graph, warm_start=True, **options).fit(X, y)
    for change in ({"loss": "softmax"}, {"graph": larger}, {"loss": "logistic"}, {"graph": graph}):
        model.set_params(**change).fit(X, y)
        fresh = GraphRecursiveLogistic(model.graph, loss=model.loss, **options).fit(X, y)
        assert model.certificate_.holds(1e-3)
        assert model.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=2e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [GraphRecursiveSVM(), GraphRecursiveLogistic(), GraphRecursiveLogistic(loss="softmax")],
    ids=["squared", "logistic", "softmax"],
)
def test_fits_of_one_pass_each_come_to_the_optimum(model: Any) -> None:
    X, y = rows(2)
    graph = ClassGraph.from_taxonomy(Taxonomy.from_paths(["all/a/a1", "all/a/a2", "all/b/b1", "all/b/b2"]))
    model.set_params(graph=graph, ridge=0.5, C=10.0, tol=1e-5, random_state=0)
    whole = clone(model).fit(X, y)
    model.set_params(max_iter=1, warm_start=True)
    found = [model.fit(X, y).certificate_ for _ in range(3 * whole.n_iter_ + 5)]
    assert found[-1].holds(1e-5)
    assert found[-1].primal == pytest.approx(whole.certificate_.primal, rel=2e-5)
    assert np.all(np.diff([certificate.primal for certificate in found]) <= 0)
    assert np.all(np.diff([certificate.dual for certificate in found]) >= 0)


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
