"""Build the demo data, `src/taxolearn/datasets/data/icd10cm.tsv.xz`, from the ICD-10-CM tabular list.

    python tools/build_icd10cm.py [tabular.xml] [--output FILE]

Without a path, the XML file of the installed package simple-icd-10-cm is used.

Nodes: chapters, blocks and three-character categories, under one root. The XML lists the blocks of a chapter
one after the other; a block without categories of its own ("C00-C96") is the parent of the blocks within its
range. A block of one category has the category's name there; it is called "B20-B20" here.

Texts: the titles, inclusion terms and "includes" notes of the categories and of all codes below them; the
label is the category. White space is collapsed, and a text that differs from another of the same category
in case only is left out. Notes that quote codes ("Any condition in I00 with pericarditis") are instructions
to coders and are left out too. A text of two categories is kept under each.

Split: the hash of the text in lower case decides, so equal texts are always on one side and a new release
moves no text; one in five is for the test. Titles of categories, and texts equal to one, are always for
training: so every category has a training text.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import lzma
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

OUTPUT = Path(__file__).parents[1] / "src" / "taxolearn" / "datasets" / "data" / "icd10cm.tsv.xz"
PACKAGE = "simple_icd_10_cm"
ROOT = "ICD-10-CM"
ROOT_TITLE = "International Classification of Diseases, Tenth Revision, Clinical Modification"
ONE_IN = 5

_RANGE = re.compile(r"\s*\(([^()]*)\)$")
_CODE = re.compile(r"\b[A-Z][0-9A-Z][0-9A-Z]\b")


class Node(NamedTuple):
    """A node of the taxonomy; the root's parent is the empty string."""

    name: str
    parent: str
    title: str


class Row(NamedTuple):
    """A text and the category it describes; `part` is "train" or "test"."""

    part: str
    category: str
    text: str


def _text(element: ElementTree.Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


def folded(text: str) -> str:
    """The form in which two texts are compared: without case and extra white space."""
    return " ".join(text.casefold().split())


def _first_last(name: str) -> tuple[str, str]:
    first, _, last = name.partition("-")
    return first, last or first


def _chapter_nodes(chapter: ElementTree.Element) -> Iterator[tuple[Node, ElementTree.Element | None]]:
    """The chapter, its blocks and categories, each category with its element."""
    heading = _text(chapter.find("desc"))
    found = _RANGE.search(heading)
    if found is None:
        raise ValueError(f"expected a chapter title that ends in its range of codes, found {heading!r}")
    above = [Node(found[1], ROOT, heading[: found.start()])]
    yield above[0], None
    for section in chapter.iter("section"):
        first, last = _first_last(section.attrib["id"])
        while len(above) > 1 and not _contains(above[-1].name, first, last):
            above.pop()
        title = _RANGE.sub("", _text(section.find("desc")))
        block = Node(f"{first}-{last}", above[-1].name, title)
        yield block, None
        categories = section.findall("diag")
        if not categories:
            above.append(block)
        for element in categories:
            yield Node(_text(element.find("name")), block.name, _text(element.find("desc"))), element


def _contains(outer: str, first: str, last: str) -> bool:
    outer_first, outer_last = _first_last(outer)
    return outer_first <= first and last <= outer_last


def _texts(category: ElementTree.Element, codes: set[str]) -> Iterator[str]:
    """The category's texts, its own title first; `codes` are the names of all categories."""
    for code in category.iter("diag"):
        yield _text(code.find("desc"))
        for note in (*code.iterfind("inclusionTerm/note"), *code.iterfind("includes/note")):
            if codes.isdisjoint(_CODE.findall(text := _text(note))):
                yield text


def part_of(text: str) -> str:
    """The side of a text that is no category's title."""
    digest = hashlib.sha256(folded(text).encode()).digest()
    return "test" if int.from_bytes(digest[:8], "big") % ONE_IN == 0 else "train"


def read_tabular(path: Path) -> tuple[str, list[Node], list[Row]]:
    """(release, nodes, rows) of a tabular list, in the order of the file."""
    root = ElementTree.parse(path).getroot()
    found = [pair for chapter in root.iter("chapter") for pair in _chapter_nodes(chapter)]
    nodes = [Node(ROOT, "", ROOT_TITLE), *(node for node, _ in found)]
    categories = {node.name: element for node, element in found if element is not None}
    titles = {folded(node.title) for node, element in found if element is not None}
    codes = set(categories)
    rows = []
    for category, element in categories.items():
        distinct: dict[str, str] = {}
        for text in filter(None, _texts(element, codes)):
            distinct.setdefault(folded(text), text)
        for form, text in distinct.items():
            rows.append(Row("train" if form in titles else part_of(text), category, text))
    return _text(root.find("version")), nodes, rows


def packed(source: str, nodes: list[Node], rows: list[Row]) -> bytes:
    """The bytes of the data file; equal input gives equal bytes."""
    lines = [("icd10cm", "1", source), *(("node", *node) for node in nodes), *rows]
    text = "".join("\t".join(line) + "\n" for line in lines)
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def installed_tabular() -> Path:
    """The XML file that the package simple-icd-10-cm carries."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SystemExit("simple-icd-10-cm is missing: pip install simple-icd-10-cm, or give the XML file")
    paths = sorted(Path(spec.origin).parent.glob("data/*.xml"))
    if len(paths) != 1:
        raise SystemExit(f"expected one XML file in simple-icd-10-cm, found {len(paths)}; give its path")
    return paths[0]


def main(arguments: list[str] | None = None) -> None:
    """Build the file and print its counts."""
    parser = argparse.ArgumentParser(description="Build the ICD-10-CM demo data.")
    parser.add_argument("tabular", type=Path, nargs="?", help="the XML file of the tabular list")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    tabular = options.tabular or installed_tabular()
    release, nodes, rows = read_tabular(tabular)
    data = packed(f"ICD-10-CM {release} by CDC/NCHS, {tabular.name}", nodes, rows)
    options.output.write_bytes(data)
    test = sum(row.part == "test" for row in rows)
    print(
        f"{options.output.name}: {len(data):,} bytes, {len(nodes):,} nodes, "
        f"{len(rows):,} texts ({len(rows) - test:,} train, {test:,} test)"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
