"""More files and frames for check_last_mile.py: those that somebody made by hand, or a spreadsheet did."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from taxolearn import NormalizedHierarchicalSVM, Taxonomy
from taxolearn.errors import TaxolearnError
from taxolearn.structure.terms import Term

Case = Callable[[Path], None]


def messy_cases(tools: Any) -> dict[str, Case]:
    """The cases by name; `tools` is the module with the helpers."""
    found: dict[str, Case] = {}
    data = tools.rows_of(tools.REPEATED)
    pairs = list(zip(data.texts, data.strings(), strict=True))

    def table(
        name: str, header: str, line: str, end: str = "\n", encoding: str = "utf-8", *read: str
    ) -> None:
        def written(folder: Path) -> None:
            rows = [
                line.format(text=text, label=label, a=label.split("/")[0], b=label.split("/")[1])
                for text, label in pairs
            ]
            (folder / "rows.csv").write_bytes((end.join([header, *rows]) + end).encode(encoding))
            tools.both(data, data.strings(), folder / "rows.csv", folder, read=read)

        found[name] = written

    table("Windows line ends", "text,label", "{text},{label}", "\r\n")
    table("a delimiter after the last cell", "text,label,", "{text},{label},")
    table("delimiters after the last cell of rows only", "text,label", "{text},{label},,")
    table("a column without a name", ",text,label", "7,{text},{label}")
    table("two columns without a name", ",,text,label", "7,,{text},{label}")
    table("two other columns of one name", "x,text,label,x", "1,{text},{label},2")
    table("blanks and capitals in the header", " Text , LABEL", "{text},{label}")
    table("blank lines", "\ntext,label\n", "{text},{label}\n")
    table("texts over several lines", "text,label", '"{text}\nmore, and\n\nmore",{label}')
    table("an inch sign in a text", "text,label", '{text} 5" wide,{label}')
    table("level columns from the bottom up", "text,level 2,level 1", "{text},{b},{a}")
    table("a level column of blanks", "text,level1,level2,level3", "{text},{a},{b},  ")
    table(
        "UTF-16 without a mark", "text,label", "{text},{label}", "\n", "utf-16-le", "--encoding", "utf-16-le"
    )
    table("paths with a slash in front", "text,label", "{text},/{label}")

    def says(name: str, file: str, raw: bytes, words: str, *options: str) -> None:
        def told(folder: Path) -> None:
            (folder / file).write_bytes(raw)
            fit = ["fit", str(folder / file), "-o", str(folder / "m"), *options, *tools.FIT]
            tools.says(words, lambda: tools.asked(*fit))

        found[name] = told

    plain = "text,label\n" + "".join(f"{text},{label}\n" for text, label in pairs)
    says(
        "UTF-16 without a mark or an option", "r.csv", plain.encode("utf-16-le"), "give --encoding utf-16-le"
    )
    says("carriage returns alone", "r.csv", plain.replace("\n", "\r").encode(), "carriage returns alone")
    says("a spreadsheet", "r.xlsx", b"PK\x03\x04", "is a spreadsheet; save it as CSV")
    says("a spreadsheet called .csv", "r.csv", b"PK\x03\x04\x14\0\n", "is a spreadsheet or an archive")
    says(
        "a JSON list",
        "r.jsonl",
        json.dumps([{"text": "a", "label": "b"}]).encode(),
        "write one object a line",
    )
    says("two columns of labels", "r.csv", b"text,label,label\na,b,c\n", "found several; rename one")
    says(
        "two encodings in one file", "r.csv", plain.encode() + b"\xe9,Books/Art\n", "26: expected UTF-8 text"
    )
    says(
        "a cell that never ends", "r.csv", plain.encode() + b'"a,Books/Art\n', "expected a row of a CSV table"
    )
    says("a gap in the levels", "r.csv", b"text,level1,level2\na,,b\n", "found an empty cell above 'b'")
    says("one class", "r.csv", b"text,label\naa bb,x\ncc dd,x\n", "needs at least two classes")
    says("one empty name in a path", "r.csv", b"text,label\na,Books//Art\n", "an empty name", "--sep", "/")

    def python(name: str, y: Any, X: Any = None, paths: Sequence[Any] = data.paths, **options: Any) -> None:
        def fitted(folder: Path) -> None:
            labels = y() if callable(y) else y
            rows = np.eye(4).repeat(6, axis=0) if X is None else X
            model = NormalizedHierarchicalSVM(C=10.0, **options).fit(rows, labels)
            answers = [tuple(map(str, path)) for path in model.predict_path(rows)]
            assert answers == list(paths), f"answered {answers[0]}, not {paths[0]}"
            assert model.score(rows, labels) == 1.0

        found[f"Python: {name}"] = fitted

    levels = pd.DataFrame(data.paths, columns=["main", "sub"])
    ragged = [("Books", "History"), ("Music",), ("Books", "Art"), ("Music", "Pop")]
    ragged_paths = [path for path in ragged for _ in range(6)]
    python("a series with another index", pd.Series(data.strings(), index=range(100, 124)))
    python("columns of one name", levels.set_axis(["level", "level"], axis=1))
    python("columns of two rows", levels.set_axis(pd.MultiIndex.from_product([["l"], ["a", "b"]]), axis=1))
    python(
        "categories without rows",
        levels.astype(pd.CategoricalDtype([*"xyz", "Books", "Music", "History", "Art", "Pop"])),
    )
    python(
        "nulls of polars",
        pl.DataFrame([[*p, None][:2] for p in ragged_paths], orient="row"),
        paths=ragged_paths,
    )
    python("NaN below", pd.DataFrame([[*p, np.nan][:2] for p in ragged_paths]), paths=ragged_paths)
    python("blanks below", pd.DataFrame([[*p, " "][:2] for p in ragged_paths]), paths=ragged_paths)
    python(
        "a name below itself",
        [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")] * 6,
        np.tile(np.eye(4), (6, 1)),
        [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")] * 6,
    )
    python("blanks around the slash", data.strings(" / "))
    python(
        "names of 5,000 letters",
        [("x" * 5000, "/".join(p)) for p in data.paths],
        paths=[("x" * 5000, "/".join(p)) for p in data.paths],
    )
    rows = np.eye(4).repeat(6, axis=0)
    for kind, X in {
        "a sparse matrix of booleans": sp.csr_matrix(rows.astype(bool)),
        "a sparse array of int64, by columns": sp.csc_array(rows.astype(np.int64)),
        "a sparse list of lists": sp.lil_array(rows.astype(np.float32)),
        "nullable integers": pd.DataFrame(rows).astype("Int64"),
        "a frame of polars": pl.DataFrame(rows),
    }.items():
        python(kind, data.strings(), X)
    codes = Taxonomy.from_edges([("1", "11"), ("1", "12"), ("2", "21"), ("2", "22")])
    numbers = [("1", "11"), ("2", "21"), ("1", "12"), ("2", "22")]
    number_paths = [path for path in numbers for _ in range(6)]
    python("numbers for codes", [int(p[1]) for p in number_paths], paths=number_paths, taxonomy=codes)
    named = codes.with_terms(
        {"11": Term("Cat"), "12": Term("Dog", synonyms=("Hound",)), "21": "Oak", "22": "Elm"}
    )
    words = [{"11": "Cat", "12": "Hound", "21": "Oak", "22": "Elm"}[p[1]] for p in number_paths]
    python("labels and synonyms for codes", words, paths=number_paths, taxonomy=named)
    python("one row per class", data.strings()[::6], np.eye(4), data.paths[::6])

    def refused(folder: Path) -> None:
        for y, words in (
            ([None, "a", "b"], "row 0 has an empty label"),
            (np.array([[1, 11], [1, 12], [2, 21]]), "for level columns of numbers give tuples"),
            (
                pd.DataFrame([[None, "a"], ["b", "c"], ["b", "d"]]),
                "only the last levels of a row may be empty",
            ),
            (["x", "x", "x"], "at least two classes"),
        ):
            try:
                NormalizedHierarchicalSVM().fit(np.eye(3), y)
                said = "nothing"
            except TaxolearnError as error:
                said = str(error)
            assert words in said, said

    found["Python: what cannot be used"] = refused
    return found
