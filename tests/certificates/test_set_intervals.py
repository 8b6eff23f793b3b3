"""The certificate of label sets against exact arithmetic: true intervals, no proof by marginals outside the hull."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from reference import sets_twin as twin
from reference.exact_objective import dot, exact, squared
from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.losses import set_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Solution, Status
from taxolearn.ties import PathSum, flat
from taxolearn.vectors import NodeVectors

TREE = Taxonomy.from_edges([("all", "a"), ("all", "c"), ("a", "a1"), ("a", "a2"), ("a1", "a11")])
DAG = Taxonomy.from_edges(
    [("all", "a"), ("all", "b"), ("a", "a1"), ("a", "a2"), ("b", "a2"), ("b", "c"), ("c", "d")]
)
LABELS = {"tree": ["a11", "a2", "c", "a"], "dag": ["a1", "a2", "d", "b"]}


def drawn(shape: str, seed: int):
    """An objective, a solution with drawn vectors and marginals, and both objectives as rationals."""
    rng = np.random.default_rng(seed)
    taxonomy = TREE if shape == "tree" else DAG
    wild = 10.0 ** rng.uniform(-12, 12) if rng.random() < 0.4 else 1.0
    X = rng.normal(size=(4, 2)) * wild
    y = [sorted(set(rng.choice(LABELS[shape], size=2).tolist())) for _ in range(4)]
    problem = make_problem(X, y, taxonomy, empty_classes="keep", sample_weight=rng.uniform(0.1, 3.0, size=4))
    loss = set_hinge(problem, miss_cost=float(rng.uniform(0.5, 3.0)), must=str(rng.choice(["auto", "root"])))
    n = taxonomy.n_nodes
    scale, C = rng.uniform(0.2, 2.0, size=n), float(10.0 ** rng.uniform(-3, 3))
    objective = Objective(problem, loss, PathSum(flat(n).paths, scale), C, bias_feature=0.5)
    parents = [
        loss.parent_indices[loss.parent_indptr[k] : loss.parent_indptr[k + 1]].tolist() for k in range(n)
    ]
    sets = twin.all_sets(parents, loss.must, loss.is_tree)
    own = np.array([twin.closed(parents, loss.class_nodes[row.indices]) for row in problem.targets])
    cost = C * problem.row_weight
    shares = np.diff(np.sort(rng.integers(0, 9, size=(4, len(sets))), axis=1), axis=1, prepend=0)
    shares[:, 0] += 8 - shares.sum(axis=1)  # eighths: products and sums are exact
    mu = shares @ sets / 8
    dual = np.abs(mu - own).T * cost
    U, bias = rng.normal(size=(2, n)) / wild, rng.normal(size=n)
    U[:, 0] = bias[0] = 0.0
    vectors = NodeVectors(U, flat(n).paths, 0.5 * bias)
    solution = Solution(vectors, sp.csr_array(dual), Status.CONVERGED, 0, [], {"node_bias": bias})
    rows = [[*exact(row), Fraction(1, 2)] for row in X]
    whole = [[*exact(U[:, k]), exact(bias[k])] for k in range(n)]
    a, c, z, marginals = exact(scale), exact(cost), exact(sets), exact(mu)
    miss, alarm, ours = exact(loss.miss), exact(loss.false_alarm), exact(own)
    primal = sum((squared(whole[k]) / a[k] / 2 for k in range(n)), Fraction(0))
    lower = Fraction(0)
    pulls = [[Fraction(0)] * 3 for _ in range(n)]
    for i, row in enumerate(rows):
        theta = [dot(u, row) + (-miss[k] if ours[i][k] else alarm[k]) for k, u in enumerate(whole)]
        worst = max(dot(theta[1:], one[1:]) for one in z) - dot(theta[1:], ours[i][1:])
        primal += Fraction(float(problem.row_weight[i])) * Fraction(C) * worst
        for k in range(n):
            off = ours[i][k] - marginals[i][k]
            lower += c[i] * (miss[k] * off if ours[i][k] else -alarm[k] * off)
            pulls[k] = [p + c[i] * off * x for p, x in zip(pulls[k], row, strict=True)]
    lower -= sum((a[k] * squared(pulls[k]) / 2 for k in range(n)), Fraction(0))
    return objective, solution, primal, lower


@pytest.mark.parametrize("shape", ["tree", "dag"])
def test_the_exact_objectives_lie_within_the_bounds(shape):
    for seed in range(60):
        objective, solution, primal, lower = drawn(shape, seed)
        certificate = certify(objective, solution)
        assert np.isfinite(certificate.lower), seed
        assert abs(Fraction(certificate.primal) - primal) <= Fraction(certificate.primal_error), seed
        # c_i is C times the weight of the row, rounded: that is an error of the dual as well
        slack = abs(lower) / 2**48 + Fraction(certificate.dual_error)
        assert abs(Fraction(certificate.dual) - lower) <= slack, seed
        assert certificate.primal_error <= 1e-9 * abs(certificate.primal)


@pytest.mark.parametrize("shape", ["tree", "dag"])
def test_marginals_outside_the_hull_prove_nothing(shape):
    objective, solution, _, _ = drawn(shape, 0)
    n = objective.n_units
    good = solution.dual.toarray()
    cost = objective.C * objective.problem.row_weight
    own = objective.loss.sets(objective.problem).toarray()

    def lower(dual) -> float:
        changed = Solution(solution.vectors, sp.csr_array(dual), Status.CONVERGED, 0, [], solution.details)
        return certify(objective, changed).lower

    def with_mu(row: int, mu):
        changed = good.copy()
        changed[:, row] = np.abs(mu - own[row]) * cost[row]
        return changed

    assert np.isfinite(lower(good))
    assert lower(with_mu(0, np.where(np.arange(n) == 0, 0.5, own[0]))) == -np.inf  # the root is in every set
    leaf = int(np.flatnonzero(~objective.loss.has_children)[-1])
    above = np.zeros(n)
    above[0], above[leaf] = 1.0, 0.5
    if objective.loss.parent_indices[objective.loss.parent_indptr[leaf]] != 0:
        assert lower(with_mu(0, above)) == -np.inf  # a child above its parent
    if shape == "tree":
        nothing = np.zeros(n)
        nothing[0] = 1.0
        assert lower(with_mu(0, nothing)) == -np.inf  # nothing below the root
    assert lower(-good) == -np.inf
    assert lower(1.5 * good + 10.0 * cost) == -np.inf
    nearly = good * (1.0 + 1e-13)
    assert lower(nearly) == pytest.approx(lower(good), rel=1e-9)
