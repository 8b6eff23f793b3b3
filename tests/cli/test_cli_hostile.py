"""Two hundred hostile labels and texts through the commands: no escape sequence reaches a terminal raw."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import warm_process
from hostile_strings import HOSTILE, LABELS, hostile_model
from taxolearn.cli.app import run

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
LONGEST = max(range(len(HOSTILE)), key=lambda k: len(HOSTILE[k]))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A model with a class for each of them, and rows as bad."""
    folder = tmp_path_factory.mktemp("hostile")
    hostile_model().save(folder / "model")
    rows = folder / "rows.jsonl"
    lines = [{"text": text, "label": LABELS[k - 1]} for k, text in enumerate(HOSTILE)]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder / "model"), str(rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "MODEL", "--depth", "5", "--lines", "400"],
        ["inspect", "MODEL", "--json"],
        ["inspect", "MODEL", "--node", LABELS[40]],
        ["inspect", "MODEL", "--node", LABELS[LONGEST]],
        ["evaluate", "MODEL", "ROWS", "--by-chapter"],
        ["evaluate", "MODEL", "ROWS", "--by-chapter", "--json"],
        ["report", "MODEL", "ROWS", "--markdown", "--examples", "20"],
        ["report", "MODEL", "ROWS", "--json", "--examples", "20"],
        ["report", "MODEL", "ROWS", "--title", HOSTILE[40], "--examples", "2", "-o", "FOLDER/report.html"],
        ["check", "ROWS"],
        *(["explain", "MODEL", text] for text in HOSTILE[30:60:4]),
        ["explain", "MODEL", "fur", "--label", LABELS[LONGEST]],
        ["explain", "MODEL", "fur", "--label", LABELS[41]],
        ["explain", "MODEL", "fur", "--label", "no \x1b[31m such"],
        ["report", "MODEL", "no \x1b[31m such.csv"],
    ],
    ids=lambda arguments: re.sub(r"\W+", " ", " ".join(arguments)[:30]),
)
def test_nothing_raw_is_printed(
    arguments: list[str], hostile: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [{"MODEL": hostile[0], "ROWS": hostile[1]}.get(part, part) for part in arguments]
    code = run([part.replace("FOLDER", str(tmp_path)).replace("\x00", "") for part in given])
    captured = capsys.readouterr()
    assert not CONTROLS.search(captured.out + captured.err)
    wrong = any("such" in part for part in arguments)
    assert code == (2 if wrong else 1 if arguments[0] == "check" else 0), captured.err
    assert captured.err.count("Traceback") == 0


def test_answers_on_a_terminal(hostile: tuple[str, str]) -> None:
    command = [sys.executable, "-m", "taxolearn.cli", "predict", *hostile, "--to", "jsonl", "--keep", "label"]
    master, slave = os.openpty()
    shown: list[bytes] = []

    def read() -> None:
        with os.fdopen(master, "rb", buffering=0) as stream:
            try:
                while part := stream.read(65536):
                    shown.append(part)
            except OSError:  # the other end is closed
                return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        warm_process.run(command, stdout=slave, stderr=subprocess.DEVNULL, timeout=120, check=True)
    finally:
        os.close(slave)
    reader.join(20)
    lines = b"".join(shown).decode().replace("\r\n", "\n").splitlines()
    assert len(lines) == len(HOSTILE)
    for line in lines:
        assert not CONTROLS.search(line)
        assert json.loads(line)["answers"]
