"""`TaxonomyClassifier()` beside flat LinearSVC and LogisticRegression, HiClass and omikuji, one label per row.

    python benchmarks/table_starter.py FOLDER_OF_DATA CACHE [--cells clef:0 trec_question:3] [--peers PYTHON]
        [--methods LinearSVC omikuji]

A cell is a set and the most training rows per class (0: all). All are learned from the same rows; the C of the flat
ones is the best on a fifth of them, refitted on all. HiClass (logistic regression at each parent, C = 10) and omikuji
(defaults) run in the interpreter of --peers; without it they are left out. LogisticRegression keeps twenty copies of
its coefficients, and is left out where these are more than MOST_COEFFICIENTS. Large cells (entries of X times classes
above LARGE) have three values of C instead of five, for every flat peer. Answers are kept in the folder CACHE, a file
per cell and method, so that cells can be run one by one; --methods names those that may be run now. A table of all
cells asked for is printed from what is there; a cell without our own answers is not counted.

p is McNemar's test for accuracy, and a paired test of the tree loss by rows (normal, two-sided). Bars: accuracy in no
cell below the best peer with p < .01; tree loss below that of the best peer with p < .05 in at least half of the cells.
Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _few_rows import ROWS_PER_CLASS, SETS, cell
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from taxolearn import Taxonomy, TaxonomyClassifier

C_VALUES = (0.01, 0.1, 1.0, 10.0, 100.0)
C_VALUES_OF_LARGE = (0.1, 1.0, 10.0)
LARGE = 10**8  # entries of X times classes
MOST_COEFFICIENTS = 30 * 10**6  # of LogisticRegression
OURS = "TaxonomyClassifier"


def starter(X: Any, y: Any, X_test: Any, taxonomy: Any) -> Any:
    model = TaxonomyClassifier(taxonomy, random_state=0).fit(X, y)
    best = model.trials_.best if model.trials_.trials else None
    chosen = "flat, nothing held out" if best is None else f"{best.title} C={best.C:g} by {best.decision}"
    print(f"    chose {chosen}", file=sys.stderr, flush=True)
    return model.predict(X_test)


def flat(make: Callable[[float], Any]) -> Callable[..., Any]:
    """A flat estimator with its C chosen on a fifth of the rows; every class keeps a row to learn from."""

    def fit(X: Any, y: Any, X_test: Any, taxonomy: Any) -> Any:
        order = np.random.default_rng(1).permutation(len(y))
        _, first = np.unique(y[order], return_index=True)
        held = np.setdiff1d(order, order[first], assume_unique=True)
        held = np.random.default_rng(2).permutation(held)[: max(1, len(y) // 5)]
        kept = np.setdiff1d(np.arange(len(y)), held)
        if len(held) == 0:
            return make(1.0).fit(X, y).predict(X_test)
        values = C_VALUES_OF_LARGE if _entries(X) * len(first) > LARGE else C_VALUES
        scores = [make(C).fit(X[kept], y[kept]).score(X[held], y[held]) for C in values]
        return make(values[int(np.argmax(scores))]).fit(X, y).predict(X_test)

    return fit


def _entries(X: Any) -> int:
    return int(X.nnz) if sparse.issparse(X) else int(X.size)


METHODS: dict[str, Callable[..., Any]] = {
    "LinearSVC": flat(lambda C: LinearSVC(C=C, random_state=0)),
    "LogisticRegression": flat(lambda C: LogisticRegression(C=C, max_iter=300)),
    OURS: starter,
}


def peer(python: str, name: str, X: Any, y: Any, X_test: Any, taxonomy: Any) -> tuple[Any, float]:
    """Answers and CPU seconds of a peer in its own interpreter."""
    paths = [[str(one) for one in taxonomy.path(label)] for label in y.tolist()]
    deepest = max(map(len, paths))
    levels = np.array([path + [""] * (deepest - len(path)) for path in paths])
    arrays: dict[str, Any] = {"levels": levels}
    for prefix, rows in (("train", sparse.csr_matrix(X)), ("test", sparse.csr_matrix(X_test))):
        arrays |= {f"{prefix}_{part}": getattr(rows, part) for part in ("data", "indices", "indptr")}
        arrays[f"{prefix}_shape"] = np.array(rows.shape)
    with tempfile.TemporaryDirectory() as folder:
        source, target = f"{folder}/in.npz", f"{folder}/out.npz"
        np.savez(source, **arrays)
        script = Path(__file__).with_name("_starter_peers.py")
        plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            [python, str(script), name, source, target],
            check=False,
            env=plain,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{name}: {done.stderr[-1000:]}")
        stored = np.load(target)
        return stored["answers"], float(stored["seconds"])


def answers_of(name: str, spec: str, cache: Path, data: Callable[[], Any], asked: Any) -> Any:
    """(predicted names, CPU seconds), from the cache if they are there; None for a peer that is not to be run."""
    file = cache / f"{spec.replace(':', '_')}-{name}.npz"
    python = asked.peers
    if not file.exists():
        if name not in asked.methods or (name not in METHODS and python is None):
            return None
        X, y, X_test, _, taxonomy = data()
        if name == "LogisticRegression" and X.shape[1] * len(np.unique(y)) > MOST_COEFFICIENTS:
            return None
        print(f"  {spec}: {name}", file=sys.stderr, flush=True)
        if name in METHODS:
            began = time.process_time()
            found = METHODS[name](X, y, X_test, taxonomy)
            seconds = time.process_time() - began
        else:
            found, seconds = peer(str(python), name, X, y, X_test, taxonomy)
        np.savez(file, answers=np.asarray(found).astype(str), seconds=seconds)
    stored = np.load(file)
    return stored["answers"], float(stored["seconds"])


def paired(one: Any, other: Any) -> float:
    """p of equal means of two paired columns."""
    difference = np.asarray(one, dtype=float) - other
    spread = difference.std() / np.sqrt(len(difference))
    return 1.0 if spread == 0 else float(2 * stats.norm.sf(abs(difference.mean()) / spread))


def mcnemar(right: Any, other: Any) -> float:
    a, b = int(np.sum(right & ~other)), int(np.sum(~right & other))
    return 1.0 if a + b == 0 else float(stats.binomtest(a, a + b).pvalue)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("cache", type=Path)
    parser.add_argument(
        "--cells", nargs="+", default=[f"{name}:{most}" for most in ROWS_PER_CLASS for name in SETS]
    )
    parser.add_argument("--peers", help="interpreter with hiclass and omikuji")
    everybody = (*METHODS, "hiclass", "omikuji")
    parser.add_argument("--methods", nargs="+", default=everybody, choices=everybody, help="that may be run")
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    compiled = (rng.random((30, 5)), sparse.random_array((30, 5), density=0.6, rng=rng, format="csr"))
    for rows in compiled if OURS in asked.methods else ():
        starter(rows, np.array(list("abc") * 10), rows, Taxonomy.from_paths(["a", "d/b", "d/c"]))  # compiles
    worse, better, cells = [], 0, 0
    print("| cell | rows | method | accuracy | tree loss | p accuracy | p tree loss | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for spec in asked.cells:
        name, _, most = spec.partition(":")
        loaded: list[Any] = []

        def data(name: str = name, most: str = most, loaded: list[Any] = loaded) -> Any:
            if not loaded:
                loaded.append(cell(asked.folder, name, int(most)))
            return loaded[0]

        _, y, _, truth, taxonomy = data()
        found = {method: answers_of(method, spec, asked.cache, data, asked) for method in everybody}
        found = {method: given for method, given in found.items() if given is not None}
        if OURS not in found or len(found) < 2:
            continue
        names = {str(node): node for node in taxonomy.nodes}
        true = taxonomy.ids_of(truth.tolist())
        right = {m: given[0] == truth.astype(str) for m, given in found.items()}
        loss = {
            m: taxonomy.distance(true, taxonomy.ids_of([names[one] for one in given[0].tolist()])) / 2.0
            for m, given in found.items()
        }
        peers = [method for method in found if method != OURS]
        strongest = max(peers, key=lambda m: right[m].mean())
        nearest = min(peers, key=lambda m: loss[m].mean())
        for method, (_, seconds) in found.items():
            tests = ""
            if method != OURS:
                tests = f"{mcnemar(right[OURS], right[method]):.3g} | {paired(loss[OURS], loss[method]):.3g}"
            print(
                f"| {spec} | {len(y):,} | {method} | {100 * right[method].mean():.1f} | {loss[method].mean():.3f} | "
                f"{tests or ' | '} | {seconds:.1f} |",
                flush=True,
            )
        cells += 1
        if right[OURS].mean() < right[strongest].mean() and mcnemar(right[OURS], right[strongest]) < 0.01:
            worse.append(f"{spec} (against {strongest})")
        if loss[OURS].mean() < loss[nearest].mean() and paired(loss[OURS], loss[nearest]) < 0.05:
            better += 1
    print(f"\naccuracy significantly below the best peer: {', '.join(worse) or 'in no cell'}")
    print(f"tree loss significantly below the best peer: {better} of {cells} cells")
    return 1 if worse or 2 * better < cells else 0


if __name__ == "__main__":
    sys.exit(main())
