"""`migrate`: the model over the new taxonomy is the one that a fit from scratch gives, and less work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import taxolearn
from taxolearn import (
    MulticlassSVM,
    NormalizedHierarchicalSVM,
    OneVsRestLogistic,
    OneVsRestSVM,
    RecursiveLogistic,
    RecursiveSVM,
    Taxonomy,
    TaxonomyRidge,
    TextClassifier,
    TopDownSVM,
)
from taxolearn.errors import DataError, LabelError, TaxonomyError
from taxolearn.text import TextFeatures

OLD = Taxonomy.from_paths(["r/a/a1", "r/a/a2", "r/a/a3", "r/b/b1", "r/b/b2", "r/b/b3", "r/c"])
NEW = Taxonomy.from_paths(["r/A/a1", "r/A/a23", "r/b/b1", "r/b/b2", "r/d/b3", "r/c"])
MAPPING = {"a": "A", "a2": "a23", "a3": "a23"}
TOL = 1e-4


def rows(per_class: int = 15) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat(np.array(OLD.leaves), per_class)
    return np.repeat(2.0 * rng.normal(size=(7, 6)), per_class, axis=0) + rng.normal(size=(len(y), 6)), y


MODELS = [
    OneVsRestSVM(taxonomy=OLD, tol=TOL),
    OneVsRestSVM(taxonomy=OLD, tol=TOL, loss="hinge", class_weight={"a1": 2.0}),
    OneVsRestLogistic(taxonomy=OLD, tol=TOL),
    RecursiveSVM(OLD, tol=TOL),
    RecursiveSVM(OLD, tol=TOL, loss="hinge"),
    RecursiveLogistic(OLD, tol=TOL, loss="softmax"),
    MulticlassSVM(OLD, tol=TOL, warm_start=True),
    NormalizedHierarchicalSVM(OLD, tol=TOL),
    TopDownSVM(OLD, tol=TOL),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model).replace("\n", " ")[:60])
def test_the_optimum_is_that_of_a_fit_from_scratch(model: Any) -> None:
    X, y = rows()
    fitted = clone(model).set_params(random_state=0).fit(X, y)
    before = fitted.coef_.copy()
    migration = fitted.migrate(X, y, NEW, MAPPING)
    np.testing.assert_array_equal(fitted.coef_, before)  # the old model is as it was
    fresh = clone(model).set_params(random_state=0, taxonomy=NEW).fit(X, migration.y)
    made = migration.model
    assert made.certificate_.holds(TOL)
    assert made.classes_.tolist() == fresh.classes_.tolist()
    assert made.certificate_.lower <= fresh.certificate_.upper
    assert fresh.certificate_.lower <= made.certificate_.upper
    assert np.mean(made.predict(X) == fresh.predict(X)) > 0.97
    assert migration.undecided == ()
    assert set(migration.touched) | set(migration.carried) == set(NEW.leaves)


def test_untouched_classes_keep_their_vectors_to_the_last_digit() -> None:
    X, y = rows()
    model = OneVsRestSVM(taxonomy=OLD, tol=TOL).fit(X, y)
    migration = model.migrate(X, y, NEW, MAPPING)
    assert migration.touched == ("a23",)  # a flat method does not mind another place
    for name in migration.carried:
        old, new = (list(one.classes_).index(name) for one in (model, migration.model))
        np.testing.assert_array_equal(model.coef_[old], migration.model.coef_[new])
        assert model.certificate_.class_dual[old] == migration.model.certificate_.class_dual[new]


def test_a_rename_alone_solves_nothing() -> None:
    X, y = rows()
    model = OneVsRestLogistic(taxonomy=OLD, tol=TOL).fit(X, y)
    renamed = Taxonomy.from_paths(["r/a/z", "r/a/a2", "r/a/a3", "r/b/b1", "r/b/b2", "r/b/b3", "r/c"])
    migration = model.migrate(X, y, renamed, {"a1": "z"})
    assert (migration.touched, migration.model.n_iter_) == ((), 0)
    assert migration.model.certificate_.gap <= TOL
    expected = np.where(model.predict(X) == "a1", "z", model.predict(X))
    np.testing.assert_array_equal(migration.model.predict(X), expected)


def test_a_tied_fit_starts_near_its_end() -> None:
    X, y = rows(per_class=40)
    model = RecursiveSVM(OLD, tol=1e-3).fit(X, y)
    moved = Taxonomy.from_edges([edge for edge in OLD.edges if edge[1] != "b3"] + [("a", "b3")])
    migration = model.migrate(X, y, moved)
    fresh = clone(model).set_params(taxonomy=moved).fit(X, y)
    assert migration.started == "from what the old vectors imply"
    assert migration.model.history_[0].gap < 0.5 * fresh.history_[0].gap
    assert migration.model.n_iter_ < fresh.n_iter_
    assert migration.touched == ("b3",)


@pytest.mark.parametrize("loss", ["multiclass", "logistic"])
def test_untouched_inner_nodes_keep_their_vectors_to_the_last_digit(loss: str) -> None:
    X, y = rows()
    model = TopDownSVM(OLD, tol=TOL, loss=loss, random_state=0).fit(X, y)
    new = Taxonomy.from_paths(["r/a/a1", "r/a/a2", "r/a/a3", "r/b/b1", "r/b/b23", "r/c"])
    migration = model.migrate(X, y, new, {"b2": "b23", "b3": "b23"})
    assert migration.started == "with the vectors of 2 of 3 inner nodes as they were"  # r and a
    fresh = TopDownSVM(new, tol=TOL, loss=loss, random_state=0).fit(X, migration.y)
    made = migration.model
    np.testing.assert_array_equal(made.vectors_.coef, fresh.vectors_.coef)
    np.testing.assert_array_equal(made.certificate_.class_dual, fresh.certificate_.class_dual)
    assert made.predict(X).tolist() == fresh.predict(X).tolist()
    renamed = model.migrate(X, y, OLD, {})
    assert (renamed.started, renamed.model.n_iter_) == (
        "with the vectors of 3 of 3 inner nodes as they were",
        0,
    )
    assert renamed.model.certificate_.holds(TOL)
    weights = np.linspace(1.0, 2.0, len(y))  # other weights are another problem
    assert model.migrate(X, y, new, {"b2": "b23", "b3": "b23"}, sample_weight=weights).started == "from zero"


def test_one_touched_node_among_many() -> None:
    """What is solved anew has few entries then, and comes as a sparse matrix."""
    paths = [f"r/{k}/{k}{leaf}" for k in range(12) for leaf in "abc"]
    old, rng = Taxonomy.from_paths(paths), np.random.default_rng(0)
    y = [path.split("/")[-1] for path in paths] * 4
    for X in (rng.normal(size=(len(y), 6)), sp.csr_array(rng.random((len(y), 60)) < 0.1, dtype=float)):
        model = TopDownSVM(old, tol=TOL, random_state=0).fit(X, y)
        new = Taxonomy.from_paths(
            [path.replace("3b", "3bc").replace("3c", "3bc") for path in paths if path != "r/3/3c"]
        )
        migration = model.migrate(X, y, new, {"3b": "3bc", "3c": "3bc"})
        assert migration.started == "with the vectors of 12 of 13 inner nodes as they were"
        fresh = TopDownSVM(new, tol=TOL, random_state=0).fit(X, migration.y)
        assert migration.model.predict(X).tolist() == fresh.predict(X).tolist()


def test_rows_that_need_a_person() -> None:
    X, y = rows()
    new = Taxonomy.from_paths(["r/a/a1", "r/a/x1", "r/a/x2", "r/b/b1", "r/b/b2/fine", "r/b/b2/coarse", "r/c"])
    model = OneVsRestSVM(taxonomy=OLD, tol=TOL).fit(X, y)
    migration = model.migrate(X, y, new, {"a2": ["x1", "x2"]})
    by_label = {one.label: one for one in migration.undecided}
    assert set(by_label) == {"a2", "a3", "b2", "b3"}
    assert (by_label["a2"].reason, by_label["a2"].choices) == ("was split", ("x1", "x2"))
    assert (by_label["a3"].reason, by_label["a3"].choices) == ("is gone", ())
    assert (by_label["b2"].reason, by_label["b2"].in_fit) == ("got children", True)
    assert [one.row for one in migration.undecided] == np.flatnonzero(
        np.isin(y, ["a2", "a3", "b2", "b3"])
    ).tolist()
    assert [label is None for label in migration.y] == np.isin(y, ["a2", "a3", "b3"]).tolist()
    assert "60 rows need a person." in migration.to_text()
    assert len(migration.to_dict()["undecided"]) == 60
    # a person decides; names of the new taxonomy are taken as they are
    decided = [label if label is not None else "x1" if k % 2 else "x2" for k, label in enumerate(migration.y)]
    again = model.migrate(X, decided, new, {"a2": ["x1", "x2"]})
    assert {"x1", "x2"} <= set(again.model.classes_)
    assert {one.label for one in again.undecided} == {"b2"}
    # and the first migrated model may migrate, too
    assert migration.model.migrate(X, decided, new).model.certificate_.holds(TOL)


def test_several_labels_sparse_rows_and_a_loaded_model(tmp_path: Any) -> None:
    X, y = rows()
    names = [[name, "c"] if k % 5 == 0 and name != "c" else [name] for k, name in enumerate(y)]
    model = OneVsRestSVM(taxonomy=OLD, tol=TOL).fit(sp.csr_array(X), names)
    model.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    migration = loaded.migrate(sp.csr_array(X), names, NEW, MAPPING)
    assert migration.touched == ("a23",)
    assert migration.y[0] == ["a1", "c"]
    assert migration.model.certificate_.holds(TOL)
    migration.model.save(tmp_path / "new")
    again = taxolearn.load(tmp_path / "new")
    assert again.predict(sp.csr_array(X)) == migration.model.predict(sp.csr_array(X))


def test_other_rows_than_those_of_the_fit_are_all_refitted() -> None:
    X, y = rows()
    model = OneVsRestSVM(taxonomy=OLD, tol=TOL).fit(X, y)
    migration = model.migrate(X[1:], y[1:], NEW, MAPPING)
    assert migration.carried == ()
    assert migration.model.certificate_.holds(TOL)


@pytest.mark.parametrize("kind", [TaxonomyRidge, NormalizedHierarchicalSVM])
def test_models_with_a_kernel_stay_what_they_are(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    old, new = (Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", f"Plant/{name}"]) for name in ("Oak", "Elm"))
    names = np.array(["Cat", "Dog", "Oak"])
    ring = np.digitize(np.hypot(*X.T), (0.8, 1.4))
    model = kind(old, C=10.0, kernel="rbf", tol=1e-6).fit(X, names[ring])
    migrated = model.migrate(X, names[ring], new, {"Oak": "Elm"}).model
    anew = kind(new, C=10.0, kernel="rbf", tol=1e-6).fit(X, np.array(["Cat", "Dog", "Elm"])[ring])
    assert migrated.certificate_.primal == pytest.approx(anew.certificate_.primal, rel=1e-5)
    np.testing.assert_array_equal(migrated.predict(X), anew.predict(X))
    assert np.mean(migrated.predict(X) == np.array(["Cat", "Dog", "Elm"])[ring]) > 0.9


def test_texts_and_titles() -> None:
    texts = [
        "the lion roars",
        "the lynx hides",
        "a wolf howls",
        "the hound barks",
        "lion and cub",
        "hound of a dog",
    ]
    y = ["lion", "lynx", "wolf", "hound", "lion", "hound"]
    old = Taxonomy.from_paths(["r/cat/lion", "r/cat/lynx", "r/cat/wolf", "r/dog/hound"])
    new = Taxonomy.from_paths(["r/cat/leo", "r/cat/lynx", "r/dog/wolf", "r/dog/hound"])
    titles = {"lion": "Lion", "cat": "Cats"}
    model = TextClassifier(RecursiveSVM(old), TextFeatures(), titles=titles).fit(texts, y)
    migration = model.migrate(texts, y, new, {"lion": "leo"})
    assert migration.model.predict(["a lion", "wolf"]).tolist() == ["leo", "wolf"]
    assert migration.model.titles == {"leo": "Lion", "cat": "Cats"}
    assert model.predict(["a lion"]).tolist() == ["lion"]


def test_refusals_in_one_sentence() -> None:
    X, y = rows()
    model = OneVsRestSVM(taxonomy=OLD, tol=1e-2).fit(X, y)
    with pytest.raises(DataError, match="migrate needs a model with a taxonomy"):
        OneVsRestSVM(tol=1e-2).fit(X, y).migrate(X, y, NEW)
    with pytest.raises(TaxonomyError, match="migrate needs the new taxonomy, not None"):
        model.migrate(X, y, None)
    with pytest.raises(DataError, match="X has 105 rows and y has 104"):
        model.migrate(X, y[1:], NEW, MAPPING)
    with pytest.raises(LabelError, match="y, row 0: unknown label 'zebra'"):
        model.migrate(X, ["zebra", *y[1:]], NEW, MAPPING)
    with pytest.raises(LabelError, match="no row has a label in the new taxonomy"):
        model.migrate(X[:15], y[:15], Taxonomy.from_paths(["r/x", "r/y"]))
