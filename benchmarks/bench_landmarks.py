"""`OneVsRestSVM` with a kernel by landmarks beside scikit-learn's Nystroem and LinearSVC: CPU seconds on one thread.

    python benchmarks/bench_landmarks.py FOLDER_OF_DATA

CLEF: 8,000 of its training rows to learn from, 2,000 to ask about, three splits; RBF with gamma="scale", C = 4, 500 and
1,000 landmarks. The peer is a pipeline of Nystroem and LinearSVC with the same gamma, number of rows, C and default
tol; ours is fitted to its default gap and certified, features included. Logistic regression on the rows as they are,
and `NormalizedHierarchicalSVM` with the same landmarks, are printed beside. Compilation is not counted.

Last come the largest ratio of CPU seconds and the largest loss of accuracy against the peer (mean over the splits); it
fails above 1.0 or half a point, or where a certificate does not hold.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from _few_rows import cell
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from taxolearn import NormalizedHierarchicalSVM, OneVsRestSVM

SPLITS, TRAIN, C = 3, 8000, 4.0
BAR, WORST_LOSS = 1.0, 0.005


def measured(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> tuple[float, float]:
    began = time.process_time()
    model.fit(X, y)
    return time.process_time() - began, float(np.mean(model.predict(X_test) == y_test))


def main(folder: str) -> int:
    warnings.simplefilter("ignore")
    X, y, _, _, tree = cell(folder, "clef", 0)
    y = np.asarray(y)
    gamma = 1.0 / (X.shape[1] * X.var())
    kernel = {"kernel": "rbf", "kernel_params": {"gamma": gamma}}
    ratios, losses, held = [], [], True
    OneVsRestSVM(**kernel, landmarks=20).fit(X[:100], y[:100])
    NormalizedHierarchicalSVM(tree, **kernel, landmarks=20, empty_classes="drop").fit(X[:100], y[:100])
    for landmarks in (500, 1000):
        models = {
            "Nystroem, LinearSVC": make_pipeline(
                Nystroem(gamma=gamma, n_components=landmarks, random_state=0), LinearSVC(C=C)
            ),
            "OneVsRestSVM": OneVsRestSVM(tree, C=C, landmarks=landmarks, random_state=0, **kernel),
            "NHSVM": NormalizedHierarchicalSVM(
                tree, C=C, landmarks=landmarks, random_state=0, empty_classes="drop", **kernel
            ),
            "LogisticRegression": LogisticRegression(max_iter=300),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
        for split in range(SPLITS):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[:TRAIN], order[TRAIN:]
            for name, model in models.items():
                with threadpool_limits(1):
                    found[name].append(measured(model, X[train], y[train], X[test], y[test]))
                certificate = getattr(model, "certificate_", None)
                held &= certificate is None or bool(certificate.holds(model.tol))
        for name, pairs in found.items():
            seconds, accuracy = np.mean(pairs, axis=0)
            print(
                f"{landmarks:5} landmarks  {name:20} {seconds:7.2f} CPU s  {100 * accuracy:.1f}%", flush=True
            )
        (theirs, right), (ours, also) = (
            np.mean(found[name], axis=0) for name in ("Nystroem, LinearSVC", "OneVsRestSVM")
        )
        ratios.append(ours / theirs)
        losses.append(right - also)
    print(
        f"largest ratio of CPU {max(ratios):.2f} (bar {BAR}), largest loss of accuracy {100 * max(losses):.2f} points "
        f"(bar {100 * WORST_LOSS:g}); certificates {'hold' if held else 'DO NOT HOLD'}"
    )
    return int(max(ratios) > BAR or max(losses) > WORST_LOSS or not held)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
