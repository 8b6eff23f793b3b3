"""`TaxonomyClassifier`: one contract with the methods, the rule of its choice, and what it keeps."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from taxolearn import (
    NormalizedHierarchicalSVM,
    OneVsRestSVM,
    Taxonomy,
    TaxonomyClassifier,
    TextClassifier,
    load,
    metrics,
)
from taxolearn.decoders import fit_link
from taxolearn.errors import DataError, EmptyClassWarning, ModelError
from taxolearn.methods.held_out import held_out_parts
from taxolearn.problem import make_problem
from taxolearn.selection import search, taxonomy_classifier
from taxolearn.selection.attempts import Attempt, Candidate, Option
from taxolearn.selection.budget import Budget
from taxolearn.selection.choosing import Choice
from taxolearn.selection.measures import BALANCED, SCORINGS, Measure, Score
from taxolearn.selection.row_labels import RowLabels
from taxolearn.selection.search import Race, pooled_link
from taxolearn.testing import check_method

TREE = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog/wolf", "all/dog/fox", "all/moss"])
DAG = Taxonomy.from_edges([*TREE.edges, ("dog", "lynx")])
LEAVES = [TREE.name_of(node) for node in TREE.leaf_ids]


@pytest.fixture(autouse=True)
def _short_search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two candidates and one fold, but where the search itself is looked at."""
    whole = ("test_the_choice_is_that_of_the_rule", "test_of_few_rows_only_what_may_be_chosen_is_tried")
    if request.node.name not in whole:
        every = taxonomy_classifier.starting_candidates
        monkeypatch.setattr(taxonomy_classifier, "starting_candidates", lambda *a, **k: every(*a, **k)[:2])
        monkeypatch.setattr(taxonomy_classifier, "_ENOUGH_HELD_OUT", 0)


def rows(labels: list[Any], noise: float = 0.5, seed: int = 0) -> Any:
    """Noisy rows around a centre per name, near to those of the same parent."""
    rng = np.random.default_rng(seed)
    centres = {name: rng.normal(size=6) for name in TREE.nodes}
    for name in TREE.nodes[1:]:
        centres[name] = centres[name] + centres[TREE.parents(name)[0]]
    points = [sum(centres[name] for name in (row if isinstance(row, list) else [row])) for row in labels]
    return np.round(np.array(points) + noise * rng.normal(size=(len(labels), 6)), 3)


def starter(taxonomy: Taxonomy | None = None, **parameters: Any) -> TaxonomyClassifier:
    return TaxonomyClassifier(taxonomy, random_state=0, **parameters)


SETS = [sorted({LEAVES[k % 5], LEAVES[(k * k + 1) % 5]}) for k in range(20)]
CASES = {
    "tree": (TREE, LEAVES * 3),
    "dag, inner labels": (DAG, ["cat", "lion", "fox", "dog"] * 3),
    "two classes": (None, ["lion", "fox"] * 4),
    "several labels": (TREE, SETS),
    "single rows": (TREE, LEAVES),
}


@pytest.mark.parametrize("case", CASES)
def test_the_contract_of_all_methods(case: str) -> None:
    taxonomy, y = CASES[case]
    check_method(starter(taxonomy), rows(y), y)


def noisy(noise: float = 1.6) -> tuple[Any, list[str]]:
    y = LEAVES * 24
    return rows(y, noise), y


def test_all_answers_are_those_of_the_chosen_method() -> None:
    X, y = noisy()
    model = starter(TREE).fit(X, y)
    chosen = model.estimator_
    by_hand = clone(chosen).set_params(probability=False, decision="best").fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), by_hand.decision_function(X))
    assert model.trials_.best.C == chosen.C
    assert model.decision_ == chosen.decision == model.trials_.best.decision
    np.testing.assert_array_equal(model.predict(X), chosen.predict(X))
    np.testing.assert_array_equal(
        model.predict(X, decision="tree_loss"), chosen.predict(X, decision="tree_loss")
    )
    np.testing.assert_array_equal(model.predict_proba(X), chosen.predict_proba(X))
    np.testing.assert_array_equal(model.node_proba(X, ["cat"]), chosen.node_proba(X, ["cat"]))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.certificate_.holds(model.tol)
    assert model.score(X, y) == chosen.score(X, y)


def test_how_clear_the_choice_must_be_is_said() -> None:
    """A hundredth better on rows that do not agree is not clear, and enough where none need be."""
    rng = np.random.default_rng(0)
    parts = rng.normal(size=200)
    plain, better = (
        Score(0.5 + gain, lambda gain=gain: parts * (1.0 + gain), np.ones(200)) for gain in (0.0, 0.01)
    )
    attempts = Attempt(0, 1.0), Attempt(1, 1.0)
    options = [Option(attempts[0], "best", plain, None), Option(attempts[1], "probable", better, None)]
    for clear, taken in ((0.0, attempts[1]), (1e6, attempts[0])):
        rule = Choice(("best", "probable"), lambda attempt: attempt is attempts[0], clear)
        assert rule.of(options, few=False).attempt is taken
        assert rule.of(options, few=True).attempt is attempts[0]


def test_several_labels_take_the_best_mean_of_f1(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    class Asked(Choice):
        def __init__(self, decisions: Any, plain: Any, clear: float) -> None:
            asked.append(clear)
            super().__init__(decisions, plain, clear)

    monkeypatch.setattr(search, "Choice", Asked)
    starter(TREE).fit(rows(SETS), SETS)
    starter(TREE, scoring="example_f1").fit(rows(SETS), SETS)
    assert asked == [0.0, 2.0]


def test_the_choice_is_that_of_the_rule() -> None:
    """The rule, written anew from the table of trials and the answers of all attempts."""
    X, y = noisy(2.5)
    raced: list[Any] = []
    race_of = TaxonomyClassifier._race

    class Watched(TaxonomyClassifier):
        def _race(self, *arguments: Any) -> Any:
            raced.append(race_of(self, *arguments))
            return raced[-1]

    model = Watched(TREE, random_state=0).fit(X, y)
    race, truth = raced[0], np.array(y)
    held = np.concatenate([fold[0] for fold in race._folds[: race.n_folds]])
    tried = [
        (one, decision, np.concatenate([one.answers[fold][decision] for fold in range(race.n_folds)]))
        for one in race.attempts
        if one.n_folds == race.n_folds
        for decision in race.decisions
    ]
    right = [np.asarray(answers == truth[held], dtype=float) for _, _, answers in tried]
    loss = [TREE.distance(TREE.ids_of(list(truth[held])), TREE.ids_of(list(one[2]))) / 2 for one in tried]

    def error(a: Any, b: Any) -> float:
        return float(np.std(a - b) / np.sqrt(len(held)))

    def nearly_best(some: list[int]) -> int:
        top = max(some, key=lambda k: right[k].mean())
        near = [k for k in some if right[top].mean() - right[k].mean() <= error(right[top], 0)]
        near = [k for k in near if right[safe].mean() - right[k].mean() <= error(right[safe], right[k])]
        assert len(near) > 1
        return min(near, key=lambda k: loss[k].mean())

    flat = [j for j, one in enumerate(tried) if race._is_plain(one[0])]
    safe = max((j for j in flat if tried[j][1] == "best"), key=lambda j: (right[j].mean(), -loss[j].mean()))
    wanted = safe
    for some in (flat, list(range(len(tried)))):  # the last that beats the safe one
        k = nearly_best(some)
        beaten = right[k].mean() - right[safe].mean() >= 2 * error(right[k], right[safe]) > 0
        beaten |= loss[safe].mean() - loss[k].mean() >= 2 * error(loss[k], loss[safe]) > 0
        wanted = k if beaten else wanted
    assert right[wanted].mean() == pytest.approx(model.trials_.best.accuracy)
    assert loss[wanted].mean() == pytest.approx(model.trials_.best.tree_loss)
    chosen = next(
        one
        for one in race.attempts
        if (race.title(one), one.C) == (model.trials_.best.title, model.trials_.best.C)
    )
    slopes = [link.slope for link in chosen.links]
    assert model.calibration_.slope == pytest.approx(np.mean(slopes))


def test_flat_unless_few_rows_tell_more() -> None:
    """Rows of noise tell nothing, be they few or many."""
    y = LEAVES * 40
    noise = np.random.default_rng(0).normal(size=(200, 30))
    for X in (noise[:15], noise):
        model = starter(TREE).fit(X, y[: len(X)])
        assert type(model.estimator_).__name__.startswith("OneVsRest")
        assert model.decision_ == "best"


@pytest.mark.parametrize("scoring", SCORINGS)
def test_every_metric_is_scored_by(scoring: str) -> None:
    X, y = noisy()
    model = starter(TREE, scoring=scoring).fit(X[:10], y[:10])
    assert model.trials_.metric == scoring
    assert scoring in ("accuracy", "tree_loss") or np.isfinite(model.trials_.best.score)


@pytest.mark.parametrize("scoring", ["accuracy", "tree_loss", "macro_f1"])
def test_a_score_is_that_of_the_metric_and_pairs_rows(scoring: str) -> None:
    rng = np.random.default_rng(3)
    truth, one, other = (np.array(LEAVES)[rng.integers(0, 5, 200)] for _ in range(3))
    measure = Measure(scoring, TREE)
    assert measure(truth, one).value == pytest.approx(getattr(metrics, scoring)(truth, one, TREE))
    assert measure(truth, one).errors_below(measure(truth, one)) == -np.inf
    worse, better = sorted((measure(truth, one), measure(truth, other)), key=lambda s: s.sign * s.value)
    assert worse.errors_below(better) < 3.0  # random answers both
    assert worse.errors_below(measure(truth, truth)) > 5.0


def test_example_f1_by_rows_is_the_metric() -> None:
    found = [SETS[(3 * k) % 20] for k in range(19)] + [[]]
    assert Measure("example_f1", TREE)(SETS, found).value == pytest.approx(
        metrics.example_f1(SETS, found, TREE)
    )


def test_a_row_of_weight_two_is_two_rows() -> None:
    parts, weight = [np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0])], np.array([2.0, 1.0, 1.0])
    one, other = (Score(float(weight @ p / 4), lambda p=p: p, weight) for p in parts)
    twice = [Score(s.value, lambda s=s: s.parts[[0, 0, 1, 2]], np.ones(4)) for s in (one, other)]
    assert other.errors_below(one) == twice[1].errors_below(twice[0])


def test_saved_with_its_trials(tmp_path: Path) -> None:
    X, y = noisy()
    model = starter(TREE, scoring="hierarchical_f1", max_seconds=100.0).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.trials_.to_text() == model.trials_.to_text()
    assert again.scoring == "hierarchical_f1"
    assert again.taxonomy == TREE
    assert (again.decision_, again.trials_.n_held_out) == (model.decision_, model.trials_.n_held_out)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("change", ["chosen", "tried", "row", "method"])
def test_damaged_trials_are_told(change: str, tmp_path: Path) -> None:
    X, y = noisy()
    starter(TREE).fit(X[:20], y[:20]).save(tmp_path)
    file = tmp_path / "model.json"
    stored = json.loads(file.read_text())
    text = json.dumps(stored)
    changed = {
        "chosen": text.replace('"chosen": ', '"chosen": 99'),
        "tried": text.replace('"tried": [', '"tried": [3, '),
        "row": text.replace('"tried": [[0,', '"tried": [["0",'),
        "method": text.replace('"method": "OneVsRest', '"method": "TwoVsRest').replace(
            '"method": "Norm', '"method": "TwoNorm'
        ),
    }[change]
    assert changed != text
    file.write_text(changed)
    with pytest.raises(ModelError, match="cannot load a model"):
        load(tmp_path)


def test_of_few_rows_only_what_may_be_chosen_is_tried() -> None:
    """Below a hundred held-out rows a plain method is chosen, whatever the others say: they are not even fitted."""
    X, y = noisy()
    few, more = starter(TREE).fit(X[:60], y[:60]), starter(TREE).fit(np.vstack([X, X]), y + y)
    assert {trial.decision for trial in few.trials_.trials} == {"best"}
    titles = {trial.title.split("(")[0] for trial in few.trials_.trials}
    assert titles == {"OneVsRestSVM", "RecursiveLogistic"}
    both = {"accuracy_and_f1", "accuracy_and_tree_loss"}
    decided = {"best", *both, *(f"mostly_{one}" for one in both), "hierarchical_f1", "tree_loss"}
    assert {trial.decision for trial in more.trials_.trials} == decided


def test_labels_that_spell_the_taxonomy_and_sparse_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_FEW_ROWS", 0)
    X, y = noisy()
    spelt = ["/".join(map(str, TREE.shown_path(name))) for name in y]
    model = starter().fit(sp.csr_array(X), spelt)
    assert model.taxonomy_ is not None
    assert model.taxonomy is None
    assert any(trial.decision == "tree_loss" for trial in model.trials_.trials)


def test_little_time_is_enough_for_an_answer() -> None:
    X, y = noisy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = starter(TREE, max_seconds=1e-3).fit(X, y)
    assert len({trial.C for trial in model.trials_.trials}) == 1
    assert model.predict(X).shape == (120,)


def test_the_last_fit_keeps_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first trial may take half of the time, later ones what is left when twice the longest fit is kept."""
    X, y = noisy()
    limits: list[Any] = []
    tried = search.Race._try

    def watched(race: Any, attempt: Any, fold: int, model: Any, max_seconds: Any = None) -> Any:
        limits.append(max_seconds)
        found = tried(race, attempt, fold, model, max_seconds)
        assert found.max_seconds == max_seconds
        return found

    monkeypatch.setattr(search.Race, "_try", watched)
    model = starter(TREE, max_seconds=1000.0).fit(X, y)
    assert limits[0] <= 500.0
    assert 500.0 < max(limits) < 1000.0
    assert 500.0 < model.estimator_.max_seconds < 1000.0

    budget = Budget(100.0)
    assert budget.share(1) == pytest.approx(50.0, abs=1.0)
    for seconds, rest in ((10.0, 80.0), (20.0, 60.0), (1.0, 60.0)):
        budget.one_fit(seconds)
        assert budget.share(1) == pytest.approx(rest, abs=1.0)
        assert (budget.allows(rest - 1.0), budget.allows(rest + 1.0)) == (True, False)


def test_a_budget_of_flat_fits() -> None:
    budget = Budget(None)
    budget.first_fit(100.0)
    assert budget.allows(700.0)
    assert not budget.allows(900.0)


def test_single_rows_have_no_probabilities() -> None:
    model = starter(TREE).fit(rows(LEAVES), LEAVES)
    assert model.trials_.trials == []
    assert not hasattr(model, "predict_proba")


def test_several_labels_are_calibrated_and_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_FEW_ROWS", 0)
    y = SETS * 3
    model = starter(TREE).fit(rows(y), y)
    decided = {"best", "hierarchical_f1", "probable", "label_f1"}
    assert {trial.decision for trial in model.trials_.trials} == decided
    closed = [sorted({node for name in row for node in TREE.path(name)}) for row in y]
    whole = starter(TREE).fit(rows(y), closed)
    assert {trial.decision for trial in whole.trials_.trials} == decided - {"label_f1"}
    assert model.trials_.metric == BALANCED
    p = model.predict_proba(rows(y))
    assert p.shape == (60, 5)
    assert (p.min() >= 0.0, p.max() <= 1.0) == (True, True)
    assert metrics.example_f1(y, model.predict(rows(y)), TREE) > 0.8


def test_lists_of_one_label_are_answered_in_kind() -> None:
    y = [[name] for name in LEAVES * 4]
    model = starter(TREE).fit(rows(y), y)
    assert model.predict(rows(y)) == model.estimator_.predict(rows(y))
    assert all(isinstance(row, list) for row in model.predict(rows(y)))


def test_bad_parameters_are_told() -> None:
    X, y = noisy()
    for given, told in (({"scoring": "best"}, "scoring='best' is not known"), ({"tol": 0}, "tol=0")):
        with pytest.raises(DataError, match=told):
            starter(TREE, **given).fit(X, y)
    with pytest.raises(DataError, match="needs a taxonomy"):
        starter(scoring="tree_loss").fit(X, y)


def test_texts_without_a_method() -> None:
    texts = ["left femur", "right femur broken", "burnt skin", "itching skin"] * 4
    model = TextClassifier(random_state=0).fit(texts, ["bone", "bone", "skin", "skin"] * 4)
    assert isinstance(model.estimator_, TaxonomyClassifier)
    assert model.predict(["the femur"]).tolist() == ["bone"]
    assert model.predict_proba(["the femur"]).argmax() == 0


def test_links_of_folds_are_pooled() -> None:
    rng = np.random.default_rng(0)
    targets = sp.csr_array(rng.random((40, 3)) < 0.4)
    links = [fit_link(rng.normal(size=(40, 3)), targets, np.ones(40), True) for _ in range(2)]
    pooled = pooled_link(links, 3, True)
    np.testing.assert_allclose(pooled.slopes, (links[0].slopes + links[1].slopes) / 2)  # type: ignore[union-attr]


def test_few_rows_of_each_class_are_held_out_by_turns_one_of_each() -> None:
    rng = np.random.default_rng(0)
    problem = make_problem(rng.normal(size=(12, 2)), list("abcd") * 3)
    parts = held_out_parts(problem, 0.2, 0)
    assert len(parts) == 3
    for held, kept in parts:
        assert sorted(np.array(list("abcd") * 3)[held]) == list("abcd")
        assert sorted([*held, *kept]) == list(range(12))


def test_trials_weigh_classes_as_all_rows_do() -> None:
    X, y = np.arange(7.0)[:, None], np.array(list("aaaabbb"))
    problem = make_problem(X, y)
    kept = np.array([0, 4, 5, 6])  # three of the four rows of a are held out
    labels, folds = RowLabels(problem, y, several=False), [(np.array([1, 2, 3]), kept)]
    race = Race(
        problem, labels, folds, [Candidate(OneVsRestSVM())], ("best",), Measure("accuracy", None), None
    )
    np.testing.assert_allclose(race._kept_weight(kept), np.array([4.0, 1.0, 1.0, 1.0]) * 4 / 7)


def test_thresholds_of_several_labels_are_tuned_and_stored(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = [
        [name for k, name in enumerate("abc") if row[k] > 0.8] or ["d"]
        for row in X + rng.normal(size=X.shape)
    ]
    model = TaxonomyClassifier(decision="best", scoring="micro_f1", random_state=0).fit(X, y)
    thresholds = model.decoder_.thresholds
    assert len(set(thresholds.tolist())) == 1
    assert thresholds[0] != 0.0
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X) == model.predict(X)


def test_classes_without_rows_are_left_out() -> None:
    X, y = noisy()
    wide = Taxonomy.from_edges([*TREE.edges, ("dog", "y")])
    with pytest.warns(EmptyClassWarning, match="'y'"):
        model = starter(wide).fit(X, y)
    assert "y" not in model.classes_.tolist()
    drop = NormalizedHierarchicalSVM(wide, empty_classes="drop", random_state=0)
    with pytest.warns(EmptyClassWarning, match="'y'"):
        drop.fit(X, y)
    assert "y" not in drop.classes_.tolist()
    assert "y" in NormalizedHierarchicalSVM(wide, random_state=0).fit(X, y).classes_.tolist()


def found_sets(seed: int) -> list[list[str]]:
    """Label sets with some labels lost and some added."""
    rng = np.random.default_rng(seed)
    return [sorted({name for name in row if rng.random() < 0.8} | {str(rng.choice(LEAVES))}) for row in SETS]


@pytest.mark.parametrize("taxonomy", [TREE, DAG, None])
def test_the_balanced_f1_is_the_geometric_mean_of_the_four(taxonomy: Taxonomy | None) -> None:
    found, weight = found_sets(1), np.random.default_rng(2).integers(1, 4, len(SETS)).astype(float)
    names = ["example_f1", "micro_f1", "macro_f1"] + ["hierarchical_f1"] * (taxonomy is not None)

    def mean(rows: Any) -> float:
        true, answers = [SETS[k] for k in rows], [found[k] for k in rows]
        values = [getattr(metrics, one)(true, answers, taxonomy, sample_weight=weight[rows]) for one in names]
        assert len(set(values)) == len(names)  # none stands for another
        return float(np.exp(np.mean(np.log(values))))

    every = np.arange(len(SETS))
    score = Measure(BALANCED, taxonomy)(SETS, found, weight)
    assert score.value == pytest.approx(mean(every))
    without = [mean(every[every % 10 != k]) for k in range(10)]
    np.testing.assert_allclose(score.parts, 10 * score.value - 9 * np.array(without))


def test_answers_that_are_all_wrong_have_no_balanced_f1() -> None:
    assert Measure(BALANCED, TREE)([["lion"], ["fox"]], [["moss"], ["moss"]]).value == 0.0


def test_rare_labels_are_not_given_for_frequent_ones() -> None:
    """One option has a little more example-F1, and answers no rare label: it had been chosen by example-F1."""
    truth = [["lion"]] * 80 + [["lynx"], ["wolf"], ["fox"], ["moss"]] * 10
    frequent = [["lion"]] * 120
    both = [["lion"]] * 65 + [["moss"]] * 15 + [["lynx"], ["wolf"], ["fox"], ["moss"]] * 3 + [["lion"]] * 28

    def option(number: int, found: list[list[str]], scoring: str) -> Option:
        return Option(Attempt(number, 1.0), "best", Measure(scoring, TREE)(truth, found), None)

    rule = Choice(("best",), lambda attempt: True)
    for scoring, chosen in (("example_f1", 0), (BALANCED, 1)):
        options = [option(0, frequent, scoring), option(1, both, scoring)]
        assert rule.of(options, few=False).attempt.candidate == chosen


@pytest.mark.parametrize(
    ("labels", "scoring", "told", "second"),
    [
        ("one", None, "accuracy", "tree_loss"),
        ("one", "macro_f1", "macro_f1", "tree_loss"),
        ("several", None, BALANCED, None),
        ("several", "example_f1", "example_f1", "macro_f1"),
    ],
)
def test_what_counts_first_and_second(
    labels: str, scoring: str | None, told: str, second: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    y: Any = SETS if labels == "several" else [row[0] for row in SETS]
    races = []
    run = Race.run
    monkeypatch.setattr(Race, "run", lambda race, budget: (races.append(race), run(race, budget))[1])
    model = starter(TREE, scoring=scoring).fit(rows(y), y)
    assert model.trials_.metric == told
    assert races[0].measure.name == told
    assert (None if races[0]._second is None else races[0]._second.name) == second


LOSS = {(a, b): metrics.tree_loss([a], [b], TREE) for a in LEAVES for b in LEAVES}


@pytest.mark.parametrize("seed", range(200))
def test_the_rule_for_one_label_is_that_of_its_twin(seed: int) -> None:
    """The definition with all differences taken row by row, on random answers."""
    rng = np.random.default_rng(seed)
    n = 60
    truth = rng.choice(LEAVES, n)
    first, second = Measure("accuracy", TREE), Measure("tree_loss", TREE)
    options, hits, losses = [], [], []
    for number in range(4):
        right = rng.random(n) < rng.uniform(0.5, 0.8)
        for decision in ("best", "tree_loss"):
            answers = np.where(right & (rng.random(n) < 0.97), truth, rng.choice(LEAVES, n))
            options.append(
                Option(Attempt(number, 1.0), decision, first(truth, answers), second(truth, answers))
            )
            hits.append((truth == answers).astype(float))
            losses.append(np.array([LOSS[pair] for pair in zip(truth, answers, strict=True)]))
    plain = [k for k in range(8) if options[k].attempt.candidate < 2]

    def error(parts: Any) -> float:
        return float(np.std(parts) / np.sqrt(n))

    def below(parts: Any, others: Any) -> float:
        behind = np.mean(others) - np.mean(parts)
        if behind <= 1e-12:
            return -np.inf
        return float(behind / error(others - parts))

    safe = min((k for k in plain if k % 2 == 0), key=lambda k: (-hits[k].sum(), losses[k].sum(), k))
    expected = safe
    for some in (range(8), plain):
        some = [k for k in some if hits[k].sum() >= hits[safe].sum()]
        top = max(some, key=lambda k: hits[k].sum())
        near = [k for k in some if below(hits[k], hits[top]) <= 1.0]
        taken = min(near, key=lambda k: (round(losses[k].sum(), 9), -hits[k].sum(), k))
        if below(hits[safe], hits[taken]) >= 2.0 or below(-losses[safe], -losses[taken]) >= 2.0:
            expected = taken
            break
    rule = Choice(("best", "tree_loss"), lambda attempt: attempt.candidate < 2)
    assert rule.of(options, few=False) is options[expected]


def test_not_below_the_flat_one_nor_clearly_below_the_best() -> None:
    """One standard error of the best alone is about five rows here; what counts is that of the difference."""
    truth = np.array(["lion"] * 100)

    def option(number: int, right: list[int], wrong: str) -> Option:
        answers = np.where(np.isin(np.arange(100), right), truth, wrong)
        return Option(
            Attempt(number, 1.0),
            "best",
            Measure("accuracy", TREE)(truth, answers),
            Measure("tree_loss", TREE)(truth, answers),
        )

    rule = Choice(("best",), lambda attempt: attempt.candidate == 0)
    flat, best = option(0, list(range(50)), "wolf"), option(1, list(range(60)), "wolf")
    nearer = option(2, list(range(4, 63)), "lynx")  # one row below the best, seven rows differ
    assert rule.of([flat, best, nearer], few=False) is nearer
    fewer = option(2, list(range(4, 60)), "lynx")  # four rows below, and only these differ
    assert rule.of([flat, best, fewer], few=False) is best
    below = option(2, list(range(2, 51)), "lynx")  # one row below the flat one, three rows differ
    assert rule.of([flat, below], few=False) is flat
