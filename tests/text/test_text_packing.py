"""Fitted features as header and arrays: the same rows after a round trip, a ModelError for anything odd."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_cases import MEDICAL, corpora

from taxolearn.errors import DataError, ModelError
from taxolearn.storage import read_model, write_model
from taxolearn.text import TextFeatures

EXAMPLES = settings(deadline=None, max_examples=60)
ANALYZERS = ["word", "char", "word+char"]


@EXAMPLES
@given(corpora, corpora, st.sampled_from(ANALYZERS), st.sampled_from(["tfidf", "bm25"]), st.integers(1, 5))
def test_round_trip(texts, more, analyzer, weighting, shortest):
    features = TextFeatures(
        analyzer=analyzer, weighting=weighting, char_ngrams=(shortest, 5), strip_accents="unicode"
    )
    try:
        features.fit(texts)
    except DataError:
        return
    again = TextFeatures.unpack(*features.pack())
    assert again.get_params() == features.get_params()
    assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
    for batch in (texts, more):
        assert (again.transform(batch) != features.transform(batch)).nnz == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_through_a_model_folder(tmp_path, dtype):
    features = TextFeatures(analyzer="word+char", min_df=np.int64(1), dtype=np.dtype(dtype)).fit(MEDICAL)
    header, arrays = features.pack("a/b")
    write_model(tmp_path / "model", {"text": header}, arrays)
    stored, mapped = read_model(tmp_path / "model")
    again = TextFeatures.unpack(stored["text"], mapped, "a/b")
    rows = again.transform(MEDICAL)
    assert rows.dtype == dtype
    assert (rows != features.transform(MEDICAL)).nnz == 0
    assert again.feature_spans(MEDICAL[0]) == features.feature_spans(MEDICAL[0])


def test_the_alphabet_decides_the_size_of_a_number():
    small = TextFeatures(analyzer="char").fit(MEDICAL).pack()[1]
    assert small["text/char/grams"].dtype == np.uint8
    large = TextFeatures(analyzer="char").fit(["".join(map(chr, range(0x4E00, 0x4F00)))])
    assert large.pack()[1]["text/char/grams"].dtype == np.int32
    assert TextFeatures.unpack(*large.pack()).transform(["一丁"]).nnz == large.transform(["一丁"]).nnz > 0


@pytest.fixture
def packed():
    return TextFeatures(analyzer="word+char", char_ngrams=(4, 5)).fit(MEDICAL).pack()


@pytest.mark.parametrize("header", [None, [], {}, {"settings": None}, {"settings": {"analyzer": "word"}}])
def test_headers_that_are_none(packed, header):
    with pytest.raises(ModelError, match="settings"):
        TextFeatures.unpack(header, packed[1])


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("analyzer", "all"),
        ("word_ngrams", (2, 1)),
        ("char_ngrams", "25"),
        ("weighting", ["tfidf"]),
        ("k1", float("inf")),
        ("dtype", "object"),
        ("norm", {}),
    ],
)
def test_settings_that_are_odd(packed, setting, value):
    header, arrays = packed
    with pytest.raises(ModelError, match=f"stored text: {setting}="):
        TextFeatures.unpack({**header, "settings": {**header["settings"], setting: value}}, arrays)


@pytest.mark.parametrize(
    "lengths", [None, [1.0], [1.0, 2], [1.0, 0.0], [1.0, float("nan")], [1.0, float("inf")]]
)
def test_mean_lengths_that_are_odd(packed, lengths):
    header, arrays = packed
    with pytest.raises(ModelError, match="mean"):
        TextFeatures.unpack({**header, "mean_lengths": lengths}, arrays)


def test_settings_that_ask_for_other_arrays(packed):
    header, arrays = packed
    for change in ({"dtype": "float32"}, {"word_ngrams": (1, 1)}, {"char_ngrams": (5, 5)}):
        with pytest.raises(ModelError):
            TextFeatures.unpack({**header, "settings": {**header["settings"], **change}}, arrays)


@pytest.mark.parametrize("kind", ["word", "char"])
@pytest.mark.parametrize("name", ["atoms", "atom_ends", "grams", "idf"])
def test_arrays_that_are_missing_or_of_another_kind(packed, kind, name):
    header, arrays = packed
    key = f"text/{kind}/{name}"
    whole = arrays.pop(key)
    with pytest.raises(ModelError, match="missing"):
        TextFeatures.unpack(header, arrays)
    for other in (
        whole.astype(np.complex128),
        whole[None],
        whole[:-1],
        whole[:0],
        np.concatenate([whole, whole]),
    ):
        with pytest.raises(ModelError):
            TextFeatures.unpack(header, {**arrays, key: other})


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def blanked(raw):
    return changed(raw, 1, ord(" "))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("word/atoms", lambda a: changed(a, 0, 0xFF), "UTF-8"),
        ("word/atoms", lambda a: changed(a, 0, ord("z")), "sorted"),
        ("word/atoms", blanked, "white space"),
        ("word/atom_ends", lambda a: changed(a, 0, 0), "offsets"),
        ("word/atom_ends", lambda a: changed(a, 0, -(2**62)), "offsets"),
        ("word/atom_ends", lambda a: changed(a, -1, 2**62), "offsets"),
        ("word/atom_ends", lambda a: changed(a, 1, a[0]), "offsets"),
        ("word/grams", lambda a: changed(a, (0, 0), 0), "gap"),
        ("word/grams", lambda a: changed(a, (0, 0), 255), "not there"),
        ("word/grams", lambda a: changed(a.astype(np.int32), (0, 0), -1), "not there"),
        ("word/grams", lambda a: a[::-1], "sorted"),
        ("word/grams", lambda a: changed(a, 1, a[0]), "twice"),
        ("word/grams", lambda a: np.column_stack([a, np.ones(len(a), a.dtype)]), "gap"),
        ("char/grams", lambda a: changed(a, (-1, slice(1, None)), 0), "shorter"),
        ("word/idf", lambda a: changed(a, 0, np.nan), "positive"),
        ("word/idf", lambda a: changed(a, -1, np.inf), "positive"),
        ("char/idf", lambda a: changed(a, 0, -1.0), "positive"),
        ("char/idf", lambda a: changed(a, 0, 1e200), "positive"),
    ],
)
def test_content_that_is_odd(packed, name, change, message):
    header, arrays = packed
    with pytest.raises(ModelError, match=message):
        TextFeatures.unpack(header, {**arrays, f"text/{name}": change(arrays[f"text/{name}"])})


def test_an_offset_inside_a_character():
    header, arrays = TextFeatures(word_ngrams=(1, 1)).fit(["aé éa"]).pack()
    assert arrays["text/word/atom_ends"].tolist() == [3, 6]
    arrays["text/word/atom_ends"] = np.array([2, 6])
    with pytest.raises(ModelError, match="cuts a character in two"):
        TextFeatures.unpack(header, arrays)
    header, arrays = TextFeatures(analyzer="char").fit(["aé"]).pack()
    arrays["text/char/atom_ends"] = arrays["text/char/atom_ends"][1:]
    with pytest.raises(ModelError, match="more than one character"):
        TextFeatures.unpack(header, arrays)


@EXAMPLES
@given(st.data())
def test_any_altered_byte_is_refused_or_harmless(data):
    header, arrays = TextFeatures(analyzer="word+char", char_ngrams=(2, 3)).fit(MEDICAL).pack()
    key = data.draw(st.sampled_from(sorted(arrays)))
    raw = bytearray(arrays[key].tobytes())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    arrays[key] = np.frombuffer(bytes(raw), arrays[key].dtype).reshape(arrays[key].shape)
    try:
        features = TextFeatures.unpack(header, arrays)
    except ModelError:
        return
    rows = features.transform(MEDICAL)
    assert rows.shape == (len(MEDICAL), len(features.get_feature_names_out()))
    assert np.isfinite(rows.data).all()
    features.word_shares(MEDICAL[0])
