"""Methods that answer together: sums of scores, sums of bounds, and when a search takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import taxolearn
from taxolearn import (
    MulticlassSVM,
    NormalizedHierarchicalSVM,
    OneVsRestSVM,
    RecursiveLogistic,
    Taxonomy,
    TaxonomyClassifier,
)
from taxolearn.decoders import Temperature
from taxolearn.errors import DataError, LabelError, ModelError
from taxolearn.methods.held_out import held_out_parts
from taxolearn.problem import make_problem
from taxolearn.selection import Blend, search, taxonomy_classifier
from taxolearn.selection.attempts import Attempt, Candidate, Option
from taxolearn.selection.blend import joined_certificate, member_of
from taxolearn.selection.budget import Budget
from taxolearn.selection.choosing import Choice
from taxolearn.selection.measures import Measure
from taxolearn.selection.row_labels import RowLabels
from taxolearn.testing import check_method

TREE = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog/wolf", "all/dog/fox", "all/moss"])
DAG = Taxonomy.from_edges([*TREE.edges, ("dog", "lynx")])
LEAVES = [TREE.name_of(node) for node in TREE.leaf_ids]
MEMBERS: Any = [
    ("OneVsRestSVM", {"C": 0.5}),
    ("RecursiveLogistic", {"loss": "softmax", "C": 3.0, "intercept_scaling": 2.0}),
]


def rows(labels: list[str], noise: float = 0.5, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    centres = {name: rng.normal(size=6) for name in TREE.nodes}
    for name in TREE.nodes[1:]:
        centres[name] = centres[name] + centres[TREE.parents(name)[0]]
    return np.round(
        np.array([centres[name] for name in labels]) + noise * rng.normal(size=(len(labels), 6)), 3
    )


Y = LEAVES * 6
X = rows(Y)


def blend(taxonomy: Taxonomy | None = TREE, **parameters: Any) -> Blend:
    return Blend(taxonomy, members=MEMBERS, shares=[1.5, 0.5], random_state=0, **parameters)


@pytest.mark.parametrize("taxonomy", [TREE, DAG, None], ids=["tree", "dag", "none"])
@pytest.mark.parametrize("probability", [False, True])
def test_the_contract_of_all_methods(taxonomy: Taxonomy | None, probability: bool) -> None:
    check_method(blend(taxonomy, probability=probability), X, Y)


def test_labels_at_inner_nodes_and_sparse_members() -> None:
    y = ["cat", "lion", "fox", "dog", "moss"] * 6
    check_method(blend(), rows(y), y)
    y = Y
    wide = sp.csr_array((np.ones(len(y)), (np.arange(len(y)), np.arange(len(y)) * 7)), shape=(len(y), 400))
    model = blend(tol=1e-9).fit(wide, y)
    assert model.vectors_.n_features == 400
    members = [model_of(name, parameters).set_params(tol=1e-9).fit(wide, y) for name, parameters in MEMBERS]
    expected = sum(
        share * one.decision_function(wide) for share, one in zip(model.shares, members, strict=True)
    )
    np.testing.assert_allclose(model.decision_function(wide), expected, atol=1e-4)


def model_of(name: str, parameters: dict[str, Any]) -> Any:
    return getattr(taxolearn, name)(TREE, random_state=0, tol=1e-3, **parameters)


def test_scores_and_bounds_are_those_of_the_members_added_up() -> None:
    model = blend().fit(X, Y)
    members = [model_of(name, parameters).fit(X, Y) for name, parameters in MEMBERS]
    scores = 1.5 * members[0].decision_function(X) + 0.5 * members[1].decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)
    assert model.predict(X).tolist() == model.classes_[scores.argmax(axis=1)].tolist()
    for end in ("primal", "dual", "upper", "lower"):
        total = sum(getattr(one.certificate_, end) for one in members)
        assert getattr(model.certificate_, end) == pytest.approx(total, rel=1e-12)
    assert model.certificate_.holds(1e-3)


def test_probabilities_are_the_geometric_mean_of_the_members() -> None:
    model = blend().fit(X, Y)
    model.set_params(probability=True).calibration_ = Temperature(1.0)
    ours = model.predict_proba(X)
    members = [model_of(name, parameters).fit(X, Y) for name, parameters in MEMBERS]
    logs = sum(  # calibrated by slopes 3 and 1, and two of them
        0.5 * np.log(Temperature(slope).probabilities(one.decision_function(X)))
        for slope, one in zip((3.0, 1.0), members, strict=True)
    )
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ours, expected, atol=1e-9)


def test_a_certificate_is_open_where_one_of_them_is() -> None:
    from taxolearn.certificates import Certificate
    from taxolearn.solvers import Status

    closed = Certificate(np.array([1.0]), np.array([1.0]), Status.CONVERGED, primal_error=1e-3)
    open_one = Certificate(
        np.array([3.0, 1.0]), np.array([2.0, 1.0]), Status.TIME_LIMIT, primal_error=2e-3, dual_error=1e-2
    )
    both = joined_certificate([closed, open_one], 1e-3)
    assert (both.primal, both.dual, both.primal_error, both.dual_error) == (5.0, 4.0, 3e-3, 1e-2)
    assert both.status is Status.TIME_LIMIT
    assert not both.holds(0.1)


def test_what_blends_with_nothing_is_told() -> None:
    for members, shares, message in (
        ([], [], "a blend has members and as many shares, not 0 and 0"),
        (MEMBERS, [1.0], "not 2 and 1"),
        (MEMBERS, [1.0, 0.0], "share=0.0 is not allowed"),
        ([("TopDownSVM", {})], [1.0], "TopDownSVM has a kernel, or does not answer by the best score"),
        ([("OneVsRestSVM", {"kernel": "rbf", "landmarks": 3})], [1.0], "blends with none"),
        ([("OneVsRestSVM", {"C": -1.0})], [1.0], "C=-1.0 is not allowed"),
        ([("LinearSVC", {})], [1.0], "no method is called 'LinearSVC'"),
        (
            [("OneVsRestSVM", {"depth": 3})],
            [1.0],
            "a member of a blend is the name of a method and its parameters",
        ),
        (["OneVsRestSVM"], [1.0], "a member of a blend is the name of a method and its parameters"),
        ([("OneVsRestSVM", 3)], [1.0], "a member of a blend is the name of a method and its parameters"),
    ):
        with pytest.raises(DataError, match=message):
            Blend(members=members, shares=shares).fit(X, Y)
    with pytest.raises(LabelError, match="one label per row"):
        Blend(members=[("MulticlassSVM", {})], shares=[1.0]).fit(
            X, [[a, b] for a, b in zip(Y, Y[1:] + Y[:1], strict=True)]
        )


def test_members_are_written_by_name_and_by_what_is_not_as_ever() -> None:
    made = NormalizedHierarchicalSVM(TREE, C=2.0, tol=0.1, n_jobs=2, empty_classes="drop", probability=True)
    assert member_of(made) == ("NormalizedHierarchicalSVM", {"C": 2.0, "empty_classes": "drop"})
    assert member_of(MulticlassSVM()) == ("MulticlassSVM", {})


def raced(**parameters: Any) -> search.Race:
    y = LEAVES * 60
    points = rows(y, 1.5)
    problem = make_problem(points, y, TREE)
    candidates = [
        Candidate(OneVsRestSVM(TREE), 1.0, plain=True),
        Candidate(RecursiveLogistic(TREE, loss="softmax"), 1.0),
        Candidate(OneVsRestSVM(TREE, kernel="rbf", landmarks=20), 1.0),
    ]
    folds = held_out_parts(problem, 0.2, 0, enough=100)
    race = search.Race(
        problem,
        RowLabels(problem, y, several=False),
        folds,
        candidates,
        ("best", "tree_loss"),
        Measure("accuracy", TREE),
        Measure("tree_loss", TREE),
        **parameters,
    )
    race.run(Budget(None, small=True))
    return race


def test_a_search_blends_the_best_of_two_candidates() -> None:
    told: list[str] = []
    race = raced(on_trial=lambda attempt, name, score: told.append(name))
    (found,) = [one for one in race.attempts if one.of]
    assert told[-1] == race.title(found)
    assert [one.candidate for one in found.of] in ([0, 1], [1, 0])
    for one in found.of:
        rivals = [other for other in race.attempts if other.candidate == one.candidate and not other.of]
        assert all(race._best(one).better(race._best(other)) >= 0.0 for other in rivals)
    made = race.estimator(found)
    assert isinstance(made, Blend)
    assert [name for name, _ in made.members] == [type(race.estimator(one)).__name__ for one in found.of]
    # its answers on held-out rows are those of the members' scores added up
    for fold, (held, kept) in enumerate(race._folds[: race.n_folds]):
        weight = race._kept_weight(kept)
        scores: Any = 0.0
        for share, one in zip(made.shares, found.of, strict=True):
            member = race.estimator(one).set_params(tol=1e-2)
            model = member.fit(race._problem.X[kept], race._labels[kept], sample_weight=weight)
            scores = scores + share * model.decision_function(race._problem.X[held])
        answers = model.classes_[scores.argmax(axis=1)]
        assert np.mean(answers == found.answers[fold]["best"]) > 0.95  # warm starts end elsewhere in the gap


def test_what_a_search_chose_is_fitted_saved_and_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = LEAVES * 60
    points = rows(y, 1.5)
    monkeypatch.setattr(
        search.Race, "choice", lambda race: next(one for one in race.options() if one.attempt.of)
    )
    monkeypatch.setattr(
        taxonomy_classifier,
        "starting_candidates",
        lambda taxonomy, several, problem, **given: [
            Candidate(OneVsRestSVM(taxonomy, **given), 1.0, plain=True),
            Candidate(RecursiveLogistic(taxonomy, loss="softmax", **given), 1.0),
        ],
    )
    model = TaxonomyClassifier(TREE, random_state=0).fit(points, y)
    assert isinstance(model.estimator_, Blend)
    assert " + " in model.trials_.best.title
    assert model.certificate_.holds(model.tol)
    assert model.score(points, y) > 0.6
    np.testing.assert_allclose(model.predict_proba(points).sum(axis=1), 1.0)
    model.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(points), model.predict_proba(points))
    assert loaded.estimator_.get_params()["shares"] == list(model.estimator_.shares)
    assert loaded.explain(points[0]).to_text() == model.explain(points[0]).to_text()
    moved = Taxonomy.from_edges([("dog", "moss") if b == "moss" else (a, b) for a, b in TREE.edges])
    for one in (model, loaded):
        migrated = one.migrate(points, y, moved)
        assert migrated.started == "from zero"
        assert migrated.model.score(points, y) > 0.6
        assert ("all", "dog", "moss") in migrated.model.predict_path(points)
    assert loaded.calibrate(points, y).predict(points[:3], coverage=0.9).shape == (3,)


def test_damaged_members_are_told() -> None:
    model = blend().fit(X, Y)
    header, arrays = model._pack()
    header["params"]["members"] = [["TaxonomyClassifier", {}]]
    header["params"]["shares"] = [1.0]
    with pytest.raises(ModelError, match="no method is called 'TaxonomyClassifier'"):
        Blend._unpack(header, arrays, True)
    header["params"]["members"] = [["OneVsRestSVM", {"depth": 3}]]
    with pytest.raises(ModelError, match="a member of a blend is the name of a method and its parameters"):
        Blend._unpack(header, arrays, True)


def test_pairs_are_of_the_best_candidates_alone() -> None:
    from taxolearn.selection.blending import pairs

    attempts = [Attempt(number, 4.0**number, gap=0.1 * number, certified=number < 2) for number in range(5)]
    found = pairs(attempts, 9, lambda one: one.candidate in (1, 3))
    assert [tuple(one.candidate for one in two.of) for two in found] == [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert [two.candidate for two in found] == list(range(9, 13))
    assert found[0].certified
    assert not found[1].certified
    assert found[1].gap == pytest.approx(0.3)


def test_a_blend_is_taken_where_it_is_clearly_better_than_each_alone() -> None:
    truth = np.array(["lion"] * 200)
    accuracy, loss = Measure("accuracy", TREE), Measure("tree_loss", TREE)

    def option(number: int, right: int, near: int, *of: Option) -> Option:
        """`right` rows are, `near` of the others are near."""
        answers = np.array(["lion"] * right + ["lynx"] * near + ["wolf"] * (200 - right - near))
        attempt = Attempt(number, 1.0, of=tuple(one.attempt for one in of))
        return Option(attempt, "best", accuracy(truth, answers), loss(truth, answers))

    rule = Choice(("best",), lambda attempt: attempt.candidate == 0)
    flat, tree = option(0, 100, 0), option(1, 120, 10)
    alone = [flat, tree]
    assert rule.of(alone, few=False) is tree
    better, nearer, hardly = (option(5, *counts, *alone) for counts in ((130, 10), (120, 40), (121, 10)))
    assert rule.of([*alone, better], few=False) is better
    assert rule.of([*alone, nearer], few=False) is nearer
    assert rule.of([*alone, hardly], few=False) is tree  # by one row, which is one standard error
    assert rule.of([*alone, better], few=True) is flat
    assert rule.of([*alone, option(5, 99, 90, *alone)], few=False) is tree  # below the flat one
