"""Explanations: sums that are the score, margins that are those of a brute-force search, readable text."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from reference.explain_twin import class_scores, node_margins
from reference.made_models import made_estimator
from strategies import taxonomies
from taxolearn import OneVsRestLogistic, OneVsRestSVM, Taxonomy
from taxolearn.errors import DataError, LabelError
from taxolearn.explain.explanation import Explanation

TREE = Taxonomy.from_paths(["animal/cat/lion", "animal/cat/lynx", "animal/dog", "rock/granite"])


def total(contributions: Any) -> float:
    return math.fsum(value for _, value in contributions)


def check_sums(explanation: Explanation) -> None:
    assert total(explanation.contributions) == pytest.approx(explanation.score, abs=1e-6)
    for node in explanation.nodes:
        assert total(node.contributions) == pytest.approx(node.score, abs=1e-6)
        sizes = [abs(value) for _, value in node.contributions]
        assert sizes == sorted(sizes, reverse=True)
        assert "(intercept)" in dict(node.contributions)
        if node.margin is None:
            assert (node.runner_up, node.rival, node.deciding) == (None, None, ())
        else:
            assert total(node.deciding) == pytest.approx(node.margin, abs=1e-6)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, ...]:
    """A taxonomy, some of its nodes as classes (inner ones too), weights in any storage, and a row."""
    taxonomy = draw(taxonomies(max_nodes=10))
    chosen = draw(st.lists(st.integers(0, taxonomy.n_nodes - 1), min_size=1, unique=True))
    classes = [taxonomy.nodes[i] for i in sorted(chosen)]
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    n_features = draw(st.integers(1, 6))
    coef = (rng.normal(size=(len(classes), n_features)) * rng.integers(0, 2, n_features)).astype(dtype)
    x = (rng.normal(size=n_features) * rng.integers(0, 2, n_features)).astype(dtype)
    intercept = rng.normal(size=len(classes))
    stored = draw(st.sampled_from([np.asarray, sparse.csr_array]))
    form = draw(st.sampled_from(["names", "sets"]))
    model = made_estimator(stored(coef), intercept, classes, taxonomy, form)
    row = draw(st.sampled_from([np.asarray, np.atleast_2d, lambda row: sparse.csr_array(row[None, :])]))(x)
    return model, row, taxonomy, classes, class_scores(coef, intercept, x)


@settings(deadline=None, max_examples=80)
@given(cases())
def test_sums_and_margins_are_those_of_a_brute_force_search(case: tuple[Any, ...]) -> None:
    model, row, taxonomy, classes, scores = case
    explanation = model.explain(row, runners_up=2)
    check_sums(explanation)
    best = scores[classes.index(explanation.label)]
    assert explanation.score == pytest.approx(best, abs=1e-6)
    assert best == pytest.approx(max(scores), abs=1e-5)
    assert explanation.path == model._path(explanation.label)
    expected = node_margins(taxonomy, classes, scores, explanation.path)
    for node, (score, margin) in zip(explanation.nodes, expected, strict=True):
        assert node.score == pytest.approx(score, abs=1e-5)
        assert node.margin == (None if margin is None else pytest.approx(margin, abs=1e-5))
        assert node.name in taxonomy.ancestors(node.best, include_self=True)
        if node.margin is not None:
            assert node.runner_up in taxonomy.siblings(node.name)
            assert node.runner_up in taxonomy.ancestors(node.rival, include_self=True)
    others = sorted((score for c, score in zip(classes, scores, strict=True) if c != explanation.label))
    assert [s for _, s in explanation.runners_up] == pytest.approx(others[::-1][:2], abs=1e-5)
    assert json.loads(json.dumps(explanation.to_dict()["nodes"][0]["score"])) == explanation.nodes[0].score


@settings(deadline=None, max_examples=40)
@given(cases(), st.data())
def test_any_class_can_be_asked_about(case: tuple[Any, ...], data: st.DataObject) -> None:
    model, row, taxonomy, classes, scores = case
    label = data.draw(st.sampled_from(classes))
    explanation = model.explain(row, label=label)
    check_sums(explanation)
    assert explanation.label == label
    assert explanation.score == pytest.approx(scores[classes.index(label)], abs=1e-6)
    expected = node_margins(taxonomy, classes, scores, explanation.path)
    margins = [node.margin for node in explanation.nodes]
    assert margins == [None if margin is None else pytest.approx(margin, abs=1e-5) for _, margin in expected]


def test_large_float32_scores_add_up_too() -> None:
    coef = np.full((2, 1000), [[1000.1], [3.3]], dtype=np.float32)
    model = made_estimator(coef, [0.1, 0.2], ["a", "b"])
    check_sums(model.explain(np.full(1000, 1.7, dtype=np.float32)))


def test_the_score_is_that_of_the_decision_function() -> None:
    rng = np.random.default_rng(0)
    model = made_estimator(
        rng.normal(size=(4, 5)), rng.normal(size=4), ["lion", "lynx", "dog", "granite"], TREE
    )
    for x in rng.normal(size=(10, 5)):
        explanation = model.explain(x, runners_up=3)
        scores = dict(zip(model.classes_.tolist(), model.decision_function([x])[0], strict=True))
        assert {explanation.label: explanation.score, **dict(explanation.runners_up)} == pytest.approx(scores)
        assert explanation.label == model.predict([x])[0]
        assert explanation.path == model.predict_path([x])[0]


@pytest.mark.parametrize("kind", [OneVsRestSVM, OneVsRestLogistic])
def test_fitted_estimators_explain(kind: type) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), ["lion", "dog", "granite", "lynx"] * 10
    model = kind(taxonomy=TREE, random_state=0).fit(X, y)
    explanation = model.explain(X[0])
    check_sums(explanation)
    assert explanation.label == model.predict(X[:1])[0]


def test_two_classes_explain_each_with_its_own_score() -> None:
    model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    explanation = model.explain([2.0])
    check_sums(explanation)
    assert explanation.label == "b"
    assert explanation.score == pytest.approx(model.decision_function([[2.0]])[0])


def test_inner_nodes_as_labels() -> None:
    model = made_estimator(np.eye(3), np.zeros(3), ["animal", "cat", "granite"], TREE)
    explanation = model.explain([3.0, 1.0, 2.0])
    assert (explanation.label, explanation.path) == ("animal", ("animal",))
    assert explanation.nodes[0].margin == 1.0
    assert explanation.nodes[0].rival == "granite"
    assert explanation.nodes[0].runner_up == "rock"
    asked = model.explain([3.0, 1.0, 2.0], label="cat")
    assert asked.score == 1.0
    assert [(node.name, node.best, node.margin) for node in asked.nodes] == [
        ("animal", "animal", 1.0),
        ("cat", "cat", None),
    ]


def test_in_a_dag_a_class_is_not_its_own_rival() -> None:
    dag = Taxonomy.from_edges(
        [("all", "pet"), ("all", "animal"), ("pet", "dog"), ("animal", "dog"), ("animal", "lion")]
    )
    model = made_estimator(np.eye(2), np.zeros(2), ["dog", "lion"], dag)
    explanation = model.explain([2.0, 1.5])
    assert [(node.name, node.margin, node.rival) for node in explanation.nodes] == [
        ("all", None, None),
        ("pet", 0.5, "lion"),
        ("dog", 0.5, "lion"),
    ]


def test_without_a_taxonomy_all_classes_are_siblings() -> None:
    model = made_estimator(np.eye(3), np.zeros(3), [10, 20, 30])
    explanation = model.explain([1.0, 5.0, 3.0])
    [node] = explanation.nodes
    assert (explanation.label, explanation.path) == (20, (20,))
    assert (node.margin, node.runner_up, node.rival) == (2.0, 30, 30)
    assert dict(node.deciding) == {"x1": 5.0, "x2": -3.0, "(intercept)": 0.0}
    alone = made_estimator(np.eye(1), np.zeros(1), [10]).explain([1.0])
    assert (alone.nodes[0].margin, alone.runners_up) == (None, ())


def test_features_are_called_by_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"fur": [1.0, 0.0], "age": [0.0, 2.0]})
    model = OneVsRestSVM().fit(table, ["cat", "rock"])
    assert {name for name, _ in model.explain(table[:1]).contributions} == {"fur", "(intercept)"}


def test_the_text_can_be_read() -> None:
    model = made_estimator(
        [[2.0, 0.5, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 3.0]],
        [0.0, -1.0, 0.5],
        ["lion", "dog", "granite"],
        TREE,
    )
    explanation = model.explain([1.0, 1.0, 0.0], k=1)
    assert str(explanation) == explanation.to_text()
    assert explanation.to_text().splitlines() == [
        "lion: score 2.500 = x0 +2.000, 2 more +0.500",
        "└─ animal: ahead of rock, with granite, by 2.000: x0 +2.000, 2 more +0.000",
        "   └─ cat: ahead of dog by 2.500: x0 +1.000, 2 more +1.500",
        "      └─ lion",
        "runners-up: granite 0.500, dog 0.000",
    ]
    assert "behind cat, with lion, by 2.500" in model.explain([1.0, 1.0, 0.0], label="dog").to_text()


def test_to_dict_is_plain() -> None:
    model = made_estimator(np.eye(3, dtype=np.float32), np.zeros(3), ["lion", "dog", "granite"], TREE)
    found = json.loads(json.dumps(model.explain(np.array([1.0, 2.0, 0.0], dtype=np.float32)).to_dict()))
    assert found["label"] == "dog"
    assert found["path"] == ["animal", "dog"]
    assert found["nodes"][1]["runner_up"] == "cat"
    assert found["nodes"][1]["deciding"][0] == {"feature": "x1", "value": 2.0}


@pytest.mark.parametrize(
    ("x", "options", "kind", "sentence"),
    [
        (np.zeros((2, 3)), {}, DataError, "explain takes one row, not 2"),
        (np.zeros((0, 3)), {}, DataError, "0 sample"),
        ([1.0, 2.0], {}, DataError, "2 features"),
        ([[1.0], [2.0, 3.0]], {}, DataError, None),
        ([np.nan, 0.0, 0.0], {}, DataError, "NaN"),
        (["a", "b", "c"], {}, DataError, None),
        ("text", {}, DataError, None),
        (None, {}, DataError, None),
        (np.zeros(3), {"k": 0}, DataError, "k=0 is not allowed"),
        (np.zeros(3), {"k": 1.5}, DataError, "k=1.5 is not allowed"),
        (np.zeros(3), {"runners_up": -1}, DataError, "runners_up=-1 is not allowed"),
        (np.zeros(3), {"label": "lino"}, LabelError, "did you mean 'lion'"),
        (np.zeros(3), {"label": "cat"}, LabelError, "'cat' is a node of the taxonomy, but not a class"),
    ],
)
def test_bad_input(x: Any, options: dict[str, Any], kind: type[Exception], sentence: str | None) -> None:
    model = made_estimator(np.eye(3), np.zeros(3), ["lion", "dog", "granite"], TREE)
    with pytest.raises(kind, match=sentence):
        model.explain(x, **options)


def test_unknown_label_without_a_taxonomy() -> None:
    with pytest.raises(LabelError, match="9 is not a class of this model"):
        made_estimator(np.eye(2), np.zeros(2), [1, 2]).explain([0.0, 0.0], label=9)
