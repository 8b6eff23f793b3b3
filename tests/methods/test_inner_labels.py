"""Labels at inner nodes: a leaf of their own below the node, exactly; and answers at leaves only for who wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from taxolearn import (
    HierarchicalSVM,
    NormalizedHierarchicalSVM,
    OneVsRestSVM,
    SharedSVM,
    Taxonomy,
    TopDownSVM,
    TreeLossSVM,
    load,
)
from taxolearn.errors import DataError

TREE = Taxonomy.from_paths(["r/a/x", "r/a/y", "r/b/z", "r/b/w"])
# the same with the pseudo-leaves written down
WRITTEN = Taxonomy.from_paths(["r/a/x", "r/a/y", "r/a/a itself", "r/b/z", "r/b/w"])
DAG = Taxonomy.from_edges(
    [("r", "a"), ("r", "b"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "z"), ("y", "v"), ("y", "w")]
)


def _rows(names: list[str], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    y = np.array([name for name in names for _ in range(12)])
    centres = {name: rng.normal(size=6) for name in dict.fromkeys(names)}
    return np.array([centres[name] + 0.8 * rng.normal(size=6) for name in y]), y


@pytest.mark.parametrize("objective", [10, 13])
@pytest.mark.parametrize("weights", ["maxmin", "rho", "uniform"])
def test_an_inner_label_is_a_leaf_of_its_own(weights: str, objective: int) -> None:
    X, y = _rows(["x", "y", "a", "z", "w"])
    options = {"weights": weights, "objective": objective, "tol": 1e-6}
    model = NormalizedHierarchicalSVM(TREE, **options).fit(X, y)
    told = NormalizedHierarchicalSVM(WRITTEN, **options).fit(X, np.where(y == "a", "a itself", y))
    assert model.certificate_.holds(1e-6)
    assert model.certificate_.primal == pytest.approx(told.certificate_.primal, rel=2e-6)
    assert model.predict(X).tolist() == [name.removesuffix(" itself") for name in told.predict(X)]
    assert model.node_weights_.shape == (TREE.n_nodes,)


# HSVM's leaves are as deep as the lowest leaf below the node, here one and two
DEEP = Taxonomy.from_paths(["r/a/x", "r/a/y/v", "r/a/y/w", "r/b/z", "r/b/u"])
DEEP_WRITTEN = Taxonomy.from_edges(
    [*DEEP.edges, ("a", "a1"), ("a1", "a itself"), ("y", "y itself"), ("b", "b itself")]
)
DAG_WRITTEN = Taxonomy.from_edges([*DAG.edges, ("b", "b1"), ("b1", "b itself"), ("y", "y itself")])


@pytest.mark.parametrize(
    "method",
    [
        HierarchicalSVM(),
        HierarchicalSVM(cost="sqrt_hamming"),
        HierarchicalSVM(cost="tree", rescaling="slack"),
        TreeLossSVM(),
        SharedSVM(),
        SharedSVM(cost="hamming"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
def test_a_leaf_of_its_own_is_the_taxonomy_with_it_written_down(method: Any, dag: bool) -> None:
    taxonomy, written = (DAG, DAG_WRITTEN) if dag else (DEEP, DEEP_WRITTEN)
    inner = ["y", "b"] if dag else ["a", "y", "b"]
    X, y = _rows([*inner, *taxonomy.leaves])
    model = clone(method).set_params(taxonomy=taxonomy, tol=1e-4).fit(X, y)
    own = [f"{name} itself" if name in inner else name for name in y]
    told = clone(method).set_params(taxonomy=written, tol=1e-4).fit(X, own)
    assert model.certificate_.holds(1e-4)
    assert told.certificate_.dual <= model.certificate_.primal * (1 + 1e-9)
    assert model.certificate_.dual <= told.certificate_.primal * (1 + 1e-9)
    assert model.node_weights_.shape == (taxonomy.n_nodes,)
    assert np.mean(model.predict(X) == y) > 0.6


def test_given_scales_of_the_shared_svm() -> None:
    X, y = _rows(["x", "y", "a", "z", "w"])
    model = SharedSVM(TREE, tol=1e-4).fit(X, y)
    given = SharedSVM(TREE, tol=1e-4, first_weights=np.array([0.2, 0.2, 0.6, 0.6, 0.2, 0.6, 0.6])).fit(X, y)
    assert given.certificate_.primal == pytest.approx(model.certificate_.primal, rel=2e-4)


@pytest.mark.parametrize("method", [HierarchicalSVM, TreeLossSVM, SharedSVM])
def test_saved_with_leaves_of_their_own(method: Any, tmp_path: Path) -> None:
    X, y = _rows(["x", "y", "a", "z", "w"])
    model = method(TREE).fit(X, y)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.explain(X[0]).label == model.predict(X[:1])[0]
    assert method(TREE, inner_labels="shared").fit(X, y).certificate_.holds(1e-3)


def test_sums_along_all_paths_are_one() -> None:
    X, y = _rows(["x", "y", "a", "z", "w"])
    objective = NormalizedHierarchicalSVM(TREE)._objective(_problem(X, y))
    assert objective.tie.paths @ objective.tie.scale == pytest.approx(np.ones(5))


def _problem(X: np.ndarray, y: np.ndarray, taxonomy: Taxonomy = TREE):  # type: ignore[type-arg, no-untyped-def]
    from taxolearn.problem import make_problem

    return make_problem(X, y, taxonomy, empty_classes="keep")


def test_on_a_dag_and_with_given_scales() -> None:
    X, y = _rows(["x", "y", "v", "w", "z", "b"])
    model = NormalizedHierarchicalSVM(DAG).fit(X, y)
    assert model.certificate_.holds(1e-3)
    given = NormalizedHierarchicalSVM(DAG, weights=model.node_weights_).fit(X, y)
    assert given.certificate_.holds(1e-3)
    assert np.mean(given.predict(X) == y) > 0.7


@pytest.mark.parametrize("method", [NormalizedHierarchicalSVM, OneVsRestSVM, TopDownSVM])
def test_leaf_only(method: type) -> None:
    X, y = _rows(["x", "y", "a", "z", "w"])
    model = method(TREE, leaf_only=True).fit(X, y)
    leaves = y != "a"
    assert set(model.classes_) == {"x", "y", "z", "w"}
    without = method(TREE).fit(X[leaves], y[leaves])
    assert model.certificate_.primal == pytest.approx(without.certificate_.primal, rel=1e-3)
    assert set(model.predict(X)) <= set(TREE.leaves)
    assert 0.5 < model.score(X, y) < 1.0


def test_leaf_only_is_for_one_label() -> None:
    with pytest.raises(
        DataError, match="leaf_only=True is for one label per row; with several use must='all'"
    ):
        NormalizedHierarchicalSVM(TREE, leaf_only=True).fit(np.eye(2), [["x", "z"], ["a"]])
