"""CLEF: the structured methods beside one-vs-rest, with micro-F1, macro-F1 and the tree-induced loss.

    python benchmarks/bench_clef_structured.py FOLDER_OF_DATA

C is chosen on a fifth of the training rows, by accuracy, among 1e-3 ... 10; each method is then fitted on all training
rows. HSVM must reach a micro-F1 of 79.0 (published 79.72); exits with 1 when it does not.

The grid was not the first: among 1 ... 1e3, with 30 passes, all structured methods took C = 1, the edge, with gaps of
.2 and more, and HSVM had 78.43 on the test rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from _data import load

from taxolearn import HierarchicalSVM, MulticlassSVM, NormalizedHierarchicalSVM, OneVsRestSVM, Taxonomy
from taxolearn.metrics import macro_f1, micro_f1, tree_loss

HOLDOUT = 0.2
BAR = 79.0


def methods(taxonomy: Taxonomy) -> dict[str, tuple[Any, list[float]]]:
    common: dict[str, Any] = {"tol": 1e-2, "n_jobs": 1, "random_state": 0}
    structured = {**common, "max_iter": 200}
    wide = [0.001, 0.01, 0.1, 1.0, 10.0]
    return {
        "one-vs-rest": (OneVsRestSVM(taxonomy, **common), wide),
        "flat (Crammer-Singer)": (MulticlassSVM(taxonomy, **structured), wide),
        "HSVM": (HierarchicalSVM(taxonomy, **structured), wide),
        "NHSVM (7), (10)": (NormalizedHierarchicalSVM(taxonomy, **structured), wide),
    }


def choose(model: Any, values: list[float], X: Any, y: Any, held: Any) -> float:
    """The C with the best accuracy on the held-out rows, of equal ones the smallest."""
    scores = {}
    for C in values:
        fitted = model.set_params(C=C).fit(X[~held], y[~held])
        scores[C] = float(np.mean(fitted.predict(X[held]) == y[held]))
    print("   " + "  ".join(f"C={C:g} {100 * score:.1f}" for C, score in scores.items()), flush=True)
    return max(values, key=lambda C: (scores[C], -C))


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")  # fits cut short say so; their gaps are printed
    X, y, X_test, y_test, taxonomy = load(sys.argv[1], "clef")
    held = np.random.default_rng(0).random(len(y)) < HOLDOUT
    lines, reached = [], 0.0
    for title, (model, values) in methods(taxonomy).items():
        print(title)
        began = time.process_time()
        C = choose(model, values, X, y, held)
        fitted = model.set_params(C=C).fit(X, y)
        predicted = fitted.predict(X_test)
        micro = 100 * micro_f1(y_test, predicted, taxonomy)
        lines.append(
            f"{title:22} {C:>7g}  {micro:8.2f}  {100 * macro_f1(y_test, predicted, taxonomy):8.2f}  "
            f"{tree_loss(y_test, predicted, taxonomy):9.3f}  {fitted.certificate_.gap:.0e}  "
            f"{time.process_time() - began:7.0f}"
        )
        if title == "HSVM":
            reached = micro
    print(f"\n{'method':22} {'C':>7}  micro-F1  macro-F1  tree loss  gap    s CPU")
    print("\n".join(lines))
    print(f"\nHSVM micro-F1 {reached:.2f} (bar {BAR}, published 79.72)")
    return 0 if reached >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
