"""HTML, Markdown and JSON say the same, hold together, and nothing in a name or a text becomes markup or code."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
from pathlib import Path

import pytest
from report_cases import CASES, case

from hostile_strings import HOSTILE, LABELS, hostile_model
from taxolearn.cli.app import run
from taxolearn.errors import DataError
from taxolearn.report import Report
from taxolearn.report.blocks import Bullets, Paragraph, Table, text_of
from taxolearn.report.html import asset, safe_json
from taxolearn.report.markdown import escaped
from taxolearn.report.outline import outline
from taxolearn.terminal import printable

pytestmark = pytest.mark.filterwarnings("ignore::taxolearn.errors.EmptyClassWarning", "ignore:coverage=0.99")
every_case = pytest.mark.parametrize("name", CASES)
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


class Page(html.parser.HTMLParser):
    """The elements of a page: their names, attributes, and the text outside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("script", "style"):
            self.inside.setdefault(self._open[-1], []).append(data)
        else:
            self.texts.append(data)


@every_case
def test_all_three_forms_say_the_same(name: str) -> None:
    one = case(name)
    report = one.model.report(one.X, one.y, n_examples=8)
    assert json.loads(report.to_json()) == report.data
    page, markdown = Page(report.to_html()), report.to_markdown()
    data = json.loads("".join(page.inside["script"][:1]))
    assert data == report.data
    shown = " ".join("".join(page.texts).split())
    said = " ".join(markdown.split())
    for section in outline(report.data):
        for block in section.blocks:
            if isinstance(block, Table):
                lines = [block.caption, *(text_of(cell) for row in block.rows for cell in row)]
                lines += [block.showing] if block.showing else []
            elif isinstance(block, Paragraph):
                lines = [block.text]
            else:
                lines = list(block.items) if isinstance(block, Bullets) else []
            for line in lines:
                assert " ".join(printable(line).split()) in shown
                assert " ".join(escaped(line).split()) in said


def test_the_page_needs_nothing_and_allows_nothing_else() -> None:
    one = case("texts")
    text = one.model.report(one.X, one.y, n_examples=8).to_html()
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "srcset", "style", "action"} & set(attributes)
        assert not any(key.startswith("on") for key in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    policy = next(
        a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for name in ("report.js", "report.css"):
        digest = base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
        assert asset(name) in text
    assert "eval(" not in asset("report.js")
    assert "innerHTML" not in asset("report.js")


def test_hostile_labels_and_texts_stay_text(tmp_path: Path) -> None:
    """Labels, titles and texts of a million characters among them."""
    report = hostile_model().report(
        HOSTILE, LABELS[1:] + LABELS[:1], n_examples=30, title=max(HOSTILE, key=len)
    )
    text = report.to_html()
    assert len(text) < 10_000_000
    page = Page(text)
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert not {"img", "iframe", "base", "link", "form", "math", "i"} & {tag for tag, _ in page.elements}
    assert not CONTROLS.search("".join(page.texts))
    assert json.loads(page.inside["script"][0]) == json.loads(report.to_json())
    assert not CONTROLS.search(page.inside["script"][0])
    markdown = report.to_markdown()
    assert not CONTROLS.search(markdown)
    plain = re.sub(r"\\[\\`*_\[\]<>|#~!&$]", "", markdown)
    assert "<" not in plain
    assert "](" not in plain
    for table in re.findall(r"(?m)^\|.*\|$", plain):  # as many cells as the line below the head has
        assert table.count("|") >= 3
    for name in ("report.html", "report.md", "report.json"):
        report.save(tmp_path / name)
        (tmp_path / name).read_text("utf-8")


def test_tables_keep_their_columns_whatever_cells_hold() -> None:
    markdown = hostile_model().report(HOSTILE[:40], LABELS[1:41], n_examples=2).to_markdown()
    width = 0
    for line in re.sub(r"\\.", "", markdown).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        width = width or line.count("|")
        assert line.count("|") == width


def test_data_in_a_script_tag() -> None:
    value = {"<>&": "</script>\u2028\u2029\x85\ud800 é"}
    said = safe_json(value)
    assert not re.search("[<>&\u2028\u2029\x85]", said)
    assert json.loads(said) == value


def test_a_report_is_written_by_its_suffix(tmp_path: Path) -> None:
    one = case("svm")
    report = one.model.report(one.X[:10], one.y[:10], n_examples=1)
    for name, start in (("r.html", "<!DOCTYPE html>"), ("r.md", "# "), ("r.json", '{"format"')):
        report.save(tmp_path / name)
        assert (tmp_path / name).read_text("utf-8").startswith(start)
    with pytest.raises(DataError, match=r"ends with \.html, \.md or \.json"):
        report.save(tmp_path / "r.pdf")
    assert repr(Report({})) == "Report()"


def test_the_command_line_writes_all_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = case("texts")
    one.model.save(tmp_path / "model")
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in zip(one.X, one.y, strict=True))
    )
    model, source = str(tmp_path / "model"), str(rows)
    expected = one.model.report(one.X, one.y, n_examples=5)
    assert run(["report", model, source, "-o", str(tmp_path / "r.html"), "--examples", "5"]) == 0
    assert expected.data["summary"]["sentences"][0] in capsys.readouterr().out
    found = json.loads("".join(Page((tmp_path / "r.html").read_text()).inside["script"][:1]))
    assert found["scores"] == expected.data["scores"]
    assert run(["report", model, source, "--json", "--examples", "5"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {**printed, "made": 0} == {**expected.data, "made": 0}
    assert run(["report", model, source, "--markdown", "--examples", "5"]) == 0
    assert capsys.readouterr().out.startswith("# How well the model answers\n")
    assert run(["report", model, source, "-o", str(tmp_path / "r.pdf")]) == 2
    assert run(["report", model, source, "-o", source]) == 2
    assert run(["report", model, source, "--json", "--markdown"]) == 2
    assert json.loads(rows.read_text().splitlines()[0])["text"] == one.X[0]
