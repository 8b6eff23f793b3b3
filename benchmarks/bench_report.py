"""Time and size of reports: the demo model under 5 s and 3 MB, a generated one of 20,000 nodes under 30 s and 10 MB.

Usage: python benchmarks/bench_report.py [MODEL]

MODEL is a folder that `taxolearn demo` wrote (by default the one in the user's cache, made if it is missing).
Each report runs in a process of its own, as `taxolearn report` does: start, reading the model and the rows included.
The best of three counts for the demo, since the machine may be busy. Exits with 1 when a limit is missed.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from taxolearn import OneVsRestSVM, Taxonomy
from taxolearn.cli.demo import demo_folder
from taxolearn.datasets import load_icd10cm

_COMMAND = [sys.executable, "-m", "taxolearn.cli"]
_LIMITS = {"demo": (5.0, 3e6), "20,000 nodes": (30.0, 10e6)}
_LEVELS = (20, 25, 39)  # children per node: 1 + 20 + 500 + 19,500 nodes
_FEATURES, _TEST_ROWS = 30_000, 5_000


def _report(name: str, model: str, rows: str, runs: int) -> bool:
    """Whether the report keeps within its limits."""
    seconds, cpu = [], []
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "report.html")
        for _ in range(runs):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            started = time.perf_counter()
            command = [*_COMMAND, "report", model, rows, "-o", str(target)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - started)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        size = target.stat().st_size
    most_seconds, most_bytes = _LIMITS[name]
    kept = min(seconds) <= most_seconds and size <= most_bytes
    print(
        f"{name}: {min(seconds):.1f} s ({min(cpu):.1f} CPU s), limit {most_seconds:g} s; "
        f"{size / 1e6:.2f} MB, limit {most_bytes / 1e6:g} MB: {'OK' if kept else 'MISSED'}",
        flush=True,
    )
    return kept


def _demo_rows(path: Path) -> None:
    test = load_icd10cm().test
    with path.open("w") as stream:
        for text, label in zip(test.texts, test.y, strict=True):
            stream.write(json.dumps({"text": text, "label": label}) + "\n")


def _tree() -> Taxonomy:
    paths = [["all"]]
    edges = []
    for count in _LEVELS:
        below = [[*path, f"{path[-1]}.{child}"] for path in paths for child in range(count)]
        edges += [(path[-2], path[-1]) for path in below]
        paths = below
    return Taxonomy.from_edges(edges)


def _rows(tree: Taxonomy, classes: np.ndarray, seed: int) -> sp.csr_array:
    """Rows with words of their class and of what is above it, and some of all."""
    drawn = np.random.default_rng(seed)
    own = np.array([np.asarray(tree.ids_of(tree.path(tree.nodes[node])[1:])) for node in classes])
    words = np.concatenate((own % _FEATURES, drawn.integers(0, _FEATURES, (len(classes), 6))), axis=1)
    indptr = words.shape[1] * np.arange(len(classes) + 1)
    rows = sp.csr_array((np.ones(words.size), words.ravel(), indptr), shape=(len(classes), _FEATURES))
    rows.sum_duplicates()
    return rows


def _generated(folder: Path) -> tuple[str, str]:
    tree = _tree()
    leaves = np.asarray(tree.leaf_ids)
    print(f"generated: {tree!r}", flush=True)
    started = time.perf_counter()
    train = np.concatenate((leaves, leaves))
    model = OneVsRestSVM(tree, tol=0.1, n_jobs=-1, random_state=0)
    model.fit(_rows(tree, train, 0), [tree.nodes[node] for node in train])
    model.save(folder / "model")
    print(f"fitted on {len(train):,} rows in {time.perf_counter() - started:.0f} s", flush=True)
    test = np.random.default_rng(2).choice(leaves, _TEST_ROWS)
    rows = _rows(tree, test, 1)
    with (folder / "test.svm").open("w") as stream:
        for row, node in enumerate(test):
            mine = slice(rows.indptr[row], rows.indptr[row + 1])
            pairs = zip(rows.indices[mine], rows.data[mine], strict=True)
            stream.write(" ".join([str(tree.nodes[node]), *(f"{j + 1}:{v:g}" for j, v in pairs)]) + "\n")
    return str(folder / "model"), str(folder / "test.svm")


def main() -> int:
    """Print both figures last; return 0 when they are within the limits."""
    model = sys.argv[1] if len(sys.argv) > 1 else str(demo_folder())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [*_COMMAND, "demo", "--reuse", "--text", "fracture", "-o", model]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _demo_rows(folder / "demo.jsonl")
        large = _generated(folder)
        kept = [
            _report("demo", model, str(folder / "demo.jsonl"), 3),
            _report("20,000 nodes", *large, 1),
        ]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
