"""Certificates through kernels: intervals that hold the exact values, and no proof where there is none."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.errors import DataError
from taxolearn.gram import RowKernel, row_kernel, row_products
from taxolearn.losses import structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Solution, Status
from taxolearn.solvers.kernel_rows import solve_kernel_rows
from taxolearn.ties import PathSum, flat, path_sum
from taxolearn.vectors import ClassVectors, KernelVectors

TREE = Taxonomy.from_paths(["r/a/1", "r/a/2", "r/b/3", "r/b/4", "r/5"])
N = 9


def exact(values: Any) -> Any:
    """An array of fractions, equal to the floats."""
    return np.vectorize(lambda value: Fraction(float(value)), otypes=[object])(values)


class Wild:
    """Any products, coefficients and feasible duals, of sizes from 1e-12 to 1e12, that no solver made."""

    def __init__(self, seed: int, wild: bool = True) -> None:
        rng = np.random.default_rng(seed)

        def size() -> float:
            return float(10.0 ** rng.uniform(-12, 12)) if wild else 1.0

        B = rng.normal(size=(N, rng.integers(1, N + 1))) * size()
        if wild and rng.random() < 0.5:
            B[rng.integers(N)] *= size()
        K = B @ B.T
        K = 0.5 * (K + K.T)
        y = [str(k % 5 + 1) for k in range(N)]
        weight = rng.random(N) * size() * (rng.random(N) < 0.9)
        weight[:5] += size()
        problem = make_problem(K, y, TREE, sample_weight=weight)
        self.problem = replace(problem, products=row_products(RowKernel("precomputed"), K))
        scale = rng.random(TREE.n_nodes) * size()
        self.tie: PathSum = flat(5) if rng.random() < 0.3 else path_sum(TREE, problem.class_nodes, scale)
        cost, rescaling = (
            rng.choice(["zero_one", "hamming", "normalized"]),
            rng.choice(["margin", "slack", "unit"]),
        )
        loss = structured_hinge(problem, self.tie, str(cost), str(rescaling))
        s = size() if rng.random() < 0.7 else 0.0
        self.objective = Objective(self.problem, loss, self.tie, size(), s)
        n_nodes = self.tie.n_nodes
        coef = rng.normal(size=(n_nodes, N)) * (rng.random((n_nodes, N)) < 0.5) * size()
        intercept = s * s * (self.tie.paths @ coef.sum(axis=1))
        used = np.flatnonzero(coef.any(axis=0))
        vectors = KernelVectors(
            RowKernel("precomputed"), None, sp.csr_array(coef[:, used]), self.tie.paths, intercept,
            used.astype(np.int64), np.zeros(len(used), dtype=np.int32), N,
        )  # fmt: skip
        label, weights = problem.one_label
        share = rng.random((N, 5)) * (rng.random((N, 5)) < 0.6)
        share[np.arange(N), label] = 0.0
        alpha = share / (share.sum(axis=1, keepdims=True) + 1e-3) * (self.objective.C * weights)[:, None]
        self.solution = Solution(vectors, sp.csr_array(alpha.T), Status.CONVERGED, 0)
        self.coef, self.alpha, self.label = coef, alpha, label
        self.certificate = certify(self.objective, self.solution)

    def exactly(self, shift: float) -> tuple[Fraction, Fraction]:
        """Primal and dual objective of K + shift I in fractions."""
        o = self.objective
        K = exact(self.problem.X) + Fraction(shift) * exact(np.eye(N)) + Fraction(o.bias_feature) ** 2
        P, a, b, alpha = (
            exact(part) for part in (self.tie.paths.toarray(), self.tie.scale, self.coef, self.alpha)
        )
        margins, scalings = (exact(part) for part in o.loss.margins_and_scalings(np.arange(5)))
        scores = K @ b.T @ P.T
        weight = [Fraction(o.C) * Fraction(float(w)) for w in self.problem.one_label[1]]
        used = [n for n in range(len(a)) if a[n] > 0]
        primal = sum(b[n] @ K @ b[n] / a[n] for n in used) / 2
        z = exact(np.zeros(b.shape))
        linear = Fraction(0)
        for i, y in enumerate(self.label.tolist()):
            worst = max(margins[y, k] - scalings[y, k] * (scores[i, y] - scores[i, k]) for k in range(5))
            primal += weight[i] * max(Fraction(0), worst)
            for k in range(5):
                linear += alpha[i, k] * margins[y, k]
                z[:, i] += alpha[i, k] * scalings[y, k] * (P[y] - P[k])
        return primal, linear - sum(a[n] * (z[n] @ K @ z[n]) for n in used) / 2


def excluded(wild: Wild) -> list[str]:
    found = []
    products = wild.problem.products
    assert products is not None
    for shift in (0.0, products.shift):
        primal, dual = wild.exactly(shift)
        c = wild.certificate
        if np.isfinite(c.upper) and abs(Fraction(c.primal) - primal) > Fraction(c.primal_error):
            found.append(f"primal {float(primal)} of {c.primal} +- {c.primal_error}")
        if np.isfinite(c.lower) and abs(Fraction(c.dual) - dual) > Fraction(c.dual_error):
            found.append(f"dual {float(dual)} of {c.dual} +- {c.dual_error}")
    return found


@pytest.mark.parametrize("part", range(2))
def test_no_interval_excludes_the_exact_value(part: int) -> None:
    cases = [Wild(seed) for seed in range(60 * part, 60 * (part + 1))]
    assert [fault for case in cases for fault in excluded(case)] == []
    assert sum(np.isfinite([case.certificate.upper, case.certificate.lower]).all() for case in cases) > 55


def test_intervals_of_ordinary_data_are_narrow() -> None:
    for seed in range(20):
        case = Wild(seed, wild=False)
        assert excluded(case) == []
        certificate = case.certificate
        assert certificate.primal_error <= 1e-10 * certificate.primal
        assert certificate.dual_error <= 1e-10 * certificate.primal


def solved(kernel: str = "rbf", **parameters: float) -> tuple[Objective, Solution]:
    rng = np.random.default_rng(0)
    problem = make_problem(rng.normal(size=(40, 3)), np.arange(40) % 4)
    problem = replace(problem, products=row_products(row_kernel(kernel, parameters), problem.X))
    objective = Objective(problem, structured_hinge(problem, flat(4)), flat(4), C=2.0)
    return objective, solve_kernel_rows(objective, Limits(tol=1e-6))


def test_what_was_tampered_with_proves_nothing() -> None:
    objective, solution = solved()
    assert certify(objective, solution).holds(1e-6)
    vectors: Any = solution.vectors
    wrong = replace(solution, vectors=replace(vectors, nodes=sp.csr_array(2.0 * vectors.nodes)))
    assert not certify(objective, wrong).holds(1e-2)
    assert not certify(
        objective, replace(solution, vectors=vectors.with_intercept(vectors.intercept + 1.0))
    ).holds(1e-3)
    above = replace(solution, dual=sp.csr_array(solution.dual * 1.5))
    assert certify(objective, above).lower == -np.inf
    with pytest.raises(DataError, match="not of its space"):
        certify(objective, replace(solution, vectors=ClassVectors(np.zeros((4, 3)), np.zeros(4))))
    with pytest.raises(DataError, match="no row of the problem"):
        certify(objective, replace(solution, vectors=replace(vectors, support=vectors.support + 1)))


def test_a_dual_beats_no_optimum_under_another_kernel() -> None:
    """The bounds of one kernel are not those of another: the certificate reads the objective's."""
    one, first = solved(gamma=1.0)
    other, second = solved(gamma=0.1)
    assert certify(one, second).lower <= certify(one, first).upper
    assert certify(other, first).lower <= certify(other, second).upper
    assert not certify(one, second).holds(1e-3)


def test_a_matrix_that_needs_a_shift_widens_the_bounds() -> None:
    objective, _ = solved()
    K = objective.problem.X @ objective.problem.X.T  # of rank 3: rounding makes some eigenvalues negative
    widths = []
    for given in (K, K.astype(np.float32).astype(np.float64)):
        problem = replace(
            make_problem(given, np.arange(40) % 4), products=row_products(RowKernel("precomputed"), given)
        )
        told = replace(objective, problem=problem)
        solution = solve_kernel_rows(told, Limits(tol=1e-7))
        certificate = certify(told, solution)
        assert certificate.holds(1e-3)
        widths.append(certificate.dual_error)
    assert widths[0] < 0.1 * widths[1]
