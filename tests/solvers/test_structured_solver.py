"""How the structured solver goes on and ends: starts, limits, threads, precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import Taxonomy
from taxolearn.certificates import certify_structured
from taxolearn.errors import LabelError
from taxolearn.losses import structured_hinge
from taxolearn.problem import make_problem
from taxolearn.regularizers import flat, path_sum
from taxolearn.solvers import Status, solve_structured, structured
from taxolearn.solvers.pegasos import solve_pegasos

TREE = Taxonomy.from_paths([f"r/{a}/{a}{b}" for a in "abcd" for b in range(5)])


class Case:
    def __init__(self, n=300, width=50, layout="sparse", C=1.0):
        rng = np.random.default_rng(0)
        label = np.arange(n) % 20
        X = rng.normal(size=(20, width))[label] + 2.0 * rng.normal(size=(n, width))
        X *= rng.random(X.shape) < 0.7
        self.X, self.y = X, [TREE.leaves[k] for k in label]
        self.problem = make_problem(sp.csr_array(X) if layout == "sparse" else X, self.y, TREE)
        self.tie = path_sum(TREE, self.problem.class_nodes, np.ones(TREE.n_nodes))
        self.loss = structured_hinge(self.problem, self.tie, "hamming")
        self.C = C

    def solve(self, C=None, **options):
        return solve_structured(self.problem, self.loss, self.tie, self.C if C is None else C, **options)

    def certify(self, solution, C=None):
        return certify_structured(
            self.problem, solution, self.loss, self.tie, self.C if C is None else C, 1.0
        )


@pytest.fixture(scope="module")
def case():
    return Case()


@pytest.fixture(scope="module")
def fine(case):
    solution = case.solve(tol=1e-6)
    assert solution.status is Status.CONVERGED
    return solution


def test_the_gap_asked_for_is_certified_and_the_history_tells(case):
    seen = []
    solution = case.solve(tol=1e-3, on_epoch=seen.append)
    certificate = case.certify(solution)
    assert certificate.holds(1e-3)
    assert solution.status is Status.CONVERGED
    assert seen == solution.history
    assert (seen[-1].primal, seen[-1].dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-9)
    assert [p.seconds for p in seen] == sorted(p.seconds for p in seen)
    assert seen[-1].done == solution.n_iter


def test_the_same_seed_gives_the_same_weights(case):
    first, second, other = (case.solve(seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.weights.nodes, second.weights.nodes)
    assert not np.array_equal(first.weights.nodes, other.weights.nodes)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_reach_the_same_optimum(case, fine, n_jobs, monkeypatch):
    monkeypatch.setattr(structured, "_THREAD_ENTRIES", 0)
    solution = case.solve(tol=1e-5, n_jobs=n_jobs)
    certificate = case.certify(solution)
    assert certificate.holds(1e-5)
    assert certificate.primal == pytest.approx(case.certify(fine).primal, rel=2e-5)


def test_a_start_saves_passes(case, fine):
    again = case.solve(tol=1e-6, start=fine.dual)
    assert again.n_iter <= 2 < fine.n_iter
    assert case.certify(again).holds(1e-6)
    # a dual for another C, scaled
    scaled = case.solve(C=1.3, tol=1e-4, start=fine.dual * 1.3)
    cold = case.solve(C=1.3, tol=1e-4)
    assert case.certify(scaled, C=1.3).holds(1e-4)
    assert scaled.n_iter < cold.n_iter


def test_a_start_that_is_not_feasible_is_made_so(case):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(case.problem.n_rows, case.problem.n_classes))
    solution = case.solve(tol=1e-4, start=sp.csr_array(start))
    assert case.certify(solution).holds(1e-4)
    stopped = case.solve(max_iter=0, start=sp.csr_array(start))
    assert np.isfinite(case.certify(stopped).dual)


def test_single_precision_where_weights_are_large(case, monkeypatch):
    monkeypatch.setattr(structured, "_SINGLE_BYTES", 0)
    solution = case.solve(tol=1e-5)
    assert solution.weights.dtype == np.float32
    certificate = case.certify(solution)
    assert certificate.gap <= 1e-5 * (1 + 1e-3)
    last = solution.history[-1]
    assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-9)
    assert case.solve(tol=1e-6).weights.dtype == np.float64  # single precision may not reach it


@pytest.mark.parametrize(
    ("options", "status"),
    [({"max_iter": 1}, Status.ITERATION_LIMIT), ({"max_iter": 10**9, "max_seconds": 0.3}, Status.TIME_LIMIT)],
)
def test_limits_leave_usable_weights_and_an_honest_history(case, options, status):
    case.solve(max_iter=1)  # compiled before the clock runs
    solution = case.solve(tol=-1.0, **options)
    assert solution.status is status
    certificate = case.certify(solution)
    assert 0.0 < certificate.gap < 1.0
    last = solution.history[-1]
    assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-8)


def test_ctrl_c_ends_it(case):
    calls = []

    def interrupt(progress):
        calls.append(progress)
        if len(calls) == 2:
            raise KeyboardInterrupt

    solution = case.solve(tol=-1.0, max_iter=10**9, on_epoch=interrupt)
    assert solution.status is Status.INTERRUPTED
    certificate = case.certify(solution)
    assert 0.0 < certificate.gap < 1.0
    last = solution.history[-1]
    assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-8)


def test_several_labels_a_row_are_refused():
    problem = make_problem([[0.0], [1.0]], [["a", "b"], ["b"]])
    with pytest.raises(LabelError, match="row 0 has 2 labels"):
        solve_structured(problem, structured_hinge(problem, flat(2)), flat(2), 1.0)


@pytest.mark.parametrize("average", [False, True])
def test_pegasos_comes_near_and_its_dual_is_feasible(case, fine, average):
    best = case.certify(fine).primal
    found = []
    for passes in (2, 30):
        solution = solve_pegasos(case.problem, case.loss, case.tie, case.C, max_iter=passes, average=average)
        certificate = case.certify(solution)
        assert np.isfinite(certificate.dual)
        assert solution.n_iter == passes
        found.append(certificate.primal)
    assert best <= found[1] < found[0]
    started = case.solve(tol=1e-4, start=solution.dual)
    assert case.certify(started).holds(1e-4)


def test_pegasos_is_its_definition(case):
    rng_order = np.random.default_rng(3)
    solution = solve_pegasos(case.problem, case.loss, case.tie, case.C, max_iter=1, seed=3)
    mean = solve_pegasos(case.problem, case.loss, case.tie, case.C, max_iter=1, seed=3, average=True)
    P, n = case.tie.paths.toarray(), case.problem.n_rows
    Z = np.hstack([case.X, np.ones((n, 1))])
    label, _ = structured.one_label_a_row(case.problem)
    D = case.loss.costs(np.arange(case.problem.n_classes))
    U = np.zeros((P.shape[1], Z.shape[1]))
    total = np.zeros_like(U)
    for t, i in enumerate(rng_order.permutation(n), start=1):
        scores = P @ (U @ Z[i])
        violation = D[label[i]] - (scores[label[i]] - scores)
        violation[label[i]] = 0.0
        U = (1.0 - 1.0 / t) * U
        worst = int(np.argmax(violation))
        if violation[worst] > 0:
            U += n * case.C / t * np.outer(P[label[i]] - P[worst], Z[i])
        total += U
    np.testing.assert_allclose(
        np.vstack([solution.weights.nodes, solution.details["node_bias"]]).T, U, atol=1e-9
    )
    np.testing.assert_allclose(
        np.vstack([mean.weights.nodes, mean.details["node_bias"]]).T, total / n, atol=1e-9
    )
