"""The exact steps of a row on its node marginals, against a cone solver."""

from __future__ import annotations

import numpy as np
import pytest

from reference.sets_twin import all_sets, row_optimum
from taxolearn.kernels.closure_rows import closure_of, dag_step, new_flow, payers
from taxolearn.kernels.set_rows import best_value, new_room, tree_step
from taxolearn.losses import SetHinge
from taxolearn.solvers.set_space import kernel_space

TREES, DAGS = 60, 60


def random_parents(rng, n: int, most: int) -> list[list[int]]:
    counts = [min(k, int(rng.integers(1, most + 1))) for k in range(n)]
    return [sorted(rng.choice(k, size=counts[k], replace=False).tolist()) if k else [] for k in range(n)]


def space_of(parents: list[list[int]], must):
    n = len(parents)
    indptr = np.concatenate(([0], np.cumsum([len(some) for some in parents]))).astype(np.int32)
    flat = np.array([p for some in parents for p in some], dtype=np.int32)
    costs = np.concatenate(([0.0], np.ones(n - 1)))
    return kernel_space(
        SetHinge(np.arange(1, n, dtype=np.int32), indptr, flat, must, costs, costs), np.ones(n)
    )


def drawn(rng, n: int):
    """Slopes and curvatures, some of them equal or whole."""
    g = rng.normal(size=n) * rng.choice([0.3, 1.0, 3.0]) + rng.choice([-1.0, 0.0, 1.0])
    h = rng.uniform(0.1, 3.0, size=n)
    if rng.random() < 0.25:
        g, h = np.round(g), np.ones(n)
    return g, h


def gain(mu, g, h) -> float:
    return float(g[1:] @ mu[1:] - 0.5 * h[1:] @ mu[1:] ** 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_step_on_a_tree_is_the_optimum(seed):
    rng = np.random.default_rng(seed)
    for _ in range(TREES // 3):
        n = int(rng.integers(2, 20))
        parents = random_parents(rng, n, 1)
        must = rng.random(n) < rng.choice([0.0, 0.5, 1.0])
        must[0] = True
        g, h = drawn(rng, n)
        room = new_room(n)
        found, *_ = tree_step(space_of(parents, must).tree, n, g, h, room, np.empty(2), np.empty(2))
        mu = np.zeros(n)
        mu[room.queue[:found]] = room.mu[:found]
        assert mu[0] == 1.0
        for k in range(1, n):
            assert 0.0 <= mu[k] <= mu[parents[k][0]]
            below = [c for c in range(n) if parents[c] == [k]]
            assert not (must[k] and below) or mu[below].sum() >= mu[k] * (1 - 1e-14)
        expected = gain(row_optimum(parents, must, True, g, h), g, h)
        assert gain(mu, g, h) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_step_on_a_dag_is_the_optimum_and_closures_are_the_best_sets(seed):
    rng = np.random.default_rng(seed)
    for _ in range(DAGS // 3):
        n = int(rng.integers(2, 10))
        parents = random_parents(rng, n, 3)
        dag = space_of(parents, np.zeros(n, dtype=bool)).dag
        flow = new_flow(n, len(dag.parents))
        g, h = drawn(rng, n)
        count = payers(dag, flow, n, g, flow.nodes)
        mark, _, value = closure_of(dag, flow, flow.nodes, 0, count, g)
        sets = all_sets(parents, [False] * n, False)
        assert value == pytest.approx(max(sets[:, 1:] @ g[1:]), abs=1e-12)
        chosen = (flow.chosen == mark).astype(float)
        chosen[0] = 1.0
        assert chosen.tolist() in sets.tolist()
        found = dag_step(dag, flow, payers(dag, flow, n, g, flow.nodes), g, h)
        mu = np.zeros(n)
        mu[flow.nodes[:found]] = flow.mu[flow.nodes[:found]]
        mu[0] = 1.0
        assert all(0.0 <= mu[k] <= mu[p] for k in range(1, n) for p in parents[k])
        expected = gain(row_optimum(parents, [False] * n, False, g, h), g, h)
        assert gain(mu, g, h) == pytest.approx(expected, abs=1e-7)


def test_the_best_set_of_a_tree_is_that_of_the_list():
    rng = np.random.default_rng(5)
    for _ in range(60):
        n = int(rng.integers(2, 10))
        parents = random_parents(rng, n, 1)
        must = rng.random(n) < 0.5
        must[0] = True
        theta = np.round(rng.normal(size=n), int(rng.integers(3)))
        theta[0] = 0.0
        best = best_value(space_of(parents, must).tree, n, theta, new_room(n))
        assert best == pytest.approx(max(all_sets(parents, must, True) @ theta), abs=1e-12)
