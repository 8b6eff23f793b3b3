"""A model that was saved and loaded answers exactly as before."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import taxolearn
from taxolearn import OneVsRestLogistic, OneVsRestSVM, Taxonomy
from taxolearn.errors import ModelError
from taxolearn.solvers import one_vs_rest

pytestmark = pytest.mark.filterwarnings("ignore::taxolearn.errors.EmptyClassWarning")

rng = np.random.default_rng(0)
X = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]] * 10) + rng.normal(size=(30, 3))
NAMES = ["cat", "dog", "rose"] * 10
TREE = Taxonomy.from_edges([("all", "animal"), ("animal", "cat"), ("animal", "dog"), ("all", "rose")])
GRAPH = Taxonomy.from_edges(
    [("all", "a"), ("all", "b"), ("a", "cat"), ("b", "cat"), ("b", "dog"), ("a", "rose")]
)
ODD_TREE = Taxonomy.from_edges([("top", ("a", 1)), ("top", 7), ("top", 2.5), ("top", "7"), ("top", b"x")])
SETS = [["cat", "animal"], ["dog"], ["rose", "cat"]] * 10
INDICATOR = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]] * 10)
NODES = np.eye(TREE.n_nodes, dtype=np.int8)[np.arange(30) % TREE.n_nodes]

CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "names": (X, NAMES, {}),
    "names and tree": (X, NAMES, {"taxonomy": TREE}),
    "names and graph": (X, NAMES, {"taxonomy": GRAPH}),
    "inner nodes": (X, ["cat", "animal", "all"] * 10, {"taxonomy": TREE}),
    "two classes": (X[:20], ["yes", "no"] * 10, {}),
    "object names": (X, np.array(NAMES, dtype=object), {}),
    "whole numbers": (X, np.array([3, -1, 2**40] * 10), {}),
    "small numbers": (X, np.array([3, 1, 2] * 10, dtype=np.uint8), {}),
    "floats": (X, np.array([0.0, 1.0, 5.0] * 10), {}),
    "truth values": (X[:20], [True, False] * 10, {}),
    "names of many types": (X, [("a", 1), 7, "7"] * 10, {"taxonomy": ODD_TREE}),
    "more types": (X, [b"x", 2.5, ("a", 1)] * 10, {"taxonomy": ODD_TREE}),
    "lists": (X, SETS, {}),
    "lists and tree": (X, SETS, {"taxonomy": TREE}),
    "tuned": (X, SETS, {"thresholds": "tuned", "random_state": 0}),
    "indicator": (X, INDICATOR, {}),
    "sparse indicator": (X, sp.csr_array(INDICATOR.astype(bool)), {}),
    "indicator and tree": (X, NODES, {"taxonomy": TREE}),
    "sparse indicator and tree": (X, sp.csr_matrix(NODES), {"taxonomy": TREE, "thresholds": "tuned"}),
    "level table": (X, pd.DataFrame({"a": ["x", "x", "y"] * 10, "b": ["u", "v", None] * 10}), {}),
    "calibrated": (X, NAMES, {"probability": True, "random_state": 0}),
    "calibrated lists": (
        X,
        SETS,
        {"probability": True, "thresholds": "tuned", "taxonomy": TREE, "random_state": 1},
    ),
    "feature names": (pd.DataFrame(X, columns=["a", "ß", "c c"]), NAMES, {}),
    "sparse rows": (sp.csr_array(X), NAMES, {"class_weight": "balanced", "C": 2}),
    "class weights": (X, NAMES, {"class_weight": {"cat": 2.0, "dog": 1}, "max_seconds": 60.0, "n_jobs": 1}),
    "numpy parameters": (
        X,
        NAMES,
        {"C": np.float64(0.5), "max_iter": np.int64(500), "tol": np.float32(1e-3)},
    ),
}


def assert_same_answers(before: Any, after: Any, rows: Any) -> None:
    assert type(after) is type(before)
    assert np.array_equal(before.decision_function(rows), after.decision_function(rows))
    first, second = before.predict(rows), after.predict(rows)
    assert type(second) is type(first)
    if sp.issparse(first):
        assert (first != second).nnz == 0
        assert first.dtype == second.dtype
    elif isinstance(first, np.ndarray):
        assert first.dtype == second.dtype
        assert first.tolist() == second.tolist()
    else:
        assert first == second
    assert before.predict_path(rows) == after.predict_path(rows)
    k = min(2, len(before.classes_))
    assert before.top_k(rows, k)[0].tolist() == after.top_k(rows, k)[0].tolist()
    assert [type(name) for name in before.classes_.tolist()] == [
        type(name) for name in after.classes_.tolist()
    ]
    if hasattr(before, "predict_proba"):
        assert np.array_equal(before.predict_proba(rows), after.predict_proba(rows))
    for part in ("primal", "dual", "gap", "status"):
        assert getattr(before.certificate_, part) == getattr(after.certificate_, part)
    assert before.n_iter_ == after.n_iter_
    assert before.n_features_in_ == after.n_features_in_
    mine, other = before.get_params(), after.get_params()
    assert mine == other


@pytest.mark.parametrize("case", CASES)
def test_round_trip(case: str, tmp_path: Path) -> None:
    rows, y, options = CASES[case]
    model = OneVsRestSVM(**options).fit(rows, y)
    model.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    assert_same_answers(model, loaded, rows)
    assert loaded.score(rows, y) == model.score(rows, y)
    if case == "feature names":
        assert loaded.feature_names_in_.tolist() == ["a", "ß", "c c"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded.predict(rows)
    # what was loaded can be saved again, and be fitted again
    loaded.save(tmp_path / "again")
    assert_same_answers(model, taxolearn.load(tmp_path / "again"), rows)
    loaded.fit(rows, y)


@pytest.mark.parametrize("case", ["names", "lists and tree", "indicator", "two classes"])
def test_round_trip_of_the_logistic_model(case: str, tmp_path: Path) -> None:
    rows, y, options = CASES[case]
    model = OneVsRestLogistic(**options).fit(rows, y)
    model.save(tmp_path)
    assert_same_answers(model, taxolearn.load(tmp_path), rows)


def test_round_trip_of_sparse_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_vs_rest, "_DENSE_BYTES", 0)
    wide = sp.csr_array(np.hstack([X, np.zeros((30, 40))]))
    model = OneVsRestSVM(TREE).fit(wide, NAMES)
    assert model.vectors_.is_sparse
    model.save(tmp_path)
    loaded = taxolearn.load(tmp_path)
    assert loaded.vectors_.is_sparse
    assert_same_answers(model, loaded, wide)
    assert_same_answers(model, loaded, wide.toarray())


def test_class_weights_with_keys_of_any_type(tmp_path: Path) -> None:
    model = OneVsRestSVM(class_weight={3: 2.0, 1: 1.0}).fit(X, [3, 1, 2] * 10)
    model.save(tmp_path)
    assert_same_answers(model, taxolearn.load(tmp_path), X)


def test_a_newer_model_replaces_the_older_one(tmp_path: Path) -> None:
    OneVsRestSVM().fit(X, NAMES).save(tmp_path)
    newer = OneVsRestLogistic(TREE).fit(X, NAMES)
    newer.save(tmp_path)
    assert_same_answers(newer, taxolearn.load(tmp_path), X)


def test_an_unfitted_model_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="this OneVsRestSVM is not fitted yet; call fit before save"):
        OneVsRestSVM().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("rubbish", ["missing", "empty", "file", "text", "half", "other file"])
def test_rubbish_is_a_model_error(rubbish: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    if rubbish == "file":
        folder.write_text("{}")
    elif rubbish != "missing":
        folder.mkdir()
    if rubbish in ("half", "text"):
        OneVsRestSVM().fit(X, NAMES).save(folder)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                path.write_bytes(
                    b"rubbish" if rubbish == "text" else path.read_bytes()[: path.stat().st_size // 2]
                )
    if rubbish == "other file":
        (folder / "model.pkl").write_bytes(b"\x80\x04")
    with pytest.raises(ModelError) as caught:
        taxolearn.load(folder)
    assert "\n" not in str(caught.value)


def test_a_random_state_object_is_told_apart(tmp_path: Path) -> None:
    model = OneVsRestSVM(random_state=np.random.RandomState(0)).fit(X, NAMES)
    with pytest.raises(ModelError, match="random_state"):
        model.save(tmp_path / "model")
