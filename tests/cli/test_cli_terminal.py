"""Names and words that would control a terminal, and characters that cannot be encoded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_data import pet_rows, write_csv

import warm_process
from taxolearn import OneVsRestSVM, Taxonomy, TextClassifier
from taxolearn.cli.app import run
from taxolearn.terminal import printable
from taxolearn.text import TextFeatures

COMMAND = [sys.executable, "-m", "taxolearn.cli"]
# a colour, a title by the eight-bit control, a turned direction, a line of its own
EVIL = "\x1b[31mred\x1b]0;owned\x07 \x9b2J \u202eright \rover"
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def evil_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("evil") / "model")
    names = {label: f"{label.split('/')[1]} {EVIL}" for _, label in pet_rows()}
    tree = Taxonomy.from_edges([("all", name) for name in names.values()])
    texts = [f"{text} wo\x1b[31mrd" for text, _ in pet_rows()]
    features = TextFeatures(analyzer="char")
    titles = dict.fromkeys(names.values(), f"title {EVIL}")
    model = TextClassifier(OneVsRestSVM(taxonomy=tree), features, titles=titles)
    model.fit(texts, [names[label] for _, label in pet_rows()]).save(folder)
    return folder


COMMANDS = {
    "explain": ["explain", "{}", "purr wo\x1b[31mrd"],
    "explain --json": ["explain", "{}", "purr wo\x1b[31mrd", "--json"],
    "inspect": ["inspect", "{}"],
    "inspect --json": ["inspect", "{}", "--json"],
    "inspect --node": ["inspect", "{}", "--node", f"Cat {EVIL}"],
    "inspect --node --json": ["inspect", "{}", "--node", f"Cat {EVIL}", "--json"],
    "evaluate": ["evaluate", "{}", "rows.csv", "--by-chapter"],
    "evaluate --json": ["evaluate", "{}", "rows.csv", "--by-chapter", "--json"],
    "unknown label": ["explain", "{}", "purr", "--label", f"Cow {EVIL}"],
    "unknown file": ["predict", "{}", f"{EVIL}.csv"],
    "unknown model": ["inspect", f"no {EVIL}"],
    "unknown option": ["inspect", f"--{EVIL}"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_that_is_printed_controls_the_terminal(
    name: str,
    evil_model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "rows.csv", [(text, f"{label.split('/')[1]} {EVIL}") for text, label in pet_rows(8)])
    code = run([argument.replace("{}", evil_model) for argument in COMMANDS[name]])
    captured = capsys.readouterr()
    assert code == (2 if name.startswith("unknown") else 0), captured.err
    assert not CONTROLS.search(captured.out + captured.err)
    if name.endswith("--json"):
        found = "".join(_strings(json.loads(captured.out)))
        assert EVIL in found or name.startswith("inspect")


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _strings(part)]
    if isinstance(value, list):
        return [text for entry in value for text in _strings(entry)]
    return [value] if isinstance(value, str) else []


def test_answers_are_escaped_on_a_terminal_and_exact_elsewhere(evil_model: str) -> None:
    command = [*COMMAND, "predict", evil_model, "-s", "purr meow", "--to", "jsonl"]
    piped = warm_process.run(command, capture_output=True, timeout=120, check=True).stdout.decode()
    assert json.loads(piped)["answers"][0]["label"] == f"Cat {EVIL}"
    master, slave = os.openpty()
    try:
        warm_process.run(command, stdout=slave, stderr=subprocess.DEVNULL, timeout=120, check=True)
        shown = os.read(master, 10_000).decode()
    finally:
        os.close(master)
        os.close(slave)
    assert not CONTROLS.search(shown.replace("\r\n", "\n"))
    assert json.loads(shown) == json.loads(piped)


def test_explanations_in_python_are_escaped_too() -> None:
    model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", f"b {EVIL}"])
    assert not CONTROLS.search(str(model.explain([2.0])))


def test_what_is_printable_stays() -> None:
    for text in ("", "Katze", "猫 é", "שלום", "a 👩‍👩‍👧 b"):
        assert printable(text) == text
    assert printable("a\tb\n") == "a\\tb\\n"
    assert printable("a\nb", keep="\n") == "a\nb"
    assert printable("\ud800") == "\\ud800"
    assert json.loads(f'"{printable(EVIL)}"') == EVIL


HALF = '{"text": "purr \\ud800 meow", "id": "half \\udc9b"}\n'


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_half_characters_on_standard_output(form: str, encoding: str, text_model: str) -> None:
    command = [*COMMAND, "predict", text_model, "-", "--format", "jsonl", "--keep", "id", "--to", form]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = warm_process.run(
        command, input=HALF.encode(), capture_output=True, env=environment, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "half \\udc9b" in done.stdout.decode()
    if form == "jsonl":
        assert json.loads(done.stdout)["id"] == "half \udc9b"


def test_half_characters_in_a_file_are_one_sentence(
    text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "answers.csv"
    rows.write_text(HALF)
    assert run(["predict", text_model, str(rows), "--keep", "id", "-o", str(out)]) == 2
    assert "cannot be written as UTF-8" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    "arguments",
    [["predict", "{}", "-s", "purr \udcff"], ["explain", "{}", "purr \udcff"], ["explain", "{}", "\udcff"]],
)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_half_characters_in_an_argument(arguments: list[str], encoding: str, text_model: str) -> None:
    given = [os.fsencode(argument.replace("{}", text_model)) for argument in arguments]
    done = warm_process.run(
        [*map(os.fsencode, COMMAND), *given], capture_output=True, timeout=120, check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )  # fmt: skip
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr


def test_a_parquet_file_with_two_columns_of_one_name(
    text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path, out = tmp_path / "rows.parquet", tmp_path / "answers.csv"
    columns = [pyarrow.array(["purr"]), pyarrow.array(["woof"]), pyarrow.array(["Cat"])]
    parquet.write_table(pyarrow.Table.from_arrays(columns, ["text", "text", "label"]), path)
    for arguments in (["predict", text_model, str(path)], ["fit", str(path)]):
        assert run([*arguments, "-o", str(out)]) == 2
        assert "rows.parquet: expected different column names, found 'text' twice" in capsys.readouterr().err
        assert not out.exists()


def test_a_parquet_value_that_python_cannot_hold(
    text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    late = pyarrow.array([2**62], pyarrow.int64()).cast(pyarrow.timestamp("us"))
    parquet.write_table(pyarrow.table({"text": ["purr"], "when": late}), path)
    assert run(["predict", text_model, str(path), "--keep", "when"]) == 2
    assert "rows.parquet:1: the Parquet file is damaged" in capsys.readouterr().err
