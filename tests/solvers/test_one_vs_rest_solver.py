"""One-vs-rest solves beyond tiny sizes: the growing working set, layouts, weights as copies, threads and seeds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from reference.one_vs_rest_twin import LOSSES, primal_of, signs_and_costs, with_constant
from taxolearn.certificates import certify
from taxolearn.engines import ThreadEngine
from taxolearn.kernels import rows as kernel_rows
from taxolearn.losses import MARGIN_LOSSES
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Status, one_vs_rest, solve_one_vs_rest
from taxolearn.solvers.margin_block import MAX_ROWS_UNSHRUNK
from taxolearn.ties import flat

every_loss = pytest.mark.parametrize("name", LOSSES)


def blobs(n, width=8, n_classes=4, seed=0, spread=1.0):
    """Overlapping classes; a third of the values are zero, so that the sparse form is another one."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, width))
    label = rng.integers(0, n_classes, n)
    label[:n_classes] = np.arange(n_classes)
    X = (centres[label] + spread * rng.normal(size=(n, width))) * (rng.random((n, width)) < 0.67)
    return X, label


def solved(X, y, name, C=0.1, bias_feature=1.0, sample_weight=None, tol=1e-7, seed=0):
    problem = make_problem(X, y, sample_weight=sample_weight)
    objective = Objective(problem, MARGIN_LOSSES[name], flat(problem.n_classes), C, bias_feature)
    solution = solve_one_vs_rest(objective, Limits(tol, max_iter=20_000, seed=seed))
    certificate = certify(objective, solution)
    assert solution.status is Status.CONVERGED
    assert certificate.holds(tol * (1 + 1e-6))
    return solution, certificate


def best_by_liblinear(X, y, name, C, bias_feature):
    model = LinearSVC(loss=name, dual=True, C=C, intercept_scaling=bias_feature, tol=1e-8, max_iter=200_000)
    model.fit(X, y)
    return np.hstack([model.coef_, model.intercept_[:, None] / bias_feature])


def best_by_quasi_newton(Z, sign, cost):
    """Weights of the logistic problem by L-BFGS on the primal."""

    def value_and_gradient(v):
        margins = sign * (Z @ v)
        factors = -cost * sign / (1.0 + np.exp(margins))
        return 0.5 * v @ v + cost @ np.logaddexp(0.0, -margins), v + Z.T @ factors

    start = np.zeros(Z.shape[1])
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9}
    return scipy.optimize.minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x


@every_loss
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_the_growing_working_set_finds_the_optimum(name, layout):
    X, y = blobs(1100)
    assert len(X) > MAX_ROWS_UNSHRUNK
    bias_feature, C = 2.0, 0.02
    _, certificate = solved(X if layout == "dense" else sp.csr_array(X), y, name, C, bias_feature)
    Z = with_constant(X, bias_feature)
    sign, cost = signs_and_costs(list(y), range(4), C)
    if name == "logistic":
        others = [best_by_quasi_newton(Z, sign[:, k], cost[:, k]) for k in range(4)]
    else:
        others = best_by_liblinear(X, y, name, C, bias_feature)
    for k in range(4):
        optimum = primal_of(name, Z, sign[:, k], cost[:, k], others[k])
        assert certificate.class_primal[k] == pytest.approx(optimum, rel=1e-5)


@every_loss
def test_rows_without_weight_are_rows_removed(name):
    # with the rows the working set grows, without them it does not: both paths, one optimum
    X, y = blobs(900, seed=1)
    keep = np.random.default_rng(1).random(900) < 0.5
    keep[:10] = True
    assert keep.sum() <= MAX_ROWS_UNSHRUNK < 900
    full, certificate = solved(X, y, name, sample_weight=keep.astype(float))
    less, expected = solved(X[keep], y[keep], name)
    np.testing.assert_allclose(certificate.class_primal, expected.class_primal, rtol=1e-6)
    np.testing.assert_allclose(full.vectors.coef, less.vectors.coef, atol=2e-3)
    assert not full.dual.toarray()[:, ~keep].any()


@every_loss
def test_a_weight_of_two_is_a_row_given_twice(name):
    X, y = blobs(400, seed=2)
    twice = np.random.default_rng(2).random(400) < 0.5
    copies = np.repeat(np.arange(400), 1 + twice)
    assert len(copies) > MAX_ROWS_UNSHRUNK
    _, weighted = solved(X, y, name, sample_weight=1.0 + twice)
    _, copied = solved(X[copies], y[copies], name)
    np.testing.assert_allclose(weighted.class_primal, copied.class_primal, rtol=1e-6)


def test_single_precision_read_only_and_wide_indices(monkeypatch):
    X, y = blobs(700, seed=3)
    single = X.astype(np.float32)
    _, expected = solved(single.astype(np.float64), y, "squared_hinge")
    wide = sp.csr_array(single)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for array in (single, wide.data, wide.indices, wide.indptr):
        array.flags.writeable = False
    for matrix in (single, wide):
        problem = make_problem(matrix, y)
        assert problem.X.dtype == np.float32
        if sp.issparse(matrix):
            monkeypatch.setattr(kernel_rows, "_FEW_BYTES", 0)  # as if they were many: not copied into double
            assert np.shares_memory(problem.X.data, matrix.data)
            assert problem.X.indices.dtype == np.int64
        else:
            assert np.shares_memory(problem.X, matrix)
        _, certificate = solved(matrix, y, "squared_hinge")
        np.testing.assert_allclose(certificate.class_primal, expected.class_primal, rtol=1e-6)


@pytest.mark.parametrize(("n", "layout"), [(300, "dense"), (700, "sparse")])
def test_threads_do_not_change_the_answer(n, layout):
    X, y = blobs(n, n_classes=20, seed=4)  # two blocks or more whatever the number of workers
    X = X if layout == "dense" else sp.csr_array(X)
    problem = make_problem(X, y)
    objective = Objective(problem, MARGIN_LOSSES["hinge"], flat(20), 0.1)
    answers = [solve_one_vs_rest(objective, Limits(seed=5))]
    for n_jobs in (2, 3, -1):
        with ThreadEngine(n_jobs) as engine:
            answers.append(solve_one_vs_rest(objective, Limits(seed=5, engine=engine)))
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer.vectors.coef, answers[0].vectors.coef)
        np.testing.assert_array_equal(answer.vectors.intercept, answers[0].vectors.intercept)
        np.testing.assert_array_equal(answer.dual.toarray(), answers[0].dual.toarray())
        assert answer.n_iter == answers[0].n_iter


def test_a_seed_changes_the_path_and_not_the_optimum():
    X, y = blobs(300, seed=5)
    X = sp.csr_array(X)  # dense rows of a smooth loss are visited in no order
    first, one = solved(X, y, "squared_hinge", seed=0)
    second, two = solved(X, y, "squared_hinge", seed=1)
    assert not np.array_equal(first.vectors.coef, second.vectors.coef)
    assert one.primal == pytest.approx(two.primal, rel=1e-6)
    again, _ = solved(X, y, "squared_hinge", seed=0)
    np.testing.assert_array_equal(first.vectors.coef, again.vectors.coef)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_too_large_to_keep_dense(monkeypatch, n_classes):
    X, y = blobs(200, n_classes=n_classes, seed=6)
    X[:, 3] = 0.0  # a feature that no row has gets no weight
    dense, expected = solved(X, y, "hinge")
    monkeypatch.setattr(one_vs_rest, "_DENSE_BYTES", 0)
    sparse, certificate = solved(X, y, "hinge")
    assert sparse.vectors.is_sparse
    assert not dense.vectors.is_sparse
    np.testing.assert_array_equal(sparse.vectors.coef.toarray(), dense.vectors.coef)
    assert not sparse.vectors.coef.toarray()[:, 3].any()
    np.testing.assert_allclose(certificate.class_primal, expected.class_primal, rtol=1e-12)
    np.testing.assert_allclose(certificate.class_dual, expected.class_dual, rtol=1e-12)


def test_the_dual_gives_the_weights():
    X, y = blobs(300, seed=7)
    solution, _ = solved(sp.csr_array(X), y, "squared_hinge", bias_feature=3.0)
    sign, _ = signs_and_costs(list(y), range(4), 1.0)
    dual = solution.dual.toarray()
    assert dual.shape == (4, 300)
    assert np.all(dual >= 0)
    np.testing.assert_allclose((dual * sign.T) @ X, solution.vectors.coef, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        9.0 * (dual * sign.T).sum(axis=1), solution.vectors.intercept, rtol=1e-8, atol=1e-10
    )


@every_loss
def test_more_classes_than_a_block_holds(name):
    X, y = blobs(150, n_classes=37, seed=8)
    solution, certificate = solved(X, y, name, tol=1e-5)
    assert solution.vectors.coef.shape == (37, 8)
    assert certificate.class_primal.shape == (37,)
    assert np.all(certificate.class_primal - certificate.class_dual <= 1.01e-5 * certificate.class_primal)
