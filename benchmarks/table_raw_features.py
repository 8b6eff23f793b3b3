"""Training accuracy and certified gap on raw features at default parameters, beside scikit-learn's.

    python benchmarks/table_raw_features.py

Wine and breast cancer as scikit-learn has them, a table of integers of very different ranges, iris with a timestamp,
and iris with 1e9 added to a column. Every method of one label per row is at its defaults, over a tree of two levels
where it takes one; its counterpart is LinearSVC, LogisticRegression or RidgeClassifier, whichever has its kind of
loss, at its defaults, on the raw features too. The columns "scaled" are the same on standardised features, where C = 1
weighs the columns otherwise: another objective, with another optimum. The script exits with 1 if a method is more than
one point below its counterpart, or not certified to its tol.
"""

from __future__ import annotations

import sys
import time
import warnings
from inspect import signature
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from taxolearn import Taxonomy
from taxolearn.registry import METHODS, Method

POINT = 0.01
HEAD = (
    "data",
    "method",
    "loss",
    "accuracy",
    "scikit-learn",
    "scaled",
    "scikit-learn scaled",
    "gap",
    "seconds",
)


def integers(n: int = 600) -> tuple[Any, Any]:
    """Counts, measurements, a pay and a number of cells."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    columns = (
        rng.poisson(2 + 2 * y),
        rng.normal(110 + 20 * y, 25),
        rng.normal(70, 12, n),
        rng.poisson(40 + 30 * y) * rng.integers(1, 6, n),
        rng.integers(10_000, 90_000, n) + 9_000 * y,
        rng.normal(4e6 + 1e6 * y, 1e6),
    )
    return np.rint(np.stack(columns, axis=1)).clip(0), y


def sets() -> dict[str, tuple[Any, Any]]:
    X, y = load_iris(return_X_y=True)
    seconds = np.random.default_rng(0).integers(0, 3 * 10**7, len(X))
    return {
        "wine": load_wine(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "integers": integers(),
        "iris, timestamp": (np.column_stack([X, 1.7e9 + seconds]), y),
        "iris, offset 1e9": (X + np.array([0.0, 0.0, 1e9, 0.0]), y),
    }


def made(method: Method, loss: str | None, n_classes: int) -> Any:
    edges = [("all", 0), ("all", 1)]
    if n_classes == 3:
        edges = [("all", 0), ("all", "both"), ("both", 1), ("both", 2)]
    options: dict[str, Any] = {} if loss is None else {"loss": loss}
    if "taxonomy" in signature(method.kind).parameters:
        options["taxonomy"] = Taxonomy.from_edges(edges)
    return method.kind(**options, random_state=0)


def peer_of(name: str) -> str:
    """The counterpart with the same kind of loss."""
    if "ridge" in name:
        return "ridge"
    return "logistic" if "logistic" in name or "softmax" in name else "svm"


def main() -> int:
    """Print the table; the number of methods that fall short, at most 1."""
    warnings.simplefilter("ignore")
    short = 0
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    for name, (X, y) in sets().items():
        Z = StandardScaler().fit_transform(X)
        peers = {
            kind: [made_peer().fit(rows, y).score(rows, y) for rows in (X, Z)]
            for kind, made_peer in (
                ("svm", lambda: LinearSVC(random_state=0)),
                ("logistic", LogisticRegression),
                ("ridge", RidgeClassifier),
            )
        }
        for method in METHODS:
            for loss in method.losses or (None,):
                raw, scaled = peers[peer_of(f"{method.name} {loss}")]
                first = time.perf_counter()
                model = made(method, loss, len(np.unique(y))).fit(X, y)
                taken = time.perf_counter() - first
                right = model.score(X, y)
                own_scaled = made(method, loss, len(np.unique(y))).fit(Z, y).score(Z, y)
                lost = right < raw - POINT or not model.certificate_.holds(model.tol)
                short += lost
                shares = " | ".join(f"{100 * share:.1f}" for share in (right, raw, own_scaled, scaled))
                mark = " (!)" if lost else ""
                print(
                    f"| {name} | {method.class_name} | {loss or ''} | {shares} | {model.certificate_.gap:.1e}{mark} "
                    f"| {taken:.2f} |",
                    flush=True,
                )
    print(f"\n{short} below")
    return int(short > 0)


if __name__ == "__main__":
    sys.exit(main())
