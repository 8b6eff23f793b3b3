"""`taxolearn audit` and `taxolearn diff` end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_data import pet_rows, write_csv

from taxolearn.cli.app import run

OLD = "All\tBig cat\nBig cat\tLion\nBig cat\tWolf\nAll\tDog\nDog\tHound\n"
NEW = "All\tFelid\nFelid\tLion\nAll\tDog\nDog\tHound\nDog\tWolf\n"


def features(path: Path) -> Path:
    """Four groups of three classes around the corners of their group; c0 is labelled as of group b."""
    rng = np.random.default_rng(0)
    lines = []
    for group, letter in enumerate("abcd"):
        for leaf in range(3):
            parent = "b" if (letter, leaf) == ("c", 0) else letter
            for _ in range(20):
                x = rng.normal(size=10)
                x[group] += 4.0
                x[4 + leaf] += 4.0
                cells = " ".join(f"{k + 1}:{value:.4f}" for k, value in enumerate(x))
                lines.append(f"{parent}/{letter}{leaf} {cells}\n")
    path.write_text("".join(lines))
    return path


def test_audit_prints_words_and_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = features(tmp_path / "rows.svm")
    assert run(["audit", str(rows), "--sep", "/", "--jobs", "1", "--rows", "1", "--folds", "3"]) == 0
    out = capsys.readouterr().out
    assert "c0 (under b) shares more with the classes under c" in out
    assert "Moving b/c0 from b to c" in out
    assert "classes that share more with a distant branch than with their siblings\nnode" in out


def test_audit_as_json_counts_rows_from_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = features(tmp_path / "rows.svm")
    lines = rows.read_text().splitlines(keepends=True)
    lines[0] = lines[0].replace("a/a0", "d/d2")
    rows.write_text("".join(lines))
    assert run(["audit", str(rows), "--sep", "/", "--jobs", "1", "--moves", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["node"] for one in found["misplaced"]] == ["b/c0"]
    assert found["moves"] == []
    assert {"row": 1, "label": "d/d2", "suggestion": "a/a0"}.items() <= found["suspects"][0].items()


def test_audit_of_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_csv(tmp_path / "train.csv", pet_rows())
    assert run(["audit", str(rows), "--sep", "/", "--jobs", "1", "--moves", "0"]) == 0
    assert "80 rows, 4 classes; held out: hierarchical F1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "an audit needs a taxonomy; give --taxonomy, --sep or --level"),
        (["--sep", "/", "--features", "auto"], "--features auto needs a model to choose by"),
        (["--sep", "/", "--folds", "1"], "n_folds=1 is not allowed"),
        (["--sep", "/", "--method", "tree"], "--method tree is not known"),
    ],
)
def test_audit_refuses_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    flat = [(text, label.replace("/", " ")) for text, label in pet_rows()]
    rows = write_csv(tmp_path / "train.csv", pet_rows() if options else flat)
    assert run(["audit", str(rows), *options]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_diff_in_words_as_a_table_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.tsv").write_text(OLD)
    (tmp_path / "new.tsv").write_text(NEW)
    files = [str(tmp_path / "old.tsv"), str(tmp_path / "new.tsv")]
    assert run(["diff", *files]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "1 renamed, 1 moved\nBig cat renamed to Felid (a guess)\nWolf moved from Big cat to Dog\n"
    )
    assert "\nchange   " in out
    assert run(["diff", *files, "--no-guess", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"][0]["old"] == ["Big cat"]
    (tmp_path / "said.tsv").write_text("Big cat\tFelid\nBig cat\tDog\nHound\n")
    assert run(["diff", *files, "--mapping", str(tmp_path / "said.tsv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["split"][0]["new"] == ["Felid", "Dog"]
    assert found["removed"][0]["old"] == ["Hound"]


def test_diff_reads_model_folders(
    tmp_path: Path, text_model: str, svm_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", text_model, text_model]) == 0
    assert capsys.readouterr().out == "no change\n"
    assert run(["diff", text_model, svm_model]) == 2
    assert "this model has no taxonomy" in capsys.readouterr().err
    (tmp_path / "said.tsv").write_text("a\tb\tc\n")
    assert run(["diff", text_model, text_model, "--mapping", str(tmp_path / "said.tsv")]) == 2
    assert "said.tsv:1: expected an old name and a new one" in capsys.readouterr().err
