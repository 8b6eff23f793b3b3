"""A second copy of the weights, feature by feature: quicker for a few rows, and the same scores to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from taxolearn.vectors import ClassVectors, NodeVectors, products


def rows_and_vectors(kind: str, dtype: Any) -> tuple[sparse.csr_array, Any]:
    rng = np.random.default_rng(0)
    weights = sparse.random_array((7, 300), density=0.2, rng=rng, dtype=np.float64, format="csr").astype(
        dtype
    )
    weights.data[:] = rng.normal(size=weights.nnz)
    X = sparse.random_array((9, 300), density=0.05, rng=rng, format="csr")
    if kind == "classes":
        return X, ClassVectors(weights, rng.normal(size=7))
    paths = sparse.csr_array((rng.random((4, 7)) < 0.5).astype(np.float64))
    return X, NodeVectors(weights, paths, rng.normal(size=4))


@pytest.mark.parametrize("kind", ["classes", "nodes"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_same_to_the_last_bit(kind: str, dtype: Any) -> None:
    X, vectors = rows_and_vectors(kind, dtype)
    many = sparse.vstack([X] * 40, format="csr")  # more entries than features: the other way round
    before = [vectors.scores(rows) for rows in (X, X[:1], many)]
    best = vectors.top_k(X, 3)
    assert vectors.prepare_for_few_rows()
    for rows, scores in zip((X, X[:1], many), before, strict=True):
        np.testing.assert_array_equal(vectors.scores(rows), scores)
        assert vectors.scores(rows).dtype == dtype
    np.testing.assert_array_equal(vectors.top_k(X, 3), best)
    other = vectors.with_intercept(vectors.intercept + 1.0)
    np.testing.assert_allclose(other.scores(X), before[0] + 1.0, rtol=1e-5)


def test_the_copy_is_what_answers() -> None:
    X, vectors = rows_and_vectors("classes", np.float64)
    vectors.prepare_for_few_rows()
    vectors._by_feature.data[:] = 0.0
    np.testing.assert_array_equal(vectors.scores(X), np.tile(vectors.intercept, (9, 1)))


def test_embeddings_after_the_words_are_scored_alike() -> None:
    X, vectors = rows_and_vectors("classes", np.float64)
    rng = np.random.default_rng(1)
    full = sparse.csr_array(rng.normal(size=(9, 20)))
    wide = sparse.hstack([sparse.vstack([X] * 12), sparse.vstack([full] * 12)], format="csr")
    coef = sparse.hstack([vectors.coef, sparse.csr_array(rng.normal(size=(7, 20)))], format="csr")
    longer = ClassVectors(coef, vectors.intercept)
    before = longer.scores(wide)
    assert longer.prepare_for_few_rows()
    np.testing.assert_allclose(longer.scores(wide), before, rtol=1e-12)
    np.testing.assert_allclose(longer.scores(wide[:1]), before[:1], rtol=1e-12)


def test_no_copy_where_it_would_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    X, vectors = rows_and_vectors("classes", np.float64)
    assert not ClassVectors(vectors.coef.toarray(), vectors.intercept).prepare_for_few_rows()
    assert not vectors.prepare_for_few_rows(max_bytes=1000)
    np.testing.assert_array_equal(vectors.scores(X), ClassVectors(vectors.coef, vectors.intercept).scores(X))
    monkeypatch.setattr(products, "_FEW_FEATURES", 100)
    assert not vectors.prepare_for_few_rows()
