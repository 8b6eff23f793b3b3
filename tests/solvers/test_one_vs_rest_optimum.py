"""One-vs-rest solutions against an interior-point method on the same objective, written down separately."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.one_vs_rest_twin import (
    LOSSES,
    cone_optimum,
    newton_optimum,
    primal_of,
    signs_and_costs,
    with_constant,
)
from taxolearn.certificates import certify
from taxolearn.errors import DataError
from taxolearn.losses import MARGIN_LOSSES, Softmax
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Status, solve_one_vs_rest
from taxolearn.ties import PathSum, flat

every_loss = pytest.mark.parametrize("name", LOSSES)


def rows(n, width, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def some_names(n, names, seed=0):
    picks = np.random.default_rng(seed).integers(0, len(names), n)
    picks[: len(names)] = np.arange(len(names))
    return [names[i] for i in picks]


def some_sets(n, names, seed=0):
    chosen = np.random.default_rng(seed).random((n, len(names))) < 0.4
    chosen[np.arange(len(names)), np.arange(len(names))] = True
    chosen[:, 0] |= ~chosen.any(axis=1)
    return [[name for name, has in zip(names, row, strict=True) if has] for row in chosen]


ROW_WEIGHTS = np.random.default_rng(9).choice([0.0, 0.5, 1.0, 4.0], size=20)
CASES = {
    "three classes": {"labels": some_names(20, "abc")},
    "two classes, mirrored": {"labels": some_names(20, "ab")},
    "several labels per row": {"labels": some_sets(20, "abcd"), "C": 0.3},
    "two classes, several labels": {"labels": some_sets(20, "ab"), "class_weight": {"a": 3.0}},
    "row weights": {"labels": some_names(20, "abc"), "sample_weight": ROW_WEIGHTS},
    "class weights": {"labels": some_names(20, "abc"), "class_weight": {"a": 2.0, "c": 0.25}},
    "two classes, all weights": {
        "labels": some_names(20, "ab"),
        "sample_weight": ROW_WEIGHTS,
        "class_weight": {"a": 5.0, "b": 0.5},
    },
    "no intercept": {"labels": some_names(20, "abc"), "bias_feature": 0.0},
    "intercept scaling": {"labels": some_names(20, "ab"), "bias_feature": 4.0, "C": 2.0},
    "all weights, no intercept": {
        "labels": some_sets(20, "abc"),
        "sample_weight": ROW_WEIGHTS,
        "class_weight": {"b": 3.0},
        "bias_feature": 0.0,
        "C": 5.0,
    },
}


def check_against_cone_programme(
    name,
    X,
    labels,
    sample_weight=None,
    class_weight=None,
    bias_feature=1.0,
    C=1.0,
    reference=cone_optimum,
):
    problem = make_problem(X, labels, sample_weight=sample_weight, class_weight=class_weight)
    objective = Objective(problem, MARGIN_LOSSES[name], flat(problem.n_classes), C, bias_feature)
    solution = solve_one_vs_rest(objective, Limits(tol=1e-7, max_iter=100_000))
    certificate = certify(objective, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1.01e-7)

    sign, cost = signs_and_costs(labels, problem.classes, C, sample_weight, class_weight)
    Z = with_constant(X, bias_feature)
    optima = []
    for k in range(len(problem.classes)):
        optimum = reference(name, Z, sign[:, k], cost[:, k])
        scale = max(optimum, 1e-6)
        assert certificate.class_primal[k] == pytest.approx(optimum, rel=1e-6, abs=1e-9)
        assert certificate.class_dual[k] <= optimum + 1e-7 * scale
        assert certificate.class_primal[k] >= optimum - 1e-7 * scale
        v = np.append(solution.vectors.coef[k], 0.0)
        if bias_feature:
            v[-1] = solution.vectors.intercept[k] / bias_feature
        assert primal_of(name, Z, sign[:, k], cost[:, k], v) == pytest.approx(optimum, rel=1e-6, abs=1e-9)
        optima.append(optimum)
    assert certificate.dual <= sum(optima) * (1 + 1e-7)
    assert certificate.primal >= sum(optima) * (1 - 1e-7)
    return problem, solution


@every_loss
@pytest.mark.parametrize("case", CASES)
def test_the_objective_is_the_cone_programmes(name, case):
    check_against_cone_programme(name, rows(20, 4), **CASES[case])


@every_loss
def test_two_classes_are_mirror_images(name):
    problem, solution = check_against_cone_programme(name, rows(20, 4), some_names(20, "ab"))
    np.testing.assert_array_equal(solution.vectors.coef[0], -solution.vectors.coef[1])
    np.testing.assert_array_equal(solution.vectors.intercept[0], -solution.vectors.intercept[1])
    np.testing.assert_array_equal(solution.dual.toarray()[0], solution.dual.toarray()[1])
    margins = np.where(problem.targets.toarray() > 0, 1.0, -1.0) * solution.vectors.scores(problem.X)
    np.testing.assert_array_equal(margins[:, 0], margins[:, 1])


@every_loss
@pytest.mark.parametrize("bias_feature", [0.0, 1.0])
def test_awkward_rows(name, bias_feature):
    # a class of one row, rows of zeros, the same row with two labels, a constant feature, huge and tiny columns
    X = rows(20, 5, seed=1)
    X[3] = X[9] = 0.0
    X[10:13] = X[4]
    X[:, 2] = 1.0
    X[3, 2] = X[9, 2] = 0.0
    X[:, 3] *= 30.0
    X[:, 4] *= 1e-3
    labels = some_names(20, "ab", seed=1)
    labels[7] = "only one"
    labels[10], labels[11] = "a", "b"
    check_against_cone_programme(name, X, labels, bias_feature=bias_feature, C=0.5)


@every_loss
@settings(deadline=None, max_examples=8)
@given(
    n=st.integers(3, 12),
    width=st.integers(1, 5),
    seed=st.integers(0, 2**20),
    n_classes=st.integers(2, 3),
    bias_feature=st.sampled_from([0.0, 1.0, 0.3]),
    C=st.sampled_from([0.05, 1.0, 10.0]),
    weighted=st.booleans(),
)
def test_random_problems(name, n, width, seed, n_classes, bias_feature, C, weighted):
    weights = np.random.default_rng(seed).choice([0.1, 1.0, 3.0], size=n) if weighted else None

    def reference(name, Z, sign, cost):  # clarabel is not sure of every exponential cone
        return newton_optimum(Z, sign, cost) if name == "logistic" else cone_optimum(name, Z, sign, cost)

    check_against_cone_programme(
        name,
        rows(n, width, seed),
        some_names(n, "abc"[:n_classes], seed),
        sample_weight=weights,
        bias_feature=bias_feature,
        C=C,
        reference=reference,
    )


@every_loss
@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_class_without_rows_has_no_losses_and_says_no(name, empty):
    y = np.array(some_sets(20, "abc"), dtype=object)
    indicator = np.array([[letter in row for letter in "abc"] for row in y], dtype=int)
    indicator[:, empty] = 0
    problem = make_problem(rows(20, 4), indicator)
    assert problem.counted.tolist() == [k != empty for k in range(3)]
    objective = Objective(problem, MARGIN_LOSSES[name], flat(3))
    solution = solve_one_vs_rest(objective, Limits(tol=1e-7, max_iter=100_000))
    assert not solution.vectors.coef[empty].any()
    assert solution.vectors.intercept[empty] <= -1.0
    assert solution.dual.shape == (3, 20)
    assert not solution.dual.toarray()[empty].any()
    assert solution.history[-1][-1] == solution.history[-1].done == 2
    others = [k for k in range(3) if k != empty]
    alone = make_problem(rows(20, 4), indicator[:, others])
    less = solve_one_vs_rest(
        Objective(alone, MARGIN_LOSSES[name], flat(2)), Limits(tol=1e-7, max_iter=100_000)
    )
    np.testing.assert_allclose(solution.vectors.coef[others], less.vectors.coef, atol=1e-3)


def test_of_two_classes_one_may_be_without_rows():
    problem = make_problem(rows(20, 4), some_names(20, "ab"))
    chosen = np.flatnonzero(problem.targets.toarray()[:, 1])
    objective = Objective(problem.subset(chosen), MARGIN_LOSSES["hinge"], flat(2))
    solution = solve_one_vs_rest(objective)
    assert not solution.vectors.coef[0].any()
    assert solution.vectors.intercept[0] < 0.0 < solution.vectors.intercept[1]


def test_what_it_cannot_do_is_said():
    problem = make_problem(rows(20, 4), some_names(20, "abc"))
    hinge, tie = MARGIN_LOSSES["hinge"], flat(3)
    for objective, culprit in (
        (Objective(problem, Softmax(), tie), "a loss of the kind margin, not 'softmax'"),
        (Objective(problem, hinge, PathSum(tie.paths, np.array([1.0, 2.0, 1.0]))), "scales of one"),
        (
            Objective(problem, hinge, PathSum(tie.paths[:, [0, 0, 1]].T.tocsr(), np.ones(3))),
            "nothing in common",
        ),
        (Objective(problem, hinge, tie, bias_prior=-1.0), "prior of the biases, not -1"),
    ):
        with pytest.raises(DataError, match=culprit):
            solve_one_vs_rest(objective)
