"""The choice of features: answers without a row against learning anew, the default that must be beaten, all labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from taxolearn import NormalizedHierarchicalSVM, OneVsRestSVM, Taxonomy, TextClassifier
from taxolearn.errors import DataError, LabelError
from taxolearn.text import TextFeatures, mixture
from taxolearn.text.held_out import HeldOut, split
from taxolearn.text.judged_rows import judged_rows
from taxolearn.text.label_texts import LabelRows
from taxolearn.text.leave_one_out import LeaveOneOut, left_out_scores
from taxolearn.text.mixture import Trial, choose_mixture, rounds
from taxolearn.text.parts import Parts

WORDS = {
    "bone": "femur tibia rib hip spine",
    "skin": "rash itch acne burn mole",
    "eye": "iris lens tear lid sight",
}
RANDOM = np.random.RandomState(0)
TEXTS = [" ".join(RANDOM.choice(WORDS[name].split(), 2)) for _ in range(14) for name in WORDS]
LABELS = list(WORDS) * 14
ABOUT = LabelRows(["the bones", "the skin", "an eye"], list(WORDS))


@pytest.mark.parametrize("C", [0.5, 10.0])
def test_scores_without_a_row_are_those_of_a_model_learned_without_it(C: float) -> None:
    random = np.random.RandomState(1)
    X, targets = random.normal(size=(9, 4)), np.where(random.rand(9, 3) < 0.4, 1.0, -1.0)
    weights = random.uniform(0.3, 2, 9)
    found = left_out_scores(X @ X.T, targets, weights, C)
    for row in range(9):
        rest = np.arange(9) != row
        matrix = X[rest].T @ (weights[rest, None] * X[rest]) + np.eye(4) / (2 * C)
        vectors = np.linalg.solve(matrix, X[rest].T @ (weights[rest, None] * (targets[rest] + 1)))
        np.testing.assert_allclose(found[row], X[row] @ vectors - 1, atol=1e-10)


@pytest.mark.parametrize("n_rows", [127, 300])
def test_scores_of_many_rows_without_each_are_those_of_the_formula(n_rows: int) -> None:
    random = np.random.RandomState(2)
    X, targets = random.normal(size=(n_rows, 7)), np.where(random.rand(n_rows, 3) < 0.4, 1.0, -1.0)
    inverse = np.linalg.inv(X @ X.T + np.eye(n_rows) / 2)
    wanted = targets - inverse @ (targets + 1) / np.diag(inverse)[:, None]
    np.testing.assert_allclose(left_out_scores(X @ X.T, targets, np.ones(n_rows)), wanted, atol=1e-9)


def test_scores_are_finite_where_next_to_nothing_is_added_to_the_products() -> None:
    X = np.repeat(np.random.RandomState(3).normal(size=(5, 2)), 8, axis=0)
    found = left_out_scores(X @ X.T, np.where(np.arange(40)[:, None] < 20, 1.0, -1.0), np.ones(40), C=1e18)
    assert np.isfinite(found).all()


def test_right_is_the_share_of_labels_among_as_many_best_scores() -> None:
    y = [{"bone", "skin"}, {"eye"}, {"skin"}, {"bone", "eye", "skin"}, {"eye"}, {"bone"}] * 4
    judge = LeaveOneOut(judged_rows(TEXTS[: len(y)], y, None, None), len(y))
    features = TextFeatures(analyzer=None, embedder="words")
    names = ("bone", "eye", "skin")  # in the order of the encoded labels, which decides ties
    has = np.array([[name in labels for name in names] for labels in y])
    scores = left_out_scores(judge.parts.products(features), np.where(has, 1.0, -1.0), np.ones(len(y)))
    wanted = []
    for row, labels in enumerate(y):
        best = sorted(range(3), key=lambda k: (-scores[row, k], k))[: len(labels)]
        wanted.append(len({names[k] for k in best} & labels) / len(labels))
    assert len(set(wanted)) > 2
    np.testing.assert_allclose(judge.right(features, 0.0), wanted)


@pytest.mark.parametrize(
    "features",
    [
        TextFeatures(analyzer="word+char", min_df=2, embedder="words", embedding_weight=0.5),
        TextFeatures(weighting="bm25"),
        TextFeatures(analyzer=None, embedder="words"),
    ],
    ids=["all parts", "words", "vectors"],
)
def test_parts_side_by_side_are_the_features(features: TextFeatures) -> None:
    parts = Parts(TEXTS[:20], TEXTS[20:], 20)
    rows, others = parts.rows(features)
    dense = [part.toarray() if sparse.issparse(part) else part for part in (rows, others)]
    expected = features.fit_transform(TEXTS[:20]), features.transform(TEXTS[20:])
    for found, wanted in zip(dense, expected, strict=True):
        np.testing.assert_allclose(found, wanted.toarray() if sparse.issparse(wanted) else wanted, atol=1e-6)
    np.testing.assert_allclose(parts.products(features), dense[0] @ dense[0].T, atol=1e-9)
    assert parts.width(features) == rows.shape[1]


def test_columns_are_those_of_all_texts_where_some_are_judged() -> None:
    assert Parts(TEXTS, [], 20_001).width(TextFeatures(embedder="words")) < Parts(TEXTS, [], 9).width(
        TextFeatures(embedder="words")
    )


def test_label_texts_weigh_as_told() -> None:
    rows = judged_rows(TEXTS, LABELS, ABOUT, None)
    judge = LeaveOneOut(rows, len(TEXTS))
    alone = LeaveOneOut(judged_rows(TEXTS, LABELS, None, None), len(TEXTS))
    features = TextFeatures(analyzer=None, embedder="words")  # n-grams of label texts would count in the idf
    np.testing.assert_array_equal(judge.right(features, 0.0), alone.right(features, 0.0))
    wrong = LabelRows(TEXTS, LABELS[1:] + LABELS[:1])
    misled = LeaveOneOut(judged_rows(TEXTS, LABELS, wrong, None), len(TEXTS))
    assert misled.right(features, 100.0).mean() < alone.right(features, 0.0).mean()


def test_rows_of_classes_with_a_single_row_are_not_judged() -> None:
    assert LeaveOneOut(judged_rows(["a cat", "a dog", "a car"], ["x", "x", "y"], None, None), 3).n_judged == 2
    assert LeaveOneOut(judged_rows(["a cat", "a dog"], [["x", "y"], ["y", "z"]], None, None), 2).n_judged == 2


def test_of_many_classes_some_keep_all_their_rows() -> None:
    y = [f"class {k % 400}" for k in range(1_200)]
    about = LabelRows([f"about {k}" for k in range(450)], [f"class {k}" for k in range(450)])
    rows = judged_rows(["text"] * 1_200, y, about, None)
    assert len(rows.told) == 400  # those of classes without rows cannot be judged
    part = rows.of_some_classes(500, np.random.RandomState(0))
    assert part is not None
    assert part.size == 500
    counts = part.targets.sum(axis=0)
    assert set(counts[counts > 0].tolist()) == {3.0}
    assert np.array_equal(part.told_targets.sum(axis=0) > 0, counts > 0)
    assert judged_rows(["text"] * 10, LABELS[:10], None, None).of_some_classes(5, np.random) is None


def test_a_part_is_held_out_of_each_class_but_never_its_last_row() -> None:
    keys = np.array([0] * 8 + [1] * 2 + [2])
    train, held = split(keys, np.random.RandomState(0))
    assert np.bincount(keys[held], minlength=3).tolist() == [2, 1, 0]
    assert sorted([*train, *held]) == list(range(11))


FORMS = {
    "names": lambda y: y,
    "series": pd.Series,
    "tuples": lambda y: [("all", name) for name in y],
    "levels": lambda y: pd.DataFrame({"first": ["all"] * len(y), "second": y}),
    "sets": lambda y: [{name} for name in y],
    "indicator": lambda y: sparse.csr_array(np.eye(3)[[list(WORDS).index(name) for name in y]]),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_labels_are_judged(form: str) -> None:
    rows = judged_rows(TEXTS, FORMS[form](LABELS), None, None)
    assert LeaveOneOut(rows, len(TEXTS)).right(TextFeatures(), 0.0).mean() > 0.6
    held_out = HeldOut(OneVsRestSVM(), rows, len(TEXTS), np.random.RandomState(0))
    assert held_out.right(TextFeatures(), 0.0).mean() > 0.6
    assert held_out.n_judged == (11 if rows.several else 12)
    model = TextClassifier(OneVsRestSVM(), random_state=0).fit(TEXTS, FORMS[form](LABELS))
    assert len(model.tried_) == 10


def test_held_out_rows_are_asked_of_the_estimator_and_label_texts_weigh() -> None:
    tree = Taxonomy.from_paths([f"all/{name}" for name in WORDS])
    rows = judged_rows(TEXTS, LABELS, ABOUT, tree)
    judge = HeldOut(NormalizedHierarchicalSVM(tree), rows, len(TEXTS), np.random.RandomState(0))
    assert judge.right(TextFeatures(), 1.0).mean() > 0.6
    wrong = rows._replace(told=TEXTS, told_targets=rows.targets[::-1])
    misled = HeldOut(OneVsRestSVM(tree), wrong, len(TEXTS), np.random.RandomState(0))
    assert misled.right(TextFeatures(), 50.0).mean() < misled.right(TextFeatures(), 0.0).mean()


def leading(
    ahead: dict[Any, float], key: Any = lambda features, weight: (features.embedding_weight, weight)
) -> Any:
    """A judge by whom some candidates are right about more of a hundred rows."""

    class Judge:
        n_judged = 100
        parts = Parts(TEXTS, [], 3)

        def right(self, features: TextFeatures, label_weight: float) -> Any:
            found = np.zeros(100)
            found[: int(50 + ahead.get(key(features, label_weight), 0))] = 1
            return found

    return Judge()


@pytest.mark.parametrize(
    ("ahead", "chosen"),
    [
        ({}, (1.0, 1.0)),
        ({(0.5, 1.0): 2}, (1.0, 1.0)),  # two of a hundred are less than 1.5 standard errors
        ({(0.5, 1.0): 3}, (0.5, 1.0)),
        ({(0.5, 1.0): 5, (2.0, 1.0): 9, (2.0, 0.3): 12, (2.0, 0.0): 20}, (2.0, 0.0)),
        ({(0.5, 1.0): -5, (1.0, 0.0): 4}, (1.0, 0.0)),
    ],
    ids=["level", "within error", "better", "each round from the winner before", "label texts alone"],
)
def test_a_default_that_must_be_beaten(
    ahead: dict[Any, float], chosen: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixture, "_judge", lambda *given: leading(ahead))
    start = Trial(TextFeatures(embedder="words"), 1.0)
    to_try = rounds("both", weigh_labels=True)[1:]
    best, table = choose_mixture(
        OneVsRestSVM(), start, to_try, TEXTS, LABELS, ABOUT, random_state=0, verbose=0
    )
    assert (best.features.embedding_weight, best.label_weight) == chosen
    assert [entry["trial"] for entry in table if entry["chosen"]] == [best]


@pytest.mark.parametrize("kind", ["auto", "both"])
@pytest.mark.parametrize("part", [("word+char", False), (None, True)], ids=["n-grams", "embeddings"])
def test_auto_may_end_with_one_part(
    kind: str, part: tuple[str | None, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def parts(features: TextFeatures, weight: float) -> Any:
        return features.analyzer, features.embedder is not None

    monkeypatch.setattr(mixture, "_judge", lambda *given: leading({part: 9}, parts))
    start = Trial(TextFeatures(analyzer="word+char", embedder="words"), 0.0)
    to_try = rounds(kind, weigh_labels=False)
    best, _ = choose_mixture(OneVsRestSVM(), start, to_try, TEXTS, LABELS, None, random_state=0, verbose=0)
    assert parts(best.features, 0.0) == (part if kind == "auto" else ("word+char", True))


def test_few_rows_take_the_default_and_try_nothing() -> None:
    model = TextClassifier(
        OneVsRestSVM(), random_state=0, label_texts=dict(zip(WORDS, WORDS.values(), strict=True))
    )
    model.fit(TEXTS[:12], LABELS[:12])
    assert model.tried_ == []
    assert (model.features_.analyzer, model.features_.embedder, model.label_weight_) == (
        "word+char",
        "words",
        1.0,
    )


def test_many_rows_of_few_classes_are_judged_by_the_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture, "_MOST_LEFT_OUT", 40)
    monkeypatch.setattr(mixture, "_MOST_TEXTS", 36)
    random = np.random.RandomState(0)
    judge = mixture._judge(OneVsRestSVM(), TEXTS, LABELS, ABOUT, random)
    assert isinstance(judge, HeldOut)
    assert len(judge._known.texts) + judge.n_judged == 36
    monkeypatch.setattr(mixture, "_MOST_CHARACTERS", 100)
    judge = mixture._judge(OneVsRestSVM(), TEXTS, LABELS, ABOUT, random)
    assert sum(map(len, judge._known.texts + judge._asked.texts)) <= 100


def test_labels_that_do_not_fit_are_told_before_anything_is_tried() -> None:
    with pytest.raises(DataError, match="41 labels for 42 texts"):
        TextClassifier(OneVsRestSVM()).fit(TEXTS, LABELS[:-1])
    with pytest.raises(LabelError, match="row 0: unknown label 'bone'"):
        TextClassifier(OneVsRestSVM(Taxonomy.from_paths(["all/bones"]))).fit(TEXTS, LABELS)
