"""Kernels by landmarks: what is learned is the linear method on their features, and all that fits do goes on."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC
from test_contract import LEAVES, TREE, made, one_label, rows, several_labels

import taxolearn
from taxolearn import (
    MulticlassSVM,
    NormalizedHierarchicalSVM,
    OneVsRestSVM,
    RecursiveLogistic,
    RecursiveSVM,
    Taxonomy,
    TaxonomyClassifier,
    TaxonomyRidge,
    TextClassifier,
    TopDownSVM,
    TransferSVM,
)
from taxolearn.errors import DataError, ModelError
from taxolearn.gram import RowKernel, landmarks_of
from taxolearn.registry import METHODS, Method
from taxolearn.text import TextFeatures

Y = one_label(LEAVES)
X = rows(Y)
NEW = rows(Y, seed=5)
RBF = {"kernel": "rbf", "kernel_params": {"gamma": 0.1}}
EVERY_METHOD = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)


@EVERY_METHOD
def test_it_is_the_linear_method_on_features_by_landmarks(method: Method) -> None:
    given = {"tol": 1e-6, "random_state": 3, "max_iter": 20_000}
    model = made(method, TREE, LEAVES, landmarks=15, **RBF, **given).fit(X, Y)
    assert len(model.vectors_.support) == 15
    marks = landmarks_of(RowKernel("rbf", (("gamma", 0.1),)), X, model.vectors_.support)
    linear = made(method, TREE, LEAVES, **given).fit(marks.features(X), Y)
    assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-9)
    np.testing.assert_allclose(
        model.decision_function(NEW), linear.decision_function(marks.features(NEW)), atol=1e-6
    )


@pytest.mark.parametrize(
    "kind", [MulticlassSVM, NormalizedHierarchicalSVM, TopDownSVM, TransferSVM, TaxonomyRidge]
)
def test_all_rows_as_landmarks_learn_what_all_products_do(kind: Any) -> None:
    given = {"tol": 1e-8, "C": 3.0, "max_iter": 50_000}
    whole = kind(TREE, **RBF, **given).fit(X, Y)
    marked = kind(TREE, **RBF, landmarks=10**6, **given).fit(X, Y)
    assert marked.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(marked.decision_function(NEW), whole.decision_function(NEW), atol=1e-3)


def test_liblinear_on_the_same_features() -> None:
    model = OneVsRestSVM(landmarks=12, C=2.0, tol=1e-8, fit_intercept=False, **RBF).fit(X, Y)
    marks = landmarks_of(RowKernel("rbf", (("gamma", 0.1),)), X, model.vectors_.support)
    peer = LinearSVC(C=2.0, fit_intercept=False, tol=1e-9, max_iter=10**6).fit(marks.features(X), Y)
    np.testing.assert_allclose(
        model.decision_function(NEW), peer.decision_function(marks.features(NEW)), atol=1e-5
    )


def test_landmarks_are_drawn_by_the_random_state() -> None:
    def drawn(**given: Any) -> list[int]:
        return RecursiveSVM(TREE, landmarks=10, **RBF, **given).fit(X, Y).vectors_.support.tolist()

    assert drawn() == drawn()
    assert drawn(random_state=1) == drawn(random_state=1) != drawn(random_state=2)
    # a longer list goes on where a shorter one ends
    more = RecursiveSVM(TREE, landmarks=20, **RBF).fit(X, Y).vectors_.support.tolist()
    assert set(drawn()) < set(more)


def test_three_ways_to_say_a_kernel_and_sparse_rows() -> None:
    def by_rows(A: Any, B: Any) -> Any:
        return rbf_kernel(A, B, gamma=0.1)

    given = {"landmarks": 15, "tol": 1e-8}
    named = RecursiveSVM(TREE, **RBF, **given).fit(X, Y)
    K, K_NEW = rbf_kernel(X, gamma=0.1), rbf_kernel(NEW, X, gamma=0.1)
    for model, new in (
        (RecursiveSVM(TREE, kernel=by_rows, **given).fit(X, Y), NEW),
        (RecursiveSVM(TREE, kernel="precomputed", **given).fit(K, Y), K_NEW),
        (RecursiveSVM(TREE, **RBF, **given).fit(sp.csr_array(X), Y), sp.csr_array(NEW)),
    ):
        np.testing.assert_allclose(model.decision_function(new), named.decision_function(NEW), atol=1e-4)


@pytest.mark.parametrize("kind", [RecursiveSVM, NormalizedHierarchicalSVM, TaxonomyRidge, RecursiveLogistic])
def test_several_labels_and_explanations(kind: Any) -> None:
    y = several_labels(LEAVES)
    model = kind(TREE, landmarks=15, **RBF).fit(X, y)
    assert model.certificate_.holds(model.tol)
    assert model.score(X, y) > 0.2
    found = model.explain(X[0])
    names = [name for node in found.nodes for name, _ in node.contributions if name != "(intercept)"]
    assert names
    for name in names:  # a landmark, and one of its labels
        number = int(name.split()[1])
        assert name in [f"row {number} ({label})" for label in y[number]]
        assert number in model.vectors_.support


def fresh_passes(landmarks: int) -> int:
    found: int = MulticlassSVM(landmarks=landmarks, tol=1e-7, C=5.0, **RBF).fit(X, Y).n_iter_
    return found


def test_warm_starts_go_on_from_the_same_landmarks_alone() -> None:
    model = MulticlassSVM(landmarks=15, tol=1e-7, warm_start=True, C=5.0, **RBF).fit(X, Y)
    first = model.certificate_.primal
    assert model.fit(X, Y).n_iter_ <= 1 < fresh_passes(15)
    other = model.set_params(landmarks=20).fit(X, Y).certificate_.primal
    fresh = MulticlassSVM(landmarks=20, tol=1e-7, C=5.0, **RBF).fit(X, Y).certificate_.primal
    assert other == pytest.approx(fresh, rel=1e-6)
    assert other != pytest.approx(first, rel=1e-4)
    path = list(RecursiveSVM(TREE, landmarks=15, **RBF).fit_path(X, Y, [10.0, 0.1]))
    assert path[-1].C == 10.0
    assert path[-1].certificate_.holds(path[-1].tol)


def test_checkpoints_belong_to_their_landmarks(tmp_path: Path) -> None:
    given = {"C": 20.0, "tol": 1e-9, "checkpoint": tmp_path / "c", **RBF}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        MulticlassSVM(landmarks=15, max_iter=30, checkpoint_seconds=1e-9, **given).fit(X, Y)
    whole = MulticlassSVM(landmarks=15, **{**given, "checkpoint": None}).fit(X, Y)
    rest = MulticlassSVM(landmarks=15, **given).fit(X, Y)
    assert rest.n_iter_ < whole.n_iter_
    with pytest.raises(DataError, match="belongs to other rows, labels or parameters"):
        MulticlassSVM(landmarks=16, **given).fit(X, Y)
    with pytest.raises(DataError, match="checkpoint needs a kernel by name"):
        OneVsRestSVM(landmarks=9, kernel=rbf_kernel, checkpoint=tmp_path / "d").fit(X, Y)


@EVERY_METHOD
def test_saved_models_are_the_same(method: Method, tmp_path: Path) -> None:
    model = made(method, TREE, LEAVES, landmarks=15, **RBF).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
    assert loaded.get_params()["landmarks"] == 15
    assert loaded.explain(NEW[0]).to_text() == model.explain(NEW[0]).to_text()


def test_new_classes_and_new_taxonomies() -> None:
    larger = Taxonomy.from_edges([*TREE.edges, ("cat", "tiger")])
    extra = rows(["lion"] * 4, seed=9) + 4.0
    model = RecursiveSVM(TREE, landmarks=30, warm_start=True, **RBF).fit(X, Y)
    model.add_classes(larger, extra, ["tiger"] * 4)
    fresh = RecursiveSVM(larger, landmarks=30, **RBF).fit(np.vstack([X, extra]), [*Y, *["tiger"] * 4])
    assert model.certificate_.lower <= fresh.certificate_.upper
    assert fresh.certificate_.lower <= model.certificate_.upper
    assert model.predict(extra).tolist() == ["tiger"] * 4
    moved = Taxonomy.from_edges(
        [("tree", "moss") if child == "moss" else (parent, child) for parent, child in TREE.edges]
    )
    for kind in (RecursiveSVM, OneVsRestSVM, NormalizedHierarchicalSVM, TaxonomyRidge):
        old = kind(TREE, landmarks=15, **RBF).fit(X, Y)
        found = old.migrate(X, Y, moved).model
        anew = kind(moved, landmarks=15, **RBF).fit(X, Y)
        assert found.certificate_.lower <= anew.certificate_.upper
        assert anew.certificate_.lower <= found.certificate_.upper
        assert found.score(X, Y) > 0.8


def test_held_back_rows_calibrate() -> None:
    y = one_label(LEAVES, 20)
    model = OneVsRestSVM(TREE, landmarks=15, coverage_holdout=0.3, random_state=0, **RBF).fit(rows(y), y)
    assert set(model.predict(NEW, coverage=0.9)) <= set(TREE.nodes)
    assert model.vectors_.support.max() < 0.7 * len(y)


def test_texts_by_a_kernel() -> None:
    texts = ["left femur", "right femur bone", "burn of skin", "skin graft"] * 3
    model = TextClassifier(OneVsRestSVM(kernel="cosine", landmarks=4), TextFeatures())
    model.fit(texts, ["bone", "bone", "skin", "skin"] * 3)
    assert model.predict(["femur", "skin"]).tolist() == ["bone", "skin"]
    assert model.explain("femur").contributions[0][0].startswith("row ")


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (OneVsRestSVM, {"kernel": "rbf"}, "OneVsRestSVM learns weights of features, .* give landmarks=1000"),
        (OneVsRestSVM, {"landmarks": 10}, "landmarks are of a kernel, and kernel=None has none"),
        (MulticlassSVM, {"kernel": "rbf", "landmarks": 0}, "landmarks=0 is not allowed"),
        (MulticlassSVM, {"kernel": "rbf", "landmarks": 1.5}, "landmarks=1.5 is not allowed"),
        (
            RecursiveSVM,
            {"kernel": "sigmoid", "landmarks": 9},
            "kernel 'sigmoid' is not positive semi-definite",
        ),
        (
            RecursiveSVM,
            {"kernel": "chi2", "landmarks": 9},
            "kernel 'chi2' failed: X contains negative values",
        ),
    ],
)
def test_one_sentence_for_what_cannot_be(kind: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        kind(**given).fit(X, Y)


def test_a_file_holds_no_code(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="callable kernel rbf_kernel cannot be saved"):
        OneVsRestSVM(kernel=rbf_kernel, landmarks=9).fit(X, Y).save(tmp_path / "called")
    assert not (tmp_path / "called").exists()


def test_rings_that_no_line_parts_are_learned_from_few_landmarks() -> None:
    rng = np.random.default_rng(0)
    radius = np.repeat([1.0, 2.0, 3.0], 200) + 0.2 * rng.normal(size=600)
    angle = rng.random(600) * 2 * np.pi
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    ring = np.repeat(["in", "mid", "out"], 200)
    train = np.arange(600) % 2 == 0
    curved = OneVsRestSVM(kernel="rbf", landmarks=40, C=10.0).fit(points[train], ring[train])
    straight = OneVsRestSVM(C=10.0).fit(points[train], ring[train])
    assert curved.score(points[~train], ring[~train]) > 0.95
    assert straight.score(points[~train], ring[~train]) < 0.6
    model = TaxonomyClassifier(random_state=0).fit(points[train], ring[train])
    assert model.score(points[~train], ring[~train]) > 0.95
