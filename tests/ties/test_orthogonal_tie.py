"""Theorem 1, Corollary 2 and Theorem 4 of Zhou, Xiao and Wu on random K, and what a K must be."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from reference.transfer_twin import transfer_penalty
from taxolearn import Taxonomy
from taxolearn.errors import DataError
from taxolearn.testing import check_tie
from taxolearn.ties import OrthogonalTie, orthogonal_tie, transfer_tie
from taxolearn.ties.orthogonal import largest_eigenvalue, largest_share

SEEDS = pytest.mark.parametrize("seed", range(12))


def random_K(seed: int, share: float) -> np.ndarray:
    """A random K whose off-diagonal entries are `share` of what the comparison matrix allows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    K = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.7), 1)
    K = K + K.T
    K[0, 1] = K[1, 0] = 0.5  # not diagonal
    diagonal = rng.uniform(0.5, 3.0, n)
    most = 1.0 / np.linalg.eigvalsh(K / np.sqrt(np.outer(diagonal, diagonal)))[-1]
    return share * most * K + np.diag(diagonal)


def omega(K: np.ndarray, W: np.ndarray) -> float:
    return 0.5 * float(np.sum(K * np.abs(W @ W.T)))


def subgradient(K: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Theorem 4, with sign(0) = 0."""
    signs = np.sign(W @ W.T)
    np.fill_diagonal(signs, 1.0)
    return (K * signs) @ W


def some_points(seed: int, n: int):
    """Pairs of points, some with vectors that are zero, equal or exactly orthogonal, where Omega has its kinks."""
    rng = np.random.default_rng(seed)
    for k in range(40):
        U, V = rng.normal(size=(2, n, n + 1))
        if k % 4 == 1:
            U[rng.integers(n)] = 0.0
        if k % 4 == 2:
            U[:] = np.eye(n, n + 1)
        if k % 4 == 3:
            V = U + 0.01 * V
        yield U, V


@SEEDS
def test_convex_where_the_comparison_matrix_is_positive_semidefinite(seed: int) -> None:
    K = random_K(seed, 1.0)
    for U, V in some_points(seed, len(K)):
        t = 0.3
        assert omega(K, t * U + (1 - t) * V) <= t * omega(K, U) + (1 - t) * omega(K, V) + 1e-10


@SEEDS
def test_strongly_convex_by_the_smallest_eigenvalue(seed: int) -> None:
    K = random_K(seed, 0.8)
    tie = OrthogonalTie(sp.csr_array(K))
    least = tie.smallest_eigenvalue
    comparison = 2.0 * np.diag(np.diag(K)) - K
    np.testing.assert_allclose(least, np.linalg.eigvalsh(comparison)[0], rtol=1e-9)
    for U, V in some_points(seed, len(K)):
        t = 0.4
        bend = 0.5 * least * t * (1 - t) * float(np.sum((U - V) ** 2))
        assert omega(K, t * U + (1 - t) * V) <= t * omega(K, U) + (1 - t) * omega(K, V) - bend + 1e-10


@SEEDS
def test_not_convex_where_it_is_not(seed: int) -> None:
    """The proof of necessity: at vectors of negative products the Hessian is the comparison matrix."""
    K = random_K(seed, 1.2)
    n = len(K)
    values, vectors = np.linalg.eigh(2.0 * np.diag(np.diag(K)) - K)
    assert values[0] < 0
    W = np.eye(n) - 1.0 / n
    step = 1e-3 * np.outer(vectors[:, 0], np.eye(n)[0])
    assert 0.5 * (omega(K, W + step) + omega(K, W - step)) < omega(K, W)


@SEEDS
def test_the_subgradient_of_theorem_4(seed: int) -> None:
    K = random_K(seed, 1.0)
    for U, V in some_points(seed, len(K)):
        slope = subgradient(K, U)
        assert omega(K, V) >= omega(K, U) + float(np.sum(slope * (V - U))) - 1e-10


@SEEDS
def test_penalty_and_square_are_conjugates(seed: int) -> None:
    K = random_K(seed, 0.9)
    tie = OrthogonalTie(sp.csr_array(K))
    check_tie(tie, seed=seed)
    W = np.random.default_rng(seed).normal(size=(len(K), 4))
    np.testing.assert_allclose(tie.penalty(W), omega(K, W), rtol=1e-12)
    V = subgradient(K, W)  # there Young's inequality is an equality
    np.testing.assert_allclose(tie.penalty(W) + 0.5 * tie.square(V), np.vdot(V, W), rtol=1e-6)


def test_K_of_6_by_the_definition() -> None:
    tree = Taxonomy.from_paths(["r/a/b/c", "r/a/b/d", "r/a/e", "r/f"])
    nodes = [name for name in tree.nodes if name != "r"]
    K = orthogonal_tie(tree, tree.ids_of(nodes), alpha=0.3).matrix.toarray()
    for i, one in enumerate(nodes):
        for j, other in enumerate(nodes):
            related = other in tree.ancestors(one) or one in tree.ancestors(other)
            expected = 1.0 + len(tree.descendants(one)) if i == j else 0.3 * related
            assert K[i, j] == expected, (one, other)


def test_the_largest_alpha_is_the_largest() -> None:
    tree = Taxonomy.from_paths(["r/a/b/c/d", "r/a/b/c/e", "r/a/f"])
    ids = np.arange(1, tree.n_nodes)
    with pytest.raises(DataError, match="smallest eigenvalue -") as told:
        orthogonal_tie(tree, ids, alpha=1.0)
    most = float(str(told.value).split("below ")[1].split(",")[0])
    assert orthogonal_tie(tree, ids, alpha=most * (1 - 1e-5)).smallest_eigenvalue > 0
    with pytest.raises(DataError, match="too large"):
        orthogonal_tie(tree, ids, alpha=most * (1 + 1e-5))
    auto = orthogonal_tie(tree, ids, alpha="auto").matrix.toarray()
    np.testing.assert_allclose(auto[0, 1], 0.95 * most, rtol=1e-5)


def test_auto_is_at_most_one() -> None:
    tree = Taxonomy.from_paths(["r/a/b", "r/a/c", "r/d"])
    assert orthogonal_tie(tree, np.arange(1, 5), alpha="auto").matrix.toarray()[0, 1] == 1.0


def test_lanczos_agrees_with_dense_algebra_above_a_thousand_nodes() -> None:
    rng = np.random.default_rng(0)
    tree = Taxonomy.from_edges([(int(rng.integers(child)), child) for child in range(1, 1100)])
    tie = orthogonal_tie(tree, np.arange(1, 1100), alpha="auto")
    beside = sp.csr_array(tie.matrix - sp.diags_array(tie.matrix.diagonal()))
    dense = np.linalg.eigvalsh(beside.toarray())[-1]
    np.testing.assert_allclose(largest_eigenvalue(beside), dense, rtol=1e-8)
    np.testing.assert_allclose(largest_share(tie.matrix), 1 / 0.95, rtol=1e-6)


@pytest.mark.parametrize(
    ("K", "sentence"),
    [
        ([[1.0, 0.0]], "square"),
        ([[1.0, -0.1], [-0.1, 1.0]], "the number -0.1"),
        ([[1.0, np.nan], [np.nan, 1.0]], "the number nan"),
        ([[1.0, 0.2], [0.1, 1.0]], "not symmetric"),
        ([[1.0, 0.0], [0.0, 0.0]], "0 on its diagonal, in row 1"),
        ([[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue being -1.*by less than 0.5"),
    ],
)
def test_what_K_must_be(K, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        OrthogonalTie(sp.csr_array(np.array(K)))


@pytest.mark.parametrize("seed", range(5))
def test_transfer_by_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = Taxonomy.from_edges([(int(rng.integers(child)), child) for child in range(1, 10)])
    tie = transfer_tie(tree, np.arange(1, 10))
    check_tie(tie)
    W = rng.normal(size=(10, 3))
    total = transfer_penalty({name: W[tree.id_of(name)] for name in tree.nodes}, tree)
    np.testing.assert_allclose(tie.penalty(W[1:]), total, rtol=1e-9)
