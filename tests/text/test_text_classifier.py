"""TextClassifier: the same as features and estimator by hand, choices, explanations by words, clear errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from reference.text_models import LABELS, NEW_TEXTS, SETS, TEXTS, TITLES, TREE, text_model
from taxolearn import OneVsRestLogistic, OneVsRestSVM, TextClassifier
from taxolearn.errors import DataError, EmptyClassWarning, LabelError
from taxolearn.text import TextFeatures
from taxolearn.text.text_classifier import _compact
from taxolearn.vectors import ClassVectors


def test_it_is_features_and_estimator_in_one() -> None:
    features = TextFeatures()
    estimator = OneVsRestSVM(taxonomy=TREE, random_state=0).fit(features.fit_transform(TEXTS), LABELS)
    model = TextClassifier(OneVsRestSVM(taxonomy=TREE, random_state=0), TextFeatures()).fit(TEXTS, LABELS)
    X = features.transform(NEW_TEXTS)
    assert model.predict(NEW_TEXTS).tolist() == estimator.predict(X).tolist()
    assert model.predict_path(NEW_TEXTS) == estimator.predict_path(X)
    np.testing.assert_allclose(model.decision_function(NEW_TEXTS), estimator.decision_function(X), atol=1e-12)
    assert model.top_k(NEW_TEXTS, 2)[0].tolist() == estimator.top_k(X, 2)[0].tolist()
    assert model.score(TEXTS, LABELS) == estimator.score(features.transform(TEXTS), LABELS) == 1.0
    assert model.classes_.tolist() == estimator.classes_.tolist()
    assert model.certificate_.holds(1e-4)
    assert model.taxonomy is TREE
    assert model.tried_ == []


def test_weights_are_kept_without_zeros() -> None:
    dense = np.zeros((3, 8))
    dense[0, 1] = dense[2, 5] = 1.5
    explicit = sparse.csr_array((np.array([1.5, 0.0, 1.5]), ([0, 1, 2], [1, 4, 5])), shape=(3, 8))
    for coef in (dense, explicit):
        compact = _compact(ClassVectors(coef, np.arange(3.0)))
        assert compact.coef.nnz == 2
        assert compact.coef.toarray().tolist() == dense.tolist()
        assert compact.intercept.tolist() == [0.0, 1.0, 2.0]
    full = ClassVectors(np.ones((2, 2)), np.zeros(2))
    assert _compact(full) is full


def test_several_labels() -> None:
    model = text_model("sets")
    predicted = model.predict(TEXTS)
    assert predicted == model.estimator_.predict(model.features_.transform(TEXTS))
    assert model.score(TEXTS, SETS) == np.mean(
        [set(p) == set(t) for p, t in zip(predicted, SETS, strict=True)]
    )


def test_sample_weight_reaches_the_estimator() -> None:
    weight = np.array([1.0] * 6 + [0.0] * 6)
    with pytest.warns(EmptyClassWarning):
        model = TextClassifier(OneVsRestSVM(taxonomy=TREE), TextFeatures()).fit(
            TEXTS, LABELS, sample_weight=weight
        )
    assert "fear" not in model.predict(TEXTS).tolist()


def test_probabilities_are_there_when_the_estimator_has_them() -> None:
    logistic = TextClassifier(OneVsRestLogistic(), TextFeatures()).fit(TEXTS, LABELS)
    assert logistic.predict_proba(NEW_TEXTS).sum(axis=1) == pytest.approx(1.0)
    assert not hasattr(text_model(), "predict_proba")
    assert not hasattr(TextClassifier(), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        text_model().predict_proba(NEW_TEXTS)
    assert "probability=True" in str(caught.value.__cause__.__cause__ or caught.value.__cause__)


def test_features_are_chosen_where_the_user_does_not_say() -> None:
    model = TextClassifier(OneVsRestSVM(random_state=0), random_state=0).fit(TEXTS * 3, LABELS * 3)
    assert len(model.tried_) == 10  # six kinds of n-grams, two other weights, and each part alone
    assert {"settings", "score", "n_features", "seconds", "problem", "chosen"} == set(model.tried_[0])
    [chosen] = [entry for entry in model.tried_ if entry["chosen"]]
    parameters = model.features_.get_params()
    assert {name: parameters[name] for name in chosen["settings"]} == chosen["settings"]
    again = clone(model).fit(TEXTS * 3, LABELS * 3)
    assert [entry["score"] for entry in again.tried_] == [entry["score"] for entry in model.tried_]


def test_the_choice_is_told_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    TextClassifier(OneVsRestSVM(), random_state=0, verbose=1).fit(TEXTS * 3, LABELS * 3)
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if "held-out accuracy" in line]) == 10


def test_two_texts_are_enough() -> None:
    model = TextClassifier(random_state=0).fit(["left femur", "skin"], ["bone", "skin"])
    assert model.predict(["the femur"]).tolist() == ["bone"]


def test_an_iterator_of_texts_is_read_once() -> None:
    model = TextClassifier(OneVsRestSVM(), random_state=0).fit(iter(TEXTS), LABELS)
    assert model.score(TEXTS, LABELS) == 1.0


def test_texts_may_be_a_column() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"text": TEXTS, "label": LABELS})
    model = TextClassifier(features=TextFeatures()).fit(table["text"], table["label"])
    assert model.predict(table["text"]).tolist() == LABELS


def test_scikit_learn_can_clone_it() -> None:
    model = TextClassifier(OneVsRestSVM(C=2.0), TextFeatures(min_df=2), random_state=3, titles=TITLES)
    copied = clone(model)
    assert copied.get_params()["estimator__C"] == 2.0
    assert copied.get_params()["features__min_df"] == 2
    assert copied.titles == TITLES
    assert "TextClassifier" in repr(copied)


@pytest.mark.parametrize("labels", ["names", "sets"])
@pytest.mark.parametrize("analyzer", ["word", "word+char"])
@pytest.mark.parametrize("text", NEW_TEXTS)
def test_explanations_add_up_by_features_and_by_words(labels: str, analyzer: str, text: str) -> None:
    model = text_model(labels, analyzer)
    explanation = model.explain(text)
    scores = dict(zip(model.classes_.tolist(), model.decision_function([text])[0], strict=True))
    assert explanation.score == pytest.approx(max(scores.values()), abs=1e-9)
    assert explanation.words is not None
    for sum_ in (explanation.contributions, explanation.words):
        assert math.fsum(value for _, value in sum_) == pytest.approx(explanation.score, abs=1e-6)
    for node in explanation.nodes:
        assert node.words is not None
        assert math.fsum(value for _, value in node.words) == pytest.approx(node.score, abs=1e-6)
        if node.margin is not None:
            assert node.deciding_words is not None
            for sum_ in (node.deciding, node.deciding_words):
                assert math.fsum(value for _, value in sum_) == pytest.approx(node.margin, abs=1e-6)
    if labels == "names":
        assert explanation.label == model.predict([text])[0]
        assert explanation.path == model.predict_path([text])[0]


def test_an_explanation_shows_words_and_titles() -> None:
    text = text_model().explain("the broken FEMUR, left").to_text()
    assert text.startswith("femur (thigh bone): score ")
    assert "└─ body: ahead of mind (Mental disorders), with fear (phobia), by " in text
    assert "FEMUR +" in text
    assert "broken" not in text  # not in the vocabulary: it has decided nothing
    plain = text_model(titles=False).explain("the broken FEMUR, left")
    assert plain.titles == {}
    assert plain.to_text().startswith("femur: score ")


def test_an_explanation_as_a_dict_has_words() -> None:
    found = text_model().explain("left femur").to_dict()
    assert [entry["word"] for entry in found["words"]] == ["left", "femur", "(intercept)"]
    assert found["titles"]["femur"] == "thigh bone"
    assert found["nodes"][0]["deciding_words"][0]["word"] == "left"


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ("one text", "texts is one str; give a list of texts"),
        ([], "texts is empty"),
        (["a femur", None], "row 1 of texts is missing"),
        (["a femur", 7], "row 1 of texts is 7"),
        ([["a", "femur"]], "row 0 of texts is"),
        (7, "texts is a int"),
        (None, "texts is a NoneType"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "predict_path", "decision_function", "top_k", "fit", "choice"])
def test_bad_texts(texts: Any, sentence: str, method: str) -> None:
    if method in ("fit", "choice"):
        call = TextClassifier(features=TextFeatures() if method == "fit" else None).fit
        arguments: tuple[Any, ...] = (texts, ["a", "b"])
        sentence = "text" if method == "choice" and texts == [] else sentence
    else:
        call, arguments = getattr(text_model(), method), (texts,)
    with pytest.raises(DataError, match=sentence):
        call(*arguments)


@pytest.mark.parametrize("text", [["left femur"], ["a", "b"], None, 7, b"femur", np.array(["femur"])])
def test_only_one_text_is_explained(text: Any) -> None:
    with pytest.raises(DataError, match="explain takes one text, a str"):
        text_model().explain(text)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"estimator": "svm"}, "estimator='svm' is not one of taxolearn's"),
        ({"estimator": TextClassifier()}, "is not one of taxolearn's"),
        ({"features": "tfidf"}, "features='tfidf' is not valid"),
        ({"features": TextFeatures(analyzer="words")}, "analyzer='words' is not valid"),
        ({"titles": ["femur"]}, "titles=.* is not valid; give a dict"),
        ({"titles": {"femur": 3}}, "the title of 'femur' is 3; give a str"),
        ({"estimator": OneVsRestSVM(C=-1)}, "C=-1 is not allowed"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        TextClassifier(**parameters).fit(TEXTS, LABELS)


def test_bad_labels() -> None:
    with pytest.raises(LabelError, match="did you mean 'femur'"):
        TextClassifier(OneVsRestSVM(taxonomy=TREE), TextFeatures()).fit(["femur", "skin"], ["femru", "skin"])
    for features in (None, TextFeatures()):
        with pytest.raises((DataError, LabelError), match="2"):
            TextClassifier(features=features).fit(TEXTS, ["femur", "skin"])
        with pytest.raises((DataError, LabelError)):
            TextClassifier(features=features).fit(TEXTS, None)
    with pytest.raises(LabelError, match="'bone' is a node of the taxonomy, but not a class"):
        text_model().explain("femur", label="bone")


@pytest.mark.parametrize("method", ["predict", "predict_path", "decision_function", "top_k", "explain"])
def test_not_fitted(method: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(TextClassifier(), method)("text" if method == "explain" else ["text"])
    assert not hasattr(TextClassifier(), "classes_")
