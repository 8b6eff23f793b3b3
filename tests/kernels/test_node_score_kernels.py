"""Kernels of the walk and of the beam search, compiled or not, against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from taxolearn.kernels import beam_search, node_scores
from taxolearn.kernels.rows import SparseRows

FEATURES = 6


def as_rows(dense: Any) -> SparseRows:
    where = [np.flatnonzero(row) for row in dense]
    indptr = np.cumsum([0, *map(len, where)]).astype(np.int64)
    indices = np.concatenate(where).astype(np.int32)
    data = np.concatenate([row[columns] for row, columns in zip(dense, where, strict=True)])
    parts = (indptr, indices, data)
    for part in parts:
        part.flags.writeable = False
    return SparseRows(*parts)


def random_rows(seed: int, n_rows: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, FEATURES)) * (rng.random((n_rows, FEATURES)) < 0.4)


def transposed_vectors(vectors: Any, chosen: Any, X: Any) -> Any:
    used = np.zeros(FEATURES, dtype=np.uint8)
    node_scores.mark_features(as_rows(X).indices, used)
    np.testing.assert_array_equal(used, X.any(axis=0))
    start = np.empty(FEATURES + 1, dtype=np.int32)
    size = node_scores.count_features(as_rows(vectors), chosen, used, start)
    assert size == start[-1]
    transposed = node_scores.Transposed(start, np.zeros(size, dtype=np.uint16), np.full(size, np.nan))
    node_scores.transpose_vectors(as_rows(vectors), chosen, np.empty(FEATURES, dtype=np.int32), transposed)
    return transposed


@pytest.mark.parametrize("seed", range(4))
def test_turned_vectors_are_the_vectors(seed: int) -> None:
    vectors, X = random_rows(seed, 9), random_rows(10 + seed, 3)
    chosen = np.random.default_rng(seed).permutation(9)[:7]
    start, member, value = transposed_vectors(vectors, chosen, X)
    for j in range(FEATURES):
        found = np.zeros(7)
        if start[j + 1] - start[j] == 7:
            found[:] = value[start[j] : start[j + 1]]
        else:
            found[member[start[j] : start[j + 1]]] = value[start[j] : start[j + 1]]
        np.testing.assert_array_equal(found, vectors[chosen, j] if X[:, j].any() else 0.0)


@pytest.mark.parametrize("index", [-1, FEATURES])
def test_an_index_out_of_range_is_counted_as_such(index: int) -> None:
    rows = as_rows(random_rows(0, 4))
    indices = rows.indices.copy()
    indices[0] = index
    indices.flags.writeable = False
    used, start = np.ones(FEATURES, dtype=np.uint8), np.empty(FEATURES + 1, dtype=np.int32)
    assert node_scores.count_features(rows._replace(indices=indices), np.arange(4), used, start) == -1


@pytest.mark.parametrize("k", [0, 1, 3])
def test_the_walk_adds_up_along_paths(k: int) -> None:
    # 0 -> (1 -> (2, 3), 4); classes 0..3 sit at 2, 3, 4 and at the inner node 1
    vectors, X = random_rows(1, 5), random_rows(2, 4)
    products = X @ vectors.T
    inner = products[:, 0] + products[:, 1]
    intercept = np.array([0.5, 0.0, -0.5, 0.25])
    scores = np.stack(
        [inner + products[:, 2], inner + products[:, 3], products[:, 0] + products[:, 4], inner], axis=1
    )
    scores += intercept
    classes, depth = np.array([3, 0, 1, 2], dtype=np.int32), np.array([0, 1, 2, 2, 1], dtype=np.int32)
    class_start = np.array([0, 0, 1, 2, 3, 4])
    path = np.zeros((4, 4))
    table = np.empty((4 if k == 0 else 0, 4))
    best, ids = np.full((4, k), -np.inf), np.full((4, k), 4, dtype=np.int32)
    for first, last in ((0, 2), (2, 5)):  # in two stretches
        walk = node_scores.Walk(depth[first:last], class_start[first : last + 1], classes)
        transposed = transposed_vectors(vectors, np.arange(first, last), X)
        for low, high in ((0, 3), (3, 4)):
            node_scores.walk_rows(as_rows(X), low, high, transposed, walk, intercept, path, table, best, ids)
    if k == 0:
        np.testing.assert_allclose(table, scores, atol=1e-12)
    else:
        np.testing.assert_array_equal(ids, np.argsort(-scores, axis=1)[:, :k])
        np.testing.assert_allclose(best, -np.sort(-scores, axis=1)[:, :k], atol=1e-12)


def test_equal_scores_go_to_the_smaller_class_and_nan_comes_last() -> None:
    best, ids = np.full(3, -np.inf), np.full(3, 9, dtype=np.int32)
    for score, cls in ((1.0, 5), (np.nan, 0), (1.0, 2), (3.0, 7), (1.0, 1)):
        node_scores.keep_best(score, cls, best, ids)
    assert ids.tolist() == [7, 1, 2]
    assert best.tolist() == [3.0, 1.0, 1.0]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("n_rows", [1, 40])
def test_expanding_keeps_the_best_nodes_and_classes(together: bool, n_rows: int) -> None:
    """Rows at one node meet four children: two with something below, two that are classes."""
    vectors, X = random_rows(3, 4), random_rows(4, n_rows)
    vectors = np.hstack([vectors, np.ones((4, 994))])  # large: a single row looks its few features up
    X = np.hstack([X, np.zeros((n_rows, 994))])
    reached = np.linspace(-1.0, 1.0, n_rows)
    scores = reached[:, None] + X @ vectors.T
    bonus, intercept = np.array([0.1, 0.7, -np.inf, -np.inf]), np.array([0.2, -0.2])
    reach, lengths = np.array([0.3, 0.0, 0.0, 0.0]), np.linspace(0.0, 4.0, n_rows)
    nodes = beam_search.Nodes(
        np.full(4, 1), bonus, reach, np.array([0, 0, 0, 1, 2]), np.array([0, 1], dtype=np.int32)
    )
    groups = beam_search.Groups(np.array([0, n_rows]), np.arange(n_rows), reached)
    beams = beam_search.Beams(
        np.empty((2, n_rows, 1), dtype=np.int32),
        np.empty((2, n_rows, 1)),
        np.zeros((2, n_rows), dtype=np.int32),
    )
    best, ids = np.full((n_rows, 2), -np.inf), np.full((n_rows, 2), 2, dtype=np.int32)
    room = np.zeros(1000)
    state = (nodes, lengths, intercept, False, beams, best, ids)
    if together:
        used, start = np.ones(1000, dtype=np.uint8), np.empty(1001, dtype=np.int32)
        size = node_scores.count_features(as_rows(vectors), np.arange(4), used, start)
        transposed = node_scores.Transposed(start, np.zeros(size, dtype=np.uint16), np.empty(size))
        node_scores.transpose_vectors(
            as_rows(vectors), np.arange(4), np.empty(1000, dtype=np.int32), transposed
        )
        beam_search.expand_together(as_rows(X), transposed, np.arange(4), 0, groups, *state)
    else:
        edges = beam_search.Edges(np.zeros(4, dtype=np.int64), np.arange(4), np.arange(5), np.arange(4))
        assert beam_search.expand(as_rows(X), as_rows(vectors), edges, groups, room, *state) == -1
        assert not room.any()
    ranks = scores[:, :2] + bonus[:2] + lengths[:, None] * reach[:2]
    np.testing.assert_array_equal(beams.node[1, :, 0], np.argmax(ranks, axis=1))
    np.testing.assert_array_equal(beams.count[1], 1)
    np.testing.assert_allclose(best, -np.sort(-(scores[:, 2:] + intercept), axis=1), atol=1e-12)


def test_rows_are_grouped_by_node() -> None:
    node, count = np.array([[2, 0], [2, 9]], dtype=np.int32), np.array([2, 1], dtype=np.int32)
    start, member, reached = np.empty(4, dtype=np.int64), np.empty(3, dtype=np.int64), np.empty(3)
    beam_search.group_rows(node, np.array([[0.5, 0.1], [0.7, 0.0]]), count, start, member, reached)
    assert start.tolist() == [0, 1, 1, 3]
    assert member.tolist() == [0, 0, 1]
    assert reached.tolist() == [0.1, 0.5, 0.7]
