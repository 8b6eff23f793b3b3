"""Test accuracy at the default tol of each method beside that at a tenth of it: the default must be tight enough.

    python benchmarks/check_default_tol.py FOLDER_OF_DATA [METHOD ...] [METHOD=TOL ...]

Eight sets: clef, trec_question, 20 newsgroups with 3 and with 50 rows a class, LSHTC's dry run (task 2), rows like
embeddings, digits and wine; five seeds draw at most 1,500 rows to learn from, and order visits. All other parameters
are defaults, but for a C of 10 on texts and embeddings, where 1 underfits. Where methods are named only these
are fitted; with METHOD=TOL another tol stands for the default. Accuracies are means over the seeds. Last comes the
largest difference; the script fails where one is above 0.3 points.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from _data import load
from bench_dense_smooth import embeddings
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

import taxolearn
from taxolearn import Taxonomy

BAR, SEEDS, MOST_ROWS = 0.3, 5, 1500
METHODS = {
    "RecursiveSVM": {},
    "RecursiveLogistic": {},
    "RecursiveLogistic, softmax": {"loss": "softmax"},
    "OneVsRestSVM": {},
    "OneVsRestLogistic": {},
    "MulticlassSVM": {},
    "HierarchicalSVM": {},
    "NormalizedHierarchicalSVM": {},
    "TopDownSVM": {},
}
Rows = tuple[Any, Any, Any, Any, Any]  # X and y to learn from, X and y to be tested on, taxonomy


def pairs(y: Any) -> Taxonomy:
    """Classes two by two, where there is no taxonomy."""
    names = sorted(set(y))
    return Taxonomy.from_edges(
        [("all", f"pair {k // 2}") for k in range(0, len(names), 2)]
        + [(f"pair {k // 2}", name) for k, name in enumerate(names)]
    )


def halves(X: Any, y: Any) -> Rows:
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[::2], order[1::2]
    X = StandardScaler().fit_transform(X)
    y = np.array([f"class {label}" for label in y])
    return X[train], y[train], X[test], y[test], pairs(y)


def sets(folder: str) -> dict[str, tuple[Rows, int, float]]:
    """Rows, how many a class at most to learn from, and C."""
    news = load(folder, "20news_bydate")
    X, y, tree = embeddings(6000, 371, 306)
    made = (X[:3000], y[:3000], X[3000:], y[3000:], tree)
    return {
        "wine": (halves(*load_wine(return_X_y=True)), MOST_ROWS, 1.0),
        "digits": (halves(*load_digits(return_X_y=True)), MOST_ROWS, 1.0),
        "20news, 3 a class": (news, 3, 10.0),
        "20news, 50 a class": (news, 50, 10.0),
        "trec_question": (load(folder, "trec_question"), MOST_ROWS, 10.0),
        "clef": (load(folder, "clef"), MOST_ROWS, 1.0),
        "embeddings": (made, MOST_ROWS, 10.0),
        "lshtc1_dryrun": (load(folder, "lshtc1_dryrun"), MOST_ROWS, 10.0),
    }


def drawn(y: Any, a_class: int, seed: int) -> Any:
    """Rows to learn from: so many a class, and not too many in all."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    number = np.zeros(len(y), dtype=int)
    seen: dict[Any, int] = {}
    for i in order:
        number[i] = seen.get(y[i], 0)
        seen[y[i]] = number[i] + 1
    return np.sort(order[number[order] < a_class][:MOST_ROWS])


def accuracy(name: str, given: dict[str, Any], data: Rows, a_class: int, seed: int) -> float:
    X, y, X_test, y_test, taxonomy = data
    rows = drawn(y, a_class, seed)
    model = getattr(taxolearn, name.split(",")[0])(random_state=seed, **given)
    model.set_params(taxonomy=taxonomy)
    return 100.0 * float(np.mean(model.fit(X[rows], y[rows]).predict(X_test) == y_test))


def main(folder: str, other: dict[str, float | None]) -> int:
    warnings.simplefilter("ignore")
    worst = (0.0, "")
    for name, (data, a_class, C) in sets(folder).items():
        for method, given in METHODS.items():
            kind = method.split(",")[0]
            if other and kind not in other:
                continue
            tol = other.get(kind) or getattr(taxolearn, kind)().tol
            means, seconds = [], []
            for one in (tol, tol / 10):
                began = time.process_time()
                found = [
                    accuracy(method, {"C": C, "tol": one, **given}, data, a_class, seed)
                    for seed in range(SEEDS)
                ]
                means.append(float(np.mean(found)))
                seconds.append(time.process_time() - began)
            difference = abs(means[1] - means[0])
            worst = max(worst, (difference, f"{method} on {name}"))
            print(
                f"{name:19} {method:26} tol {tol:g}: {means[0]:6.2f}, {seconds[0]:6.1f} s | a tenth: {means[1]:6.2f}, "
                f"{seconds[1]:6.1f} s | {means[1] - means[0]:+.2f}{' ABOVE' if difference > BAR else ''}",
                flush=True,
            )
    print(f"largest difference: {worst[0]:.2f} points, {worst[1]} (bar {BAR})")
    return int(worst[0] > BAR)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    named = [one.partition("=") for one in sys.argv[2:]]
    sys.exit(main(sys.argv[1], {name: float(tol) if tol else None for name, _, tol in named}))
