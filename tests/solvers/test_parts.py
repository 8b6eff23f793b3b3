"""Sums of objectives: duals split and joined, and vectors kept sparse where parts have features of their own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import taxolearn
from taxolearn import Taxonomy, TopDownSVM
from taxolearn.losses import Hinge
from taxolearn.objective import Objective, Parts
from taxolearn.problem import make_problem
from taxolearn.ties import flat


def test_duals_are_split_and_joined() -> None:
    rng = np.random.default_rng(0)
    problem = make_problem(rng.normal(size=(9, 2)), list("abc") * 3)
    rows = (np.array([5, 0, 7]), np.arange(9), np.zeros(0, dtype=np.intp))
    units = (np.array([4, 1]), np.array([0, 3, 2]), np.array([5]))
    part = Objective(problem, Hinge(), flat(3))
    parts = Parts(problem, (part,) * 3, rows, units, 6)
    dual = sp.csr_array(sp.random_array((6, 9), density=0.5, rng=rng))
    split = parts.split(dual)
    for found, own_units, own_rows in zip(split, units, rows, strict=True):
        np.testing.assert_array_equal(found.toarray(), dual.toarray()[np.ix_(own_units, own_rows)])
    inside = np.zeros((6, 9), dtype=bool)
    for own_units, own_rows in zip(units, rows, strict=True):
        inside[np.ix_(own_units, own_rows)] = True
    np.testing.assert_array_equal(parts.join(split).toarray(), np.where(inside, dual.toarray(), 0.0))


def test_vectors_on_features_of_their_own_are_kept_sparse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Taxonomy.from_paths([f"r/n{k}/{name}{k}" for k in range(12) for name in "ab"])
    rng = np.random.default_rng(0)
    y = [f"{name}{k}" for k in range(12) for name in "ab"] * 3
    X = np.zeros((len(y), 12 * 30))
    for row, label in zip(X, y, strict=True):  # thirty features for each pair of leaves
        first = 30 * int(label[1:])
        row[first : first + 30] = rng.normal(size=30) + (label[0] == "a")
    X = sp.csr_array(X)
    model = TopDownSVM(tree, random_state=0).fit(X, y)
    assert not model.vectors_.is_sparse  # the root sees all features
    monkeypatch.setattr(import_module("taxolearn.solvers.solve"), "_SPARSE", 0.9)
    sparse = TopDownSVM(tree, random_state=0).fit(X, y)
    assert sparse.vectors_.is_sparse
    np.testing.assert_array_equal(sparse.vectors_.coef.toarray(), model.vectors_.coef)
    np.testing.assert_array_equal(sparse.predict(X), model.predict(X))
    for one, other in zip(sparse.top_k(X, 3), model.top_k(X, 3), strict=True):
        np.testing.assert_array_equal(one, other)
    assert sparse.explain(X[:1]).to_text() == model.explain(X[:1]).to_text()
    sparse.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), sparse.decision_function(X))


@pytest.mark.parametrize("n_rows", [3, 60])
def test_features_that_no_row_has_are_left_out(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    X = np.zeros((n_rows, 50))
    X[:, ::4] = rng.normal(size=(n_rows, 13)) * (rng.random((n_rows, 13)) < 0.7)
    X[0, 0] = 1.0
    problem = make_problem(sp.csr_array(X), ["a", "b", "b"] * (n_rows // 3))
    few, features = problem.compacted()
    assert features is not None
    np.testing.assert_array_equal(features, np.flatnonzero(X.any(axis=0)))
    np.testing.assert_array_equal(few.X.toarray(), X[:, features])
