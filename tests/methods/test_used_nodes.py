"""Nodes without classes change nothing: fits, certificates, answers and models are those of the small taxonomy."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import taxolearn
from taxolearn import MulticlassSVM, NormalizedHierarchicalSVM, RecursiveLogistic, Taxonomy
from taxolearn.decoders.expected_cost import HierarchicalF1, TreeLoss
from taxolearn.errors import EmptyClassWarning
from taxolearn.vectors.widening import widened, with_unused_nodes

EDGES = [
    ("all", "animal"),
    ("all", "plant"),
    ("animal", "cat"),
    ("animal", "dog"),
    ("cat", "lion"),
    ("cat", "lynx"),
]
EDGES += [("plant", "oak"), ("plant", "elm")]
CLASSES = ["lion", "lynx", "dog", "oak", "elm"]
UNUSED = [
    ("all", "stone"),
    *(("stone", f"stone {k}") for k in range(20)),
    *(("cat", f"cat {k}") for k in range(20)),
]


def rows(sparse: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.array(CLASSES * 8)
    X = rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.6)
    X[:, :5] += 1.5 * (y[:, None] == np.array(CLASSES))
    return (sp.csr_array(X) if sparse else X), y


def fitted(taxonomy: Taxonomy, method: str, X: Any, y: Any, **parameters: Any) -> Any:
    made = {
        "nhsvm": lambda: NormalizedHierarchicalSVM(
            taxonomy, empty_classes="drop", weights=np.ones(taxonomy.n_nodes), **parameters
        ),
        "softmax": lambda: RecursiveLogistic(taxonomy, loss="softmax", empty_classes="drop", **parameters),
        "flat": lambda: RecursiveLogistic(
            taxonomy, loss="softmax", weights="leaf", empty_classes="drop", **parameters
        ),
    }[method]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClassWarning)
        return made.set_params(tol=1e-6, random_state=0).fit(X, y)


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("method", ["nhsvm", "softmax", "flat"])
def test_a_fit_is_that_of_the_taxonomy_without_them(
    method: str, sparse: bool, dag: bool, tmp_path: Path
) -> None:
    edges = [*EDGES, ("plant", "lion")] if dag else EDGES
    X, y = rows(sparse)
    few = fitted(Taxonomy.from_edges(edges), method, X, y)
    many = fitted(Taxonomy.from_edges([*edges, *UNUSED]), method, X, y, probability=True)
    assert many.certificate_.primal == pytest.approx(few.certificate_.primal, rel=1e-6)
    assert many.certificate_.holds(1e-6)
    order = [many.classes_.tolist().index(name) for name in few.classes_]
    np.testing.assert_allclose(many.decision_function(X)[:, order], few.decision_function(X), atol=5e-3)
    assert many.vectors_.n_nodes == many.taxonomy_.n_nodes
    many.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    assert loaded.predict(X).tolist() == many.predict(X).tolist()
    for decision in ("tree_loss", "hierarchical_f1"):
        told = many.predict(X, decision=decision, inner=True).tolist()
        assert loaded.predict(X, decision=decision, inner=True).tolist() == told
    assert [many.explain(X[[row]]).label for row in range(3)] == many.predict(X[:3]).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("method", "solver"),
    [
        ("nhsvm", "dual"),
        ("nhsvm", "interior"),
        ("nhsvm", "pegasos"),
        ("nhsvm", "averaging"),
        ("softmax", "lbfgs"),
    ],
)
def test_by_each_solver(method: str, solver: str) -> None:
    X, y = rows(sparse=False)
    few = fitted(Taxonomy.from_edges(EDGES), method, X, y, solver=solver)
    many = fitted(Taxonomy.from_edges([*EDGES, *UNUSED]), method, X, y, solver=solver)
    assert many.certificate_.holds(1e-4) or solver in (
        "pegasos",
        "averaging",
    )  # slow ones: certified all the same
    assert many.certificate_.primal == pytest.approx(few.certificate_.primal, rel=1e-3)
    assert set(many.predict_path(X)) == set(few.predict_path(X))


def test_few_unused_nodes_are_left_in() -> None:
    X, y = rows(sparse=False)
    tree = Taxonomy.from_edges([*EDGES, ("plant", "ash")])
    model = fitted(tree, "softmax", X, y)
    assert model.vectors_.n_nodes == tree.n_nodes
    assert MulticlassSVM(tol=1e-3).fit(X, y).certificate_.holds(1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_costs_are_those_of_the_definition_where_nodes_have_no_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"n{k}" for k in range(30)]
    tree = Taxonomy.from_edges([(names[rng.integers(k)], names[k]) for k in range(1, 30)])
    classes = rng.permutation(30)[:6]
    answers = np.arange(30) if seed % 2 else classes
    p = rng.dirichlet(np.ones(6), size=3).T
    distance = np.array([tree.distance(np.full(6, answer), classes) for answer in answers])
    np.testing.assert_allclose(TreeLoss(tree, classes, answers)(p), 0.5 * distance @ p, atol=1e-12)
    above = [set(tree.ancestor_matrix([n], include_root=False).indices.tolist()) for n in range(30)]

    def f1(one: int, other: int) -> float:
        sizes = len(above[one]) + len(above[other])
        return 2 * len(above[one] & above[other]) / sizes if sizes else 1.0

    costs = 1.0 - np.array([[f1(int(answer), int(c)) for c in classes] for answer in answers]) @ p
    np.testing.assert_allclose(HierarchicalF1(tree, classes, answers)(p), costs, atol=1e-12)


@pytest.mark.parametrize("large", [False, True], ids=["dense", "sparse"])
def test_node_vectors_are_spread_over_columns_and_nodes(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from taxolearn.vectors import NodeVectors, widening

    if large:
        monkeypatch.setattr(widening, "_DENSE_BYTES", 0)
    rng = np.random.default_rng(1)
    nodes = rng.normal(size=(150, 3)) * (rng.random((150, 3)) < 0.5)
    vectors = NodeVectors(nodes, sp.csr_array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]), np.zeros(2))
    paths = sp.csr_array([[1.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0]])
    columns = np.sort(rng.permutation(400)[:150])
    found: Any = widened(with_unused_nodes(vectors, np.array([0, 2, 4]), paths), columns, 400)
    assert found.is_sparse == large
    wide = np.zeros((2, 400))
    wide[:, columns] = vectors.coef
    coef = found.coef.toarray() if large else found.coef
    np.testing.assert_array_equal(coef, wide)
    dense = found.nodes.toarray().T if large else found.nodes
    expected = np.zeros((400, 5))
    expected[np.ix_(columns, [0, 2, 4])] = nodes
    np.testing.assert_array_equal(dense, expected)
