"""BayesianRecursiveLogistic as an estimator: what it learns, what it certifies, weights, limits, mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from taxolearn import BayesianRecursiveLogistic, RecursiveLogistic, Taxonomy, load
from taxolearn.errors import DataError, LabelError

TREE = Taxonomy.from_paths(["all/a/l1", "all/a/l2", "all/b/l3", "all/b/l4", "all/l5"])
LEAVES = ["l1", "l2", "l3", "l4", "l5"]


def drawn(n: int = 120, seed: int = 0, d: int = 6) -> tuple[Any, Any]:
    """Rows of the model itself: a and b are far apart, their children near each other."""
    rng = np.random.default_rng(seed)
    sizes = {"a": 3.0, "b": 3.0, "l1": 0.5, "l2": 0.5, "l3": 0.5, "l4": 0.5, "l5": 2.0}
    nodes = {name: size * rng.normal(size=d) for name, size in sizes.items()}
    vectors = np.array([sum(nodes.get(name, 0.0) for name in TREE.path(leaf)) for leaf in LEAVES])
    X = rng.normal(size=(n, d))
    y = np.array(LEAVES)[np.argmax(X @ vectors.T + rng.gumbel(size=(n, 5)), axis=1)]
    y[:5] = LEAVES
    return X, y


@pytest.mark.parametrize("inference", ["map", "variational"])
@pytest.mark.parametrize("variances", ["node", "siblings"])
def test_the_certificate_is_that_of_softmax_with_the_learned_scales(inference: str, variances: str) -> None:
    X, y = drawn()
    options: dict[str, Any] = {"tol": 1e-8, "solver": "newton"}
    model = BayesianRecursiveLogistic(TREE, inference=inference, variances=variances, **options).fit(X, y)
    given = RecursiveLogistic(TREE, loss="softmax", weights=model.node_weights_, **options).fit(X, y)
    assert model.certificate_.holds(1e-8)
    assert model.certificate_.primal == pytest.approx(given.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(model.predict_proba(X), given.predict_proba(X), atol=1e-4)
    assert np.all(np.diff(model.bound_history_) > 0)


@pytest.mark.parametrize("variances", ["features", "node_features"])
def test_variances_by_feature_are_certified_saved_and_loaded(variances: str, tmp_path: Path) -> None:
    X, y = drawn(300)
    X[:, 0] *= 0.05  # a feature that needs long vectors
    model = BayesianRecursiveLogistic(TREE, variances=variances, tol=1e-5).fit(X, y)
    assert model.certificate_.holds(1e-5)
    assert np.all(np.diff(model.bound_history_) > 0)
    scales = model.node_weights_
    assert scales.shape == (TREE.n_nodes, 6)
    assert scales[1:, 0].mean() > scales[1:, 1:].mean()
    same = np.array_equal(*(scales[TREE.ids_of(["l3", "l4"])]))
    assert same == (variances == "features")
    model.save(tmp_path)
    again = load(tmp_path)
    np.testing.assert_array_equal(again.node_weights_, scales)
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_siblings_share_a_variance_and_nodes_do_not() -> None:
    X, y = drawn(500)
    ids = TREE.ids_of(["a", "b", "l5", "l1", "l2", "l3", "l4"])
    of_nodes = BayesianRecursiveLogistic(TREE).fit(X, y).node_weights_[ids]
    of_siblings = BayesianRecursiveLogistic(TREE, variances="siblings").fit(X, y).node_weights_[ids]
    assert len(set(of_nodes)) == 7
    a, b, l5, l1, l2, l3, l4 = of_siblings
    assert a == b == l5
    assert l1 == l2
    assert l3 == l4
    assert len({a, l1, l3}) == 3
    assert min(a, b) > max(l1, l3)  # as the rows were drawn


def test_siblings_of_inner_labels_of_a_dag_and_of_no_taxonomy() -> None:
    X, y = drawn()
    y[y == "l1"] = "a"  # its own vector hangs below a, beside l2
    dag = Taxonomy.from_edges([*TREE.edges, ("a", "l3"), ("a", "l4")])
    model = BayesianRecursiveLogistic(dag, variances="siblings").fit(X, y)
    l3, l4, l2 = model.node_weights_[dag.ids_of(["l3", "l4", "l2"])]
    assert l3 == l4 != l2
    assert len(model.node_weights_) == dag.n_nodes
    assert set(model.predict(X)) <= set(y)
    flat = BayesianRecursiveLogistic(variances="siblings").fit(X, y)
    assert len(set(flat.node_weights_)) == 1
    assert flat.node_weights_.shape == (5,)


def test_learned_variances_predict_better_than_the_first_ones() -> None:
    (X, y), (X_test, y_test) = drawn(500), drawn(3000)  # the vectors are drawn first: the model is the same
    X_test, y_test = X_test[500:], y_test[500:]

    def loss(model: Any) -> float:
        own = np.searchsorted(model.classes_, y_test)
        return float(-model.predict_log_proba(X_test)[np.arange(len(own)), own].mean())

    learned = BayesianRecursiveLogistic(TREE).fit(X, y)
    first = RecursiveLogistic(TREE, loss="softmax", tol=1e-3).fit(X, y)
    assert loss(learned) < loss(first)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # as exact as can be
def test_a_weight_of_two_is_a_row_given_twice_and_of_zero_no_row() -> None:
    X, y = drawn(60)
    weight = np.arange(60) % 3
    copies = np.repeat(np.arange(60), weight)
    options: dict[str, Any] = {"tol": 1e-14, "solver": "newton", "max_iter": 50}
    weighted = BayesianRecursiveLogistic(TREE, **options).fit(X, y, sample_weight=weight)
    repeated = BayesianRecursiveLogistic(TREE, **options).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.node_weights_, repeated.node_weights_, rtol=1e-6)
    np.testing.assert_allclose(weighted.bound_history_, repeated.bound_history_, rtol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)


def test_a_factor_multiplies_what_was_learned() -> None:
    X, y = drawn(60)
    once, ten = (BayesianRecursiveLogistic(TREE, factor=factor).fit(X, y) for factor in (1.0, 10.0))
    np.testing.assert_allclose(ten.node_weights_, 10.0 * once.node_weights_)
    assert ten.certificate_.holds(1e-3)


def test_a_factor_by_hold_out_mends_variances_that_are_far_too_small() -> None:
    X, y = drawn(200)
    # one round from a tiny variance, under a prior that keeps it there
    stiff: dict[str, Any] = {"gamma_shape": 1e4, "gamma_rate": 1e-1, "random_state": 0}
    small = BayesianRecursiveLogistic(TREE, **stiff).fit(X, y)
    chosen = BayesianRecursiveLogistic(TREE, factor="holdout", **stiff).fit(X, y)
    ratio = chosen.node_weights_[1:] / small.node_weights_[1:]
    np.testing.assert_allclose(ratio, ratio[0])
    assert ratio[0] > 100
    assert chosen.score(X, y) > small.score(X, y)
    X, y = drawn(40)  # few rows: with many, the log-loss hardly tells variances apart that are all large
    large = BayesianRecursiveLogistic(TREE, factor="holdout", gamma_shape=1e4, gamma_rate=1e8, random_state=0)
    unchosen = BayesianRecursiveLogistic(TREE, gamma_shape=1e4, gamma_rate=1e8, random_state=0)
    assert large.fit(X, y).node_weights_[1] < unchosen.fit(X, y).node_weights_[1]


def test_a_warm_start_keeps_the_variances_of_the_higher_bound() -> None:
    X, y = drawn()
    given: dict[str, Any] = {"tol": 1e-5, "random_state": 0}
    cold = BayesianRecursiveLogistic(TREE, **given).fit(X, y)
    model = BayesianRecursiveLogistic(TREE, warm_start=True, max_iter=1, **given)
    with pytest.warns(ConvergenceWarning):
        first = model.fit(X, y).bound_history_[-1]  # one step of the solver in each round
    assert first < cold.bound_history_[-1]
    mended = model.set_params(max_iter=1000).fit(X, y).bound_history_[-1]
    assert mended == pytest.approx(cold.bound_history_[-1], rel=1e-4)
    scales, done = model.node_weights_, model.n_iter_
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_iter=1, tol=1e-18).fit(X, y)
    assert model.bound_history_[-1] == mended
    np.testing.assert_array_equal(model.node_weights_, scales)
    assert model.n_iter_ == 1 < done  # variances that have settled are not learned again
    assert model.certificate_.holds(1e-5)
    other = model.set_params(max_iter=1000, tol=1e-5, gamma_rate=1.0).fit(X, y)
    assert not np.array_equal(other.node_weights_, scales)  # another problem


def test_a_warm_start_of_another_C_has_nearly_the_bound_of_a_cold_one() -> None:
    X, y = drawn()
    cold = BayesianRecursiveLogistic(TREE, C=3.0).fit(X, y)
    warm = BayesianRecursiveLogistic(TREE, warm_start=True).fit(X, y).set_params(C=3.0).fit(X, y)
    assert warm.bound_history_[-1] == pytest.approx(cold.bound_history_[-1], rel=1e-3)
    np.testing.assert_allclose(warm.node_weights_, cold.node_weights_, rtol=0.05)


def test_saved_and_loaded(tmp_path: Path) -> None:
    X, y = drawn(60)
    model = BayesianRecursiveLogistic(TREE, variances="siblings").fit(X, y)
    model.save(tmp_path)
    again = load(tmp_path)
    np.testing.assert_array_equal(again.node_weights_, model.node_weights_)
    assert again.get_params()["variances"] == "siblings"


def test_no_time_leaves_a_certified_statement_and_the_first_variances() -> None:
    X, y = drawn(60)
    with pytest.warns(UserWarning, match="time limit"):
        model = BayesianRecursiveLogistic(TREE, max_seconds=1e-6).fit(X, y)
    assert model.certificate_.status.value == "time limit"
    assert model.bound_history_ == []
    assert np.isfinite(model.certificate_.upper)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"variances": "all"}, "variances='all' is not known; choose 'node', 'siblings', 'features' or"),
        (
            {"variances": "features", "solver": "descent"},
            "solver='descent' needs scales that are the same for all features; use solver='auto'",
        ),
        ({"inference": "gibbs"}, "inference='gibbs' is not known"),
        ({"gamma_rate": 0.0}, "gamma_rate=0.0 is not allowed; give a positive number"),
        ({"factor": "auto"}, "factor='auto' is not known; choose 'holdout'"),
        ({"factor": -1.0}, "factor=-1.0 is not allowed; give a positive number"),
        ({"rounds": 1.5}, "rounds=1.5 is not allowed; give a whole number"),
    ],
)
def test_mistakes_in_parameters(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        BayesianRecursiveLogistic(TREE, **given).fit(*drawn(20))


def test_several_labels_are_refused() -> None:
    with pytest.raises(LabelError, match="one label per row"):
        BayesianRecursiveLogistic(TREE).fit([[0.0], [1.0]], [["l1"], ["l2", "l3"]])
