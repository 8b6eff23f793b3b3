"""Orthogonal transfer, TRANSFER and their companions against cone programmes, and bracketed by their certificates."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from reference import transfer_twin as twin
from taxolearn import (
    MulticlassSVM,
    OrthogonalTransferSVM,
    Taxonomy,
    TopDownSVM,
    TransferSVM,
    TreeLossSVM,
)
from taxolearn.problem import make_problem

SMALL = Taxonomy.from_paths(["root/a", "root/b/c", "root/b/d"])
CHAIN = Taxonomy.from_paths(["root/a/b/c", "root/a/b/d", "root/e/f", "root/g"])  # a, e: one child each


def grown(seed: int, n_nodes: int) -> Taxonomy:
    rng = np.random.default_rng(seed)
    return Taxonomy.from_edges(
        [(int(rng.integers(max(0, child - 8), child)), child) for child in range(1, n_nodes)]
    )


CASES = {
    "three nodes": (Taxonomy.from_paths(["root/a", "root/b"]), 1.0),
    "small": (SMALL, 0.9),
    "chain": (CHAIN, "auto"),
    "twelve nodes": (grown(1, 12), "auto"),
    "thirty nodes": (grown(2, 30), "auto"),
}


def toy(taxonomy: Taxonomy, seed: int, n_rows: int = 40):
    """Rows with labels at leaves and some at inner nodes; some leaves have none."""
    rng = np.random.default_rng(seed)
    names = [name for name in taxonomy.nodes if name != taxonomy.root]
    leaves = [name for name in taxonomy.leaves if rng.random() < 0.9] or list(taxonomy.leaves)
    labels = [leaves[k % len(leaves)] for k in range(n_rows - 6)]
    labels += [names[int(k)] for k in rng.integers(len(names), size=6)]
    centre = {name: rng.normal(size=3) for name in taxonomy.nodes}
    X = np.array([sum(centre[n] for n in taxonomy.ancestors(name, include_self=True)) for name in labels])
    return np.round(X + rng.normal(size=X.shape), 3), labels


def fitted(model, X, labels, weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        return model.fit(X, labels, sample_weight=weight)


@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("kind", ["orthogonal", "transfer"])
def test_within_a_millionth_of_the_cone_programme(kind: str, name: str, C: float) -> None:
    taxonomy, alpha = CASES[name]
    X, labels = toy(taxonomy, seed=len(name), n_rows=24)
    given = {"C": C / len(X), "tol": 3e-7, "max_iter": 100_000, "random_state": 0}
    if kind == "transfer":
        model, K = fitted(TransferSVM(taxonomy, **given), X, labels), None
    else:
        model = fitted(OrthogonalTransferSVM(taxonomy, alpha=alpha, **given), X, labels)
        K = twin.penalties(taxonomy, used_alpha(model, X, labels))
    best = twin.optimum(taxonomy, twin.with_constant(X, 1.0), labels, np.full(len(X), C / len(X)), kind, K)
    certificate = model.certificate_
    assert certificate.holds(3e-7)
    assert certificate.lower <= best * (1 + 1e-6)
    assert certificate.upper >= best * (1 - 1e-6)
    assert abs(certificate.primal - best) <= 1e-6 * best


def used_alpha(model, X, labels) -> float:
    """The alpha that "auto" came to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = model._objective(make_problem(X, labels, model.taxonomy)).tie.pairs[2]
    return float(weights[0]) if len(weights) else 1.0


@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("name", ["three nodes", "twelve nodes", "thirty nodes"])
@pytest.mark.parametrize("kind", ["flat", "tree loss", "top-down"])
def test_the_companions_too(kind: str, name: str, C: float) -> None:
    """FLATMULT, TREELOSS and HIERMULT; labels at leaves, where top-down has no choice to stop."""
    taxonomy, _ = CASES[name]
    X, labels = toy(taxonomy, seed=len(name), n_rows=24)
    at_leaf = [k for k, label in enumerate(labels) if label in taxonomy.leaves]
    X, labels = X[at_leaf], [labels[k] for k in at_leaf]
    method = {"flat": MulticlassSVM, "tree loss": TreeLossSVM, "top-down": TopDownSVM}[kind]
    given = {"C": C / len(X), "tol": 3e-7, "max_iter": 100_000, "random_state": 0}
    model = fitted(method(taxonomy, **given), X, labels)
    best = twin.companion(taxonomy, twin.with_constant(X, 1.0), labels, C / len(X), kind)
    assert model.certificate_.holds(3e-7)
    assert abs(model.certificate_.primal - best) <= 1e-6 * best
    assert model.certificate_.lower <= best * (1 + 1e-6)
