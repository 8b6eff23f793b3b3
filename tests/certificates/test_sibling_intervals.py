"""Certificates of the sibling hinge under both of its ties, against exact arithmetic on wild data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from interval_cases import Case, power, rows_of

from reference.exact_objective import HALF, dot, exact, of_graph, solved
from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.decoders import passing_decoder, unit_nodes
from taxolearn.losses import sibling_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Solution, Status
from taxolearn.ties import orthogonal_tie, transfer_tie
from taxolearn.vectors import ClassVectors

TREE = Taxonomy.from_edges([("all", "a"), ("all", "c"), ("a", "a1"), ("a", "a2")])
UNITS = ["a", "c", "a1", "a2"]
RIVALS = {
    "a1": [(0, 1), (2, 3)],
    "a2": [(0, 1), (3, 2)],
    "a": [(0, 1)],
    "c": [(1, 0)],
}  # (own, rival) by place


def make_case(seed: int, wild: bool = True) -> Case:
    rng = np.random.default_rng([seed, int(wild)])
    n, width = 4, int(rng.integers(1, 3))
    y = ["a1", "a2", "c", "a"]
    X = rows_of(rng, n, width, wild)
    weight = power(rng, 12, n) if wild and rng.random() < 0.5 else np.ones(n)
    problem = make_problem(sp.csr_array(X) if seed % 3 == 0 else X, y, TREE, sample_weight=weight)
    loss = sibling_hinge(passing_decoder(problem).choices(), 4)
    nodes = unit_nodes(problem)
    assert [TREE.name_of(node) for node in nodes] == UNITS
    C = float(power(rng, 12)) if wild else 1.0
    s = float(rng.choice([0.0, 1.0, 0.3]))
    orthogonal = seed % 2 == 0
    tie = orthogonal_tie(TREE, nodes, 0.7) if orthogonal else transfer_tie(TREE, nodes)
    objective = Objective(problem, loss, tie, C, s)
    cost = [Fraction(C) * Fraction(float(w)) for w in weight]

    dual = np.zeros((4, n))
    for i, name in enumerate(y):
        pairs = RIVALS[name]
        share = rng.random(len(pairs)) * (rng.random(len(pairs)) < 0.7)
        total = max(1.0, float(share.sum()))
        for (_, rival), part in zip(pairs, share, strict=True):
            dual[rival, i] = 0.999 * part / total * C * weight[i]
    signs = rng.uniform(-1, 1, len(tie.pairs[2])) if orthogonal else None
    details = {"signs": signs} if orthogonal else {}

    rows = [[*row, Fraction(s)] for row in exact(X)]
    V = [[Fraction(0)] * (width + 1) for _ in range(4)]
    linear = Fraction(0)
    for i, name in enumerate(y):
        for own, rival in RIVALS[name]:
            alpha = Fraction(dual[rival, i])
            linear += alpha
            V[own] = [a + alpha * b for a, b in zip(V[own], rows[i], strict=True)]
            V[rival] = [a - alpha * b for a, b in zip(V[rival], rows[i], strict=True)]

    if orthogonal:
        M = exact(tie.matrix.toarray())
        signed = [list(row) for row in M]
        for i, j, k, sign in zip(*tie.pairs, signs, strict=True):
            signed[i][j] = signed[j][i] = Fraction(float(k) * float(sign))
    else:
        edges = [(tie.graph.id_of(a), tie.graph.id_of(b), w) for a, b, w in tie.graph.edges]
        covariance = of_graph(tie.graph.n_nodes, edges, 1.0, [], tie.class_nodes.tolist())
        unit = [[Fraction(int(i == j)) for j in range(4)] for i in range(4)]
        signed = solved(covariance.matrix, unit)
    prices = solved(signed, V)
    lower = linear - HALF * sum(dot(v, p) for v, p in zip(V, prices, strict=True))

    coef = rng.normal(size=(4, width)) * (power(rng, 6) if wild else 1.0)
    intercept = rng.normal(size=4) * (s > 0)
    if rng.random() < 0.5:  # the vectors that belong to the dual
        coef = np.array([[float(value) for value in row[:-1]] for row in prices])
        intercept = np.array([s * float(row[-1]) for row in prices])
    vectors = ClassVectors(sp.csr_array(coef) if seed % 5 == 0 else coef, intercept)
    W = [
        [*w, b / Fraction(s) if s else Fraction(0)]
        for w, b in zip(exact(coef), exact(intercept), strict=True)
    ]
    if orthogonal:
        penalty = HALF * sum(M[i][j] * abs(dot(W[i], W[j])) for i in range(4) for j in range(4))
    else:
        penalty = covariance.penalty(W)
    losses = Fraction(0)
    for i, name in enumerate(y):
        scores = [dot(w, rows[i]) for w in W]
        losses += cost[i] * max(
            [Fraction(0), *(1 - scores[own] + scores[rival] for own, rival in RIVALS[name])]
        )
    solution = Solution(vectors, sp.csr_array(dual), Status.CONVERGED, 0, details=details)
    return Case(f"seed {seed}", certify(objective, solution), penalty + losses, lower)


@pytest.mark.parametrize("part", range(2))
def test_no_interval_excludes_the_true_value(part: int) -> None:
    faults, finite = [], 0
    for seed in range(150 * part, 150 * (part + 1)):
        case = make_case(seed)
        faults += case.faults
        finite += np.isfinite(case.certificate.upper) and np.isfinite(case.certificate.lower)
    assert faults == []
    assert finite > 145  # bounds that say nothing would be true as well


def test_intervals_of_ordinary_data_are_narrow() -> None:
    cases = [make_case(seed, wild=False) for seed in range(40)]
    assert [fault for case in cases for fault in case.faults] == []
    assert max(case.width for case in cases) <= 1e-12


@pytest.mark.parametrize("wrong", ["no rival", "negative", "too large"])
def test_duals_outside_their_bounds_prove_nothing(wrong: str) -> None:
    problem = make_problem(np.eye(4), ["a1", "a2", "c", "a"], TREE)
    loss = sibling_hinge(passing_decoder(problem).choices(), 4)
    objective = Objective(problem, loss, orthogonal_tie(TREE, unit_nodes(problem), 0.7))
    dual = np.zeros((4, 4))
    unit, value = {"no rival": (2, 0.1), "negative": (0, -0.1), "too large": (0, 1.1)}[wrong]
    dual[unit, 2] = value  # row 2 has the class c, and the one rival a
    solution = Solution(ClassVectors(np.zeros((4, 4)), np.zeros(4)), sp.csr_array(dual), Status.CONVERGED, 0)
    assert certify(objective, solution).lower == -np.inf
