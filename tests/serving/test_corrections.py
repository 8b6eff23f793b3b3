"""Corrections reach a file that `fit` reads as it is."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from served_models import TREE, pet_texts, plain_pets, points
from starlette.testclient import TestClient

import taxolearn
from taxolearn.cli.app import run
from taxolearn.datasets import write_edges
from taxolearn.errors import DataError
from taxolearn.serving import Corrections, create_app


def correcting(model: Any, path: Path, **options: Any) -> TestClient:
    corrections = Corrections(path, libsvm=not hasattr(model, "features_"), **options)
    app = create_app(model, name="pets", corrections=corrections)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def test_fit_reads_the_rows_and_the_corrections(tmp_path: Path) -> None:
    """A text that the model gets wrong is corrected, and right after another fit on both files together."""
    texts, labels = pet_texts(40)
    text = "gribble gribble"
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in zip(texts, labels, strict=True))
    )
    client = correcting(plain_pets(), tmp_path / "corrections.jsonl")
    assert client.post("/v1/corrections", json={"text": text, "labels": ["Dog"]}).status_code == 201
    assert (
        client.post("/v1/corrections", json={"text": f"{text} \u2028\x00\t", "labels": ["Dog"]}).status_code
        == 201
    )
    both = tmp_path / "both.jsonl"
    both.write_text(rows.read_text() + (tmp_path / "corrections.jsonl").read_text())
    write_edges(tmp_path / "tree.txt", TREE)
    given = ["--taxonomy", str(tmp_path / "tree.txt"), "-m", "svm", "--features", "word", "--jobs", "1"]
    for name in ("rows", "both"):
        assert run(["fit", str(tmp_path / f"{name}.jsonl"), "-o", str(tmp_path / name), *given]) == 0
    assert taxolearn.load(tmp_path / "rows").predict_path([text]) != [("Life", "Animal", "Dog")]
    assert taxolearn.load(tmp_path / "both").predict_path([text]) == [("Life", "Animal", "Dog")]


def test_a_line_says_what_was_answered_and_what_is_right(tmp_path: Path) -> None:
    client = correcting(plain_pets(), tmp_path / "c.jsonl", text_field="title", label_field="path")
    saved = client.post("/v1/corrections", json={"text": "purr \U0001f600", "labels": ["Plant"]}).json()
    assert [one["name"] for one in saved["saved"]] == ["Plant"]
    [line] = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert line.pop("time").endswith("Z")
    assert line == {"title": "purr \U0001f600", "path": "Plant", "predicted": ["Cat"]}


def test_label_sets_are_lists(sets: Any, tmp_path: Path) -> None:
    client = correcting(sets, tmp_path / "c.jsonl")
    client.post("/v1/corrections", json={"text": "purr", "labels": ["Cat", "Rose", "Cat"]})
    assert json.loads((tmp_path / "c.jsonl").read_text())["labels"] == ["Cat", "Rose"]


def test_rows_of_numbers_are_libsvm_lines(tmp_path: Path) -> None:
    client = correcting(points(), tmp_path / "c.svm")
    assert client.post("/v1/corrections", json={"text": "-2, 0.5", "labels": ["Dog"]}).status_code == 201
    assert client.post("/v1/corrections", json={"text": "1:3", "labels": ["Oak"]}).status_code == 201
    assert (tmp_path / "c.svm").read_text() == "Dog 1:-2.0 2:0.5\nOak 1:3.0\n"
    assert (
        run(["fit", str(tmp_path / "c.svm"), "-m", "svm", "-o", str(tmp_path / "model"), "--jobs", "1"]) == 0
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"text": "purr", "labels": []}, "one label"),
        ({"text": "purr", "labels": ["Cat", "Dog"]}, "one label, found 2"),
        ({"text": "purr", "labels": "Cat"}, "list of strings"),
        ({"text": "purr", "labels": [7]}, "list of strings"),
        ({"text": "purr", "labels": ["Bird"]}, "'Bird' is not a label"),
        ({"text": "  ", "labels": ["Cat"]}, "no text"),
        ({"labels": ["Cat"]}, "field 'text'"),
    ],
)
def test_bad_corrections_leave_no_line(pets: Any, tmp_path: Path, body: dict[str, Any], told: str) -> None:
    client = correcting(pets, tmp_path / "c.jsonl")
    answer = client.post("/v1/corrections", json=body)
    assert answer.status_code == 400
    assert told in answer.json()["detail"]
    assert not (tmp_path / "c.jsonl").exists()


def test_no_form_of_another_page_can_send_one(pets: Any, tmp_path: Path) -> None:
    client = correcting(pets, tmp_path / "c.jsonl")
    body = json.dumps({"text": "purr", "labels": ["Cat"]})
    assert (
        client.post("/v1/corrections", content=body, headers={"Content-Type": "text/plain"}).status_code
        == 415
    )
    assert not (tmp_path / "c.jsonl").exists()


def test_many_append_at_once_and_no_line_is_torn(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": "by hand", "label": "Cat"}')  # without an end of line

    def write(name: str) -> None:
        mine = Corrections(path)  # as another process would have it
        for k in range(20):
            mine.append(f"{name} {k} " + "x" * 5000, ["Cat"], several=False, predicted=[])

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [json.loads(line)["text"].split()[:2] for line in path.read_text().splitlines()]
    assert sorted(map(tuple, lines[1:])) == sorted((str(n), str(k)) for n in range(4) for k in range(20))
    assert lines[0] == ["by", "hand"]


def test_a_full_disk_is_told_and_leaves_no_half_line(
    pets: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = correcting(pets, tmp_path / "c.jsonl")
    client.post("/v1/corrections", json={"text": "purr", "labels": ["Cat"]})
    before = (tmp_path / "c.jsonl").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    answer = client.post("/v1/corrections", json={"text": "woof", "labels": ["Dog"]})
    assert answer.status_code == 507
    assert "No space left" in answer.json()["detail"]
    assert (tmp_path / "c.jsonl").read_bytes() == before


def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give --corrections FILE"):
        Corrections(tmp_path / "no" / "c.jsonl")
    with pytest.raises(DataError, match="two names"):
        Corrections(tmp_path / "c.jsonl", text_field="a", label_field="a")
