"""README and docs: their code runs, their excerpts are the source, their links lead somewhere."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest
from doc_pages import PAGES, ROOT, TABLES, anchors, blocks, excerpt, links, n_markers, n_table_markers, tables

from taxolearn.registry import METHODS, STARTER

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@every_page
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    """In order, in one namespace, in an empty folder; what they say they print, they print."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__docs__"}
    for block in blocks(page):
        if block.language != "python" or block.file is not None:
            continue
        where = f"{page.name}, line {block.line}"
        if block.code.lstrip().startswith(">>>"):
            parsed = doctest.DocTestParser().get_doctest(block.code, namespace, where, str(page), block.line)
            runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
            report: list[str] = []
            failed = runner.run(parsed, out=report.append, clear_globs=False).failed
            assert not failed, "".join(report)
            namespace.update(parsed.globs)
        else:
            padded = "\n" * (block.line - 1) + block.code  # so that a traceback has the page's line numbers
            exec(compile(padded, str(page), "exec"), namespace)
            printed = capsys.readouterr().out.splitlines()
            for promised in re.findall(r"^print\(.*\)  # (\[.*\])$", block.code, re.M):
                assert promised in printed, where


@every_page
def test_excerpts_are_the_source(page):
    found = [block for block in blocks(page) if block.file is not None]
    assert len(found) == n_markers(page), "an include line has no code block right below it"
    for block in found:
        expected = excerpt(block.file, block.name)
        assert block.code == expected, f"{page.name}, line {block.line}: run python tests/docs/doc_pages.py"


@every_page
def test_tables_are_made_of_the_sources(page):
    found = tables(page)
    assert 2 * len(found) == n_table_markers(page), "a table has no end, or an end no table"
    for table in found:
        expected = TABLES[table.name]()
        assert table.rows == expected, f"{page.name}, line {table.line}: run python tests/docs/doc_pages.py"


def test_the_table_of_methods_has_a_line_per_method():
    (table,) = [table for page in PAGES for table in tables(page) if table.name == "methods"]
    lines = table.rows.splitlines()[2:]
    links = [f"[`{method.class_name}`](methods/{method.name}.md)" for method in METHODS]
    assert [line.split("|")[1].strip() for line in lines] == links
    assert {line.count("|") for line in lines} == {7}


@pytest.mark.parametrize("method", [STARTER, *METHODS], ids=lambda method: method.name)
def test_every_method_has_its_page(method):
    """Objective and paper as the sources have them, when to use it, what we found, and the reference."""
    page = ROOT / "docs" / "methods" / f"{method.name}.md"
    assert page.is_file(), f"docs/methods/{method.name}.md is missing"
    assert [table.name for table in tables(page)] == [f"method:{method.name}"]
    text = page.read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    assert list(parts) == [
        "What it minimises",
        "When to use it",
        "What we found",
        "Parameters and attributes",
    ]
    assert all(len(part.split()) >= 8 for title, part in parts.items() if title.startswith("Wh"))
    assert f".. autoclass:: taxolearn.{method.class_name}\n" in parts["Parameters and attributes"]


def test_there_are_no_pages_of_methods_that_are_gone():
    found = {page.stem for page in (ROOT / "docs" / "methods").glob("*.md")}
    assert found == {method.name for method in (STARTER, *METHODS)}


@every_page
def test_prose_is_one_sentence_per_line(page):
    """As far as a test can tell: no line of prose is longer than two sentences would be."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    long = [line for line in text.splitlines() if len(line) > 160 and not line.startswith(("|", "    "))]
    assert not long, (
        f"{page.name}: {long[0][:80]}... has {len(long[0])} characters; give each sentence a line"
    )


@every_page
def test_links_resolve(page):
    for target in links(page):
        file, _, anchor = target.partition("#")
        place = page.parent / file if file else page
        assert place.exists(), f"{page.name} links to {target}, which is not there"
        assert ROOT in place.resolve().parents or place.resolve() == ROOT, f"{target} leaves the repository"
        if anchor:
            assert anchor in anchors(place), f"{page.name} links to {target}, but there is no such heading"


def test_there_are_pages_with_code_excerpts_and_links():
    """The tests above would also pass on a page that the parser does not understand."""
    found = [block for page in PAGES for block in blocks(page)]
    assert sum(block.language == "python" and block.file is None for block in found) >= 8
    assert sum(block.file is not None for block in found) >= 4
    assert sum(len(links(page)) for page in PAGES) >= 15


def test_the_picture_is_a_drawing_of_the_script():
    """The README's picture parses, and the script that made it draws such files."""
    import xml.etree.ElementTree as ET

    picture = ET.parse(ROOT / "docs" / "images" / "path.svg").getroot()
    assert picture.tag.endswith("svg")
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from draw_path import draw, levels_of
    finally:
        sys.path.remove(str(ROOT / "tools"))
    import taxolearn
    from taxolearn.text import TextFeatures

    tree = taxolearn.Taxonomy.from_paths(["bone/femur", "bone/tibia", "bone/rib", "skin/burn & <scald>"])
    model = taxolearn.TextClassifier(taxolearn.OneVsRestSVM(tree), TextFeatures())
    model.fit(["left femur", "tibia left", "a rib", "burn"], ["femur", "tibia", "rib", "burn & <scald>"])
    found = model.explain("left femur")
    levels = levels_of(model, "left femur", found.path)
    assert [level.nodes[0].name for level in levels] == ["bone", "femur"]
    assert [node.on_path for node in levels[0].nodes] == [True, False]
    scores = dict(zip(model.classes_.tolist(), model.decision_function(["left femur"])[0], strict=True))
    assert levels[0].nodes[0].score == pytest.approx(scores["femur"])
    assert levels[0].nodes[1].score == pytest.approx(scores["burn & <scald>"])
    again = ET.fromstring(draw(levels, found.words))
    assert {"femur", "left"} <= {text.text for text in again.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("Hinge.kernel_step", "@staticmethod", "return min("),
        ("Hinge", "class Hinge(NamedTuple):", "return min("),
        ("Hinge.margin", "margin: float = 1.0", "margin: float = 1.0"),
        (None, '"""Hinge loss', "return min("),
    ],
)
def test_excerpts_are_found_by_name(name, first, last):
    lines = excerpt("src/taxolearn/losses/hinge.py", name).splitlines()
    assert lines[0].startswith(first)
    assert lines[-1].strip().startswith(last)


def test_an_unknown_name_is_an_error():
    with pytest.raises(LookupError, match=r"no Hinge\.nothing"):
        excerpt("src/taxolearn/losses/hinge.py", "Hinge.nothing")


def test_tables_are_read_as_meant(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("# A\n<!-- table: methods -->\n| x |\n<!-- end of table -->\n<!-- table: other -->\n")
    assert tables(page) == [(3, "methods", "| x |\n")]
    assert n_table_markers(page) == 3


def test_pages_are_read_as_meant(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One, two\n[a](b.md#c) ![p](q.svg) [w](https://x.y) `[no](no.md)`\n"
        "```python\n[n](n.md)\n```\n<!-- include: f.py -->\n```python\nx\n```\n<!-- include: g.py -->\n"
    )
    assert links(page) == ["b.md#c", "q.svg"]
    assert [(b.line, b.code, b.file) for b in blocks(page)] == [(4, "[n](n.md)\n", None), (8, "x\n", "f.py")]
    assert n_markers(page) == 2
    assert anchors(page) == {"one-two"}
