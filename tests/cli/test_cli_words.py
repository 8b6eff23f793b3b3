"""Embeddings and texts about classes on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import taxolearn
from taxolearn.cli.app import run
from taxolearn.text.static_words import static_words

ROWS = "text,label\nit purrs,Cat\na kitten,Cat\nit barks,Dog\na puppy,Dog\n"
TAXONOMY = "child,parent,about,more\nCat,Pet,feline,\nDog,Pet,hound,\nDog,Guard,watches,\n"
TAXONOMY += "Parrot,Pet,a bird with feathers,\n"


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    rows, taxonomy = tmp_path / "rows.csv", tmp_path / "pets.csv"
    rows.write_text(ROWS)
    taxonomy.write_text(TAXONOMY)
    return ["fit", str(rows), "-o", str(tmp_path / "model"), "--taxonomy", str(taxonomy), "-m", "svm"]


def test_fit_with_embeddings_and_a_column_of_the_taxonomy(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*options, "--features", "both", "--label-texts", "about"]) == 0
    assert "line 1 is a header; column 'more' is left out" in capsys.readouterr().err
    model = taxolearn.load(tmp_path / "model")
    assert "embedder='words'" in repr(model.features_)
    assert model.predict(["a small bird"]).tolist() == ["Parrot"]
    assert model.label_texts == {
        "Cat": ["feline"],
        "Dog": ["hound", "watches"],
        "Parrot": ["a bird with feathers"],
    }


@pytest.mark.parametrize(
    ("features", "analyzer", "embedder"),
    [
        ("ngrams", "word+char", None),
        ("embeddings", None, "words"),
        ("both", "word+char", "words"),
        ("auto", "word+char", "words"),
        ("word", "word", None),
        ("word --embedder words", "word", "words"),
    ],
)
def test_kinds_of_features(
    options: list[str], tmp_path: Path, features: str, analyzer: str | None, embedder: str | None
) -> None:
    assert run([*options, "--features", *features.split(), "--label-texts", "names"]) == 0
    model = taxolearn.load(tmp_path / "model")
    assert (model.features_.analyzer, model.features_.embedder) == (analyzer, embedder)
    assert model.label_texts == "names"
    assert model.predict(["Parrot"]).tolist() == ["Parrot"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--label-texts", "note"], "a column 'note', found 'child', 'parent', 'about', 'more'"),
        (["--label-texts", "more"], "pets.csv: column 'more' is empty; name one that has texts"),
        (["--embedder", "none"], "embedder='none' is not known"),
        (
            ["--embedder", "sentence-transformers:none"],
            "needs sentence-transformers; pip install sentence-transformers",
        ),
        (
            ["--features", "ngrams", "--embedder", "words"],
            "has no part in these features; use 'both' or 'auto'",
        ),
        (["--features", "words"], "--features words is not known; choose auto, ngrams, embeddings, both"),
    ],
)
def test_what_cannot_be_used(
    options: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    given: list[str],
    sentence: str,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    assert run([*options, *given]) == 2
    assert sentence in capsys.readouterr().err


def test_texts_need_a_taxonomy_and_rows_of_texts(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*options[:4], "-m", "svm", "--label-texts", "about"]) == 2
    assert "--label-texts about is a column of the --taxonomy table" in capsys.readouterr().err
    numbers = tmp_path / "rows.svm"
    numbers.write_text("Cat 1:1\nDog 2:1\n")
    assert run(["fit", str(numbers), *options[2:4], "--label-texts", "names"]) == 2
    assert "has no texts; leave --label-texts and --embedder out" in capsys.readouterr().err


def test_a_missing_extra_is_told_by_fit_and_by_predict(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run([*options, "--features", "both", "--label-texts", "names"]) == 0
    static_words.cache_clear()
    monkeypatch.setattr("taxolearn.text.static_words._PACKAGE", "no-such-package")
    capsys.readouterr()
    for asked in (["predict", str(tmp_path / "model"), options[1]], [*options, "--features", "both"]):
        assert run(asked) == 2
        assert (
            "'words' needs wordllama and tokenizers; pip install 'taxolearn[words]'"
            in capsys.readouterr().err
        )
    assert run([*options, "--label-texts", "names"]) == 0  # auto does without
