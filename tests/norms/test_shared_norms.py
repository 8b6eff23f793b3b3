"""The norms of section 6: Table 1 and Theorem 2 of Choi, Sasaki and Srebro, and their programmes in cvxpy."""

from __future__ import annotations

import sys

import cvxpy as cp
import numpy as np
import pytest

from reference import node_weights_twin as twin
from taxolearn import Taxonomy
from taxolearn.errors import DataError
from taxolearn.norms import max_norm, shared_norm, structured_shared_norm, trace_norm

SHAPES = [(1, 1), (1, 4), (4, 1), (3, 5), (5, 3), (4, 4), (3, 12)]
frobenius = np.linalg.norm


def matrices(seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) * rng.lognormal() for shape in SHAPES for _ in range(3)]


def by_completion(U, objective):
    """The least objective of a semidefinite matrix whose upper right block is U."""
    n_rows, n_columns = U.shape
    whole = cp.Variable((n_rows + n_columns, n_rows + n_columns), PSD=True)
    diagonal = cp.diag(whole)
    problem = cp.Problem(
        cp.Minimize(objective(diagonal[:n_rows], diagonal[n_rows:])), [whole[:n_rows, n_rows:] == U]
    )
    return problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10)


def by_paths(U, paths):
    """(16) squared, its variables the node vectors and the squares of a_n."""
    vectors, squares = cp.Variable((paths.shape[1], U.shape[1])), cp.Variable(paths.shape[1])
    cost = cp.sum([cp.quad_over_lin(vectors[n], squares[n]) for n in range(paths.shape[1])])
    problem = cp.Problem(cp.Minimize(cost), [paths @ vectors == U, paths @ squares <= 1])
    return np.sqrt(problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10))


def test_programmes():
    for U in matrices():
        trace = by_completion(U, lambda rows, columns: (cp.sum(rows) + cp.sum(columns)) / 2)
        shared = by_completion(U, lambda rows, columns: (cp.max(rows) + cp.sum(columns)) / 2)
        largest = by_completion(U, lambda rows, columns: (cp.max(rows) + cp.max(columns)) / 2)
        assert trace_norm(U) == pytest.approx(trace, rel=1e-6)
        assert shared_norm(U) == pytest.approx(shared, rel=1e-6)
        assert max_norm(U) == pytest.approx(largest, rel=1e-6)


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
@pytest.mark.parametrize("root", ["free", "pinned"])
def test_structured_norm(dag, root):
    for seed in range(12):
        taxonomy = twin.random_structure(seed, dag=dag, max_nodes=8)
        U = np.random.default_rng(seed).normal(size=(taxonomy.n_leaves, 1 + seed % 5))
        paths = twin.path_matrix(taxonomy, taxonomy.leaf_ids.tolist())
        if root == "pinned":
            paths = paths[:, 1:]
        expected = by_paths(U, paths[:, paths.any(axis=0)])
        assert structured_shared_norm(U, taxonomy, root=root) == pytest.approx(expected, rel=1e-6)


def test_theorem_2():
    for U in matrices(1):
        n_rows, n_columns = U.shape
        trace, shared, largest = trace_norm(U), shared_norm(U), max_norm(U)
        slack = 1 + 1e-7
        assert trace / np.sqrt(n_rows * n_columns) <= shared / np.sqrt(n_columns) * slack
        assert shared / np.sqrt(n_columns) <= largest * slack
        for seed in range(40):
            taxonomy = twin.random_structure(seed, dag=bool(seed % 2), max_nodes=10)
            if taxonomy.n_leaves == n_rows:
                structured = structured_shared_norm(U, taxonomy)
                assert shared <= structured * slack
                assert structured <= frobenius(U) * slack
                break
        # Lemma 3; the square that is printed there is wrong.
        assert shared * slack >= np.linalg.norm(U, axis=1).max()


class TestTable1:
    """The four situations; `u` has norm 1.7 or so, nothing is special about it."""

    u = np.array([1.0, -0.5, 0.0, 1.2])

    def test_full_sharing(self):
        U = np.tile(self.u, (3, 1))
        star = Taxonomy.from_paths(["r/a", "r/b", "r/c"])
        size = frobenius(self.u)
        # Appendix B prints sqrt(Y) ||u|| for the shared norm.
        assert shared_norm(U) == pytest.approx(size, rel=1e-6)
        assert structured_shared_norm(U, star) == pytest.approx(size, rel=1e-6)
        assert frobenius(U) == pytest.approx(np.sqrt(3) * size)
        assert trace_norm(U) == pytest.approx(np.sqrt(3) * size)

    def test_no_sharing(self):
        U = np.random.default_rng(0).normal(size=(3, 4))
        chains = Taxonomy.from_paths(["r/a/x", "r/b", "r/c/y"])
        assert structured_shared_norm(U, chains, root="pinned") == pytest.approx(frobenius(U), rel=1e-6)

    def test_disjoint_features(self):
        U = np.zeros((3, 6))
        U[0, :2], U[1, 2:3], U[2, 3:] = [1.0, 2.0], [-3.0], [0.5, 0.5, 1.0]
        tree = Taxonomy.from_paths(["r/a/x", "r/a/y", "r/b"])
        assert shared_norm(U) == pytest.approx(frobenius(U), rel=1e-6)
        assert structured_shared_norm(U, tree) == pytest.approx(frobenius(U), rel=1e-6)
        assert trace_norm(U) == pytest.approx(np.linalg.norm(U, axis=1).sum())

    def test_factor_scaling(self):
        factors = np.array([0.5, -2.0, 1.0])
        U = np.outer(factors, self.u)
        size = frobenius(self.u)
        assert shared_norm(U) == pytest.approx(2.0 * size, rel=1e-6)
        assert frobenius(U) == pytest.approx(frobenius(factors) * size)
        assert trace_norm(U) == pytest.approx(frobenius(factors) * size)


def test_rows_follow_class_nodes_and_classes_may_be_inner_nodes():
    tree = Taxonomy.from_paths(["r/a/x", "r/b"])
    nodes = tree.ids_of(["b", "x", "a"]).tolist()
    U = np.random.default_rng(2).normal(size=(3, 3))
    expected = by_paths(U, twin.path_matrix(tree, nodes))
    assert structured_shared_norm(U, tree, class_nodes=nodes) == pytest.approx(expected, rel=1e-6)


def test_zero_and_scale():
    tree = Taxonomy.from_paths(["r/a", "r/b"])
    zero, U = np.zeros((2, 3)), np.random.default_rng(3).normal(size=(2, 3))
    for norm in (trace_norm, max_norm, shared_norm, lambda V: structured_shared_norm(V, tree)):
        assert norm(zero) == 0.0
        assert norm(1e-9 * U) == pytest.approx(1e-9 * norm(U), rel=1e-6)
        assert norm(-1e9 * U) == pytest.approx(1e9 * norm(U), rel=1e-6)


def test_errors(monkeypatch):
    tree = Taxonomy.from_paths(["r/a", "r/b"])
    with pytest.raises(DataError, match=r"U has shape \(3,\)"):
        shared_norm([1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="U holds NaN or infinity"):
        max_norm([[np.nan]])
    with pytest.raises(DataError, match="U has 3 rows for 2 classes"):
        structured_shared_norm(np.ones((3, 2)), tree)
    with pytest.raises(DataError, match="root='none' is not known here"):
        structured_shared_norm(np.ones((2, 2)), tree, root="none")
    with pytest.raises(DataError, match="a class is the root"):
        structured_shared_norm(np.ones((1, 2)), tree, class_nodes=[0], root="pinned")
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match="cone programmes need clarabel"):
        shared_norm(np.ones((2, 2)))
