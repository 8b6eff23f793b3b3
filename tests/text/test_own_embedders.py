"""Embedders of the user's own: what is wrong with them is told, and never left out unsaid."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import taxolearn
from taxolearn import OneVsRestSVM, TextClassifier
from taxolearn.errors import DataError
from taxolearn.text import TextFeatures, choose_text_features, embedders, register_embedder
from taxolearn.text.embedders import embedder_of
from taxolearn.text.embedding_block import EmbeddingBlock
from taxolearn.text.static_words import static_words

TEXTS = ["left femur", "burnt skin", "broken tibia", "an itching rash"] * 10
LABELS = ["bone", "skin"] * 20


def lengths(texts: list[str]) -> Any:
    return np.array([[len(text), 1.0, text.count("e")] for text in texts])


def described(**parts: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"name": "own", "dimension": 3, "fingerprint": "1", "embed": lengths} | parts)


@pytest.mark.parametrize(
    ("embedder", "sentence"),
    [
        (
            lambda texts: [[np.nan if "femur" in text else 1.0] for text in texts],
            "not finite for 'left femur'",
        ),
        (
            lambda texts: [[1e300 if "femur" in text else 1.0] for text in texts],
            "not finite for 'left femur'",
        ),
        (lambda texts: np.ones((3, 2)), r"array of shape \(3, 2\), not \(40, 2\)"),
        (described(dimension=2), r"the embedder 'own' returned an array of shape \(40, 3\), not \(40, 2\)"),
        ({text: [1.0] for text in TEXTS if "femur" not in text}, "no vector for the text 'left femur'"),
        ({text: [np.nan] for text in TEXTS}, "not finite for 'left femur'"),
    ],
    ids=["NaN", "infinite", "rows", "dimension", "no vector", "NaN in a dict"],
)
@pytest.mark.parametrize("features", ["auto", "both", "embeddings"])
def test_what_fails_is_not_a_candidate_that_lost(features: str, embedder: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        TextClassifier(OneVsRestSVM(), features, embedder=embedder, random_state=0).fit(TEXTS, LABELS)
    candidates = [TextFeatures(), TextFeatures(embedder=embedder)]
    with pytest.raises(DataError, match=r"embedder|no vector"):
        choose_text_features(TEXTS, LABELS, lambda *rows: 0.5, candidates=candidates, random_state=0)


@pytest.mark.parametrize(
    ("embedder", "sentence"),
    [
        (list, "returned no array of numbers: values of type <U"),
        (lambda texts: np.ones((len(texts), 2)) * 1j, "no array of numbers: values of type complex128"),
        (lambda texts: [[1.0] * len(text) for text in texts], "returned no array of numbers"),
        (lambda texts: None, r"returned an array of shape \(\)"),
        (lambda texts: np.ones((len(texts), 2, 2)), r"shape \(3, 2, 2\) for 3 texts; one row per text"),
        (lambda texts: np.ones((len(texts), 0)), r"shape \(3, 0\)"),
        (np.eye(40), r"say which text each vector is of: dict\(zip\(texts, vectors\)\)"),
        (EmbeddingBlock, "it is a class"),
        ({"a": []}, "must be numbers, and of one length"),
        ({"a": "b"}, "must be numbers, and of one length"),
        (described(name=None), "an embedder has name=None"),
        (described(dimension=0), "dimension a whole number from 1 on"),
        (described(fingerprint=7), "fingerprint=7; name and fingerprint must be str"),
    ],
)
def test_what_cannot_be_an_embedder(embedder: Any, sentence: str) -> None:
    given = (lambda texts: list(texts)) if embedder is list else embedder
    with pytest.raises(DataError, match=sentence):
        TextClassifier(OneVsRestSVM(), embedder=given).fit(TEXTS, LABELS)


def test_an_exception_of_the_users_reaches_them() -> None:
    def broken(texts: list[str]) -> Any:
        if len(texts) > 3:
            raise RuntimeError("out of memory")
        return lengths(texts)

    with pytest.raises(RuntimeError, match="out of memory"):
        TextClassifier(OneVsRestSVM(), embedder=broken).fit(TEXTS, LABELS)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_unit_vectors_whatever_comes(scale: float, dtype: Any) -> None:
    block = EmbeddingBlock.of(lambda texts: (lengths(texts) * scale).astype(dtype), 1.0, None, alone=True)
    rows = block.rows(TEXTS[:4])
    assert rows.dtype == np.float32
    expected = lengths(TEXTS[:4])
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1)[:, None], rtol=1e-5)


def test_numbers_of_numpy_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "_registered", {})
    own = described(dimension=np.int64(3))
    features = TextFeatures(embedder=own, embedding_columns=np.int32(2), embedding_weight=np.float32(0.5))
    model = TextClassifier(OneVsRestSVM(), features).fit(TEXTS, LABELS)
    model.save(tmp_path)
    header = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    told = {"name": "own", "dimension": 3, "fingerprint": "1", "columns": 2, "weight": 0.5}
    assert (
        header["header"]["features"]["embedding"] == told
    )  # by name and fingerprint, no code and no vectors
    register_embedder(own)
    again = taxolearn.load(tmp_path)
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
    assert embedder_of("own") is own


def test_auto_leaves_out_n_grams_that_only_disturb() -> None:
    """Three texts with the same words, one of each class: what is left out looks like the other two."""
    random = np.random.RandomState(0)
    words = [first + rest for first in "bcdfgklmnprst" for rest in ("ab", "ek", "op", "ut", "il", "um")]
    groups = random.choice(words, (40, 8))
    table = {}
    for row in range(120):
        table[f"{row:03} {' '.join(groups[row // 3])}"] = 1.5 * np.eye(3)[row % 3] + 0.8 * random.normal(
            size=3
        )
    model = TextClassifier(OneVsRestSVM(), "auto", embedder=table, random_state=0)
    model.fit(list(table), ["bone", "skin", "eye"] * 40)
    assert (model.features_.analyzer, model.features_.embedder) == (None, table)
    assert [entry["settings"]["analyzer"] for entry in model.tried_ if entry["chosen"]] == [None]


class Connected:
    """A model that cannot be copied, as those that hold a connection cannot."""

    def __init__(self) -> None:
        self.lock = Lock()

    def encode(self, texts: list[str]) -> Any:
        with self.lock:
            return lengths(texts)


@pytest.mark.parametrize("features", ["auto", "both", "embeddings"])
def test_embedders_are_never_copied(features: str) -> None:
    embedder = Connected().encode
    model = TextClassifier(OneVsRestSVM(), features, embedder=embedder, random_state=0)
    assert len(cross_val_score(model, TEXTS, LABELS, cv=2)) == 2
    given = clone(TextClassifier(features=TextFeatures(embedder=embedder), titles={"bone": "Bone"}))
    assert given.features.embedder is embedder
    assert (given.embedder, given.titles) == (None, {"bone": "Bone"})


def test_static_words_need_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any, **options: Any) -> None:
        raise OSError("no network")

    static_words.cache_clear()
    monkeypatch.setattr("socket.socket", refused)
    monkeypatch.setattr("socket.getaddrinfo", refused)
    model = TextClassifier(OneVsRestSVM(), "both", random_state=0).fit(TEXTS, LABELS)
    assert model.predict(["the femur"]).tolist() == ["bone"]


@pytest.mark.parametrize("text", ["femur " * 20_000, "a quick brown fox jumps " * 4_000])
def test_of_long_texts_rows_and_shares_are_exact(text: str) -> None:
    """Added up one by one in single precision they would be off by 5e-5."""
    words = static_words()
    tokens = words.tokenizer.encode(text, add_special_tokens=False).ids
    mean = words.table[tokens].astype(np.float64).mean(axis=0)
    mean /= np.linalg.norm(mean)
    np.testing.assert_allclose(words.embed([text])[0], mean, atol=8e-6)
    shares = words.word_shares(text, words.dimension)[1]
    np.testing.assert_allclose(shares.sum(axis=0, dtype=np.float64), mean, atol=8e-6)
