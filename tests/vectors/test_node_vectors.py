"""Node weights score as the class weights they add up to, and survive storage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn.errors import DataError, ModelError
from taxolearn.storage import pack_vectors, read_model, unpack_vectors, write_model
from taxolearn.vectors import ClassVectors, DualVectors, NodeVectors


def made(
    sparse: bool, dtype: type = np.float64, seed: int = 0, shares: tuple[float, ...] = (1.0,)
) -> NodeVectors:
    """`shares` are the numbers in the paths: ones, or those of any matrix."""
    rng = np.random.default_rng(seed)
    nodes = rng.normal(size=(6, 9)) * (rng.random((6, 9)) < 0.5)  # nodes x features
    chosen = rng.random((4, 6)) < 0.5
    paths = sp.csr_array(np.resize(np.array(shares), chosen.shape) * chosen)
    intercept = rng.normal(size=4)
    stored = sp.csr_array(nodes.astype(dtype)) if sparse else np.ascontiguousarray(nodes.T.astype(dtype))
    return NodeVectors(stored, paths, intercept)


def as_classes(weights: NodeVectors) -> ClassVectors:
    nodes = weights.nodes.toarray() if weights.is_sparse else weights.nodes.T
    return ClassVectors(weights.paths.toarray() @ nodes, weights.intercept)


PATHS = (1.0,)
MATRIX = (2.0, -0.5, 1.0, 3.0, 0.25)


@pytest.mark.parametrize("shares", [PATHS, MATRIX], ids=["paths", "matrix"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_those_of_the_classes(
    sparse: bool, sparse_rows: bool, dtype: type, shares: tuple[float, ...]
) -> None:
    weights = made(sparse, dtype, shares=shares)
    dense = np.random.default_rng(1).normal(size=(7, 9)) * (np.random.default_rng(2).random((7, 9)) < 0.6)
    X = sp.csr_array(dense) if sparse_rows else dense
    expected = as_classes(weights).scores(X)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(weights.scores(X), expected, atol=tolerance)
    assert weights.scores(X).dtype == dtype
    np.testing.assert_array_equal(weights.top_k(X, 2)[0], as_classes(weights).top_k(X, 2)[0])
    blocks = np.vstack([block for _, block in weights.score_blocks(X, max_bytes=64)])
    np.testing.assert_allclose(blocks, expected, atol=tolerance)
    coef = weights.coef
    np.testing.assert_allclose(coef.toarray() if sparse else coef, as_classes(weights).coef, atol=tolerance)
    for number in range(4):
        columns = np.array([8, 0, 3])
        np.testing.assert_allclose(
            weights.entries(number, columns), as_classes(weights).coef[number, columns], atol=tolerance
        )


def test_a_matrix_of_other_numbers_than_ones_has_no_paths() -> None:
    tree = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    nodes = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]])
    assert NodeVectors(nodes, sp.csr_array(tree), np.zeros(2)).top_k(np.eye(2), 1, beam=2)[0].tolist() == [
        [1],
        [0],
    ]
    factor = NodeVectors(nodes, sp.csr_array(tree * [[2.0], [-1.0]]), np.zeros(2))
    assert factor._tree is None
    assert factor.top_k(np.eye(2), 1)[0].tolist() == [[0], [1]]
    assert factor.top_k(np.eye(2), 1)[1].tolist() == [[6.0], [1.0]]
    np.testing.assert_array_equal(factor.node_vector(1), nodes[:, 1])
    with pytest.raises(DataError, match="this model has none; leave beam out"):
        factor.top_k(np.eye(2), 1, beam=2)


@pytest.mark.parametrize("shares", [PATHS, MATRIX], ids=["paths", "matrix"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_round_trip_through_a_folder(sparse: bool, shares: tuple[float, ...], tmp_path: object) -> None:
    weights = made(sparse, shares=shares)
    header, arrays = pack_vectors(weights)
    write_model(f"{tmp_path}/model", {"weights": header}, arrays)
    stored, found = read_model(f"{tmp_path}/model")
    again = unpack_vectors(stored["weights"], found)
    assert isinstance(again, NodeVectors)
    X = np.random.default_rng(3).normal(size=(5, 9))
    np.testing.assert_array_equal(again.scores(X), weights.scores(X))
    assert again.n_nodes == 6
    assert again.is_sparse == sparse


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("weights/paths/indices", lambda a: a + 100),
        ("weights/paths/indices", lambda a: -a - 1),
        ("weights/paths/indptr", lambda a: a[:-1]),
        ("weights/paths/indptr", lambda a: a[::-1].copy()),
        ("weights/intercept", lambda a: a[:-1]),
        ("weights/intercept", lambda a: a * np.nan),
        ("weights/paths/data", lambda a: a[:-1]),
        ("weights/paths/data", lambda a: a * np.nan),
    ],
)
def test_damaged_paths_are_refused(sparse: bool, name: str, damage: object) -> None:
    header, arrays = pack_vectors(made(sparse, shares=MATRIX if name.endswith("data") else PATHS))
    arrays[name] = damage(arrays[name])  # type: ignore[operator]
    with pytest.raises(ModelError):
        unpack_vectors(header, arrays)


@pytest.mark.parametrize("n_nodes", [-1, 5, 7, 2**60, "6", None])
def test_a_wrong_number_of_nodes_is_refused(n_nodes: object) -> None:
    header, arrays = pack_vectors(made(False))
    with pytest.raises(ModelError):
        unpack_vectors({**header, "n_nodes": n_nodes}, arrays)


def test_what_does_not_fit_together_is_refused() -> None:
    paths = sp.csr_array(np.eye(2))
    with pytest.raises(DataError, match="2-D"):
        NodeVectors(np.zeros(3), paths, np.zeros(2))
    with pytest.raises(DataError, match="float32 or float64"):
        NodeVectors(np.zeros((3, 2), dtype=int), paths, np.zeros(2))
    with pytest.raises(DataError, match="2 classes by 4 nodes"):
        NodeVectors(np.zeros((3, 4)), paths, np.zeros(2))


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_duals_are_stored_as_node_vectors(sparse_rows: bool) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(8, 5))
    dual = sp.csr_array(rng.normal(size=(3, 8)) * (rng.random((3, 8)) < 0.6))
    paths = sp.csr_array(np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]))
    scale = np.array([0.0, 1.0, 2.0, 0.5])
    weights = DualVectors(sp.csr_array(X) if sparse_rows else X, dual, paths, scale, rng.normal(size=3))
    again = unpack_vectors(*pack_vectors(weights))
    assert isinstance(again, NodeVectors)
    expected = X @ ((paths.toarray() * scale) @ (paths.T @ (dual @ X))).T + weights.intercept
    np.testing.assert_allclose(weights.scores(X), expected, atol=1e-12)
    np.testing.assert_allclose(again.scores(X), expected, atol=1e-4)


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_the_vector_of_one_node(sparse_rows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taxolearn.vectors.dual_vectors._ROWS_AT_A_TIME", 3)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(8, 5))
    dual = sp.csr_array(
        rng.normal(size=(3, 8)) * (rng.random((3, 8)) < 0.6) * [[1], [0], [1]]
    )  # one has none
    paths = sp.csr_array(
        np.array([[1.0, 1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0, 1.0]])
    )
    scale = np.array([0.0, 1.0, 2.0, 0.5, 3.0])
    weights = DualVectors(sp.csr_array(X) if sparse_rows else X, dual, paths, scale, np.zeros(3))
    expected = scale[:, None] * (paths.T @ (dual @ X))
    stored = sp.csr_array(expected) if sparse_rows else np.ascontiguousarray(expected.T)
    for model in (weights, NodeVectors(stored, paths, np.zeros(3))):
        found = [model.node_vector(node) for node in range(5)]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert {vector.dtype for vector in found} == {np.dtype(np.float64)}
