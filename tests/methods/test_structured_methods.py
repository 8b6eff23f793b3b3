"""MulticlassSVM, HierarchicalSVM, NormalizedHierarchicalSVM and SharedSVM as estimators."""

from __future__ import annotations

import _thread
import re
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from recursive_cases import DAG, LEAVES, TREE
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taxolearn
from reference.structured_twin import (
    Twin,
    cost_matrix,
    margins_and_scalings,
    paths_of,
    row_costs,
    with_constant,
)
from taxolearn import (
    HierarchicalSVM,
    MulticlassSVM,
    NormalizedHierarchicalSVM,
    SharedSVM,
    Taxonomy,
    TextClassifier,
    TopDownSVM,
)
from taxolearn.errors import DataError, LabelError, ModelError
from taxolearn.solvers import Status
from taxolearn.storage.classifiers import pack_classifier, unpack_classifier

METHODS = [MulticlassSVM, HierarchicalSVM, NormalizedHierarchicalSVM, SharedSVM]
TIED = METHODS[1:]
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
every_tied = pytest.mark.parametrize("method", TIED, ids=lambda method: method.__name__)


def blobs(names: list[str] = LEAVES, n: int = 24, seed: int = 0, spread: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.array([names[i % len(names)] for i in range(n)])
    centres = {name: 2.0 * np.eye(4)[k % 4] for k, name in enumerate(names)}
    return np.array([centres[name] for name in y]) + spread * rng.normal(size=(n, 4)), y


def optimum(
    model: Any, X: Any, y: Any, cost: str, rescaling: str = "margin", sample_weight: Any = None
) -> float:
    """The objective of a fitted model by cone programme; the twin knows nothing of the library's costs and ties."""
    classes = model.classes_.tolist()
    if isinstance(model, MulticlassSVM) or model.taxonomy is None:
        paths, a = np.eye(len(classes)), np.ones(len(classes))
        delta = 1.0 - np.eye(len(classes))
    else:
        nodes = model.taxonomy.ids_of(classes)
        a = model.node_weights_
        paths = np.zeros((len(nodes), len(a)))
        for row, path in zip(paths, paths_of(model.taxonomy, nodes), strict=True):
            row[sorted(path)] = 1.0
        delta = cost_matrix(cost, model.taxonomy, nodes, a)
    numbers = np.array([classes.index(name) for name in y])
    costs = row_costs(list(y), model.C, sample_weight, model.class_weight)
    D, S = margins_and_scalings(delta, rescaling)
    Z = with_constant(X, model.intercept_scaling if model.fit_intercept else 0.0)
    return Twin(Z, numbers, costs, paths, a, D, S).optimum()


ROW_WEIGHTS = np.random.default_rng(7).choice([0.0, 0.5, 1.0, 3.0], size=24)
ROW_WEIGHTS[:4] = 1.0
CASES: dict[str, tuple[Any, list[str], str, str, Any]] = {
    "multiclass": (MulticlassSVM(), LEAVES, "zero_one", "margin", None),
    "multiclass, tree, weights": (
        MulticlassSVM(TREE, C=0.3, class_weight={"cat": 3.0}),
        LEAVES,
        "zero_one",
        "margin",
        ROW_WEIGHTS,
    ),
    "HSVM": (HierarchicalSVM(TREE), LEAVES, "hamming", "margin", None),
    "HSVM, slack": (HierarchicalSVM(TREE, cost="tree", rescaling="slack"), LEAVES, "tree", "slack", None),
    "HSVM, DAG": (HierarchicalSVM(DAG, cost="sqrt_hamming"), LEAVES, "sqrt_hamming", "margin", None),
    "HSVM, inner labels": (
        HierarchicalSVM(TREE, fit_intercept=False, inner_labels="shared"),
        ["animal", "cat", "plant"],
        "hamming",
        "margin",
        None,
    ),
    "NHSVM (10)": (NormalizedHierarchicalSVM(TREE), LEAVES, "normalized", "margin", ROW_WEIGHTS),
    "NHSVM (13)": (NormalizedHierarchicalSVM(TREE, objective=13), LEAVES, "normalized", "unit", None),
    "NHSVM, rho, DAG": (
        NormalizedHierarchicalSVM(DAG, weights="rho", C=3.0),
        LEAVES,
        "normalized",
        "margin",
        None,
    ),
    "NHSVM, empty leaves": (
        NormalizedHierarchicalSVM(TREE, class_weight={"cat": 2.0}),
        ["cat", "rose"],
        "normalized",
        "margin",
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::taxolearn.errors.EmptyClassWarning")
def test_the_objective_is_the_cone_programmes(case: str) -> None:
    unfitted, names, cost, rescaling, weights = CASES[case]
    X, y = blobs(names)
    model = clone(unfitted).set_params(tol=1e-8, max_iter=100_000).fit(X, y, sample_weight=weights)
    best = optimum(model, X, y, cost, rescaling, weights)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
    assert model.certificate_.dual <= best * (1 + 1e-8)
    assert model.certificate_.primal >= best * (1 - 1e-8)
    assert model.certificate_.status is Status.CONVERGED


@every_method
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_everything_an_estimator_offers(method: Any, form: Any) -> None:
    X, y = blobs(n=60)
    rows = form(X)
    model = method(TREE, probability=True, random_state=0).fit(rows, y)
    assert model.certificate_.holds(1e-3)
    assert model.classes_.tolist() == LEAVES
    scores = model.decision_function(rows)
    assert scores.shape == (60, 4)
    np.testing.assert_allclose(scores, X @ model.coef_.T + model.intercept_, atol=1e-10)
    predicted = model.predict(rows)
    assert predicted.tolist() == model.classes_[scores.argmax(axis=1)].tolist()
    assert model.score(rows, y) == np.mean(predicted == y) > 0.6
    assert model.predict_path(rows[:1]) == [TREE.path(predicted[0])]
    best, values = model.top_k(rows, 2)
    assert best[:, 0].tolist() == predicted.tolist()
    np.testing.assert_allclose(values, np.sort(scores, axis=1)[:, :-3:-1], atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)
    explanation = model.explain(X[0])
    assert explanation.label == predicted[0]
    assert explanation.path == TREE.path(predicted[0])
    assert not hasattr(method(TREE).fit(rows, y), "predict_proba")


@every_tied
@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "dag"])
def test_inner_labels_and_leaves_without_rows_can_be_predicted(method: Any, taxonomy: Taxonomy) -> None:
    inner = "animal" if taxonomy is TREE else "pet"
    X, y = blobs([inner, "cat", "oak"], n=30)
    model = method(taxonomy).fit(X, y)
    assert set(model.classes_.tolist()) == {inner, *LEAVES}
    assert model.certificate_.holds(1e-3)
    assert model.node_weights_.shape == (taxonomy.n_nodes,)
    assert set(model.predict(X).tolist()) <= {inner, *LEAVES}


def test_the_flat_method_drops_leaves_without_rows() -> None:
    X, y = blobs(["animal", "cat", "oak"], n=30)
    with pytest.warns(taxolearn.errors.EmptyClassWarning):
        model = MulticlassSVM(TREE).fit(X, y)
    assert model.classes_.tolist() == ["animal", "cat", "oak"]


@every_method
@pytest.mark.parametrize("taxonomy", [None, TREE, DAG], ids=["flat", "tree", "dag"])
def test_a_saved_model_answers_as_before(method: Any, taxonomy: Any, tmp_path: Path) -> None:
    X, y = blobs()
    model = method(taxonomy, probability=True, random_state=0, class_weight={"cat": 2.0}).fit(X, y)
    model.save(tmp_path)
    loaded = taxolearn.load(tmp_path)
    assert type(loaded) is method
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(loaded.node_weights_, model.node_weights_)
    assert loaded.certificate_.gap == model.certificate_.gap
    assert loaded.get_params() == model.get_params()
    assert loaded.explain(X[0]).label == model.explain(X[0]).label
    loaded.fit(X, y)


def test_node_weights_given_as_an_array_are_saved(tmp_path: Path) -> None:
    X, y = blobs()
    given = np.linspace(0.1, 0.3, TREE.n_nodes)
    model = NormalizedHierarchicalSVM(TREE, weights=given).fit(X, y)
    model.save(tmp_path)
    loaded = taxolearn.load(tmp_path)
    assert np.array_equal(loaded.node_weights_, given)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    again = loaded.fit(X, y)
    assert again.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-2)


@pytest.mark.parametrize(
    "wrong",
    [np.full(7, -1.0), np.full(5, 1.0), np.full(7, np.nan), np.ones(7, dtype=np.float32), np.ones((7, 1))],
)
def test_stored_node_weights_are_checked(wrong: Any) -> None:
    X, y = blobs()
    header, arrays = pack_classifier(HierarchicalSVM(TREE).fit(X, y))
    with pytest.raises(ModelError, match="node_weights"):
        unpack_classifier(HierarchicalSVM, header, arrays | {"node_weights": wrong})


@every_method
def test_scikit_learns_tools(method: Any) -> None:
    X, y = blobs(n=48)
    search = GridSearchCV(method(TREE), {"C": [0.01, 1.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.taxonomy is TREE
    assert search.best_score_ > 0.6
    pipeline = make_pipeline(StandardScaler(), method(TREE)).fit(X, y)
    assert pipeline.score(X, y) > 0.6
    model = method(TREE, C=3)
    assert clone(model).get_params() == model.get_params()


def test_text_classifier_takes_them() -> None:
    texts = ["meow purr", "purr meow meow", "bark woof", "woof bark bark", "petal thorn", "thorn petal petal"]
    y = ["cat", "cat", "dog", "dog", "rose", "rose"]
    model = TextClassifier(MulticlassSVM()).fit(texts, y)
    assert model.predict(["purr", "woof", "petal"]).tolist() == ["cat", "dog", "rose"]


@every_method
def test_a_warm_start_takes_fewer_passes(method: Any) -> None:
    X, y = blobs(n=60, spread=2.0)
    tight = {"tol": 1e-5, "max_iter": 10_000, "random_state": 0}
    model = method(TREE, warm_start=True, **tight).fit(X, y)
    cold = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < cold
    assert model.certificate_.holds(1e-5)
    model.set_params(C=1.1).fit(X, y)
    assert model.certificate_.holds(1e-5)
    fresh = method(TREE, C=1.1, **tight).fit(X, y)
    assert model.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=2e-5)
    # other rows: nothing of the last fit is used
    model.fit(X[:40], y[:40])
    assert model.certificate_.holds(1e-5)


@every_method
def test_a_path_of_C(method: Any) -> None:
    X, y = blobs(n=40)
    unfitted = method(TREE, random_state=0)
    found = []
    for model in unfitted.fit_path(X, y, [10.0, 0.1, 1.0], sample_weight=np.ones(40)):
        found.append((model.C, model.certificate_.holds(1e-3), model.certificate_.primal))
    assert [(C, holds) for C, holds, _ in found] == [(0.1, True), (1.0, True), (10.0, True)]
    alone = clone(unfitted).set_params(C=1.0).fit(X, y)
    assert found[1][2] == pytest.approx(alone.certificate_.primal, rel=2e-3)
    assert not hasattr(unfitted, "vectors_")
    with pytest.raises(DataError, match="Cs='10' is not allowed; give a list of positive numbers"):
        next(unfitted.fit_path(X, y, "10"))
    with pytest.raises(DataError, match="C=-1 is not allowed; give a positive number"):
        next(unfitted.fit_path(X, y, [1.0, -1]))


@pytest.mark.parametrize("method", [SharedSVM, TopDownSVM])
@pytest.mark.parametrize("several", [[["cat", "dog"]] + [["oak"]] * 23, None], ids=["lists", "indicator"])
def test_several_labels_a_row_are_refused(method: Any, several: Any) -> None:
    X, _ = blobs()
    y = np.eye(4, dtype=int)[np.arange(24) % 4] | np.eye(4, dtype=int)[0] if several is None else several
    with pytest.raises(LabelError) as caught:
        method().fit(X, y)
    assert re.fullmatch(
        rf"row \d+ has 2 labels, and {method.__name__} learns from one label per row; "
        "use a one-vs-rest or recursive method",
        str(caught.value),
    )


NHSVM = NormalizedHierarchicalSVM
BAD = [
    (MulticlassSVM, {"C": 0}, "C=0 is not allowed; give a positive number"),
    (MulticlassSVM, {"tol": -1.0}, "tol=-1.0 is not allowed; give a positive number"),
    (MulticlassSVM, {"max_iter": 1.5}, "max_iter=1.5 is not allowed; give a whole number"),
    (MulticlassSVM, {"max_seconds": 0}, "max_seconds=0 is not allowed; give a positive number"),
    (
        HierarchicalSVM,
        {"cost": "none"},
        "cost='none' is not known; choose 'hamming', 'tree', 'sqrt_hamming' or 'zero_one'",
    ),
    (HierarchicalSVM, {"rescaling": 3}, "rescaling=3 is not known; choose 'margin' or 'slack'"),
    (NHSVM, {"objective": 11}, "objective=11 is not known; choose 10 or 13"),
    (NHSVM, {"weights": "heavy"}, "weights='heavy' is not known; choose 'maxmin', 'rho', 'uniform' or 'leaf'"),
    (
        NHSVM,
        {"weights": [1.0, 2.0]},
        r"node weights have shape \(2,\), but the taxonomy has 7 nodes; give one a node",
    ),
    (NHSVM, {"weights": ["x"] * 7}, "weights=.* is not allowed; give one number per node, or the name of a rule"),
    (NHSVM, {"rho": 3.0}, "rho=3.0 belongs to weights='rho' and has no part in weights='maxmin'"),
    (NHSVM, {"T": 1.5, "weights": "leaf"}, "T=1.5 belongs to weights='rho'"),
    (NHSVM, {"weights": "rho", "rho": "x"}, "rho='x' is out of range; give a finite number above 1"),
    (SharedSVM, {"cost": "normalized"}, "cost='normalized' is not known"),
    (SharedSVM, {"first_weights": "leaf"}, "first_weights='leaf' is not known; choose 'maxmin' or 'rho'"),
    (
        SharedSVM,
        {"first_weights": np.ones(7)},
        "first_weights sum to 3 along the path of 'cat'; at most 1 is allowed",
    ),
    (
        SharedSVM,
        {"first_weights": TREE.is_leaf.astype(float)},
        "the first weight of 'all' is 0, and a weight of zero can never rise; start from strictly positive weights",
    ),
    (
        SharedSVM,
        {"first_weights": {"a": 1}},
        "first_weights=.* is not allowed; give one number per node, or the name of a rule",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("method", "parameters", "message"), BAD)
def test_bad_parameters_are_named(method: Any, parameters: dict[str, Any], message: str) -> None:
    X, y = blobs()
    with pytest.raises(DataError, match=f"^{message}") as caught:
        method(TREE, **parameters).fit(X, y)
    assert "\n" not in str(caught.value)


@every_method
def test_limits_warn_and_keep_the_weights(method: Any) -> None:
    X, y = blobs(n=60, spread=3.0)
    hard: dict[str, Any] = {"C": 1e3, "tol": 1e-300, "random_state": 0}  # below rounding: never reached
    if method is not SharedSVM:
        hard["solver"] = "dual"  # interior points would be there before
    with pytest.warns(ConvergenceWarning, match="stopped by iteration limit at a certified relative gap of"):
        few = method(TREE, max_iter=2, **hard).fit(X, y)
    assert few.certificate_.status is Status.ITERATION_LIMIT
    with pytest.warns(ConvergenceWarning, match="stopped by time limit"):
        soon = method(TREE, max_iter=10**8, max_seconds=0.05, **hard).fit(X, y)
    assert soon.certificate_.status is Status.TIME_LIMIT
    for model in (few, soon):
        assert np.isfinite(model.certificate_.primal)
        assert model.predict(X).shape == (60,)


@every_method
def test_ctrl_c_keeps_the_weights_so_far(method: Any) -> None:
    X, y = blobs(n=3000, spread=5.0)  # passes long enough to be met by the signal
    method(TREE).fit(X[:20], y[:20])  # compiled before the clock runs
    model = method(TREE, C=1e3, tol=1e-13, max_iter=10**8, max_seconds=30.0, random_state=0)
    if "solver" in model.get_params():
        model.set_params(solver="dual")  # interior points would be done before
    timer = threading.Timer(0.5, _thread.interrupt_main)  # as Ctrl-C does, on every system
    timer.start()
    try:
        with pytest.warns(ConvergenceWarning, match="stopped by interrupted"):
            model.fit(X, y)
    except KeyboardInterrupt:
        pytest.fail("Ctrl-C was not caught by the fit")
    finally:
        timer.cancel()
        timer.join()
    assert model.certificate_.status is Status.INTERRUPTED
    assert np.isfinite(model.certificate_.primal)
    assert model.predict(X).shape == (3000,)


def test_shared_svm_finds_the_same_from_every_start() -> None:
    X, y = blobs(n=40)
    found = [
        SharedSVM(TREE, first_weights=first, tol=1e-5, random_state=0).fit(X, y).certificate_.primal
        for first in ("maxmin", "rho", np.full(7, 0.2))
    ]
    assert found == pytest.approx([found[0]] * 3, rel=2e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flat = SharedSVM(tol=1e-6).fit(X, y).certificate_.primal
        plain = MulticlassSVM(tol=1e-6).fit(X, y).certificate_.primal
    assert flat == pytest.approx(plain, rel=1e-5)
    assert found[0] <= flat * (1 + 1e-5)  # all weight at the leaves is one choice of many
