"""The demo, on data that are learned in no time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_data import pet_rows

from taxolearn import Taxonomy, datasets
from taxolearn.cli.app import run
from taxolearn.datasets import Dataset, Icd10cm


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Taxonomy.from_paths(
        [f"World/{path}" for path in ("Animal/Cat", "Animal/Dog", "Plant/Oak", "Plant/Rose")]
    )
    train, test = (
        Dataset(None, [label.split("/")[1] for _, label in rows], tree, [text for text, _ in rows])
        for rows in (pet_rows(80), pet_rows(12, seed=5))
    )
    titles = {"Cat": "Felis catus", "Animal": "All animals"}
    monkeypatch.setattr(datasets, "load_icd10cm", lambda: Icd10cm(train, test, tree, titles, "pets"))


@pytest.mark.usefixtures("small_demo")
def test_demo_learns_reports_and_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "demo")
    assert run(["demo", "-o", folder, "--text", "meow and purr", "--jobs", "1"]) == 0
    captured = capsys.readouterr()
    assert "accuracy on 12 held-out texts: 1.0000" in captured.out
    assert "hierarchical F1: 1.0000" in captured.out
    assert re.search(r"proven to be within \d+\.\d\d% of the optimum", captured.out)
    for part in ("weakest chapters", "slowest chapters", "Animal All animals", "└ Cat Felis catus", "meow +"):
        assert part in captured.out
    assert "80 texts to learn from" in captured.err
    assert run(["predict", folder, "-s", "woof"]) == 0
    assert "World/Animal/Dog" in capsys.readouterr().out


def test_demo_reuses_a_model_and_ends_without_a_terminal(
    text_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["demo", "-o", text_model, "--reuse", "--text", "meow", "--text", "unheard-of"]) == 0
    out = capsys.readouterr().out
    assert "no word of this sentence is known" in out
    assert out.count("score ") == 2
    assert run(["demo", "-o", text_model, "--reuse"]) == 0


def test_demo_answers_what_is_typed(
    text_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from taxolearn.cli import demo
    from taxolearn.cli.models import Model

    typed = iter(["meow", "woof", ""])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    capsys.readouterr()
    demo._ask(Model.load(text_model))
    out = capsys.readouterr().out
    assert "└ Cat" in out
    assert "└ Dog" in out
