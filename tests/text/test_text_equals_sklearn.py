"""With tf-idf weights the rows and names are those of scikit-learn's vectorizers, on any text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion
from text_cases import MEDICAL, corpora

from taxolearn.errors import DataError
from taxolearn.text import TextFeatures

EXAMPLES = settings(deadline=None, max_examples=120)
ranges = st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair)))
common = st.fixed_dictionaries(
    {
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "ascii", "unicode"]),
        "norm": st.sampled_from(["l1", "l2", None]),
        "sublinear_tf": st.booleans(),
        "min_df": st.sampled_from([1, 2, 0.0, 0.3, 1.0]),
    }
)


def theirs_for(kind, ngrams, parameters):
    analyzer = "word" if kind == "word" else "char_wb"
    return TfidfVectorizer(analyzer=analyzer, ngram_range=ngrams, **parameters)


def assert_same(ours, theirs, rtol=1e-12):
    assert ours.shape == theirs.shape
    assert ours.has_canonical_format
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=rtol, atol=0)


def assert_twins(ours, theirs, texts, more):
    """Both fit to the same rows and names, and transform to the same rows; or both refuse to fit."""
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(DataError):
            ours.fit_transform(texts)
        return
    assert_same(ours.fit_transform(texts), expected)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    for batch in (texts, more):
        assert_same(ours.transform(batch), theirs.transform(batch))


@EXAMPLES
@given(corpora, corpora, ranges, common)
def test_words(texts, more, ngrams, parameters):
    assert_twins(
        TextFeatures(word_ngrams=ngrams, **parameters), theirs_for("word", ngrams, parameters), texts, more
    )


@EXAMPLES
@given(corpora, corpora, ranges, common)
def test_characters(texts, more, ngrams, parameters):
    ours = TextFeatures(analyzer="char", char_ngrams=ngrams, **parameters)
    assert_twins(ours, theirs_for("char", ngrams, parameters), texts, more)


@EXAMPLES
@given(corpora, corpora, ranges, ranges, common)
def test_both_kinds_are_a_feature_union(texts, more, words, chars, parameters):
    ours = TextFeatures(analyzer="word+char", word_ngrams=words, char_ngrams=chars, **parameters)
    union = [("word", theirs_for("word", words, parameters)), ("char", theirs_for("char", chars, parameters))]
    assert_twins(ours, FeatureUnion(union), texts, more)


@pytest.mark.parametrize("kind", ["word", "char"])
def test_a_random_corpus(kind):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdeé"), rng.integers(1, 8))) for _ in range(400)]
    chances = 1 / np.arange(1, 401)
    texts = [" ".join(rng.choice(words, rng.integers(0, 30), p=chances / chances.sum())) for _ in range(500)]
    ours = TextFeatures(analyzer=kind, word_ngrams=(1, 3), char_ngrams=(2, 5), min_df=3)
    theirs = theirs_for(kind, (1, 3) if kind == "word" else (2, 5), {"min_df": 3})
    assert_twins(ours, theirs, texts[:400], texts[400:])


def test_float32():
    ours = TextFeatures(analyzer="word+char", dtype="float32")
    rows = ours.fit_transform(MEDICAL)
    assert rows.dtype == ours.transform(MEDICAL).dtype == np.float32
    np.testing.assert_allclose(
        rows.toarray(), TextFeatures(analyzer="word+char").fit_transform(MEDICAL).toarray(), rtol=1e-5
    )


@EXAMPLES
@given(corpora, st.integers(1, 12))
def test_max_features_keeps_the_most_frequent(texts, limit):
    try:
        counter = CountVectorizer(analyzer="char_wb", ngram_range=(1, 3))
        totals = np.asarray(counter.fit_transform(texts).sum(axis=0)).ravel()
    except ValueError:
        return
    # By falling count, equals by name: where scikit-learn leaves the choice to the sort of the machine.
    order = sorted(zip(-totals, counter.get_feature_names_out(), strict=True))
    expected = sorted(name for _, name in order[:limit])
    ours = TextFeatures(analyzer="char", char_ngrams=(1, 3), max_features=limit).fit(texts)
    assert ours.get_feature_names_out().tolist() == expected
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), vocabulary=expected)
    assert_same(ours.transform(texts), theirs.fit_transform(texts))


def test_max_features_equals_sklearn_without_ties():
    texts = ["aa aa aa bb bb cc", "aa bb aa dd dd dd dd dd dd"]
    ours = TextFeatures(word_ngrams=(1, 1), max_features=2)
    assert_twins(ours, TfidfVectorizer(max_features=2), texts, ["aa cc dd"])


def test_half_a_character_counts_as_a_question_mark():
    ours = TextFeatures(analyzer="char", char_ngrams=(1, 2)).fit(["a\ud800b"])
    assert (
        ours.get_feature_names_out().tolist()
        == TextFeatures(analyzer="char", char_ngrams=(1, 2)).fit(["a?b"]).get_feature_names_out().tolist()
    )


def test_texts_with_the_mark_that_ends_a_text():
    texts = ["\0", "\0\0 femur", "left \0femur\0", ""]
    assert_twins(TextFeatures(), TfidfVectorizer(ngram_range=(1, 2)), texts, texts[::-1])


def test_more_texts_than_are_read_at_a_time():
    texts = [f"word{i % 7} word{i % 11}" for i in range(5000)]
    assert_twins(TextFeatures(), TfidfVectorizer(ngram_range=(1, 2)), texts, texts[:3])
