"""`taxolearn select` end to end."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from cli_data import pet_rows, write_csv, write_svm

import taxolearn
from taxolearn.cli.app import run
from taxolearn.cli.console import Progress

EDGES = "root Animal\nroot Plant\nAnimal Cat\nAnimal Dog\nPlant Oak\nPlant Rose\n"
OPTIONS = ["--lambdas", "1e-3,1,1e3", "--jobs", "1"]


def test_select_on_features_prints_saves_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    rows = write_svm(tmp_path / "train.svm", pet_rows())
    (tmp_path / "tree.txt").write_text(EDGES)
    folder, picture = tmp_path / "model", tmp_path / "tried.png"
    options = [
        "--taxonomy",
        str(tmp_path / "tree.txt"),
        "--plot",
        str(picture),
        "-m",
        "multiclass",
        "-m",
        "normalized",
    ]
    assert run(["select", str(rows), "-o", str(folder), *options, *OPTIONS]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^MulticlassSVM\(\)", out, re.M)) == 3
    assert (
        len(re.findall(r"^NormalizedHierarchicalSVM\(weights='(?:maxmin|rho)', objective=1[03]\)", out, re.M))
        == 12
    )
    chosen = re.findall(r"^(\w+)\(.*\) +(\S+) .*<- chosen$", out, re.M)
    assert len(chosen) == 1
    assert "scores are those on 16 held-out rows, chosen by accuracy" in out
    assert "certificate: converged, relative gap" in out
    model = taxolearn.load(folder)
    assert type(model).__name__ == chosen[0][0]
    assert pytest.approx(1 / (2 * float(chosen[0][1]))) == model.C
    assert model.data_["rows"] == 80
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_select_on_texts_saves_a_model_of_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_csv(tmp_path / "train.csv", pet_rows())
    folder = tmp_path / "model"
    options = [
        "--sep",
        "/",
        "--ngrams",
        "1-1",
        "--metric",
        "tree_loss",
        "-m",
        "multiclass",
        "-m",
        "svm",
        *OPTIONS,
    ]
    assert run(["select", str(rows), "-o", str(folder), *options]) == 0
    out = capsys.readouterr().out
    assert "chosen by tree loss" in out
    assert "OneVsRestSVM()" in out
    assert run(["predict", str(folder), "-s", "meow purr"]) == 0
    assert "Animal/Cat" in capsys.readouterr().out


def test_select_takes_the_default_candidates_and_chosen_features(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a taxonomy there is nothing to normalise."""
    flat = [(text, label.split("/")[1]) for text, label in pet_rows()]
    rows = write_csv(tmp_path / "train.csv", flat)
    folder = tmp_path / "model"
    assert (
        run(["select", str(rows), "-o", str(folder), "--features", "auto", "--lambdas", "1", "--jobs", "1"])
        == 0
    )
    out = capsys.readouterr().out
    assert re.search(r"^MulticlassSVM\(\) +1e\+00 +\S+ +- ", out, re.M)
    assert taxolearn.load(folder).taxonomy is None


def test_a_choice_that_falls_short_of_tol_is_saved_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_svm(tmp_path / "train.svm", pet_rows())
    folder = tmp_path / "model"
    options = [
        "-m",
        "multiclass",
        "--lambdas",
        "1e-6",
        "--tol",
        "1e-300",
        "--max-seconds",
        "0.2",
        "--jobs",
        "1",
    ]
    with pytest.warns(UserWarning, match="above tol"):
        assert run(["select", str(rows), "-o", str(folder), *options]) == 1
    assert "* the fit stopped above its --tol" in capsys.readouterr().out
    assert (folder / "model.json").exists()


def test_an_output_that_cannot_be_a_model_is_told_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("dear diary")
    for output in (tmp_path / "notes.txt", tmp_path):
        assert run(["select", "no-such-rows.svm", "-o", str(output)]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "cannot save" in captured.err
        assert len(captured.err.splitlines()) == 1


def test_a_long_note_leaves_room_for_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with Progress("tried", 10) as progress:
        progress.update(
            5, note="NormalizedHierarchicalSVM(weights=[0.1, 0.2], objective=13) lambda 0.001: 0.75"
        )
    last = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue()).split("\r")[-1].splitlines()[0]
    assert re.fullmatch(
        r"tried .{24} +5/10 \d:\d\d:\d\d NormalizedHierarchicalSVM\(weights=.*\u2026", last.rstrip()
    )
    assert len(last) <= 80
