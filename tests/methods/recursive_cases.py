"""Small taxonomies for the tests of all hierarchical methods, rows and estimators for recursive regularization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from taxolearn import RecursiveLogistic, RecursiveSVM, Taxonomy

TREE = Taxonomy.from_paths(["all/animal/cat", "all/animal/dog", "all/plant/rose", "all/plant/oak"])
STAR = Taxonomy.from_edges([("all", name) for name in ("cat", "dog", "rose", "oak")])
DAG = Taxonomy.from_edges(
    [
        ("all", "pet"),
        ("all", "wild"),
        ("pet", "cat"),
        ("wild", "cat"),
        ("pet", "dog"),
        ("wild", "rose"),
        ("all", "oak"),
    ]
)
LEAVES = ["cat", "dog", "rose", "oak"]
LOSSES: dict[str, Any] = {
    "squared_hinge": RecursiveSVM,
    "hinge": RecursiveSVM,
    "logistic": RecursiveLogistic,
    "softmax": RecursiveLogistic,
}
every_loss = pytest.mark.parametrize("loss", LOSSES)


def blobs(names: list[str] = LEAVES, n: int = 40, seed: int = 0, spread: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.array([names[i % len(names)] for i in range(n)])
    centres = {name: 2.0 * np.eye(5)[k % 5] for k, name in enumerate(names)}
    return np.array([centres[name] for name in y]) + spread * rng.normal(size=(n, 5)), y


def estimator(loss: str, taxonomy: Any, **options: Any) -> Any:
    return LOSSES[loss](taxonomy, loss=loss, random_state=0, **options)
