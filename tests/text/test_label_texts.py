"""Texts about classes: all forms of labels, weights, DAGs, new versions of a taxonomy, and answers that agree."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import taxolearn
from taxolearn import NormalizedHierarchicalSVM, OneVsRestSVM, Taxonomy, TextClassifier
from taxolearn.cli.app import run
from taxolearn.errors import DataError, LabelError
from taxolearn.structure import Term
from taxolearn.text import TextFeatures
from taxolearn.text.label_texts import label_rows

TEXTS = ["left femur", "burnt skin", "broken tibia", "an itching rash"]
LABELS = ["bone", "skin", "bone", "skin"]
TREE = Taxonomy.from_paths(["body/bone", "body/skin", "plant/oak tree"])
DAG = Taxonomy.from_edges([("all", "body"), ("all", "plant"), ("body", "bone"), ("body", "skin"),
                           ("plant", "skin"), ("plant", "oak tree")])  # fmt: skip
WORDS = TextFeatures(embedder="words")
HARD = [
    "",
    " ",
    "a",
    "é",
    "骨折した大腿骨",
    "перелом бедра",
    "🦴",
    "fem\u200bur",
    "femur",
    "femur",
    "an old oak",
]
HARD += ["femur " * 5_000, "x" * 50_000]


def model(estimator: Any = None, **given: Any) -> TextClassifier:
    parameters = {"features": WORDS, "label_texts": "names", "random_state": 0} | given
    return TextClassifier(OneVsRestSVM(TREE) if estimator is None else estimator, **parameters)


FORMS = {
    "array": np.array,
    "objects": lambda y: np.array(y, dtype=object),
    "series": pd.Series,
    "sets": lambda y: [{name} for name in y],
    "lists": lambda y: [[name] for name in y],
    "synonyms": lambda y: ["os", *y[1:]],
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_labels(form: str) -> None:
    estimator = OneVsRestSVM(TREE.with_terms({"bone": Term("bone", synonyms=("os",))}), tol=1e-8)
    plain = model(estimator, label_weight=0.3).fit(TEXTS, LABELS)
    other = model(estimator, label_weight=0.3).fit(TEXTS, FORMS[form](LABELS))
    scores = other.decision_function(HARD)
    np.testing.assert_allclose(scores, plain.decision_function(HARD), atol=1e-3)
    assert [np.ravel(answer).tolist() for answer in other.predict(["an oak"])] == [["oak tree"]]


def test_answers_have_the_type_of_the_labels() -> None:
    about = {0: "bones", 1: "the skin", 2: "an oak tree"}
    for y in (np.array([0, 1, 0, 1]), [0, 1, 0, 1]):
        found = model(OneVsRestSVM(), label_texts=about).fit(TEXTS, y).predict(["an old oak", "the femur"])
        assert found.dtype == np.int64
        assert found.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("y", "error", "sentence"),
    [
        ([*LABELS[:3], "skn"], LabelError, "y, row 3: unknown label 'skn'; did you mean 'skin'"),
        ([*LABELS[:3], None], LabelError, "y, row 3 has an empty label None"),
        (LABELS[:3], DataError, "3 labels for 4 texts"),
        ("bone", LabelError, "y must hold one label or set of labels a row"),
        (sparse.csr_array(np.eye(6)[[2, 3, 2, 3]]), DataError, "label_texts needs y as names of classes"),
        (np.eye(6)[[2, 3, 2, 3]], DataError, "label_texts needs y as names of classes"),
    ],
)
def test_labels_that_cannot_be_used(y: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        model().fit(TEXTS, y)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"label_texts": pd.Series({"bone": "femur"})}, "use 'names' or a dict"),
        ({"label_weight": True}, "label_weight=True is not valid"),
        ({"label_weight": np.nan}, "label_weight=nan is not valid"),
        ({"label_texts": {"bone": " "}}, "no text for any class"),
    ],
)
def test_parameters_that_cannot_be_used(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        model(**given).fit(TEXTS, LABELS)


def test_weights_of_rows() -> None:
    estimator = OneVsRestSVM(TREE, tol=1e-8)
    vectors = TextFeatures(
        analyzer=None, embedder="words"
    )  # n-grams would have columns of a row without weight
    left_out = model(estimator, label_weight=0.5, features=vectors).fit(TEXTS[1:], LABELS[1:])
    weighted = model(estimator, label_weight=0.5, features=vectors)
    scores = weighted.fit(TEXTS, LABELS, sample_weight=[0, 1, 1, 1]).decision_function(HARD)
    np.testing.assert_allclose(scores, left_out.decision_function(HARD), atol=1e-3)
    twice = weighted.fit(TEXTS, LABELS, sample_weight=2.0).decision_function(HARD)
    np.testing.assert_array_equal(
        twice, weighted.fit(TEXTS, LABELS, sample_weight=[2.0] * 4).decision_function(HARD)
    )
    with pytest.raises(DataError, match="sample_weight has 3 entries, but X has 4 rows"):
        weighted.fit(TEXTS, LABELS, sample_weight=[1.0] * 3)


def test_all_texts_of_inner_nodes_are_rows_too() -> None:
    terms = {
        "fruit": Term(label="fruit", synonyms=("produce",), definition="grows on trees"),
        "apple": Term(label="apple", synonyms=("pippin",)),
        "pear": Term(label="pear"),
    }
    tree = Taxonomy.from_paths(["food/fruit/apple", "food/fruit/pear", "food/bread"]).with_terms(terms)
    found = label_rows("names", tree, [])
    assert found.of(["apple"]).texts == [
        "apple", "pippin", "food fruit apple", "food fruit produce grows on trees apple",
    ]  # fmt: skip
    assert found.of(["bread"]).texts == ["bread", "food bread"]


def test_a_class_without_a_text_has_those_of_the_nodes_above() -> None:
    tree = Taxonomy.from_paths(["food/fruit/apple", "food/bread"])
    found = label_rows({"fruit": ["sweet", "juicy"], "bread": "baked"}, tree, [])
    assert found.of(["apple"]).texts == ["sweet", "sweet juicy"]
    assert found.of(["bread"]).texts == ["baked"]
    with pytest.raises(DataError, match="no text for any class"):
        label_rows({"apple": ""}, tree, [])
    model = TextClassifier(
        OneVsRestSVM(tree), label_texts={"fruit": "sweet and juicy", "bread": "baked crust"}
    )
    model.fit(["with a baked crust"], ["bread"])
    assert model.predict(["juicy and sweet"]).tolist() == ["apple"]


def test_with_several_parents_all_have_their_say() -> None:
    assert label_rows("names", DAG, []).of(["skin"]).texts == ["skin", "all body skin", "all plant skin"]
    two_tops = Taxonomy.from_edges([("body", "skin"), ("plant", "skin"), ("plant", "oak")])
    assert label_rows("names", two_tops, []).texts == ["skin", "body skin", "plant skin", "oak", "plant oak"]


@pytest.mark.parametrize(
    "label_texts", ["names", {"oak tree": "an oak", "skin": "the skin", "bone": "bones"}]
)
@pytest.mark.filterwarnings("ignore::taxolearn.errors.EmptyClassWarning")
def test_a_new_version_is_told_by_its_own_names(label_texts: Any) -> None:
    """As a fit on the new version is, but for the features, which stay."""
    new = Taxonomy.from_paths(["body/bone", "body/cutis", "plant/oak tree", "plant/fern"])
    vectors = TextFeatures(analyzer=None, embedder="words")
    old = model(OneVsRestSVM(TREE, tol=1e-8), features=vectors, label_texts=label_texts, label_weight=0.5)
    migration = old.fit(TEXTS, LABELS).migrate(
        TEXTS, LABELS, new, {"skin": "cutis"}, sample_weight=[1, 2, 1, 1]
    )
    names = ["bone", "cutis", "bone", "cutis"]
    assert migration.y == names
    assert migration.undecided == ()
    told = {"cutis" if name == "skin" else name: text for name, text in label_texts.items()} if (
        isinstance(label_texts, dict)) else label_texts  # fmt: skip
    assert migration.model.label_texts == told
    anew = model(OneVsRestSVM(new, tol=1e-8), features=vectors, label_texts=told, label_weight=0.5)
    anew.fit(TEXTS, names, sample_weight=[1, 2, 1, 1])
    assert migration.model.classes_.tolist() == anew.classes_.tolist()
    np.testing.assert_allclose(
        migration.model.decision_function(HARD), anew.decision_function(HARD), atol=1e-3
    )
    assert migration.model.predict(["an old oak"]).tolist() == ["oak tree"]


def test_a_migration_speaks_of_rows_of_the_user_alone() -> None:
    new = Taxonomy.from_paths(["body/bone/femur", "body/bone/tibia", "plant/oak tree"])
    migration = model().fit(TEXTS, LABELS).migrate(TEXTS, LABELS, new, {"skin": None})
    assert migration.y == ["bone", None, "bone", None]
    assert {one.row for one in migration.undecided} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("method", "taxonomy", "features", "several"),
    [
        pytest.param(
            (OneVsRestSVM, NormalizedHierarchicalSVM)[
                (dag + both + several) % 2
            ],  # each pair of choices is there
            (TREE, DAG)[dag],
            ("embeddings", "both")[both],
            bool(several),
            id=f"{('tree', 'DAG')[dag]}-{('embeddings', 'both')[both]}-{('one', 'several')[several]}",
        )
        for dag, both, several in product((0, 1), repeat=3)
    ],
)
def test_all_ways_to_an_answer_agree(
    method: Any, taxonomy: Taxonomy, features: str, several: bool, tmp_path: Path
) -> None:
    y: list[Any] = [{name} for name in LABELS[:3]] + [{"skin", "bone"}] if several else LABELS
    fitted = model(method(taxonomy), features=features).fit(TEXTS, y)
    answers = fitted.predict(HARD)
    fitted.save(tmp_path / "model")
    again = taxolearn.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(HARD), fitted.decision_function(HARD))
    assert [*map(str, again.predict(HARD))] == [*map(str, answers)]
    for text in HARD:
        explanation = fitted.explain(text)
        assert sum(value for _, value in explanation.words) == pytest.approx(explanation.score, abs=2e-5)
    with (tmp_path / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text"], *([text] for text in HARD)])
    assert (
        run(
            [
                "predict",
                str(tmp_path / "model"),
                str(tmp_path / "rows.csv"),
                "-o",
                str(tmp_path / "out.jsonl"),
            ]
        )
        == 0
    )
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    told = [[answer["label"] for answer in line["answers"]] for line in lines]
    assert [set(row) for row in told] == [set(row) if several else {row} for row in answers]
    if not several:
        assert fitted.top_k(HARD, 1)[0][:, 0].tolist() == answers.tolist()
        assert [fitted.explain(text).label for text in HARD] == answers.tolist()
