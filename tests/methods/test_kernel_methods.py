"""Methods with a kernel: the linear one is no other method, three ways to say a kernel, and all that fits do."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from test_contract import DAG, LEAVES, TREE, one_label, rows

import taxolearn
from taxolearn import (
    HierarchicalSVM,
    MulticlassSVM,
    NormalizedHierarchicalSVM,
    OrthogonalTransferSVM,
    Taxonomy,
    TextClassifier,
    TopDownSVM,
    TransferSVM,
    TreeLossSVM,
)
from taxolearn.errors import DataError, LabelError, ModelError
from taxolearn.storage import read_manifest
from taxolearn.text import TextFeatures
from taxolearn.vectors import KernelVectors

TOP_DOWN = [TopDownSVM, TransferSVM, OrthogonalTransferSVM]
METHODS = [MulticlassSVM, HierarchicalSVM, NormalizedHierarchicalSVM, TreeLossSVM, *TOP_DOWN]
Y = one_label(LEAVES)
X = rows(Y)
NEW = rows(Y, seed=5)
GAMMA = {"gamma": 0.1}
K, K_NEW = rbf_kernel(X, gamma=0.1), rbf_kernel(NEW, X, gamma=0.1)


def by_rows(A: Any, B: Any) -> Any:
    return rbf_kernel(A, B, gamma=0.1)


CONFIGURATIONS = [
    (MulticlassSVM, {}),
    (HierarchicalSVM, {}),
    *((HierarchicalSVM, {"cost": cost}) for cost in ("tree", "sqrt_hamming", "zero_one")),
    (HierarchicalSVM, {"rescaling": "slack"}),
    (NormalizedHierarchicalSVM, {}),
    (NormalizedHierarchicalSVM, {"objective": 13, "weights": "rho"}),
    (TreeLossSVM, {}),
    *((kind, {}) for kind in TOP_DOWN),
]


@pytest.mark.parametrize(
    ("kind", "parameters", "taxonomy"),
    [
        *((*configuration, TREE) for configuration in CONFIGURATIONS),
        (HierarchicalSVM, {"cost": "tree"}, DAG),
        (NormalizedHierarchicalSVM, {}, DAG),
    ],
)
def test_the_linear_kernel_is_the_linear_method(
    kind: Any, parameters: dict[str, Any], taxonomy: Taxonomy
) -> None:
    given = {
        "C": 2.0,
        "tol": 1e-10,
        "max_iter": 50_000,
        "intercept_scaling": 1.5,
        "solver": "dual",
        **parameters,
    }
    one = kind(taxonomy, **given).fit(X, Y)
    other = kind(taxonomy, kernel="linear", **given).fit(X, Y)
    assert isinstance(other.vectors_, KernelVectors)
    assert other.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-9)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-6)
    np.testing.assert_allclose(other.intercept_, one.intercept_, atol=1e-6)
    np.testing.assert_allclose(other.decision_function(NEW), one.decision_function(NEW), atol=1e-6)


@pytest.mark.parametrize("kind", METHODS)
def test_three_ways_to_say_a_kernel(kind: Any) -> None:
    given = {"tol": 1e-9, "C": 3.0, "random_state": 0}
    named = kind(TREE, kernel="rbf", kernel_params=GAMMA, **given).fit(X, Y)
    called = kind(TREE, kernel=by_rows, **given).fit(X, Y)
    told = kind(TREE, kernel="precomputed", **given).fit(K, Y)
    for model, new in ((called, NEW), (told, K_NEW), (told, sp.csr_array(K_NEW))):
        assert model.certificate_.primal == pytest.approx(named.certificate_.primal, rel=1e-8)
        np.testing.assert_allclose(model.decision_function(new), named.decision_function(NEW), atol=1e-3)
        assert model.predict(new).tolist() == named.predict(NEW).tolist()
    assert told.n_features_in_ == len(X)
    assert told.vectors_.rows is None
    assert named.vectors_.rows.shape == (len(named.vectors_.support), X.shape[1])
    with pytest.raises(ValueError, match=r"8 features"):
        told.predict(NEW)


@pytest.mark.parametrize("kind", [MulticlassSVM, TransferSVM])
def test_sparse_rows_probabilities_and_kernels_of_processes(kind: Any) -> None:
    given = {"tol": 1e-9, "C": 3.0, "random_state": 0, "probability": True}
    named = kind(TREE, kernel="rbf", kernel_params=GAMMA, **given).fit(X, Y)
    sparse = kind(TREE, kernel="rbf", kernel_params=GAMMA, **given).fit(sp.csr_array(X), Y)
    told = kind(TREE, kernel="precomputed", **given).fit(K, Y)
    # kernels of Gaussian processes are callables of this form, too
    process = kind(TREE, kernel=RBF(length_scale=np.sqrt(5.0)), **given).fit(X, Y)
    for model, new in ((sparse, NEW), (told, K_NEW), (process, NEW)):
        np.testing.assert_allclose(model.decision_function(new), named.decision_function(NEW), atol=1e-3)
        ours, theirs = model.predict_proba(new), named.predict_proba(NEW)
        if model is told:  # its rows are products: others are held out, for another temperature
            np.testing.assert_array_equal(np.argsort(ours, axis=1)[:, -1], np.argsort(theirs, axis=1)[:, -1])
        else:
            np.testing.assert_allclose(ours, theirs, atol=1e-3)


@pytest.mark.parametrize("kind", METHODS)
def test_only_rows_that_count_are_kept(kind: Any) -> None:
    far = np.vstack([X, 5.0 * X])
    model = kind(TREE, kernel="rbf", kernel_params=GAMMA, C=100.0).fit(far, [*Y, *Y])
    vectors = model.vectors_
    assert 0 < len(vectors.support) < len(far)
    np.testing.assert_array_equal(vectors.rows, far[vectors.support])
    assert [LEAVES.index(([*Y, *Y])[k]) for k in vectors.support] == [
        LEAVES.index(model.classes_[label]) for label in vectors.labels
    ]
    assert not hasattr(model, "coef_")
    one = model.predict(NEW[:1])
    assert one.tolist() == model.predict(NEW)[:1].tolist()
    if kind not in TOP_DOWN:
        with pytest.raises(DataError, match="leave beam out"):
            model.top_k(NEW, 2, beam=2)


@pytest.mark.parametrize("kind", METHODS)
def test_explanations_name_training_rows_and_add_up(kind: Any) -> None:
    model = kind(TREE, kernel="rbf", kernel_params=GAMMA).fit(X, Y)
    found = model.explain(NEW[0])
    assert found.label == model.predict(NEW[:1])[0]
    for node in found.nodes:
        names = [name for name, _ in node.contributions if name != "(intercept)"]
        assert all(
            name == f"row {number} ({Y[number]})" for name in names for number in [int(name.split()[1])]
        )
        assert sum(value for _, value in node.contributions) == pytest.approx(node.score, abs=1e-9)
        if node.margin is not None:
            assert sum(value for _, value in node.deciding) == pytest.approx(node.margin, abs=1e-9)
    own = dict(model.explain(X[3], label=Y[3]).nodes[-1].deciding)
    assert own.get("row 3 " + f"({Y[3]})", 0.0) >= 0  # a row never speaks against itself


@pytest.mark.parametrize("kind", METHODS)
def test_saved_models_are_the_same(kind: Any, tmp_path: Path) -> None:
    for name, given, fitted, new in (
        ("named", {"kernel": "rbf", "kernel_params": {"gamma": "scale"}}, X, NEW),
        ("sparse", {"kernel": "laplacian"}, sp.csr_array(X), NEW),
        ("told", {"kernel": "precomputed"}, K, K_NEW),
    ):
        model = kind(TREE, **given).fit(fitted, Y)
        model.save(tmp_path / name)
        for loaded in (taxolearn.load(tmp_path / name), taxolearn.load(tmp_path / name, verify="sizes")):
            np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
            assert loaded.get_params()["kernel"] == given["kernel"]
            assert loaded.explain(new[0]).to_text() == model.explain(new[0]).to_text()
        assert not isinstance(loaded.vectors_.nodes.data.base, type(None))  # mapped, not copied
    assert read_manifest(tmp_path / "told").file_bytes < read_manifest(tmp_path / "named").file_bytes
    with pytest.raises(ModelError, match="callable kernel by_rows cannot be saved: a file holds no code"):
        kind(TREE, kernel=by_rows).fit(X, Y).save(tmp_path / "called")
    assert not (tmp_path / "called").exists()


def test_scikit_learn_sees_given_products_as_such() -> None:
    model = MulticlassSVM(kernel="precomputed", C=2.0, tol=1e-6)
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not MulticlassSVM(kernel="rbf").__sklearn_tags__().input_tags.pairwise
    assert MulticlassSVM(kernel="chi2").__sklearn_tags__().input_tags.positive_only
    named = MulticlassSVM(kernel="rbf", kernel_params=GAMMA, C=2.0, tol=1e-6)
    np.testing.assert_array_equal(cross_val_score(model, K, Y, cv=3), cross_val_score(named, X, Y, cv=3))
    search = GridSearchCV(named, {"C": [0.1, 10.0], "kernel_params": [{"gamma": 0.1}, {"gamma": 10.0}]}, cv=2)
    assert search.fit(X, Y).best_params_["kernel_params"] == GAMMA
    assert clone(named).get_params()["kernel_params"] == GAMMA


def test_warm_starts_and_paths() -> None:
    model = MulticlassSVM(kernel="rbf", kernel_params=GAMMA, tol=1e-6, warm_start=True, C=5.0)
    cold = model.fit(X, Y).certificate_.primal
    assert model.fit(X, Y).n_iter_ == 0
    other = model.set_params(kernel_params={"gamma": 0.2}).fit(X, Y).certificate_.primal
    fresh = MulticlassSVM(kernel="rbf", kernel_params={"gamma": 0.2}, tol=1e-6, C=5.0).fit(X, Y)
    assert other == pytest.approx(fresh.certificate_.primal, rel=1e-5)
    assert other != pytest.approx(cold, rel=1e-3)
    # two callables of one name are two kernels
    pair = [lambda A, B, g=g: rbf_kernel(A, B, gamma=g) for g in (0.1, 0.2)]
    one = MulticlassSVM(kernel=pair[0], tol=1e-6, warm_start=True, C=5.0).fit(X, Y)
    assert one.certificate_.primal == pytest.approx(cold, rel=1e-5)
    assert one.set_params(kernel=pair[1]).fit(X, Y).certificate_.primal == pytest.approx(other, rel=1e-5)
    path = HierarchicalSVM(TREE, kernel="rbf", tol=1e-5).fit_path(X, Y, [10.0, 0.1, 1.0])
    assert [(found.C, found.certificate_.holds(1e-5)) for found in path] == [
        (C, True) for C in (0.1, 1.0, 10.0)
    ]


def test_checkpoints_go_on(tmp_path: Path) -> None:
    given = {"kernel": "rbf", "kernel_params": GAMMA, "C": 20.0, "tol": 1e-9, "checkpoint": tmp_path / "c"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        MulticlassSVM(max_iter=60, checkpoint_seconds=1e-9, **given).fit(X, Y)
    whole = MulticlassSVM(**{**given, "checkpoint": None}).fit(X, Y)
    rest = MulticlassSVM(**given).fit(X, Y)
    assert rest.n_iter_ < whole.n_iter_
    assert rest.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-8)
    with pytest.raises(DataError, match="belongs to other rows, labels or parameters"):
        MulticlassSVM(**{**given, "kernel_params": {"gamma": 0.3}}).fit(X, Y)
    with pytest.raises(DataError, match="checkpoint needs a kernel by name"):
        MulticlassSVM(kernel=by_rows, checkpoint=tmp_path / "d").fit(X, Y)


def test_limits_and_memory_change_nothing_but_the_gap() -> None:
    given = {"kernel": "rbf", "kernel_params": GAMMA, "C": 20.0, "tol": 1e-9}
    with pytest.warns(ConvergenceWarning, match="certified relative gap"):
        rough = MulticlassSVM(max_seconds=1e-6, **given).fit(X, Y)
    exact = MulticlassSVM(cache_size=1e-3, n_jobs=2, **given).fit(X, Y)
    assert rough.certificate_.lower <= exact.certificate_.lower <= exact.certificate_.upper
    assert exact.certificate_.upper <= rough.certificate_.upper


def test_weights_of_rows_and_classes() -> None:
    given = {"kernel": "rbf", "kernel_params": GAMMA, "tol": 1e-10}
    twice = MulticlassSVM(**given).fit(np.vstack([X, X[:9]]), [*Y, *Y[:9]])
    weighted = MulticlassSVM(**given).fit(X, Y, sample_weight=np.where(np.arange(len(X)) < 9, 2.0, 1.0))
    np.testing.assert_allclose(weighted.decision_function(NEW), twice.decision_function(NEW), atol=1e-4)
    none = MulticlassSVM(**given).fit(X, Y, sample_weight=(np.arange(len(X)) >= 9).astype(float))
    without = MulticlassSVM(**given).fit(X[9:], Y[9:])
    np.testing.assert_allclose(none.decision_function(NEW), without.decision_function(NEW), atol=1e-4)
    assert none.vectors_.support.min() >= 9


def test_as_accurate_as_libsvm_on_rings() -> None:
    rng = np.random.default_rng(0)
    radius = np.repeat([1.0, 2.0, 3.0], 60) + 0.2 * rng.normal(size=180)
    angle = rng.random(180) * 2 * np.pi
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    ring = np.repeat(["in", "mid", "out"], 60)
    train, test = np.arange(180) % 2 == 0, np.arange(180) % 2 == 1
    ours = MulticlassSVM(kernel="rbf", C=10.0).fit(points[train], ring[train]).score(points[test], ring[test])
    theirs = SVC(C=10.0).fit(points[train], ring[train]).score(points[test], ring[test])
    linear = MulticlassSVM(C=10.0).fit(points[train], ring[train]).score(points[test], ring[test])
    assert ours >= theirs - 0.03
    assert ours > linear + 0.3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"kernel": "sigmoid", "kernel_params": {"gamma": 1.0}},
            "kernel 'sigmoid' is not positive semi-definite",
        ),
        ({"kernel": "precomputed"}, r"X has shape \(42, 8\), and kernel='precomputed' needs a square matrix"),
        ({"kernel": "chi2"}, "kernel 'chi2' failed: X contains negative values"),
        ({"kernel": "poly", "kernel_params": {"degree": 300, "gamma": 10}}, "NaN or inf|too large"),
        (
            {"kernel": "rbf", "solver": "pegasos"},
            "solver='pegasos' needs rows as vectors, not a kernel of them",
        ),
        ({"kernel": "rbf", "solver": taxolearn.solvers.PegasosSGD()}, "needs rows as vectors"),
        ({"kernel": "rbf", "solver": "averaging"}, "needs rows as vectors"),
        ({"kernel_params": {"gamma": 1.0}}, "kernel=None has none"),
        ({"kernel": "rbf", "cache_size": 0}, "cache_size=0 is not allowed"),
    ],
)
def test_one_sentence_for_what_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        MulticlassSVM(**given).fit(X, Y)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_one_against_the_rest_has_no_kernels(loss: str) -> None:
    with pytest.raises(
        DataError, match=f"loss='{loss}' takes no kernel; use loss='multiclass', or kernel=None"
    ):
        TopDownSVM(TREE, kernel="rbf", loss=loss).fit(X, Y)


@pytest.mark.parametrize("kind", METHODS)
def test_several_labels_have_no_kernels(kind: Any) -> None:
    several = [[label] for label in Y]
    several[5] = LEAVES[:2]
    with pytest.raises(
        LabelError, match=f"row 5 has 2 labels, and {kind.__name__} with a kernel learns from one"
    ):
        kind(TREE, kernel="rbf").fit(X, several)


def test_texts_are_explained_by_texts() -> None:
    texts = ["left femur", "right femur bone", "burn of skin", "skin graft"] * 3
    model = TextClassifier(MulticlassSVM(kernel="cosine"), TextFeatures()).fit(
        texts, ["bone", "bone", "skin", "skin"] * 3
    )
    found = model.explain("femur")
    assert found.label == "bone"
    assert found.words is None
    assert found.contributions[0][0].startswith("row ")
    assert "(bone)" in found.to_text()


def test_the_command_line_sets_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from taxolearn.cli.app import run

    lines = io.StringIO()
    for row, label in zip(X, Y, strict=True):
        lines.write(
            f"{LEAVES.index(label)} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist())) + "\n"
        )
    (tmp_path / "rows.svm").write_text(lines.getvalue())
    rows_file, folder = str(tmp_path / "rows.svm"), str(tmp_path / "model")
    settings = ["--set", "kernel=rbf", "--set", 'kernel_params={"gamma": 0.1}', "--set", "cache_size=10"]
    assert run(["fit", rows_file, "--method", "multiclass", *settings, "-o", folder]) == 0
    assert run(["predict", folder, rows_file, "--to", "jsonl"]) == 0
    assert run(["inspect", folder]) == 0
    said = capsys.readouterr().out
    assert "KernelVectors('rbf'" in said
    assert run(["inspect", folder, "--node", "1"]) != 0
