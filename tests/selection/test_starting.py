"""What the estimator to begin with tries, in which order, and that each of it can be what it ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import taxolearn
from taxolearn import OneVsRestSVM, Taxonomy, TaxonomyClassifier
from taxolearn.problem import make_problem
from taxolearn.selection import starting, taxonomy_classifier
from taxolearn.selection.budget import Budget
from taxolearn.selection.measures import Measure
from taxolearn.selection.row_labels import RowLabels
from taxolearn.selection.search import Candidate, Race
from taxolearn.selection.starting import scaled, starting_candidates

TREE = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant/Oak", "Plant/Elm"])
DAG = Taxonomy.from_edges([("all", "a"), ("all", "b"), ("a", "c"), ("b", "c"), ("b", "d")])


def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.array(["Cat", "Dog", "Oak", "Elm"] * 30)
    X = rng.normal(size=(120, 5)) + 2.0 * (y[:, None] == np.array(["Cat", "Dog", "Oak", "Elm", ""]))
    return X, y


def names(taxonomy: Taxonomy | None, several: bool) -> list[str]:
    return [type(one.estimator).__name__ for one in starting_candidates(taxonomy, several)]


def test_a_top_down_svm_is_tried_where_the_way_to_a_class_is_one() -> None:
    assert "TopDownSVM" in names(TREE, several=False)
    assert "TopDownSVM" not in names(DAG, several=False)
    assert "TopDownSVM" not in names(None, several=False)
    assert "TopDownSVM" not in names(TREE, several=True)


def curved(X: Any, y: Any, taxonomy: Taxonomy | None = None) -> list[str]:
    problem = make_problem(X, y, taxonomy, build=True)
    every = starting_candidates(taxonomy, problem.labels.multilabel, problem)
    kernels = [getattr(one.estimator, "kernel", None) for one in every]
    assert not any(kernels[: len(names(taxonomy, problem.labels.multilabel))])
    return [type(one.estimator).__name__ for one, kernel in zip(every, kernels, strict=True) if kernel]


def test_kernels_are_tried_on_dense_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows()
    several = [[name] for name in y]
    assert curved(X, y, TREE) == curved(X, several, TREE) == ["RecursiveSVM", "TaxonomyRidge"]
    assert curved(X, y) == ["OneVsRestSVM", "TaxonomyRidge"]
    assert curved(sp.csr_array(X), y, TREE) == []
    # the products of many rows are not decomposed
    monkeypatch.setattr(starting, "MOST_DECOMPOSED", len(y) - 1)
    assert curved(X, y, TREE) == curved(X, several, TREE) == ["RecursiveSVM"]


def test_rows_of_a_kernel_have_a_length_of_their_own() -> None:
    X, y = rows()
    told = scaled(starting_candidates(TREE, False, make_problem(100.0 * X, y, TREE)), 100.0 * X)
    assert told[-1].C == 1.0
    assert told[-1].estimator.intercept_scaling == OneVsRestSVM().intercept_scaling
    assert told[0].C < 1e-3


@pytest.mark.parametrize("several", [False, True], ids=["one label", "several labels"])
def test_borders_that_are_circles_are_learned_with_a_kernel(several: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y: Any = np.array(["Cat", "Dog", "Oak", "Elm"])[np.digitize(np.hypot(*X.T), (0.7, 1.2, 1.7))]
    if several:
        y = [[name] if name != "Dog" else [name, "Elm"] for name in y.tolist()]  # sorted, as answers are
    model = TaxonomyClassifier(TREE, random_state=0).fit(X[:150], y[:150])
    assert model.estimator_.kernel == "rbf"
    assert model.certificate_.holds(model.tol)
    told, linear = (one.predict(X[150:]) for one in (model, OneVsRestSVM(TREE).fit(X[:150], y[:150])))
    right, by_lines = (
        np.mean(
            [
                np.atleast_1d(a).tolist() == np.atleast_1d(b).tolist()
                for a, b in zip(one, y[150:], strict=True)
            ]
        )
        for one in (told, linear)
    )
    assert right > by_lines + 0.3
    model.save(tmp_path / "model")
    again = taxolearn.load(tmp_path / "model").predict(X[150:])
    assert [np.atleast_1d(one).tolist() for one in again] == [np.atleast_1d(one).tolist() for one in told]


def test_what_is_dear_comes_when_the_others_are_done() -> None:
    X, y = rows()
    problem = make_problem(X, y, TREE)
    half = np.arange(len(y)) // 4 % 2 == 0
    candidates = [Candidate(OneVsRestSVM(TREE), 1.0, dear=True), Candidate(OneVsRestSVM(TREE), 1.0)]
    folds = [(np.flatnonzero(half), np.flatnonzero(~half))]
    labels = RowLabels(problem, y, several=False)
    race = Race(problem, labels, folds, candidates, ("best",), Measure("accuracy", TREE), None)
    race.run(Budget(None, small=True))
    order = [attempt.candidate for attempt in race.attempts]
    assert order == sorted(order, reverse=True)
    assert set(order) == {0, 1}


@pytest.mark.parametrize("number", range(len(starting_candidates(TREE, several=False))))
def test_each_candidate_can_be_the_one_that_is_chosen(
    number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, y = rows()

    def alone(*arguments: Any, **parameters: Any) -> list[Candidate]:
        return [starting_candidates(*arguments, **parameters)[number]._replace(plain=True)]

    monkeypatch.setattr(taxonomy_classifier, "starting_candidates", alone)
    model = TaxonomyClassifier(TREE, random_state=0).fit(X, y)
    assert type(model.estimator_).__name__ == names(TREE, several=False)[number]
    assert model.certificate_.holds(model.tol)
    predicted = model.predict(X, decision="best")
    assert model.classes_[model.predict_proba(X).argmax(axis=1)].tolist() == predicted.tolist()
    assert model.top_k(X, 1, decision="best")[0].ravel().tolist() == predicted.tolist()
    assert model.explain(X[[0]], decision="best").label == predicted[0]
    np.testing.assert_allclose(model.node_proba(X, ["Animal", "Plant"]).sum(axis=1), 1.0)
    model.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    for decision in ("best", "tree_loss"):
        told = model.predict(X, decision=decision).tolist()
        assert loaded.predict(X, decision=decision).tolist() == told
