"""Taxonomies in published formats on the command line: labels by any of their names, answers by another."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from cli_data import FIT_OPTIONS

from taxolearn import Taxonomy
from taxolearn.cli.app import run

SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <http://p.org/> .
:pet a skos:Concept ; skos:prefLabel "Pet" .
:cat a skos:Concept ; skos:prefLabel "Cat" ; skos:notation "1" ; skos:altLabel "Puss" ; skos:broader :pet .
:dog a skos:Concept ; skos:prefLabel "Dog" ; skos:notation "2" ; skos:broader :pet .
:emu a skos:Concept ; skos:prefLabel "Emu" ; skos:altLabel "Cat bird" ; skos:broader :pet .
"""
TEXTS = {"http://p.org/cat": "it purrs", "Dog": "it barks", "Emu": "it runs"}


def rows(folder: Path, labels: dict[str, str]) -> str:
    path = folder / "rows.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        for number in range(4):
            writer.writerows([f"{text} {number}", label] for label, text in labels.items())
    return str(path)


@pytest.fixture
def skos(tmp_path: Path) -> str:
    path = tmp_path / "pets.ttl"
    path.write_text(SKOS)
    return str(path)


def answers(capsys: pytest.CaptureFixture[str], model: str, *options: str) -> dict[str, str]:
    capsys.readouterr()
    assert run(["predict", model, "--sentence", "it barks", *options]) == 0
    return next(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_fit_predict_and_explain(tmp_path: Path, skos: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "model")
    assert run(["fit", rows(tmp_path, TEXTS), "--taxonomy", skos, "-o", model, *FIT_OPTIONS]) == 0
    assert answers(capsys, model)["label"] == "http://p.org/dog"
    assert answers(capsys, model, "--show", "label")["path"] == "Pet/Dog"
    assert answers(capsys, model, "--show", "notation")["label"] == "2"
    assert run(["predict", model, "--sentence", "x", "--show", "title"]) == 2
    assert "nodes are shown by name, label, notation or id" in capsys.readouterr().err
    assert run(["explain", model, "it barks", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["titles"]["http://p.org/dog"] == "Dog"
    assert run(["evaluate", model, rows(tmp_path, {"Puss": "it purrs", "2": "it barks"})]) == 0


def test_convert_writes_skos(tmp_path: Path, skos: str) -> None:
    (tmp_path / "rows.svm").write_text("Puss 1:1\n2 2:1\n")
    (tmp_path / "edges.tsv").write_text("Pet\tPuss\nPet\t2\n")
    out = tmp_path / "out.ttl"
    arguments = [
        str(tmp_path / "rows.svm"),
        str(tmp_path / "again.svm"),
        "--taxonomy",
        str(tmp_path / "edges.tsv"),
    ]
    assert run(["convert", *arguments, "--taxonomy-output", str(out)]) == 0
    assert Taxonomy.from_skos(out, prefix="urn:taxonomy:").edges == (("Pet", "Puss"), ("Pet", "2"))


def test_a_label_of_two_nodes_is_told(tmp_path: Path, skos: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(skos).write_text(SKOS.replace("Emu", "Dog"))
    assert run(["fit", rows(tmp_path, TEXTS), "--taxonomy", skos, "-o", str(tmp_path / "model")]) == 2
    assert (
        "'Dog' may be 'http://p.org/dog' or 'http://p.org/emu'; give one of these" in capsys.readouterr().err
    )


def test_a_broken_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pets.obo"
    path.write_text("format-version: 1.4\n\n[Term]\nid: P:1\nis_a:\n")
    arguments = ["fit", rows(tmp_path, TEXTS), "--taxonomy", str(path), "-o", str(tmp_path / "model")]
    assert run(arguments) == 2
    assert f"{path}:5: expected" in capsys.readouterr().err


def test_check_reads_published_files(tmp_path: Path, skos: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", rows(tmp_path, {"Puss": "it purrs", "2": "it barks"}), "--taxonomy", skos]) == 0
    capsys.readouterr()
    assert run(["check", rows(tmp_path, {"Puss": "it purrs", "Doog": "it barks"}), "--taxonomy", skos]) == 1
    assert "unknown label 'Doog'" in capsys.readouterr().out


def test_nodes_without_terms_are_shown_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "model")
    spelled = {"Books/History": "it reads", "Music/History": "it barks"}
    assert run(["fit", rows(tmp_path, spelled), "--sep", "/", "-o", model, *FIT_OPTIONS]) == 0
    assert answers(capsys, model, "--show", "label")["path"] == "Music/History"
