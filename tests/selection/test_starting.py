"""What the estimator to begin with tries, in which order, and that each of it can be what it ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import taxolearn
from taxolearn import OneVsRestSVM, Taxonomy, TaxonomyClassifier
from taxolearn.problem import make_problem
from taxolearn.selection import taxonomy_classifier
from taxolearn.selection.budget import Budget
from taxolearn.selection.measures import Measure
from taxolearn.selection.row_labels import RowLabels
from taxolearn.selection.search import Candidate, Race
from taxolearn.selection.starting import starting_candidates

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
