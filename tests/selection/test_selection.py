"""`select`: the right choice, its tie rule, its forms of input, its refusals, its table and picture."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import taxolearn
from taxolearn import (
    HierarchicalSVM,
    MulticlassSVM,
    NormalizedHierarchicalSVM,
    OneVsRestSVM,
    Taxonomy,
    metrics,
)
from taxolearn.errors import DataError, LabelError
from taxolearn.selection.selection import LAMBDAS, paper_candidates, select, title
from taxolearn.selection.trials import Selection, Trial, best_trial

TREE = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
DAG = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("a", "y"), ("b", "z")])


def rows_of(n: int = 90, noise: float = 0.3, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Rows around one centre a leaf."""
    rng = np.random.default_rng(seed)
    centres = np.array([[2.0, 2.0, 0.0], [2.0, -2.0, 0.0], [-2.0, 0.0, 0.0]])
    which = np.arange(n) % 3
    return centres[which] + noise * rng.normal(size=(n, 3)), [["Lion", "Lynx", "Dog"][k] for k in which]


def planted(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two honest features, and a hundred of noise that tell the few rows of a fit apart just as well.

    With a small lambda the noise is learned by heart; with a huge one the more frequent class wins.
    """
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [300, 600])[rng.permutation(900)]
    X = rng.normal(size=(900, 102))
    X[:, :2] = 0.5 * X[:, :2] + 0.6 * (2.0 * y[:, None] - 1.0)
    return X, y


def made_trial(lambda_: float, accuracy: float, tree_loss: float = 0.5, candidate: int = 0) -> Trial:
    return Trial(candidate, "MulticlassSVM()", lambda_, accuracy, tree_loss, 1e-3, True, 0.1)


def test_the_planted_lambda_is_found() -> None:
    X, y = planted()
    found = select([MulticlassSVM(tol=1e-2)], X, y, lambdas=[1e-3, 1e2, 1e4], holdout=0.8)
    assert found.best.lambda_ == 1e2
    worse = [trial.accuracy for trial in found.trials if trial.lambda_ != 1e2]
    assert max(worse) < found.best.accuracy - 0.02
    assert pytest.approx(0.005) == found.model.C


def test_trials_are_what_separate_fits_give() -> None:
    """A warm start changes nothing but the time."""
    X, y = rows_of(noise=1.5)
    candidate = HierarchicalSVM(TREE, tol=1e-6, random_state=0)
    found = select([candidate], X, y, lambdas=[1e-1, 1e1], holdout=0.4, random_state=3)
    again = select([candidate], X, y, lambdas=[1e-1], holdout=0.4, random_state=3)
    assert [trial.lambda_ for trial in found.trials] == [1e1, 1e-1]  # largest first
    assert found.trials[1].accuracy == again.trials[0].accuracy
    assert found.trials[1].tree_loss == again.trials[0].tree_loss
    assert all(trial.certified and trial.gap <= 1e-6 for trial in found.trials)


def test_the_model_is_a_fit_on_all_rows() -> None:
    X, y = rows_of()
    found = select([MulticlassSVM(TREE, tol=1e-4)], X, y, lambdas=[1.0])
    alone = MulticlassSVM(TREE, C=0.5, tol=1e-4, random_state=found.model.random_state).fit(X, y)
    assert found.model.data_ == alone.data_
    assert found.model.certificate_.holds(1e-4)
    assert found.model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-9)
    assert found.n_held_out == 18


def test_without_refit_the_model_is_the_choice_unfitted() -> None:
    X, y = rows_of()
    found = select([MulticlassSVM(TREE)], X, y, lambdas=[1.0, 0.1], refit=False)
    assert found.model.C == found.best.C
    assert not hasattr(found.model, "vectors_")


def test_ties_go_to_the_larger_lambda_then_to_the_first_candidate() -> None:
    trials = [made_trial(0.1, 0.9), made_trial(1.0, 0.9), made_trial(10.0, 0.8), made_trial(1.0, 0.9, 0.5, 1)]
    assert best_trial(trials, "accuracy") == 1
    assert best_trial(trials[::-1], "accuracy") == 0
    X, y = rows_of(noise=0.01)  # every lambda gets every row right
    found = select([MulticlassSVM(TREE)], X, y, lambdas=[1e-3, 1e-1, 1e-2])
    assert {trial.accuracy for trial in found.trials} == {1.0}
    assert found.best.lambda_ == 1e-1


def test_the_metric_decides() -> None:
    trials = [made_trial(0.1, 0.9, 0.4), made_trial(1.0, 0.8, 0.3), made_trial(10.0, 0.7, 0.5)]
    assert best_trial(trials, "accuracy") == 0
    assert best_trial(trials, "tree_loss") == 1
    X, y = rows_of(noise=2.0)
    found = select([MulticlassSVM(TREE)], X, y, lambdas=[1e-1, 1e3], holdout=0.5, metric="tree_loss")
    assert found.best.tree_loss == min(trial.tree_loss for trial in found.trials)


def test_the_same_seed_gives_the_same_choice_and_weights() -> None:
    X, y = rows_of(noise=1.5)
    one, two = (select([MulticlassSVM(TREE)], X, y, lambdas=[1.0, 0.1], random_state=5) for _ in range(2))
    assert [t.accuracy for t in one.trials] == [t.accuracy for t in two.trials]
    assert np.array_equal(one.model.coef_, two.model.coef_)


TUPLES = Taxonomy.from_edges([("r", ("c", 1)), ("r", ("c", 2)), ("r", "d")])
_TO_TUPLE: dict[str, Any] = {"Lion": ("c", 1), "Lynx": ("c", 2), "Dog": "d"}
FORMS: dict[str, Any] = {
    "list": (TREE, lambda y: y),
    "array": (TREE, np.array),
    "series": (TREE, pd.Series),
    "lists of one": (TREE, lambda y: [[name] for name in y]),
    "ints": (None, lambda y: np.array([["Lion", "Lynx", "Dog"].index(name) for name in y])),
    "tuples": (TUPLES, lambda y: [_TO_TUPLE[name] for name in y]),
    "levels": (
        TREE,
        lambda y: pd.DataFrame([[*TREE.path(name), None][:3] for name in y], columns=list("abc")),
    ),
    "indicator": (TREE, lambda y: TREE_INDICATOR[[TREE.id_of(name) for name in y]]),
}
TREE_INDICATOR = np.eye(TREE.n_nodes, dtype=int)


@pytest.mark.parametrize("form", FORMS)
def test_labels_of_every_form(form: str) -> None:
    X, y = rows_of(30)
    taxonomy, convert = FORMS[form]
    labels = convert(y)
    found = select([MulticlassSVM(taxonomy)], X, labels, lambdas=[0.1])
    assert found.best.accuracy == 1.0
    predicted = found.model.predict(X[:3])
    assert type(predicted) is type(MulticlassSVM(taxonomy, C=5.0).fit(X, labels).predict(X[:3]))


def test_sparse_rows_and_named_columns() -> None:
    X, y = rows_of(30)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert select([MulticlassSVM(TREE)], frame, y, lambdas=[0.1]).model.feature_names_in_.tolist() == [
        "a",
        "b",
        "c",
    ]
    assert select([MulticlassSVM(TREE)], sp.csr_array(X), y, lambdas=[0.1]).best.accuracy == 1.0


def test_sample_weights_reach_fits_scores_and_the_split() -> None:
    """Rows of weight zero are as good as absent: wrong labels on them change nothing."""
    X, y = rows_of(60)
    wrong = ["Dog" if name != "Dog" else "Lion" for name in y]
    weight = np.repeat([1.0, 0.0], 60)
    found = select([MulticlassSVM(TREE)], np.vstack([X, X]), y + wrong, lambdas=[0.1], sample_weight=weight)
    assert found.best.accuracy == 1.0
    assert found.model.score(X, y) == 1.0


def test_a_rare_class_is_never_held_out_whole() -> None:
    X, y = rows_of(30)
    X, y = np.vstack([X, [[9.0, 9.0, 9.0]]]), [*y, "Cat"]
    found = select([MulticlassSVM(TREE)], X, y, lambdas=[0.1], holdout=0.9)
    assert found.n_held_out == 27  # all but one row of each of the four classes
    assert "Cat" in found.model.classes_


def test_any_method_may_be_a_candidate() -> None:
    """Methods without a path of their own are fitted one lambda after the other."""
    X, y = rows_of(30)
    found = select([OneVsRestSVM(TREE), MulticlassSVM()], X, y, lambdas=[0.1, 0.01])
    assert [trial.title for trial in found.trials[::2]] == ["OneVsRestSVM()", "MulticlassSVM()"]
    assert all(np.isfinite(trial.tree_loss) for trial in found.trials)  # by the taxonomy of the other
    assert isinstance(found.model, OneVsRestSVM)


def test_candidates_stay_as_they_were_and_listeners_hear_all() -> None:
    X, y = rows_of(30)
    candidates = [MulticlassSVM(TREE, C=7.0), NormalizedHierarchicalSVM(TREE)]
    heard: list[tuple[int, int, str]] = []
    select(
        candidates,
        X,
        y,
        lambdas=[1.0, 0.1],
        on_trial=lambda done, total, trial: heard.append((done, total, trial.title)),
    )
    assert [entry[:2] for entry in heard] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [name for *_, name in heard] == [title(model) for model in candidates for _ in range(2)]
    assert candidates[0].C == 7.0
    assert candidates[0].random_state is None
    assert not hasattr(candidates[0], "vectors_")


def test_the_paper_s_candidates() -> None:
    on_tree = paper_candidates(TREE, ["multiclass", "hierarchical", "normalized", "shared"], tol=0.1)
    assert len(on_tree) == 7
    assert {model.tol for model in on_tree} == {0.1}
    rules = {(m.weights, m.directional, m.T, m.objective) for m in paper_candidates(DAG)}
    relaxed = {("rho", directional, 1.5, k) for directional in (False, True) for k in (10, 13)}
    assert rules == relaxed | {("maxmin", False, None, 10), ("maxmin", False, None, 13)}
    assert len({title(model) for model in paper_candidates(DAG)}) == 6
    assert LAMBDAS[0] == 1e-8
    assert LAMBDAS[-1] == 1e2
    assert len(LAMBDAS) == 11


def test_selection_on_a_dag() -> None:
    X, y = rows_of(30)
    names = [{"Lion": "x", "Lynx": "y", "Dog": "z"}[name] for name in y]
    found = select(paper_candidates(DAG, tol=1e-2), X, names, lambdas=[0.1])
    assert found.best.accuracy == 1.0
    assert found.model.certificate_.holds(1e-2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": []}, "give a list of estimators"),
        ({"candidates": MulticlassSVM()}, "give a list of estimators"),
        ({"candidates": ["svm"]}, "candidate 'svm' is not one of taxolearn's"),
        ({"candidates": [MulticlassSVM(TREE), MulticlassSVM(DAG)]}, "different taxonomies"),
        ({"lambdas": []}, "give a list of positive numbers"),
        ({"lambdas": 0.1}, "give a list of positive numbers"),
        ({"lambdas": "0.1"}, "give a list of positive numbers"),
        ({"lambdas": [0.1, -1.0]}, "lambdas=-1.0 is not allowed; give a positive number"),
        ({"metric": "f1"}, "metric='f1' is not known; choose 'accuracy' or 'tree_loss'"),
        ({"metric": "tree_loss", "candidates": [MulticlassSVM()]}, "needs candidates with a taxonomy"),
        ({"holdout": 1.0}, "give a share of rows between 0 and 1"),
        ({"holdout": 1}, "give a share of rows between 0 and 1"),
        ({"random_state": -1}, "random_state=-1 is not allowed"),
        ({"X": [[1.0]]}, "X has 1 rows and y has 30"),
        ({"X": [[np.nan, 0.0, 0.0]] * 30}, "NaN"),
        ({"sample_weight": [1.0]}, "sample_weight"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_arguments(changes: dict[str, Any], message: str) -> None:
    X, y = rows_of(30)
    given = {"candidates": [MulticlassSVM(TREE)], "X": X, "y": y, "lambdas": [0.1], **changes}
    with pytest.raises(DataError, match=message) as caught:
        select(given.pop("candidates"), given.pop("X"), given.pop("y"), **given)
    assert "\n" not in str(caught.value)


def test_several_labels_and_thresholds() -> None:
    X, names = rows_of(60)
    y = [[name, "Cat"] if row % 3 == 0 else [name] for row, name in enumerate(names)]
    candidates = [OneVsRestSVM(TREE), OneVsRestSVM(TREE, thresholds="tuned", serve="example")]
    found = select(candidates, X, y, lambdas=[1.0, 0.01], metric="example_f1", holdout=0.3)
    assert found.best.example_f1 == max(trial.example_f1 for trial in found.trials)
    held = found.model.predict(X)
    assert metrics.example_f1(y, held, TREE) > 0.5
    assert "micro F1  macro F1  example F1" in found.to_text()
    assert "serve='example'" in found.trials[-1].title


def test_labels_that_spell_a_taxonomy() -> None:
    X, names = rows_of(30)
    y = [TREE.named_path(name) for name in names]
    found = select([NormalizedHierarchicalSVM()], X, y, lambdas=[1.0, 0.01], metric="tree_loss", holdout=0.3)
    assert found.best.tree_loss < 1.0
    assert found.model.score(X, y) > 0.5


def test_bad_labels() -> None:
    X, y = rows_of(6)
    with pytest.raises(DataError, match="metric='micro_f1' is for several labels per row"):
        select([MulticlassSVM(TREE)], X, y, lambdas=[0.1], metric="micro_f1")
    with pytest.raises(LabelError, match="unknown label 'Lino'; did you mean 'Lion'"):
        select([MulticlassSVM(TREE)], X, ["Lino", *y[1:]], lambdas=[0.1])
    with pytest.raises(DataError, match="every class has a single row; give more rows"):
        select([MulticlassSVM(TREE)], X[:3], y[:3], lambdas=[0.1])
    with pytest.raises(DataError, match="method 'forest' is none of the paper's"):
        paper_candidates(TREE, ["forest"])
    with pytest.raises(DataError, match="method 'shared' needs a taxonomy"):
        paper_candidates(None, ["shared"])


def test_an_interrupted_fit_ends_the_selection() -> None:
    from taxolearn.solvers import Status

    class Stopped(MulticlassSVM):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            super().fit(X, y, sample_weight)
            object.__setattr__(self.certificate_, "status", Status.INTERRUPTED)
            return self

    X, y = rows_of(30)
    with pytest.raises(KeyboardInterrupt):
        select([Stopped(TREE)], X, y, lambdas=[1.0, 0.1])


def test_the_table_marks_choice_and_missing_certificates() -> None:
    trials = [
        made_trial(1.0, 0.75),
        Trial(
            1,
            "NormalizedHierarchicalSVM(weights='rho', objective=13)",
            0.025,
            0.5,
            float("nan"),
            0.31,
            False,
            12.3,
        ),
    ]
    lines = Selection(trials, 0, None, 20).to_text().splitlines()
    assert lines[1].endswith("<- chosen")
    assert lines[2].split()[-5:] == ["0.025", "0.5000", "-", "3.1e-01*", "12.3"]
    columns = [lines[0].index(name) for name in ("lambda", "accuracy", "tree loss", "gap", "seconds")]
    for line in lines[1:]:
        assert all(line[place - 1] == " " and line[place] != " " for place in columns)


@pytest.mark.parametrize(
    ("metric", "chosen", "shown"),
    [("accuracy", 1, [1, 2]), ("tree_loss", 3, [0, 3]), ("accuracy", 0, [0, 2])],
)
def test_decisions_of_one_fit_share_a_line(metric: str, chosen: int, shown: list[int]) -> None:
    scores = [(0.5, 0.2), (0.7, 0.4), (0.6, 0.3), (0.4, 0.1)]
    trials = [
        Trial(0, "MulticlassSVM()", lambda_, accuracy, loss, 1e-3, True, 0.1, decision=f"decision_of_{k}")
        for k, ((accuracy, loss), lambda_) in enumerate(zip(scores, (1.0, 1.0, 2.0, 2.0), strict=True))
    ]
    header, *lines, last = Selection(trials, chosen, None, 20, metric).to_text().splitlines()
    assert [line.split()[1] for line in lines] == [f"decision_of_{k}" for k in shown]
    assert [line.endswith("<- chosen") for line in lines] == [k == chosen for k in shown]
    assert all(line[header.index("accuracy") - 1] == " " != line[header.index("accuracy")] for line in lines)
    assert last == "2 fits, each with the best of its decisions; 4 trials in all"


def test_the_picture_shows_every_candidate_and_the_choice(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib")
    names = [title(model) for model in paper_candidates(TREE)]
    trials = [
        Trial(k, name, lambda_, 0.5 + 0.1 * k, 0.3, 1e-3, lambda_ > 1e-6, 0.1)
        for k, name in enumerate(names)
        for lambda_ in LAMBDAS
    ]
    found = Selection(trials, 40, None, 300)
    axes = found._figure().axes[0]
    assert [line.get_label() for line in axes.lines if not str(line.get_label()).startswith("_")] == [
        *names,
        "chosen",
        "hollow: the gap of the fit is above its tol",
    ]
    assert "on 300 held-out rows" in axes.get_ylabel()
    for ending in ("png", "svg", "PDF"):
        found.plot(tmp_path / f"tried.{ending}")
        assert (tmp_path / f"tried.{ending}").stat().st_size > 5000
    assert ET.parse(tmp_path / "tried.svg").getroot().tag.endswith("svg")


def test_pictures_that_cannot_be_drawn(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Selection([made_trial(1.0, 0.5)], 0, None, 20)
    with pytest.raises(DataError, match=r"give a name that ends with \.png, \.svg or \.pdf"):
        found.plot(tmp_path / "tried.gif")
    with pytest.raises(DataError, match="its folder does not exist"):
        found.plot(tmp_path / "no" / "tried.png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(DataError, match="a plot needs matplotlib; install taxolearn with the extra 'plot'"):
        found.plot(tmp_path / "tried.png")
    assert list(tmp_path.iterdir()) == []


def test_select_is_at_the_top() -> None:
    assert taxolearn.select is select
