"""One contract for every answer, over the registry of all methods."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from taxolearn import ClassGraph, Taxonomy
from taxolearn.methods.row_kernels import RowKernels
from taxolearn.registry import METHODS, Method
from taxolearn.testing import check_method

TREE = Taxonomy.from_paths(
    [
        "all/cat/lion",
        "all/cat/lynx",
        "all/dog/wolf",
        "all/dog/fox",
        "all/tree/oak",
        "all/tree/fir",
        "all/moss",
    ]
)
DAG = Taxonomy.from_edges([*TREE.edges, ("dog", "lynx"), ("tree", "moss")])
LEAVES = [TREE.name_of(node) for node in TREE.leaf_ids]
EVERY_METHOD = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
SEVERAL = pytest.mark.parametrize(
    "method", [method for method in METHODS if method.several], ids=lambda method: method.name
)
TREES_ONLY = {"TopDownSVM", "TransferSVM", "OrthogonalTransferSVM"}


def rows(labels: list[Any], seed: int = 0) -> Any:
    """Noisy rows around a centre per name, near to those of the same parent."""
    rng = np.random.default_rng(seed)
    centres = {name: rng.normal(size=8) for name in TREE.nodes}
    for name in TREE.nodes[1:]:
        centres[name] = centres[name] + 0.7 * centres[TREE.parents(name)[0]]
    points = [sum(centres[name] for name in (row if isinstance(row, list) else [row])) for row in labels]
    return np.round(np.array(points) + 0.5 * rng.normal(size=(len(labels), 8)), 3)


def made(method: Method, taxonomy: Taxonomy, classes: list[Any], **parameters: Any) -> Any:
    """The estimator of a method with what it needs: a taxonomy, a graph of classes, or their covariance."""
    if method.class_name.startswith("Graph"):
        edges = list(pairwise(classes))
        return method.kind(ClassGraph.from_edges(edges), taxonomy=taxonomy, **parameters)
    if method.class_name == "CovarianceSVM":
        ids = TREE.ids_of(classes)
        A = np.asarray((TREE.ancestor_matrix(ids) @ TREE.ancestor_matrix(ids).T).todense(), dtype=float)
        return method.kind(taxonomy, covariance=A, **parameters)
    return method.kind(taxonomy, **parameters)


def one_label(classes: list[Any], each: int = 6) -> list[Any]:
    return classes * each


def several_labels(classes: list[Any], each: int = 6) -> list[list[Any]]:
    rng = np.random.default_rng(1)
    found = []
    for name in classes * each:
        more = [other for other in classes if rng.random() < 0.15]
        found.append(sorted({name, *more}))
    return found


@pytest.mark.parametrize(
    ("taxonomy", "method"),
    [
        pytest.param(taxonomy, method, id=f"{shape}-{method.name}")
        for shape, taxonomy in (("tree", TREE), ("dag", DAG))
        for method in METHODS
        if taxonomy is TREE or method.class_name not in TREES_ONLY
    ],
)
def test_one_label(taxonomy: Taxonomy, method: Method) -> None:
    y = one_label(LEAVES)
    check_method(made(method, taxonomy, LEAVES), rows(y), y)


@EVERY_METHOD
def test_labels_at_inner_nodes_and_leaves_without_rows(method: Method) -> None:
    classes = [name for name in TREE.nodes if name in ("cat", "lion", "lynx", "fox", "tree", "oak")]
    y = one_label(classes)
    keeps = method.kind._empty_classes == "keep"
    learned = [name for name in TREE.nodes if name in classes or (keeps and name in LEAVES)]
    check_method(made(method, TREE, learned), rows(y), y)


@EVERY_METHOD
def test_without_a_taxonomy_and_with_two_classes(method: Method) -> None:
    y = ["oak", "fir"] * 10
    given = {"covariance": np.eye(2)} if method.class_name == "CovarianceSVM" else {}
    check_method(method.kind(**given), rows(y), y)


@EVERY_METHOD
@pytest.mark.parametrize("loss", range(2))
def test_every_loss_with_probabilities(method: Method, loss: int) -> None:
    if loss >= max(1, len(method.losses)):
        return
    y = one_label(LEAVES)
    parameters: dict[str, Any] = {"loss": method.losses[loss]} if method.losses else {}
    if "probability" in method.kind().get_params():
        parameters |= {"probability": True, "random_state": 0}
    model = made(method, TREE, LEAVES, **parameters)
    check_method(model, rows(y), y)
    p = model.fit(rows(y), y).predict_proba(rows(y, seed=5))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)


@SEVERAL
@pytest.mark.parametrize("thresholds", ["zero", "tuned"])
def test_several_labels(method: Method, thresholds: str) -> None:
    y = several_labels(LEAVES)
    of_sets = "thresholds" in method.kind().get_params()
    given = {"thresholds": thresholds, "serve": "macro"} if of_sets else {}
    if not given and thresholds == "tuned":
        return  # label sets have no thresholds
    given |= {"probability": True} if thresholds == "zero" else {}
    model = made(method, TREE, LEAVES, random_state=0, **given)
    check_method(model, rows(y), y)
    if thresholds == "tuned":
        assert model.fit(rows(y), y).thresholds_.any()


@EVERY_METHOD
def test_one_label_in_each_list(method: Method) -> None:
    """Lists of lists with one label each are answered in kind, whether the method takes several or not."""
    y = [[name] for name in one_label(LEAVES)]
    model = made(method, TREE, LEAVES)
    check_method(model, rows(y), y)
    assert all(isinstance(row, list) for row in model.fit(rows(y), y).predict(rows(y)))


@pytest.mark.parametrize(
    ("method", "landmarks"),
    [
        pytest.param(method, landmarks, id=f"{method.name}-{landmarks or 'all'}")
        for method in METHODS
        for landmarks in (None, 20)
        if landmarks or issubclass(method.kind, RowKernels)
    ],
)
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_kernels(method: Method, kernel: str, landmarks: int | None) -> None:
    y = one_label(LEAVES)
    X = rows(y)
    if kernel == "precomputed":
        X = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    given = {"kernel": kernel, "landmarks": landmarks}
    check_method(made(method, TREE, LEAVES, **given), X, y)
    if landmarks is None:
        classes = [name for name in TREE.nodes if name in ("cat", "lion", "lynx", "fox", "tree", "oak")]
        check_method(made(method, TREE, LEAVES, **given), X, one_label(classes, 7))
