"""The solvers of sibling hinges: their contract, dual averaging on all five methods, weights that count as copies."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import (
    MulticlassSVM,
    OrthogonalTransferSVM,
    Taxonomy,
    TopDownSVM,
    TransferSVM,
    TreeLossSVM,
)
from taxolearn.errors import DataError
from taxolearn.losses import sibling_hinge
from taxolearn.problem import make_problem
from taxolearn.solvers import RegularizedDualAveraging, dual_averaging, siblings
from taxolearn.testing import check_loss, check_solver

TREE = Taxonomy.from_paths(["r/a/b", "r/a/c", "r/d/e", "r/d/f", "r/g"])
LEAVES = ["b", "c", "e", "f", "g"]
FAR_FROM_FLAT = {OrthogonalTransferSVM: {"alpha": 0.2}}  # bounds of dual averaging rise with the convexity
FIVE = (MulticlassSVM, TopDownSVM, TransferSVM, TreeLossSVM, OrthogonalTransferSVM)


def rows(n: int = 50, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = [LEAVES[k % 5] for k in range(n - 5)] + ["a", "a", "d", "d", "a"]
    centre = {name: rng.normal(size=4) for name in TREE.nodes}
    X = np.array([sum(centre[k] for k in TREE.ancestors(name, include_self=True)) for name in y])
    return np.round(X + 0.7 * rng.normal(size=X.shape), 3), y


def objective_of(kind, C: float = 0.1, **given):
    X, y = rows()
    return kind(TREE, C=C, **given)._objective(make_problem(X, y, TREE))


@pytest.mark.parametrize("kind", [TransferSVM, OrthogonalTransferSVM])
def test_the_dual_solver_keeps_its_contract(kind) -> None:
    objective = objective_of(kind)
    check_loss(objective.loss)
    check_solver(siblings.solve_siblings, siblings.REQUIRES, objective)


@pytest.mark.parametrize("kind", [TransferSVM, OrthogonalTransferSVM, MulticlassSVM, TreeLossSVM])
def test_dual_averaging_keeps_its_contract(kind) -> None:
    objective = objective_of(kind, C=0.002, **FAR_FROM_FLAT.get(kind, {}))
    check_solver(dual_averaging.solve_dual_averaging, dual_averaging.REQUIRES, objective, tol=0.1)


@pytest.mark.parametrize("kind", FIVE)
def test_dual_averaging_brackets_the_optimum_of_all_five(kind) -> None:
    X, y = rows()
    given = FAR_FROM_FLAT.get(kind, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = kind(TREE, C=0.01, tol=1e-6, max_iter=100_000, random_state=0, **given).fit(X, y)
        rough = kind(TREE, C=0.01, tol=1e-6, max_iter=100, solver="averaging", **given).fit(X, y)
    best = exact.certificate_
    assert rough.certificate_.lower <= best.upper
    assert rough.certificate_.upper >= best.lower
    assert rough.certificate_.primal <= 1.2 * best.primal
    for progress in rough.history_:
        assert progress.dual <= best.upper * (1 + 1e-9)
    if kind is not TopDownSVM:  # of parts the history has one entry each
        uppers, lowers = zip(*((progress.primal, progress.dual) for progress in rough.history_), strict=True)
        assert all(np.diff(uppers) <= 0), "upper bounds must fall"
        assert all(np.diff(lowers) >= 0), "lower bounds must rise"
        assert lowers[-1] > 0


def test_dual_averaging_of_any_two_callables() -> None:
    """Lasso of a small problem: phi the squares, Psi the absolute values and a ridge."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(20, 5)), rng.normal(size=20)

    def phi(w):
        rest = A @ w - b
        return 0.5 * float(rest @ rest), A.T @ rest

    def psi(g):
        w = -np.sign(g) * np.maximum(np.abs(g) - 1.0, 0.0) / 20.0
        return w, float(np.abs(w).sum()) + 10.0 * float(w @ w)

    found = RegularizedDualAveraging(gap=1e-4, max_iter=20_000).minimise(phi, psi, np.zeros(5))
    assert found.upper - found.lower <= 1e-4
    for _ in range(200):
        w = found.point + 0.1 * rng.normal(size=5)
        assert phi(w)[0] + float(np.abs(w).sum()) + 10.0 * float(w @ w) >= found.lower - 1e-12


@pytest.mark.parametrize(("name", "value"), [("gap", -1.0), ("max_iter", 0), ("max_iter", True)])
def test_options_of_dual_averaging(name: str, value) -> None:
    with pytest.raises(DataError, match=name):
        RegularizedDualAveraging(**{name: value})


@pytest.mark.parametrize("kind", [TransferSVM, OrthogonalTransferSVM])
def test_a_weight_of_three_is_three_copies(kind) -> None:
    X, y = rows(30)
    weight = np.random.default_rng(1).integers(0, 4, size=30)
    weight[:5] = 1
    given = {"C": 0.1, "tol": 1e-7, "max_iter": 50_000, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        weighted = kind(TREE, **given).fit(X, y, sample_weight=weight)
        copied = kind(TREE, **given).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.certificate_.primal, copied.certificate_.primal, rtol=3e-7)
    np.testing.assert_allclose(weighted.vectors_.coef, copied.vectors_.coef, atol=2e-3)


def test_sparse_and_dense_rows_and_single_precision_agree() -> None:
    X, y = rows()
    given = {"C": 0.1, "tol": 1e-6, "max_iter": 50_000, "random_state": 0}
    dense, sparse, single = (
        OrthogonalTransferSVM(TREE, **given).fit(data, y).certificate_
        for data in (X, sp.csr_array(X), X.astype(np.float32))
    )
    np.testing.assert_allclose([sparse.primal, single.primal], dense.primal, rtol=1e-5)


def test_any_dual_may_be_a_start() -> None:
    objective = objective_of(OrthogonalTransferSVM)
    rng = np.random.default_rng(0)
    wild = sp.csr_array(rng.normal(size=(objective.n_units, objective.problem.n_rows)))
    from taxolearn.certificates import certify
    from taxolearn.solvers import Limits, Start

    found = siblings.solve_siblings(objective, Limits(tol=1e-4), Start(wild, "no signs"))
    assert certify(objective, found).holds(1e-4)
    with pytest.raises(DataError, match="start has shape"):
        siblings.solve_siblings(objective, Limits(), Start(sp.csr_array((1, 1))))


def test_nothing_to_decide_is_said() -> None:
    with pytest.raises(ValueError, match="nothing to decide"):
        sibling_hinge([], 2)


def test_vectors_are_zero_at_features_that_no_row_has() -> None:
    X, y = rows()
    wide = np.zeros((len(X), 12))
    wide[:, [1, 4, 5, 9]] = X
    given = {"C": 0.1, "tol": 1e-6, "max_iter": 50_000, "random_state": 0}
    for kind in (TransferSVM, OrthogonalTransferSVM):
        thin, sparse = (kind(TREE, **given).fit(sp.csr_array(data), y) for data in (X, wide))
        np.testing.assert_array_equal(sparse.vectors_.coef[:, [1, 4, 5, 9]], thin.vectors_.coef)
        assert np.count_nonzero(np.delete(sparse.vectors_.coef, [1, 4, 5, 9], axis=1)) == 0
