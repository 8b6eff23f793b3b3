"""Estimators with weights at the nodes: beam search through every way of predicting, and models that stay on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import taxolearn
from taxolearn import HierarchicalSVM, OneVsRestSVM, RecursiveSVM, Taxonomy, TextClassifier
from taxolearn.errors import DataError, ModelError
from taxolearn.solvers import tree_vectors
from taxolearn.storage import packing
from taxolearn.text import TextFeatures
from taxolearn.vectors import DualVectors, NodeVectors, node_vectors, path_vectors

TREE = Taxonomy.from_edges(
    [
        ("all", "a"),
        ("all", "b"),
        ("a", "a1"),
        ("a", "a2"),
        ("a2", "a3"),
        ("a2", "a4"),
        ("b", "b1"),
        ("b", "b2"),
    ]
)
NAMES = ["a1", "a3", "a4", "b1", "b2", "a2"] * 5  # a2 is an inner node
SETS = [["a1", "b2"], ["a3"], ["a4", "a2"], ["b1"], ["b2"], ["a2"]] * 5
rng = np.random.default_rng(0)
X = sp.csr_array(np.vstack([np.eye(6)] * 5) * 2 + rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.5))


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_vectors, "_DENSE_BYTES", 0)
    for module in (path_vectors, packing, node_vectors):
        monkeypatch.setattr(module, "WALK_FROM", 0)


def fitted(y: Any = NAMES, **parameters: Any) -> RecursiveSVM:
    return RecursiveSVM(TREE, random_state=0, **parameters).fit(X, y)


def indicator() -> Any:
    found = np.zeros((30, TREE.n_nodes), dtype=np.int8)
    for row, names in enumerate(SETS):
        found[row, TREE.ids_of(names)] = 1
    return found


def as_list(answer: Any) -> Any:
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


@pytest.mark.parametrize("kept_as", [NodeVectors, DualVectors])
@pytest.mark.parametrize("y", [NAMES, SETS, indicator()], ids=["names", "sets", "indicator"])
def test_a_wide_beam_predicts_the_same(kept_as: type, y: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_vectors, "_SPARSE_BYTES", 2**30 if kept_as is NodeVectors else 0)
    model = fitted(y)
    assert isinstance(model.vectors_, kept_as)
    assert as_list(model.predict(X, beam=9)) == as_list(model.predict(X))
    assert model.predict_path(X, beam=9) == model.predict_path(X)
    for found, expected in zip(model.top_k(X, 4, beam=9), model.top_k(X, 4), strict=True):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("y", [NAMES, [[name] for name in NAMES]], ids=["names", "sets"])
def test_structured_methods_take_a_beam(y: Any) -> None:
    model = HierarchicalSVM(TREE, random_state=0).fit(X, y)
    assert as_list(model.predict(X, beam=9)) == as_list(model.predict(X))


def test_texts_take_a_beam() -> None:
    texts = [f"word{number} word{number % 2}" for number in range(6)] * 5
    model = TextClassifier(RecursiveSVM(TREE, random_state=0), TextFeatures()).fit(texts, NAMES)
    assert model.predict(texts, beam=9).tolist() == model.predict(texts).tolist()
    assert model.predict_path(texts, beam=9) == model.predict_path(texts)
    assert model.top_k(texts, 2, beam=9)[0].tolist() == model.top_k(texts, 2)[0].tolist()


def test_a_flat_method_says_that_it_cannot() -> None:
    model = OneVsRestSVM().fit(X, NAMES)
    with pytest.raises(DataError, match="beam search needs weights at the nodes of a taxonomy"):
        model.predict(X, beam=3)


@pytest.mark.parametrize("kept_as", [NodeVectors, DualVectors])
def test_a_mapped_model_predicts_the_same(
    kept_as: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_vectors, "_SPARSE_BYTES", 2**30 if kept_as is NodeVectors else 0)
    model = fitted()
    model.save(tmp_path / "model")
    full = taxolearn.load(tmp_path / "model")
    mapped = taxolearn.load(tmp_path / "model", verify="sizes")
    for loaded in (full, mapped):
        assert loaded.vectors_.is_sparse
        assert isinstance(loaded.vectors_, NodeVectors)
        for beam in (None, 2):
            names, scores = loaded.top_k(X, 3, beam=beam)
            expected, exact = model.top_k(X, 3, beam=beam)
            assert names.tolist() == expected.tolist()
            np.testing.assert_allclose(scores, exact, rtol=1e-5, atol=1e-6)
    assert full.decision_function(X).tolist() == mapped.decision_function(X).tolist()
    assert full.coef_.toarray().tolist() == mapped.coef_.toarray().tolist()
    assert full.explain(X[[0]]).to_dict() == mapped.explain(X[[0]]).to_dict()


def test_a_mapped_model_cannot_be_written_to_and_can_be_saved_over_itself(tmp_path: Path) -> None:
    fitted().save(tmp_path)
    model = taxolearn.load(tmp_path, verify="sizes")
    expected = model.decision_function(X).tolist()
    nodes = model.vectors_.nodes
    for array in (nodes.data, nodes.indices):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    before = sorted(path.name for path in tmp_path.iterdir())
    model.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    again = taxolearn.load(tmp_path)
    assert model.decision_function(X).tolist() == again.decision_function(X).tolist() == expected
    # Another model takes the folder: what is mapped stays as it was.
    fitted(C=0.01).save(tmp_path)
    assert model.decision_function(X).tolist() == expected
    assert taxolearn.load(tmp_path).decision_function(X).tolist() != expected


def test_sizes_leave_the_contents_unread(tmp_path: Path) -> None:
    fitted().save(tmp_path)
    [file] = tmp_path.glob("arrays-*")
    raw = bytearray(file.read_bytes())
    data = fitted().vectors_.nodes.data
    at = raw.index(data.tobytes())
    raw[at : at + 4] = np.float32(data[0] + 1).tobytes()
    file.write_bytes(raw)
    with pytest.raises(ModelError, match="was altered"):
        taxolearn.load(tmp_path)
    assert taxolearn.load(tmp_path, verify="sizes").vectors_.nodes.data[0] == np.float32(data[0] + 1)
    file.write_bytes(raw[:-1])
    with pytest.raises(ModelError, match="truncated or altered"):
        taxolearn.load(tmp_path, verify="sizes")
    with pytest.raises(ModelError, match="verify='none' is not known; choose 'full' or 'sizes'"):
        taxolearn.load(tmp_path, verify="none")  # type: ignore[arg-type]
