"""The benchmark against peers: one problem for all, each entrant in its own process, and a page of results."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "peers"


def module(name: str) -> ModuleType:
    spec = spec_from_file_location(f"peers_{name}", PEERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


page = module("page")


def line(entrant, library="scikit_learn", name="clef", **given):
    facts = {
        "set": name,
        "entrant": entrant,
        "library": library,
        "status": "ok",
        "several": False,
        "version": "1",
    }
    facts |= {"rows": 9, "test_rows": 3, "features": 2, "classes": 2, "nodes": 3}
    return {**facts, "accuracy": 0.5, "fit_cpu": 1.0, **given}


@pytest.fixture
def prepared(tmp_path):
    """A problem of four classes that anyone can learn, rows sorted by class."""
    folder = tmp_path / "prepared"
    folder.mkdir()
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 20)
    X = np.eye(4)[y] * 3 + 0.1 * rng.normal(size=(80, 4))
    sparse.save_npz(folder / "train.npz", sparse.csr_matrix(X))
    sparse.save_npz(folder / "test.npz", sparse.csr_matrix(np.eye(4) * 3))
    sparse.save_npz(folder / "labels.npz", sparse.csr_matrix(np.eye(4)[y]))
    facts = {"names": ["Lion", "Lynx", "Dog", "Oak", "Cat", "root"], "several": False, "dense": False}
    edges = [["root", "Cat"], ["Cat", "Lion"], ["Cat", "Lynx"], ["root", "Dog"], ["root", "Oak"]]
    (folder / "facts.json").write_text(json.dumps({**facts, "edges": edges}))
    return folder


@pytest.mark.parametrize(
    ("adapter", "entrant"), [("taxolearn", "OneVsRestSVM"), ("scikit_learn", "LinearSVC")]
)
def test_an_entrant_answers_in_a_process_of_its_own(prepared, tmp_path, adapter, entrant):
    target = tmp_path / "out"
    target.mkdir()
    command = [sys.executable, "worker.py", adapter, entrant, str(prepared), str(target)]
    subprocess.run(command, cwd=PEERS, check=True, capture_output=True)
    assert np.load(target / "answers.npy").tolist() == [0, 1, 2, 3]
    facts = json.loads((target / "facts.json").read_text())
    assert facts["fit_cpu"] >= 0
    assert 10 < facts["fit_peak_mb"] <= facts["peak_mb"]
    assert 0 < facts["model_mb"] < 1


def test_every_adapter_says_what_it_needs():
    files = sorted(file for file in (PEERS / "adapters").glob("*.py") if file.stem != "__init__")
    assert {file.stem for file in files} >= {
        "hiclass",
        "omikuji",
        "napkinxc",
        "pecos",
        "libmultilabel",
        "taxolearn",
    }
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert "PACKAGE, ENVIRONMENT = " in text, file.name
        assert "\nENTRANTS = {" in text, file.name


def test_the_best_of_a_column_is_bold_and_ties_are_shared():
    lines = [
        line("A", accuracy=0.8004),
        line("B", accuracy=0.7996),
        line("C", "taxolearn", accuracy=0.7, fit_cpu=0.5),
    ]
    columns = page.columns_of(lines, (*page.QUALITY, *page.COST))
    text = page.table(lines, columns)
    assert text[2:] == ["| A | **80.0** | 1.00 |", "| B | **80.0** | 1.00 |", "| C\\* | 70.0 | **0.50** |"]
    won = page.who_wins({"clef": lines})
    assert "| accuracy | 0 of 1 | clef: A, B |" in won
    assert "| fit, CPU s | 1 of 1 | nowhere |" in won


def test_seconds_on_the_clock_are_shown_and_not_compared():
    lines = [line("A", fit_wall=1.0), line("B", "taxolearn", fit_wall=2.0)]
    [shown, *_] = page.table(lines, page.columns_of(lines, page.COST))[2:]
    assert shown == "| A | **1.00** | 1.00 |"
    assert not any("fit, s" in text for text in page.who_wins({"clef": lines}))


def test_what_failed_is_said():
    lines = [
        line("A"),
        line("B", status="time", limit_seconds=300.0),
        line("C", status="memory", limit_gb=8.0, accuracy=0.99),
        line("D", status="error", said="no such package"),
    ]
    text = page.section("clef", lines)
    for place in [k for k, each in enumerate(text) if each.startswith("|---")]:
        columns = text[place].count("|") - 1
        assert text[place + 2].startswith("| B | cut after 300 CPU s |")
        assert text[place + 3].startswith("| C | cut at 8 GB |")
        assert all(each.count("|") - 1 == columns for each in text[place + 1 : place + 4])
        assert "**" in text[place + 1]  # who was cut wins nothing
    assert "- D: no such package." in text
    assert "| D |" not in "\n".join(text)


def test_the_newest_line_of_an_entrant_counts(tmp_path):
    results = tmp_path / "results.jsonl"
    results.write_text("".join(json.dumps(each) + "\n" for each in (line("A"), line("A", accuracy=0.9))))
    assert [each["accuracy"] for each in page.read(results)] == [0.9]


def test_the_page_is_made_of_the_results():
    assert page.PAGE.read_text(encoding="utf-8") == page.render(page.read()), (
        "run python benchmarks/peers/page.py"
    )
    for name in {each["set"] for each in page.read() if each["status"] == "ok"}:
        assert (ROOT / "docs" / "images" / "peers" / f"{name}.svg").is_file()


@pytest.mark.parametrize(
    ("code", "status"), [("pass", "ok"), ("raise MemoryError", "memory"), ("raise ValueError", "error")]
)
def test_memory_that_is_refused_counts_as_a_limit(monkeypatch, code, status):
    monkeypatch.syspath_prepend(str(PEERS))
    assert module("run").run([sys.executable, "-c", code], 60.0, 1.0)[0] == status
