"""`taxolearn reproduce`: figures are found where scripts print them, and judged by their tolerance."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from taxolearn.cli.app import run
from taxolearn.errors import DataError
from taxolearn.reproduce import Figure, figures, judge, rerun

ROOT = Path(__file__).parents[2]


def figure(**given):
    values = {"table": "t", "figure": "f", "command": "script.py", "data": (), "section": "", "line": "SVM"}
    values |= {"place": 1, "expected": 1.0, "tolerance": 0.1, "published": None, "page": "p.md"}
    return Figure(**{**values, **given})


@pytest.mark.parametrize(
    ("given", "printed", "found"),
    [
        ({}, ["SVM 1.05 2"], 1.05),
        ({"place": 2}, ["SVM 1.05 ± 2.5"], 2.5),
        ({"place": 2}, ["SVM 1.05"], None),
        ({}, ["MySVM 3", "  SVM   .5  "], 0.5),
        ({"line": "a | `SVM(C=100)` |"}, ["| a | `SVM(C=100)` | 27.6 | 1e-3 |"], 27.6),
        (
            {"section": "B (*), C = 1"},
            ["SVM 1", "A (3 rows), C = 1", "SVM 2", "B (3 rows), C = 1", "SVM 3"],
            3.0,
        ),
        ({"section": "B (*), C = 1"}, ["B (3 rows), C chosen", "SVM 3"], None),
        ({}, ["SVM +0.60 +- .2"], 0.6),
        ({}, ["SVM v2 7e-04"], 7e-4),
    ],
)
def test_a_figure_is_found(given, printed, found):
    assert judge([figure(**given)], printed)[0].found == found


@pytest.mark.parametrize(
    ("value", "ok"), [(1.0, True), (1.1, True), (0.9, True), (1.11, False), (0.89, False)]
)
def test_the_tolerance_is_kept(value, ok):
    assert judge([figure()], [f"SVM {value}"])[0].ok is ok


def test_what_is_not_printed_fails():
    assert not judge([figure(tolerance=1e9)], ["nothing"])[0].ok


def test_commands_run_once_and_get_the_data(tmp_path):
    (tmp_path / "script.py").write_text(
        "import sys\nfrom pathlib import Path\n"
        "Path('runs').open('a').write('x')\nprint('SVM', 1.0, len(list(Path(sys.argv[1]).iterdir())))\n"
    )
    (tmp_path / "sets" / "clef").mkdir(parents=True)
    both = {"command": "script.py {data}", "data": ("clef",)}
    told: list[str] = []
    wanted = [figure(**both), figure(**both, place=2, expected=5)]
    found = list(rerun(wanted, tmp_path, str(tmp_path / "sets"), told.append))
    assert [(each.found, each.ok) for each in found] == [(1.0, True), (1.0, False)]
    assert (tmp_path / "runs").read_text() == "x"
    assert told == ["SVM 1.0 1"]


@pytest.mark.parametrize(
    ("given", "data", "message"),
    [
        ({"command": "gone.py"}, None, "has no gone.py"),
        ({"data": ("clef",)}, None, "t needs the data sets clef; give their folder by --data"),
        ({"data": ("clef",)}, ".", "has neither a folder clef nor clef.tar.xz; t needs it"),
    ],
)
def test_what_is_missing_is_told_before_anything_runs(tmp_path, given, data, message):
    (tmp_path / "script.py").write_text("raise SystemExit('ran')")
    with pytest.raises(DataError, match=re.escape(message)):
        list(rerun([figure(), figure(**given)], tmp_path, data and str(tmp_path), print))


def test_the_command_line_lists_judges_and_fails(tmp_path, capsys, monkeypatch):
    assert run(["reproduce"]) == 0
    listed = capsys.readouterr().out
    assert "synthetic" in listed
    assert "shared-svm.md" in listed
    (tmp_path / "_data.py").touch()
    wanted = [each for each in figures() if each.table == "synthetic"]
    lines = dict.fromkeys(f"{each.line} {_row(wanted, each.line)}" for each in wanted)
    (tmp_path / "table_synthetic.py").write_text(
        "print('accuracy: mean')\n" + "".join(f"print({line!r})\n" for line in lines)
    )
    assert run(["reproduce", "synthetic", "--scripts", str(tmp_path)]) == 0
    assert f"synthetic: {len(wanted)} of {len(wanted)} figures OK" in capsys.readouterr().out
    (tmp_path / "table_synthetic.py").write_text("print('accuracy: mean')\n")
    assert run(["reproduce", "synthetic", "--scripts", str(tmp_path)]) == 1
    assert "FAIL flat, Balanced: not printed (expected 59.3 +- 0.5; published 60)" in capsys.readouterr().out


def _row(wanted, line):
    """Numbers so that every figure of a line is where it is looked for."""
    numbers = {each.place: each.expected for each in wanted if each.line == line}
    return " ".join(str(numbers.get(place, 0)) for place in range(1, max(numbers) + 1))


def test_the_file_is_sound():
    """Scripts and pages exist, pages print the figures, and no figure is there twice."""
    names = Counter((each.table, each.figure) for each in figures())
    assert names.most_common(1)[0][1] == 1
    with open(ROOT / "src/taxolearn/reproduce/figures.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            script = ROOT / "benchmarks" / row["command"].split()[0]
            assert script.is_file(), row
            assert ("{data}" in row["command"]) == bool(row["data"]), row
            page = (ROOT / "docs" / row["page"]).read_text(encoding="utf-8")
            for printed in filter(None, (row["expected"], row["published"])):
                shown = printed.removeprefix("0") if printed.startswith("0.") else printed
                assert re.search(rf"(?<![\d.])0?{re.escape(shown)}(?!\d)", page), row


def test_lines_are_words_of_their_scripts():
    """What the file looks for in the output of a script is made of words that the script, or what it imports, has."""
    scripts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
    for script, line in {(one.command.split()[0], one.line) for one in figures()}:
        sources = [
            scripts[script],
            *(scripts[f"{name}.py"] for name in re.findall(r"from (_[a-z]\w+) import", scripts[script])),
        ]
        words = set(re.findall(r"\w+", " ".join(sources)))
        assert set(re.findall(r"\w+", line)) <= words, f"{script} prints no line that begins with {line}"


# of a table's figures so many are in the file, or it is on the list of those left out
_SHARE = 0.3
_LEAST_FIGURES = 8  # tables with fewer decimals tell what parameters mean
_OWN_COMMAND = {"benchmarks.md"}


def _tables(page):
    """The tables of a page: the heading above, and the decimals in all columns but the first."""
    heading, found = "", None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if not line.startswith("|"):
            found = None
        elif re.fullmatch(r"[|: -]+", line):
            found = []
            yield heading, found
        elif found is not None:
            cells = re.sub(r"\(.*?\)", "", line.replace("*", "")).split("|")[2:]
            found += [float(each) for each in re.findall(r"(?<![\w.])\d*\.\d+(?![\w.])", " ".join(cells))]


def test_every_table_of_the_pages_is_in_the_file_or_on_the_list():
    docs = ROOT / "docs"
    listed = dict.fromkeys(
        re.findall(
            r"^\| ([\w/-]+\.md) \| (.+?) \| .+ \|$", (docs / "reproduce.md").read_text(encoding="utf-8"), re.M
        ),
        False,
    )
    assert len(listed) > 10
    missing = []
    for page in [ROOT / "README.md", *sorted(docs.rglob("*.md"))]:
        name = page.name if page.parent == ROOT else page.relative_to(docs).as_posix()
        if "_build" in page.parts or name in _OWN_COMMAND:
            continue
        own = {each.expected for each in figures() if each.page == name or name == "README.md"}
        for heading, found in list(_tables(page)):
            known = sum(value in own for value in found)
            if len(found) < _LEAST_FIGURES or known >= _SHARE * len(found):
                continue
            if (name, heading) in listed:
                listed[name, heading] = True
            else:
                missing.append(f"{name}, {heading}: {known} of {len(found)} figures are in the file")
    assert not missing, "\n".join(missing)
    assert not [entry for entry, needed in listed.items() if not needed], "listed for nothing"
