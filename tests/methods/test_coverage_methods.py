"""`calibrate` and `predict(coverage=)` of the estimators: one contract for all answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import taxolearn
from taxolearn import (
    MulticlassSVM,
    OneVsRestLogistic,
    OneVsRestSVM,
    Taxonomy,
    TaxonomyClassifier,
    TextClassifier,
    TopDownSVM,
)
from taxolearn.cli.app import run
from taxolearn.errors import ModelError
from taxolearn.storage.classifiers import pack_classifier, unpack_classifier
from taxolearn.text import TextFeatures

TREE = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog/fox", "all/dog/wolf", "all/oak"])
LEAVES = ["lion", "lynx", "fox", "wolf", "oak"]


def rows(n: int, seed: int, spread: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [1.0, 0.5], [4.0, 0.0], [5.0, 0.5], [2.0, 4.0]])
    y = rng.integers(0, 5, n)
    return centres[y] + spread * rng.normal(size=(n, 2)), np.array(LEAVES)[y]


X, Y = rows(60, 0)
X_HELD, Y_HELD = rows(120, 1)
X_NEW, Y_NEW = rows(40, 2)


def covered(names: Any, y: Any) -> float:
    return float(
        np.mean(
            [name in TREE.ancestors(label, include_self=True) for name, label in zip(names, y, strict=True)]
        )
    )


@pytest.mark.parametrize(
    "estimator",
    [
        OneVsRestLogistic(TREE),
        OneVsRestSVM(TREE, probability=True, random_state=0),
        MulticlassSVM(TREE),
        TaxonomyClassifier(TREE, random_state=0),
    ],
    ids=["likelihood", "calibrated", "scores alone", "chosen"],
)
def test_all_answers_agree(estimator: Any, tmp_path: Path, capsys: Any) -> None:
    model = estimator.fit(X, Y).calibrate(X_HELD, Y_HELD)
    found = model.predict(X_NEW, coverage=0.8).tolist()
    best = model.predict(X_NEW).tolist()
    assert all(a in TREE.ancestors(b, include_self=True) for a, b in zip(found, best, strict=True))
    assert len({TREE.depth[TREE.id_of(name)] for name in found}) > 1  # some rows stop, some do not
    assert [path[-1] for path in model.predict_path(X_NEW, coverage=0.8)] == found
    assert model.predict(sp.csr_array(X_NEW), coverage=0.8).tolist() == found
    assert [model.explain(x, coverage=0.8).stop.answer for x in X_NEW[:10]] == found[:10]
    sets = model.predict(X_NEW, coverage=0.8, max_nodes=2)
    assert model.predict(X_NEW, coverage=0.8, max_nodes=1) == [[name] for name in found]
    assert max(map(len, sets)) == 2
    asked: list[dict[str, Any]] = [
        {"coverage": 0.8}, {"risk": 0.3}, {"coverage": 0.8, "by": "chapter"}, {"coverage": 0.8, "max_nodes": 2}
    ]  # fmt: skip
    model.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    lines = "".join(f"0 1:{float(a)!r} 2:{float(b)!r}\n" for a, b in X_NEW)
    (tmp_path / "rows.svm").write_text(lines)
    for one in asked:
        told = model.stops(X_NEW, **one)
        again = loaded.stops(X_NEW, **one)
        assert told.names.tolist() == again.names.tolist()
        assert told.depth.tolist() == again.depth.tolist()
        options = [
            part for name, value in one.items() for part in (f"--{name.replace('_', '-')}", str(value))
        ]
        assert (
            run(["predict", str(tmp_path / "model"), str(tmp_path / "rows.svm"), "--to", "jsonl", *options])
            == 0
        )
        printed = capsys.readouterr()
        answers = [json.loads(line)["answers"] for line in printed.out.splitlines()]
        assert [[a["label"] for a in row] for row in answers] == [
            [name for name in row if name is not None] for row in told.names.tolist()
        ]
        assert f"mean depth {told.depth.mean():.2f}" in printed.err


def test_a_promise_is_kept_on_many_rows() -> None:
    """Not exact: 2,000 rows on either side, and a tolerance of four standard errors."""
    model = OneVsRestLogistic(TREE).fit(X, Y).calibrate(*rows(2000, 3))
    X_many, y_many = rows(2000, 4)
    assert abs(covered(model.predict(X_many, coverage=0.9).tolist(), y_many) - 0.9) < 4 * 0.0095
    for chapter in ("cat", "dog", "oak"):
        mine = np.array([chapter in TREE.ancestors(label, include_self=True) for label in y_many])
        found = model.predict(X_many[mine], coverage=0.9, by="chapter").tolist()
        assert covered(found, y_many[mine]) > 0.9 - 4 * 0.017


def test_labels_that_the_model_never_learned_and_inner_ones() -> None:
    known = Y != "wolf"
    model = OneVsRestLogistic(TREE).fit(X[known], Y[known])
    labels = np.where(Y_HELD == "lynx", "cat", Y_HELD)  # and some are known to be cats only
    model.calibrate(X_HELD, labels)
    assert covered(model.predict(X_HELD, coverage=0.8).tolist(), labels) >= 0.8


def test_rows_held_out_by_fit() -> None:
    model = OneVsRestSVM(TREE, coverage_holdout=0.5, random_state=0).fit(X, Y)
    assert model.data_["rows"] == 30
    assert model.coverage_.n_rows == 24  # a fifth of the 30 went into the slope
    assert model.predict(X_NEW, coverage=0.8).shape == (40,)
    assert OneVsRestSVM(TREE).fit(X, Y).coverage_ is None
    model.set_params(coverage_holdout=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="not calibrated"):
        model.predict(X_NEW, coverage=0.8)


def test_rows_held_out_before_a_method_is_chosen() -> None:
    model = TaxonomyClassifier(TREE, coverage_holdout=0.5, random_state=0).fit(X, Y)
    assert model.data_["rows"] == 30
    assert model.coverage_.n_rows == 30  # it has probabilities: none goes into a slope
    assert model.trials_.n_held_out <= 30
    assert model.predict(X_NEW, coverage=0.8).shape == (40,)
    assert model.set_params(coverage_holdout=0.0).fit(X, Y).coverage_ is None


def test_a_new_calibration_replaces_the_last() -> None:
    model = OneVsRestLogistic(TREE).fit(X, Y).calibrate(X_HELD, Y_HELD)
    before = model.stops(X_NEW, coverage=0.9).depth.mean()
    wide = rows(120, 5, spread=3.0)
    after = model.calibrate(*wide).stops(X_NEW, coverage=0.9).depth.mean()
    assert after < before


def test_rows_unlike_all_others_get_the_root_and_it_says_so() -> None:
    model = OneVsRestLogistic(TREE).fit(X, Y).calibrate(*rows(120, 1, spread=0.1))
    between = np.array([[2.5, 1.5]])  # the calibration rows are all near a centre
    stops = model.stops(between, coverage=0.5)
    assert stops.unlike.tolist() == [True]
    assert stops.names.tolist() == [["all"]]
    assert "scores lower than all calibration rows" in model.explain(between[0], coverage=0.5).to_text()
    low = model.coverage_.least_score
    assert not model.coverage_.unlike(np.array([low])).any()
    assert model.coverage_.unlike(np.array([low - 1.0])).all()


@pytest.mark.parametrize("name", ["labels", "misses", "doubt", "losses", "numbers"])
def test_a_damaged_calibration_is_refused(name: str) -> None:
    model = OneVsRestLogistic(TREE).fit(X, Y).calibrate(X_HELD, Y_HELD)
    header, arrays = pack_classifier(model)
    del arrays[f"coverage/{name}"]
    with pytest.raises(ModelError, match="stored coverage"):
        unpack_classifier(OneVsRestLogistic, header, arrays)
    header, arrays = pack_classifier(model)
    whole = arrays[f"coverage/{name}"]
    arrays[f"coverage/{name}"] = np.full_like(whole, -1) if name == "labels" else whole * np.nan
    with pytest.raises(ModelError, match="stored coverage"):
        unpack_classifier(OneVsRestLogistic, header, arrays)


def test_what_cannot_be_calibrated() -> None:
    several = OneVsRestSVM(TREE).fit(X, [[label] for label in Y])
    with pytest.raises(ValueError, match="one label per row; this one answers with sets"):
        several.calibrate(X_HELD, Y_HELD)
    with pytest.raises(ValueError, match="one label per row"):
        OneVsRestSVM(TREE, coverage_holdout=0.5).fit(X, [[label] for label in Y])
    flat = OneVsRestSVM().fit(X, Y)
    with pytest.raises(ValueError, match="without a taxonomy there is no node to stop at"):
        flat.calibrate(X_HELD, Y_HELD)
    model = OneVsRestLogistic(TREE).fit(X, Y)
    with pytest.raises(ValueError, match="not calibrated"):
        model.predict(X_NEW, coverage=0.9)
    with pytest.raises(ValueError, match="row 0: a row has one label"):
        model.calibrate(X_HELD[:2], [["lion", "fox"], ["oak"]])
    with pytest.raises(ValueError, match="X has 120 rows, but y has 3"):
        model.calibrate(X_HELD, Y_HELD[:3])
    model.calibrate(X_HELD, Y_HELD, max_nodes=1)
    with pytest.raises(ValueError, match="max_nodes=2 is more than the 1"):
        model.predict(X_NEW, coverage=0.9, max_nodes=2)
    with pytest.warns(UserWarning, match="needs 999 calibration rows"):
        assert set(model.predict(X_NEW, coverage=0.999).tolist()) == {"all"}


def test_texts_and_the_command(tmp_path: Path, capsys: Any) -> None:
    words = {"all/cat/lion": "mane roar", "all/cat/lynx": "ears roar", "all/oak": "leaf acorn"}
    rng = np.random.default_rng(0)

    def write(name: str, n: int) -> tuple[list[str], list[str]]:
        labels = rng.choice(list(words), n).tolist()
        texts = [
            " ".join(rng.choice((words[label] + " " + words[other]).split(), 2))
            for label, other in zip(labels, rng.choice(list(words), n), strict=True)
        ]
        lines = [f"{text},{label}" for text, label in zip(texts, labels, strict=True)]
        (tmp_path / name).write_text("\n".join(["text,label", *lines]) + "\n")
        return texts, labels

    model = TextClassifier(OneVsRestSVM(), TextFeatures()).fit(*write("train.csv", 60))
    texts, labels = write("held.csv", 100)
    folder = str(tmp_path / "model")
    model.save(folder)
    new, _ = write("new.csv", 30)
    assert run(["predict", folder, str(tmp_path / "new.csv"), "--coverage", "0.9"]) == 2
    assert "taxolearn calibrate" in capsys.readouterr().err
    assert run(["calibrate", folder, str(tmp_path / "held.csv")]) == 0
    assert "80 calibration rows are kept" in capsys.readouterr().out
    model.calibrate(texts, labels)
    loaded = taxolearn.load(folder)
    assert loaded.predict(new, coverage=0.9).tolist() == model.predict(new, coverage=0.9).tolist()
    stop = model.explain(new[0], coverage=0.9).stop
    assert stop.answer == model.predict(new[:1], coverage=0.9)[0]
    assert run(["explain", folder, new[0], "--coverage", "0.9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stop"]["answer"] == stop.answer
    assert run(["evaluate", folder, str(tmp_path / "held.csv"), "--coverage", "0.8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["stopping"]
    assert told["covered"] >= 0.7
    assert told["mean_depth"] == pytest.approx(model.stops(texts, coverage=0.8).depth.mean())
    assert run(["predict", folder, str(tmp_path / "new.csv"), "--coverage", "2"]) == 2
    assert run(["predict", folder, str(tmp_path / "new.csv"), "--coverage", "0.9", "--top-k", "2"]) == 2


def test_inner_classes_and_node_by_node_models() -> None:
    y = np.where(Y == "lynx", "cat", Y)
    model = TopDownSVM(TREE).fit(X, y).calibrate(X_HELD, np.where(Y_HELD == "lynx", "cat", Y_HELD))
    found = model.predict(X_NEW, coverage=0.8).tolist()
    best = model.predict(X_NEW).tolist()
    assert all(a in TREE.ancestors(b, include_self=True) for a, b in zip(found, best, strict=True))
