"""The structured hinge through kernels: against the cone programme on a factor of the kernel's matrix."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from reference.structured_twin import Twin, cost_matrix, margins_and_scalings, row_costs, with_constant
from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.errors import DataError, EmptyClassWarning
from taxolearn.gram import row_kernel, row_products
from taxolearn.losses import structured_hinge
from taxolearn.losses.structured import COSTS, RESCALINGS
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Start, Status, kernel_rows, solve_structured
from taxolearn.solvers.kernel_rows import solve_kernel_rows
from taxolearn.ties import flat, path_sum
from taxolearn.vectors import KernelVectors

TREE = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 3), ("b", 4), (4, 5), ("r", 6)])
DAG = Taxonomy.from_edges(
    [("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 2), ("b", 3), ("r", 3), ("b", 4)]
)
NAMES = {"tree": [1, 2, 3, 5, 6], "dag": [1, 2, 3, 4]}
TIGHT = Limits(tol=1e-8, max_iter=100_000)


class Case:
    """A problem with a kernel, and the twin in which rows are those of a factor of the kernel's matrix."""

    def __init__(
        self, taxonomy: Taxonomy = TREE, kernel: str = "rbf", cost: str = "hamming", rescaling: str = "margin",
        tie: str = "path", C: float = 1.0, bias_feature: float = 1.0, n: int = 16, seed: int = 0, scale: Any = None,
        sample_weight: Any = None, class_weight: Any = None, **parameters: float,
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(seed)
        X = rng.random((n, 3))
        names = NAMES["tree" if taxonomy is TREE else "dag"]
        labels = [
            names[k] for k in np.concatenate([np.arange(len(names)), rng.integers(0, len(names), n)])[:n]
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClassWarning)
            problem = make_problem(
                X, labels, taxonomy, sample_weight=sample_weight, class_weight=class_weight
            )
        self.X, self.labels = X, labels
        self.problem = replace(problem, products=row_products(row_kernel(kernel, parameters), X))
        nodes = np.ones(taxonomy.n_nodes) if scale is None else scale
        self.tie = (
            flat(problem.n_classes) if tie == "flat" else path_sum(taxonomy, problem.class_nodes, nodes)
        )
        self.loss = structured_hinge(problem, self.tie, cost, rescaling)
        self.objective = Objective(self.problem, self.loss, self.tie, C, bias_feature)
        K = row_kernel(kernel, parameters).evaluate(X, X)
        values, vectors = np.linalg.eigh(K)
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
        number = {name: k for k, name in enumerate(problem.classes)}
        delta = cost_matrix(cost, taxonomy, problem.class_nodes, nodes)
        if tie == "flat" and cost == "normalized":
            delta = np.sqrt(2.0) * (1.0 - np.eye(problem.n_classes))
        self.twin = Twin(
            with_constant(factor, bias_feature), [number[name] for name in labels],
            row_costs(labels, C, sample_weight, class_weight), self.tie.paths.toarray(), self.tie.scale,
            *margins_and_scalings(delta, rescaling),
        )  # fmt: skip


def check(case: Case) -> None:
    solution = solve_kernel_rows(case.objective, TIGHT)
    certificate, optimum = certify(case.objective, solution), case.twin.optimum()
    assert solution.status is Status.CONVERGED
    assert certificate.holds(1.1e-8)
    assert certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert certificate.lower <= optimum * (1 + 1e-8) + 1e-9
    assert certificate.upper >= optimum * (1 - 1e-8) - 1e-9
    last = solution.history[-1]
    assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-9)
    # and both once more by the twin's formulas
    vectors = solution.vectors
    assert isinstance(vectors, KernelVectors)
    U = vectors.nodes.toarray() @ case.twin.Z[vectors.support]
    assert case.twin.primal(U) == pytest.approx(certificate.primal, rel=1e-9)
    assert case.twin.dual(solution.dual.toarray().T) == pytest.approx(certificate.dual, rel=1e-9)
    scores = case.twin.Z @ (case.twin.P @ U).T
    np.testing.assert_allclose(vectors.scores(case.X), scores, atol=1e-9)


@pytest.mark.parametrize("rescaling", RESCALINGS)
@pytest.mark.parametrize("cost", COSTS)
def test_every_cost_against_the_cone_programme(cost: str, rescaling: str) -> None:
    check(Case(cost=cost, rescaling=rescaling, C=2.0, gamma=3.0))


@pytest.mark.parametrize("C", [0.1, 10.0, 100.0])
@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [("rbf", {"gamma": 3.0}), ("poly", {"degree": 2}), ("laplacian", {}), ("chi2", {}), ("linear", {})],
)
def test_kernels_against_the_cone_programme(kernel: str, parameters: dict[str, float], C: float) -> None:
    check(Case(kernel=kernel, C=C, tie="flat", cost="zero_one", **parameters))


@pytest.mark.parametrize("bias_feature", [0.0, 3.0])
@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "dag"])
def test_biases_scales_and_weights(taxonomy: Taxonomy, bias_feature: float) -> None:
    scale = np.random.default_rng(3).random(taxonomy.n_nodes) + 0.1
    scale[1] = 0.0
    weight = np.arange(16) % 4 * 0.5
    check(
        Case(
            taxonomy,
            bias_feature=bias_feature,
            scale=scale,
            sample_weight=weight,
            class_weight={1: 3.0},
            gamma=2.0,
        )
    )


@pytest.mark.parametrize("kept", [0, 25, 200])
@pytest.mark.parametrize("block", [20, 60])
def test_blocks_and_caches_of_any_size_reach_the_same(
    block: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(n=60, C=0.5, gamma=20.0, cost="tree")
    whole = solve_kernel_rows(case.objective, Limits(tol=1e-4))
    monkeypatch.setattr(kernel_rows, "_BLOCK", block)
    monkeypatch.setattr(kernel_rows, "_LEAST_BLOCK", 15)
    products = case.problem.products
    assert products is not None
    few = replace(case.problem, products=replace(products, cache_bytes=kept * 60 * 8))
    solution = solve_kernel_rows(replace(case.objective, problem=few), Limits(tol=1e-4, max_iter=2000))
    assert solution.status is Status.CONVERGED
    assert certify(case.objective, solution).holds(1e-4)
    assert solution.history[-1].primal == pytest.approx(whole.history[-1].primal, rel=2e-4)
    if kept >= 60:
        assert solution.details["computed_rows"] <= 60


def test_the_linear_kernel_is_the_linear_solver() -> None:
    case = Case(kernel="linear", n=40, C=3.0, cost="hamming", bias_feature=2.0)
    linear = Objective(replace(case.problem, products=None), case.loss, case.tie, 3.0, 2.0)
    limits = Limits(tol=1e-11, max_iter=100_000)  # vectors are as near as the root of the gap
    one, other = solve_structured(linear, limits), solve_kernel_rows(case.objective, limits)
    assert one.history[-1].primal == pytest.approx(other.history[-1].primal, rel=1e-7)
    np.testing.assert_allclose(other.vectors.coef, one.vectors.coef, atol=1e-6)
    np.testing.assert_allclose(other.vectors.intercept, one.vectors.intercept, atol=1e-6)


def test_any_dual_is_a_start_and_a_good_one_helps() -> None:
    case = Case(n=60, C=5.0, gamma=2.0)
    cold = solve_kernel_rows(case.objective, Limits(tol=1e-5))
    warm = solve_kernel_rows(case.objective, Limits(tol=1e-5), Start(cold.dual))
    assert warm.n_iter == 0
    assert warm.history[-1].primal == pytest.approx(cold.history[-1].primal, rel=1e-9)
    wild = sp.csr_array(np.random.default_rng(0).normal(size=cold.dual.shape) * 100)
    found = solve_kernel_rows(case.objective, Limits(tol=1e-5), Start(wild))
    assert certify(case.objective, found).holds(1e-5)
    with pytest.raises(DataError, match="start has shape"):
        solve_kernel_rows(case.objective, Limits(), Start(sp.csr_array((3, 2))))


@pytest.mark.parametrize("limits", [Limits(tol=1e-12, max_iter=3), Limits(tol=1e-12, max_seconds=1e-9)])
def test_limits_keep_what_was_reached(limits: Limits) -> None:
    case = Case(n=60, C=50.0, gamma=2.0)
    for start in (None, Start(solve_kernel_rows(case.objective, Limits(tol=0.1)).dual)):
        solution = solve_kernel_rows(case.objective, limits, start)
        assert solution.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
        assert solution.n_iter <= 3
        certificate = certify(case.objective, solution)
        last = solution.history[-1]
        assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-9)


def test_who_watches_is_told_bounds_and_duals() -> None:
    case, told = Case(n=60, C=5.0, gamma=2.0), []

    def watch(progress: Any, dual: Any) -> None:
        told.append((progress, dual()))

    solution = solve_kernel_rows(case.objective, Limits(tol=1e-6), watch=watch)
    assert [progress.done for progress, _ in told] == sorted(progress.done for progress, _ in told)
    assert told[-1][0] == solution.history[-1]
    assert told[-1][0].gap <= 1e-6
    assert abs(told[-1][1] - solution.dual).max() == 0


def test_solvers_for_vectors_refuse_a_kernel() -> None:
    case = Case()
    with pytest.raises(DataError, match="needs rows as vectors, not a kernel of them"):
        solve_structured(case.objective)
    with pytest.raises(DataError, match="needs a kernel of the rows"):
        solve_kernel_rows(replace(case.objective, problem=replace(case.problem, products=None)))
