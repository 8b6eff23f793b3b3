"""Learned variances (HBLR) against slow twins: the bound, its updates, and the evidence that it bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import gammaln

from reference import hblr_twin as twin
from taxolearn import Taxonomy
from taxolearn.errors import DataError
from taxolearn.losses import Hinge, Softmax
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, variances
from taxolearn.solvers.expected_softmax import Uncertain, better_tilt, curvature, expected_losses
from taxolearn.solvers.variances import VarianceRules, learn_variances
from taxolearn.ties import FeaturePathSum, PathSum, flat, path_sum

TREE = Taxonomy.from_paths(["all/a/l1", "all/a/l2", "all/b/l3", "all/b/l4", "all/l5"])
DAG = Taxonomy.from_edges([*TREE.edges, ("b", "l2"), ("a", "l5")])
INFERENCES = pytest.mark.parametrize("inference", ["map", "variational"])
EXACT = Limits(tol=1e-12)


def objective_of(
    taxonomy: Any, seed: int, n: int = 30, d: int = 4, C: float = 1.0, **given: Any
) -> Objective:
    """Rows around centres per class, along their principal axes, so that a twin need not rotate them."""
    rng = np.random.default_rng(seed)
    names = [TREE.name_of(node) for node in TREE.leaf_ids]
    y = np.array([*names, *rng.choice(names, size=n - len(names))])
    X = rng.normal(size=(len(names), d))[np.searchsorted(names, y)] + rng.normal(size=(n, d))
    weight = given.get("sample_weight", np.ones(n))
    X = X @ np.linalg.eigh(X.T @ (weight[:, None] * X))[1]
    problem = make_problem(X, y, taxonomy, **given)
    if taxonomy is None:
        return Objective(problem, Softmax(), flat(problem.n_classes), C)
    scale = np.ones(taxonomy.n_nodes)
    scale[0] = 0.0
    return Objective(problem, Softmax(), path_sum(taxonomy, problem.class_nodes, scale), C)


def rules_of(objective: Objective, **options: Any) -> VarianceRules:
    groups = np.where(objective.tie.scale > 0, np.cumsum(objective.tie.scale > 0) - 1, -1)
    return VarianceRules(groups, **options)


def arrays_of(objective: Objective) -> tuple[Any, Any, Any, Any, Any]:
    """X, own, cost, paths and nodes of what is learned."""
    own, weight = objective.problem.one_label
    nodes = np.flatnonzero(objective.tie.scale > 0)
    return objective.problem.X, own, objective.C * weight, objective.tie.paths.toarray()[:, nodes], nodes


def random_rows(seed: int, n: int = 6) -> tuple[Uncertain, Any, Any]:
    """Uncertain scores over the tree, and a tilt per row, by class and by node."""
    rng = np.random.default_rng(seed)
    paths = path_sum(TREE, TREE.leaf_ids, np.ones(TREE.n_nodes)).paths
    rows = Uncertain(
        rng.normal(size=(n, 5)), rng.exponential(size=(n, TREE.n_nodes)), paths, rng.integers(5, size=n)
    )
    by_class = rng.dirichlet(np.ones(5), size=n)
    return rows, by_class, np.asarray(by_class @ paths)


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_of_a_row_is_that_of_the_covariance_of_its_scores(seed: int) -> None:
    rows, by_class, tilt = random_rows(seed)
    found = expected_losses(rows, tilt).losses
    for i, value in enumerate(found):
        slow = twin.row_bound(rows.scores[i], rows.spread[i], rows.paths.toarray(), rows.own[i], by_class[i])
        assert value == pytest.approx(slow, abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_no_tilt_goes_below_the_expected_loss(seed: int) -> None:
    rows, _, tilt = random_rows(seed)
    better, found = better_tilt(rows, tilt)
    assert np.all(found.losses <= expected_losses(rows, tilt).losses)
    for part, again in zip(found, expected_losses(rows, better), strict=True):
        np.testing.assert_allclose(part, again, atol=1e-12)
    rng = np.random.default_rng(seed)
    for i in range(len(better)):
        nodes = rng.normal(size=(20_000, TREE.n_nodes)) * np.sqrt(rows.spread[i])
        losses = Softmax().value(rows.scores[i] + nodes @ rows.paths.T, np.full(len(nodes), rows.own[i]))
        error = losses.std() / np.sqrt(len(losses))
        assert found.losses[i] > losses.mean() - 4 * error
    jensen = expected_losses(rows, np.zeros_like(tilt)).losses
    assert np.all(found.losses < jensen)


def test_the_curvature_is_the_derivative_of_the_bound() -> None:
    rows, _, tilt = random_rows(7)
    found, step = curvature(tilt, expected_losses(rows, tilt).below), 1e-6
    assert np.all(found >= 0)
    for n in range(rows.spread.shape[1]):
        shift = np.zeros_like(rows.spread)
        shift[:, n] = step
        above, below = (expected_losses(rows._replace(spread=rows.spread + s * shift), tilt) for s in (1, -1))
        np.testing.assert_allclose((above.losses - below.losses) / (2 * step), 0.5 * found[:, n], atol=1e-8)


@pytest.mark.parametrize("taxonomy", [TREE, DAG, None], ids=["tree", "dag", "flat"])
def test_a_round_of_the_shortcut_is_that_of_the_equations(taxonomy: Any) -> None:
    weight = np.random.default_rng(3).integers(1, 4, size=30).astype(float)
    objective = objective_of(taxonomy, 1, C=0.7, sample_weight=weight)
    rules = rules_of(objective, shape=0.5, rate=0.3, inference="map", max_rounds=1)
    learned = learn_variances(objective, rules, EXACT)
    X, own, cost, paths, nodes = arrays_of(objective)
    after, _ = twin.map_round(X, own, cost, paths, objective.tie.scale[nodes], 0.5, 0.3)
    np.testing.assert_allclose(learned.scale[nodes], after, rtol=1e-5)


def by_feature(objective: Objective) -> Objective:
    """The same with a scale per feature."""
    tie = objective.tie
    scale = np.tile(tie.scale[:, None], objective.problem.n_features)
    return replace(objective, tie=FeaturePathSum(tie.paths, scale))


def test_a_round_with_variances_by_feature_is_that_of_the_equations() -> None:
    objective = objective_of(TREE, 1)
    siblings = np.array(
        [0 if TREE.depth[node] == 1 else TREE.parent[node] for node in range(1, TREE.n_nodes)]
    )
    groups = np.concatenate([[-1], np.unique(siblings, return_inverse=True)[1]])
    rules = VarianceRules(groups, shape=0.5, rate=0.3, inference="map", max_rounds=1)
    learned = learn_variances(by_feature(objective), rules, EXACT)
    X, own, cost, paths, nodes = arrays_of(objective)
    after, _ = twin.map_round(X, own, cost, paths, objective.tie.scale[nodes], 0.5, 0.3, siblings)
    np.testing.assert_allclose(learned.scale[nodes], after, rtol=1e-5)


def test_the_bound_of_a_round_is_that_of_the_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the tilt left at the probabilities, which the twin finds itself."""
    monkeypatch.setattr(variances, "better_tilt", lambda rows, tilt: (tilt, expected_losses(rows, tilt)))
    objective = objective_of(TREE, 2, n=12, d=2)
    learned = learn_variances(
        objective, rules_of(objective, shape=0.5, rate=0.3, inference="map", max_rounds=1), EXACT
    )
    X, own, cost, paths, nodes = arrays_of(objective)
    scale = objective.tie.scale[nodes]
    mean, bias = twin.most_likely(X, own, cost, paths, scale)
    _, H = twin.map_round(X, own, cost, paths, scale, 0.5, 0.3)
    tilts = [twin.softmax(twin.scores_of(x, mean, bias, paths)) for x in X]
    slow = twin.bound(X, own, cost, paths, mean, bias, 1 / (H + 1 / scale[:, None]), tilts, 0.5, 0.3)
    assert learned.bounds == pytest.approx([slow], rel=1e-7)


def test_the_turns_end_where_no_change_of_means_variances_and_tilts_raises_the_bound() -> None:
    """The twin's bound, maximised over everything at once by a general method."""
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"] * 3)
    X = np.array([[1.0], [0.2], [-1.0]] * 3) + 0.5 * rng.normal(size=(9, 1))
    objective = Objective(make_problem(X, y), Softmax(), flat(3))
    rules = rules_of(objective, shape=1.0, rate=1.0, inference="variational", max_rounds=400, least_gain=1e-9)
    learned = learn_variances(objective, rules, EXACT)
    X, own, cost, paths, _ = arrays_of(objective)

    def negative(z: Any) -> float:
        mean, variance, bias, tilts = z[:3, None], np.exp(z[3:6, None]), z[6:9], z[9:].reshape(9, 3)
        return -twin.bound(X, own, cost, paths, mean, bias, variance, tilts, 1.0, 1.0)

    first = np.concatenate([np.zeros(9), np.full(27, 1 / 3)])
    best = minimize(negative, first, method="L-BFGS-B", options={"maxfun": 10**5, "maxiter": 10**4})
    assert learned.settled
    assert learned.bounds[-1] == pytest.approx(-best.fun, abs=2e-3)


@INFERENCES
def test_the_bound_is_below_the_evidence(inference: str) -> None:
    """Two classes, one feature, no biases: the precisions can be integrated out, and the vectors by a grid."""
    rng = np.random.default_rng(4)
    y = np.array(["a", "b"] * 6)
    X = np.array([[1.0], [-1.0]] * 6) + rng.normal(size=(12, 1))
    objective = Objective(make_problem(X, y), Softmax(), flat(2), bias_feature=0.0)
    shape, rate = 2.0, 1.0
    rules = rules_of(objective, shape=shape, rate=rate, inference=inference, max_rounds=200, least_gain=1e-7)
    learned = learn_variances(objective, rules, EXACT)
    u = np.linspace(-40, 40, 1601)
    prior = gammaln(shape + 0.5) - gammaln(shape) + shape * np.log(rate) - 0.5 * np.log(2 * np.pi)
    prior = prior - (shape + 0.5) * np.log(rate + 0.5 * u**2)
    margins = np.where(objective.problem.one_label[0] == 0, 1.0, -1.0) * X[:, 0]
    apart = u[:, None] - u[None, :]
    likelihood = -sum(np.logaddexp(0.0, -m * apart) for m in margins)
    evidence = np.log(np.sum(np.exp(likelihood + prior[:, None] + prior[None, :])) * (u[1] - u[0]) ** 2)
    assert evidence - 1.5 < learned.bounds[-1] < evidence


@INFERENCES
def test_the_bound_never_falls_on_fifty_random_problems(inference: str) -> None:
    rounds = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        taxonomy = (TREE, DAG, None)[seed % 3]
        weight = rng.exponential(size=15)
        objective = objective_of(
            taxonomy,
            seed,
            n=15,
            d=int(rng.integers(1, 6)),
            C=float(10 ** rng.uniform(-1, 1)),
            sample_weight=weight,
        )
        rules = rules_of(objective, inference=inference, max_rounds=8, least_gain=1e-6)
        objective = by_feature(objective) if seed % 4 == 3 else objective
        bounds = learn_variances(objective, rules, Limits(tol=1e-4)).bounds
        assert np.all(np.diff(bounds) > 0), seed
        rounds += len(bounds)
    assert rounds > 250  # it is not that learning stops at once


@INFERENCES
def test_variances_of_a_group_are_the_same_and_others_stay(inference: str) -> None:
    objective = objective_of(TREE, 5)
    groups = np.full(TREE.n_nodes, -1)
    groups[TREE.ids_of(["l1", "l2"])] = 0
    groups[TREE.ids_of(["l3", "l4"])] = 1
    learned = learn_variances(objective, VarianceRules(groups, inference=inference), Limits(tol=1e-6))
    first, second, third, fourth = learned.scale[TREE.ids_of(["l1", "l2", "l3", "l4"])]
    assert first == second != third == fourth
    np.testing.assert_array_equal(learned.scale[groups < 0], objective.tie.scale[groups < 0])


@INFERENCES
def test_variances_that_rows_were_drawn_with_are_found_in_order(inference: str) -> None:
    rng = np.random.default_rng(0)
    true = {"a": 0.0, "b": 9.0, "l1": 9.0, "l2": 9.0, "l3": 0.05, "l4": 0.05, "l5": 1.0}
    nodes = {name: np.sqrt(variance) * rng.normal(size=20) for name, variance in true.items()}
    leaves = ["l1", "l2", "l3", "l4", "l5"]
    vectors = np.array([sum(nodes.get(name, 0.0) for name in TREE.path(leaf)) for leaf in leaves])
    X = rng.normal(size=(1500, 20))
    y = np.array(leaves)[np.argmax(X @ vectors.T + rng.gumbel(size=(1500, 5)), axis=1)]
    problem = make_problem(X, y, TREE)
    scale = np.ones(TREE.n_nodes)
    scale[0] = 0.0
    objective = Objective(problem, Softmax(), path_sum(TREE, problem.class_nodes, scale))
    learned = learn_variances(objective, rules_of(objective, inference=inference), Limits(tol=1e-4))
    a, b, l1, l2, l3, l4 = learned.scale[TREE.ids_of(["a", "b", "l1", "l2", "l3", "l4"])]
    assert a < 0.5 < 2 < b
    assert max(l3, l4) < 0.5 < 2 < min(l1, l2)


def test_sparse_rows_have_the_variances_of_dense_ones_along_their_features() -> None:
    """Rows whose features are their principal axes: both ways of looking at them are the same."""
    dense = objective_of(TREE, 6)
    sparse = Objective(
        make_problem(
            sp.csr_array(dense.problem.X),
            [dense.problem.classes[k] for k in dense.problem.one_label[0]],
            TREE,
        ),
        Softmax(),
        dense.tie,
    )
    one, other = (learn_variances(one, rules_of(one), EXACT).scale for one in (dense, sparse))
    np.testing.assert_allclose(one, other, rtol=1e-4)


def test_limits_end_the_rounds() -> None:
    objective = objective_of(TREE, 8)
    rules = rules_of(objective, least_gain=1e-12, max_rounds=3)
    assert not learn_variances(objective, rules, EXACT).settled
    assert len(learn_variances(objective, rules, EXACT).bounds) == 3
    stopped = learn_variances(objective, rules, Limits(max_seconds=0.0))
    assert stopped.bounds == []
    np.testing.assert_array_equal(stopped.scale, objective.tie.scale)


def test_what_cannot_be_learned_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = objective_of(TREE, 8)
    wrong = Objective(objective.problem, Hinge(), objective.tie)
    with pytest.raises(DataError, match="needs a loss of the kind softmax, not 'hinge'"):
        learn_variances(wrong, rules_of(objective), EXACT)
    monkeypatch.setattr(variances, "_MOST_NUMBERS", 10)
    with pytest.raises(
        DataError, match="the variances of 7 nodes over 4 features and 30 rows do not fit in memory"
    ):
        learn_variances(objective, rules_of(objective), EXACT)


def test_nothing_to_learn_is_settled() -> None:
    objective = objective_of(TREE, 8)
    tie = PathSum(objective.tie.paths, objective.tie.scale)
    learned = learn_variances(
        Objective(objective.problem, Softmax(), tie), VarianceRules(np.full(TREE.n_nodes, -1)), EXACT
    )
    assert learned.settled
    assert learned.bounds == []
