"""Files as people have them: nothing is overwritten, everything wrong is told, what can be used is used."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from cli_data import FIT_OPTIONS

from taxolearn import load
from taxolearn.cli.app import run

ROWS = [
    ("it purrs and meows", "Pet/Cat"),
    ("a meowing thing purrs", "Pet/Cat"),
    ("it barks at night", "Pet/Dog"),
    ("barks and woofs", "Pet/Dog"),
    ("green leaves, bark", "Plant/Oak"),
    ("acorns and leaves", "Plant/Oak"),
]


def _write(path: Path, rows: list[tuple[str, str]], delimiter: str = ",", encoding: str = "utf-8") -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerows([("text", "label"), *rows])
    path.write_bytes(stream.getvalue().encode(encoding))
    return str(path)


def _fit(rows: str, folder: Path, *options: str) -> int:
    return run(["fit", rows, "-o", str(folder / "model"), *FIT_OPTIONS, *options])


def test_an_input_is_never_overwritten(
    text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _write(tmp_path / "rows.csv", ROWS)
    before = Path(rows).read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(rows)
    for output in (rows, str(link), f"{tmp_path}/./rows.csv"):
        assert run(["predict", text_model, rows, "-o", output]) == 2
        assert "is the file that is read, and would be lost" in capsys.readouterr().err
    assert run(["predict", text_model, rows, "-o", f"{text_model}/model.json"]) == 2
    assert "is inside the model folder" in capsys.readouterr().err
    assert run(["convert", rows, rows, "--from", "levels", "--to", "levels"]) == 2
    assert run(["check", rows, "--fix", rows]) == 2
    assert _fit(rows, tmp_path, "--skip-bad", rows) == 2
    assert Path(rows).read_bytes() == before


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_are_found_and_said(
    delimiter: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _write(tmp_path / "rows.csv", ROWS, delimiter)
    assert _fit(rows, tmp_path) == 0
    told = capsys.readouterr().err
    assert f"cells are separated by {delimiter!r}" in told
    assert "labels are paths, split at '/'" in told
    assert run(["evaluate", str(tmp_path / "model"), rows, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 1.0
    assert (
        run(
            [
                "predict",
                str(tmp_path / "model"),
                rows,
                "--delimiter",
                "tab" if delimiter == "\t" else delimiter,
            ]
        )
        == 0
    )
    assert "separated" not in capsys.readouterr().err


def test_excel_says_what_separates_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _write(tmp_path / "rows.csv", [*ROWS, ("a;b", "Pet/Cat")], ";")
    Path(rows).write_text("sep=;\n" + Path(rows).read_text() + "x;y;z\n")
    assert _fit(rows, tmp_path) == 2
    assert "rows.csv:10: expected 2 cells, found 3" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_encodings(encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _write(tmp_path / "rows.csv", [*ROWS, ("Bäume mit Blättern", "Plant/Öak")], encoding=encoding)
    if encoding != "utf-8-sig":
        assert _fit(rows, tmp_path) == 2
        assert "--encoding" in capsys.readouterr().err
    assert _fit(rows, tmp_path, "--encoding", encoding) == 0
    assert run(["predict", str(tmp_path / "model"), rows, "--encoding", encoding, "--to", "jsonl"]) == 0
    answers = [json.loads(line)["answers"][0]["path"] for line in capsys.readouterr().out.splitlines()[2:]]
    assert answers[-1] == ["Plant", "Öak"]
    assert _fit(rows, tmp_path, "--encoding", "klingon") == 2


def test_bad_rows_are_counted_and_can_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _write(tmp_path / "rows.csv", ROWS)
    with open(rows, "ab") as stream:
        stream.write(b'one cell\nx,y,z\nno label,\nm\xe4h,Pet/Cat\n"a"b,Pet/Cat\nmeows,Pet/Cat\n')
    assert _fit(rows, tmp_path) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "rows.csv:8: expected 2 cells, found 1 (and 4 other lines; `taxolearn check" in said
    listed = tmp_path / "bad.csv"
    assert _fit(rows, tmp_path, "--skip-bad", str(listed)) == 0
    told = capsys.readouterr().err
    assert "5 rows of" in told
    assert "7 rows from" in told
    with open(listed, encoding="utf-8") as stream:
        left = list(csv.DictReader(stream))
    assert [int(row["line"]) for row in left] == [8, 9, 10, 11, 12]
    assert left[1]["content"] == "x,y,z"


def test_unknown_labels_are_counted_or_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("parent,child,note\nPet,Cat,a\nPet,Dog,b\nPlant,Oak,c\n")
    named = [(text, label.split("/")[1]) for text, label in ROWS]
    rows = _write(tmp_path / "rows.csv", [*named, ("x", "Dgo"), ("y", "Unicorn"), ("z", "Dgo")])
    assert _fit(rows, tmp_path, "--taxonomy", str(tree)) == 2
    said = capsys.readouterr().err
    assert "rows.csv:8: unknown label 'Dgo'; did you mean 'Dog'? (1 other label is unknown, too)" in said
    assert "line 1 is a header; column 'note' is left out" in said
    assert "it has 2 roots, 'Pet' and 'Plant'" in said
    assert _fit(rows, tmp_path, "--taxonomy", str(tree), "--skip-bad", str(tmp_path / "bad.csv")) == 0
    assert "3 rows of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "nodes"),
    [
        ("a.csv", "Pet,Cat\nPet,Dog\n", {"Pet", "Cat", "Dog"}),
        ("a.csv", "Pet;House cat\nPet;Dog\n", {"Pet", "House cat", "Dog"}),
        ("a.csv", '\ufeffChild,Parent\n"Cat, big",Pet\nPet,\n', {"Pet", "Cat, big"}),
        ("a.csv", "Pet,Cat,1\nPet,Dog,2\n", {"Pet", "Cat", "Dog"}),
        ("a.tsv", "parent\tchild\nPet\tHouse cat\n", {"Pet", "House cat"}),
        ("a.txt", "parent child\nPet Cat\n", {"Pet", "Cat"}),
        ("a.txt", "Pet Cat Lion\n", {"Pet", "Cat", "Lion"}),
    ],
)
def test_taxonomy_files(name: str, text: str, nodes: set[str], tmp_path: Path) -> None:
    from taxolearn.cli.taxonomy_files import read_taxonomy

    (tmp_path / name).write_text(text, encoding="utf-8")
    assert set(read_taxonomy(str(tmp_path / name)).nodes) == nodes


def test_a_second_root_by_a_typo_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from taxolearn.cli.taxonomy_files import read_taxonomy

    (tmp_path / "a.txt").write_text("Animal Cat\nAnimal Dog\nAnmial Emu\n")
    read_taxonomy(str(tmp_path / "a.txt"))
    assert (
        "it has 2 roots, 'Animal' and 'Anmial'; 'Anmial' may be a typo of 'Animal'" in capsys.readouterr().err
    )


def test_check_tells_everything_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("parent,child\nPet,Cat\nPet,Dog\nPet,Dog\nPlant,Oak\n")
    rows = _write(tmp_path / "rows.csv", [*ROWS, ROWS[0], ("it barks at night", "Pet/Cat"), ("", "Pet/Cat")])
    with open(rows, "ab") as stream:
        stream.write("short\nmäh,Pet/Cat\nempty,\nwoof,pet/ DOG\nhorn,Pet/Unicorn\n".encode("latin-1"))
    fixed = tmp_path / "fixed.csv"
    options = ["--sep", "/", "--taxonomy", str(tree), "--fix", str(fixed)]
    assert run(["check", rows, *options]) == 1
    out = capsys.readouterr().out
    for part in (
        "edges given twice",
        "line 1 is a header",
        "it has 2 roots",
        "lines of another length: expected 2 cells, found 1",
        "lines that are no UTF-8",
        "expected a label, found an empty cell",
        "empty texts",
        "rows that are given twice",
        "texts that come with different labels",
        "the label 'pet/ DOG' differs in blanks or case from 'Pet/Dog'",
        "unknown label 'Pet/Unicorn'",
        "labels with a single row: 'Pet/Unicorn'",
    ):
        assert part in out, part
    assert "9 rows written to" in out
    with open(fixed, encoding="utf-8") as stream:
        assert {row["label"] for row in csv.DictReader(stream)} == {label for _, label in ROWS} | {
            "Pet/Unicorn"
        }
    assert run(["check", rows, "--sep", "/", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {"what", "rows", "line", "fixed"} == set(found[0])


def test_check_of_clean_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _write(tmp_path / "rows.csv", ROWS)
    assert run(["check", rows]) == 0
    assert "6 rows, nothing found" in capsys.readouterr().out
    lines = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in [*ROWS, ROWS[0]])
    (tmp_path / "rows.jsonl").write_text(lines)
    assert run(["check", str(tmp_path / "rows.jsonl"), "--fix", str(tmp_path / "fixed.jsonl")]) == 0
    assert len((tmp_path / "fixed.jsonl").read_text().splitlines()) == 6


def test_rare_labels_that_look_like_frequent_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = [(f"history {k}", "History") for k in range(12)] + [(f"art {k}", "Art") for k in range(12)]
    rows = _write(tmp_path / "rows.csv", [*many, ("old", "Histroy"), ("old kings", "history ")])
    assert run(["check", rows]) == 1
    out = capsys.readouterr().out
    assert "the label 'Histroy' may be a typo of 'History'" in out
    assert "the label 'history ' differs in blanks or case from 'History'" in out


def test_a_long_way_in_common_makes_no_typo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    above = "Diseases of the circulatory system > Diseases of arteries, arterioles and capillaries"
    rows = [f'text {k},"{above} > Atherosclerosis"' for k in range(20)]
    rows += [f'a clot,"{above} > Atheroembolism"', f'a typo,"{above} > Atheroscelrosis"']
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    assert run(["check", str(tmp_path / "rows.csv"), "--json"]) == 1
    found = [entry for entry in json.loads(capsys.readouterr().out) if "may be a typo" in entry["what"]]
    assert [entry["line"] for entry in found] == [23]


def test_every_sentence_is_answered(text_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", text_model, "-s", "meow", "-s", "woof"]) == 0
    answers = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["label"] for row in answers] == ["Animal/Cat", "Animal/Dog"]
    assert run(["predict", text_model, "rows.csv", "-s", "meow"]) == 2


def test_missing_values_are_told_in_words_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.svm").write_text("a 1:1\nb 1:nan\n")
    assert run(["fit", str(tmp_path / "rows.svm"), "-o", str(tmp_path / "m")]) == 2
    said = capsys.readouterr().err
    assert "rows.svm:2: expected a finite number, found 'nan'; leave the entry out, or fill it in" in said


def test_evaluate_by_level_and_what_was_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _write(tmp_path / "rows.csv", ROWS * 6)
    assert run(["fit", rows, "-o", str(tmp_path / "model"), "--jobs", "1", "-m", "svm"]) == 0
    assert "features tried" in capsys.readouterr().out
    assert run(["evaluate", str(tmp_path / "model"), rows]) == 0
    out = capsys.readouterr().out.split("\n\n")
    assert out[1].splitlines()[0].split() == ["level", "rows", "accuracy", "micro", "F1", "macro", "F1"]
    assert [line.split()[:3] for line in out[1].splitlines()[1:]] == [
        ["1", "36", "1.0000"],
        ["2", "36", "1.0000"],
    ]
    assert " *" in out[2]


def test_flags_have_no_type_in_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "--help"]) == 0
    assert "bool" not in capsys.readouterr().out


def _answered(capsys: pytest.CaptureFixture[str]) -> list[int]:
    return [json.loads(line)["row"] for line in capsys.readouterr().out.splitlines()]


def test_predict_leaves_bad_rows_out_and_keeps_the_numbers_of_the_others(
    text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, bad = tmp_path / "rows.csv", tmp_path / "bad.csv"
    rows.write_bytes(b'text,n\nit purrs,1\nshort\n"m\xe4h\nm\xe4h",3\nx,4,y\nit barks,5\n')
    ask = ["predict", text_model, str(rows), "--to", "jsonl"]
    assert run(ask) == 2
    assert run([*ask, "--skip-bad", str(rows)]) == 2
    assert run([*ask, "--skip-bad", str(bad), "-o", str(bad)]) == 2
    assert run(["predict", text_model, "-s", "it purrs", "--skip-bad", str(bad)]) == 2
    capsys.readouterr()
    assert run([*ask, "--skip-bad", str(bad)]) == 0
    assert _answered(capsys) == [1, 5]
    with open(bad, encoding="utf-8") as stream:
        assert [row["line"] for row in csv.DictReader(stream)] == ["3", "4", "5", "6"]
    rows.write_text("text\nit purrs\n")
    assert run([*ask, "--skip-bad", str(bad)]) == 0
    assert bad.read_text() == "line,problem,content\n"  # not that of an earlier run


def test_bad_libsvm_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, bad, clean = tmp_path / "rows.svm", tmp_path / "bad.csv", tmp_path / "clean.svm"
    good = "".join(f"{'Cat' if k % 2 else 'Dog'} {1 + k % 2}:{k + 1}\n" for k in range(8))
    rows.write_text(f"# pets\n{good}\nDog 1:one\n 1:2\nDog\ncat 2:9\nDog 1:1\nCat 0:1\n")
    fit = ["fit", str(rows), "-o", str(tmp_path / "m"), "-j", "1"]
    assert run(fit) == 2
    said = capsys.readouterr().err
    assert "rows.svm:11: expected a number, found 'one' (and 2 other lines; `taxolearn check" in said
    assert run([*fit, "--skip-bad", str(bad)]) == 0
    with open(bad, encoding="utf-8") as stream:
        assert sorted(int(row["line"]) for row in csv.DictReader(stream)) == [11, 12, 16]
    assert "11 rows from" in capsys.readouterr().err
    assert run(["predict", str(tmp_path / "m"), str(rows), "--skip-bad", str(bad), "--to", "jsonl"]) == 0
    assert _answered(capsys) == [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13]
    assert run(["check", str(rows), "--fix", str(clean)]) == 0
    told = capsys.readouterr().out
    assert "rows without features" in told
    assert "the label 'cat' differs in blanks or case from 'Cat'" in told
    assert clean.read_text() == good + "Cat 2:9\n"
    assert run(["check", str(clean)]) == 0


def test_parquet_is_fixed_as_parquet(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    labels = pa.array(["Cat", "Cat", "cat", "Dog", "Dog", "Dog "]).dictionary_encode()
    columns = {"text": ["a", "a", "b", "", "c", "d"], "label": labels, "n": [1, 1, 2, 3, 4, 5]}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    clean = tmp_path / "clean.parquet"
    assert run(["check", str(tmp_path / "rows.parquet"), "--fix", str(clean)]) == 0
    found = pq.read_table(clean)
    assert found.column("label").to_pylist() == ["Cat", "Cat", "Dog", "Dog"]
    assert found.column("n").to_pylist() == [1, 2, 4, 5]
    assert pa.types.is_dictionary(found.schema.field("label").type)


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("text,label,", "{},{},"),
        ("text,label", "{},{},,"),
        (" Text ,LABEL", "{},{}"),
        (",,text,label", "1,2,{},{}"),
        ("x,text,label,x", "1,{},{},2"),
        ("text,label", "{},/{}/"),
    ],
)
def test_headers_and_ends_of_lines_as_they_come(header: str, line: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    cells = [(text.replace(",", ""), label) for text, label in ROWS]
    rows.write_text("\n".join([header, *(line.format(*row) for row in cells), ""]))
    assert _fit(str(rows), tmp_path) == 0
    assert load(tmp_path / "model").taxonomy.leaves == ("Pet/Cat", "Pet/Dog", "Plant/Oak")


def test_level_columns_go_by_their_numbers(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    lines = [",".join([text.replace(",", ""), *reversed(label.split("/"))]) for text, label in ROWS]
    rows.write_text("\n".join(["text,level 2,level 1", *lines, ""]))
    assert _fit(str(rows), tmp_path) == 0
    assert load(tmp_path / "model").taxonomy.leaves == ("Pet/Cat", "Pet/Dog", "Plant/Oak")


@pytest.mark.parametrize(
    ("name", "raw", "told"),
    [
        ("mac.csv", b"text,label\rit purrs,Cat\r", "lines end in carriage returns alone"),
        ("wide.csv", "text,label\nit purrs,Cat\n".encode("utf-16-le"), "give --encoding utf-16-le"),
        ("book.csv", b"PK\x03\x04\x14\0", "is a spreadsheet or an archive"),
        ("book.xlsx", b"PK\x03\x04\x14\0", "is a spreadsheet; save it as CSV"),
        ("list.jsonl", b'[{"text": "a", "label": "b"}]', "write one object a line"),
        ("two.csv", b"text,label,label\na,b,c\n", "expected one column 'label', found several; rename one"),
    ],
)
def test_what_else_a_file_may_be(
    name: str, raw: bytes, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(raw)
    assert _fit(str(tmp_path / name), tmp_path) == 2
    assert told in capsys.readouterr().err
