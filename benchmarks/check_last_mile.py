"""Ninety small files and frames as people have them, made here: in Python and on the command line.

Fit, evaluate, predict and explain must give the same right answer both ways, or say what is wrong in one clear sentence
without a traceback. Prints one line per case, and exits with 1 when a case fails.

    python benchmarks/check_last_mile.py [PART_OF_A_NAME]
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from _messy_files import messy_cases

import taxolearn
from taxolearn import NormalizedHierarchicalSVM, Taxonomy, TextClassifier, metrics
from taxolearn.cli.app import run
from taxolearn.text import TextFeatures

REPEATED = [("Books", "History"), ("Music", "History"), ("Books", "Art"), ("Music", "Pop")]
RAGGED = [*REPEATED, ("Books", "History", "Asia"), ("Books", "History", "Europe"), ("Films",)]
UNIQUE = [("Pet", "Cat"), ("Pet", "Dog"), ("Plant", "Oak"), ("Plant", "Rose")]
EDGES = [("Pet", "Cat"), ("Pet", "Dog"), ("Plant", "Oak"), ("Plant", "Rose")]
FIT = ["--method", "normalized", "--features", "word", "--ngrams", "1-1", "--jobs", "1", "-C", "10"]
SEVERAL = ["--method", "recursive", "--features", "word", "--ngrams", "1-1", "--jobs", "1", "-C", "10"]

Names = tuple[str, ...]


class Data(NamedTuple):
    texts: list[str]
    paths: list[Names]

    def levels(self) -> list[list[str | None]]:
        depth = max(map(len, self.paths))
        return [[*path, *[None] * (depth - len(path))] for path in self.paths]

    def strings(self, sep: str = "/") -> list[str]:
        return [sep.join(path) for path in self.paths]


def rows_of(paths: Sequence[Names], each: int = 6, accent: str = "") -> Data:
    """Texts that say, in words of their own, which path they have."""
    texts, found = [], []
    for path in paths:
        for k in range(each):
            words = [f"w{'x'.join(path[: d + 1])}{k % 2}".replace(" ", "") for d in range(len(path))]
            texts.append(" ".join([*words, "".join(path) + accent, f"noise{k}"]))
            found.append(path)
    return Data(texts, found)


class Said(Exception):
    """The sentence that the library said."""


def by_python(data: Data, y: Any, taxonomy: Any = None) -> tuple[Any, ...]:
    estimator = NormalizedHierarchicalSVM(taxonomy, C=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = TextClassifier(estimator, TextFeatures(word_ngrams=(1, 1), sublinear_tf=True)).fit(
                data.texts, y
            )
            some = data.texts if len(data.texts) < 1000 else data.texts[:: len(data.texts) // 500]
            right = model.score(data.texts, y)
            with tempfile.TemporaryDirectory() as folder:
                model.save(folder)
                loaded = taxolearn.load(folder)
            predicted = loaded.predict(some).tolist()
            if len(some) == len(data.texts) and not isinstance(y, list):
                right = min(right, metrics.accuracy(y, loaded.predict(data.texts), loaded.taxonomy))
            return list(map(tuple, loaded.predict_path(some))), right, loaded.explain(some[0]).path, predicted
        except taxolearn.errors.TaxolearnError as error:
            raise Said(str(error)) from None


def command(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = run(list(arguments))
    return code, out.getvalue(), err.getvalue()


def asked(*arguments: str) -> str:
    code, out, err = command(*arguments)
    if code:
        last = err.strip().splitlines()[-1] if err.strip() else ""
        raise Said(last) if code in (1, 2) else AssertionError(f"exit code {code}: {last}")
    return out


def by_command(
    folder: Path, file: Path, text: str, options: Sequence[str], read: Sequence[str] = ()
) -> tuple[Any, ...]:
    """What the commands answer; `options` tell what labels are, `read` how the file is written."""
    model = str(folder / "model")
    labels = [option for option in options if option not in FIT]
    asked("fit", str(file), "-o", model, *options, *read, *(() if "--method" in options else FIT))
    known = _without(labels, "--taxonomy")
    right = json.loads(asked("evaluate", model, str(file), *known, *read, "--json"))["accuracy"]
    columns = [part for name in ("--text",) if name in known for part in (name, known[known.index(name) + 1])]
    lines = asked("predict", model, str(file), *columns, *read, "--to", "jsonl").splitlines()
    answers = [json.loads(line)["answers"][0] for line in lines]
    explained = json.loads(asked("explain", model, text, "--json"))["path"]
    return [tuple(one["path"]) for one in answers], right, tuple(explained), [one["label"] for one in answers]


def _without(options: Sequence[str], name: str) -> list[str]:
    if name not in options:
        return list(options)
    place = list(options).index(name)
    return [*options[:place], *options[place + 2 :]]


def table(
    path: Path, header: Sequence[str], rows: Any, delimiter: str = ",", encoding: str = "utf-8"
) -> Path:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow(header)
    writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    raw = stream.getvalue().encode(encoding)
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def level_file(folder: Path, data: Data, name: str = "rows.csv", **how: Any) -> Path:
    depth = max(map(len, data.paths))
    rows = ([text, *path] for text, path in zip(data.texts, data.levels(), strict=True))
    return table(folder / name, ["text", *(f"level {k + 1}" for k in range(depth))], rows, **how)


def path_file(folder: Path, data: Data, name: str = "rows.csv", sep: str = "/", **how: Any) -> Path:
    return table(folder / name, ["text", "label"], zip(data.texts, data.strings(sep), strict=True), **how)


Case = Callable[[Path], None]
CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    def add(function: Case) -> Case:
        CASES[name] = function
        return function

    return add


def same(data: Data, *answers: tuple[Any, ...], some: int | None = None) -> None:
    """All answers are the truth, and the names are one."""
    truth = data.paths
    for found in answers:
        expected = truth if len(found[0]) == len(truth) else truth[:: len(truth) // 500]
        wrong = next(((a, b) for a, b in zip(found[0], expected, strict=True) if a != b), None)
        assert wrong is None, f"answered {wrong[0]} where {wrong[1]} is right" if wrong else ""
        assert found[1] == 1.0, f"accuracy {found[1]}"
        assert found[2] == truth[0], f"explained {found[2]}, not {truth[0]}"
    names = [list(map(str, found[3])) for found in answers]
    for other in names[1:]:
        if len(other) == len(names[0]):
            assert names[0] == other, f"called {names[0][0]} and {other[0]}"


def both(
    data: Data, y: Any, file: Path, folder: Path, *options: str, taxonomy: Any = None, read: Any = ()
) -> None:
    same(data, by_python(data, y, taxonomy), by_command(folder, file, data.texts[0], options, read))


def says(words: str, action: Callable[[], Any]) -> None:
    try:
        action()
        found = "nothing"
    except Said as said:
        found = str(said)
    assert words in found, f"said: {found}"


def level_cases() -> None:
    forms: dict[str, Callable[[list[Any]], Any]] = {
        "pandas": pd.DataFrame,
        "polars": lambda rows: pl.DataFrame(rows, orient="row"),
        "pyarrow": lambda rows: pa.table(
            {f"c{k}": list(cells) for k, cells in enumerate(zip(*rows, strict=True))}
        ),
        "an object array": lambda rows: np.array(rows, dtype=object),
        "a text array": lambda rows: np.array([[cell or "" for cell in row] for row in rows]),
        "pandas categories": lambda rows: pd.DataFrame(rows).astype("category"),
    }
    for form, make in forms.items():
        for name, paths in {"repeated names": REPEATED, "ragged": RAGGED}.items():
            if form in ("pyarrow", "pandas categories") and name == "repeated names":
                continue

            def level(folder: Path, make: Any = make, paths: Any = paths) -> None:
                data = rows_of(paths)
                both(data, make(data.levels()), level_file(folder, data), folder)

            CASES[f"level columns, {name}, {form}"] = level


level_cases()


@case("level columns of numbers, some empty")
def _numbers(folder: Path) -> None:
    data = rows_of([("47", "11"), ("47", "12"), ("48",)])
    frame = pd.DataFrame([[int(p[0]), int(p[1]) if len(p) > 1 else None] for p in data.paths])
    both(data, frame, level_file(folder, data), folder)


@case("tuples, ragged")
def _tuples(folder: Path) -> None:
    data = rows_of(RAGGED)
    both(data, data.paths, level_file(folder, data, "rows.tsv", delimiter="\t"), folder)


@case("a series of tuples")
def _series(folder: Path) -> None:
    data = rows_of(RAGGED)
    both(data, pd.Series(data.paths), path_file(folder, data), folder, "--sep", "/")


@case("path strings, repeated names, no option")
def _strings(folder: Path) -> None:
    data = rows_of(REPEATED)
    both(data, data.strings(), path_file(folder, data), folder)


@case("path strings, ragged, numpy")
def _string_array(folder: Path) -> None:
    data = rows_of(RAGGED)
    both(data, np.array(data.strings()), path_file(folder, data), folder, "--sep", "/")


@case("path strings 'A > B'")
def _arrows(folder: Path) -> None:
    data = rows_of(RAGGED)
    both(data, data.strings(" > "), path_file(folder, data, sep=" > "), folder)


@case("path strings in JSON lines")
def _jsonl(folder: Path) -> None:
    data = rows_of(RAGGED)
    file = folder / "rows.jsonl"
    pairs = zip(data.texts, data.strings(), strict=True)
    file.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in pairs))
    both(data, pl.Series(data.strings()), file, folder)


@case("level columns in Parquet")
def _parquet(folder: Path) -> None:
    data = rows_of(RAGGED)
    frame = pd.DataFrame(data.levels(), columns=["level_1", "level_2", "level_3"])
    pq.write_table(pa.Table.from_pandas(frame.assign(text=data.texts)), folder / "rows.parquet")
    both(data, frame, folder / "rows.parquet", folder)


@case("flat names with a stray slash")
def _flat(folder: Path) -> None:
    data = rows_of([("and/or",), ("if",), ("not",)])
    both(data, [path[0] for path in data.paths], path_file(folder, data), folder)


@case("level columns with the taxonomy built from them")
def _given_levels(folder: Path) -> None:
    data = rows_of(RAGGED)
    frame = pd.DataFrame(data.levels(), columns=list("abc"))
    tree = Taxonomy.from_table(frame, repeated="path")
    same(
        data,
        by_python(data, frame, tree),
        by_python(data, data.paths, tree),
        by_python(data, data.strings(), tree),
    )


@case("path strings with a taxonomy of names")
def _given_paths(folder: Path) -> None:
    data = rows_of(UNIQUE)
    edges = table(folder / "tree.csv", ["Pet", "Cat"], EDGES[1:])
    tree = Taxonomy.from_edges(EDGES)
    both(
        data,
        data.strings(),
        path_file(folder, data),
        folder,
        "--sep",
        "/",
        "--taxonomy",
        str(edges),
        taxonomy=tree,
    )


@case("names with a taxonomy file without header")
def _plain_edges(folder: Path) -> None:
    data = rows_of(UNIQUE)
    (folder / "tree.txt").write_text("".join(f"{a} {b}\n" for a, b in EDGES))
    file = table(folder / "rows.csv", ["text", "label"], [(t, p[-1]) for t, p in zip(*data, strict=True)])
    names, tree = [path[-1] for path in data.paths], Taxonomy.from_edges(EDGES)
    both(data, names, file, folder, "--taxonomy", str(folder / "tree.txt"), taxonomy=tree)


def edge_cases() -> None:
    heads = {
        "a header parent,child": (["parent", "child"], EDGES, ","),
        "a header Child;Parent": (["Child", "Parent"], [(b, a) for a, b in EDGES], ";"),
        "a third column": (["parent", "child", "note"], [(a, b, "x") for a, b in EDGES], ","),
        "roots without parent": (
            ["id", "parent_id"],
            [("Pet", ""), ("Plant", ""), *((b, a) for a, b in EDGES)],
            ",",
        ),
    }
    for name, (header, rows, delimiter) in heads.items():

        def edges(folder: Path, header: Any = header, rows: Any = rows, delimiter: str = delimiter) -> None:
            data = rows_of(UNIQUE)
            file = table(folder / "tree.csv", header, rows, delimiter)
            names = [path[-1] for path in data.paths]
            train = table(folder / "rows.csv", ["text", "label"], zip(data.texts, names, strict=True))
            tree = Taxonomy.from_edges(EDGES)
            both(data, names, train, folder, "--taxonomy", str(file), taxonomy=tree)

        CASES[f"a taxonomy file with {name}"] = edges


edge_cases()


def table_cases() -> None:
    ways: dict[str, tuple[dict[str, Any], list[str]]] = {
        "semicolons": ({"delimiter": ";"}, []),
        "bars": ({"delimiter": "|"}, []),
        "tabs in a .csv": ({"delimiter": "\t"}, []),
        "a byte-order mark": ({"encoding": "utf-8-sig"}, []),
        "latin-1": ({"encoding": "latin-1"}, ["--encoding", "latin-1"]),
        "semicolons and cp1252": ({"encoding": "cp1252", "delimiter": ";"}, ["--encoding", "cp1252"]),
        "UTF-16": ({"encoding": "utf-16"}, ["--encoding", "utf-16"]),
    }
    for name, (how, read) in ways.items():

        def written(folder: Path, how: Any = how, read: Any = read) -> None:
            data = rows_of([*RAGGED, ("Bücher", "Lyrik"), ("Bücher", "Prosa")], accent="é")
            both(data, pd.DataFrame(data.levels()), level_file(folder, data, **how), folder, read=read)

        CASES[f"a table with {name}"] = written


table_cases()


@case("a gzipped table")
def _gzip(folder: Path) -> None:
    data = rows_of(RAGGED)
    both(data, pd.DataFrame(data.levels()), level_file(folder, data, "rows.csv.gz"), folder)


@case("line ends and commas inside texts")
def _quoted(folder: Path) -> None:
    data = rows_of(REPEATED)
    data = Data([f'{text},\n"quoted"; more' for text in data.texts], data.paths)
    both(data, data.strings(), path_file(folder, data), folder)


@case("Excel's line sep=;")
def _excel(folder: Path) -> None:
    data = rows_of(REPEATED)
    file = path_file(folder, data, delimiter=";")
    file.write_bytes(b"sep=;\r\n" + file.read_bytes())
    both(data, data.strings(), file, folder)


@case("other names of columns")
def _columns(folder: Path) -> None:
    data = rows_of(REPEATED)
    rows = ([k, text, *path] for k, (text, path) in enumerate(zip(*data, strict=True)))
    file = table(folder / "rows.csv", ["id", "title", "main", "sub"], rows)
    both(data, data.paths, file, folder, "--text", "title", "--level", "main", "--level", "sub")


@case("several labels per row, as paths")
def _several(folder: Path) -> None:
    data = rows_of(REPEATED)
    y = [[label, "Music/Pop"] if k % 3 == 0 else [label] for k, label in enumerate(data.strings())]
    model = TextClassifier(taxolearn.RecursiveSVM(C=10.0), TextFeatures(word_ngrams=(1, 1))).fit(
        data.texts, y
    )
    assert model.taxonomy is not None, "no taxonomy"
    file = table(folder / "rows.csv", ["text", "label"], zip(data.texts, map(";".join, y), strict=True))
    options = ["--label-sep", ";", "--sep", "/"]
    asked("fit", str(file), "-o", str(folder / "m"), *options, *SEVERAL)
    lines = asked("predict", str(folder / "m"), str(file), "--to", "jsonl").splitlines()
    paths = [one["path"] for line in lines for one in json.loads(line)["answers"]]
    assert all(len(path) == 2 for path in paths), f"doubled path {paths[0]}"


@case("latin-1 without a word about it")
def _undecoded(folder: Path) -> None:
    data = rows_of([("Bücher", "Lyrik"), ("Bücher", "Prosa")])
    file = path_file(folder, data, encoding="latin-1")
    says("--encoding", lambda: asked("fit", str(file), "-o", str(folder / "m"), *FIT))


@case("a typo in a label")
def _typo(folder: Path) -> None:
    data = rows_of(UNIQUE)
    names = [path[-1] for path in data.paths]
    names[3], names[5] = "Cta", "Csat"
    tree = Taxonomy.from_edges(EDGES)
    edges = table(folder / "tree.csv", ["parent", "child"], EDGES)
    file = table(folder / "rows.csv", ["text", "label"], zip(data.texts, names, strict=True))
    says("1 other label is unknown", lambda: by_python(data, names, tree))
    fit = ["fit", str(file), "-o", str(folder / "m"), "--taxonomy", str(edges), *FIT]
    says("'Cta'; did you mean 'Cat'? (1 other label is unknown, too)", lambda: asked(*fit))


@case("a typo that makes a second root")
def _root(folder: Path) -> None:
    edges = table(folder / "tree.csv", ["Animal", "Cat"], [("Animal", "Dog"), ("Anmial", "Emu")])
    data = rows_of([("Cat",), ("Dog",), ("Emu",)])
    code, _, err = command(
        "fit", str(path_file(folder, data)), "-o", str(folder / "m"), "--taxonomy", str(edges), *FIT
    )
    assert code == 0, err
    assert "'Anmial' may be a typo of 'Animal'" in err, err


@case("short and long lines")
def _lines(folder: Path) -> None:
    file = path_file(folder, rows_of(REPEATED))
    file.write_bytes(file.read_bytes() + b"short\r\na,b,c\r\n,\r\n")
    fit = ["fit", str(file), "-o", str(folder / "m"), *FIT]
    says("expected 2 cells, found 1 (and 2 other lines", lambda: asked(*fit))
    asked(*fit, "--skip-bad", str(folder / "bad.csv"))
    assert len((folder / "bad.csv").read_text().splitlines()) == 4


@case("everything wrong, checked and fixed")
def _checked(folder: Path) -> None:
    data = rows_of(REPEATED)
    file = path_file(folder, data, delimiter=";")
    file.write_bytes(file.read_bytes() + b"short\r\n;Books/Art\r\nx y z;books/ART \r\n")
    clean = str(folder / "clean.csv")
    code, out, err = command("check", str(file), "--fix", clean)
    assert code == 0, out + err
    assert "empty texts" in out
    assert "differs in blanks or case" in out
    asked("fit", clean, "-o", str(folder / "m"), *FIT)
    assert json.loads(asked("evaluate", str(folder / "m"), clean, "--json"))["accuracy"] == 1.0


@case("the answers would replace the rows")
def _overwritten(folder: Path) -> None:
    file = path_file(folder, rows_of(REPEATED))
    asked("fit", str(file), "-o", str(folder / "m"), "--sep", "/", *FIT)
    before = file.read_bytes()
    says("would be lost", lambda: asked("predict", str(folder / "m"), str(file), "-o", str(file)))
    assert file.read_bytes() == before, "the rows are gone"


@case("the model would replace a file")
def _output(folder: Path) -> None:
    file = path_file(folder, rows_of(REPEATED))
    says("it is a file, and a model is a folder", lambda: asked("fit", str(file), "-o", str(file), *FIT))


@case("two sentences")
def _sentences(folder: Path) -> None:
    data = rows_of(REPEATED)
    asked("fit", str(path_file(folder, data)), "-o", str(folder / "m"), "--sep", "/", *FIT)
    given = [part for text in (data.texts[0], data.texts[-1]) for part in ("-s", text)]
    found = list(csv.DictReader(io.StringIO(asked("predict", str(folder / "m"), *given))))
    assert [row["path"] for row in found] == ["Books/History", "Music/Pop"], found


@case("a missing value in libsvm rows")
def _missing(folder: Path) -> None:
    (folder / "rows.svm").write_text("a 1:1\nb 1:nan\n")
    says(
        "fill it in",
        lambda: asked("fit", str(folder / "rows.svm"), "-o", str(folder / "m"), "-m", "normalized"),
    )


@case("100,000 rows of level columns")
def _many(folder: Path) -> None:
    data = rows_of(RAGGED, each=100_000 // len(RAGGED) + 1)
    data = Data(data.texts[:100_000], data.paths[:100_000])
    both(data, pd.DataFrame(data.levels()), level_file(folder, data), folder)


def main(part: str = "") -> int:
    CASES.update(messy_cases(sys.modules[__name__]))
    chosen = {name: function for name, function in CASES.items() if part in name}
    failed = 0
    for name, function in chosen.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(Path(folder))
                result = "good"
            except (Said, AssertionError) as error:
                result = "FAILED: " + " ".join(str(error).replace(folder, "").split())[:150]
            except Exception as error:  # noqa: BLE001  a traceback is what users must not see
                where = traceback.extract_tb(error.__traceback__)[-1]
                result = f"FAILED: {type(error).__name__} in {Path(where.filename).name}: {str(error)[:100]}"
        failed += result != "good"
        print(f"{name:52} {result}", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} cases are good")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
