"""Structured hinge solutions against the full cone programme, and certificates that bracket its optimum."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.structured_twin import Twin, cost_matrix, margins_and_scalings, row_costs, with_constant
from strategies import taxonomies
from taxolearn import Taxonomy
from taxolearn.certificates import certify, columns, sums, violations
from taxolearn.certificates import structured as certificate_code
from taxolearn.errors import DataError, EmptyClassWarning
from taxolearn.losses import structured_hinge
from taxolearn.losses.structured import COSTS, RESCALINGS
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Solution, Status, solve_structured, structured
from taxolearn.ties import flat, path_sum
from taxolearn.vectors import NodeVectors

TREE = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 3), ("b", 4), (4, 5), ("r", 6)])
DAG = Taxonomy.from_edges(
    [("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 2), ("b", 3), ("r", 3), ("b", 4)]
)
NAMES = {"tree": [1, 2, 3, 5, 6], "dag": [1, 2, 3, 4]}
N, WIDTH = 16, 4


class Case:
    """A problem, its tie and loss, and the twin of all three."""

    def __init__(
        self, taxonomy, cost="hamming", rescaling="margin", names=None, tie="path", scale=None, layout="dense",
        sample_weight=None, class_weight=None, bias_feature=1.0, C=1.0, seed=0, keep=False, n=N,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, WIDTH)) * (rng.random((n, WIDTH)) < 0.8)
        picks = rng.integers(0, len(names), n)
        picks[: len(names)] = np.arange(len(names))[:n]
        labels = [names[k] for k in picks]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClassWarning)
            self.problem = make_problem(
                sp.csr_array(X) if layout == "sparse" else X, [[name] for name in labels], taxonomy,
                sample_weight=sample_weight, class_weight=class_weight, empty_classes="keep" if keep else "drop",
            )  # fmt: skip
        problem = self.problem
        if tie == "flat":
            self.tie = flat(problem.n_classes)
            nodes_scale = np.ones(taxonomy.n_nodes)
        else:
            nodes_scale = np.ones(taxonomy.n_nodes) if scale is None else scale
            self.tie = path_sum(taxonomy, problem.class_nodes, nodes_scale)
        if tie == "flat" and cost == "normalized":
            delta = np.sqrt(2.0) * (1.0 - np.eye(problem.n_classes))
        else:
            delta = cost_matrix(cost, taxonomy, problem.class_nodes, nodes_scale)
        self.loss = structured_hinge(problem, self.tie, cost, rescaling)
        self.bias_feature = bias_feature
        self.objective = Objective(problem, self.loss, self.tie, C, bias_feature)
        number = {name: k for k, name in enumerate(problem.classes)}
        self.twin = Twin(
            with_constant(X, bias_feature), [number.get(name, 0) for name in labels],
            row_costs(labels, C, sample_weight, class_weight), self.tie.paths.toarray(), self.tie.scale,
            *margins_and_scalings(delta, rescaling),
        )  # fmt: skip

    def solve(self):
        return solve_structured(self.objective, Limits(tol=1e-8, max_iter=200_000))

    def certify(self, solution):
        return certify(self.objective, solution)

    def random_solution(self, rng):
        """Weights and a feasible dual that no solver made."""
        n_nodes = self.tie.n_nodes
        nodes = rng.normal(size=(WIDTH, n_nodes)) * (self.tie.scale > 0)
        bias = rng.normal(size=n_nodes) * (self.tie.scale > 0) * (self.bias_feature != 0)
        share = rng.random((self.problem.n_rows, self.problem.n_classes))
        share[rng.random(share.shape) < 0.5] = 0.0
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-9) * rng.choice(
            [1.0, 3.0], size=(len(share), 1)
        )
        alpha = share * self.twin.c[:, None]
        weights = NodeVectors(nodes, self.tie.paths, self.bias_feature * (self.tie.paths @ bias))
        solution = Solution(weights, sp.csr_array(alpha.T), Status.CONVERGED, 1, details={"node_bias": bias})
        return solution, np.vstack([nodes, bias]).T, alpha


def check(case):
    solution = case.solve()
    certificate, optimum = case.certify(solution), case.twin.optimum()
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1.1e-8)
    assert certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert certificate.dual <= optimum * (1 + 1e-8) + 1e-9
    assert certificate.primal >= optimum * (1 - 1e-8) - 1e-9
    last = solution.history[-1]
    assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-9)
    # and both once more by the twin's formulas
    U = np.vstack([solution.vectors.nodes, solution.details["node_bias"]]).T
    assert case.twin.primal(U) == pytest.approx(certificate.primal, rel=1e-10)
    assert case.twin.dual(solution.dual.toarray().T) == pytest.approx(certificate.dual, rel=1e-10)
    squares = (U**2).sum(axis=1)
    np.testing.assert_allclose(solution.details["node_squares"], squares, rtol=1e-10)
    positive = case.tie.scale > 0
    value = solution.details["linear"] - 0.5 * (squares[positive] / case.tie.scale[positive]).sum()
    assert value == pytest.approx(certificate.dual, rel=1e-8)
    return solution


@pytest.mark.parametrize("kind", ["tree", "dag"])
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("rescaling", RESCALINGS)
def test_every_cost_and_rescaling(kind, cost, rescaling):
    taxonomy = TREE if kind == "tree" else DAG
    scale = np.random.default_rng(3).choice([0.2, 0.5, 1.0], size=taxonomy.n_nodes)
    check(Case(taxonomy, cost, rescaling, NAMES[kind], scale=scale, seed=1))


WEIGHTS = np.random.default_rng(9).choice([0.0, 0.5, 1.0, 4.0], size=N)
WEIGHTS[:6] = 1.0
SPECIAL = {
    "flat": {"tie": "flat", "cost": "zero_one"},
    "root without a vector": {"scale": np.array([0.0, *np.ones(TREE.n_nodes - 1)])},
    "no node has a vector": {"scale": np.zeros(TREE.n_nodes)},
    "leaves only": {"scale": TREE.is_leaf.astype(float), "cost": "normalized"},
    "labels at inner nodes": {"names": [1, 2, "a", 4, 5, "r"]},
    "inner labels, (13), no vector of their own": {
        "names": [1, 2, "a", 4], "scale": TREE.is_leaf.astype(float), "cost": "normalized", "rescaling": "unit",
    },
    "classes without rows": {"names": [1, 3], "keep": True},
    "row weights, some zero": {"sample_weight": WEIGHTS},
    "class weights": {"class_weight": {1: 3.0, 6: 0.2}},
    "no intercept": {"bias_feature": 0.0},
    "intercept scaling and a larger C": {"bias_feature": 3.0, "C": 3.0},
    "a small C": {"C": 1e-3},
    "two classes": {"names": [1, 6]},
}  # fmt: skip


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_problems(name, layout):
    check(Case(TREE, layout=layout, **{"names": NAMES["tree"], "seed": 2, **SPECIAL[name]}))


@settings(deadline=None, max_examples=12)
@given(taxonomy=taxonomies(kind="int", min_nodes=4, max_nodes=9), data=st.data(), seed=st.integers(0, 2**20))
def test_random_taxonomies(taxonomy, data, seed):
    nodes = data.draw(st.lists(st.integers(0, taxonomy.n_nodes - 1), min_size=2, max_size=5, unique=True))
    scale = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 2.0], size=taxonomy.n_nodes)
    check(
        Case(
            taxonomy, data.draw(st.sampled_from(COSTS)), data.draw(st.sampled_from(RESCALINGS)),
            [taxonomy.nodes[n] for n in nodes], scale=scale, seed=seed, n=8, C=data.draw(st.sampled_from([0.1, 2.0])),
        )
    )  # fmt: skip


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_costs_computed_when_asked_for_give_the_same(monkeypatch, layout):
    case = Case(TREE, "normalized", "unit", NAMES["tree"], layout=layout)
    tabulated = case.solve()
    monkeypatch.setattr(structured, "_TABLE_CLASSES", 0)
    computed = case.solve()
    np.testing.assert_allclose(computed.vectors.nodes, tabulated.vectors.nodes, atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(
    kind=st.sampled_from(["tree", "dag"]),
    cost=st.sampled_from(COSTS),
    rescaling=st.sampled_from(RESCALINGS),
    layout=st.sampled_from(["dense", "sparse"]),
    bias_feature=st.sampled_from([0.0, 1.0, 5.0]),
    C=st.sampled_from([1e-2, 1.0, 50.0]),
    seed=st.integers(0, 2**20),
)
def test_certificates_are_the_definitions_and_no_dual_exceeds_a_primal(
    kind, cost, rescaling, layout, bias_feature, C, seed
):
    rng = np.random.default_rng(seed)
    taxonomy = TREE if kind == "tree" else DAG
    case = Case(
        taxonomy, cost, rescaling, NAMES[kind], scale=rng.choice([0.0, 0.4, 2.0], size=taxonomy.n_nodes),
        layout=layout, bias_feature=bias_feature, C=C, seed=seed,
    )  # fmt: skip
    solution, U, alpha = case.random_solution(rng)
    certificate = case.certify(solution)
    assert certificate.primal == pytest.approx(case.twin.primal(U), rel=1e-11)
    scale = max(1.0, abs(case.twin.dual(alpha)))
    assert certificate.dual == pytest.approx(case.twin.dual(alpha), abs=1e-11 * scale)
    assert certificate.dual <= certificate.primal


def test_blocks_and_sparse_weights_give_the_same_certificate(monkeypatch):
    case = Case(TREE, "normalized", "slack", NAMES["tree"], layout="sparse")
    solution, *_ = case.random_solution(np.random.default_rng(0))
    whole = case.certify(solution)
    packed = NodeVectors(
        sp.csr_array(solution.vectors.nodes.T), solution.vectors.paths, solution.vectors.intercept
    )
    packed_solution = Solution(packed, solution.dual, Status.CONVERGED, 1, details=solution.details)
    monkeypatch.setattr(violations, "_SCORE_BYTES", 100)
    monkeypatch.setattr(certificate_code, "_COST_BYTES", 100)
    monkeypatch.setattr(columns, "_BYTES", 100)
    monkeypatch.setattr(sums, "_NODE_BYTES", 100)
    for other in (solution, packed_solution):
        parts = case.certify(other)
        assert (parts.primal, parts.dual) == pytest.approx((whole.primal, whole.dual), rel=1e-12)


def test_what_a_certificate_refuses():
    case = Case(TREE, names=NAMES["tree"], scale=np.array([0.0, *np.ones(TREE.n_nodes - 1)]))
    solution, _, alpha = case.random_solution(np.random.default_rng(0))

    def changed(alpha=alpha, nodes=solution.vectors.nodes, intercept=solution.vectors.intercept):
        weights = NodeVectors(nodes, solution.vectors.paths, intercept)
        return case.certify(
            Solution(weights, sp.csr_array(alpha.T), Status.CONVERGED, 1, details=solution.details)
        )

    assert np.isfinite(changed().gap)
    for wrong in (-1e-9, 1.0):
        bad = alpha.copy()
        bad[3, 0] = wrong if wrong < 0 else case.twin.c[3] * 1.001 + bad[3].sum()
        assert changed(alpha=bad).dual == -np.inf
    rooted = np.array(solution.vectors.nodes)
    rooted[0, 0] = 1.0
    assert changed(nodes=rooted).primal == np.inf
    with pytest.raises(DataError, match="not the sums of the solution's node biases"):
        changed(intercept=solution.vectors.intercept + 1.0)
