"""Table 3 of Choi, Sasaki and Srebro, "Normalized Hierarchical SVM": accuracy on Synthetic(B) and Synthetic(U).

    python benchmarks/table_synthetic.py [--repeats 20] [--train 0.667] [--set Balanced | Unbalanced] [--processes 2]

Each repeat draws new data: the rows of Table 2, split two to one for training and test, and HELD_OUT more for the
choice among lambda = 1e2 ... 1e-8 (and, for HSVM, the cost, Hamming or 0/1; for NHSVM, node weights (7) or (6) with
rho = 2 and objective (10) or (13); for Shared SVM, the weights to start from). No intercept, as in the paper. The paper
names the Hamming distance as an example of a cost and does not say which one Table 3 used: HSVM with each of the
two has a line of its own. Nor does it give the split; docs/shared-svm.md says how this one was found, and what
comes out when a fifth of the training rows makes the choice. Exits with 1 when a bar is missed.

Two savings, the same for every method: fits end after MAX_ITER passes, each started from the last along lambda, and
a path ends after PATIENCE lambdas in a row that are no better than its best.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.stats import ttest_rel, wilcoxon

from taxolearn import HierarchicalSVM, MulticlassSVM, NormalizedHierarchicalSVM, SharedSVM
from taxolearn.datasets import make_synthetic_balanced, make_synthetic_unbalanced

LAMBDAS = [10.0**power for power in range(2, -9, -1)]
HELD_OUT = 7_000  # what the text's 15,000 rows of Balanced are above the 8,000 of Table 2
PATIENCE = 2
TOL, MAX_ITER = 1e-2, 30
SETS: dict[str, Any] = {
    "Balanced": (make_synthetic_balanced, 8_000),
    "Unbalanced": (make_synthetic_unbalanced, 10_000),
}
PUBLISHED = {
    "FlatSVM": {"Balanced": 60.0, "Unbalanced": 68.5},
    "HSVM Hamming": {"Balanced": 62.8, "Unbalanced": 68.4},
    "HSVM 0/1": {"Balanced": 62.8, "Unbalanced": 68.4},
    "HSVM": {"Balanced": 62.8, "Unbalanced": 68.4},
    "NHSVM": {"Balanced": 63.3, "Unbalanced": 74.1},
    "SSVM": {"Balanced": 63.4, "Unbalanced": 74.9},
}
# Data, better method, methods it must beat, points.
BARS = [
    ("Unbalanced", "NHSVM", ("FlatSVM", "HSVM"), 4.0),
    ("Balanced", "HSVM", ("FlatSVM",), 1.5),
    ("Balanced", "NHSVM", ("FlatSVM",), 1.5),
]


def candidates(method: str, taxonomy: Any) -> list[Any]:
    common: dict[str, Any] = {
        "tol": TOL,
        "max_iter": MAX_ITER,
        "fit_intercept": False,
        "n_jobs": 1,
        "random_state": 0,
    }
    if method == "FlatSVM":
        return [MulticlassSVM(taxonomy, **common)]
    if method == "HSVM Hamming":
        return [HierarchicalSVM(taxonomy, **common)]
    if method == "HSVM 0/1":
        return [HierarchicalSVM(taxonomy, cost="zero_one", **common)]
    if method == "NHSVM":
        return [
            NormalizedHierarchicalSVM(taxonomy, weights=weights, objective=objective, **common)
            for weights in ("maxmin", "rho")
            for objective in (10, 13)
        ]
    return [SharedSVM(taxonomy, first_weights=first, **common) for first in ("maxmin", "rho")]


def choose(method: str, taxonomy: Any, train: Any, held: Any, test: Any) -> tuple[float, float, str]:
    """Held-out and test accuracy of the choice, of equal ones the largest lambda, and what it is."""

    def accuracy(model: Any, rows: Any) -> float:
        return 100 * float(np.mean(model.predict(rows[0]) == rows[1]))

    best, chosen = (-1.0, 0.0), (np.nan, "")
    for candidate in candidates(method, taxonomy):
        top, worse = -1.0, 0
        for model in candidate.fit_path(*train, [1 / (2 * value) for value in LAMBDAS]):
            score = accuracy(model, held)
            if (score, -model.C) > best:
                best = (score, -model.C)
                chosen = (accuracy(model, test), describe(model))
            worse = 0 if score > top else worse + 1
            top = max(top, score)
            if worse == PATIENCE:
                break
    return (best[0], *chosen)


def describe(model: Any) -> str:
    parts = [f"lambda={1 / (2 * model.C):.0e}"]
    if isinstance(model, NormalizedHierarchicalSVM):
        parts.append(f"{model.weights} ({model.objective})")
    if isinstance(model, SharedSVM):
        parts.append(f"from {model.first_weights}")
    return " ".join([*parts, f" gap {model.certificate_.gap:.0e}"])


def repeat(task: tuple[str, int, float]) -> dict[str, float]:
    """Test accuracies of all methods on one draw of the data."""
    warnings.simplefilter("ignore")  # fits cut short say so; their gaps are printed
    name, seed, share = task
    make, n_rows = SETS[name]
    data = make(n_rows + HELD_OUT, random_state=seed)
    X, y = np.asarray(data.X), np.array(data.y)
    n_train = round(share * n_rows)
    train, test, held = (
        (X[part], y[part]) for part in (slice(n_train), slice(n_train, n_rows), slice(n_rows, None))
    )
    found, held_out = {}, {}
    for method in PUBLISHED:
        if method == "HSVM":  # both costs are fitted already: the one with the better held-out accuracy
            found[method] = found[max(("HSVM Hamming", "HSVM 0/1"), key=held_out.__getitem__)]
            continue
        began = time.process_time()
        held_out[method], found[method], choice = choose(method, data.taxonomy, train, held, test)
        print(
            f"{name:10} repeat {seed:2} {method:12} test {found[method]:.2f}  held out {held_out[method]:.2f}  "
            f"{choice}  {time.process_time() - began:.0f} s CPU",
            flush=True,
        )
    return found


def table(scores: dict[str, dict[str, Any]]) -> None:
    print("\naccuracy: mean and deviation over repeats, beside the published mean")
    for method in PUBLISHED:
        cells = [
            f"{name} {scores[name][method].mean():.1f} +- {scores[name][method].std(ddof=1):.2f}"
            f" (published {PUBLISHED[method][name]})"
            for name in scores
        ]
        print(f"{method:12} " + "   ".join(cells))
    print("\npaired differences: mean, its standard error, p of the t test and of Wilcoxon's")
    for name, by_method in scores.items():
        pairs = [
            ("HSVM Hamming", "FlatSVM"),
            ("HSVM 0/1", "FlatSVM"),
            ("HSVM", "FlatSVM"),
            ("NHSVM", "FlatSVM"),
            ("NHSVM", "HSVM"),
            ("SSVM", "NHSVM"),
        ]
        for better, other in pairs:
            difference = by_method[better] - by_method[other]
            error = difference.std(ddof=1) / np.sqrt(len(difference))
            print(
                f"{name:10} {better:12} - {other:8} {difference.mean():+.2f} +- {error:.2f}   "
                f"t {ttest_rel(by_method[better], by_method[other]).pvalue:.1e}   "
                f"Wilcoxon {wilcoxon(difference).pvalue:.1e}"
            )


def bars(scores: dict[str, dict[str, Any]]) -> bool:
    good = True
    print()
    for name, better, others, least in BARS:
        if name not in scores:
            continue
        mean = {method: values.mean() for method, values in scores[name].items()}
        margin = mean[better] - max(mean[other] for other in others)
        good &= bool(margin >= least)
        print(f"{name}: {better} above the best of {', '.join(others)} by {margin:.2f} points (bar {least})")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20, help="at least 2")
    parser.add_argument("--train", type=float, default=2 / 3, help="share of the rows to learn from")
    parser.add_argument("--set", choices=SETS, help="only this one")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    names = [name for name in SETS if arguments.set in (None, name)]
    tasks = [(name, seed, arguments.train) for seed in range(arguments.repeats) for name in names]
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
        rows = list(pool.map(repeat, tasks))
    scores: dict[str, dict[str, Any]] = {
        name: {
            method: np.array([row[method] for task, row in zip(tasks, rows, strict=True) if task[0] == name])
            for method in PUBLISHED
        }
        for name in names
    }
    table(scores)
    return 0 if bars(scores) else 1


if __name__ == "__main__":
    sys.exit(main())
