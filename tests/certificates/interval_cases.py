"""Random small problems of every loss and tie, their certificates, and the same in exact arithmetic.

Vectors and duals are drawn, not solved for; some vectors are those that belong to the dual, so that gaps are small.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from reference import exact_objective as reference
from reference.exact_objective import Exact, dot, exact, squared
from taxolearn import ClassGraph, Taxonomy
from taxolearn.certificates import Certificate, certify
from taxolearn.losses import MARGIN_LOSSES, Softmax, Square, structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Solution, Status
from taxolearn.ties import Factor, FeaturePathSum, flat, graph_tie, path_sum, shared_tie
from taxolearn.vectors import ClassVectors, NodeVectors

LOSSES = ("hinge", "squared_hinge", "logistic", "softmax", "structured", "square")
TREE = Taxonomy.from_edges([("all", "a"), ("all", "c"), ("a", "a1"), ("a", "a2")])
DAG = Taxonomy.from_edges([("all", "a"), ("all", "b"), ("a", "a1"), ("a", "a2"), ("b", "a2"), ("b", "c")])
GRAPH = ClassGraph.from_edges([("a1", "hub", 2.0), ("a2", "hub"), ("a2", "c", 0.3)], nodes=["a1", "a2", "c"])
LEAVES, INNER = ["a1", "a2", "c"], ["a", "a1", "c"]
TIES = (
    "flat",
    "tree",
    "tree by class",
    "inner nodes by class",
    "dag",
    "dag by class",
    "graph",
    "pinned graph",
    "factor",
    "factor by class",
    "low rank",
    "shared tree",
    "shared dag",
    "scales by feature",
)


@dataclass
class Case:
    """A certificate and the exact values of both objectives, None where these are infinite."""

    name: str
    certificate: Certificate
    primal: Fraction | None
    dual: Fraction | None

    @property
    def faults(self) -> list[str]:
        """What the certificate says wrongly."""
        found = []
        for which, true in (("primal", self.primal), ("dual", self.dual)):
            value, error = getattr(self.certificate, which), getattr(self.certificate, f"{which}_error")
            if not error >= 0:
                found.append(f"{which}: error {error}")
            elif true is not None and np.isfinite(value) and np.isfinite(error):
                if abs(Fraction(value) - true) > Fraction(error):
                    off = float(abs(Fraction(value) - true))
                    found.append(f"{which}: {value!r} +- {error!r} is {off!r} off")
            elif true is None and np.isfinite(value) and np.isfinite(error):
                found.append(f"{which}: {value!r} where it is infinite")
        gap = self.certificate.gap
        if self.certificate.holds(min(gap, 0.99)):
            if self.primal is None or self.dual is None:
                found.append("holds where nothing is finite")
            elif self.primal - self.dual > Fraction(gap) * self.primal * (1 + Fraction(1, 10**14)):
                found.append(f"holds at {gap!r}, which is too small")
        return [f"{self.name}: {fault}" for fault in found]

    @property
    def width(self) -> float:
        """The larger error of the two, relative to its objective; that of the dual to the primal if this is larger."""
        certificate = self.certificate
        if certificate.primal_error == certificate.dual_error == 0:
            return 0.0
        primal, dual = abs(certificate.primal), abs(certificate.dual)
        return max(certificate.primal_error / primal, certificate.dual_error / max(primal, dual))


def power(rng, span: float, size=None):
    return 10.0 ** rng.uniform(-span, span, size=size)


def rows_of(rng, n: int, width: int, wild: bool):
    X = rng.normal(size=(n, width))
    X[rng.random(X.shape) < 0.2] = 0.0
    if not wild:
        return X
    kind = rng.integers(5)
    if kind == 0:
        X *= power(rng, 12)
    elif kind == 1:
        X *= power(rng, 12, width)
    elif kind == 2:
        X[rng.integers(n), rng.integers(width)] = power(rng, 12) * rng.choice([-1, 1])
    elif kind == 3:
        X[:, rng.integers(width)] += power(rng, 12)
    return X


def make_tie(name: str, problem, rng):
    """The tie, and what it is in exact arithmetic."""
    if name == "flat":
        return flat(problem.n_classes), reference.of_paths(
            [[k] for k in range(problem.n_classes)], np.ones(3)
        )
    if "graph" in name:
        pinned = ["hub"] if "pinned" in name else []
        ridge = 0.0 if pinned and rng.random() < 0.5 else float(rng.uniform(0.01, 1.0))
        edges = [("c", "hub", 0.7), *GRAPH.edges] if pinned else GRAPH.edges
        graph = ClassGraph.from_edges(edges, nodes=["a1", "a2", "c"])
        tie = graph_tie(graph, problem.classes, ridge=ridge, pinned=pinned)
        numbers = [(graph.id_of(a), graph.id_of(b), weight) for a, b, weight in graph.edges]
        held = [graph.id_of(node) for node in pinned]
        return tie, reference.of_graph(graph.n_nodes, numbers, ridge, held, tie.class_nodes.tolist())
    if name in ("factor", "factor by class"):
        L = rng.normal(size=(3, 3)) + 2.0 * np.eye(3)
        return Factor(sp.csr_array(L)), reference.of_factor(L)
    if name == "low rank":
        L = rng.integers(-3, 4, size=(3, 2)).astype(float)
        L[0, 0], L[1, 1] = 1.0, 2.0
        return Factor(sp.csr_array(L)), reference.of_factor(L)
    taxonomy = problem.taxonomy
    scale = rng.uniform(0.2, 3.0, taxonomy.n_nodes)
    tie = path_sum(taxonomy, problem.class_nodes, scale)
    if name == "scales by feature":
        scales = rng.uniform(0.2, 3.0, (taxonomy.n_nodes, problem.n_features))
        scales[-1] = scales[-2]  # nodes with the same scales are looked at together
        return FeaturePathSum(tie.paths, scales), _OfFeatures(exact(tie.paths.toarray()), exact(scales))
    if "shared" in name:
        scale /= 1.01 * (tie.paths @ scale).max()
        tie = shared_tie(taxonomy, problem.class_nodes, scale)
    paths = [
        tie.paths.indices[a:b].tolist() for a, b in zip(tie.paths.indptr, tie.paths.indptr[1:], strict=False)
    ]
    return tie, reference.of_paths(paths, scale)


@dataclass
class _OfFeatures:
    """Scales per node and feature, in exact arithmetic."""

    matrix: list[list[Fraction]]
    scales: list[list[Fraction]]

    def square(self, rows):
        below = [
            [dot(under, column) for column in zip(*rows, strict=True)]
            for under in zip(*self.matrix, strict=True)
        ]
        return sum(
            (
                a * z * z
                for scale, sums in zip(self.scales, below, strict=True)
                for a, z in zip(scale, sums, strict=True)
            ),
            Fraction(0),
        )

    def node_penalty(self, U):
        pairs = [pair for u, scale in zip(U, self.scales, strict=True) for pair in zip(u, scale, strict=True)]
        return reference.HALF * sum((u * u / a for u, a in pairs), Fraction(0))


def _matrix(tie):
    along_paths = tie.facts.paths or tie.facts.by_feature
    return (tie.paths if along_paths else tie.factor()).toarray()


def make_dual(rng, loss: str, cost, label):
    """Duals within their bounds, classes x rows; many of them at an end."""
    if loss == "square":
        row_cost = cost[label, np.arange(len(label))]
        return np.where(rng.random(cost.shape) < 0.3, 0.0, rng.normal(size=cost.shape)) * row_cost
    share = rng.random(cost.shape)
    share[rng.random(cost.shape) < 0.3] = 0.0
    share[rng.random(cost.shape) < 0.3] = 1.0
    if rng.random() < 0.3:
        share[:] = 1.0
    if loss == "softmax":
        share[label, np.arange(len(label))] += 0.1
        return share / share.sum(axis=0)
    if loss == "structured":
        share[label, np.arange(len(label))] = 0.0
        row_cost = cost[label, np.arange(len(label))]
        total = np.maximum(share.sum(axis=0), 1e-3)
        return share / total * row_cost * np.where(rng.random(len(label)) < 0.5, 1.0, rng.random(len(label)))
    if loss == "squared_hinge":
        share = share * rng.choice([1.0, 4.0])
    return share * cost


def make_case(seed: int, wild: bool = True) -> Case:
    """The case of a seed, all losses and ties by turns; ordinary data unless `wild`."""
    rng = np.random.default_rng([seed, int(wild)])
    loss_name, tie_name = LOSSES[seed % len(LOSSES)], TIES[seed // len(LOSSES) % len(TIES)]
    if tie_name == "scales by feature" and loss_name in ("structured", "square"):
        loss_name = "softmax"  # a bias that is a feature has no scale
    names = INNER if "inner" in tie_name else LEAVES
    n, width = int(rng.integers(3, 5)), int(rng.integers(1, 3))
    taxonomy = DAG if "dag" in tie_name else TREE
    y = [names[k % 3] for k in range(n)]
    weight = np.ones(n)
    if wild and rng.random() < 0.5:
        weight = power(rng, 12, n)
    elif wild and rng.random() < 0.3:
        weight[rng.integers(n)] = power(rng, 12)
    if rng.random() < 0.2 and n > 3:
        weight[3] = 0.0
    class_weight = {names[0]: 3.3} if rng.random() < 0.3 else None
    X = rows_of(rng, n, width, wild)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = make_problem(
            sp.csr_array(X) if rng.random() < 0.3 else X,
            y,
            taxonomy,
            sample_weight=weight,
            class_weight=class_weight,
        )
    C = float(power(rng, 12)) if wild else 1.0
    bias_feature = float(rng.choice([0.0, 1.0, power(rng, 3) if wild else 1.0]))
    if tie_name == "low rank":  # intercepts within the range, exactly
        bias_feature = min(1.0, bias_feature // 1.0)
    tie, covariance = make_tie(tie_name, problem, rng)
    tied = loss_name in reference.TIED_BIAS
    bias_prior = 0.0 if tied else float(rng.choice([0.0, -1.0]))
    loss: Any
    if loss_name == "square":
        loss = Square()
    elif tied:
        costs = [("zero_one", "margin"), ("hamming", "slack"), ("hamming", "unit")][rng.integers(3)]
        loss = structured_hinge(problem, tie, *costs)
    else:
        loss = Softmax() if loss_name == "softmax" else MARGIN_LOSSES[loss_name]
    objective = Objective(problem, loss, tie, C, bias_feature, bias_prior)

    label = np.array([problem.classes.index(name) for name in y])
    has = problem.targets.toarray().T > 0
    cost = (
        C
        * problem.row_weight
        * np.where(has, problem.positive_weight[:, None], problem.negative_weight[:, None])
    )
    dual = make_dual(rng, loss_name, cost, label)
    tables: list[Any] = [None, None]
    if loss_name == "structured":
        tables = [part.tolist() for part in loss.margins_and_scalings(np.arange(3))]
    twin = Exact(
        exact(problem.X.toarray() if sp.issparse(problem.X) else problem.X),
        [{k} for k in label.tolist()],
        exact(problem.row_weight),
        exact(problem.positive_weight),
        exact(problem.negative_weight),
        loss_name,
        Fraction(C),
        Fraction(bias_feature),
        Fraction(bias_prior),
        *(None if table is None else exact(table) for table in tables),
    )
    V, beta, conjugates = _adjoint(twin, dual)
    solution, node_form = _solution(rng, objective, tie_name, dual, V, beta, wild)
    primal = _exact_primal(twin, objective, solution, covariance, node_form)
    lower = _exact_dual(twin, objective, covariance, V, beta, conjugates)
    name = f"seed {seed}, {loss_name}, {tie_name}"
    return Case(name, certify(objective, solution), primal, lower)


def _adjoint(twin: Exact, dual):
    found = twin.adjoint(exact(dual))
    assert found is not None
    M, conjugates = found
    return *twin.sums(M), conjugates


def _solution(rng, objective, tie_name, dual, V, beta, wild):
    """Random vectors, or those that belong to the dual; told also: whether they are one per node."""
    problem, tie = objective.problem, objective.tie
    tied, s = objective.loss.facts.tied_bias, objective.bias_feature
    by_node = tie.facts.by_feature or (tie.facts.paths and "by class" not in tie_name and tie_name != "flat")
    matrix = _matrix(tie)
    n_nodes, width = matrix.shape[1], problem.n_features
    linked = rng.random() < 0.5
    sums = np.array([[float(value) for value in row] for row in V])
    biases = np.array([float(value) for value in beta])
    U = rng.normal(size=(n_nodes, width)) * (power(rng, 6) if wild else 1.0)
    node_bias = rng.normal(size=n_nodes)
    if linked:
        scale = tie.scale if tie.facts.paths else np.ones(n_nodes)
        U = (tie.scale if tie.facts.by_feature else scale[:, None]) * (matrix.T @ sums)
        node_bias = scale * (matrix.T @ biases)
    if rng.random() < 0.1:
        U[:], node_bias[:] = 0.0, 0.0
    if tie_name == "low rank":  # vectors within the range, exactly
        U = rng.integers(-8, 9, size=U.shape) * 2.0 ** int(rng.integers(-20, 20) if wild else -2)
        node_bias = rng.integers(-8, 9, size=n_nodes).astype(float)
    coef = matrix @ U
    if tied:
        intercept = s * (matrix @ node_bias)
    else:
        intercept = s * ((objective.bias_prior + biases) if linked else rng.normal(size=3))
    details = {"node_bias": node_bias} if tied else {}
    if by_node or tie_name == "factor":
        vectors = NodeVectors(np.ascontiguousarray(U.T), sp.csr_array(matrix), intercept)
        by_node = True
    else:
        vectors = ClassVectors(sp.csr_array(coef) if rng.random() < 0.3 else coef, intercept)
    return Solution(vectors, sp.csr_array(dual), Status.CONVERGED, 0, details=details), by_node


def _exact_primal(twin, objective, solution, covariance, by_node):
    tie, vectors = objective.tie, solution.vectors
    intercept = exact(vectors.intercept)
    tied = twin.loss in reference.TIED_BIAS and twin.bias_feature != 0
    if by_node:
        matrix = exact(_matrix(tie))
        U = exact(vectors.nodes.T)
        columns = list(zip(*U, strict=True))
        W = [[dot(row, column) for column in columns] for row in matrix]
        scale = tie.scale if tie.facts.paths else np.ones(len(U))
        penalty = covariance.node_penalty(U) if tie.facts.by_feature else reference.node_penalty(U, scale)
        if tied and tie.facts.paths:
            bias = exact(solution.details["node_bias"])
            penalty += reference.node_penalty([[b] for b in bias], scale)
            intercept = [twin.bias_feature * dot(row, bias) for row in matrix]
        elif tied:
            penalty += covariance.penalty([[b / twin.bias_feature] for b in intercept])
    else:
        W = exact(vectors.coef.toarray() if sp.issparse(vectors.coef) else vectors.coef)
        penalty = covariance.penalty(W)
        more = covariance.penalty([[b / twin.bias_feature] for b in intercept]) if tied else Fraction(0)
        if penalty is None or more is None:
            return None
        penalty += more
    return penalty + twin.bias_penalty(intercept) + twin.losses(W, intercept)


def _exact_dual(twin, objective, covariance, V, beta, conjugates):
    tie = objective.tie
    tied = twin.loss in reference.TIED_BIAS
    rows = [[*v, b] for v, b in zip(V, beta, strict=True)] if tied else V
    if tie.facts.learned:
        matrix = exact(tie.paths.toarray())
        columns = list(zip(*rows, strict=True))
        squares = [squared([dot(under, column) for column in columns]) for under in zip(*matrix, strict=True)]
        ends = zip(tie.paths.indptr, tie.paths.indptr[1:], strict=False)
        square = reference.largest([tie.paths.indices[a:b].tolist() for a, b in ends], squares)
    else:
        square = covariance.square(rows)
    if not tied:
        square += squared(beta)
    value = -reference.HALF * square - conjugates
    if twin.margin_kind:
        value -= twin.bias_prior * sum(beta, Fraction(0))
    return value
