"""Embeddings beside n-grams, the user's own embedders, and texts about classes as rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import taxolearn
from taxolearn import NormalizedHierarchicalSVM, OneVsRestSVM, Taxonomy, TextClassifier
from taxolearn.errors import DataError, ModelError
from taxolearn.full_columns import full_columns, split_rows
from taxolearn.structure import Term
from taxolearn.text import TextFeatures, embedders, register_embedder
from taxolearn.text.embedders import embedder_of
from taxolearn.text.embedding_block import beside
from taxolearn.text.static_words import static_words
from taxolearn.vectors import ClassVectors

TEXTS = ["left femur", "burnt skin", "broken tibia", "an itching rash"]
LABELS = ["bone", "skin", "bone", "skin"]
TREE = Taxonomy.from_paths(["body/bone", "body/skin", "plant/oak tree"])


def lengths(texts: list[str]) -> Any:
    return np.array([[len(text), 1.0, text.count("e")] for text in texts])


def test_static_words_are_the_mean_of_all_tokens() -> None:
    """Against the tokens of whole texts, one text at a time."""
    words = static_words()
    texts = ["The left femur, broken!", "naïve Σ 42", "a"]
    for text, row in zip(texts, words.embed(texts), strict=True):
        mean = words.table[words.tokenizer.encode(text, add_special_tokens=False).ids].mean(axis=0)
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-6)
    assert not words.embed(["", "  \n"]).any()
    assert words.embed(["\ud800"]).shape == (1, 256)  # half a character


def test_columns_stand_side_by_side() -> None:
    plain, both = TextFeatures(), TextFeatures(embedder="words", embedding_weight=0.5)
    rows, mixed = plain.fit_transform(TEXTS), both.fit_transform(TEXTS)
    np.testing.assert_array_equal(mixed[:, : rows.shape[1]].toarray(), rows.toarray())
    np.testing.assert_allclose(
        mixed[:, rows.shape[1] :].toarray(), 0.5 * static_words().embed(TEXTS), atol=1e-7
    )
    np.testing.assert_array_equal(both.transform(TEXTS).toarray(), mixed.toarray())
    assert len(both.get_feature_names_out()) == both.n_features_out_ == mixed.shape[1]
    alone = TextFeatures(analyzer=None, embedder="words", dtype="float32").fit_transform(TEXTS)
    assert isinstance(alone, np.ndarray)
    assert alone.shape == (4, 256)
    assert alone.dtype == np.float32


def test_fewer_columns_are_used_where_texts_abound() -> None:
    features = TextFeatures(embedder="words", word_ngrams=(1, 1))
    assert features.fit(["a cat"] * 20_001).embedding_.columns == 32
    assert features.fit(["a cat"] * 5_001).embedding_.columns == 64
    assert features.fit(["a cat"]).embedding_.columns == 256
    assert features.set_params(embedding_columns=300).fit(["a cat"]).embedding_.columns == 256


def test_beside_and_split_undo_each_other() -> None:
    rng = np.random.default_rng(0)
    rows = sparse.csr_array(rng.random((7, 30)) * (rng.random((7, 30)) < 0.1))
    vectors = rng.normal(size=(7, 20))
    mixed = beside(rows, vectors)
    np.testing.assert_array_equal(mixed.toarray(), np.hstack([rows.toarray(), vectors]))
    assert full_columns(mixed) == 20
    assert full_columns(rows) == 0
    rest, dense = split_rows(mixed, 20)
    np.testing.assert_array_equal(rest.toarray(), rows.toarray())
    np.testing.assert_array_equal(dense, vectors)
    coef = rng.normal(size=(3, 50)) * (rng.random((3, 50)) < 0.4)
    for stored in (coef, sparse.csr_array(coef)):
        scores = ClassVectors(stored, np.arange(3.0)).scores(mixed)
        np.testing.assert_allclose(scores, mixed.toarray() @ coef.T + np.arange(3.0), atol=1e-12)


@pytest.mark.parametrize("analyzer", ["word", None])
def test_explanations_split_the_score_among_words(analyzer: str | None) -> None:
    model = TextClassifier(OneVsRestSVM(), TextFeatures(analyzer=analyzer, embedder="words")).fit(
        TEXTS, LABELS
    )
    text = "The leg BONE, fractured"
    explanation = model.explain(text)
    assert [word for word, _ in explanation.words] == ["The", "leg", "BONE", "fractured", "(intercept)"]
    score = dict(zip(*(part[0].tolist() for part in model.top_k([text], 2)), strict=True))[explanation.label]
    assert sum(value for _, value in explanation.words) == pytest.approx(score, abs=1e-6)
    assert sum(value for _, value in explanation.contributions) == pytest.approx(score, abs=1e-6)
    assert [name for name, _ in explanation.contributions].count("embedding of the text") == 1


def test_an_embedder_that_cannot_be_split_has_a_line_of_its_own() -> None:
    model = TextClassifier(OneVsRestSVM(), TextFeatures(embedder=lengths)).fit(TEXTS, LABELS)
    explanation = model.explain("left skin")
    assert [word for word, _ in explanation.words][2:] == ["(embedding of the text)", "(intercept)"]
    assert sum(value for _, value in explanation.words) == pytest.approx(explanation.score)


def test_models_are_stored_by_name_and_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "_registered", {})
    model = TextClassifier(features=TextFeatures(embedder="words")).fit(TEXTS, LABELS)
    model.save(tmp_path / "words")
    again = taxolearn.load(tmp_path / "words")
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
    own = TextClassifier(features=TextFeatures(embedder=lengths)).fit(TEXTS, LABELS)
    own.save(tmp_path / "own")
    with pytest.raises(
        ModelError, match=r"needs the embedder 'lengths'.*register_embedder\(yours, 'lengths'\)"
    ):
        taxolearn.load(tmp_path / "own")
    register_embedder(lengths)
    assert taxolearn.load(tmp_path / "own").predict(TEXTS).tolist() == own.predict(TEXTS).tolist()
    register_embedder(lambda texts: 2 * lengths(texts), "lengths")
    with pytest.raises(ModelError, match="its fingerprint differs"):
        taxolearn.load(tmp_path / "own")


def test_what_to_install_is_said_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TextClassifier(features=TextFeatures(embedder="words")).fit(TEXTS, LABELS).save(tmp_path)
    static_words.cache_clear()
    monkeypatch.setattr("taxolearn.text.static_words._PACKAGE", "no-such-package")
    with pytest.raises(ModelError, match=r"pip install 'taxolearn\[words\]'"):
        taxolearn.load(tmp_path)
    with pytest.raises(DataError, match=r"pip install 'taxolearn\[words\]'"):
        TextClassifier(features="both").fit(TEXTS, LABELS)
    chosen = TextClassifier(random_state=0).fit(TEXTS * 2, LABELS * 2)  # n-grams need no extra
    assert chosen.features_.embedder is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"features": "words"}, "features='words' is not valid"),
        ({"embedder": 3}, "embedder=3 is not valid"),
        (
            {"features": "ngrams", "embedder": "words"},
            "embedder='words' has no part in these features; use 'both'",
        ),
        (
            {"features": TextFeatures(), "embedder": "words"},
            r"no part in these features; give TextFeatures\(embed",
        ),
        ({"embedder": "nothing"}, "embedder='nothing' is not known"),
        ({"embedder": lambda texts: np.ones(len(texts))}, "one row per text"),
        ({"label_texts": "titles"}, "label_texts='titles' is not valid"),
        ({"label_texts": {"femur": "a bone"}}, "unknown name 'femur'"),
        ({"label_texts": {"bone": 3}}, "give a text or a list of texts"),
        ({"label_texts": "names", "label_weight": -1}, "label_weight=-1 is not valid"),
    ],
)
def test_bad_parameters(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        TextClassifier(OneVsRestSVM(TREE), **given).fit(TEXTS, LABELS)


def test_vectors_of_texts_may_be_given() -> None:
    table = dict(zip(TEXTS, np.eye(4), strict=True))
    model = TextClassifier(features=TextFeatures(analyzer=None, embedder=table)).fit(TEXTS, LABELS)
    assert model.predict(TEXTS).tolist() == LABELS
    with pytest.raises(DataError, match="no vector for the text 'a toe'"):
        model.predict(["a toe"])
    assert embedder_of(table).fingerprint != embedder_of(table | {"a toe": np.ones(4)}).fingerprint


@pytest.mark.parametrize("method", [OneVsRestSVM, NormalizedHierarchicalSVM])
def test_classes_without_rows_answer_by_their_names(method: Any, tmp_path: Path) -> None:
    model = TextClassifier(
        method(TREE), TextFeatures(embedder="words"), label_texts="names", label_weight=0.3
    )
    model.fit(TEXTS, LABELS)
    assert model.predict(["an old oak"]).tolist() == ["oak tree"]
    none = TextClassifier(method(TREE), "both", label_texts="names").fit([], [])
    assert none.predict(["an oak", "the skin"]).tolist() == ["oak tree", "skin"]
    model.save(tmp_path)
    again = taxolearn.load(tmp_path)
    assert (again.label_texts, again.label_weight, again.label_weight_) == ("names", 0.3, 0.3)


def test_rows_about_classes_are_rows() -> None:
    """The same model as with the texts written down by hand."""
    tree = TREE.with_terms({"oak tree": Term("Quercus", synonyms=("oak",), definition="bears acorns")})
    features = TextFeatures(embedder="words")
    model = TextClassifier(OneVsRestSVM(tree, tol=1e-10), features, label_texts="names", label_weight=0.5)
    about = {
        "bone": ["bone", "body bone"],
        "skin": ["skin", "body skin"],
        "oak tree": ["Quercus", "oak", "bears acorns", "plant Quercus"],
    }
    pairs = [(text, name) for name, texts in about.items() for text in texts]
    texts, labels = TEXTS + [text for text, _ in pairs], LABELS + [name for _, name in pairs]
    weights = [1.0] * 4 + [0.5] * 4 + [1.0] * 4
    by_hand = TextClassifier(OneVsRestSVM(tree, tol=1e-10), features).fit(
        texts, labels, sample_weight=weights
    )
    scores = model.fit(TEXTS, LABELS).decision_function(["an acorn", "leg"])
    np.testing.assert_allclose(scores, by_hand.decision_function(["an acorn", "leg"]), atol=1e-4)


def test_sets_of_labels_and_names() -> None:
    y = [{"bone"}, {"skin"}, {"bone", "skin"}, {"skin"}]
    model = TextClassifier(OneVsRestSVM(TREE), TextFeatures(embedder="words"), label_texts="names").fit(
        TEXTS, y
    )
    assert sorted(model.predict(["an oak tree", "tibia and femur"])[0]) == ["oak tree"]
    with pytest.raises(DataError, match="y as names of classes"):
        TextClassifier(OneVsRestSVM(TREE), label_texts="names").fit(
            TEXTS, [("body", label) for label in LABELS]
        )


def test_where_rows_abound_names_are_left_alone() -> None:
    """Misleading texts about classes get no weight once there are rows to see it by; true ones do no harm then."""
    words = {
        "bone": ["femur", "tibia", "rib", "hip", "spine"],
        "skin": ["rash", "itch", "acne", "burn", "mole"],
    }

    def drawn(n_texts: int, seed: int) -> tuple[list[str], list[str]]:
        random = np.random.RandomState(seed)
        names = [list(words)[k % 2] for k in range(n_texts)]
        noise = [random.choice(words["bone"] + words["skin"], 2) for _ in names]
        return [" ".join([random.choice(words[n]), *m]) for n, m in zip(names, noise, strict=True)], names

    def learned(**about: Any) -> TextClassifier:
        return TextClassifier(OneVsRestSVM(random_state=0), TextFeatures(), 0, **about).fit(*drawn(240, 0))

    test = drawn(400, 1)
    wrong = {"bone": words["skin"], "skin": words["bone"]}
    chosen, kept, without = (
        learned(label_texts=wrong),
        learned(label_texts=wrong, label_weight=1.0),
        learned(),
    )
    assert chosen.label_weight_ == 0.0
    assert kept.score(*test) < without.score(*test) - 0.03
    assert chosen.score(*test) == without.score(*test)
    assert abs(learned(label_texts=words).score(*test) - without.score(*test)) < 0.01
