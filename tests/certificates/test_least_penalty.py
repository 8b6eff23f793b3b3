"""The least penalty of class vectors against exact arithmetic, however the system of the shared nodes is solved."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from reference.exact_objective import exact, of_paths
from taxolearn.certificates import path_sum as module
from taxolearn.certificates.columns import ClassColumns
from taxolearn.certificates.path_sum import least_penalty
from taxolearn.ties import PathSum

WAYS = {
    "sparse factor": {"_SPARSE": 1.0},
    "dense inverse": {"_SPARSE": -1.0},
    "sparse algebra": {"_DENSE_NODES": 0},
}


def drawn(seed: int, span: float, several_parents: bool) -> tuple[PathSum, np.ndarray]:
    """Paths to the leaves of a random tree or DAG of a dozen nodes, scales to 10**+-span, and class vectors."""
    rng = np.random.default_rng(seed)
    parents = [set[int]()] + [
        {int(p) for p in rng.integers(n, size=2 if several_parents else 1)} for n in range(1, 12)
    ]
    above: list[set[int]] = []
    for node, found in enumerate(parents):
        above.append({node}.union(*(above[p] for p in found)))
    leaves = [node for node in range(12) if not any(node in found for found in parents)]
    paths = np.array([[float(node in above[leaf]) for node in range(12)] for leaf in leaves])
    scale = 10.0 ** rng.uniform(-span, span, 12)
    W = rng.normal(size=(len(leaves), 3))
    if seed % 2:  # near the range of the shared nodes
        W = (paths * scale) @ paths.T @ W
    return PathSum(sp.csr_array(paths), scale), W


def penalty_and_truth(tie: PathSum, W: np.ndarray) -> tuple[float, float, Fraction]:
    with np.errstate(all="ignore"):
        found, off = least_penalty(W, ClassColumns(W).squares, tie, tie.scale)
    assert not np.any(off)
    total = found.sum()
    nodes = np.split(tie.paths.indices, tie.paths.indptr[1:-1])
    truth = of_paths([part.tolist() for part in nodes], tie.scale.tolist()).penalty(exact(W))
    assert truth is not None
    return total.value, float(total.safe), truth


@pytest.mark.parametrize("several_parents", [False, True], ids=["tree", "DAG"])
@pytest.mark.parametrize("way", WAYS)
def test_the_interval_holds_the_least_penalty(way, several_parents, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8)
    monkeypatch.setattr(module, "_LEAST_WIDTH", 2)  # three features are two blocks
    for name, value in WAYS[way].items():
        monkeypatch.setattr(module, name, value)
    for seed in range(40):
        span = (0.5, 3.0, 12.0)[seed % 3]
        value, error, truth = penalty_and_truth(*drawn(seed, span, several_parents))
        assert abs(Fraction(value) - truth) <= error, (seed, span)
        if span < 1.0:
            assert error <= 1e-13 * value, seed


def test_the_factor_of_a_tree_stays_sparse(monkeypatch):
    """A node and each node above it have one entry, in a tree of eight levels."""
    paths = np.zeros((256, 511))
    for leaf in range(256):
        node = leaf + 256
        while node:
            paths[leaf, node - 1] = 1.0
            node //= 2
    shared = sp.csr_array(paths[:, :255])
    under = sp.csr_array(shared.T)
    system = under @ shared + sp.eye_array(255)
    counted: list[int] = []
    count = np.count_nonzero
    monkeypatch.setattr(np, "count_nonzero", lambda found: counted.append(count(found)) or counted[-1])
    solve = module._solver(system, np.diff(under.indptr))
    assert counted == [sum(2**k * (k + 1) for k in range(8))]
    right = np.random.default_rng(0).normal(size=(255, 4))
    np.testing.assert_allclose(solve(right), np.linalg.solve(system.toarray(), right), rtol=1e-11, atol=1e-13)


BY_PAIRS = sp.csr_array(
    np.array([[1, 1, 0, 1, 0, 0, 0], [1, 1, 0, 0, 1, 0, 0], [1, 0, 1, 0, 0, 1, 0], [1, 0, 1, 0, 0, 0, 1.0]])
)


@pytest.mark.parametrize("dense_nodes", [0, 1500])
def test_a_system_that_is_singular_but_for_rounding_gives_a_wide_interval(dense_nodes, monkeypatch):
    """All classes are under inner nodes whose scales are 1e30 times those of the classes' own."""
    monkeypatch.setattr(module, "_DENSE_NODES", dense_nodes)
    tie = PathSum(BY_PAIRS, np.array([1e15, 1e15, 1e15, 1e-15, 1e-15, 1e-15, 1e-15]))
    value, error, truth = penalty_and_truth(tie, np.array([[1.0], [2.0], [-1.0], [3.0]]))
    assert abs(Fraction(value) - truth) <= error < np.inf


def test_a_scale_without_a_reciprocal_proves_nothing():
    tie = PathSum(BY_PAIRS, np.array([1e-310, 1e-310, 1.0, 1.0, 1.0, 1.0, 1.0]))
    _, error, _ = penalty_and_truth(tie, np.array([[1.0], [2.0], [-1.0], [3.0]]))
    assert error == np.inf
