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
from hostile_strings import hostile_strings
from taxolearn import OneVsRestSVM, Taxonomy, TextClassifier
from taxolearn.cli.app import run
from taxolearn.text import TextFeatures

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
TEXTS = hostile_strings()
WHOLE = [
    text[:2000].encode("utf-8", "ignore").decode() for text in TEXTS
]  # model files hold no half characters
LABELS = [f"{number} {text}" for number, text in enumerate(WHOLE)]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A model with a class for each of them, and rows as bad."""
    folder = tmp_path_factory.mktemp("hostile")
    edges = [("all \x1b[31m", f"branch {k} \x9b31m") for k in range(9)]
    edges += [(f"branch {k % 9} \x9b31m", label) for k, label in enumerate(LABELS)]
    titles = {label: f"title {WHOLE[k][:500]}" for k, label in enumerate(LABELS) if k % 2}
    features = TextFeatures(analyzer="char", char_ngrams=(1, 2))
    model = TextClassifier(OneVsRestSVM(Taxonomy.from_edges(edges), tol=0.1), features, titles=titles)
    model.fit(WHOLE, LABELS).save(folder / "model")
    rows = folder / "rows.jsonl"
    lines = [{"text": text or "x", "label": LABELS[k - 1]} for k, text in enumerate(TEXTS)]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder / "model"), str(rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "MODEL", "--depth", "5", "--lines", "400"],
        ["inspect", "MODEL", "--json"],
        ["inspect", "MODEL", "--node", LABELS[40]],
        ["evaluate", "MODEL", "ROWS", "--by-chapter"],
        ["evaluate", "MODEL", "ROWS", "--by-chapter", "--json"],
        ["report", "MODEL", "ROWS", "--markdown", "--examples", "20"],
        ["report", "MODEL", "ROWS", "--json", "--examples", "20"],
        ["report", "MODEL", "ROWS", "--title", TEXTS[40], "--examples", "2", "-o", "FOLDER/report.html"],
        ["check", "ROWS"],
        *(["explain", "MODEL", text] for text in TEXTS[30:60:4]),
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
    assert len(lines) == len(TEXTS)
    for line in lines:
        assert not CONTROLS.search(line)
        assert json.loads(line)["answers"]
