"""Large node vectors are walked along and searched by beam: equal to slow twins, on trees and DAGs, made and mapped."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from reference.path_scores_twin import all_scores, beam_search, best_classes
from taxolearn import Taxonomy
from taxolearn.engines import ThreadEngine
from taxolearn.errors import DataError, ModelError
from taxolearn.storage import pack_vectors, unpack_vectors
from taxolearn.ties import path_sum
from taxolearn.vectors import ClassVectors, DualVectors, NodeVectors, path_vectors, walking
from taxolearn.vectors import beam as beam_module

FEATURES = 12


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_vectors, "WALK_FROM", 0)
    # several stretches, blocks of rows and steps even at these sizes
    monkeypatch.setattr(walking, "_STRETCH_ENTRIES", 20)
    monkeypatch.setattr(walking, "_WALK_BYTES", 200)
    monkeypatch.setattr(beam_module, "_SEARCH_BYTES", 300)
    monkeypatch.setattr(beam_module, "_ENTRIES_AT_A_TIME", 15)


def random_taxonomy(rng: Any, dag: bool) -> Taxonomy:
    edges = []
    for child in range(1, int(rng.integers(3, 25))):
        n_parents = 1 + int(dag and rng.random() < 0.4)
        edges += [(int(parent), child) for parent in rng.choice(child, min(child, n_parents), replace=False)]
    return Taxonomy.from_edges(edges)


def sparse_normal(rng: Any, shape: tuple[int, int]) -> Any:
    return rng.normal(size=shape) * (rng.random(shape) < 0.5)


class Case:
    """Random node vectors over a random taxonomy; leaves and some inner nodes are classes, in any order."""

    def __init__(self, seed: int, dag: bool, dtype: Any = np.float64) -> None:
        rng = np.random.default_rng(seed)
        self.taxonomy = random_taxonomy(rng, dag)
        n_nodes = self.taxonomy.n_nodes
        self.class_nodes = np.array(
            sorted({*self.taxonomy.leaf_ids.tolist(), *rng.choice(n_nodes, 2).tolist()})
        )
        rng.shuffle(self.class_nodes)
        self.tie = path_sum(self.taxonomy, self.class_nodes, np.ones(n_nodes))
        # eighths: sums are exact, in float32 too, so that ties are ties
        self.nodes = np.round(8 * sparse_normal(rng, (n_nodes, FEATURES))) / 8
        self.intercept = np.round(8 * rng.normal(size=len(self.class_nodes))) / 8
        self.X = np.round(8 * sparse_normal(rng, (9, FEATURES))) / 8
        self.weights = NodeVectors(sp.csr_array(self.nodes.astype(dtype)), self.tie.paths, self.intercept)
        self.scores = all_scores(self.nodes, self.tie.paths.toarray(), self.intercept, self.X)
        self.k = min(3, len(self.class_nodes))


@pytest.mark.parametrize("seed", range(4))
def test_the_walk_scores_a_matrix_of_any_numbers(seed: int) -> None:
    case = Case(seed, dag=False)
    matrix = case.tie.paths * np.array([2.0, -1.0, 0.5])[np.arange(case.tie.n_nodes) % 3]
    weights = NodeVectors(case.weights.nodes, sp.csr_array(matrix), case.intercept)
    expected = case.X @ (matrix.toarray() @ case.nodes).T + case.intercept
    np.testing.assert_array_equal(weights.scores(sp.csr_array(case.X)), expected)
    np.testing.assert_array_equal(
        weights.top_k(sp.csr_array(case.X), case.k)[1], -np.sort(-expected, axis=1)[:, : case.k]
    )


@pytest.mark.parametrize("dag", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_the_walk_scores_as_the_twin(seed: int, dag: bool) -> None:
    case = Case(seed, dag, (np.float32, np.float64)[seed % 2])
    X = sp.csr_array(case.X.astype(np.float32 if seed % 3 else np.float64))
    assert (case.weights._tree is None) == (not case.taxonomy.is_tree) or case.taxonomy.is_tree is False
    found = case.weights.scores(X, n_threads=1 + seed % 2)
    assert found.dtype == case.weights.dtype
    np.testing.assert_array_equal(found, case.scores)
    blocks = [block for _, block in case.weights.score_blocks(X, max_bytes=200)]
    np.testing.assert_array_equal(np.vstack(blocks), case.scores)
    for k in (1, case.k, len(case.class_nodes)):
        ids, best = case.weights.top_k(X, k, n_threads=1 + seed % 2)
        np.testing.assert_array_equal(ids, best_classes(case.scores, k))
        np.testing.assert_array_equal(best, np.take_along_axis(case.scores, ids, axis=1))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dag", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_beam_as_wide_as_the_widest_level_is_exact(seed: int, dag: bool, dense: bool) -> None:
    case = Case(100 + seed, dag)
    weights = case.weights
    if dense:
        weights = NodeVectors(np.ascontiguousarray(case.nodes.T), case.tie.paths, case.intercept)
    order = weights._order
    assert order is not None
    for X in (case.X, sp.csr_array(case.X)):
        ids, best = weights.top_k(X, case.k, beam=int(np.bincount(order.level).max()), n_threads=2)
        np.testing.assert_array_equal(ids, best_classes(case.scores, case.k))
        np.testing.assert_array_equal(best, np.take_along_axis(case.scores, ids, axis=1))


@pytest.mark.parametrize("together", [0.0, 1e9], ids=["transposed", "one by one"])
@pytest.mark.parametrize("beam", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_a_narrow_beam_is_that_of_the_twin(
    seed: int, beam: int, together: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beam_module, "_TRANSPOSING_COST", together)
    case = Case(200 + seed, dag=False)
    taxonomy = case.taxonomy
    children = {
        n: taxonomy.ids_of(taxonomy.children(taxonomy.name_of(n))).tolist() for n in range(taxonomy.n_nodes)
    }
    at: dict[int, list[int]] = {n: [] for n in children}
    for cls, node in enumerate(case.class_nodes.tolist()):
        at[node].append(cls)
    ids, best = case.weights.top_k(sp.csr_array(case.X), case.k, beam=beam)
    for i, x in enumerate(case.X):
        assert ids[i].tolist() == beam_search(case.nodes, children, at, case.intercept, x, case.k, beam)
    np.testing.assert_array_equal(best, np.take_along_axis(case.scores, ids, axis=1))


@pytest.mark.parametrize("seed", range(10))
def test_a_narrow_beam_on_a_dag_tells_true_scores(seed: int) -> None:
    case = Case(300 + seed, dag=True)
    ids, best = case.weights.top_k(sp.csr_array(case.X), case.k, beam=1)
    assert all(len(set(row)) == case.k for row in ids.tolist())
    np.testing.assert_array_equal(best, np.take_along_axis(case.scores, ids, axis=1))


@pytest.mark.parametrize("dag", [False, True])
def test_weights_kept_as_duals_walk_and_search_alike(dag: bool) -> None:
    case, rng = Case(5, dag), np.random.default_rng(5)
    rows = sp.csr_array(sparse_normal(rng, (10, FEATURES)))
    dual = sp.csr_array(sparse_normal(rng, (len(case.class_nodes), 10)))
    scale = rng.random(case.taxonomy.n_nodes)
    weights = DualVectors(rows, dual, case.tie.paths, scale, case.intercept)
    vectors = scale[:, None] * (case.tie.paths.T @ (dual @ rows).toarray())
    expected = all_scores(vectors, case.tie.paths.toarray(), case.intercept, case.X)
    X = sp.csr_array(case.X)
    assert (weights.vector_sizes() >= np.count_nonzero(vectors, axis=1)).all()
    np.testing.assert_allclose(weights.scores(X), expected, atol=1e-12)
    for options in ({}, {"beam": 100}):
        ids, best = weights.top_k(X, case.k, **options)
        np.testing.assert_array_equal(ids, best_classes(expected, case.k))
        np.testing.assert_allclose(best, np.take_along_axis(expected, ids, axis=1), atol=1e-12)
    np.testing.assert_allclose(weights.as_nodes().nodes.toarray(), vectors, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dag", [False, True])
def test_some_classes_score_as_they_do_among_all(dag: bool) -> None:
    case = Case(6, dag)
    some = np.arange(len(case.class_nodes))[::2]
    dense = NodeVectors(np.ascontiguousarray(case.nodes.T), case.tie.paths, case.intercept)
    for weights in (case.weights, dense):
        for X in (case.X, sp.csr_array(case.X)):
            np.testing.assert_array_equal(weights.unit_scores(X, some), case.scores[:, some])


@pytest.mark.parametrize("dag", [False, True])
def test_other_intercepts_are_those_of_new_vectors(dag: bool) -> None:
    case = Case(8, dag)
    X = sp.csr_array(case.X)
    case.weights.top_k(X, 1, beam=1)  # what is cached must not be taken over where it depends on intercepts
    intercept = case.intercept[::-1] - 3.0
    other, new = (
        case.weights.with_intercept(intercept),
        NodeVectors(case.weights.nodes, case.tie.paths, intercept),
    )
    for options in ({}, {"beam": 1}, {"beam": 3}):
        for found, expected in zip(
            other.top_k(X, case.k, **options), new.top_k(X, case.k, **options), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(other.scores(X), new.scores(X))


def press_and_wait(shared: Any, task: Any, clock: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    while not clock.stop[0]:
        time.sleep(0.005)


def test_ctrl_c_ends_a_long_prediction() -> None:
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ThreadEngine(2) as engine, pytest.raises(KeyboardInterrupt):
            walking.run_all(engine, press_and_wait, None, [1])
    finally:
        signal.signal(signal.SIGINT, old)


@pytest.mark.parametrize("options", [{}, {"beam": 2}])
def test_an_ended_search_gives_no_answer(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(walking.Clock):
        def __init__(self) -> None:
            super().__init__()
            self.stop[0] = 1

    monkeypatch.setattr(walking, "Clock", Stopped)
    case = Case(9, dag=False)
    with pytest.raises(KeyboardInterrupt):
        case.weights.top_k(sp.csr_array(case.X), 1, n_threads=2, **options)


@pytest.mark.parametrize("beam", [0, -1, 1.5, True, "3"])
def test_a_beam_that_is_no_number_of_nodes_is_refused(beam: Any) -> None:
    case = Case(0, dag=False)
    with pytest.raises(DataError, match="beam must be a whole number from 1 on"):
        case.weights.top_k(case.X, 1, beam=beam)


def test_flat_weights_cannot_be_searched() -> None:
    with pytest.raises(DataError, match="this model has one vector per class; leave beam out"):
        ClassVectors(np.eye(2), np.zeros(2)).top_k(np.eye(2), 1, beam=2)
    with pytest.raises(DataError, match="this model has none; leave beam out"):
        NodeVectors(np.eye(2), sp.csr_array(np.eye(2)), np.zeros(2)).top_k(np.eye(2), 1, beam=2)


def test_scores_that_are_not_numbers_come_last() -> None:
    nodes = np.zeros((3, FEATURES))
    nodes[1, 0], nodes[2, 0] = np.inf, -1.0
    paths = sp.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    X = sp.csr_array(np.eye(1, FEATURES))
    X.data[:] = np.nan
    ids, _ = NodeVectors(sp.csr_array(nodes), paths, np.zeros(2)).top_k(X, 2)
    assert sorted(ids[0].tolist()) == [0, 1]


@pytest.mark.parametrize("index", [FEATURES, 10**6, -1])
def test_an_index_out_of_range_is_found_when_it_is_used(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(7, dag=False)
    header, arrays = pack_vectors(case.weights)
    arrays = {name: array.copy() for name, array in arrays.items()}
    arrays["weights/indices"][-1] = index
    monkeypatch.setattr("taxolearn.storage.packing.WALK_FROM", 0)
    monkeypatch.setattr("taxolearn.vectors.node_vectors.WALK_FROM", 0)
    with pytest.raises(ModelError, match="out of range"):
        unpack_vectors(header, arrays)
    weights = unpack_vectors(header, arrays, full=False)
    monkeypatch.setattr(beam_module, "_TRANSPOSING_COST", 1e9)
    X = sp.csr_array(np.ones((9, FEATURES)))
    for act in (
        lambda: weights.scores(X),
        lambda: weights.top_k(X, 1),
        lambda: weights.top_k(X, 1, beam=100),
        lambda: weights.scores(X.toarray()),
        lambda: weights.coef,
    ):
        with pytest.raises(ModelError, match="out of range; the model is damaged"):
            act()
