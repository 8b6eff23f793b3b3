"""Seconds per metric on a million rows: one label per row, and about three, on trees and DAGs of 2,000 nodes.

    python benchmarks/bench_metrics.py [rows]

Half of the predicted labels are right, the others random. Times include reading the labels: arrays of
names for one label per row, sparse indicators for several. Exits with an error above 20 s for any.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp

from taxolearn import Taxonomy, metrics

LIMIT = 20.0
N_NODES = 2000
K = 5
RNG = np.random.default_rng(0)


def hierarchy(*, dag: bool) -> Taxonomy:
    """About ten children a node; in the DAG a fifth of the nodes have a second parent."""
    parent = (np.arange(1, N_NODES) - 1) // 10
    edges = {(int(p), c) for c, p in enumerate(parent, start=1)}
    if dag:
        children = RNG.choice(np.arange(20, N_NODES), N_NODES // 5, replace=False)
        edges |= {(int(RNG.integers(0, c // 2)), int(c)) for c in children}
    return Taxonomy.from_edges([(f"n{p}", f"n{c}") for p, c in sorted(edges)])


def half_right(true: np.ndarray, choices: np.ndarray) -> np.ndarray:
    return np.where(RNG.random(len(true)) < 0.5, true, RNG.choice(choices, len(true)))


def single(taxonomy: Taxonomy, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    names = np.array(taxonomy.nodes)
    true = RNG.choice(taxonomy.leaf_ids, n_rows)
    return names[true], names[half_right(true, np.arange(N_NODES))]


def several(taxonomy: Taxonomy, n_rows: int) -> tuple[sp.csr_array, sp.csr_array]:
    sizes = RNG.integers(1, 6, n_rows)
    rows = np.repeat(np.arange(n_rows), sizes)
    true = RNG.choice(np.arange(1, N_NODES), len(rows))
    return tuple(
        (sp.csr_array((np.ones(len(rows)), (rows, ids)), shape=(n_rows, N_NODES)) > 0).astype(np.int8)
        for ids in (true, half_right(true, np.arange(N_NODES)))
    )


def scores(true: sp.csr_array) -> sp.csr_array:
    """Ten scored classes a row, some of them the true ones."""
    n_rows = true.shape[0]
    rows = np.repeat(np.arange(n_rows), 10)
    ids = RNG.integers(0, N_NODES, len(rows))
    matrix = sp.csr_array((RNG.random(len(rows)), (rows, ids)), shape=true.shape)
    return matrix + true * 0.5


def timed(case: str, calls: dict[str, Callable[[], float]]) -> dict[str, float]:
    seconds = {}
    for name, call in calls.items():
        start = time.perf_counter()
        value = call()
        seconds[f"{name} ({case})"] = time.perf_counter() - start
        print(f"{case:24} {name:34} {value:8.4f} {seconds[f'{name} ({case})']:8.2f} s", flush=True)
    return seconds


def main() -> int:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{n_rows:,} rows, {N_NODES:,} nodes\n{'case':24} {'metric':34} {'value':>8} {'time':>8}")
    of_sets = [name for name in metrics.__all__ if not name.endswith("_k") and name != "propensities"]
    seconds: dict[str, float] = {}
    for dag in (False, True):
        taxonomy = hierarchy(dag=dag)
        kind = "DAG" if dag else "tree"
        for case, make in (("one label", single), ("about three labels", several)):
            y = make(taxonomy, n_rows)
            calls = {name: partial(getattr(metrics, name), *y, taxonomy) for name in of_sets}
            seconds |= timed(f"{kind}, {case}", calls)
    true = y[0]
    ranked = true, scores(true), taxonomy
    p = metrics.propensities(true, taxonomy)
    calls = {
        "propensities": lambda: len(metrics.propensities(true, taxonomy)),
        "precision_at_k": partial(metrics.precision_at_k, *ranked, k=K),
        "ndcg_at_k": partial(metrics.ndcg_at_k, *ranked, k=K),
        "propensity_scored_precision_at_k": partial(
            metrics.propensity_scored_precision_at_k, *ranked, k=K, propensities=p
        ),
    }
    seconds |= timed("sparse scores", calls)
    names = np.array(taxonomy.nodes)[
        RNG.integers(0, N_NODES // K, (n_rows, K)) + np.arange(K) * (N_NODES // K)
    ]
    calls = {
        "precision_at_k": partial(metrics.precision_at_k, true, names, taxonomy, k=K),
        "ndcg_at_k": partial(metrics.ndcg_at_k, true, names, taxonomy, k=K),
    }
    seconds |= timed("ranked names", calls)
    slowest = max(seconds, key=seconds.__getitem__)
    print(f"slowest metric: {slowest} {seconds[slowest]:.2f} s")
    return int(seconds[slowest] > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
