"""The ICD-10-CM demo data, and the tool that builds it, on a tiny tabular list."""

from __future__ import annotations

import importlib.util
import lzma
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from taxolearn.datasets import Icd10cm, load_icd10cm
from taxolearn.datasets.icd10cm import _read
from taxolearn.errors import FileFormatError

TOOL = Path(__file__).parents[2] / "tools" / "build_icd10cm.py"
DATA = resources.files("taxolearn.datasets").joinpath("data")

TABULAR = """<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular>
  <version>1999</version>
  <chapter>
    <name>1</name>
    <desc>Fruit (A00-B99)</desc>
    <includes><note>anything that grows on trees</note></includes>
    <section id="A00-A49"><desc>Sweet fruit (A00-A49)</desc></section>
    <section id="A00-A09">
      <desc>Pome fruit (A00-A09)</desc>
      <diag>
        <name>A00</name><desc>Apple</desc>
        <inclusionTerm><note>Red   apple</note><note>RED APPLE</note><note>APPLE</note></inclusionTerm>
        <includes><note>Any condition in A01 with apples</note><note>Vitamin B12 apple</note></includes>
        <excludes1><note>pine apple</note></excludes1>
        <diag>
          <name>A00.1</name><desc>Green apple</desc>
          <diag><name>A00.11</name><desc>Green apple with
            a worm</desc></diag>
        </diag>
      </diag>
      <diag>
        <name>A01</name><desc>Pear</desc>
        <diag><name>A01.0</name><desc>Quince</desc></diag>
        <diag><name>A01.1</name><desc>Fruit of no name</desc></diag>
      </diag>
    </section>
    <section id="A20"><desc>Quince (A20)</desc>
      <diag><name>A20</name><desc>Quince</desc></diag>
    </section>
    <section id="B00-B09"><desc>Berries (B00-B09)</desc>
      <diag>
        <name>B00</name><desc>Use of B00</desc>
        <inclusionTerm><note>Fruit of no name</note></inclusionTerm>
      </diag>
    </section>
  </chapter>
</ICD10CM.tabular>
"""


@pytest.fixture(scope="module")
def icd() -> Icd10cm:
    return load_icd10cm()


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("build_icd10cm", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tabular(tmp_path):
    path = tmp_path / "fruit.xml"
    path.write_text(TABULAR)
    return path


def folded(texts):
    return {" ".join(text.casefold().split()) for text in texts}


def test_counts(icd):
    assert (icd.train.n_rows, icd.test.n_rows) == (47_874, 11_521)
    assert 0.18 < icd.test.n_rows / (icd.train.n_rows + icd.test.n_rows) < 0.22
    assert (icd.taxonomy.n_nodes, icd.taxonomy.n_leaves) == (2_238, 1_918)
    assert icd.taxonomy.is_tree
    assert len(icd.taxonomy.children(icd.taxonomy.root)) == 22


def test_no_text_is_in_both_parts(icd):
    assert folded(icd.train.texts).isdisjoint(folded(icd.test.texts))


def test_no_category_holds_a_text_twice(icd):
    rows = Counter(
        (label, text.casefold())
        for part in (icd.train, icd.test)
        for label, text in zip(part.y, part.texts, strict=True)
    )
    assert max(rows.values()) == 1


def test_labels_are_the_leaves_and_each_has_a_training_text(icd):
    assert set(icd.train.y) == set(icd.taxonomy.leaves)
    assert set(icd.test.y) <= set(icd.taxonomy.leaves)
    rows = set(zip(icd.train.y, icd.train.texts, strict=True))
    assert all((name, icd.titles[name]) in rows for name in icd.taxonomy.leaves)
    assert all(len(name) == 3 for name in icd.taxonomy.leaves)


def test_every_node_has_a_title_and_every_row_a_clean_text(icd):
    assert set(icd.titles) == set(icd.taxonomy.nodes)
    texts = [*icd.titles.values(), *icd.train.texts, *icd.test.texts]
    assert all(text and text == " ".join(text.split()) for text in texts)


def test_blocks_are_nested_by_their_ranges(icd):
    assert icd.taxonomy.path("C50") == ("ICD-10-CM", "C00-D49", "C00-C96", "C00-C75", "C50-C50", "C50")
    assert icd.taxonomy.parents("C7A-C7A") == ("C00-C96",)
    for name in icd.taxonomy.leaves:
        for block in icd.taxonomy.path(name)[1:-1]:
            first, last = block.split("-")
            # Two characters: C4A stands in C43-C44.
            assert first[:2] <= name[:2] <= last[:2]


def test_data_and_note_are_shipped(icd):
    size = len(DATA.joinpath("icd10cm.tsv.xz").read_bytes())
    assert size < 1_000_000
    note = DATA.joinpath("ICD10CM.md").read_text(encoding="utf-8")
    assert icd.source == "ICD-10-CM 2026 by CDC/NCHS, icd10c-tabular-April-1-2026.xml"
    assert icd.source.split(", ")[1] in note
    assert "public domain" in note
    assert "MIT" in note


def test_tool_reads_nodes(tool, tabular):
    release, nodes, _ = tool.read_tabular(tabular)
    assert release == "1999"
    assert nodes[1:] == [
        ("A00-B99", "ICD-10-CM", "Fruit"),
        ("A00-A49", "A00-B99", "Sweet fruit"),
        ("A00-A09", "A00-A49", "Pome fruit"),
        ("A00", "A00-A09", "Apple"),
        ("A01", "A00-A09", "Pear"),
        ("A20-A20", "A00-A49", "Quince"),
        ("A20", "A20-A20", "Quince"),
        ("B00-B09", "A00-B99", "Berries"),
        ("B00", "B00-B09", "Use of B00"),
    ]


def test_tool_reads_texts(tool, tabular):
    _, _, rows = tool.read_tabular(tabular)
    assert [(row.category, row.text) for row in rows] == [
        ("A00", "Apple"),
        ("A00", "Red apple"),
        ("A00", "Vitamin B12 apple"),
        ("A00", "Green apple"),
        ("A00", "Green apple with a worm"),
        ("A01", "Pear"),
        ("A01", "Quince"),
        ("A01", "Fruit of no name"),
        ("A20", "Quince"),
        ("B00", "Use of B00"),
        ("B00", "Fruit of no name"),
    ]


def test_titles_train_and_a_text_of_two_categories_is_on_one_side(tool, tabular, monkeypatch):
    monkeypatch.setattr(tool, "part_of", lambda text: "test")
    _, _, rows = tool.read_tabular(tabular)
    training = [(row.category, row.text) for row in rows if row.part == "train"]
    assert training == [
        ("A00", "Apple"),
        ("A01", "Pear"),
        ("A01", "Quince"),
        ("A20", "Quince"),
        ("B00", "Use of B00"),
    ]


def test_the_side_of_a_text_is_fixed(tool):
    sides = [tool.part_of(f"text {number}") for number in range(1000)]
    assert [number for number in range(30) if sides[number] == "test"] == [1, 12, 21, 24, 25]
    assert 150 < sides.count("test") < 250
    assert tool.part_of("Text   7") == tool.part_of("text 7")


def test_equal_input_gives_equal_bytes_that_load(tool, tabular, tmp_path, capsys):
    outputs = [tmp_path / "one.xz", tmp_path / "two.xz"]
    for output in outputs:
        tool.main([str(tabular), "--output", str(output)])
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert "10 nodes, 11 texts" in capsys.readouterr().out
    fruit = _read(outputs[0])
    assert fruit.source == "ICD-10-CM 1999 by CDC/NCHS, fruit.xml"
    assert fruit.taxonomy.leaves == ("A00", "A01", "A20", "B00")
    assert fruit.train.n_rows + fruit.test.n_rows == 11


def test_tool_says_what_to_install(tool, monkeypatch):
    monkeypatch.setattr(tool, "PACKAGE", "no_such_package")
    with pytest.raises(SystemExit, match="pip install simple-icd-10-cm"):
        tool.main([])


GOOD = "icd10cm\t1\there\nnode\tr\t\tRoot\nnode\ta\tr\tA\nnode\tb\tr\tB\ntrain\ta\tan a\n"


def test_a_tiny_file(tmp_path):
    path = tmp_path / "tiny"
    path.write_text(GOOD)
    tiny = _read(path)
    assert repr(tiny) == "Icd10cm(1 train texts, 0 test texts, Taxonomy(tree, 3 nodes, 2 leaves, depth 1))"
    assert (tiny.train.texts, tiny.train.y, tiny.test.texts) == (["an a"], ["a"], [])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "empty"),
        ("other\n" + GOOD, 1, "expected a line of the ICD-10-CM data, found 'other'"),
        (GOOD + GOOD, 6, "expected a line"),
        (GOOD.replace("\t1\t", "\t2\t"), 1, "expected format 1, found '2'"),
        (GOOD.replace("\tan a", ""), 5, "expected a line"),
        (GOOD.replace("train\ta", "train\tr"), 5, "expected a category, found 'r'"),
        (GOOD.replace("train\ta", "train\tz"), 5, "expected a category, found 'z'"),
        (GOOD.replace("a\tr\tA", "a\tq\tA"), None, "'q'"),
        ("icd10cm\t1\there\n", None, "the taxonomy is empty"),
    ],
)
def test_damaged_text(tmp_path, text, line, message):
    path = tmp_path / "damaged"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message) as caught:
        _read(path)
    assert caught.value.line == line


def test_damaged_bytes(tmp_path):
    path = tmp_path / "damaged.xz"
    whole = lzma.compress(GOOD.encode())
    for data in (whole[:-20], whole[:30] + bytes([whole[30] ^ 1]) + whole[31:]):
        path.write_bytes(data)
        with pytest.raises(FileFormatError, match="damaged"):
            _read(path)
    with pytest.raises(FileFormatError, match="no such file"):
        _read(tmp_path / "missing.xz")
