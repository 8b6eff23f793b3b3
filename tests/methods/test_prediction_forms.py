"""Predictions come back in the form in which the labels came in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from taxolearn import (
    GraphRecursiveLogistic,
    MulticlassSVM,
    OneVsRestLogistic,
    OneVsRestSVM,
    RecursiveLogistic,
    Taxonomy,
)
from taxolearn.errors import DataError, LabelError

pytestmark = pytest.mark.filterwarnings("ignore::taxolearn.errors.EmptyClassWarning")

X = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]] * 4)
TREE = Taxonomy.from_edges([("all", "animal"), ("animal", "cat"), ("animal", "dog"), ("all", "rose")])
NAMES = ["cat", "dog", "rose"] * 4


def fit(y: Any, taxonomy: Taxonomy | None = None, **options: Any) -> Any:
    return OneVsRestSVM(taxonomy, **options).fit(X, y)


@pytest.mark.parametrize("taxonomy", [None, TREE], ids=["flat", "tree"])
@pytest.mark.parametrize(
    "y",
    [
        NAMES,
        tuple(NAMES),
        np.array(NAMES),
        np.array(NAMES, dtype=object),
        pd.Series(NAMES),
        pd.Series(NAMES, dtype="category"),
        pl.Series(NAMES),
    ],
    ids=["list", "tuple", "str array", "object array", "pandas", "category", "polars"],
)
def test_names_give_an_array_of_names(y: Any, taxonomy: Taxonomy | None) -> None:
    model = fit(y, taxonomy)
    predicted = model.predict(X[:3])
    assert isinstance(predicted, np.ndarray)
    assert predicted.tolist() == ["cat", "dog", "rose"]
    assert model.classes_.tolist() == ["cat", "dog", "rose"]
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array([7, -2, 5] * 4), "i"),
        (np.array([7, 2, 5] * 4, dtype=np.uint8), "u"),
        (np.array([0.0, 2.0, 1.0] * 4), "f"),
        ([10**12, 3, 4] * 4, "i"),
        ([("a", 1), ("b", 2), "c"] * 4, "O"),
        ([b"x", b"y", b"z"] * 4, "O"),
        (["a", 1, 2.5] * 4, "O"),
    ],
)
def test_names_of_other_types(labels: Any, kind: str) -> None:
    if kind == "O" and isinstance(labels[0], tuple):
        # tuples are sets of labels unless a taxonomy has them as names
        tree = Taxonomy.from_edges([("top", ("a", 1)), ("top", ("b", 2)), ("top", ("c", 3))])
        labels = [("a", 1), ("b", 2), ("c", 3)] * 4
        model = fit(labels, tree)
    else:
        model = fit(labels)
    assert model.classes_.dtype.kind == kind
    assert model.predict(X).tolist() == list(labels)
    assert model.score(X, labels) == 1.0


@pytest.mark.parametrize("taxonomy", [None, TREE], ids=["flat", "tree"])
@pytest.mark.parametrize("container", [list, set, frozenset])
def test_lists_give_lists(container: Any, taxonomy: Taxonomy | None) -> None:
    sets = [["cat", "animal"], ["dog", "animal"], ["rose"]] * 4
    y = [container(labels) for labels in sets]
    model = fit(y, taxonomy, C=10.0)
    predicted = model.predict(X[:3])
    assert [sorted(labels) for labels in predicted] == [sorted(labels) for labels in sets[:3]]
    assert isinstance(predicted, list)
    assert model.score(X, y) == 1.0
    assert model.decision_function(X).shape == (12, 4)


def test_an_uncertain_row_may_get_no_label() -> None:
    model = fit([["cat"], ["dog"], ["rose"]] * 4, empty_sets="allow")
    assert model.predict(np.zeros((1, 3))) == [[]]
    assert model.predict_path(np.zeros((1, 3))) == [[]]


@pytest.mark.parametrize("dtype", [int, np.int8, bool, float])
@pytest.mark.parametrize("sparse", [False, True])
def test_indicators_give_indicators(sparse: bool, dtype: Any) -> None:
    dense = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0]] * 4).astype(dtype)
    y = sp.csr_array(dense) if sparse else dense
    model = fit(y, C=10.0)
    predicted = model.predict(X)
    assert sp.issparse(predicted) == sparse
    assert predicted.dtype == dense.dtype
    assert np.array_equal(predicted.toarray() if sparse else predicted, dense)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("sparse", [False, True])
def test_indicators_over_the_nodes_of_a_taxonomy(sparse: bool) -> None:
    sets = [["cat", "animal"], ["dog"], ["rose"]] * 4
    dense = np.zeros((12, TREE.n_nodes), dtype=int)
    for row, labels in enumerate(sets):
        dense[row, TREE.ids_of(labels)] = 1
    y = sp.csc_matrix(dense) if sparse else dense
    model = fit(y, TREE, C=10.0)
    predicted = model.predict(X)
    assert predicted.shape == dense.shape
    assert np.array_equal(predicted.toarray() if sparse else predicted, dense)
    assert sorted(model.classes_.tolist()) == ["animal", "cat", "dog", "rose"]
    assert model.predict_path(X[2:3]) == [[("all", "rose")]]


def test_rows_of_zeros_and_ones_in_lists_are_an_indicator() -> None:
    dense = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0]] * 4)
    for y in (dense.tolist(), list(dense)):
        model = fit(y, C=10.0)
        assert np.array_equal(model.predict(X), dense)
    # one label per row, or two different ones: sets
    assert fit([[0], [1], [0, 1]] * 4, C=10.0).predict(X[:2]) == [[0], [1]]


@pytest.mark.parametrize("taxonomy", [None, TREE], ids=["flat", "tree"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "array"])
def test_level_tables_give_names(library: str, taxonomy: Taxonomy | None) -> None:
    columns = {"kind": ["animal", "animal", "rose"] * 4, "species": ["cat", "dog", None] * 4}
    if library == "pandas":
        y: Any = pd.DataFrame(columns)
    elif library == "polars":
        y = pl.DataFrame(columns)
    elif library == "pyarrow":
        y = pytest.importorskip("pyarrow").table(columns)
    else:
        y = np.array(list(zip(columns["kind"], columns["species"], strict=True)), dtype=object)
    model = fit(y, taxonomy)
    expected = ["cat", "dog", "rose"] if taxonomy else ["animal/cat", "animal/dog", "rose"]
    assert model.predict(X[:3]).tolist() == expected
    assert model.score(X, y) == 1.0
    assert model.score(X, NAMES if taxonomy else expected * 4) == 1.0


def test_inner_nodes_are_classes_like_any_other() -> None:
    model = fit(["cat", "animal", "all"] * 4, TREE)
    assert model.predict(X[:3]).tolist() == ["cat", "animal", "all"]
    assert model.predict_path(X[:3]) == [("all", "animal", "cat"), ("all", "animal"), ("all",)]
    assert model.classes_.tolist() == ["all", "animal", "cat"]  # in the taxonomy's order


def test_paths() -> None:
    assert fit(NAMES, TREE).predict_path(X[:3]) == [
        ("all", "animal", "cat"),
        ("all", "animal", "dog"),
        ("all", "rose"),
    ]
    assert fit(NAMES).predict_path(X[:1]) == [("cat",)]
    forest = Taxonomy.from_paths(["animal/cat", "animal/dog", "rose"])
    assert fit(NAMES, forest).predict_path(X[:1]) == [("animal", "cat")]  # the artificial root is left out
    several = fit([["cat", "animal"], ["dog"], ["rose"]] * 4, TREE, C=10.0)
    assert several.predict_path(X[:1]) == [[("all", "animal"), ("all", "animal", "cat")]]


def test_top_k() -> None:
    model = fit(NAMES)
    names, scores = model.top_k(X, 3)
    assert np.array_equal(names[:, 0], model.predict(X))
    assert (np.diff(scores, axis=1) <= 0).all()
    decision = model.decision_function(X)
    np.testing.assert_allclose(np.sort(decision, axis=1)[:, ::-1], scores)
    for row in range(3):
        assert [model.classes_[j] for j in np.argsort(-decision[row], kind="stable")] == names[row].tolist()
    for k in (0, -1, 4, None, "2", 1.5):
        with pytest.raises(DataError, match="k must be between 1 and the number of classes, 3"):
            model.top_k(X, k)


def test_two_classes_have_one_score() -> None:
    model = OneVsRestSVM().fit(X[[0, 1] * 3], ["a", "b"] * 3)
    scores = model.decision_function(X[:2])
    assert scores.shape == (2,)
    assert scores[0] < 0 < scores[1]
    assert model.predict(X[:2]).tolist() == ["a", "b"]
    names, both = model.top_k(X[:2], 2)
    assert names.tolist() == [["a", "b"], ["b", "a"]]
    np.testing.assert_allclose(both[:, 0], -both[:, 1])


def test_score_counts_whole_sets_and_takes_weights() -> None:
    model = fit([["cat", "animal"], ["dog", "animal"], ["rose"]] * 4, C=10.0)
    half = [["cat"], ["dog", "animal"], ["rose"]] * 4
    assert model.score(X, half) == pytest.approx(2 / 3)
    assert model.score(X, half, sample_weight=[0, 1, 1] * 4) == 1.0
    with pytest.raises(DataError, match="sample_weight has 2 entries, but X has 12 rows"):
        model.score(X, half, sample_weight=[1, 2])
    with pytest.raises(LabelError, match="y_true has 3 rows and y_pred has 12"):
        model.score(X, half[:3])


@pytest.mark.parametrize("kind", [OneVsRestSVM, OneVsRestLogistic])
@pytest.mark.parametrize("call", ["predict", "decision_function", "predict_path", "top_k", "predict_proba"])
def test_nothing_before_fit(kind: Any, call: str) -> None:
    model = kind(probability=True) if kind is OneVsRestSVM else kind()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(model, call)(X)
    with pytest.raises(NotFittedError):
        _ = model.coef_


def test_wrong_number_of_features() -> None:
    with pytest.raises(DataError, match="X has 2 features, but OneVsRestSVM is expecting 3 features"):
        fit(NAMES).predict(X[:, :2])


def test_predicted_sets_are_in_the_order_of_the_classes() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 4))
    labels = [[name for name, value in zip("dcba", row, strict=True) if value > 0] or ["a"] for row in points]
    model = OneVsRestSVM().fit(points, labels)
    predicted = model.predict(points)
    assert max(map(len, predicted)) > 2
    assert predicted == [sorted(row) for row in predicted]
    # while decode and the command line have the best first
    answers = model.decode(points)
    firsts = [row[0] for row in model.top_k(points, 1)[0].tolist()]
    found = [firsts[i] for i in range(60) if answers.indptr[i + 1] > answers.indptr[i]]
    assert model.classes_[answers.ids[answers.indptr[:-1][np.diff(answers.indptr) > 0]]].tolist() == found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "method",
    [
        OneVsRestLogistic(tol=0.3),
        RecursiveLogistic(tol=0.3),
        GraphRecursiveLogistic(tol=0.3),
        OneVsRestSVM(probability=True, tol=0.3),
        MulticlassSVM(probability=True, tol=0.3),
    ],
    ids=lambda method: type(method).__name__,
)
def test_two_classes_probabilities_rank_as_decisions_also_after_a_loose_fit(method: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + y[:, None]
    model = clone(method).set_params(random_state=seed).fit(X, y)
    decisions, probabilities = model.decision_function(X), model.predict_proba(X)
    order = np.argsort(decisions)
    assert (np.diff(probabilities[order, 1]) >= -1e-12).all()
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    if not getattr(model, "probability", False):  # sigmoids of their own may move the border
        assert ((probabilities[:, 1] > 0.5) == (decisions > 0)).all()
