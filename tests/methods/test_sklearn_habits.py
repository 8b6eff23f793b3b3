"""The estimators among scikit-learn's own tools, and X of every kind without needless copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import brier_score_loss, f1_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from taxolearn import OneVsRestLogistic, OneVsRestSVM, Taxonomy
from taxolearn.errors import DataError
from taxolearn.methods.inputs import check_rows
from taxolearn.problem import make_problem

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TREE = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/rose"])


def blobs(n: int = 90, seed: int = 0, spread: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.array(["cat", "dog", "rose"])[np.arange(n) % 3]
    centres = {"cat": [2.0, 0.0, 0.0, 0.0], "dog": [0.0, 2.0, 0.0, 0.0], "rose": [0.0, 0.0, 2.0, 0.0]}
    return np.array([centres[label] for label in y]) + spread * rng.normal(size=(n, 4)), y


def test_pipeline_from_text_to_names() -> None:
    texts = ["meow purr", "purr meow meow", "bark woof", "woof bark bark", "petal thorn", "thorn petal petal"]
    y = ["cat", "cat", "dog", "dog", "rose", "rose"]
    model = make_pipeline(TfidfVectorizer(), OneVsRestSVM(taxonomy=TREE)).fit(texts, y)
    assert model.predict(["purr", "woof", "petal"]).tolist() == ["cat", "dog", "rose"]
    assert model.score(texts, y) == 1.0
    assert model[-1].predict_path(model[0].transform(["purr"])) == [("animal", "cat")]


def test_grid_search_cross_validation_and_clone() -> None:
    X, y = blobs()
    search = GridSearchCV(OneVsRestSVM(taxonomy=TREE), {"C": [0.01, 1.0]}, cv=3, n_jobs=1).fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) > 0.7
    assert search.best_params_["C"] in (0.01, 1.0)
    assert search.best_estimator_.taxonomy is TREE
    assert search.predict(X[:2]).tolist() == search.best_estimator_.predict(X[:2]).tolist()
    scores = cross_val_score(OneVsRestSVM(), X, y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.7
    assert cross_val_score(OneVsRestSVM(), sp.csr_array(X), y, cv=3, scoring="f1_macro").mean() > 0.7
    assert cross_val_predict(OneVsRestSVM(), X, y, cv=3).dtype == y.dtype


def test_multilabel_in_scikit_learns_scorers() -> None:
    X, y = blobs()
    Y = np.stack([y == "cat", y != "rose", X[:, 3] > 0], axis=1).astype(int)
    assert cross_val_score(OneVsRestSVM(), X, Y, cv=3, scoring="f1_micro").mean() > 0.7
    assert cross_val_score(OneVsRestSVM(), X, Y, cv=3).mean() > 0.4


def test_calibrated_classifier_wraps_it() -> None:
    X, y = blobs()
    model = CalibratedClassifierCV(OneVsRestSVM(), cv=3).fit(X, y)
    assert model.predict_proba(X).shape == (90, 3)


def test_parameters_are_kept_as_given() -> None:
    model = OneVsRestSVM(taxonomy=TREE, C=3)
    assert model.get_params()["taxonomy"] is TREE
    assert "Taxonomy(tree" in repr(model)
    assert "C=3" in repr(model)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert copy.set_params(C=7, loss="hinge") is copy
    assert (copy.C, copy.loss, model.C) == (7, "hinge", 3)
    with pytest.raises(ValueError, match="Invalid parameter 'D'"):
        copy.set_params(D=1)
    X, y = blobs()
    before = model.get_params()
    model.fit(X, y)
    assert model.get_params() == before
    assert not hasattr(clone(model), "vectors_")


def test_frames_keep_their_feature_names() -> None:
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = OneVsRestSVM().fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert model.n_features_in_ == 4
    assert model.predict(frame).tolist() == model.predict(frame[["a", "b", "c", "d"]]).tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c", "d"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def read_only_file(array: Any, path: Path) -> Any:
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def test_mapped_rows_are_used_where_they_lie(tmp_path: Path) -> None:
    X, y = blobs()
    dense = read_only_file(X, tmp_path / "dense.npy")
    assert np.shares_memory(check_rows(OneVsRestSVM(), dense, reset=True), dense)
    assert np.shares_memory(make_problem(dense, y).X, dense)
    packed = sp.csr_array(X)
    parts = [
        read_only_file(getattr(packed, name), tmp_path / f"{name}.npy")
        for name in ("data", "indices", "indptr")
    ]
    mapped = sp.csr_array(tuple(parts), shape=packed.shape)
    for rows in (check_rows(OneVsRestSVM(), mapped, reset=True), make_problem(mapped, y).X):
        assert np.shares_memory(rows.data, parts[0])
        assert np.shares_memory(rows.indices, parts[1])
        assert np.shares_memory(rows.indptr, parts[2])
    model = OneVsRestSVM(random_state=0).fit(X, y)
    for rows in (dense, mapped):
        again = OneVsRestSVM(random_state=0).fit(rows, y)
        np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-2)
        assert again.certificate_.holds(1e-4)
        assert again.predict(rows).tolist() == model.predict(X).tolist()


def test_a_fit_leaves_x_as_it_was() -> None:
    X, y = blobs()
    dense, packed = X.copy(), sp.csr_array(X)
    OneVsRestSVM(probability=True, random_state=0).fit(dense, y)
    OneVsRestSVM(probability=True, random_state=0).fit(packed, y)
    assert np.array_equal(dense, X)
    assert dense.flags.writeable
    assert np.array_equal(packed.toarray(), X)
    assert packed.data.flags.writeable


def test_unsorted_and_repeated_entries_count_as_their_sum() -> None:
    _, y = blobs(6)
    indptr = np.arange(0, 19, 3, dtype=np.int32)
    columns = np.array([2, 0, 2] * 6, dtype=np.int32)
    values = np.arange(1.0, 19.0)
    messy = sp.csr_array((values, columns, indptr), shape=(6, 4))
    model = OneVsRestSVM(tol=1e-8).fit(messy, y)
    clean = OneVsRestSVM(tol=1e-8).fit(messy.toarray(), y)
    np.testing.assert_allclose(model.coef_, clean.coef_, atol=1e-4)
    assert not messy.has_canonical_format


def test_float32_and_64_bit_indices() -> None:
    X, y = blobs()
    expected = OneVsRestSVM(tol=1e-8).fit(X, y)
    single = OneVsRestSVM(tol=1e-6).fit(X.astype(np.float32), y)
    assert single.certificate_.holds(1e-6)
    np.testing.assert_allclose(single.coef_, expected.coef_, atol=1e-2)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert OneVsRestSVM(tol=1e-8).fit(wide, y).predict(wide).tolist() == expected.predict(X).tolist()


@pytest.mark.parametrize("kind", [OneVsRestSVM, OneVsRestLogistic])
def test_probabilities_sum_to_one_and_beat_chance(kind: Any) -> None:
    X, y = blobs(300, spread=1.5)
    options = {"probability": True} if kind is OneVsRestSVM else {}
    model = kind(random_state=0, **options).fit(X, y)
    fresh, truth = blobs(300, seed=1, spread=1.5)
    probabilities = model.predict_proba(fresh)
    assert probabilities.shape == (300, 3)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    for column, name in enumerate(model.classes_):
        brier = brier_score_loss(truth == name, probabilities[:, column])
        assert brier < 0.75 * (1 / 3) * (2 / 3)  # of a constant 1/3
        # what is said to be p happens in about p of the rows
        sure = probabilities[:, column] > 0.6
        assert abs((truth[sure] == name).mean() - probabilities[sure, column].mean()) < 0.15
    if kind is OneVsRestLogistic:
        np.testing.assert_allclose(model.predict_log_proba(fresh), np.log(probabilities))


def test_probabilities_only_where_asked_for() -> None:
    X, y = blobs()
    assert not hasattr(OneVsRestSVM().fit(X, y), "predict_proba")
    assert hasattr(OneVsRestSVM(probability=True), "predict_proba")
    late = OneVsRestSVM().fit(X, y).set_params(probability=True)
    with pytest.raises(ValueError, match="fit it again with probability=True"):
        late.predict_proba(X)


def test_multilabel_probabilities_stand_each_on_its_own() -> None:
    X, y = blobs(200)
    Y = np.stack([y == "cat", y != "rose"], axis=1).astype(int)
    model = OneVsRestSVM(probability=True, random_state=0).fit(X, Y)
    probabilities = model.predict_proba(X)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert probabilities.sum(axis=1).max() > 1.2
    for column in range(2):
        assert brier_score_loss(Y[:, column], probabilities[:, column]) < 0.15


def test_a_plain_array_is_checked_as_any_other() -> None:
    X, y = blobs()
    model = OneVsRestSVM().fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert model.fit(X, y).n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")
    coef = model.coef_
    for other in (np.asfortranarray(X), X.astype(">f8"), X.tolist(), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(model.fit(other, y).coef_, coef)
    for wrong in (X[:0], X[:, :0], X[0], X[None], X * 1j, np.where(X > 1.0, np.nan, X)):
        with pytest.raises(DataError):
            check_rows(OneVsRestSVM(), wrong, reset=True)


def test_tuned_thresholds_beat_zero_on_rare_labels() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6))
    hidden = X @ rng.normal(size=(6, 5)) + 2.0 * rng.normal(size=(1200, 5))
    Y = (hidden > np.quantile(hidden, [0.95, 0.93, 0.9, 0.88, 0.5], axis=0).diagonal()).astype(int)
    train, test = slice(0, 800), slice(800, None)

    def macro_f1(**options: Any) -> float:
        model = OneVsRestSVM(serve="macro", **options).fit(X[train], Y[train])
        assert model.thresholds_.any() == ("thresholds" in options)
        return float(f1_score(Y[test], model.predict(X[test]), average="macro", zero_division=0))

    # in the mean over draws of the held-out rows, of which one has few positives
    tuned = np.mean([macro_f1(thresholds="tuned", random_state=seed) for seed in range(6)])
    assert tuned > macro_f1() + 0.05


def test_the_same_seed_gives_the_same_model() -> None:
    X, y = blobs()
    first, second = (OneVsRestSVM(random_state=5).fit(X, y) for _ in range(2))
    assert np.array_equal(first.coef_, second.coef_)
    assert first.certificate_.primal == second.certificate_.primal


def test_threads_give_the_same_answer() -> None:
    X, y = blobs()
    one = OneVsRestSVM(random_state=5, tol=1e-9).fit(X, y)
    two = OneVsRestSVM(random_state=5, tol=1e-9, n_jobs=2).fit(X, y)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-5)
