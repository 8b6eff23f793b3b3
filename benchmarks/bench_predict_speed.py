"""CPU time and memory of the 5 best classes under a tree of more than 10,000 leaves, exact and by beam search.

    python benchmarks/bench_predict_speed.py [n_rows]

A generated model (weights made of random duals of text-like rows, so that vectors have the sizes and the overlaps of
fitted ones) is stored, and each way of scoring runs on one thread in a process of its own that maps it:

- scipy: node vectors turned to feature-major once, rows times them, then sums along the paths, in blocks of rows;
- walk: what `top_k` does with large sparse node vectors;
- beam 10, 20, 40: `top_k(..., beam=10)` and so on.

Weights of the classes as one matrix (classes x features) are measured on a sample of classes only: all of them would
not fit. Memory is the growth of the process's own pages (RssAnon; pages of the mapped file belong to the system). A
smaller model is fitted, to tell how often a beam finds the exact answer of weights that were learned, and what is lost
in accuracy on rows that were not.

Bars: walk takes at most the CPU time of scipy (turning included on both sides) and at most 400 MB; a beam of 20 is
quicker than walk, for all rows and for a single one, and finds the best class of at least 95% of the rows, on both
models.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.datasets import make_text_like
from taxolearn.losses import SquaredHinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, solve_tree_sweeps
from taxolearn.storage import pack_vectors, read_model, unpack_vectors, write_model
from taxolearn.ties import path_sum
from taxolearn.vectors import DualVectors
from taxolearn.vectors.scoring import _best_columns

K, BEAMS, SAMPLE = 5, (10, 20, 40), 50
BAR = 20  # the beam that the bar is about
MEGABYTES, RECALL = 400.0, 0.95


def made_model() -> tuple[Any, DualVectors]:
    """Rows, and weights whose duals are 1 at the rows of a class and -0.1 at 60 rows drawn for it."""
    data = make_text_like(
        60_000, 200_000, 10_500, 14_700, depth=6, mean_length=100.0, random_state=np.random.default_rng(0)
    )
    number = {name: place for place, name in enumerate(data.taxonomy.leaves)}
    n_rows, n_classes, drawn = data.X.shape[0], len(number), 60
    rng = np.random.default_rng(1)
    classes = np.concatenate(([number[name] for name in data.y], np.repeat(np.arange(n_classes), drawn)))
    rows = np.concatenate((np.arange(n_rows), rng.integers(0, n_rows, n_classes * drawn)))
    values = np.concatenate((np.ones(n_rows), np.full(n_classes * drawn, -0.1)))
    dual = sparse.csr_array((values, (classes, rows)), shape=(n_classes, n_rows))
    scale = np.ones(data.taxonomy.n_nodes)
    scale[0] = 0.0
    paths = path_sum(data.taxonomy, data.taxonomy.leaf_ids, scale).paths
    return data.X, DualVectors(data.X, dual, paths, scale, rng.normal(-1.0, 0.1, n_classes))


def fitted_model() -> tuple[Any, Any, Any]:
    """Held-out rows, their classes, and the node weights of a recursive SVM (squared hinge) on a smaller tree."""
    data = make_text_like(8_000, 20_000, 600, 900, depth=5, random_state=np.random.default_rng(2))
    taxonomy, half = data.taxonomy, 6_000
    problem = make_problem(data.X[:half], data.y[:half], taxonomy)
    scale = np.ones(taxonomy.n_nodes)
    scale[0] = 0.0
    tie = path_sum(taxonomy, problem.class_nodes, scale)
    solution = solve_tree_sweeps(Objective(problem, SquaredHinge(), tie), Limits(5e-2))
    targets = problem.targets.T.tocsr()
    signed = sparse.csr_array(2.0 * solution.dual.multiply(targets) - solution.dual)
    weights = DualVectors(problem.X, signed, tie.paths, scale, solution.vectors.intercept).as_nodes()
    number = {name: place for place, name in enumerate(problem.classes)}
    return data.X[half:], np.array([number.get(name, -1) for name in data.y[half:]]), weights


def by_scipy(weights: Any, X: Any) -> tuple[Any, Any]:
    by_feature = weights.nodes.T.tocsr()
    ids = np.empty((X.shape[0], K), dtype=np.int32)
    step = max(1, 64 * 2**20 // (weights.n_classes * weights.dtype.itemsize))
    for first in range(0, X.shape[0], step):
        scores = (weights.paths @ (X[first : first + step] @ by_feature).toarray().T).T + weights.intercept
        ids[first : first + step] = _best_columns(scores, K)
    return ids, None


def _best(weights: Any, X: Any, beam: int | None = None) -> tuple[Any, Any]:
    found: tuple[Any, Any] = weights.top_k(X, K, beam=beam)
    return found


WAYS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "scipy": by_scipy,
    "walk": _best,
} | {f"beam {beam}": partial(_best, beam=beam) for beam in BEAMS}


class Memory:
    """Watches the process's own pages until it is asked for their growth."""

    def __init__(self) -> None:
        self.start = self.most = self._now()
        self.done = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _now(self) -> int:
        status = Path("/proc/self/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0])

    def _watch(self) -> None:
        while not self.done.wait(0.02):
            self.most = max(self.most, self._now())

    def megabytes(self) -> float:
        self.done.set()
        return (self.most - self.start) / 1024


def run(folder: str, way: str, n_rows: int) -> dict[str, Any]:
    started = time.process_time()
    header, arrays = read_model(folder, verify=False)
    weights = unpack_vectors(header["weights"], arrays, full=False)
    opened = time.process_time() - started
    parts = (arrays["X/data"], arrays["X/indices"], arrays["X/indptr"])
    X = sparse.csr_array(parts, shape=(len(parts[2]) - 1, weights.n_features))[:n_rows]
    if way != "scipy":
        WAYS[way](weights, X[:2])  # compilation
    memory = Memory()
    started = time.process_time()
    ids, _ = WAYS[way](weights, X)
    seconds = time.process_time() - started
    megabytes = memory.megabytes()
    started = time.process_time()
    WAYS[way](weights, X[:1])
    one = time.process_time() - started
    return {"seconds": seconds, "one": one, "MB": megabytes, "opened": opened, "ids": ids.tolist()}


def by_class_matrix(weights: Any, X: Any) -> tuple[float, float]:
    """(CPU seconds, GB) of a matrix classes x features, extrapolated from a sample of the classes."""
    chosen = np.random.default_rng(0).choice(weights.n_classes, SAMPLE, replace=False)
    coef = sparse.csr_array(weights.paths[chosen] @ weights.nodes)
    by_feature = coef.T.tocsr()
    started = time.process_time()
    (X @ by_feature).toarray()
    share = weights.n_classes / SAMPLE
    return (time.process_time() - started) * share, coef.nnz * 8 * share / 2**30


def recall(found: Any, exact: Any) -> tuple[float, float]:
    """Share of rows whose best class was found, and of the exact K best that were found."""
    found, exact = np.asarray(found), np.asarray(exact)
    hits = (found[:, :, None] == exact[:, None, :]).any(axis=1).mean()
    return float((found[:, 0] == exact[:, 0]).mean()), float(hits)


def on_made_model(n_rows: int) -> dict[str, dict[str, Any]]:
    X, weights = made_model()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        header, arrays = pack_vectors(weights)
        X = X[:n_rows]
        arrays |= {"X/data": X.data, "X/indices": X.indices, "X/indptr": X.indptr}
        write_model(folder, {"weights": header}, arrays)
        stored = unpack_vectors(header, arrays)
        print(f"{stored}, {arrays['weights/indices'].nbytes / 2**29:.2f} GB; {n_rows} rows")
        for way in WAYS:
            command = [sys.executable, __file__, "--run", folder, way, str(n_rows)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            results[way] = found
            sizes = f"{found['seconds']:8.2f} CPU s, one row {found['one']:6.3f}, {found['MB']:5.0f} MB"
            sizes += f", opened in {found['opened']:.3f} CPU s"
            print(f"  {way:8s} {sizes}{told(found['ids'], results, way)}")
        seconds, gigabytes = by_class_matrix(stored, X[:256])
        seconds *= n_rows / 256
        print(
            f"  a matrix of all classes, extrapolated: {seconds:.1f} CPU s without making it, {gigabytes:.1f} GB"
        )
    return results


def told(ids: Any, results: dict[str, dict[str, Any]], way: str) -> str:
    if not way.startswith("beam"):
        return ""
    first, every = recall(ids, results["walk"]["ids"])
    results[way]["recall"] = first
    return f"; finds {first:.4f} of the best, {every:.4f} of the {K} best"


def on_fitted_model() -> float:
    X, y, weights = fitted_model()
    exact = weights.top_k(X, K)[0]
    print(f"fitted: {weights}; {X.shape[0]} rows, accuracy {np.mean(exact[:, 0] == y):.4f}")
    kept = 0.0
    for beam in BEAMS:
        ids = weights.top_k(X, K, beam=beam)[0]
        first, every = recall(ids, exact)
        accuracy = np.mean(ids[:, 0] == y)
        kept = first if beam == BAR else kept
        print(
            f"  beam {beam}: finds {first:.4f} of the best, {every:.4f} of the {K} best; accuracy {accuracy:.4f}"
        )
    return kept


def main(n_rows: int) -> int:
    large = on_made_model(n_rows)
    fitted = on_fitted_model()
    beam = large[f"beam {BAR}"]
    same, _ = recall(large["walk"]["ids"], large["scipy"]["ids"])
    ratio = large["walk"]["seconds"] / large["scipy"]["seconds"]
    faster = large["walk"]["seconds"] / beam["seconds"]
    one = large["walk"]["one"] / beam["one"]
    found = min(beam["recall"], fitted)
    print(f"walk and scipy agree on the best class of {same:.4f} of the rows")
    print(
        f"walk / scipy CPU {ratio:.2f} (limit 1.0), memory {large['walk']['MB']:.0f} MB (limit {MEGABYTES:.0f}; scipy "
        f"{large['scipy']['MB']:.0f}); beam {BAR} {faster:.2f} times faster than walk, for one row {one:.1f} "
        f"(at least 1), best class found {found:.3f} (at least {RECALL})"
    )
    good = ratio <= 1.0 and large["walk"]["MB"] <= MEGABYTES and same > 0.999
    return 0 if good and min(faster, one) >= 1.0 and found >= RECALL else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(run(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
        sys.exit(0)
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 8_192))
