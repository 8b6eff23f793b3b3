"""Malformed files through the command line: exit code 2, one line that names the file, and nothing written."""

from __future__ import annotations

import gzip
import lzma
import sys
from pathlib import Path

import pytest

import warm_process
from taxolearn.cli.app import run

_GOOD = b"text,label\nmeow purr,Animal/Cat\nwoof bark,Animal/Dog\n"
_FIT = ("fit", "--sep", "/", "--features", "word", "--jobs", "1")
_PREDICT = ("predict",)
_EVALUATE = ("evaluate", "--sep", "/")
_CONVERT = ("convert",)
_SELECT = ("select", "--sep", "/", "--jobs", "1")

# (file name, content, command, line that the message names or None)
CASES: list[tuple[str, bytes, tuple[str, ...], int | None]] = [
    ("empty.csv", b"", _FIT, None),
    ("header.csv", b"text,label\n", _FIT, None),
    ("no-text.csv", b"words,label\nmeow,Cat\n", _FIT, 1),
    ("no-label.csv", b"text,class\nmeow,Cat\n", _FIT, 1),
    ("short.csv", b"text,label\nmeow,Cat\nwoof\n", _FIT, 3),
    ("long.csv", b"text,label\nmeow,Cat\nwoof,Dog,7\n", _FIT, 3),
    ("twice.csv", b"text,text,label\nmeow,meow,Cat\n", _FIT, 1),
    ("quote.csv", b'text,label\n"meow,Cat\nwoof,Dog\n', _FIT, 3),
    ("after-quote.csv", b'text,label\n"meow"x,Cat\n', _FIT, 2),
    ("latin.csv", b"text,label\nmi\xe4u,Cat\n", _FIT, 2),
    ("nul.csv", b"text,label\nme\0ow,Cat\n", _FIT, 2),
    ("utf16.csv", "text,label\nmeow,Cat\n".encode("utf-16"), _FIT, 1),
    ("empty-label.csv", b"text,label\nmeow,\n", _FIT, 2),
    ("blank-label.csv", b"text,label\nmeow,Cat\nmeow,  \n", _FIT, 3),
    ("empty-name.csv", b"text,label\nmeow,Animal//Cat\n", _FIT, 2),
    ("empty_name.csv", b"text,label\nmeow,Pet//Cat\n", _FIT, 2),
    ("one-class.csv", b"text,label\nmeow,Cat\npurr,Cat\n", _FIT, None),
    ("no-words.csv", b"text,label\n,Cat\n,Dog\n", _FIT, None),
    ("gap.csv", b"text,level_1,level_2\nmeow,,Cat\n", _FIT, 2),
    ("no-levels.csv", b"text,level_1,level_2\nmeow,,\n", _FIT, 2),
    ("one.tsv", _GOOD.replace(b",", b" "), _FIT, 1),
    ("cut.csv.gz", gzip.compress(_GOOD * 50)[:-12], _FIT, None),
    ("fake.csv.gz", b"\x1f\x8bnot really gzip", _FIT, None),
    ("cut.csv.xz", lzma.compress(_GOOD * 50)[:-12], _FIT, None),
    ("empty.jsonl", b"", _FIT, None),
    ("blank.jsonl", b"\n\n\n", _FIT, None),
    ("brace.jsonl", b'{"text": "meow", "label": "Cat"\n', _FIT, 1),
    ("array.jsonl", b'["meow", "Cat"]\n', _FIT, 1),
    ("field.jsonl", b'{"text": "meow", "label": "Cat"}\n{"label": "Dog"}\n', _FIT, 2),
    ("number.jsonl", b'{"text": 7, "label": "Cat"}\n', _FIT, 1),
    ("null.jsonl", b'{"text": null, "label": "Cat"}\n', _FIT, 1),
    ("null-label.jsonl", b'{"text": "meow", "label": null}\n', _FIT, 1),
    ("true-label.jsonl", b'{"text": "meow", "label": true}\n', _FIT, 1),
    ("no-labels.jsonl", b'{"text": "meow", "label": []}\n', _FIT, 1),
    ("object-label.jsonl", b'{"text": "meow", "label": {"a": 1}}\n', _FIT, 1),
    ("deep.jsonl", b"[" * 100_000 + b"\n", _FIT, 1),
    ("latin.jsonl", b'{"text": "mi\xe4u", "label": "Cat"}\n', _FIT, 1),
    ("table.jsonl", _GOOD, _FIT, 1),
    ("random.parquet", bytes(range(256)) * 4, _FIT, None),
    ("cut.parquet", b"PAR1" + b"\0" * 100, _FIT, None),
    ("empty.parquet", b"", _FIT, None),
    ("empty.svm", b"", _FIT, None),
    ("word.svm", b"Cat 1:1 two:2\n", _FIT, 1),
    ("zero.svm", b"Cat 1:1\nDog 0:1\n", _FIT, 2),
    ("nan.svm", b"Cat 1:1\nDog 2:nan\n", _FIT, 2),
    ("repeated.svm", b"Cat 1:1 1:2\n", _FIT, 1),
    ("no-value.svm", b"Cat 1:\n", _FIT, 1),
    ("unlabelled.svm", b"# rows\nCat 1:1\n\n2:1\n", _FIT, 4),
    ("rows.dat", _GOOD, _FIT, None),
    ("single.csv", b"text,label\nmeow purr,Animal/Cat\nwoof bark,Animal/Dog\n", _SELECT, None),
    ("flat-tree-loss.svm", b"Cat 1:1\nDog 2:1\nCat 1:2\n", ("select", "--metric", "tree_loss"), None),
    ("flat-normalized.svm", b"Cat 1:1\nDog 2:1\nCat 1:2\n", ("select", "-m", "normalized"), None),
    ("single.svm", b"Cat 1:1\nDog 2:1\nCat 1:2\n", ("select", "--metric", "micro_f1"), None),
    ("select-one-class.csv", b"text,label\nmeow,A/Cat\npurr,A/Cat\n", _SELECT, None),
    ("bad-value.svm", b"Cat 1:1\nDog 2:x\n", ("select",), 2),
    ("missing-column.csv", b"words\nmeow\n", _PREDICT, 1),
    ("short-row.csv", b"id,text\n1,meow\n2\n", _PREDICT, 3),
    ("late.csv", b"text\n" + b"meow\n" * 10_000 + b"a,b\n", _PREDICT, 10_002),
    ("bad-line.jsonl", b'{"text": "meow"}\n' * 7 + b"nonsense\n", _PREDICT, 8),
    ("binary.txt", b"meow\n\0\x01\n", _PREDICT, 2),
    ("empty.txt", b"", _PREDICT, None),
    ("features.svm", b"Cat 1:1\n", _PREDICT, None),
    ("unknown.csv", b"text,label\nmeow,Animal/Cat\nwoof,Animal/Cow\n", _EVALUATE, 3),
    ("flat.csv", b"text\nmeow\n", _EVALUATE, 1),
    ("odd.arff", b"@relation x\n@attribute a numeric\n@data\n1\n", _CONVERT, None),
    ("odd.svm", b"Cat 1:x\n", _CONVERT, 1),
    ("odd.csv", b"text,level_1\nmeow,Cat,Dog\n", _CONVERT, 2),
]


def _arguments(case: tuple[str, bytes, tuple[str, ...], int | None], folder: Path, model: str) -> list[str]:
    name, content, (command, *options), _ = case
    path = folder / name
    path.write_bytes(content)
    out = str(folder / "out.jsonl")
    if command in ("fit", "select"):
        return [command, str(path), "-o", out, *options]
    if command == "convert":
        return [command, str(path), out, *options]
    return [command, model, str(path), *options, *(["-o", out] if command == "predict" else [])]


def _check(code: int, out: str, err: str, case: tuple[str, bytes, tuple[str, ...], int | None]) -> None:
    assert code == 2, (out, err)
    assert out == ""
    lines = [line for line in err.splitlines() if " rows from " not in line]
    assert len(lines) == 1, err
    assert lines[0].startswith("taxolearn: ")
    line = case[3]
    assert f"{case[0]}:{line}: " in lines[0] if line is not None else case[0] in lines[0], err
    assert "Traceback" not in err


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 50
    assert len({case[0] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_malformed_file(
    case: tuple[str, bytes, tuple[str, ...], int | None],
    text_model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = _arguments(case, tmp_path, text_model)
    capsys.readouterr()
    code = run(arguments)
    captured = capsys.readouterr()
    _check(code, captured.out, captured.err, case)
    assert [path.name for path in tmp_path.iterdir()] == [case[0]]


@pytest.mark.parametrize("name", ["short.csv", "deep.jsonl", "cut.csv.gz", "late.csv", "unknown.csv"])
def test_malformed_file_in_a_process_of_its_own(name: str, text_model: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case[0] == name)
    command = [sys.executable, "-m", "taxolearn.cli", *_arguments(case, tmp_path, text_model)]
    done = warm_process.run(command, capture_output=True, text=True, timeout=120, check=False)
    _check(done.returncode, done.stdout, done.stderr, case)
    assert [path.name for path in tmp_path.iterdir()] == [name]


USAGE = [
    ["frobnicate"],
    ["fit"],
    ["fit", "rows.csv"],
    ["fit", "rows.csv", "-o", "m", "--tol", "much"],
    ["fit", "rows.csv", "-o", "m", "--method", "forest"],
    ["fit", "rows.csv", "-o", "m", "--loss", "square"],
    ["fit", "rows.csv", "-o", "m", "--test-size", "2"],
    ["fit", "rows.csv", "-o", "m", "--test-size", "0.5", "--valid", "rows.csv"],
    ["fit", "rows.csv", "-o", "m", "--features", "word", "--ngrams", "few"],
    ["fit", "rows.csv", "-o", "m", "--features", "phrases"],
    ["fit", "rows.csv", "-o", "m", "--method", "normalized", "--loss", "hinge"],
    ["fit", "rows.csv", "-o", "m", "--method", "normalized", "--set", "objective"],
    ["fit", "rows.csv", "-o", "m", "--method", "normalized", "--set", "depth=3"],
    ["fit", "-", "-o", "m"],
    ["fit", "-", "-o", "m", "--format", "parquet"],
    ["select", "rows.csv"],
    ["select", "rows.svm", "-o", "m"],
    ["select", "rows.csv", "-o", "m", "--method", "forest"],
    ["select", "rows.csv", "-o", "m", "--lambdas", "small"],
    ["select", "rows.csv", "-o", "m", "--lambdas", "1,-1"],
    ["select", "rows.csv", "-o", "m", "--metric", "f1"],
    ["select", "rows.csv", "-o", "m", "--holdout", "1.5"],
    ["select", "rows.csv", "-o", "m", "--plot", "picture.gif"],
    ["select", "rows.csv", "-o", "m", "--plot", "no/picture.png"],
    ["select", "rows.csv", "-o", "m", "--features", "phrases"],
    ["predict", "no-such-model", "-s", "meow"],
    ["predict", "no-such-model", "rows.csv", "--format", "excel"],
    ["predict", "no-such-model", "rows.csv", "--to", "excel"],
    ["predict", "no-such-model", "rows.csv", "-k", "0"],
    ["inspect", "."],
    ["explain", "no-such-model", "meow"],
    ["convert", "rows.xyz", "rows.svm"],
    ["convert", "rows.svm", "rows.csv", "--names-output", "names"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_bad_usage(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("taxolearn: ")
    assert len(captured.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [["inspect", "--node", "Cow"], ["explain", "meow", "--label", "Cow"], ["explain", "--label", "Cat", ""]],
    ids=["inspect", "explain", "empty"],
)
def test_bad_questions_to_a_model(
    arguments: list[str], text_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    command, *rest = arguments
    assert run([command, text_model, *rest]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1


def test_an_output_that_cannot_be_written(
    text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    out = str(tmp_path / "no" / "such" / "answers.csv")
    assert run(["predict", text_model, "-s", "meow", "-o", out]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
