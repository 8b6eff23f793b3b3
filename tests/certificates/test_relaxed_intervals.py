"""The certificate of relaxed label sets against exact arithmetic, on a DAG whose corners are known."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from reference.exact_objective import dot, exact, squared
from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.losses import RelaxedSetHinge, set_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Solution, Status
from taxolearn.ties import PathSum, flat
from taxolearn.vectors import NodeVectors

DAG = Taxonomy.from_edges(
    [
        ("r", "a"),
        ("r", "b"),
        ("r", "c"),
        ("a", "x"),
        ("b", "x"),
        ("b", "y"),
        ("c", "y"),
        ("a", "z"),
        ("c", "z"),
    ]
)
SIXTHS = np.array(list(product((0, 2, 3, 4, 6), repeat=6)))
MOVED = Fraction(4, 10**12)
TRIED = 8  # points that are the best in floating point, among which the best is looked for exactly


def relaxed_sets(loss) -> np.ndarray:
    """Points of the relaxed sets in sixths, all corners among them; whole numbers, so that nothing is rounded."""
    points = np.column_stack([np.full(len(SIXTHS), 6), SIXTHS])
    A, b = loss.constraints
    return points[np.all(points @ A.toarray().T <= 6 * b, axis=1)]


def drawn(seed: int):
    """An objective, a solution with drawn vectors and marginals, both objectives as rationals, and by how much the dual
    changes where marginals are moved so far inside that their sums are not rounded out again."""
    rng = np.random.default_rng(seed)
    wild = 10.0 ** rng.uniform(-12, 12) if rng.random() < 0.4 else 1.0
    X = rng.normal(size=(4, 2)) * wild
    y = [sorted(set(rng.choice(["x", "y", "z"], size=2).tolist())) for _ in range(4)]
    problem = make_problem(X, y, DAG, empty_classes="keep", sample_weight=rng.uniform(0.1, 3.0, size=4))
    loss = set_hinge(problem, miss_cost=float(rng.uniform(0.5, 3.0)), must="all", kind=RelaxedSetHinge)
    n, C = DAG.n_nodes, float(10.0 ** rng.uniform(-3, 3))
    scale = rng.uniform(0.2, 2.0, size=n)
    objective = Objective(problem, loss, PathSum(flat(n).paths, scale), C, bias_feature=0.5)
    points, own, cost = relaxed_sets(loss), loss.sets(problem).toarray(), C * problem.row_weight
    halves = points[np.all(points % 3 == 0, axis=1)] / 6
    mu = halves[rng.integers(len(halves), size=4)]
    dual = np.abs(mu - own).T * cost
    U, bias = rng.normal(size=(2, n)) / wild, rng.normal(size=n)
    U[:, 0] = bias[0] = 0.0
    vectors = NodeVectors(U, flat(n).paths, 0.5 * bias)
    solution = Solution(vectors, sp.csr_array(dual), Status.CONVERGED, 0, [], {"node_bias": bias})
    rows = [[*exact(row), Fraction(1, 2)] for row in X]
    whole = [[*exact(U[:, k]), exact(bias[k])] for k in range(n)]
    a, c, marginals = exact(scale), exact(cost), exact(mu)
    miss, alarm, ours = exact(loss.miss), exact(loss.false_alarm), exact(own)
    primal = sum((squared(whole[k]) / a[k] / 2 for k in range(n)), Fraction(0))
    lower = Fraction(0)
    pulls = [[Fraction(0)] * 3 for _ in range(n)]
    for i, row in enumerate(rows):
        theta = [dot(u, row) + (-miss[k] if ours[i][k] else alarm[k]) for k, u in enumerate(whole)]
        best = np.argsort(points[:, 1:] @ np.array([float(t) for t in theta[1:]]))[-TRIED:]
        most = max(sum((t * int(k) for t, k in zip(theta[1:], points[one, 1:], strict=True))) for one in best)
        worst = Fraction(most) / 6 - dot(theta[1:], ours[i][1:])
        primal += Fraction(float(problem.row_weight[i])) * Fraction(C) * worst
        for k in range(n):
            off = ours[i][k] - marginals[i][k]
            lower += c[i] * (miss[k] * off if ours[i][k] else -alarm[k] * off)
            pulls[k] = [p + c[i] * off * x for p, x in zip(pulls[k], row, strict=True)]
    lower -= sum((a[k] * squared(pulls[k]) / 2 for k in range(n)), Fraction(0))
    steep = sum(
        c[i] * (miss[k] + alarm[k] + abs(a[k] * dot(pulls[k], row)))
        for i, row in enumerate(rows)
        for k in range(n)
    )
    return objective, solution, primal, lower, steep * MOVED


def test_the_points_in_sixths_have_all_corners():
    objective, *_ = drawn(0)
    A, b = objective.loss.constraints
    points = relaxed_sets(objective.loss) / 6
    rng = np.random.default_rng(1)
    for _ in range(40):
        theta = rng.normal(size=DAG.n_nodes)
        best = linprog(-theta, A_ub=A, b_ub=b, bounds=[(1, 1)] + [(0, 1)] * 6)
        assert -best.fun == pytest.approx((points @ theta).max(), abs=1e-9)


def test_the_exact_objectives_lie_within_the_bounds():
    for seed in range(40):
        objective, solution, primal, lower, moved = drawn(seed)
        certificate = certify(objective, solution)
        assert np.isfinite(certificate.lower), seed
        assert abs(Fraction(certificate.primal) - primal) <= Fraction(certificate.primal_error), seed
        # c_i is C times the weight of the row, rounded: that is an error of the dual as well
        slack = abs(lower) / 2**48 + Fraction(certificate.dual_error) + moved
        assert abs(Fraction(certificate.dual) - lower) <= slack, seed
        assert certificate.primal_error <= 1e-9 * abs(certificate.primal)
