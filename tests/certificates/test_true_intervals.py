"""No printed interval excludes the true value, whatever the data: certificates against exact arithmetic."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from interval_cases import LOSSES, TIES, make_case

from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.losses import MARGIN_LOSSES, Softmax, Square, structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Solution, Status
from taxolearn.ties import Factor, flat, path_sum
from taxolearn.vectors import ClassVectors, DualVectors, NodeVectors

CELLS = len(LOSSES) * len(TIES)


@pytest.mark.parametrize("part", range(5))
def test_a_thousand_wild_problems(part):
    # features, outliers, weights and C to 1e+-12; benchmarks/check_intervals.py runs more of them
    faults, finite = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(200 * part, 200 * (part + 1)):
            case = make_case(seed)
            faults += case.faults
            finite += np.isfinite(case.certificate.upper) and np.isfinite(case.certificate.lower)
    assert faults == []
    assert finite > 195  # bounds that say nothing would be true as well


def test_intervals_of_ordinary_data_are_narrow():
    cases = [make_case(seed, wild=False) for seed in range(2 * CELLS)]
    assert [fault for case in cases for fault in case.faults] == []
    assert max(case.width for case in cases) <= 1e-12


def solution_of(coef, dual, intercept=None):
    intercept = np.zeros(len(coef)) if intercept is None else intercept
    return Solution(
        ClassVectors(np.asarray(coef, dtype=float), intercept), sp.csr_array(dual), Status.CONVERGED, 0
    )


def ordinary(loss):
    """500 rows of 50 features and ten classes, with vectors that belong to a dual in the middle of its bounds."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 50)), np.arange(500) % 10
    problem = make_problem(X, y)
    tie = flat(10)
    loss = structured_hinge(problem, tie) if loss == "structured" else loss
    kind = loss.facts.kind
    has = problem.targets.toarray().T > 0
    share = rng.random((10, 500))
    details = {}
    if kind == "margin":
        dual = 0.004 * share
        signed = np.where(has, dual, -dual)
    elif kind == "softmax":
        dual = share / share.sum(axis=0)
        signed = 0.1 * (has - dual)
    elif kind == "square":
        dual = signed = 0.01 * (share - 0.5)
    else:
        dual = np.where(has, 0.0, 0.1 * share)
        signed = np.where(has, dual.sum(axis=0), -dual)
        details = {"node_bias": signed.sum(axis=1)}
    vectors = ClassVectors(signed @ X, signed.sum(axis=1))
    solution = Solution(vectors, sp.csr_array(dual), Status.CONVERGED, 0, details=details)
    return Objective(problem, loss, tie), solution


@pytest.mark.parametrize("loss", [*MARGIN_LOSSES.values(), Softmax(), "structured", Square()], ids=LOSSES)
def test_five_hundred_rows_are_evaluated_to_twelve_digits(loss):
    certificate = certify(*ordinary(loss))
    assert 0 < certificate.primal_error <= 1e-12 * certificate.primal
    assert 0 < certificate.dual_error <= 1e-12 * abs(certificate.dual)


def outlier_rows():
    rng = np.random.default_rng(0)
    y = np.array(list("abc"))[np.arange(60) % 3]
    X = np.array([[2.0, 0], [-2, 1], [-2, -1]])[np.arange(60) % 3] + rng.normal(size=(60, 2))
    X[0, 0] = 1e9
    return X, y


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_one_outlier_hides_no_loss(name):
    # the losses of all rows as negatives, less those of a class's own, would leave nothing of the own ones
    X, y = outlier_rows()
    problem = make_problem(X, y)
    coef = np.array([[1e-3, 0.1], [-1e-3, 0.2], [-1e-3, -0.2]])
    certificate = certify(
        Objective(problem, MARGIN_LOSSES[name], flat(3)), solution_of(coef, np.zeros((3, 60)))
    )
    total = 0.5 * float(np.sum(coef**2))
    for k, label in enumerate("abc"):
        sign = np.where(y == label, 1.0, -1.0).astype(np.longdouble)
        violation = np.maximum(0, 1 - sign * (X.astype(np.longdouble) @ coef[k].astype(np.longdouble)))
        total += float(np.sum(violation if name == "hinge" else violation**2))
    assert abs(certificate.primal - total) <= certificate.primal_error
    assert certificate.primal_error <= 1e-12 * certificate.primal


def test_the_vectors_of_an_outlier_are_proved_or_not_but_never_wrongly():
    # a dual above the primal was "converged"; here both are of the same solution, and the interval is true
    X, y = outlier_rows()
    tree = Taxonomy.from_edges([("all", "ab"), ("all", "c"), ("ab", "a"), ("ab", "b")])
    problem = make_problem(X, y, tree)
    objective = Objective(problem, MARGIN_LOSSES["hinge"], path_sum(tree, problem.class_nodes, np.ones(5)))
    dual = np.where(np.arange(60) == 0, 1e-9, 1.0) * np.ones((3, 1))
    certificate = certify(objective, solution_of(np.zeros((3, 2)), dual))
    assert certificate.primal == pytest.approx(180.0)
    assert certificate.lower <= certificate.dual <= 180.0
    assert certificate.upper >= certificate.primal


def test_one_huge_sample_weight():
    problem = make_problem(np.eye(3), ["a", "b", "c"], sample_weight=[1e12, 1.0, 1.0])
    objective = Objective(problem, MARGIN_LOSSES["squared_hinge"], flat(3))
    coef = np.array([[1.0, 0, 0], [-1.0, 0, 0], [-1.0, 0, 0]])  # the heavy row has no loss
    certificate = certify(objective, solution_of(coef, np.zeros((3, 3))))
    assert certificate.primal == 1.5 + 6.0
    assert certificate.primal_error < 1e-3


@pytest.mark.parametrize("C", [1e-12, 1e-100, 1e-200, 1e-280])
def test_the_square_of_a_tiny_dual_does_not_vanish(C):
    # at w = 0 every loss is one; duals of 2 C are the best ones, and give C each
    problem = make_problem([[1.0], [-1.0]], ["a", "b"])
    objective = Objective(problem, MARGIN_LOSSES["squared_hinge"], flat(2), C=C, bias_feature=0.0)
    certificate = certify(objective, solution_of(np.zeros((2, 1)), np.full((2, 2), 2 * C)))
    assert certificate.primal == pytest.approx(4 * C)
    assert certificate.dual == pytest.approx(4 * C, rel=1e-10)
    assert certificate.holds(1e-10)


@pytest.mark.parametrize("loss", [*MARGIN_LOSSES.values(), Softmax()], ids=lambda loss: loss.facts.name)
@pytest.mark.parametrize("size", [1e160, 1e300])
def test_huge_values_prove_nothing_and_say_so_quietly(loss, size):
    problem = make_problem(size * np.eye(3), ["a", "b", "c"])
    dual = np.full((3, 3), 1 / 3)
    vectors = size * np.eye(3)
    for tie in (flat(3), Factor(sp.csr_array(np.eye(3) + 1.0))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            certificate = certify(Objective(problem, loss, tie), solution_of(vectors, dual))
            assert not certificate.holds(0.999)
            assert "Certificate" in repr(certificate)


def test_values_that_are_not_finite_prove_nothing():
    problem = make_problem(np.eye(3), ["a", "b", "c"])
    for value in (np.nan, np.inf):
        for tie in (flat(3), Factor(sp.csr_array(np.eye(3) + 1.0))):
            objective = Objective(problem, MARGIN_LOSSES["hinge"], tie)
            assert certify(objective, solution_of(np.full((3, 3), value), np.zeros((3, 3)))).gap == np.inf
            assert certify(objective, solution_of(np.zeros((3, 3)), np.full((3, 3), value))).gap == np.inf


def test_a_dual_at_its_bound_in_another_order_of_factors_is_feasible():
    rng = np.random.default_rng(0)
    weight, factor = rng.random(30), {"a": 1.1, "b": 0.7, "c": 2.3}
    y = list("abc") * 10
    problem = make_problem(rng.normal(size=(30, 2)), y, sample_weight=weight, class_weight=factor)
    has = problem.targets.toarray().T > 0
    by_class = np.where(has, problem.positive_weight[:, None], problem.negative_weight[:, None])
    for cost in (0.3 * weight * by_class, 0.3 * (weight * by_class), weight * (by_class * 0.3)):
        objective = Objective(problem, MARGIN_LOSSES["hinge"], flat(3), C=0.3)
        assert np.isfinite(certify(objective, solution_of(np.zeros((3, 2)), cost)).dual)


def test_an_intercept_where_there_is_none_is_outside_the_model():
    problem = make_problem(np.eye(2), ["a", "b"])
    objective = Objective(problem, MARGIN_LOSSES["hinge"], flat(2), bias_feature=0.0)
    assert certify(objective, solution_of(np.zeros((2, 2)), np.zeros((2, 2)), np.ones(2))).primal == np.inf


def test_vectors_made_of_the_dual_give_its_square():
    rng = np.random.default_rng(0)
    tree = Taxonomy.from_paths(["all/a/a1", "all/a/a2", "all/c"])
    y = np.array(["a1", "a2", "c"])[np.arange(40) % 3]
    problem = make_problem(sp.csr_array(rng.normal(size=(40, 6))), y, tree)
    tie = path_sum(tree, problem.class_nodes, rng.uniform(0.5, 2.0, 5))
    objective = Objective(problem, MARGIN_LOSSES["squared_hinge"], tie)
    dual = sp.csr_array(rng.random((3, 40)))
    signed = sp.csr_array(dual.toarray() * np.where(problem.targets.toarray().T > 0, 1.0, -1.0))
    made = DualVectors(problem.X, signed, tie.paths, tie.scale, np.zeros(3))
    nodes = np.ascontiguousarray(np.stack([made.node_vector(n) for n in range(5)], axis=1))
    kept = NodeVectors(nodes, tie.paths, np.zeros(3))
    short, long = (certify(objective, Solution(v, dual, Status.CONVERGED, 0)) for v in (made, kept))
    assert short.primal == long.primal
    assert abs(short.dual - long.dual) <= short.dual_error + long.dual_error
    assert short.dual_error <= 1e-11 * abs(short.dual)


def test_what_converged_means_is_decided_by_the_proof():
    problem = make_problem(np.eye(2), ["a", "b"])
    objective = Objective(problem, MARGIN_LOSSES["hinge"], flat(2))
    rough = certify(objective, solution_of(np.zeros((2, 2)), np.zeros((2, 2))))
    assert rough.status is Status.CONVERGED  # what the solver said
    assert rough.decided(1e-3).status is Status.ROUNDING
    assert rough.decided(1.0).status is Status.CONVERGED


def test_thin_bounds_on_large_problems_are_true_as_well(monkeypatch):
    """Large problems bound the rounding of all scores at once; here small ones are treated as large."""
    from taxolearn.certificates import scores

    monkeypatch.setattr(scores, "_FEW", -1)
    cases = [make_case(seed) for seed in range(300)]
    assert [fault for case in cases for fault in case.faults] == []
    ordinary_cases = [make_case(seed, wild=False) for seed in range(CELLS)]
    assert [fault for case in ordinary_cases for fault in case.faults] == []
    assert max(case.width for case in ordinary_cases) <= 1e-10
