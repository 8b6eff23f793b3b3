"""Bad files give a taxolearn error with file, line and what was expected; never another exception."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest

from taxolearn.datasets import (
    read_arff,
    read_edges,
    read_jsonl,
    read_level_table,
    read_libsvm,
    read_rcv1_topics,
    read_xmc,
)
from taxolearn.errors import DataError, FileFormatError, TaxolearnError

TREE_ARFF = b"""% genes
@RELATION 'my genes'
@ATTRIBUTE size numeric
@ATTRIBUTE 'arm length' {left, 'far right'}
@ATTRIBUTE class hierarchical 01/01/03,01/02,02
@DATA
1.5,'far right',01/01/03@02
?,left,01
-2e-3,?,02
"""
DAG_ARFF = b"""@relation go
@attribute a real
@attribute note string
@attribute class hierarchical root/GO1,root/GO2,GO1/GO3,GO2/GO3
@data
{0 1.5, 1 'it''s', 2 GO3}
{1 "a, b", 2 GO1@GO2}
{2 GO3}
""".replace(b"it''s", b"it\\'s")
LIBSVM = b"cat,pet 1:0.5 7:-2e-3 12:1\n# comment\ndog 2:1.25\n\n3:4 9:1e5 # no label\nfish\n"
XMC = b"4 10 3\n0,2 0:0.5 9:1\n 3:2\n\n1\n"
EDGES = b"root animal\nanimal cat\nanimal dog\nroot plant\n"
CHAINS = b"root animal cat\nroot animal dog\nroot plant\n"
TOPICS = (
    b"parent: None  child: Root  child-description: Root\n"
    b"parent: Root  child: CCAT  child-description: CORPORATE/INDUSTRIAL\n"
    b"parent: CCAT  child: C11  child-description: STRATEGY/PLANS\n"
)
JSONL = b'{"text": "it purrs", "labels": ["cat", "pet"]}\n{"text": "\\u00e9", "labels": 7, "other": [1]}\n'
LEVELS = b'level_1,level_2,text,weight\nmammal,cat,"it ""purrs"", at times",1.5\nfish,,"two\nlines",\n'

FORMATS = {
    "libsvm": (read_libsvm, LIBSVM),
    "single": (lambda path: read_libsvm(path, multilabel=False, label_type=int), b"1 1:2\n2 3:4 5:nan\n"),
    "xmc": (read_xmc, XMC),
    "tree_arff": (read_arff, TREE_ARFF),
    "dag_arff": (read_arff, DAG_ARFF),
    "edges": (read_edges, EDGES),
    "chains": (lambda path: read_edges(path, chains=True), CHAINS),
    "topics": (read_rcv1_topics, TOPICS),
    "jsonl": (read_jsonl, JSONL),
    "levels": (read_level_table, LEVELS),
}
GARBAGE = [
    *(bytes([byte]) for byte in b"\0:,\n{}'/@ ?%_\r\x0b\xc3\""),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"nan", b"1e999", b"-1", b"root", b"class", b"9" * 30, b"[" * 2000),
]


def corrupt(rng: np.random.Generator, content: bytes) -> bytes:
    """One to three of: byte flipped, end cut, token deleted or doubled, garbage, lines shuffled, header."""
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(content) + 1))
        kind = rng.integers(7)
        tokens = content.split(b" ")
        token = int(rng.integers(0, len(tokens)))
        if kind == 0 and at < len(content):
            content = content[:at] + bytes([content[at] ^ (1 << rng.integers(8))]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at]
        elif kind == 2:
            content = b" ".join(tokens[:token] + tokens[token + 1 :])
        elif kind == 3:
            content = b" ".join(tokens[: token + 1] + tokens[token:])
        elif kind == 4:
            content = content[:at] + GARBAGE[rng.integers(len(GARBAGE))] + content[at:]
        elif kind == 5:
            content = b"\n".join(rng.permutation(np.array(content.split(b"\n"), dtype=object)))
        else:
            content = GARBAGE[rng.integers(len(GARBAGE))] + b" 7\n" + content
    return content


@pytest.mark.parametrize("name", FORMATS)
def test_random_corruption_gives_a_taxolearn_error_or_a_dataset(name, tmp_path):
    read, content = FORMATS[name]
    rng = np.random.default_rng(list(FORMATS).index(name))
    path = tmp_path / "rows"
    refused = 0
    for attempt in range(120):
        damaged = corrupt(rng, content)
        if attempt % 6 == 0:
            packed = bytearray(gzip.compress(damaged, mtime=0))
            packed[rng.integers(2, len(packed))] ^= 255
            damaged = bytes(packed[: rng.integers(2, len(packed) + 1)])
        path.write_bytes(damaged)
        try:
            read(path)
        except TaxolearnError:
            refused += 1
    assert refused > 20  # the corruption is real


@pytest.mark.parametrize("name", FORMATS)
def test_every_sample_is_valid_but_for_what_it_tests(name, tmp_path):
    read, content = FORMATS[name]
    path = tmp_path / "rows"
    path.write_bytes(content)
    if name == "single":  # it holds a nan
        with pytest.raises(FileFormatError):
            read(path)
    else:
        read(path)


def arff(*rows: str, attributes: str = "@attribute a numeric\n", classes: str = "01/01,02") -> str:
    return f"{attributes}@attribute class hierarchical {classes}\n@data\n" + "\n".join(rows)


CASES = [
    (read_libsvm, "1 1:2\n1 7\n", 2, "expected index:value, found '7'"),
    (read_libsvm, "1 1:2 x:3\n", 1, "expected index:value, found 'x:3'"),
    (
        read_libsvm,
        "1 1:2\n\n# c\n1 0:3\n",
        4,
        "expected feature indices from 1, found '0:3'; pass zero_based=True",
    ),
    (read_libsvm, "1 99999999999:3\n", 1, "expected a feature index up to 2147483647, found '99999999999:3'"),
    (read_libsvm, "1 1: 2:3\n", 1, "expected a number after the colon, found '1:'"),
    (read_libsvm, "1 1:2\n1 1:abc\n", 2, "expected a number, found 'abc'"),
    (read_libsvm, "1 1:1_0\n", 1, "expected a number, found '1_0'"),
    (read_libsvm, "1 1:2:3\n", 1, "expected a number, found '2:3'"),
    (read_libsvm, "1 1:nan\n", 1, "expected a finite number, found 'nan'; pass allow_nan=True"),
    (read_libsvm, "1 1:1e999\n", 1, "expected a finite number, found '1e999'"),
    (read_libsvm, "1, 1:2\n", 1, "expected a label, found '1:2'"),
    (read_libsvm, "1,\n", 1, "expected a label, found the end of the line"),
    (read_libsvm, "a 1:2\nb 7:1 3:1 7:2\n", 2, "expected each feature once a row, found feature 7 twice"),
    (read_libsvm, "\x00\x01 1:2\n", 1, "the file looks binary"),
    (read_libsvm, b"caf\xe9 1:2\n", 1, "expected UTF-8 text, found 'caf\\\\xe9'"),
    (read_libsvm, "# nothing\n\n", None, "expected rows, found none; the file is empty"),
    (
        lambda p: read_libsvm(p, multilabel=False),
        "1 1:2\n1,2 1:2\n",
        2,
        "expected one label, found 2; pass multilabel",
    ),
    (
        lambda p: read_libsvm(p, label_type=int),
        "1 1:2\nx 1:2\n",
        2,
        "expected an integer label, found 'x'; pass label",
    ),
    (lambda p: read_libsvm(p, n_features=3), "1 4:2\n", 1, "expected a feature index up to 3, found '4:2'"),
    (read_xmc, "", 1, "expected a header of three numbers 'rows features labels', found an empty file"),
    (read_xmc, "1 2\n", 1, "expected a header of three numbers 'rows features labels', found '1 2'"),
    (read_xmc, "1 2 x\n", 1, "expected a header of three numbers"),
    (read_xmc, "1 0 2\n", 1, "expected from 1 to 2,147,483,647 features, found 0"),
    (read_xmc, "3 2 2\n0 0:1\n", 1, "expected 3 rows as the header says, found 1"),
    (read_xmc, "1 2 2\n0 0:1\n1 0:1\n", 1, "expected 1 rows as the header says, found 2"),
    (read_xmc, "2 2 2\n0 0:1\n2 1:1\n", 3, "expected a label from 0 to 1 as the header says, found '2'"),
    (read_xmc, "2 2 2\n0 0:1\n1 2:1\n", 3, "expected a feature index up to 1, found '2:1'"),
    (read_edges, "a b\nc\n", 2, "expected two names, parent and child, found 'c'"),
    (read_edges, "a b\na b c\n", 2, "expected two names, parent and child, found 'a b c'"),
    (read_edges, "a b\nb b\n", 2, "expected two different names, found 'b' twice"),
    (read_edges, "a b\nb c\na b\n", 3, "expected a new edge, found that of line 1"),
    (read_edges, "a b\nb c\nc b\n", None, "cycle"),
    (read_edges, "\n \n", None, "expected lines of 'parent child', found none"),
    (read_edges, b"a b\na \xff\n", 2, "expected UTF-8 text, found the byte 0xff"),
    (lambda p: read_edges(p, label_type=int), "1 2\n1 x\n", 2, "expected an integer label, found 'x'"),
    (lambda p: read_edges(p, chains=True), "a b\nc\n", 2, "expected two or more names, found 'c'"),
    (read_arff, "@relation r\nhello\n", 2, "expected @relation, @attribute or @data, found 'hello'"),
    (read_arff, "@relation r\n@attribute a numeric\n", 2, "expected @data, found the end of the file"),
    (
        read_arff,
        "@attribute a numeric\n@data\n1\n",
        2,
        "expected an attribute of type hierarchical before @data",
    ),
    (read_arff, "@attribute a\n", 1, "expected @attribute name type, found '@attribute a'"),
    (
        read_arff,
        "@attribute a date\n",
        1,
        "expected numeric, string, key, hierarchical or {values} as type, found",
    ),
    (read_arff, "@attribute a {x, x}\n", 1, "expected different values that are not empty, found '{x, x}'"),
    (read_arff, "@attribute a {x, 'y}\n", 1, "expected a value and a comma"),
    (
        read_arff,
        "@attribute a real\n@attribute a real\n",
        2,
        "expected a new attribute name, found 'a' again",
    ),
    (read_arff, "@attribute a string\n@attribute b string\n", 2, "expected one attribute of type string"),
    (read_arff, arff(classes="01//02"), 2, "expected a path of names in the hierarchy, found '01//02'"),
    (read_arff, arff(classes="root/a,b/c/d"), 2, "expected parent/child in the hierarchy, found 'b/c/d'"),
    (read_arff, arff(classes="root/a,root/a"), 2, "expected each edge once, found 'root/a' twice"),
    (read_arff, arff(classes="root/a,a/b,b/a"), 2, "cycle"),
    (
        read_arff,
        arff(classes="a\n@attribute class2 hierarchical b"),
        3,
        "expected one attribute of type hierarchical",
    ),
    (read_arff, arff(), None, "expected rows after @data, found none"),
    (read_arff, arff("1,02", "1"), 5, "expected 2 values, found 1"),
    (read_arff, arff("x,02"), 4, "expected a number or ? for 'a', found 'x'"),
    (read_arff, arff("1,03"), 4, "expected a class of the hierarchy, found '03'"),
    (read_arff, arff("1,01/01@"), 4, "expected a class of the hierarchy, found ''"),
    (read_arff, arff("{0 1, 1 02"), 4, "expected '}' at the end of the row, found '{0 1, 1 02'"),
    (read_arff, arff("{a 1}"), 4, "expected 'position value', found 'a 1'"),
    (read_arff, arff("{0 1, 0 2}"), 4, "expected each position once, found 0 twice"),
    (read_arff, arff("{7 1}"), 4, "expected positions up to 1, found 7"),
    (
        read_arff,
        arff("z,02", attributes="@attribute n {x,y}\n"),
        4,
        "expected one of the 2 values of 'n', found 'z'",
    ),
    (
        read_level_table,
        "a,b\n1,2\n",
        1,
        "expected columns whose name starts with 'level', found 'a, b'; pass levels",
    ),
    (read_level_table, "level_1,level_1\na,b\n", 1, "expected different column names, found 'level_1' twice"),
    (read_level_table, "level_1,level_2\na,b\nc\n", 3, "expected 2 cells, found 1"),
    (read_level_table, "level_1,level_2\na,b\n,c\n", 3, "from the top, found an empty cell above 'c'"),
    (
        read_level_table,
        "level_1,level_2\n,\n",
        2,
        "expected names in the level columns from the top, found none",
    ),
    (read_level_table, "level_1,w\na,b\n", 2, "expected a number in column 'w', found 'b'"),
    (read_level_table, 'level_1,w\n"a,2\n', 2, "expected a row of a CSV table"),
    (read_level_table, b"level_1,w\na,2\n\xff,3\n", None, "expected UTF-8 text, found the byte 0xff"),
    (read_level_table, "level_1\n", None, "expected rows after the header, found none"),
    (lambda p: read_level_table(p, levels=["x"]), "a,b\n1,2\n", 1, "expected a column 'x', found 'a, b'"),
    (lambda p: read_level_table(p, repeated="error"), "level_1,level_2\na,c\nb,c\n", None, "'c'"),
    (read_jsonl, '{"text": "a", "labels": []}\n{"text": \n', 2, "expected a JSON object, found"),
    (read_jsonl, "[1]\n", 1, "expected a JSON object, found '[1]'"),
    (read_jsonl, '{"text": "a"}\n', 1, "expected the field 'labels', found 'text'"),
    (read_jsonl, '{"text": 3, "labels": []}\n', 1, "expected a string as 'text', found '3'"),
    (read_jsonl, '{"text": "", "labels": [1.5]}\n', 1, "expected names in 'labels', found '1.5'"),
    (read_jsonl, '{"text": "", "labels": [""]}\n', 1, "expected names in 'labels'"),
    (read_jsonl, '{"text": "", "labels": [true]}\n', 1, "expected names in 'labels', found 'True'"),
    (read_jsonl, "[" * 200_000 + "\n", 1, "expected a JSON object"),
    (read_jsonl, '{"text": "", "labels": ' + "9" * 5000 + "}\n", 1, "expected a JSON object"),
    (
        read_rcv1_topics,
        "parent: a child: b\n",
        1,
        "expected 'parent: ... child: ... child-description: ...', found",
    ),
    (
        read_rcv1_topics,
        TOPICS.decode() + "parent: CCAT child: C11 child-description: x\n",
        4,
        "expected a new pair, found that of line 3",
    ),
    (read_rcv1_topics, "parent: X child: Y child-description: y\n", None, "whose parent is None, found 0"),
    (read_rcv1_topics, TOPICS.decode() * 2, 4, "expected a new pair, found that of line 1"),
    (
        read_rcv1_topics,
        TOPICS.decode() + "parent: X child: Y child-description: y\n",
        4,
        "found 'X' above 'Y'",
    ),
    (read_rcv1_topics, TOPICS.decode() + "parent: C11 child: Root child-description: x\n", None, "cycle"),
]


@pytest.mark.parametrize(("read", "content", "line", "message"), CASES, ids=range(len(CASES)))
def test_the_error_names_file_line_and_what_was_expected(read, content, line, message, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileFormatError) as caught:
        read(path)
    assert caught.value.path == str(path)
    if not (isinstance(content, bytes) and read is read_level_table):  # text is decoded in blocks there
        assert caught.value.line == line
    assert message in caught.value.message
    assert str(caught.value).startswith(f"{path}:")


READERS = [read_libsvm, read_xmc, read_arff, read_edges, read_rcv1_topics, read_jsonl, read_level_table]
WRONG = {
    "missing": (None, "no such file"),
    "empty": (b"", "empty"),
    "program": (b"\x7fELF\x02\x01\x01\0\0\0\0", "expected"),
    "utf-16": ("level_1 a\ncat dog\n".encode("utf-16"), "expected"),
    "short gz": (gzip.compress(EDGES, mtime=0)[:5], "damaged or cut short"),
    "xz": (b"\xfd7zXZ\x00rubbish", "damaged or cut short"),
    "bz2": (b"BZh91rubbish", "damaged or cut short"),
    "zst": (b"\x28\xb5\x2f\xfdrubbish", "damaged or cut short"),
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(read, name, tmp_path):
    content, message = WRONG[name]
    path = tmp_path / "rows"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        read(path)
    with pytest.raises(FileFormatError, match="found a folder"):
        read(tmp_path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "single"])
def test_compressed_files_cut_short(name, pack, tmp_path):
    read, content = FORMATS[name]
    packed = pack(content)
    path = tmp_path / "rows"
    path.write_bytes(packed)
    read(path)
    for size in (len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:size])
        with pytest.raises(FileFormatError):
            read(path)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda path: read_libsvm(path, dtype=int), "dtype must be float32 or float64"),
        (lambda path: read_libsvm(path, label_type=float), "label_type must be str or int"),
        (lambda path: read_libsvm(path, n_features=0), "n_features must be from 1"),
        (
            lambda path: read_xmc(path, label_names=["a"]),
            "label_names has 1 names, the header of .* says 3 labels",
        ),
        (lambda path: read_arff(path, hierarchy="graph"), "hierarchy must be one of auto, tree, dag"),
        (lambda path: read_level_table(path, delimiter=",,"), "delimiter must be one character"),
    ],
)
def test_wrong_options(read, message, tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(XMC)
    with pytest.raises(DataError, match=message):
        read(path)
