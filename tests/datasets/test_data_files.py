"""Opening and writing files: compression, half-written files, places that cannot be written."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma

import numpy as np
import pytest

from taxolearn.datasets import (
    Dataset,
    _files,
    read_arff,
    read_edges,
    read_jsonl,
    read_level_table,
    read_rcv1_topics,
    write_arff,
    write_edges,
    write_jsonl,
    write_level_table,
    write_rcv1_topics,
)
from taxolearn.errors import DataError, FileFormatError, LabelError
from taxolearn.structure import Taxonomy

TREE = Taxonomy.from_edges([("root", "animal"), ("animal", "cat"), ("animal", "dog"), ("root", "plant")])


@pytest.mark.parametrize(
    ("suffix", "unpack"), [(".gz", gzip.decompress), (".bz2", bz2.decompress), (".xz", lzma.decompress)]
)
def test_the_suffix_chooses_the_compression_and_the_content_tells_it(suffix, unpack, tmp_path):
    plain, packed, renamed = tmp_path / "tree.edges", tmp_path / f"tree.edges{suffix}", tmp_path / "renamed"
    write_edges(plain, TREE)
    write_edges(packed, TREE)
    assert unpack(packed.read_bytes()) == plain.read_bytes()
    renamed.write_bytes(packed.read_bytes())
    assert read_edges(packed) == read_edges(renamed) == TREE


def test_equal_datasets_give_equal_gzip_files(tmp_path):
    write_edges(tmp_path / "a.gz", TREE)
    write_edges(tmp_path / "b.gz", TREE)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_zstandard(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "tree.edges.zst"
    write_edges(path, TREE)
    assert path.read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    assert read_edges(path) == TREE
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(FileFormatError, match="damaged or cut short"):
        read_edges(path)


def test_zstandard_without_a_library(tmp_path, monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    path = tmp_path / "tree.edges.zst"
    with pytest.raises(FileFormatError, match="needs the zstandard or the pyarrow package"):
        write_edges(path, TREE)
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(FileFormatError, match="needs the zstandard or the pyarrow package"):
        read_edges(path)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, Dataset(None, ["cat"], texts=["it purrs"]))
    before = path.read_bytes()
    with pytest.raises(LabelError, match="row 1: JSON lines hold labels that are str or int"):
        write_jsonl(path, Dataset(None, ["cat", 1.5], texts=["it purrs", "?"]))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["rows.jsonl"]


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "no" / "tree.edges", tmp_path / "file" / "tree.edges", tmp_path):
        with pytest.raises(FileFormatError, match="cannot be written"):
            write_edges(path, TREE)


def test_text_that_is_not_unicode_cannot_be_written(tmp_path):
    half = Taxonomy.from_edges([("root", "\ud800")])
    with pytest.raises(FileFormatError, match="cannot be written as UTF-8"):
        write_edges(tmp_path / "tree.edges", half)


def test_long_lines_are_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_BLOCK_BYTES", 16)
    path = tmp_path / "rows.jsonl"
    texts = ["x" * 300_000, "\u2028\x85 is no line end"]
    write_jsonl(path, Dataset(None, [["a"], []], texts=texts))
    assert read_jsonl(path).texts == texts


@pytest.mark.parametrize(
    ("write", "names", "message"),
    [
        (write_edges, ("root", "a b"), "cannot be written to an edge file: ' ' has a meaning there"),
        (lambda path, tree: write_edges(path, tree, sep="\t"), ("root", "a\tb"), "an edge file"),
        (lambda path, tree: write_edges(path, tree, sep="|"), ("root", "a|b"), "an edge file"),
        (write_edges, (1, "1"), "would be one name"),
        (write_rcv1_topics, ("root", "a b"), "a topic file"),
        (write_rcv1_topics, ("root", "None"), "uses the name 'None'"),
    ],
)
def test_names_a_taxonomy_file_cannot_hold(write, names, message, tmp_path):
    with pytest.raises((LabelError, DataError), match=message):
        write(tmp_path / "tree", Taxonomy.from_edges([names]))


def test_topics_with_several_parents(tmp_path):
    path = tmp_path / "topics.hier"
    dag = Taxonomy.from_edges([("Root", "a"), ("Root", "b"), ("a", "c"), ("b", "c")])
    write_rcv1_topics(path, dag)
    assert read_rcv1_topics(path).taxonomy == dag
    path.write_text("parent: None child: Root child-description: Root\n")
    assert read_rcv1_topics(path).taxonomy.nodes == ("Root",)


def test_arff_details(tmp_path):
    path = tmp_path / "rows.arff"
    path.write_text(
        "% comment\n@RELATION 'my genes'\n@attribute id key\n@Attribute \"the size\" REAL\n"
        "@attribute arm {left,'far right'}\n@attribute class hierarchical 01/01/03,01/02,02\n@DATA\n\n"
        "% another\ng1, 1.5, 'far right', 01/01/03@02\n{0 g2, 3 01}\n{1 2, 2 ?, 3 ?}\n"
    )
    found = read_arff(path)
    assert found.name == "my genes"
    assert found.feature_names == ("the size", "arm=left", "arm=far right")
    assert found.y == [["01/01/03", "02"], ["01"], []]
    np.testing.assert_array_equal(found.X.toarray(), [[1.5, 0, 1], [0, 1, 0], [2, np.nan, np.nan]])
    assert set(found.taxonomy.nodes) == {"root", "01", "01/01", "01/01/03", "01/02", "02"}
    assert "01/01" in found.taxonomy.parents("01/01/03")


def test_arff_hierarchy_can_be_told(tmp_path):
    path = tmp_path / "rows.arff"
    path.write_text("@attribute a real\n@attribute class hierarchical top/x,top/y,x/z,y/z\n@data\n1,z\n")
    dag = read_arff(path, hierarchy="dag").taxonomy
    assert (dag.root, dag.is_tree, dag.n_nodes) == ("top", False, 4)
    with pytest.raises(FileFormatError, match="expected a class of the hierarchy, found 'z'"):
        read_arff(path)


@pytest.mark.parametrize(
    ("taxonomy", "y", "message"),
    [
        (None, ["a"], "has no taxonomy"),
        (Taxonomy.from_edges([("top", "root")]), ["root"], "Clus calls the root so"),
        (Taxonomy.from_edges([("root", "x/y")]), ["x/y"], "the edges of an ARFF file: '/' has a meaning"),
        (Taxonomy.from_edges([("root", "a@b")]), ["a@b"], "the paths of an ARFF file: '@' has a meaning"),
        (TREE, ["cow"], "the label 'cow' is not in the taxonomy"),
    ],
)
def test_what_arff_cannot_hold(taxonomy, y, message, tmp_path):
    with pytest.raises((DataError, LabelError), match=message):
        write_arff(tmp_path / "rows.arff", Dataset(np.eye(1), y, taxonomy))


def test_features_called_like_other_columns_of_arff(tmp_path):
    path = tmp_path / "rows.arff"
    names = ("class", "text", "it's")
    write_arff(path, Dataset(np.eye(3), ["cat", "dog", "plant"], TREE, ["a", "", "b'c"], names))
    found = read_arff(path)
    assert (found.feature_names, found.texts) == (names, ["a", "", "b'c"])


def test_level_table_names_repeated_under_two_parents(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("Product,Issue,note\nloan,fees,1\ncard,fees,2\ncard,,3\ncard,theft,4\n")
    found = read_level_table(path, levels=["Product", "Issue"])
    assert found.y == ["loan/fees", "card/fees", "card", "theft"]
    assert all(label in found.taxonomy for label in found.y)
    assert found.feature_names == ("note",)
    assert found.X.tolist() == [[1], [2], [3], [4]]
    merged = read_level_table(path, levels=["Product", "Issue"], repeated="merge")
    assert merged.y == ["fees", "fees", "card", "theft"]
    assert not merged.taxonomy.is_tree


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (Dataset(np.eye(1), ["a"]), "needs a taxonomy that is a tree"),
        (Dataset(np.eye(1), [["cat", "dog"]], TREE), "row 0: a level table holds one label per row, found 2"),
        (
            Dataset(np.eye(1), ["<root>"], Taxonomy.from_edges([("a", "b"), ("c", "d")])),
            "the artificial root",
        ),
        (
            Dataset(np.eye(1), ["cat"], TREE, feature_names=("Level of noise",)),
            "a feature called 'Level of noise'",
        ),
        (Dataset(np.eye(2), ["cat", "dog"], TREE, feature_names=("a", "a")), "two features share a name"),
        (Dataset(np.empty((0, 1)), [], TREE), "no rows"),
        (Dataset(np.eye(1), ["cow"], TREE), "cow"),
    ],
)
def test_what_a_level_table_cannot_hold(dataset, message, tmp_path):
    with pytest.raises((DataError, LabelError), match=message):
        write_level_table(tmp_path / "rows.csv", dataset)


def test_level_table_with_another_delimiter_and_long_cells(tmp_path):
    path = tmp_path / "rows.tsv"
    texts = ["y" * 200_000, "a\tb\r\nc"]
    write_level_table(path, Dataset(None, ["cat", "plant"], TREE, texts), delimiter="\t")
    found = read_level_table(path, delimiter="\t")
    assert (found.texts, found.y) == (texts, ["cat", "plant"])
