"""Files that come over the wire are read as `predict` reads files, and nothing else is."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from taxolearn import OneVsRestSVM, TextClassifier
from taxolearn.cli.uploads import upload_reader
from taxolearn.errors import TaxolearnError
from taxolearn.text import TextFeatures


@pytest.fixture(scope="module")
def of_texts() -> Any:
    model = TextClassifier(OneVsRestSVM(), TextFeatures()).fit(["it purrs", "it barks"], ["Cat", "Dog"])
    return upload_reader(model)


@pytest.fixture(scope="module")
def of_numbers() -> Any:
    rows = pd.DataFrame({"length": [-1.0, 1.0], "weight": [0.0, 0.5]})
    return upload_reader(OneVsRestSVM().fit(rows, ["a", "b"]))


@pytest.mark.parametrize(
    ("name", "content", "column", "texts"),
    [
        ("a.csv", "id,text\n1,it purrs\n2,it barks\n", None, ["it purrs", "it barks"]),
        ("a.csv", "id;Text\n1;it purrs\n", None, ["it purrs"]),
        ("a.csv", "sep=;\nid;text\n1;it purrs\n", None, ["it purrs"]),
        ("a.tsv", "text\tage\nit purrs\t7\n", None, ["it purrs"]),
        ("a.csv", "id,title,note\n1,it purrs,x\n2,a longer one,y\n", None, ["it purrs", "a longer one"]),
        ("a.csv", "id,title,note\n1,it purrs,x\n", "note", ["x"]),
        ("A.CSV", 'id,title\n1,"two\nlines, quoted"\n', "title", ["two\nlines, quoted"]),
        ("a.jsonl", '{"text": "it purrs", "n": 1}\n\n{"text": "it barks"}\n', None, ["it purrs", "it barks"]),
        ("a.jsonl", '{"body": "it purrs", "n": 1}\n', None, ["it purrs"]),
        ("a.txt", "it purrs\nit barks\n", None, ["it purrs", "it barks"]),
    ],
)
def test_texts(of_texts: Any, name: str, content: str, column: str | None, texts: list[str]) -> None:
    assert of_texts(name, content.encode(), column, 10).texts == texts


def test_only_some_rows_are_read_and_it_is_known_that_there_are_more(of_texts: Any) -> None:
    content = b"id,title\n" + b"1,it purrs\n" * 500
    assert len(of_texts("a.csv", content, None, 100).texts) == 101
    assert len(of_texts("a.txt", content, None, 100).texts) == 101


def test_bad_rows_are_counted(of_texts: Any) -> None:
    found = of_texts("a.csv", b"id,text\n1,it purrs\n2,a,b,c\n3,\xff\n4,it barks\n", None, 10)
    assert (found.texts, found.left_out) == (["it purrs", "it barks"], 2)
    assert (found.columns, found.column) == (["id", "text"], "text")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.xlsx", b"PK\x03\x04", "save it as CSV"),
        ("a.csv", b"PK\x03\x04", "save it as CSV"),
        ("a.parquet", b"PAR1", "give a CSV"),
        ("a.csv.gz", b"\x1f\x8b", "not compressed"),
        ("passwd", b"a", "does not tell the format"),
        ("a.svm", b"1 1:1", "this model takes texts"),
        ("a.csv", b"", "empty"),
        ("a.jsonl", b"[1]", "object"),
        ("-", b"a", "format"),
    ],
)
def test_what_cannot_be_read_is_told(of_texts: Any, name: str, content: bytes, told: str) -> None:
    with pytest.raises(TaxolearnError, match=told):
        of_texts(name, content, None, 10)


def test_a_column_that_is_not_there_is_told(of_texts: Any) -> None:
    with pytest.raises(TaxolearnError, match="expected a column 'body'"):
        of_texts("a.csv", b"id,text\n1,it purrs\n", "body", 10)


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.csv", b"weight,id,length\n2,x,1\n", ["1,2"]),
        ("a.csv", b"p,q\n1,2\n", ["1,2"]),
        ("a.csv", b"p,label,q\n1,b,2\n", ["1,2"]),
        ("a.svm", b"b 1:1 2:2 # note\n\n1:3\n", ["1:1 2:2", "1:3"]),
    ],
)
def test_numbers(of_numbers: Any, name: str, content: bytes, lines: list[str]) -> None:
    assert of_numbers(name, content, None, 10).texts == lines


def test_numbers_are_no_texts(of_numbers: Any) -> None:
    with pytest.raises(TaxolearnError, match="rows of numbers"):
        of_numbers("a.txt", b"it purrs", None, 10)
