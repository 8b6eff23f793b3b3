"""Explanations of label sets: each node of the path by the best set with it against the best set without it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import taxolearn
from decoders.label_set_cases import must_settings, small_taxonomy
from reference.label_sets_twin import all_sets, max_marginals
from reference.made_models import made_estimator
from taxolearn import Taxonomy
from taxolearn.decoders import LabelSpace, Sets
from taxolearn.vectors import ClassVectors

TREE = Taxonomy.from_paths(["cat/lion", "cat/lynx", "dog"])  # units: <root>, cat, lion, lynx, dog
FEATURES = 3


def made(taxonomy: Taxonomy | None, classes: list[Any], decoder: Sets, coef: Any, intercept: Any) -> Any:
    """A fitted estimator that decodes sets."""
    model = made_estimator(
        np.zeros((len(classes), coef.shape[1])), np.zeros(len(classes)), classes, taxonomy, "sets"
    )
    model.vectors_, model.taxonomy_ = ClassVectors(coef, intercept), model.taxonomy
    model.decoder_ = decoder
    model.data_ = {"rows": 1, "fingerprint": "0"}
    return model


def total(contributions: Any) -> float:
    return math.fsum(value for _, value in contributions)


def random_model(seed: int, dag: bool) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    taxonomy = small_taxonomy(rng, dag, most=9)
    must = must_settings(taxonomy, rng)["some"]
    n = taxonomy.n_nodes
    picked = np.union1d(taxonomy.leaf_ids, np.flatnonzero(rng.random(n) < 0.4))
    classes = [taxonomy.nodes[i] for i in picked]
    decoder = Sets(LabelSpace.over(taxonomy, classes, must), offset=0.25)
    coef, intercept = rng.normal(size=(n, FEATURES)), rng.normal(size=n) - 0.5
    x = rng.normal(size=FEATURES)
    potential = coef @ x + intercept
    potential[1:] += 0.25
    return made(taxonomy, classes, decoder, coef, intercept), x, potential, all_sets(taxonomy, must)


@pytest.mark.parametrize("dag", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_scores_and_margins_are_differences_of_sets(seed: int, dag: bool) -> None:
    model, x, potential, sets = random_model(seed, dag)
    taxonomy, classes = model.taxonomy, model.classes_.tolist()
    marginal = max_marginals(sets, potential[None])[0]
    scores = model.decision_function(x[None])[0]
    for label in (None, *classes):
        explanation = model.explain(x, label=label)
        assert label is not None or explanation.label == model.top_k(x[None], 1)[0][0, 0]
        assert explanation.score == pytest.approx(scores[classes.index(explanation.label)], abs=1e-9)
        assert total(explanation.contributions) == pytest.approx(explanation.score, abs=1e-9)
        for name, score in explanation.runners_up:
            assert score == pytest.approx(scores[classes.index(name)], abs=1e-9)
        for node in explanation.nodes:
            place = taxonomy.id_of(node.name)
            assert node.score == pytest.approx(potential[place], abs=1e-9)
            assert total(node.contributions) == pytest.approx(node.score, abs=1e-9)
            if np.isinf(marginal[place]):
                assert node.margin is None
                continue
            assert total(node.deciding) == pytest.approx(node.margin, abs=1e-9)
            if not dag:
                assert node.margin == pytest.approx(marginal[place], abs=1e-9)
            else:
                kept = marginal[place] > 0
                assert (node.margin > 0) == kept
                assert abs(node.margin) >= abs(marginal[place]) - 1e-9


def test_dropping_a_node_by_its_margin_drops_it() -> None:
    """What must change: a little more than the margin off the node's score, and it is gone."""
    for seed in range(30):
        model, x, _, _ = random_model(seed, dag=False)
        explanation = model.explain(x)
        for node in explanation.nodes:
            if node.margin is None or node.margin <= 1e-6:
                continue
            unit = model.taxonomy.id_of(node.name)
            for change, stays in ((0.999, True), (1.001, False)):
                intercept = model.vectors_.intercept.copy()
                intercept[unit] -= change * node.margin
                vectors = model.vectors_.with_intercept(intercept)
                chosen = model.decoder_.row_facts(vectors, x[None]).chosen
                assert (unit in chosen) == stays


def test_the_text_says_what_is_kept_and_what_would_take_its_place() -> None:
    decoder = Sets(LabelSpace.over(TREE, ["lion", "lynx", "dog"]))
    model = made(TREE, ["lion", "lynx", "dog"], decoder, np.eye(5), np.zeros(5))
    text = str(model.explain([0.0, -1.0, 2.0, -0.5, 0.25]))
    assert text.splitlines() == [
        "lion: score 1.000 = x2 +2.000, x1 -1.000, (intercept) +0.000",
        "└─ cat: score -1.000, kept by 1.000: x2 +2.000, x1 -1.000, (intercept) +0.000",
        "   └─ lion: score 2.000, kept by 1.000: x2 +2.000, x1 -1.000, (intercept) +0.000",
        "runners-up: dog 0.250, lynx -0.500",
    ]
    node = model.explain([0.0, 1.0, 2.0, 1.5, -3.0], label="lion").nodes[-1]
    assert (node.margin, node.rival) == (2.0, None)
    swap = model.explain([0.0, 1.0, -1.0, -1.5, -3.0]).nodes[-1]
    assert (swap.name, swap.margin, swap.rival, swap.runner_up) == ("lion", 0.5, "lynx", "lynx")


def test_without_a_taxonomy_every_class_is_a_node() -> None:
    model = made(None, ["a", "b"], Sets(LabelSpace.star(2)), np.eye(3), np.zeros(3))
    explanation = model.explain([0.0, 2.0, 1.0])
    assert (explanation.label, explanation.score, explanation.runners_up) == ("a", 2.0, (("b", 1.0),))
    [node] = explanation.nodes
    assert (node.score, node.margin, node.rival) == (2.0, 2.0, None)


@pytest.mark.parametrize("dag", [False, True])
def test_a_loaded_model_answers_as_the_saved_one(dag: bool, tmp_path: Path) -> None:
    for seed in range(5):
        model, x, _, _ = random_model(seed, dag)
        X = np.vstack((x, -x, np.zeros(FEATURES)))
        model.save(tmp_path / str(seed))
        again = taxolearn.load(tmp_path / str(seed))
        assert again.predict(X) == model.predict(X)
        assert again.predict_path(X) == model.predict_path(X)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert str(again.explain(x)) == str(model.explain(x))
