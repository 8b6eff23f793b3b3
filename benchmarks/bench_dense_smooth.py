"""Softmax on dense rows: L-BFGS beside Newton steps and scikit-learn's LogisticRegression, CPU seconds on one thread.

    python benchmarks/bench_dense_smooth.py FOLDER_OF_DATA

CLEF (10,000 x 80, 63 classes) flat and over its tree, and made rows like embeddings (2,065 x 371, 306 classes), C from
0.1 to 100, no intercept. A fit ends when its certified objective is within 1e-4 of LogisticRegression's at its default
tol, or better; over a tree, where the objective is another one, at the same certified gap as the flat fit. Certificates
are part of the time. Last come the largest ratios to LogisticRegression; bars of 1.0 flat and 1.5 over a tree are
printed beside. It fails where L-BFGS takes longer than Newton steps in the median.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from _data import load
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from taxolearn import RecursiveLogistic, Taxonomy

FLAT_BAR, TREE_BAR = 1.0, 1.5


def embeddings(n: int, d: int, k: int) -> tuple[Any, Any, Taxonomy]:
    """Rows of length one around class centres, which lie around the centres of their families."""
    rng = np.random.default_rng(0)
    families = max(2, k // 10)
    centres = 0.7 * rng.normal(size=(families, d))[np.arange(k) % families] + 0.7 * rng.normal(size=(k, d))
    y = rng.integers(0, k, n)
    X = (centres[y] + 1.6 * rng.normal(size=(n, d))) / np.sqrt(1 + np.arange(d) / 8)
    edges = [("all", f"family {f}") for f in range(families)]
    edges += [(f"family {c % families}", f"class {c}") for c in range(k)]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.array([f"class {c}" for c in y]), Taxonomy.from_edges(edges)


def objective(model: LogisticRegression, X: Any, y: Any, C: float) -> float:
    scores = X @ model.coef_.T
    top = scores.max(axis=1)
    own = scores[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    losses = top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - own
    return float(0.5 * np.sum(model.coef_**2) + C * losses.sum())


def timed(taxonomy: Any, X: Any, y: Any, C: float, tol: float, solver: str) -> tuple[float, Any]:
    given = {"loss": "softmax", "C": C, "tol": tol, "solver": solver, "fit_intercept": False}
    model = RecursiveLogistic(taxonomy, max_iter=5000, **given)
    began = time.process_time()
    certificate = model.fit(X, y).certificate_
    return time.process_time() - began, certificate


def compare(name: str, X: Any, y: Any, tree: Taxonomy) -> list[tuple[float, float, float]]:
    """Ratios to LogisticRegression, flat and over the tree, and that of L-BFGS to Newton steps."""
    found = []
    for C in (0.1, 1.0, 10.0, 100.0):
        began = time.process_time()
        peer = LogisticRegression(C=C, fit_intercept=False, max_iter=1000).fit(X, y)
        theirs, value = time.process_time() - began, objective(peer, X, y, C)
        lower = timed(None, X, y, C, 1e-4, "lbfgs")[1].lower
        tol = max(1e-4, 1.0 - lower / (value * (1 + 1e-4)))  # the gap at which ours is as low as theirs
        seconds, proof = timed(None, X, y, C, tol, "lbfgs")
        over_tree, tree_proof = timed(tree, X, y, C, tol, "lbfgs")
        newton = timed(tree, X, y, C, tol, "newton")[0]
        print(
            f"{name:12} C={C:<5g} LogisticRegression {theirs:6.2f} s | flat {seconds:6.2f} s, "
            f"{seconds / theirs:5.2f} times, gap {proof.gap:.1e}, objective {proof.primal / value - 1:+.1e} | "
            f"tree {over_tree:6.2f} s, "
            f"{over_tree / theirs:5.2f} times, gap {tree_proof.gap:.1e} | Newton steps, tree {newton:6.2f} s",
            flush=True,
        )
        found.append((seconds / theirs, over_tree / theirs, over_tree / newton))
    return found


def main(folder: str) -> int:
    warnings.simplefilter("ignore")
    X, y, _, _, tree = load(folder, "clef")
    with threadpool_limits(1):
        ratios = compare("CLEF", np.asarray(X, dtype=np.float64), y, tree)
        ratios += compare("embeddings", *embeddings(2065, 371, 306))
    flat, over_tree, to_newton = (np.array(part) for part in zip(*ratios, strict=True))
    print(
        f"largest ratio to LogisticRegression: flat {flat.max():.2f} (bar {FLAT_BAR}), tree {over_tree.max():.2f} "
        f"(bar {TREE_BAR}); L-BFGS to Newton steps, median {np.median(to_newton):.2f}"
    )
    return int(np.median(to_newton) > 1.0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
