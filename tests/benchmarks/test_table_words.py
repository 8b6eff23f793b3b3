"""The table of what words know: printed from its cells, and the page says what is printed."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

import warm_process

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "table_words.py"
NAMES = {
    "trec": "TREC questions",
    "news": "20 newsgroups",
    "flat": "`OneVsRestSVM`",
    "tree": "`NormalizedHierarchicalSVM`",
    "icd": "ICD-10-CM",
}


@cache
def printed(cells: Path) -> tuple[int, list[list[str]]]:
    """Exit code, and the cells of each line of a table; the folder of data is not read."""
    asked = [sys.executable, str(SCRIPT), "no folder", str(cells), "--only-table"]
    done = warm_process.run(asked, capture_output=True, text=True)
    return done.returncode, rows_of(done.stdout)


def rows_of(text: str) -> list[list[str]]:
    lines = (
        line.replace("**", "").strip("|").split("|") for line in text.splitlines() if line.startswith("| ")
    )
    return [[NAMES.get(cell.strip(), cell.strip()) for cell in line] for line in lines]


def test_the_page_says_what_the_cells_say() -> None:
    code, found = printed(SCRIPT.with_suffix(".jsonl"))
    assert code == 0
    page = rows_of((ROOT / "docs" / "text.md").read_text(encoding="utf-8"))
    told = {tuple(row[:3]): row[3:] for row in page if len(row) == 8 and row[0] != "set"}
    measured = {
        (*row[:2], row[2].split()[0]): row[3:8] for row in found if len(row) == 10 and row[0] != "set"
    }
    assert len(told) == 32
    assert told == measured
    levels = {(row[0], row[1]): re.findall(r"[\d.]+ \([\d.]+\)", row[2]) for row in found if len(row) == 3}
    del levels["no rows: names alone", "method"]
    method, shown = "", {}
    for row in page:
        if row[0].startswith("set, "):
            method = row[0].removeprefix("set, ")
        elif len(row) == 6:
            shown[row[0], method] = [cell for cell in row[1:] if cell]
    assert shown == {key: found[:5] for key, found in levels.items()}  # amazon has three more, of a few rows


def test_what_the_page_calls_significant_is() -> None:
    _, found = printed(SCRIPT.with_suffix(".jsonl"))
    leads: dict[str, set[tuple[str, ...]]] = {"n-grams": set(), "best": set()}
    for row in found:
        if len(row) != 10 or row[0] == "set":
            continue
        for against, cell in zip(leads, row[8:], strict=True):
            lead, p = map(float, re.findall(r"[-+]?[\d.]+", cell))
            if p < 0.02:
                assert lead > 0
                leads[against].add((*row[:2], row[2].split()[0]))
    methods = [NAMES["flat"], NAMES["tree"]]
    above = {
        (name, m, rows)
        for name in ("amazon", "ICD-10-CM")
        for m in methods
        for rows in ("1", "3", "10", "all")
    }
    above |= {("20 newsgroups", m, "10") for m in methods} | {("20 newsgroups", methods[1], "1")}
    assert leads["best"] == above
    three = {(name, m, "3") for name in ("20 newsgroups", "amazon", "ICD-10-CM") for m in methods}
    assert {key for key in leads["n-grams"] if key[2] == "3"} == three


@pytest.mark.parametrize("missing", ['["icd", "tree", "3", 4, "auto"]', '["amazon", "flat", "zero"]'])
def test_a_missing_cell_is_no_success(missing: str, tmp_path: Path) -> None:
    cells = SCRIPT.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    kept = [line for line in cells if missing not in line]
    assert len(kept) == len(cells) - 1
    (tmp_path / "cells.jsonl").write_text("\n".join(kept), encoding="utf-8")
    assert printed(tmp_path / "cells.jsonl")[0] == 1
