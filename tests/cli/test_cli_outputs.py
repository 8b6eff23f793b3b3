"""Where results go: nothing that stands at `--output` is destroyed, and a bad one is named before any work."""

from __future__ import annotations

import csv
import json
import os
import socket
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from cli_data import pet_rows, write_csv, write_json, write_svm

import warm_process
from taxolearn.cli.app import run
from taxolearn.datasets._files import writing
from taxolearn.errors import FileFormatError

COMMAND = [sys.executable, "-m", "taxolearn.cli"]
HEADER = "row,rank,label,path,score,probability"


def predict(model: str, output: Path | str) -> int:
    return run(["predict", model, "-s", "purr meow", "-o", str(output)])


def one_error(capsys: pytest.CaptureFixture[str], *parts: str) -> None:
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    assert line.startswith("taxolearn: ")
    assert all(part in line for part in parts), line


def test_a_pipe_is_written_to_and_stays_a_pipe(text_model: str, tmp_path: Path) -> None:
    pipe = tmp_path / "answers.csv"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    assert predict(text_model, pipe) == 0
    reader.join(timeout=30)
    assert found[0].startswith(HEADER)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def linked(folder: Path, target: str) -> Path:
    """A link of our own: whoever replaces what it is given replaces this and not a device of the machine."""
    link = folder / "link.csv"
    link.symlink_to(target)
    return link


def test_a_device_is_written_to_and_stays_a_device(text_model: str, tmp_path: Path) -> None:
    link = linked(tmp_path, os.devnull)
    assert predict(text_model, link) == 0
    assert link.is_symlink()
    assert stat.S_ISCHR(link.stat().st_mode)
    assert not list(Path(os.devnull).parent.glob(".taxolearn-*"))


def test_a_terminal_is_written_to_and_stays_one(text_model: str) -> None:
    master, slave = os.openpty()
    try:
        name = os.ttyname(slave)
        assert predict(text_model, name) == 0
        assert os.read(master, 1000).decode().startswith(HEADER)
        assert stat.S_ISCHR(os.stat(name).st_mode)
    finally:
        os.close(master)
        os.close(slave)


def test_a_device_that_is_full_is_one_sentence(
    text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = linked(tmp_path, "/dev/full")
    if link.exists():
        assert predict(text_model, link) == 2
        one_error(capsys, "link.csv: the file cannot be written")
        assert link.is_symlink()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_name(name: str, text_model: str, tmp_path: Path) -> None:
    if not os.path.lexists(name):
        return
    link = linked(tmp_path, name)
    command = [*COMMAND, "predict", text_model, "-s", "purr", "-o", str(link)]
    done = warm_process.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(HEADER)
    kept = tmp_path / "kept.csv"
    kept.write_text("first line\n")
    with kept.open("a") as stream:  # as the shell's >> does
        warm_process.run(command, stdout=stream, timeout=120, check=True)
    assert kept.read_text().splitlines()[:2] == ["first line", HEADER]
    assert link.is_symlink()


def test_a_socket_is_refused(text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        assert predict(text_model, path) == 2
        one_error(capsys, "it is a socket")
        assert stat.S_ISSOCK(path.stat().st_mode)


@pytest.mark.parametrize("there", [True, False], ids=["old", "new"])
def test_a_link_stays_and_its_target_is_replaced(there: bool, text_model: str, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, middle, link = tmp_path / "far" / "target.csv", tmp_path / "middle.csv", tmp_path / "link.csv"
    if there:
        target.write_text("old")
    middle.symlink_to("far/target.csv")
    link.symlink_to("middle.csv")
    assert predict(text_model, link) == 0
    assert link.is_symlink()
    assert middle.is_symlink()
    assert target.read_text().startswith(HEADER)
    assert list(target.parent.iterdir()) == [target]


def test_a_circle_of_links_is_one_sentence(
    text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    assert predict(text_model, tmp_path / "a.csv") == 2
    one_error(capsys, "a.csv: the file cannot be written")


def test_files_of_the_user_beside_the_target_stay(text_model: str, tmp_path: Path) -> None:
    out, part, victim = tmp_path / "answers.csv", tmp_path / "answers.csv.part", tmp_path / "victim"
    part.write_text("mine")
    assert predict(text_model, out) == 0
    assert part.read_text() == "mine"
    part.unlink()
    victim.write_text("precious")
    part.symlink_to(victim)
    assert predict(text_model, out) == 0
    assert victim.read_text() == "precious"
    assert part.is_symlink()


def test_modes(text_model: str, tmp_path: Path) -> None:
    new, old = tmp_path / "new.csv", tmp_path / "old.csv"
    old.write_text("old")
    old.chmod(0o640)
    before = os.umask(0o027)
    try:
        assert predict(text_model, new) == predict(text_model, old) == 0
        with writing(tmp_path / "third.csv") as stream:
            stream.write("secret")
            stream.flush()
            [waiting] = tmp_path.glob(".taxolearn-*")
            assert stat.S_IMODE(waiting.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "third.csv").stat().st_mode) == 0o640


def test_a_file_that_may_not_be_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.csv"
    path.write_text("kept")
    # the superuser may write to anything, so ask in the name of one who may not
    real = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: False if p == str(path) else real(p, mode))
    with pytest.raises(FileFormatError, match="Permission denied"), writing(path):
        raise AssertionError("opened")
    assert path.read_text() == "kept"


def test_two_runs_to_one_output_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    with writing(path) as first:
        first.write("first\n" * 10)
        with writing(path) as second:
            second.write("second\n" * 20_000)
        assert path.read_text() == "second\n" * 20_000
        first.write("first\n" * 10)
    assert path.read_text() == "first\n" * 20
    assert list(tmp_path.iterdir()) == [path]


def _write_half(path: Path) -> None:
    with writing(path) as stream:
        stream.write("new")
        raise RuntimeError("in the middle")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="in the middle"):
        _write_half(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_is_replaced_as_a_whole(tmp_path: Path) -> None:
    from taxolearn.selection.trials import Selection, Trial

    target, link = tmp_path / "target.png", tmp_path / "link.png"
    target.write_text("old")
    link.symlink_to(target)
    selection = Selection([Trial(0, "MulticlassSVM()", 0.01, 0.8, 0.25, 1e-3, True, 0.1)], 0, None, 20)
    broken = Selection([Trial(0, "$\\no$ such formula", 0.01, 0.8, 0.25, 1e-3, True, 0.1)], 0, None, 20)
    with pytest.raises(ValueError):
        broken.plot(link)
    assert target.read_text() == "old"
    selection.plot(link)
    assert link.is_symlink()
    assert target.read_bytes().startswith(b"\x89PNG")


NO_FILES = [".", "..", "/", "", "folder", "folder/", "no/such/folder.csv", "rows.csv/x.csv"]


@pytest.mark.parametrize("output", NO_FILES)
@pytest.mark.parametrize("command", ["predict", "convert"])
def test_a_bad_output_is_one_sentence_before_any_work(
    command: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    write_csv(tmp_path / "rows.csv", pet_rows(4))
    # neither the model nor the rows are there: the output is what comes first
    arguments = {
        "predict": ["predict", "no-model", "no-rows.csv", "-o", output],
        "convert": ["convert", "no-rows.svm", output, "--to", "libsvm"],
    }
    assert run(arguments[command]) == 2
    one_error(capsys, "the file cannot be written")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "rows.csv"]


@pytest.mark.parametrize("command", ["fit", "select"])
@pytest.mark.parametrize("output", ["rows.csv", "full", "rows.csv/model", "nothing", os.devnull])
def test_a_bad_model_folder_is_named_before_rows_are_read(
    command: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "rows.csv", pet_rows(4))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious")
    (tmp_path / "nothing").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    assert run([command, "no-rows.csv", "-o", output]) == 2
    one_error(capsys, f"cannot save a model to {output}")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("plot", ["folder.png", "no/picture.png"])
def test_a_bad_picture_is_named_before_rows_are_read(
    plot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    assert run(["select", "no-rows.csv", "-o", "model", "--plot", plot]) == 2
    one_error(capsys, plot)


def test_convert_writes_all_or_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_json(tmp_path / "rows.jsonl", pet_rows(8))
    tree = tmp_path / "tree.txt"
    tree.write_text("all Animal/Cat\nall Animal/Dog\nall Plant/Oak\nall Plant/Rose\n")
    edges, target = tmp_path / "edges.txt", tmp_path / "rows.svm"
    edges.write_text("old\n")
    # texts do not fit into libsvm rows, which turns out when the taxonomy is already written
    arguments = ["convert", str(rows), str(target), "--taxonomy", str(tree), "--taxonomy-output", str(edges)]
    assert run(arguments) == 2
    one_error(capsys, "texts")
    assert edges.read_text() == "old\n"
    assert not target.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.txt", "rows.jsonl", "tree.txt"]


def test_convert_keeps_pipes_for_the_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows, tree = write_json(tmp_path / "rows.jsonl", pet_rows(8)), tmp_path / "tree.txt"
    tree.write_text("all Animal/Cat\nall Animal/Dog\nall Plant/Oak\nall Plant/Rose\n")
    options = ["--taxonomy", str(tree), "--taxonomy-output", str(linked(tmp_path, "/dev/stdout"))]
    assert run(["convert", str(rows), str(tmp_path / "rows.svm"), *options]) == 2
    assert capfd.readouterr().out == ""
    assert run(["convert", str(rows), str(tmp_path / "again.jsonl"), *options]) == 0
    assert "all Plant/Oak" in capfd.readouterr().out


def test_convert_to_one_file_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, out = write_svm(tmp_path / "rows.svm", pet_rows(8)), tmp_path / "out.svm"
    arguments = ["convert", str(rows), str(out), "--taxonomy-output", str(tmp_path / "." / "out.svm")]
    assert run(arguments) == 2
    one_error(capsys, "--taxonomy-output and TO are one file")
    assert not out.exists()


FORMULAS = ["=1+1", "+1", "-2+3", "@SUM(A1)", "\ttab", "\rreturn"]


def test_csv_safe_puts_an_apostrophe_before_formulas(text_model: str, tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "answers.csv"
    records: list[Any] = [{"text": "purr", "note": note} for note in [*FORMULAS, "plain", -5]]
    rows.write_text("".join(json.dumps(record) + "\n" for record in records))
    for options, mark in (([], ""), (["--csv-safe"], "'")):
        assert run(["predict", text_model, str(rows), "--keep", "note", "-o", str(out), *options]) == 0
        with out.open(newline="") as stream:
            found = list(csv.DictReader(stream))
        assert [row["note"] for row in found] == [*(mark + note for note in FORMULAS), "plain", "-5"]
        assert all(float(row["score"]) == float(row["score"]) for row in found)
    assert run(["predict", text_model, str(rows), "-o", str(out), "--to", "jsonl", "--csv-safe"]) == 2


def test_csv_safe_labels_and_level_tables(tmp_path: Path) -> None:
    train = write_csv(tmp_path / "train.csv", [(text, f"={label}") for text, label in pet_rows(40)])
    model, out = str(tmp_path / "model"), tmp_path / "answers.csv"
    assert run(["fit", str(train), "--sep", "/", "-o", model, "--features", "word", "--jobs", "1"]) == 0
    assert run(["predict", model, "-s", "purr meow", "--csv-safe", "-o", str(out)]) == 0
    with out.open(newline="") as stream:
        [row] = csv.DictReader(stream)
    assert (row["label"], row["path"]) == ("'=Animal/Cat", "'=Animal/Cat")
    levels, safe = tmp_path / "levels.csv", tmp_path / "safe.csv"
    levels.write_text("text,level_1,level_2\n@home,=Animal,-Cat\n")
    assert run(["convert", str(levels), str(safe), "--csv-safe"]) == 0
    assert safe.read_text().splitlines() == ["level_1,level_2,text", "'=Animal,'-Cat,'@home"]
    assert run(["convert", str(levels), str(tmp_path / "x.jsonl"), "--csv-safe"]) == 2
