"""Columns without entries change nothing, and nothing is spent on them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import ClassGraph, OneVsRestSVM, RecursiveSVM, Taxonomy, load
from taxolearn.registry import METHODS, Method
from taxolearn.vectors import ClassVectors, DualVectors, NodeVectors, widened

TREE = Taxonomy.from_paths(["r/a/b", "r/a/c", "r/d/e", "r/d/f"])
LEAVES = ("b", "c", "e", "f")
WIDE = 4000
# HBLR estimates a variance from all of a node's weights: further columns are further weights
CASES = [method for method in METHODS if method.name != "bayesian"]


def narrow_and_wide() -> tuple[Any, Any, list[str]]:
    """The same entries in 12 columns, and among 4,000."""
    rng = np.random.default_rng(0)
    entries = rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.5) + np.eye(12)[np.arange(40) % 4 * 3]
    few = sp.csr_array(entries)
    columns = np.sort(rng.choice(WIDE, 12, replace=False)).astype(np.int32)
    many = sp.csr_array((few.data, columns[few.indices], few.indptr), shape=(40, WIDE))
    return few, many, [LEAVES[k % 4] for k in range(40)]


def made(method: Method, **options: Any) -> Any:
    if method.class_name.startswith("Graph"):
        return method.kind(
            ClassGraph.from_edges([("b", "c"), ("e", "f")]), taxonomy=TREE, random_state=0, **options
        )
    if method.class_name == "CovarianceSVM":
        return method.kind(TREE, covariance=np.eye(4) + 0.2, random_state=0, **options)
    return method.kind(TREE, random_state=0, **options)


@pytest.mark.parametrize("method", CASES, ids=lambda method: method.name)
def test_the_model_is_the_same_to_the_last_digit(method: Method, tmp_path: Any) -> None:
    few, many, y = narrow_and_wide()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        narrow, wide = made(method).fit(few, y), made(method).fit(many, y)
    assert wide.n_features_in_ == wide.vectors_.n_features == WIDE
    assert np.array_equal(wide.decision_function(many), narrow.decision_function(few))
    assert wide.certificate_.primal == narrow.certificate_.primal
    assert wide.certificate_.dual == narrow.certificate_.dual
    wide.save(tmp_path)
    assert np.array_equal(load(tmp_path).decision_function(many), wide.decision_function(many))


def test_a_warm_fit_and_a_checkpoint_go_on(tmp_path: Any) -> None:
    _, many, y = narrow_and_wide()
    model = RecursiveSVM(TREE, warm_start=True, tol=1e-6, random_state=0).fit(many, y)
    assert model.fit(many, y).n_iter_ <= 1
    RecursiveSVM(TREE, tol=1e-6, checkpoint=tmp_path, random_state=0).fit(many, y)
    again = RecursiveSVM(TREE, tol=1e-6, checkpoint=tmp_path, random_state=0).fit(many, y)
    assert again.certificate_.holds(1e-6)
    assert again.vectors_.n_features == WIDE


def test_rows_with_other_columns_than_those_that_were_fitted() -> None:
    _, many, y = narrow_and_wide()
    model = OneVsRestSVM(random_state=0).fit(many, y)
    unseen = np.setdiff1d(np.arange(WIDE), many.indices)[:5]
    row = np.zeros((1, WIDE))
    row[0, unseen] = 7.0
    assert np.array_equal(model.decision_function(row), model.decision_function(np.zeros((1, WIDE))))


def test_vectors_of_every_kind_are_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    paths = sp.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    nodes = np.round(rng.normal(size=(3, 4)), 2)
    columns = np.array([1, 2, 6, 8])
    rows = rng.normal(size=(5, 9))
    dual = sp.csr_array(rng.normal(size=(2, 6)))
    X = sp.csr_array(rng.normal(size=(6, 4)))
    kinds = [
        ClassVectors(paths @ nodes, np.arange(2.0)),
        ClassVectors(sp.csr_array(paths @ nodes), np.arange(2.0)),
        NodeVectors(np.ascontiguousarray(nodes.T), paths, np.arange(2.0)),
        NodeVectors(sp.csr_array(nodes), paths, np.arange(2.0)),
        DualVectors(X, dual, paths, np.ones(3), np.arange(2.0)),
    ]
    for limit in (2**20, 0):  # dense where all of it is small, else sparse
        monkeypatch.setattr("taxolearn.vectors.widening._DENSE_BYTES", limit)
        for vectors in kinds:
            wide = widened(vectors, columns, 9)
            assert wide.n_features == 9
            np.testing.assert_allclose(wide.scores(rows), vectors.scores(rows[:, columns]), rtol=1e-12)
            if limit == 0 and hasattr(wide, "is_sparse"):
                assert wide.is_sparse


def test_classes_are_added_to_a_fit_that_left_columns_out() -> None:
    columns = ([0, 1, 2, 3], [3, 50, 3, 50])
    X, y = sp.csr_array((np.ones(4), columns), shape=(4, 100)), ["cat", "dog", "cat", "dog"]
    new = sp.csr_array((np.ones(2), ([0, 1], [7, 7])), shape=(2, 100))
    old, larger = (Taxonomy.from_paths(["all/cat", "all/dog", *more]) for more in ([], ["all/emu"]))
    model = RecursiveSVM(old, warm_start=True).fit(X, y).add_classes(larger, new, ["emu", "emu"])
    fresh = RecursiveSVM(larger).fit(sp.vstack([X, new], format="csr"), [*y, "emu", "emu"])
    assert model.predict(new).tolist() == ["emu", "emu"]
    np.testing.assert_allclose(model.coef_, fresh.coef_, atol=1e-2)
    assert model.add_classes(
        Taxonomy.from_paths(["all/cat", "all/dog", "all/emu", "all/fox"]), new, ["fox"] * 2
    )
