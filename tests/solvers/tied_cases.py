"""Small problems over trees, DAGs and graphs that the solvers of tied classes are held to."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from reference.one_vs_rest_twin import signs_and_costs
from reference.recursive_twin import path_root, tied_optimum
from taxolearn import Taxonomy
from taxolearn.objective import Objective
from taxolearn.problem import Problem, make_problem
from taxolearn.ties import PathSum, path_sum

TREE = Taxonomy.from_paths(["r/a/l1", "r/a/l2", "r/b/l3", "r/b/c/l4", "r/b/c/l5", "r/l6"])
DAG = Taxonomy.from_edges(
    [
        ("r", "a"),
        ("r", "b"),
        ("a", "l1"),
        ("a", "l2"),
        ("b", "l2"),
        ("b", "l3"),
        ("b", "c"),
        ("c", "l4"),
        ("a", "c"),
    ]
)
N = 24
ROWS = np.random.default_rng(3).normal(size=(N, 3))
ROW_WEIGHTS = np.random.default_rng(9).choice([0.0, 0.5, 1.0, 3.0], size=N)


def one_label(names: list[str], seed: int = 0) -> list[str]:
    picks = np.random.default_rng(seed).integers(0, len(names), N)
    picks[: len(names)] = np.arange(len(names))
    return [names[i] for i in picks]


def label_sets(names: list[str], seed: int = 0) -> list[list[str]]:
    chosen = np.random.default_rng(seed).random((N, len(names))) < 0.3
    chosen[np.arange(len(names)), np.arange(len(names))] = True
    chosen[:, 0] |= ~chosen.any(axis=1)
    return [[name for name, has in zip(names, row, strict=True) if has] for row in chosen]


LEAVES = ["l1", "l2", "l3", "l4", "l5", "l6"]


@dataclass(frozen=True)
class Case:
    """A problem by its parts; `root` is the scale of the root, 0 when it is pinned."""

    labels: list[Any]
    taxonomy: Taxonomy = TREE
    C: float = 1.0
    root: float = 0.0
    scales: dict[str, float] = field(default_factory=dict)
    sample_weight: Any = None
    class_weight: Any = None
    bias_feature: float = 1.0
    bias_prior: float = 0.0
    empty_classes: str = "drop"

    def problem(self) -> Problem:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make_problem(
                ROWS,
                self.labels,
                self.taxonomy,
                sample_weight=self.sample_weight,
                class_weight=self.class_weight,
                empty_classes=self.empty_classes,
            )

    def tie(self, problem: Problem) -> PathSum:
        scale = np.ones(self.taxonomy.n_nodes)
        scale[0] = self.root
        for name, value in self.scales.items():
            scale[self.taxonomy.id_of(name)] = value
        return path_sum(self.taxonomy, problem.class_nodes, scale)

    def bias(self) -> dict[str, float]:
        return {"bias_feature": self.bias_feature, "bias_prior": self.bias_prior}

    def objective(self, loss: Any, **changes: Any) -> Objective:
        problem = self.problem()
        return Objective(problem, loss, self.tie(problem), **{"C": self.C, **self.bias(), **changes})

    def signs_and_costs(self, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        """Of the twin; classes without a weighted row cost nothing."""
        sign, cost = signs_and_costs(
            self.labels, problem.classes, self.C, self.sample_weight, self.class_weight
        )
        cost[:, ~np.any((sign > 0) & (cost > 0), axis=0)] = 0.0
        return sign, cost

    def covariance_root(self, problem: Problem) -> np.ndarray:
        tie = self.tie(problem)
        return path_root(tie.paths.toarray(), tie.scale)


CASES = {
    "tree, root pinned": Case(one_label(LEAVES)),
    "tree, root free": Case(one_label(LEAVES), root=2.0, C=0.3),
    "tree, scales": Case(one_label(LEAVES), scales={"a": 0.1, "b": 3.0, "l4": 0.5}, bias_prior=-1.0),
    "a node without a vector": Case(one_label(LEAVES), scales={"b": 0.0}, bias_feature=0.5),
    "no intercept": Case(one_label(LEAVES), bias_feature=0.0, C=3.0),
    "row and class weights": Case(
        one_label(LEAVES), sample_weight=ROW_WEIGHTS, class_weight={"l1": 3.0, "l4": 0.5}
    ),
    "several labels a row": Case(label_sets(LEAVES), bias_prior=-1.0),
    "labels at inner nodes": Case(one_label(["a", "l2", "b", "c", "l5"])),
    "a label at the pinned root": Case(one_label(["r", "l1", "l3", "c"])),
    "classes without rows": Case(one_label(["l1", "l3", "l4"]), empty_classes="keep"),
    "DAG, root pinned": Case(one_label(["l1", "l2", "l3", "l4"]), taxonomy=DAG),
    "DAG, root free, several labels": Case(label_sets(["l1", "l2", "l3", "c"]), taxonomy=DAG, root=1.0),
}
TREES = [name for name, case in CASES.items() if case.taxonomy is TREE]
SINGLE = [name for name, case in CASES.items() if isinstance(case.labels[0], str)]


def check_optimum(name: str, case: Case, certificate: Any, solution: Any) -> None:
    """Objective, bracket and weights against the twin's."""
    problem = case.problem()
    sign, cost = case.signs_and_costs(problem)
    optimum, weights = tied_optimum(
        name, ROWS, sign, cost, case.covariance_root(problem), case.bias_feature, case.bias_prior
    )
    assert certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert certificate.dual <= optimum * (1 + 1e-8)
    assert certificate.primal >= optimum * (1 - 1e-8)
    scale = max(1.0, np.abs(weights).max())
    np.testing.assert_allclose(solution.vectors.coef, weights, atol=1e-4 * scale)
