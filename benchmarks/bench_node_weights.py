"""Node weights at the shape of the Wikipedia set, 50,312 nodes and 36,504 leaves: a tree in closed form, a DAG by (8).

Run with `python benchmarks/bench_node_weights.py`; exits with 1 when a tree takes 0.1 s or more, or (8) on the DAG
60 s or more.
Times are CPU times of one process, the best of a few on the tree and the only one on the DAG.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from taxolearn.datasets import SHAPES, random_taxonomy
from taxolearn.scales import node_weights, shared_scales

MAX_TREE_SECONDS = 0.1
MAX_DAG_SECONDS = 60.0
TREE_RULES: dict[str, dict[str, Any]] = {
    "(6), rho = 2": {"rule": "rho"},
    "(6), rho = 1.5": {"rule": "rho", "rho": 1.5},
    "(6), directional": {"rule": "rho", "directional": True},
    "(7)": {"rule": "maxmin"},
    "(6), merged": {"rule": "rho", "duplicates": "merge"},
}
DAG_RULES: dict[str, dict[str, Any]] = {
    "(7)": {"rule": "maxmin"},
    "(6), rho = 2": {"rule": "rho"},
    "(8), T = 1.5, directional": {"rule": "rho", "T": 1.5, "directional": True},
    "(8), T = 1.5": {"rule": "rho", "T": 1.5},
}


def cpu_seconds(function: Any, *args: Any, repeats: int = 1, **options: Any) -> tuple[float, Any]:
    """The best CPU time of a few calls, and the result."""
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.process_time()
        result = function(*args, **options)
        best = min(best, time.process_time() - start)
    return best, result


def main() -> int:
    """Print all times and the two figures; return the exit status."""
    shape = SHAPES["wiki_456k"]
    tree, dag = (
        random_taxonomy(shape.n_nodes, shape.n_leaves, shape.depth, dag=dag, random_state=0)
        for dag in (False, True)
    )
    print(tree)
    norms = np.random.default_rng(0).lognormal(size=shape.n_nodes)
    on_tree = {}
    for label, options in TREE_RULES.items():
        on_tree[label], _ = cpu_seconds(node_weights, tree, repeats=5, **options)
    on_tree["shared weights (20)"], _ = cpu_seconds(shared_scales, tree, norms, repeats=5)
    for label, seconds in on_tree.items():
        print(f"  {label:26} {seconds:8.4f} s")
    print(dag)
    paths = dag.ancestor_matrix(dag.leaf_ids)
    for label, options in DAG_RULES.items():
        on_dag, weights = cpu_seconds(node_weights, dag, **options)
        sums = paths @ weights
        print(f"  {label:26} {on_dag:8.2f} s; sums along paths {sums.min():.8f} to {sums.max():.8f}")
    slowest = max(on_tree.values())
    print(f"tree: {slowest:.4f} s for the slowest rule (limit {MAX_TREE_SECONDS} s)")
    print(f"DAG: {on_dag:.2f} s for (8) with T = 1.5 (limit {MAX_DAG_SECONDS} s)")
    return int(slowest >= MAX_TREE_SECONDS or on_dag >= MAX_DAG_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
