"""Where features stand in a text, and how its row is split among its words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_cases import MEDICAL, any_texts, corpora

from taxolearn.errors import DataError
from taxolearn.text import TextFeatures
from taxolearn.text.reading import text_cleaner
from taxolearn.text.vocabulary import WORD

EXAMPLES = settings(deadline=None, max_examples=100)


def both(**parameters):
    return TextFeatures(analyzer="word+char", char_ngrams=(2, 4), **parameters).fit(MEDICAL)


def test_readable_names_and_places():
    text = "Left FEMUR, the femur"
    spans = {span.name: span for span in both().feature_spans(text)}
    assert [text[start:end] for start, end in spans["word: femur"].spans] == ["FEMUR", "femur"]
    assert [text[start:end] for start, end in spans["word: left femur"].spans] == ["Left FEMUR"]
    assert [text[start:end] for start, end in spans["chars: emu"].spans] == ["EMU", "emu"]
    assert [text[start:end] for start, end in spans["chars: ␣le"].spans] == ["Le"]
    assert [text[start:end] for start, end in spans["chars: r,␣"].spans] == ["R,"]


@EXAMPLES
@given(
    corpora,
    any_texts,
    st.sampled_from(["word", "char", "word+char"]),
    st.sampled_from([None, "ascii", "unicode"]),
    st.sampled_from(["tfidf", "bm25"]),
    st.integers(1, 4),
)
def test_spans_and_shares_add_up_to_the_row(texts, text, analyzer, strip_accents, weighting, shortest):
    features = TextFeatures(
        analyzer=analyzer,
        char_ngrams=(shortest, 4),
        strip_accents=strip_accents,
        weighting=weighting,
    )
    try:
        features.fit([*texts, text])
    except DataError:
        return
    row = features.transform([text]).toarray()[0]
    names = features.get_feature_names_out()
    spans = features.feature_spans(text)
    assert [span.column for span in spans] == np.flatnonzero(row).tolist()
    assert [span.value for span in spans] == row[row != 0].tolist()
    words, shares = features.word_shares(text)
    assert shares.shape == (len(words), len(row))
    np.testing.assert_allclose(shares.sum(axis=0), row, rtol=1e-12, atol=1e-15)

    clean = text_cleaner(True, strip_accents)
    cleaned = clean(text)
    for span in spans:
        name = names[span.column].removeprefix("word__").removeprefix("char__")
        assert all(0 <= start < end <= len(text) for start, end in span.spans)
        if cleaned == text:  # nothing moved: every place reads as the name says
            for start, end in span.spans:
                found = text[start:end]
                if span.name.startswith("word: "):
                    assert WORD.findall(found) == name.split()
                else:
                    assert found == name.strip() or name == " "


def test_places_survive_letters_that_change_length():
    text = "İİ ﬁn FEMUR"
    features = TextFeatures(strip_accents="unicode", word_ngrams=(1, 1)).fit(["femur fin"])
    places = {
        span.name: [text[start:end] for start, end in span.spans] for span in features.feature_spans(text)
    }
    assert places == {"word: femur": ["FEMUR"], "word: fin": ["ﬁn"]}
    assert features.word_shares(text).words == ["İİ", "ﬁn", "FEMUR"]


def test_contributions_of_words_add_up_to_the_score():
    features = both()
    weights = np.random.default_rng(0).normal(size=len(features.get_feature_names_out()))
    text = "Fracture of the left femur"
    words, shares = features.word_shares(text)
    assert words == ["Fracture", "of", "the", "left", "femur"]
    assert (shares @ weights).sum() == pytest.approx((features.transform([text]) @ weights)[0])


def test_a_word_of_a_pair_gets_half_of_it():
    features = TextFeatures(word_ngrams=(2, 2), norm=None).fit(["left femur"])
    words, shares = features.word_shares("(left femur)")
    assert words == ["left", "femur"]
    assert shares.toarray().tolist() == [[0.5], [0.5]]


def test_nothing_known_or_nothing_at_all():
    features = both()
    assert features.feature_spans("") == []
    assert features.word_shares("").words == []
    words, shares = features.word_shares("?? ¤")
    assert words == ["??", "¤"]
    assert shares.nnz == 0
