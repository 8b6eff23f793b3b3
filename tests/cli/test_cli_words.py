"""Embeddings and texts about classes on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import taxolearn
from taxolearn.cli.app import run


def test_fit_with_embeddings_and_a_column_of_the_taxonomy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, taxonomy, folder = tmp_path / "rows.csv", tmp_path / "pets.csv", tmp_path / "model"
    rows.write_text("text,label\nit purrs,Cat\na kitten,Cat\nit barks,Dog\na puppy,Dog\n")
    taxonomy.write_text(
        "child,parent,about\nCat,Pet,feline\nDog,Pet,hound\nParrot,Pet,a bird with feathers\n"
    )
    options = ["fit", str(rows), "-o", str(folder), "--taxonomy", str(taxonomy), "-m", "svm"]
    assert run([*options, "--features", "both", "--label-texts", "about"]) == 0
    model = taxolearn.load(folder)
    assert "embedder='words'" in repr(model.features_)
    assert model.predict(["a small bird"]).tolist() == ["Parrot"]
    assert model.label_texts["Parrot"] == ["a bird with feathers"]
    assert run([*options, "--label-texts", "note"]) == 2
    assert "found 'child', 'parent', 'about'" in capsys.readouterr().err
    assert run([*options, "--embedder", "none"]) == 2
    assert "embedder='none' is not known" in capsys.readouterr().err
