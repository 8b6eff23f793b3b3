"""scikit-learn's habits, and clear errors for what cannot be used."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_checks, get_tags
from text_cases import MEDICAL

from taxolearn.errors import DataError
from taxolearn.text import TextFeatures


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_mixin_order,
    ],
)
def test_those_of_sklearns_checks_that_need_no_numbers(check):
    """scikit-learn runs none of its checks by itself on estimators that read texts."""
    check("TextFeatures", TextFeatures())


def test_tags_are_those_of_a_vectorizer():
    assert get_tags(TextFeatures()).input_tags == get_tags(TfidfVectorizer()).input_tags
    assert not hasattr(TextFeatures().fit(MEDICAL), "n_features_in_")


def test_parameters_and_clone():
    features = TextFeatures(analyzer="char", char_ngrams=[1, 2]).set_params(min_df=2)
    copy = clone(features)
    assert copy.get_params() == features.get_params()
    assert copy.char_ngrams == [1, 2]
    assert repr(TextFeatures(min_df=2)) == "TextFeatures(min_df=2)"
    with pytest.raises(ValueError, match="analyser"):
        features.set_params(analyser="word")


def test_pipeline_and_grid_search():
    texts = ["left femur", "right femur", "left hip", "right hip"] * 5
    labels = [text.split()[1] for text in texts]
    search = GridSearchCV(
        make_pipeline(TextFeatures(), LinearSVC()), {"textfeatures__analyzer": ["word", "char"]}, cv=2
    )
    search.fit(texts, labels)
    assert search.predict(["a femur", "some hip"]).tolist() == ["femur", "hip"]
    names = search.best_estimator_[:-1].get_feature_names_out()
    assert names.shape == (search.best_estimator_[-1].coef_.shape[1],)


@pytest.mark.parametrize(
    "make",
    [tuple, iter, np.array, lambda t: np.array(t, dtype=object), pd.Series, pl.Series],
    ids=["tuple", "iterator", "str array", "object array", "pandas", "polars"],
)
def test_forms_of_texts(make):
    expected = TextFeatures().fit_transform(MEDICAL)
    assert (TextFeatures().fit_transform(make(MEDICAL)) != expected).nnz == 0


def test_settings_changed_after_fit_do_not_reach_transform():
    features = TextFeatures().fit(MEDICAL)
    before = features.transform(MEDICAL)
    features.set_params(analyzer="char", norm=None, weighting="bm25", lowercase=False)
    assert (features.transform(MEDICAL) != before).nnz == 0


def test_a_failed_fit_keeps_the_old_features():
    features = TextFeatures().fit(MEDICAL)
    before = features.transform(MEDICAL)
    with pytest.raises(DataError):
        features.fit(["", ""])
    assert (features.transform(MEDICAL) != before).nnz == 0


def test_a_pickle_for_worker_processes():
    features = TextFeatures(analyzer="word+char").fit(MEDICAL)
    again = pickle.loads(pickle.dumps(features))
    assert (again.transform(MEDICAL) != features.transform(MEDICAL)).nnz == 0


def test_empty_texts_give_empty_rows():
    features = TextFeatures(analyzer="word+char").fit(MEDICAL)
    assert features.transform(["", " \n", "§"]).nnz == 0
    assert features.transform([]).shape == (0, len(features.get_feature_names_out()))


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.transform(["a"]),
        lambda f: f.get_feature_names_out(),
        lambda f: f.pack(),
        lambda f: f.feature_spans("a"),
        lambda f: f.word_shares("a"),
    ],
)
def test_not_fitted(call):
    with pytest.raises(NotFittedError):
        call(TextFeatures())


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a femur", None], r"row 1 of texts is missing \(None\)"),
        (["a femur", float("nan")], r"row 1 of texts is missing \(nan\)"),
        (pd.Series(["a femur", pd.NA], dtype=object), r"row 1 of texts is missing \(<NA>\)"),
        (["a femur", b"bytes"], "row 1 of texts is b'bytes', a bytes"),
        ([["a femur"]], "row 0 of texts is .*, a list"),
        (np.array([["a femur"]]), "row 0 of texts is .*, a ndarray"),
        ([3], "row 0 of texts is 3, a int"),
        ("a femur", "texts is one str"),
        (b"a femur", "texts is one bytes"),
        (None, "texts is a NoneType"),
        (7, "texts is a int"),
        ({"a": "femur"}, "texts is a dict"),
        ({"a femur"}, "texts is a set"),
        (pd.DataFrame({"text": ["a femur"]}), "texts is a DataFrame"),
        (np.array("a femur"), "texts cannot be iterated over"),
        ([], "texts is empty"),
        (["", "a b c"], "the texts hold no word"),
    ],
)
def test_texts_that_cannot_be_used(texts, message):
    with pytest.raises(DataError, match=message):
        TextFeatures().fit(texts)


def test_transform_names_the_row_too():
    with pytest.raises(DataError, match="row 1 of texts is 3, a int"):
        TextFeatures().fit(MEDICAL).transform(["femur", 3])
    with pytest.raises(DataError, match="row 0 of text is missing"):
        TextFeatures().fit(MEDICAL).feature_spans(None)


def test_nothing_left_after_pruning():
    with pytest.raises(DataError, match="min_df=3; lower min_df"):
        TextFeatures(min_df=3).fit(["left hip", "right femur"])
    with pytest.raises(DataError, match="the texts hold no character"):
        TextFeatures(analyzer="char").fit(["", " "])


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("analyzer", ["words", None, 3, ["word"]]),
        ("word_ngrams", [(0, 1), (2, 1), (1,), 1, "12", (1.0, 2), (True, True), None]),
        ("char_ngrams", [(0, 1), (2, 1), (1, 2, 3)]),
        ("weighting", ["bm11", None]),
        ("sublinear_tf", [1, "yes", None]),
        ("k1", [-1, float("nan"), float("inf"), "1", None, True]),
        ("b", [-0.1, 1.1, None, "1"]),
        ("min_df", [0, -1, 1.5, -0.5, "2", None, True, float("nan")]),
        ("max_features", [0, -1, 1.5, "9", True]),
        ("lowercase", [1, None]),
        ("strip_accents", ["utf8", True]),
        ("norm", ["l3", 2]),
        ("dtype", ["int64", "float16", None, "nonsense", 3]),
    ],
)
def test_settings_that_are_not_valid(setting, values):
    for value in values:
        with pytest.raises(DataError, match=f"^{setting}="):
            TextFeatures(**{setting: value}).fit(MEDICAL)


def test_sublinear_bm25_is_refused():
    with pytest.raises(DataError, match="sublinear_tf=True is for weighting='tfidf'"):
        TextFeatures(weighting="bm25", sublinear_tf=True).fit(MEDICAL)


def test_numpy_settings_are_fine():
    features = TextFeatures(
        min_df=np.int64(2), k1=np.float32(1.5), dtype=np.float64, lowercase=np.bool_(True)
    )
    assert features.fit(MEDICAL).settings_["min_df"] == 2
    assert {type(value) for value in features.settings_.values()} <= {
        int,
        float,
        str,
        bool,
        tuple,
        type(None),
    }
