"""Explanations follow the decoder: thresholds are part of margins, and top-down models explain node by node."""

from __future__ import annotations

import math
from collections.abc import Hashable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.decoders_twin import choices, options, ranking, under
from strategies import taxonomies
from taxolearn import Taxonomy
from taxolearn.decoders import Best, Thresholds, TopDown
from taxolearn.explain.explain import explain
from taxolearn.explain.explanation import Explanation
from taxolearn.vectors import ClassVectors

TREE = Taxonomy.from_paths(["animal/cat/lion", "animal/cat/lynx", "animal/dog", "rock/granite"])


def made(decoder: Any, coef: Any, intercept: Any, classes: list[Any], taxonomy: Taxonomy | None) -> Any:
    """What explain asks of an estimator, and nothing else."""

    def path(name: Hashable) -> tuple[Hashable, ...]:
        return (name,) if taxonomy is None else taxonomy.shown_path(name)

    names = np.empty(len(classes), dtype=object)
    names[:] = classes
    return SimpleNamespace(
        classes_=names,
        taxonomy_=taxonomy,
        vectors_=ClassVectors(np.asarray(coef), np.asarray(intercept, dtype=float)),
        decoder_=decoder,
        _rows=np.asarray,
        _path=path,
    )


def asked(model: Any, x: Any, **others: Any) -> Explanation:
    return explain(model, np.asarray(x), **{"k": 6, "runners_up": 3, **others})


def total(contributions: Any) -> float:
    return math.fsum(value for _, value in contributions)


def check_sums(explanation: Explanation) -> None:
    assert total(explanation.contributions) == pytest.approx(explanation.score, abs=1e-9)
    for node in explanation.nodes:
        assert total(node.contributions) == pytest.approx(node.score, abs=1e-9)
        if node.margin is not None:
            assert total(node.deciding) == pytest.approx(node.margin, abs=1e-9)


def test_the_label_is_the_first_of_the_ranking_by_thresholds() -> None:
    model = made(Thresholds(np.array([4.0, 0.0, 0.5])), np.eye(3), np.zeros(3), ["a", "b", "c"], None)
    explanation = asked(model, [5.0, 2.0, 3.0])
    check_sums(explanation)
    assert explanation.label == "c"
    assert (explanation.score, explanation.runners_up) == (3.0, (("b", 2.0), ("a", 5.0)))
    [node] = explanation.nodes
    assert (node.score, node.rival, node.margin) == (3.0, "b", 0.5)
    assert dict(node.deciding) == {"x2": 3.0, "x1": -2.0, "(intercept)": -0.5}
    best = made(Best(3), np.eye(3), np.zeros(3), ["a", "b", "c"], None)
    assert asked(best, [5.0, 2.0, 3.0]).label == "a"


# units: animal, rock; cat, dog; lion, lynx
TOP_DOWN = made(
    TopDown.over(TREE, TREE.ids_of(["lion", "lynx", "dog", "granite"])),
    np.eye(6),
    np.zeros(6),
    ["lion", "lynx", "dog", "granite"],
    TREE,
)


def test_each_node_of_a_top_down_model_wins_by_its_own_vector() -> None:
    explanation = asked(TOP_DOWN, [1.0, 0.75, 2.0, 1.5, 0.0, 3.0])
    check_sums(explanation)
    assert (explanation.label, explanation.score) == ("lynx", 0.0)
    assert explanation.runners_up == (("granite", -0.25), ("dog", -0.5), ("lion", -3.0))
    found = [
        (node.name, node.score, node.best, node.margin, node.runner_up, node.rival)
        for node in explanation.nodes
    ]
    assert found == [
        ("animal", 1.0, "lynx", 0.25, "rock", "granite"),
        ("cat", 2.0, "lynx", 0.5, "dog", "dog"),
        ("lynx", 3.0, "lynx", 3.0, "lion", "lion"),
    ]
    assert dict(explanation.nodes[0].deciding) == {"x0": 1.0, "x1": -0.75, "(intercept)": 0.0}


def test_another_class_is_explained_by_where_it_fell_behind() -> None:
    explanation = asked(TOP_DOWN, [1.0, 0.75, 2.0, 1.5, 0.0, 3.0], label="lion")
    check_sums(explanation)
    assert (explanation.label, explanation.score) == ("lion", -3.0)
    assert dict(explanation.contributions) == {"x5": -3.0, "(intercept)": 0.0}
    assert [node.margin for node in explanation.nodes] == [0.25, 0.5, -3.0]
    assert explanation.nodes[1].best == "lynx"


def test_stopping_at_a_node_is_a_decision() -> None:
    classes = ["cat", "lion", "granite"]
    # units: animal, rock; to stop at cat, lion
    model = made(TopDown.over(TREE, TREE.ids_of(classes)), np.eye(4), np.zeros(4), classes, TREE)
    stopped = asked(model, [2.0, 1.0, 5.0, 3.0])
    assert stopped.label == "cat"
    assert [(node.name, node.margin, node.rival) for node in stopped.nodes] == [
        ("animal", 1.0, "granite"),
        ("cat", None, None),
        ("cat", 2.0, "lion"),
    ]
    went_on = asked(model, [2.0, 1.0, 5.0, 6.0])
    assert went_on.label == "lion"
    assert [(node.name, node.margin, node.runner_up) for node in went_on.nodes][-1] == ("lion", 1.0, "cat")
    check_sums(stopped)
    check_sums(went_on)


@st.composite
def cases(draw: st.DrawFn) -> Any:
    taxonomy = draw(taxonomies(max_nodes=10, dag=False))
    chosen = draw(st.lists(st.integers(0, taxonomy.n_nodes - 1), min_size=1, unique=True))
    classes = [taxonomy.nodes[i] for i in chosen]
    decoder = TopDown.over(taxonomy, chosen)
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    coef, intercept = rng.normal(size=(decoder.n_units, 3)), rng.normal(size=decoder.n_units)
    x = rng.normal(size=3) * draw(st.sampled_from([0.0, 1.0]))
    return made(decoder, coef, intercept, classes, taxonomy), x, draw(st.sampled_from(classes))


@settings(deadline=None, max_examples=150)
@given(cases())
def test_margins_are_those_of_the_twin(case: Any) -> None:
    model, x, label = case
    taxonomy, classes = model.taxonomy_, model.classes_.tolist()
    units = choices(taxonomy, classes)
    score = dict(zip(units, (model.vectors_.coef @ x + model.vectors_.intercept).tolist(), strict=True))
    ranked = ranking(taxonomy, classes, score)
    for explanation, name in ((asked(model, x), ranked[0][0]), (asked(model, x, label=label), label)):
        check_sums(explanation)
        assert explanation.label == name
        assert explanation.score == pytest.approx(dict(ranked)[name], abs=1e-9)
        others = [(c, s) for c, s in ranked if c != name][:3]
        assert [c for c, _ in explanation.runners_up] == [c for c, _ in others]
        assert [s for _, s in explanation.runners_up] == pytest.approx([s for _, s in others], abs=1e-9)
        steps = [(taxonomy.parents(n)[0], n) for n in explanation.path if taxonomy.parents(n)]
        nodes = list(explanation.nodes)
        assert nodes[0].margin is None  # the root
        if len(options(taxonomy, classes, name)) > 1:
            steps.append((name, ("stop", name)))
        assert len(nodes) == len(steps) + 1
        for node, (parent, option) in zip(nodes[1:], steps, strict=True):
            rivals = [o for o in options(taxonomy, classes, parent) if o != option]
            if not rivals:
                assert node.margin is None
                continue
            rival = max(rivals, key=lambda o: score[parent, o])
            assert node.score == pytest.approx(score[parent, option], abs=1e-9)
            assert node.margin == pytest.approx(score[parent, option] - score[parent, rival], abs=1e-9)
            if rival == ("stop", parent):
                assert node.rival == node.runner_up == parent
            else:
                assert node.rival in under(taxonomy, rival)
                assert option == ("stop", name) or node.runner_up == rival


def test_a_dag_can_be_explained() -> None:
    dag = Taxonomy.from_edges(
        [("all", "pet"), ("all", "animal"), ("pet", "dog"), ("animal", "dog"), ("animal", "lion")]
    )
    # units: pet, animal; dog, lion at animal
    model = made(TopDown.over(dag, dag.ids_of(["dog", "lion"])), np.eye(4), np.zeros(4), ["dog", "lion"], dag)
    for x in ([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 4.0]):
        explanation = asked(model, x)
        check_sums(explanation)
        assert (
            explanation.label == ["dog", "lion"][model.decoder_.decode(model.vectors_, np.array([x])).ids[0]]
        )
