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


def slow_shares(features, text):
    """Word by word and n-gram by n-gram, with dictionaries of strings."""
    names = {name: column for column, name in enumerate(features.get_feature_names_out())}
    row = features.transform([text]).toarray()[0]
    chunks = text.lower().split()
    parts = []  # a feature and the chunks that it is made of, for every occurrence
    words = [(word, position) for position, chunk in enumerate(chunks) for word in WORD.findall(chunk)]
    for n in (1, 2):
        for i in range(len(words) - n + 1):
            name = "word__" + " ".join(word for word, _ in words[i : i + n])
            parts.append((name, [position for _, position in words[i : i + n]]))
    for position, chunk in enumerate(chunks):
        padded = f" {chunk} "
        for n in (2, 3, 4):
            parts += [("char__" + padded[i : i + n], [position]) for i in range(len(padded) - n + 1)]
    parts = [(names[name], positions) for name, positions in parts if name in names]
    found = np.zeros((len(chunks), len(names)))
    for column, positions in parts:
        times = sum(other == column for other, _ in parts)
        for position in positions:
            found[position, column] += row[column] / times / len(positions)
    return found


@EXAMPLES
@given(st.lists(st.sampled_from(["femur", "left", "Femur,", "hip", "a", "x-ray", "hip-femur"]), max_size=12))
def test_shares_are_those_of_a_slow_twin(chunks):
    features, text = both(), "  ".join(chunks)
    _, shares = features.word_shares(text)
    np.testing.assert_allclose(shares.toarray(), slow_shares(features, text), rtol=1e-12, atol=1e-15)


ASKED = "Left FEMUR, of the femur"
BY_TEXT = {text: [1.0, float(place)] for place, text in enumerate([*MEDICAL, ASKED])}


@pytest.mark.parametrize("embedder", [None, "words", BY_TEXT], ids=["none", "words", "texts"])
def test_parts_side_by_side_are_the_shares_of_the_entries(embedder):
    features, text = both(embedder=embedder), ASKED
    entries, words, parts = features.explained(text)
    again, shares = features.word_shares(text)
    assert words == again
    joined = np.hstack([part if isinstance(part, np.ndarray) else part.toarray() for part in parts])
    assert joined.tolist() == shares[:, entries.columns].toarray().tolist()
    np.testing.assert_allclose(joined.sum(axis=0), entries.values, rtol=1e-5, atol=1e-6)
    assert entries.names == [span.name for span in features.feature_spans(text)]
