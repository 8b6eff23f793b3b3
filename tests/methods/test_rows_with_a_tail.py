"""Fits of sparse rows with full last columns, as n-grams with embeddings have: in two parts and entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from taxolearn import (
    HierarchicalSVM,
    MulticlassSVM,
    OneVsRestLogistic,
    OneVsRestSVM,
    RecursiveLogistic,
    RecursiveSVM,
    SharedSVM,
    Taxonomy,
    TopDownSVM,
)
from taxolearn.kernels import rows as row_kernels

TREE = Taxonomy.from_paths(["a/b", "a/c", "d/e", "d/f"])
METHODS: list[Any] = [
    OneVsRestSVM(),
    OneVsRestSVM(loss="squared_hinge"),
    OneVsRestLogistic(),
    MulticlassSVM(),
    HierarchicalSVM(TREE),
    SharedSVM(TREE),
    TopDownSVM(TREE),
    RecursiveSVM(TREE),
    RecursiveLogistic(TREE),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_the_parts_of_rows_change_nothing_but_the_time(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 600)
    words = rng.normal(size=(600, 40)) * (rng.random((600, 40)) < 0.1)
    vectors = rng.normal(size=(4, 20))[y] + rng.normal(size=(600, 20))
    both = np.hstack([words, vectors])
    both /= np.linalg.norm(both, axis=1, keepdims=True)  # as texts are
    X = sparse.csr_array(both.astype(np.float32))
    labels = np.array(["b", "c", "e", "f"])[y]
    method = method.set_params(tol=1e-5, random_state=0)

    found = method.fit(X, labels)
    two_parts = found.certificate_
    scores = found.decision_function(X[:50])
    split: list[int] = []
    monkeypatch.setattr(row_kernels, "full_columns", lambda X: split.append(X.shape[0]) or 0)
    one_part = found.fit(X, labels).certificate_
    assert split or isinstance(method, RecursiveSVM | RecursiveLogistic)  # these number columns by frequency
    assert two_parts.primal == pytest.approx(one_part.primal, rel=2e-5)
    assert two_parts.dual == pytest.approx(one_part.dual, rel=2e-5)
    assert two_parts.holds(1e-5)
    assert one_part.holds(1e-5)
    np.testing.assert_allclose(scores, found.decision_function(X[:50]), atol=5e-3)
