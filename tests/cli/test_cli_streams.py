"""Forms of input and output of `predict`, standard input, and what an interruption leaves behind."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_data import pet_rows, write_csv, write_json, write_svm

import warm_process
from taxolearn.cli.app import run

COMMAND = [sys.executable, "-m", "taxolearn.cli"]
ROWS = pet_rows(12, seed=1)
LEAVES = [label for _, label in ROWS]


def _parquet(path: Path, rows: list[tuple[str, str]]) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts, labels = zip(*rows, strict=True)
    parquet.write_table(pyarrow.table({"text": list(texts), "label": list(labels)}), path)
    return path


def _gz(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_bytes(gzip.compress(write_csv(path.with_suffix(""), rows).read_bytes()))
    return path


def _xz(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_bytes(lzma.compress(write_json(path.with_suffix(""), rows).read_bytes()))
    return path


def _lines(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{text}\n" for text, _ in rows))
    return path


INPUTS = {
    "rows.csv": write_csv,
    "rows.tsv": lambda path, rows: write_csv(path, rows, delimiter="\t"),
    "rows.jsonl": write_json,
    "rows.parquet": _parquet,
    "rows.csv.gz": _gz,
    "rows.jsonl.xz": _xz,
    "rows.txt": _lines,
}


@pytest.mark.parametrize("name", INPUTS)
def test_every_input_form_gives_the_same_answers(name: str, text_model: str, tmp_path: Path) -> None:
    path = INPUTS[name](tmp_path / name, ROWS)
    out = tmp_path / "answers.csv"
    assert run(["predict", text_model, str(path), "-o", str(out)]) == 0
    with out.open(newline="") as stream:
        answers = list(csv.DictReader(stream))
    assert [answer["label"] for answer in answers] == LEAVES
    assert [answer["row"] for answer in answers] == [str(row) for row in range(1, 13)]
    assert answers[0]["path"] == ROWS[0][1]
    assert {answer["probability"] for answer in answers} == {""}


def test_libsvm_rows_are_answered_by_a_model_of_features(
    svm_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_svm(tmp_path / "rows.svm", ROWS)
    assert run(["predict", svm_model, str(path), "--to", "jsonl"]) == 0
    answers = [json.loads(line)["answers"] for line in capsys.readouterr().out.splitlines()]
    assert [best["label"] for (best,) in answers] == [label.split("/")[1] for label in LEAVES]


@pytest.mark.parametrize("name", ["answers.csv", "answers.jsonl", "answers.csv.gz", "answers.jsonl.xz"])
def test_output_forms(name: str, text_model: str, tmp_path: Path) -> None:
    source, out = write_csv(tmp_path / "rows.csv", ROWS), tmp_path / name
    assert run(["predict", text_model, str(source), "-k", "3", "--keep", "id", "-o", str(out)]) == 0
    raw = out.read_bytes()
    raw = (
        gzip.decompress(raw)
        if name.endswith(".gz")
        else lzma.decompress(raw)
        if name.endswith(".xz")
        else raw
    )
    lines = raw.decode().splitlines()
    if "csv" in name:
        assert lines[0] == "id,row,rank,label,path,score,probability"
        assert len(lines) == 1 + 3 * len(ROWS)
        assert lines[1].startswith("row 0,1,1,Animal/Cat,Animal/Cat,")
    else:
        record = json.loads(lines[0])
        assert (record["row"], record["id"], len(record["answers"])) == (1, "row 0", 3)
        scores = [answer["score"] for answer in record["answers"]]
        assert scores == sorted(scores, reverse=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["rows.csv", name])


def test_more_labels_than_classes_are_all_classes(
    text_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["predict", text_model, "-s", "fur", "-k", "99"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 4


def _run(*arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return warm_process.run([*COMMAND, *arguments], input=data, capture_output=True)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress], ids=["plain", "gz", "xz"])
def test_standard_input(compress, text_model: str) -> None:  # type: ignore[no-untyped-def]
    data = "".join(json.dumps({"text": text}) + "\n" for text, _ in ROWS).encode()
    done = _run("predict", text_model, "-", "--format", "jsonl", data=compress(data))
    assert done.returncode == 0, done.stderr
    assert [row["label"] for row in csv.DictReader(done.stdout.decode().splitlines())] == LEAVES


def test_a_bad_line_on_standard_input_is_one_line_of_error(text_model: str) -> None:
    done = _run("predict", text_model, "-", "--format", "jsonl", data=b'{"text": "fur"}\n{"text": 7}\n')
    assert done.returncode == 2
    assert done.stderr == b"taxolearn: <stdin>:2: expected a text in 'text', found '7'\n"


def test_a_reader_that_leaves_early_is_no_error(text_model: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv", ROWS * 2000)
    command = [*COMMAND, "predict", text_model, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(timeout=60) == 0
    assert errors == b""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"])
def test_an_interruption_leaves_nothing(sent: int, code: int, text_model: str, tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    command = [*COMMAND, "predict", text_model, "-", "--format", "lines", "-o", str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"fur and bark\n" * 20_000)
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        [waiting] = tmp_path.iterdir()
        assert waiting.name.startswith(".taxolearn-")
        assert waiting.stat().st_mode & 0o077 == 0
        os.kill(process.pid, sent)
        errors = process.stderr.read()
        assert process.wait(timeout=60) == code
    assert list(tmp_path.iterdir()) == []
    assert b"Traceback" not in errors


def test_an_interrupted_fit_leaves_the_old_model(text_model: str, tmp_path: Path) -> None:
    rows = write_csv(tmp_path / "train.csv", pet_rows(4000))
    folder = Path(shutil.copytree(text_model, tmp_path / "model"))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    command = [*COMMAND, "fit", str(rows), "-o", str(folder), "--tol", "1e-12", "-C", "1000"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()  # the rows are read
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
        assert process.wait(timeout=120) == 130
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert errors.splitlines()[-1] == b"taxolearn: interrupted; nothing was written"
