"""Ends at the mean of duals: they are feasible, certified, and nothing is lost where they are not good enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import MulticlassSVM, NormalizedHierarchicalSVM, Taxonomy
from taxolearn.solvers import structured
from taxolearn.solvers.mean_dual import MeanDual

TREE = Taxonomy.from_paths([f"all/part {k % 5}/class {k}" for k in range(20)])


def words(n: int = 400, seed: int = 0) -> tuple[Any, list[str]]:
    """Sparse rows of a few words each, whose classes share words and are often mistaken."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 20, n)
    X = np.zeros((n, 60))
    for row, label in enumerate(y):
        own = np.concatenate([rng.integers(0, 60, 4), [label, 20 + label % 5]])
        X[row, own] = rng.random(6) + 0.2
    return sp.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True)), [f"class {k}" for k in y]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Means are looked at from the start, and every time; whether that was the end."""
    found: list[bool] = []
    whole = structured.StructuredRun.ends_at_the_mean

    def noted(run: Any, gap: float) -> bool:
        found.append(whole(run, gap))
        return found[-1]

    monkeypatch.setattr(structured, "_MEAN_STEPS", 0)
    monkeypatch.setattr(structured.StructuredRun, "first_face", 2)
    monkeypatch.setattr(structured.StructuredRun, "on_face", False)
    monkeypatch.setattr(structured, "_MOST_FREE", 0)
    monkeypatch.setattr("taxolearn.solvers.mean_dual._PASSES", 3)
    monkeypatch.setattr(structured.StructuredRun, "ends_at_the_mean", noted)
    return found


@pytest.mark.parametrize("kind", [MulticlassSVM, NormalizedHierarchicalSVM])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_that_ends_at_a_mean_is_certified(kind: Any, n_jobs: int, looked_at: list[bool]) -> None:
    X, y = words()
    exact = kind(TREE, C=30.0, tol=1e-7, random_state=0, max_iter=100_000)
    exact.fit(X, y)
    looked_at.clear()
    ends = 0
    for seed in range(6):
        model = kind(TREE, C=30.0, tol=3e-3, random_state=seed, n_jobs=n_jobs).fit(X, y)
        assert model.certificate_.holds(3e-3)
        assert model.certificate_.lower <= exact.certificate_.upper
        assert exact.certificate_.lower <= model.certificate_.upper
        ends += looked_at[-1]
    assert ends > 0


def test_where_the_mean_is_not_good_enough_the_passes_go_on(
    looked_at: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = words()
    learned: list[float] = []
    monkeypatch.setattr(MeanDual, "promises", lambda mean, gap, tol: True)
    monkeypatch.setattr(MeanDual, "learn", lambda mean, gap, found: learned.append(found))
    model = MulticlassSVM(TREE, C=30.0, tol=1e-6, random_state=0, max_iter=100_000).fit(X, y)
    assert model.certificate_.holds(1e-6)
    assert len(learned) > 3
    assert min(learned) > 1e-6
    alone = MulticlassSVM(TREE, C=30.0, tol=1e-8, random_state=1, solver="dual", max_iter=100_000)
    assert model.certificate_.lower <= alone.fit(X, y).certificate_.upper
    assert alone.certificate_.lower <= model.certificate_.upper


def test_a_limit_in_the_middle_of_a_look_keeps_what_is_there(
    looked_at: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = words()
    monkeypatch.setattr(MeanDual, "promises", lambda mean, gap, tol: True)
    begin = structured.StructuredRun.begin_with

    def cut(run: Any, dual: Any) -> None:
        begin(run, dual)
        run.run.clock.stop[0] = 1

    monkeypatch.setattr(structured.StructuredRun, "begin_with", cut)
    with pytest.warns(Warning, match="certified relative gap"):
        model = MulticlassSVM(TREE, C=30.0, tol=1e-9, random_state=0).fit(X, y)
    assert np.isfinite(model.certificate_.gap)
    assert model.certificate_.gap < 1.0


def test_the_mean_is_that_of_the_duals() -> None:
    mean, rng = MeanDual(), np.random.default_rng(0)
    duals = [sp.csr_array(rng.random((3, 4)) * (rng.random((3, 4)) < 0.5)) for _ in range(10)]
    for dual in duals:
        assert not mean.full
        mean.add(dual)
    np.testing.assert_allclose(mean.take().toarray(), np.mean([one.toarray() for one in duals], axis=0))
    assert not mean.full
