"""Models by name: a real one of Model2Vec, made of arrays, and a stand-in for Sentence Transformers."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from model2vec import StaticModel
from tokenizers import Tokenizer, models, pre_tokenizers

import taxolearn
from taxolearn import OneVsRestSVM, TextClassifier
from taxolearn.errors import DataError, ModelError
from taxolearn.text import TextFeatures
from taxolearn.text.embedders import embedder_of
from taxolearn.text.model_embedders import model_embedder

WORDS = {"[UNK]": 0, "femur": 1, "tibia": 2, "skin": 3, "rash": 4}
VECTORS = np.array([[0.1, 0.1], [1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], dtype=np.float32)


def static_model(folder: Path, vectors: Any = VECTORS, words: dict[str, int] = WORDS) -> str:
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    StaticModel(vectors, tokenizer).save_pretrained(folder)
    model_embedder.cache_clear()
    return f"model2vec:{folder}"


def test_a_model_of_model2vec_by_name(tmp_path: Path) -> None:
    name = static_model(tmp_path / "tiny")
    np.testing.assert_allclose(
        embedder_of(name).embed(["femur tibia", ""]), [[0.95, 0.05], [0, 0]], atol=1e-6
    )
    features = TextFeatures(analyzer=None, embedder=name)
    model = TextClassifier(OneVsRestSVM(), features).fit(["femur", "skin"], ["bone", "skin"])
    assert model.predict(["tibia", "rash"]).tolist() == ["bone", "skin"]
    model.save(tmp_path / "model")
    again = taxolearn.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(["tibia"]), model.decision_function(["tibia"]))


def test_a_model_that_is_gone_is_what_is_missed(tmp_path: Path) -> None:
    name = static_model(tmp_path / "tiny")
    features = TextFeatures(analyzer=None, embedder=name)
    TextClassifier(OneVsRestSVM(), features).fit(["femur", "skin"], ["bone", "skin"]).save(tmp_path / "model")
    (tmp_path / "tiny").rename(tmp_path / "moved")
    model_embedder.cache_clear()
    with pytest.raises(ModelError, match=r"model2vec has no model '.*tiny' here"):
        taxolearn.load(tmp_path / "model")


@pytest.mark.parametrize(
    "changed",
    [{"vectors": VECTORS[::-1].copy()}, {"words": WORDS | {"femur": 3, "skin": 1}}],
    ids=["numbers", "words"],
)
def test_a_changed_model_is_not_taken_for_the_old_one(tmp_path: Path, changed: dict[str, Any]) -> None:
    name = static_model(tmp_path / "tiny")
    features = TextFeatures(analyzer=None, embedder=name)
    TextClassifier(OneVsRestSVM(), features).fit(["femur", "skin"], ["bone", "skin"]).save(tmp_path / "model")
    static_model(tmp_path / "tiny", **changed)
    with pytest.raises(ModelError, match="its fingerprint differs"):
        taxolearn.load(tmp_path / "model")


class Tensor(SimpleNamespace):
    """What is asked of PyTorch's."""

    def detach(self) -> Tensor:
        return self

    float = cpu = detach

    def numpy(self) -> Any:
        return self.values


class Transformer:
    """What is asked of a SentenceTransformer."""

    weights, words = VECTORS, WORDS

    def __init__(self, name: str) -> None:
        self.tokenizer = SimpleNamespace(get_vocab=lambda: self.words)
        if name != "tiny":
            raise OSError(f"{name} is not a model\nmore lines")

    def encode(self, texts: list[str], show_progress_bar: bool | None = None) -> Any:
        assert show_progress_bar is False
        return np.array([self.weights[self.words.get(text, 0)] for text in texts])

    def state_dict(self) -> dict[str, Tensor]:
        return {"embedding": Tensor(values=self.weights)}


def test_sentence_transformers_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in: Any = ModuleType("sentence_transformers")
    stand_in.SentenceTransformer = Transformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", stand_in)
    model_embedder.cache_clear()
    features = TextFeatures(analyzer=None, embedder="sentence-transformers:tiny")
    model = TextClassifier(OneVsRestSVM(), features).fit(["femur", "skin"], ["bone", "skin"])
    assert model.predict(["tibia", "rash"]).tolist() == ["bone", "skin"]
    model.save(tmp_path)
    assert taxolearn.load(tmp_path).predict(["tibia"]).tolist() == ["bone"]
    with pytest.raises(DataError, match=r"has no model 'other' here: other is not a model$"):
        embedder_of("sentence-transformers:other")
    for part, changed in (("weights", 2 * VECTORS), ("words", WORDS | {"femur": 3, "skin": 1})):
        with monkeypatch.context() as patch:
            patch.setattr(Transformer, part, changed)
            model_embedder.cache_clear()
            with pytest.raises(ModelError, match="its fingerprint differs"):
                taxolearn.load(tmp_path)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    model_embedder.cache_clear()
    with pytest.raises(ModelError, match="needs sentence-transformers; pip install sentence-transformers"):
        taxolearn.load(tmp_path)
    model_embedder.cache_clear()
