"""A report's dict against scikit-learn, the library's metrics and loops that are obvious."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from report_cases import CASES, Case, case
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, f1_score

from taxolearn import OneVsRestSVM, Taxonomy, TaxonomyClassifier, load, metrics
from taxolearn.errors import DataError, LabelError
from taxolearn.metrics.levels import by_level
from taxolearn.report import collect
from taxolearn.report.intervals import bootstrap, wilson

pytestmark = pytest.mark.filterwarnings("ignore::taxolearn.errors.EmptyClassWarning", "ignore:coverage=0.99")
every_case = pytest.mark.parametrize("name", CASES)


def report_of(name: str, _known: dict[str, Any] = {}) -> tuple[Case, dict[str, Any]]:  # noqa: B006
    if name not in _known:
        one = case(name)
        _known[name] = one.model.report(one.X, one.y, n_examples=12).data
    return case(name), _known[name]


def as_sets(labels: Any) -> list[set[Any]]:
    return [set(row) if isinstance(row, list | set) else {row} for row in labels]


def above(taxonomy: Taxonomy | None, names: set[Any]) -> set[Any]:
    if taxonomy is None:
        return set(names)
    return {up for name in names for up in taxonomy.ancestors(name, include_self=True)} - {taxonomy.root}


@every_case
def test_it_is_plain_and_complete(name: str) -> None:
    _, data = report_of(name)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    wanted = ("made", "model", "summary", "scores", "taxonomy", "levels", "branches", "confusions", "classes")
    wanted += ("calibration", "coverage", "words")
    assert {*wanted, "examples", "certificate", "trials"} <= set(data)
    assert len(data["summary"]["sentences"]) == 3


@every_case
def test_scores_are_those_of_the_metrics(name: str) -> None:
    one, data = report_of(name)
    found, predicted = data["scores"], one.model.predict(one.X)
    true, answered = (
        as_sets(one.y),
        as_sets(predicted.tolist() if hasattr(predicted, "tolist") else predicted),
    )
    assert found["accuracy"]["value"] == np.mean([a == b for a, b in zip(true, answered, strict=True)])
    labels = sorted(set.union(*true, *answered))
    indicators = [[[name in row for name in labels] for row in rows] for rows in (true, answered)]
    for average in ("micro", "macro"):
        expected = f1_score(*indicators, average=average, zero_division=0)
        value = found["micro_f1"]["value"] if average == "micro" else found["macro_f1"]
        assert value == pytest.approx(expected)
    if one.taxonomy is not None:
        arguments = one.y, predicted, one.taxonomy
        assert found["hierarchical_f1"]["value"] == pytest.approx(metrics.hierarchical_f1(*arguments))
        assert found["tree_loss"]["value"] == pytest.approx(metrics.tree_loss(*arguments))
    elif not data["model"]["several_labels"]:
        assert found["tree_loss"]["value"] == pytest.approx(1 - accuracy_score(one.y, predicted))
    for score in ("accuracy", "micro_f1", "hierarchical_f1", "tree_loss"):
        assert found[score]["low"] <= found[score]["value"] <= found[score]["high"]


@every_case
def test_nodes_are_counted_row_by_row(name: str) -> None:
    one, data = report_of(name)
    predicted = one.model.predict(one.X)
    true = [above(one.taxonomy, row) for row in as_sets(one.y)]
    answered = [above(one.taxonomy, row) for row in as_sets(list(predicted))]
    found = data["taxonomy"]
    names = ["<root>", *data_names(one, data)] if one.taxonomy is None else list(one.taxonomy.nodes)
    for node in range(1, len(names)):
        mine = [row for row in range(len(true)) if names[node] in true[row]]
        assert found["rows"][node] == len(mine)
        assert found["answered"][node] == sum(names[node] in row for row in answered)
        assert found["found"][node] == sum(names[node] in answered[row] for row in mine)
        if mine:
            both = sum(len(true[row] & answered[row]) for row in mine)
            sizes = sum(len(true[row]) + len(answered[row]) for row in mine)
            assert found["hierarchical_f1"][node] == pytest.approx(2 * both / sizes, abs=1e-4)
    trained = one.model.estimator_.data_ if hasattr(one.model, "estimator_") else one.model.data_
    assert sum(trained["class_rows"]) == found["trained"][0]
    assert found["rows"][0] == len(true)


def data_names(one: Case, data: dict[str, Any]) -> list[str]:
    """Without a taxonomy nodes are called by their labels."""
    return data["taxonomy"]["label"][1:]


@pytest.mark.parametrize("name", ["texts", "svm", "dag", "sets", "sets of a DAG"])
def test_levels_are_those_of_the_metrics(name: str) -> None:
    one, data = report_of(name)
    expected = by_level(one.y, one.model.predict(one.X), one.taxonomy)
    found = data["levels"]["entries"]
    assert [(entry["level"], entry["rows"]) for entry in found] == [(s.level, s.rows) for s in expected]
    for entry, scores in zip(found, expected, strict=True):
        assert entry["accuracy"]["value"] == pytest.approx(scores.accuracy)
        assert entry["micro_f1"]["value"] == pytest.approx(scores.micro_f1)
        assert entry["macro_f1"] == pytest.approx(scores.macro_f1)


def test_branches_are_those_of_their_rows() -> None:
    one, data = report_of("texts")
    predicted = one.model.predict(one.X)
    for entry in data["branches"]["entries"]:
        mine = [row for row, name in enumerate(one.y) if entry["label"] in one.taxonomy.ancestors(name)]
        true, answered = [one.y[row] for row in mine], [predicted[row] for row in mine]
        assert entry["rows"] == len(mine)
        assert entry["accuracy"]["value"] == pytest.approx(accuracy_score(true, answered))
        expected = metrics.hierarchical_f1(true, answered, one.taxonomy)
        assert entry["hierarchical_f1"]["value"] == pytest.approx(expected)
        assert entry["tree_loss"]["value"] == pytest.approx(metrics.tree_loss(true, answered, one.taxonomy))
    f1 = [entry["hierarchical_f1"]["value"] for entry in data["branches"]["entries"]]
    assert f1 == sorted(f1)


@every_case
def test_confusions_add_up_to_the_tree_loss(name: str) -> None:
    _, data = report_of(name)
    found = data["confusions"]
    assert found["shown"] == found["of"]  # so that the sum is over all pairs
    total = data["scores"]["tree_loss"]["value"] * data["scores"]["rows"]
    assert sum(pair["cost"] for pair in found["entries"]) == pytest.approx(total)
    assert sum(pair["share"] for pair in found["entries"]) == pytest.approx(1.0, abs=1e-4)
    costs = [pair["cost"] for pair in found["entries"]]
    assert costs == sorted(costs, reverse=True)


def test_confusions_of_single_labels_are_a_count_of_pairs() -> None:
    one, data = report_of("svm")
    predicted = one.model.predict(one.X).tolist()
    wrong = [(a, b, row) for row, (a, b) in enumerate(zip(one.y, predicted, strict=True)) if a != b]
    for pair in data["confusions"]["entries"]:
        mine = [row for a, b, row in wrong if (a, b) == (pair["true"]["label"], pair["answer"]["label"])]
        assert pair["rows"] == len(mine)
        assert set(pair["examples"]) <= set(mine)
        distance = one.taxonomy.distance(
            *(one.taxonomy.ids_of([pair[side]["label"]]) for side in ("true", "answer"))
        )
        assert pair["cost"] == pytest.approx(len(mine) * distance[0] / 2)
        up = set(one.taxonomy.ancestors(pair["true"]["label"])) & set(
            one.taxonomy.ancestors(pair["answer"]["label"])
        )
        assert pair["meet"]["label"] == max(up, key=lambda name: one.taxonomy.depth[one.taxonomy.id_of(name)])


def test_classes_to_look_at() -> None:
    one, data = report_of("svm")
    predicted = one.model.predict(one.X)
    labels = sorted(set(one.y) | set(predicted))
    f1 = dict(zip(labels, f1_score(one.y, predicted, labels=labels, average=None), strict=True))
    weakest = data["classes"]["weakest"]["entries"]
    assert [entry["f1"] for entry in weakest] == pytest.approx(
        sorted(f1[e["label"]] for e in weakest), abs=1e-6
    )
    assert {entry["label"] for entry in weakest} == {name for name in labels if one.y.count(name) >= 5}
    emptiest = data["classes"]["emptiest"]
    assert emptiest["entries"][0]["label"] == "Weed"  # a leaf that no row has
    assert (emptiest["none"], emptiest["few"], emptiest["entries"][0]["trained"]) == (1, 1, 0)
    wrong = [(a, b) for a, b in zip(one.y, predicted.tolist(), strict=True) if a != b]
    for entry in data["classes"]["confused"]["entries"]:
        assert entry["mistakes"] == sum(entry["label"] in pair for pair in wrong)
        both = {entry["label"], entry["with"]["label"]}
        assert entry["with_mistakes"] == sum(set(pair) == both for pair in wrong)


@pytest.mark.parametrize("name", ["texts", "flat", "sets", "sets of a DAG"])
def test_calibration_is_counted_answer_by_answer(name: str) -> None:
    one, data = report_of(name)
    taxonomy = one.taxonomy
    nodes = list(taxonomy.nodes) if taxonomy is not None else one.model.classes_.tolist()
    chances = one.model.node_proba(one.X)
    true = [above(taxonomy, row) for row in as_sets(one.y)]
    answered = [above(taxonomy, row) for row in as_sets(list(one.model.predict(one.X)))]
    for entry in data["calibration"]["entries"]:
        level = [
            (chances[row, nodes.index(node)], node in true[row])
            for row in range(len(true))
            for node in answered[row]
            if taxonomy is None or taxonomy.depth[taxonomy.id_of(node)] == entry["level"]
        ]
        assert entry["answers"] == len(level)
        assert entry["right"] == pytest.approx(np.mean([right for _, right in level]))
        assert entry["probability"] == pytest.approx(np.mean([chance for chance, _ in level]))
        error = 0.0
        for one_bin in entry["bins"]:
            top = 1.1 if one_bin["to"] == 1.0 else one_bin["to"]
            mine = [(c, r) for c, r in level if one_bin["from"] <= c < top]
            assert one_bin["answers"] == len(mine)
            error += len(mine) * abs(np.mean([c for c, _ in mine]) - np.mean([r for _, r in mine]))
        assert entry["error"] == pytest.approx(error / len(level))


def test_coverage_is_that_of_predict() -> None:
    one, data = report_of("texts")
    assert data["coverage"]["by"] == "calibration"
    for entry in data["coverage"]["entries"]:
        answers = one.model.predict(one.X, coverage=entry["asked"])
        covered = [
            a in one.taxonomy.ancestors(t, include_self=True) for a, t in zip(answers, one.y, strict=True)
        ]
        assert entry["covered"]["value"] == pytest.approx(np.mean(covered))
        assert entry["depth"] == pytest.approx(
            np.mean(one.taxonomy.depth[one.taxonomy.ids_of(answers.tolist())])
        )
        best = one.model.predict(one.X)
        assert entry["at_class"] == pytest.approx(np.mean(answers == best))


def test_coverage_by_probabilities_alone() -> None:
    one = case("texts")
    model = one.model.estimator_
    kept, model.coverage_ = model.coverage_, None
    try:
        found = one.model.report(one.X, one.y, n_examples=1).data["coverage"]
    finally:
        model.coverage_ = kept
    assert found["by"] == "probability"
    chances = one.model.node_proba(one.X)
    best = one.model.predict(one.X)
    for entry in found["entries"]:
        depths = []
        for row, name in enumerate(best):
            sure = [
                n for n in one.taxonomy.path(name) if chances[row, one.taxonomy.id_of(n)] >= entry["asked"]
            ]
            depths.append(one.taxonomy.depth[one.taxonomy.id_of(sure[-1])] if sure else 0)
        assert entry["depth"] == pytest.approx(np.mean(depths))


@pytest.mark.parametrize("name", ["texts", "svm", "dag", "flat", "sets"])
def test_words_are_mean_weights(name: str) -> None:
    one, data = report_of(name)
    coef = one.model.estimator_.coef_ if name == "texts" else one.model.coef_
    coef = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)
    classes = one.model.classes_.tolist()
    names = one.model.features_.get_feature_names_out().tolist() if name == "texts" else None
    found = data["words"]
    for node, pairs in enumerate(found["nodes"]):
        if node == 0:
            assert pairs is None
            continue
        if one.taxonomy is None:
            under = [data["taxonomy"]["label"][node]]
        else:
            under = one.taxonomy.descendants(one.taxonomy.nodes[node], include_self=True)
        mine = [classes.index(c) for c in under if c in classes]
        if not mine:
            assert pairs is None
            continue
        mean = coef[mine].mean(axis=0)
        expected = sorted(np.abs(mean), reverse=True)[: len(pairs)]
        assert [abs(weight) for _, weight in pairs] == pytest.approx(expected, rel=0.01)
        for word, weight in pairs:
            shown = found["features"][word]
            column = names.index(shown) if names else int(shown.split()[1]) - 1
            assert weight == pytest.approx(mean[column], rel=0.01)


@pytest.mark.parametrize("node", ["Wolf", "Cat", "Lion", "Plant"])
def test_words_of_decisions_are_those_that_explanations_name(node: str) -> None:
    one, data = report_of("top down")
    found = data["words"]
    leaf = node if node in one.model.classes_ else {"Cat": "Lion", "Plant": "Oak"}[node]
    assert found["nodes"][one.taxonomy.id_of(node)]
    for word, weight in found["nodes"][one.taxonomy.id_of(node)]:
        row = np.zeros(one.X.shape[1])
        row[int(found["features"][word].split()[1]) - 1] = 1.0
        steps = {step.name: step for step in reversed(one.model.explain(row, label=leaf).nodes)}
        named = [value for name, value in steps[node].contributions if name != "(intercept)"]
        assert [weight] == pytest.approx(named, rel=0.01)


@every_case
def test_examples_are_explained_as_the_model_explains_them(name: str) -> None:
    one, data = report_of(name)
    for entry in data["examples"]["entries"]:
        row = entry["row"]
        answered = one.model.predict(one.X[row : row + 1])[0]
        assert {place["label"] for place in entry["answer"]} == as_sets([answered])[0]
        assert entry["right"] == (as_sets([one.y[row]])[0] == as_sets([answered])[0])
        if not entry["path"]:
            continue
        explanation = one.model.explain(one.X[row], label=entry["path"][-1]["label"])
        by_name = {node.name: node for node in reversed(explanation.nodes)}
        for step in entry["path"]:
            margin = by_name[step["label"]].margin if step["label"] in by_name else None
            assert step.get("lead") == (None if margin is None else pytest.approx(margin, abs=1e-3))


def test_what_was_tried_is_told() -> None:
    one = case("svm")
    model = TaxonomyClassifier(one.taxonomy, random_state=0).fit(one.X, one.y)
    data = model.report(one.X[:20], one.y[:20], n_examples=2).data
    found = data["trials"]["methods"]
    assert found["of"] == len(model.trials_.trials)
    assert found["entries"][0]["chosen"]
    assert found["entries"][0]["score"] == model.trials_.best.accuracy
    assert data["model"]["chosen_by"] == "TaxonomyClassifier"


def test_a_loaded_model_makes_the_same_report(tmp_path: Any) -> None:
    one, data = report_of("texts")
    one.model.save(tmp_path / "model")
    again = load(tmp_path / "model").report(one.X, one.y, n_examples=12).data
    for volatile in (data, again):
        volatile["made"] = {**volatile["made"], "date": ""}
    assert again == data


def test_rows_of_the_fit_are_recognised() -> None:
    X, y = [[-1.0], [1.0], [2.0]], ["a", "b", "b"]
    model = OneVsRestSVM().fit(X, y)
    assert "learned from" in model.report(X, y).data["summary"]["sentences"][2]
    assert not model.report([[-1.0], [1.0], [3.0]], y).data["made"]["rows_of_the_fit"]


def test_missing_probabilities_are_said_in_a_sentence() -> None:
    _, data = report_of("svm")
    assert "probability=True" in data["calibration"]["absent"]
    assert "calibrate" in data["coverage"]["absent"]
    _, data = report_of("flat")
    assert "taxonomy" in data["coverage"]["absent"]
    assert "taxonomy" in data["branches"]["absent"]


def test_bad_input_is_one_sentence() -> None:
    one = case("svm")
    with pytest.raises(DataError, match="X has 2 rows, but y has 1"):
        one.model.report(one.X[:2], one.y[:1])
    with pytest.raises(LabelError, match="unknown label 'Linx'; did you mean 'Lynx'"):
        one.model.report(one.X[:1], ["Linx"])


def test_the_advice_names_what_is_empty_and_confused() -> None:
    drawn = np.random.default_rng(0)
    X = drawn.normal(size=(62, 3))
    y = ["a"] * 30 + ["b"] * 30 + ["rare", "odd"]
    data = collect(OneVsRestSVM().fit(X, y), drawn.normal(size=(60, 3)), ["a"] * 30 + ["b"] * 30)
    advice = " ".join(data["summary"]["advice"])
    assert (
        "2 classes have fewer than 3 rows to learn from (“rare”, “odd”)" in advice
        or "“odd”, “rare”" in advice
    )
    assert "“a” and “b” are taken for each other" in advice
    assert "2 classes have no held-out row" in advice


def test_intervals() -> None:
    for hits, rows in ((0, 5), (3, 5), (5, 5), (480, 1000)):
        low, high = wilson(hits, rows)
        expected = binomtest(hits, rows).proportion_ci(0.95, method="wilson")
        assert (float(low), float(high)) == pytest.approx((expected.low, expected.high))
    drawn = np.random.default_rng(0)
    right = (drawn.random(400) < 0.7).astype(float)[:, None]
    low, high = bootstrap(right, np.ones((400, 1)))
    expected = wilson(right.sum(), 400)
    assert (low[0], high[0]) == pytest.approx((float(expected[0]), float(expected[1])), abs=0.015)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_stopped_early_is_told() -> None:
    one = case("svm")
    model = OneVsRestSVM(one.taxonomy, max_iter=1, tol=1e-9).fit(one.X, one.y)
    found = model.report(one.X[:20], one.y[:20], n_examples=1).data
    assert not found["certificate"]["reached"]
    assert f"up to {model.certificate_.gap:.1%} above the best" in found["summary"]["advice"][0]
