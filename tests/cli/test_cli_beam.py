"""`taxolearn predict --beam`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from cli_data import FIT_OPTIONS, pet_rows, write_csv

from taxolearn.cli import models
from taxolearn.cli.app import run


def answers(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, str]]:
    capsys.readouterr()
    assert run(["predict", *arguments]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


@pytest.mark.parametrize("read_through", [2**28, 0])
def test_a_wide_beam_gives_the_same_answers(
    read_through: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "_CHECKED_BYTES", read_through)
    rows, model = str(write_csv(tmp_path / "train.csv", pet_rows())), str(tmp_path / "model")
    fit = ["fit", rows, "--sep", "/", "--method", "recursive-logistic", "-o", model, *FIT_OPTIONS]
    assert run(fit) == 0
    for options in ([], ["--top-k", "3"]):
        exact = answers(capsys, model, rows, *options)
        found = answers(capsys, model, rows, "--beam", "10", *options)
        assert all(row["probability"] for row in exact)
        assert not any(row["probability"] for row in found)
        for row, expected in zip(found, exact, strict=True):
            assert (row["label"], row["path"]) == (expected["label"], expected["path"])
            assert float(row["score"]) == pytest.approx(float(expected["score"]), abs=1e-5)


def test_several_labels_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = [
        (text, f"{label};Plant/Oak" if row % 3 else label) for row, (text, label) in enumerate(pet_rows())
    ]
    rows, model = str(write_csv(tmp_path / "train.csv", table)), str(tmp_path / "model")
    fit = [
        "fit",
        rows,
        "--sep",
        "/",
        "--label-sep",
        ";",
        "-m",
        "recursive-logistic",
        "-o",
        model,
        *FIT_OPTIONS,
    ]
    assert run(fit) == 0
    exact, found = answers(capsys, model, rows), answers(capsys, model, rows, "--beam", "10")
    assert [row["label"] for row in found] == [row["label"] for row in exact]


def test_a_flat_model_and_a_bad_beam_are_refused(
    text_model: str, pets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["predict", text_model, str(pets), "--beam", "5"]) == 2
    error = capsys.readouterr().err
    assert "beam search needs weights at the nodes of a taxonomy" in error
    assert len(error.strip().splitlines()) == 1
    assert run(["predict", text_model, str(pets), "--beam", "0"]) == 2
