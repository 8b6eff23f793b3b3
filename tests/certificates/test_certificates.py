"""Certificates against dense numpy formulas, on weights and duals that no solver made."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.one_vs_rest_twin import LOSSES, dual_of, primal_of, signs_and_costs, with_constant
from taxolearn.certificates import Certificate, certify, margin
from taxolearn.losses import MARGIN_LOSSES
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Solution, Status, solve_one_vs_rest
from taxolearn.ties import flat
from taxolearn.vectors import ClassVectors

every_loss = pytest.mark.parametrize("name", LOSSES)
N, WIDTH = 25, 6


class Made:
    """A problem with random weights and a random feasible dual."""

    def __init__(self, name, seed=0, form="dense", labels="three", bias_feature=1.0, C=0.7, weighted=True):
        rng = np.random.default_rng(seed)
        self.name, self.C, self.bias_feature = name, C, bias_feature
        dtype = np.float32 if "float32" in form else np.float64
        self.X = (rng.normal(size=(N, WIDTH)) * (rng.random((N, WIDTH)) < 0.7)).astype(dtype)
        names = "ab" if labels == "two" else "abc"
        if labels == "sets":
            y = [[name for name in names if rng.random() < 0.5] or ["a"] for _ in range(N)]
            y[0], y[1] = ["a", "b"], ["c"]
        else:
            y = [names[k] for k in rng.integers(0, len(names), N)]
            y[: len(names)] = names
        sample_weight = rng.choice([0.0, 0.5, 2.0], size=N, p=[0.2, 0.4, 0.4]) if weighted else None
        if weighted:
            sample_weight[:3] = 1.0  # every class keeps a row
        class_weight = {"a": 3.0, "b": 0.5} if weighted else None
        X = sp.csr_array(self.X) if "sparse" in form else self.X
        self.problem = make_problem(X, y, sample_weight=sample_weight, class_weight=class_weight)
        self.sign, self.cost = signs_and_costs(y, self.problem.classes, C, sample_weight, class_weight)
        self.Z = with_constant(self.X, bias_feature)
        self.V = rng.normal(size=(len(names), WIDTH + 1))
        if not bias_feature:
            self.V[:, -1] = 0.0
        upper = self.cost.T * (4.0 if name == "squared_hinge" else 1.0)
        share = rng.random(upper.shape)
        share[rng.random(upper.shape) < 0.4] = 0.0
        share[rng.random(upper.shape) < 0.2] = 1.0
        self.dual = share * upper

    def solution(self, coef=None, dual=None, status=Status.CONVERGED):
        coef = np.ascontiguousarray(self.V[:, :-1]) if coef is None else coef
        dual = self.dual if dual is None else dual
        weights = ClassVectors(coef, self.V[:, -1] * self.bias_feature)
        return Solution(weights, sp.csr_array(dual), status, 1)

    def objective(self, bias_feature=None):
        tie = flat(self.problem.n_classes)
        bias_feature = self.bias_feature if bias_feature is None else bias_feature
        return Objective(self.problem, MARGIN_LOSSES[self.name], tie, self.C, bias_feature)

    def certify(self, **changes):
        return certify(self.objective(), self.solution(**changes))

    def expected(self):
        classes = range(len(self.V))
        primal = [primal_of(self.name, self.Z, self.sign[:, k], self.cost[:, k], self.V[k]) for k in classes]
        dual = [dual_of(self.name, self.Z, self.sign[:, k], self.cost[:, k], self.dual[k]) for k in classes]
        return primal, dual


@every_loss
@pytest.mark.parametrize("form", ["dense", "sparse", "dense float32", "sparse float32"])
@pytest.mark.parametrize("labels", ["two", "three", "sets"])
def test_both_objectives_are_the_definitions(name, form, labels):
    for bias_feature in (0.0, 1.0, 2.5):
        made = Made(name, form=form, labels=labels, bias_feature=bias_feature)
        certificate = made.certify()
        primal, dual = made.expected()
        np.testing.assert_allclose(certificate.class_primal, primal, rtol=1e-11)
        np.testing.assert_allclose(certificate.class_dual, dual, rtol=1e-10, atol=1e-12)
        assert certificate.primal == pytest.approx(sum(primal))
        assert certificate.dual == pytest.approx(sum(dual))
        assert certificate.gap == pytest.approx((sum(primal) - sum(dual)) / sum(primal))


@every_loss
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**20),
    labels=st.sampled_from(["two", "three", "sets"]),
    bias_feature=st.sampled_from([0.0, 1.0, 7.0]),
    C=st.sampled_from([1e-3, 1.0, 100.0]),
    weighted=st.booleans(),
)
def test_any_feasible_dual_is_below_any_primal(name, seed, labels, bias_feature, C, weighted):
    made = Made(name, seed, labels=labels, bias_feature=bias_feature, C=C, weighted=weighted)
    certificate = made.certify()
    assert np.all(certificate.class_dual <= certificate.class_primal * (1 + 1e-12))
    assert certificate.gap >= -1e-12
    primal, dual = made.expected()
    np.testing.assert_allclose(certificate.class_primal, primal, rtol=1e-10)
    np.testing.assert_allclose(certificate.class_dual, dual, rtol=1e-9, atol=1e-9 * max(primal))


@every_loss
@pytest.mark.parametrize("fault", ["negative", "above", "without weight"])
def test_an_infeasible_dual_proves_nothing(name, fault):
    made = Made(name)
    dual = made.dual.copy()
    if fault == "negative":
        dual[1, 4] = -1e-9
    elif fault == "above":
        dual[1, 4] = made.cost[4, 1] * (1 + 1e-9) + 1e-12
    else:
        dual[1, np.flatnonzero(made.cost[:, 1] == 0.0)[0]] = 1e-9
    certificate = made.certify(dual=dual)
    feasible = name == "squared_hinge" and fault == "above" and made.cost[4, 1] > 0.0
    assert np.isfinite(certificate.class_dual[1]) == feasible
    if not feasible:
        assert certificate.class_dual[1] == -np.inf
        assert certificate.dual == -np.inf
        assert certificate.gap == np.inf
        assert not certificate.holds(1e9)
        assert np.isfinite(certificate.class_dual[[0, 2]]).all()  # the other classes keep theirs
    assert np.isfinite(certificate.primal)


@every_loss
def test_wrong_weights_and_wrong_duals_widen_the_gap(name):
    made = Made(name)
    solution = solve_one_vs_rest(made.objective(), Limits(tol=1e-8, max_iter=20_000))
    good = certify(made.objective(), solution)
    assert good.holds(1.01e-8)

    def gap_of(coef=None, intercept=None, dual=None):
        weights = ClassVectors(
            solution.vectors.coef if coef is None else coef,
            solution.vectors.intercept if intercept is None else intercept,
        )
        changed = Solution(weights, solution.dual if dual is None else dual, Status.CONVERGED, 1)
        return certify(made.objective(), changed).gap

    assert gap_of(coef=1.1 * solution.vectors.coef) > 1e-5
    assert gap_of(coef=solution.vectors.coef[[1, 0, 2]].copy()) > 1e-3
    assert gap_of(intercept=solution.vectors.intercept + 0.1) > 1e-5
    assert gap_of(dual=sp.csr_array(0.9 * solution.dual)) > 1e-5
    assert gap_of(dual=sp.csr_array((3, N))) == 1.0  # no dual at all: the bound is zero


@every_loss
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_sparse_weights_give_the_same_certificate(name, form):
    made = Made(name, form=form)
    made.V[np.random.default_rng(1).random(made.V.shape) < 0.6] = 0.0
    dense, sparse = made.certify(), made.certify(coef=sp.csr_array(made.V[:, :-1]))
    np.testing.assert_allclose(sparse.class_primal, dense.class_primal, rtol=1e-13)
    np.testing.assert_array_equal(sparse.class_dual, dense.class_dual)
    # weights rounded to single precision are other weights: their own objective, computed in double
    single = made.certify(coef=sp.csr_array(made.V[:, :-1].astype(np.float32)))
    made.V[:, :-1] = made.V[:, :-1].astype(np.float32)
    np.testing.assert_allclose(single.class_primal, made.expected()[0], rtol=1e-12)


def test_classes_in_several_blocks_give_the_same_certificate(monkeypatch):
    made = Made("hinge", labels="sets")
    whole = made.certify()
    monkeypatch.setattr(margin, "_BLOCK_BYTES", 8 * N)  # one class at a time
    parts = made.certify()
    np.testing.assert_allclose(parts.class_primal, whole.class_primal, rtol=1e-14)
    np.testing.assert_allclose(parts.class_dual, whole.class_dual, rtol=1e-14)


def test_double_precision_whatever_x_is():
    # each row adds what single precision would lose
    X = np.full((3000, 1), 1e-4, dtype=np.float32)
    X[0] = 1.0
    y = ["a"] + ["b"] * 2999
    problem = make_problem(X, y)
    dual = np.full((2, 3000), 1e-4)
    weights = ClassVectors(np.array([[0.5], [-0.5]]), np.zeros(2))
    solution = Solution(weights, sp.csr_array(dual), Status.CONVERGED, 1)
    certificate = certify(Objective(problem, MARGIN_LOSSES["hinge"], flat(2), bias_feature=0.0), solution)
    Z = with_constant(X, 0.0)
    sign, cost = signs_and_costs(y, ["a", "b"], 1.0)
    v = np.array([0.5, 0.0])
    assert certificate.class_primal[0] == pytest.approx(
        primal_of("hinge", Z, sign[:, 0], cost[:, 0], v), rel=1e-13
    )
    assert certificate.class_dual[0] == pytest.approx(
        dual_of("hinge", Z, sign[:, 0], cost[:, 0], dual[0]), rel=1e-13
    )


def test_status_text_and_edges():
    zero = Certificate(np.zeros(2), np.zeros(2), Status.TIME_LIMIT)
    assert zero.gap == 0.0
    assert repr(zero).endswith("time limit)")
    made = Made("hinge")
    assert made.certify(status=Status.INTERRUPTED).status is Status.INTERRUPTED
    assert not Certificate(np.array([1.0]), np.array([0.5]), Status.CONVERGED).holds(0.4)


def test_no_solver_code_takes_part():
    # numba is what kernels are made of: a certificate is found without it
    script = (
        "import sys, numpy as np, scipy.sparse as sp\n"
        "from taxolearn.certificates import certify\n"
        "from taxolearn.losses import Hinge\n"
        "from taxolearn.vectors import ClassVectors\n"
        "from taxolearn.objective import Objective\n"
        "from taxolearn.problem import make_problem\n"
        "from taxolearn.ties import flat\n"
        "from taxolearn.solvers import Solution, Status\n"
        "problem = make_problem([[-1.0], [1.0]], ['a', 'b'])\n"
        "weights = ClassVectors(np.array([[-1.0], [1.0]]), np.zeros(2))\n"
        "dual = sp.csr_array(np.full((2, 2), 0.5))\n"
        "objective = Objective(problem, Hinge(), flat(2), C=10.0, bias_feature=0.0)\n"
        "found = certify(objective, Solution(weights, dual, Status.CONVERGED, 1))\n"
        "assert 'numba' not in sys.modules and not any(m.startswith('taxolearn.kernels') for m in sys.modules)\n"
        "print(found.primal, found.dual)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.0", "1.0"]
