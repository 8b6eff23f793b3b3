"""A random tree of 50,000 named nodes: Taxonomy next to networkx, time and memory.

Run with `python benchmarks/bench_structure.py`; exits with 1 when the build takes more than 1 s or 5 MB.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import networkx
import numpy as np

from taxolearn.structure import Taxonomy

N_NODES = 50_000
MAX_SECONDS = 1.0
MAX_MEGABYTES = 5.0


def random_tree(n_nodes: int, seed: int = 0) -> list[tuple[str, str]]:
    """Edges of a tree in which every node picks its parent among the nodes before it."""
    picks = np.random.default_rng(seed).random(n_nodes - 1)
    return [(f"n{int(pick * (node + 1))}", f"n{node + 1}") for node, pick in enumerate(picks)]


def seconds(build: Callable[[], Any], repeats: int = 5) -> float:
    """The best wall time of a few builds, the first one as warm-up."""
    build()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        build()
        best = min(best, time.perf_counter() - start)
    return best


def megabytes(build: Callable[[], Any]) -> tuple[float, float]:
    """What the structure keeps and the most its build held, without the names, which were there before."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    kept = build()
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return (after - before) / 1e6, (peak - before) / 1e6


def main() -> int:
    """Print the comparison and the figure; return the exit status."""
    edges = random_tree(N_NODES)
    names = sum(map(sys.getsizeof, {name for edge in edges for name in edge})) / 1e6
    builds: dict[str, Callable[[], Any]] = {
        "taxolearn": lambda: Taxonomy.from_edges(edges),
        "networkx": lambda: networkx.DiGraph(edges),
    }
    print(f"{N_NODES:,} nodes; the names take {names:.2f} MB, counted for both")
    print(f"{'':10} {'seconds':>8} {'MB':>8} {'peak MB':>8}")
    figures = {}
    for label, build in builds.items():
        kept, peak = megabytes(build)
        figures[label] = seconds(build), kept + names
        print(f"{label:10} {figures[label][0]:8.3f} {kept + names:8.2f} {peak + names:8.2f}")
    (ours, our_memory), (theirs, their_memory) = figures["taxolearn"], figures["networkx"]
    print(f"networkx / taxolearn: time {theirs / ours:.2f}, memory {their_memory / our_memory:.1f}")
    limits = f"(limits {MAX_SECONDS} s, {MAX_MEGABYTES} MB)"
    print(f"build of {N_NODES:,} nodes: {ours:.3f} s, {our_memory:.2f} MB {limits}")
    return int(ours > MAX_SECONDS or our_memory > MAX_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
