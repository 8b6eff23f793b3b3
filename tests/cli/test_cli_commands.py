"""Every command end to end on small data."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_data import FIT_OPTIONS, pet_rows, write_csv, write_json, write_levels, write_svm

import taxolearn
from taxolearn.cli.app import _EXAMPLES, run
from taxolearn.cli.method_list import METHODS

COMMANDS = (
    "check",
    "fit",
    "select",
    "predict",
    "evaluate",
    "inspect",
    "explain",
    "audit",
    "calibrate",
    "diff",
    "convert",
    "demo",
    "methods",
    "report",
    "reproduce",
    "serve",
    "report",
    "reproduce",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert re.search(rf"Example:\s+taxolearn\s+{command}", capsys.readouterr().out)


@pytest.mark.parametrize("command", ["fit", "predict", "demo", "methods"])
def test_help_shows_flags_as_flags(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert "bool" not in capsys.readouterr().out.lower()


def test_top_help_names_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)
    assert "Exit codes" in out
    assert {function.__name__ for function in _EXAMPLES} == set(COMMANDS)


def test_methods_lists_every_estimator_with_its_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["methods", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    kinds = {name: getattr(taxolearn, name) for name in taxolearn.__all__}
    estimators = {
        name
        for name, kind in kinds.items()
        if inspect.isclass(kind) and hasattr(kind, "fit") and name != "TextClassifier"
    }
    assert {method["class_name"] for method in listed} == estimators
    assert all(method["paper"] and method["title"] for method in listed)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_losses_of_the_list_are_those_of_the_class(method) -> None:  # type: ignore[no-untyped-def]
    kind = getattr(taxolearn, method.class_name)
    declared = {one.name: one.metadata["choices"] for one in fields(kind)}
    assert method.losses == declared.get("loss", ())
    assert method.losses[:1] == ((kind().loss,) if hasattr(kind(), "loss") else ())


def test_fit_prints_certificate_and_held_out_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_csv(tmp_path / "train.csv", pet_rows())
    folder = tmp_path / "model"
    options = ["--sep", "/", "--test-size", "0.25", *FIT_OPTIONS]
    assert run(["fit", str(rows), "-o", str(folder), *options]) == 0
    out = capsys.readouterr().out
    assert re.search(r"rows +20\n", out)
    assert re.search(r"accuracy +[01]\.\d{4}\n", out)
    assert re.search(r"hierarchical F1 +[01]\.\d{4}\n", out)
    assert "certificate: converged, relative gap" in out
    assert taxolearn.load(folder).taxonomy.n_leaves == 4


def test_fit_with_validation_file_taxonomy_file_and_probabilities(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leaves = [(text, label.split("/")[1]) for text, label in pet_rows()]
    rows = write_csv(tmp_path / "train.tsv", leaves, delimiter="\t")
    edges = tmp_path / "pets.tsv"
    edges.write_text(
        "All things\tAnimal\nAll things\tPlant\nAnimal\tCat\nAnimal\tDog\nPlant\tOak\nPlant\tRose\n"
    )
    folder = str(tmp_path / "model")
    options = ["--taxonomy", str(edges), "--valid", str(rows), "--method", "logistic", *FIT_OPTIONS]
    assert run(["fit", str(rows), "-o", folder, *options]) == 0
    assert "accuracy                1.0000" in capsys.readouterr().out
    assert run(["predict", folder, "-s", "meow purr", "--to", "jsonl"]) == 0
    answer = json.loads(capsys.readouterr().out)["answers"][0]
    assert answer["path"] == ["All things", "Animal", "Cat"]
    assert 0.3 < answer["probability"] <= 1


TIED = [method.name for method in METHODS if method.name not in ("svm", "logistic")]


@pytest.mark.parametrize("method", TIED)
def test_every_method_through_every_command(
    method: str, tmp_path: Path, pets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_csv(tmp_path / "train.csv", pet_rows())
    folder = str(tmp_path / "model")
    assert run(["fit", str(rows), "-o", folder, "--sep", "/", "-m", method, *FIT_OPTIONS]) == 0
    assert "certificate: converged" in capsys.readouterr().out
    assert run(["predict", folder, "-s", "meow purr", "-k", "4", "--to", "jsonl"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert answers[0]["path"] == ["Animal", "Cat"]
    assert len(answers) == 4
    assert run(["evaluate", folder, str(pets), "--sep", "/", "--at-least", "0.9"]) == 0
    assert run(["inspect", folder]) == 0
    assert run(["inspect", folder, "--node", "Animal"]) == 0
    capsys.readouterr()
    assert run(["explain", folder, "meow and fur", "--json"]) == 0
    for node in json.loads(capsys.readouterr().out)["nodes"]:
        assert sum(entry["value"] for entry in node["words"]) == pytest.approx(node["score"], abs=1e-5)


def test_fit_sets_any_parameter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_csv(tmp_path / "train.csv", pet_rows())
    folder = str(tmp_path / "model")
    options = [
        "-m",
        "normalized",
        "--set",
        "objective=13",
        "--set",
        "weights=rho",
        "--set",
        "rho=3",
        *FIT_OPTIONS,
    ]
    assert run(["fit", str(rows), "-o", folder, "--sep", "/", *options]) == 0
    model = taxolearn.load(folder).estimator_
    assert (model.objective, model.weights, model.rho) == (13, "rho", 3)


def test_fit_by_pegasos_is_saved_and_not_called_converged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_csv(tmp_path / "train.csv", pet_rows())
    folder = str(tmp_path / "model")
    options = ["-m", "normalized", "--set", "solver=pegasos", "--set", "max_iter=3", *FIT_OPTIONS]
    assert run(["fit", str(rows), "-o", folder, "--sep", "/", *options]) == 1
    assert "certificate: iteration limit, relative gap" in capsys.readouterr().out
    model = taxolearn.load(folder).estimator_
    assert (model.solver, model.n_iter_) == ("pegasos", 3)


def test_fit_calibrates_an_svm_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_levels(tmp_path / "train.csv", pet_rows())
    folder = str(tmp_path / "model")
    assert run(["fit", str(rows), "-o", folder, "--probability", *FIT_OPTIONS]) == 0
    capsys.readouterr()
    assert run(["predict", folder, "-s", "acorn wood", "-k", "4", "--to", "jsonl"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert answers[0]["path"] == ["Plant", "Oak"]
    assert sum(answer["probability"] for answer in answers) == pytest.approx(1)


def test_fit_that_falls_short_of_tol_saves_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, labels = zip(*pet_rows(3000), strict=True)
    # Labels that have nothing to do with the texts, and a large C: a hard problem in no time at all.
    rows = write_svm(tmp_path / "train.svm", list(zip(texts, sorted(labels), strict=True)))
    folder = tmp_path / "model"
    options = ["--tol", "1e-9", "-C", "1e7", "--max-seconds", "0.01", "--jobs", "1"]
    with pytest.warns(UserWarning, match="time limit"):
        assert run(["fit", str(rows), "-o", str(folder), *options]) == 1
    assert (folder / "model.json").exists()
    assert "certificate: time limit" in capsys.readouterr().out


def test_fit_reads_several_labels_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(text, label.replace("/", ";")) for text, label in pet_rows()]
    folder = str(tmp_path / "model")
    path = write_csv(tmp_path / "train.csv", rows)
    assert run(["fit", str(path), "-o", folder, "--label-sep", ";", *FIT_OPTIONS]) == 0
    capsys.readouterr()
    assert run(["predict", folder, "-s", "meow purr whiskers", "--to", "jsonl"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert {answer["label"] for answer in answers} == {"Animal", "Cat"}
    assert run(["evaluate", folder, str(path), "--label-sep", ";", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["micro_f1"] > 0.9


def test_evaluate_prints_every_metric(
    text_model: str, pets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", text_model, str(pets), "--sep", "/", "--by-chapter"]) == 0
    out = capsys.readouterr().out
    for name in ("accuracy", "micro F1", "macro F1", "hierarchical precision", "tree loss", "LCA F1"):
        assert name in out
    assert re.search(r"Animal +6 +1\.0000 +1\.0000", out)


def test_evaluate_json_agrees_and_at_least_decides_the_exit_code(
    text_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pet_rows(8, seed=3)
    wrong = [(rows[0][0], rows[1][1]), *rows[1:]]
    path = write_json(tmp_path / "rows.jsonl", wrong)
    assert run(["evaluate", text_model, str(path), "--sep", "/", "--json", "--at-least", "0.9"]) == 1
    scores = json.loads(capsys.readouterr().out)
    assert scores["accuracy"] == pytest.approx(7 / 8)
    assert scores["hierarchical_f1"] == pytest.approx(15 / 16)


def test_inspect_shows_the_model(text_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", text_model]) == 0
    out = capsys.readouterr().out
    for part in ("OneVsRestSVM", "certificate", "provenance", "taxolearn: ", "└── Rose", "classes: 4"):
        assert part in out
    assert run(["inspect", text_model, "--depth", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["certificate"]["status"] == "converged"


def test_inspect_shows_the_strongest_words_of_a_node(
    text_model: str, svm_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", text_model, "--node", "Cat", "--words", "3", "--json"]) == 0
    words = [entry["feature"] for entry in json.loads(capsys.readouterr().out)]
    assert len(words) == 3
    assert {"meow", "purr", "whiskers"} & set(words)
    assert run(["inspect", text_model, "--node", "Animal"]) == 0
    assert "mean weights of the 2 classes" in capsys.readouterr().out
    assert run(["inspect", svm_model, "--node", "Cat"]) == 0
    assert "feature " in capsys.readouterr().out


def test_explain_adds_up(text_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", text_model, "meow and fur", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["path"] == ["Animal", "Cat"]
    for node in found["nodes"]:
        assert sum(entry["value"] for entry in node["words"]) == pytest.approx(node["score"], abs=1e-6)
    assert run(["explain", text_model, "meow and fur"]) == 0
    assert "meow +" in capsys.readouterr().out


FORMATS = {"libsvm": "rows.svm", "lshtc": "rows.txt", "xmc": "rows.xmc", "arff": "rows.arff"}


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_convert_between_formats_of_features(source: str, target: str, tmp_path: Path) -> None:
    first = write_svm(tmp_path / "first.svm", pet_rows(8))
    edges = tmp_path / "edges.txt"
    edges.write_text("root Animal\nroot Plant\nAnimal Cat\nAnimal Dog\nPlant Oak\nPlant Rose\n")
    names, more_names = str(tmp_path / "names"), str(tmp_path / "more-names")
    start, middle, end = (str(tmp_path / f"{step}-{FORMATS[kind]}") for step, kind in
                          (("a", source), ("b", target), ("c", "libsvm")))  # fmt: skip
    tree = ["--taxonomy", str(edges)]

    def naming(kind: str, option: str, path: str) -> list[str]:
        return [option, path] if kind == "xmc" else []

    assert (
        run(["convert", str(first), start, "--to", source, *tree, *naming(source, "--names-output", names)])
        == 0
    )
    options = [*naming(source, "--names", names), *naming(target, "--names-output", more_names)]
    assert run(["convert", start, middle, "--from", source, "--to", target, *tree, *options]) == 0
    assert run(["convert", middle, end, "--from", target, *tree, *naming(target, "--names", more_names)]) == 0
    before, after = taxolearn.datasets.read_libsvm(first), taxolearn.datasets.read_libsvm(end)
    assert before.y == after.y
    assert (before.X != after.X).nnz == 0


def test_convert_between_formats_of_texts(tmp_path: Path) -> None:
    levels = write_levels(tmp_path / "rows.csv", pet_rows(8))
    lines, edges, back = tmp_path / "rows.jsonl.gz", tmp_path / "edges.tsv", tmp_path / "back.csv"
    assert run(["convert", str(levels), str(lines), "--taxonomy-output", str(edges)]) == 0
    assert run(["convert", str(lines), str(back), "--taxonomy", str(edges)]) == 0
    read = taxolearn.datasets.read_level_table
    assert read(back).texts == read(levels).texts
    assert read(back).y == read(levels).y


@pytest.mark.parametrize("method", ["graph", "graph-logistic"])
def test_a_graph_of_classes_ties_neighbours(
    method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    y = ["1", "2", "3"] * 10
    X = rng.normal(size=(30, 4)) + np.eye(4)[[int(name) for name in y]]
    rows, graph = tmp_path / "rows.svm", tmp_path / "graph.tsv"
    lines = (" ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(row)) for row in X)
    rows.write_text("".join(f"{name} {line}\n" for name, line in zip(y, lines, strict=True)))
    graph.write_text("1\t2\t50\n3\n")
    common = ["fit", str(rows), "--format", "libsvm", "-m", method, "--tol", "1e-3"]
    assert run([*common, "-o", str(tmp_path / "tied"), "--graph", str(graph)]) == 0
    assert run([*common, "-o", str(tmp_path / "loose")]) == 0
    tied, loose = (taxolearn.load(tmp_path / name) for name in ("tied", "loose"))
    assert tied.graph.edges == (("1", "2", 50.0),)

    def apart(model: Any) -> float:
        return float(np.linalg.norm(model.coef_[0] - model.coef_[1]))

    assert apart(tied) < 0.7 * apart(loose)
    capsys.readouterr()
    assert (
        run(["fit", str(rows), "--format", "libsvm", "-o", str(tmp_path / "m"), "--graph", str(graph)]) == 2
    )
    assert "auto takes no graph of classes" in capsys.readouterr().err
    graph.write_text("1\t2\t3\t4\n")
    assert run([*common, "-o", str(tmp_path / "m"), "--graph", str(graph)]) == 2
    assert "graph.tsv:1: expected one or two names" in capsys.readouterr().err


def test_probabilities_are_those_of_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    y = np.array(["1", "2", "3"] * 20)
    X = rng.normal(size=(60, 3)) + 2.0 * np.eye(3)[[int(name) - 1 for name in y]]
    model = taxolearn.OneVsRestSVM(probability=True, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    lines = (" ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row)) for row in X[:7])
    (tmp_path / "rows.svm").write_text("".join(f"0 {line}\n" for line in lines))
    capsys.readouterr()
    arguments = ["--format", "libsvm", "--to", "jsonl", "--top-k", "3"]
    assert run(["predict", str(tmp_path / "model"), str(tmp_path / "rows.svm"), *arguments]) == 0
    answers = [json.loads(line)["answers"] for line in capsys.readouterr().out.splitlines()]
    expected = model.predict_proba(X[:7])
    for row, found in zip(expected, answers, strict=True):
        by_name = dict(zip(model.classes_.tolist(), row.tolist(), strict=True))
        assert {one["label"]: one["probability"] for one in found} == pytest.approx(by_name, rel=1e-5)


def test_without_a_method_one_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_csv(tmp_path / "train.csv", pet_rows(16))
    folder = str(tmp_path / "model")
    assert run(["fit", str(rows), "--sep", "/", "-o", folder, *FIT_OPTIONS]) == 0
    assert "<- chosen" in capsys.readouterr().err
    assert type(taxolearn.load(folder).estimator_).__name__ == "TaxonomyClassifier"
    assert run(["predict", folder, "-s", "meow purr", "--to", "jsonl"]) == 0
    answer = json.loads(capsys.readouterr().out)["answers"][0]
    assert answer["path"][-1] == "Cat"
    assert 0.0 < answer["probability"] <= 1.0
