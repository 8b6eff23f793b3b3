"""The experiment of Mroueh, Poggio and Rosasco in form: half of the classes cut to three rows, average precision.

    python benchmarks/table_taxonomy_matrices.py DATA [seeds] [set ...]

Real sets made imbalanced: in each seed half of the classes, drawn at random, keep three rows; the others keep theirs
(at most 100). Least squares with A = I, with A of the given taxonomy (0/1 ancestors, weights 1 and by the rule
"maxmin"), and with a learned A (at defaults, and with the structure learned from the vectors of the classifier). lambda
is chosen for each of them by average precision on the cut classes over held-out rows, a third of the test rows; the
other two thirds are scored. Differences from A = I are paired over the seeds, with a t-test.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import _data
import numpy as np
from scipy.stats import ttest_rel
from sklearn.metrics import average_precision_score
from sklearn.utils.extmath import randomized_svd

from taxolearn import TaxonomyLearningRidge, TaxonomyRidge

SETS = ("clef", "trec_question", "20news_bydate")
KEPT, MOST = 3, 100
LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1)
WIDTH = 300  # directions of texts: least squares by decomposition


def features(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Dense rows, standardised; texts in their leading directions. Rows have length one on average."""
    if hasattr(X, "toarray"):
        _, _, right = randomized_svd(X, WIDTH, random_state=0)
        return X @ right.T, X_test @ right.T
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1.0
    root = np.sqrt(X.shape[1])
    return (X - mean) / spread / root, (X_test - mean) / spread / root


def cut(y: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """The rows that are kept, and the classes that were cut."""
    names, counts = np.unique(y, return_counts=True)
    names = names[counts >= 2 * KEPT]
    small = rng.permutation(names)[: len(names) // 2]
    rows = []
    for name in names:
        own = rng.permutation(np.flatnonzero(y == name))
        rows.append(own[: KEPT if name in small else MOST])
    return np.concatenate(rows), small


def precision(model: Any, X: Any, y: Any, small: Any) -> float:
    """Mean average precision of the cut classes that have rows."""
    scores = model.decision_function(X)
    place = {name: k for k, name in enumerate(model.classes_.tolist())}
    own = [name for name in small if np.any(y == name)]
    return float(np.mean([average_precision_score(y == name, scores[:, place[name]]) for name in own]))


def methods(tree: Any, X: Any, y: Any) -> dict[str, Any]:
    """A method for each lambda. What is learned from the means of these rows is the same for every lambda."""

    def under(covariance: Any) -> Any:
        return lambda lam: TaxonomyRidge(covariance=covariance, lambda_=lam)

    learned = {
        f"learned, {name}": under(TaxonomyLearningRidge(structure=structure).fit(X, y).covariance_)
        for name, structure in (
            ("sparse graph", "sparse_graph"), ("spectral", "spectral"), ("lasso", "graphical_lasso")
        )
    }  # fmt: skip
    return {
        "identity": lambda lam: TaxonomyRidge(lambda_=lam),
        "given, weights 1": lambda lam: TaxonomyRidge(tree, lambda_=lam, root="free"),
        "given, maxmin": lambda lam: TaxonomyRidge(tree, lambda_=lam, weights="maxmin", root="free"),
        **learned,
        "sparse graph, of vectors": lambda lam: TaxonomyLearningRidge(
            lambda_=lam, learned_from="vectors", stationary=1e-2
        ),
    }


def main() -> int:
    warnings.simplefilter("ignore")
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    for name in sys.argv[3:] or SETS:
        X, y, X_test, y_test, tree = _data.load(sys.argv[1], name)
        X, X_test = features(X, X_test)
        found: dict[str, list[float]] = {}
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            rows, small = cut(y, rng)
            known = np.flatnonzero(np.isin(y_test, np.unique(y[rows])))
            held = rng.random(len(known)) < 1 / 3
            tuned, scored = known[held], known[~held]
            print(f"{name}, seed {seed}", file=sys.stderr, flush=True)
            for method, make in methods(tree, X[rows], y[rows]).items():
                best, model = -1.0, None
                for lam in LAMBDAS:
                    tried = make(lam).fit(X[rows], y[rows])
                    value = precision(tried, X_test[tuned], y_test[tuned], small)
                    best, model = (value, tried) if value > best else (best, model)
                found.setdefault(method, []).append(precision(model, X_test[scored], y_test[scored], small))
        base = np.array(found["identity"])
        print(
            f"{name}: {len(np.unique(y[rows]))} classes, {len(small)} of them with {KEPT} rows, {seeds} seeds"
        )
        for method, values in found.items():
            gain = np.array(values) - base
            test = (
                ""
                if method == "identity"
                else f", {gain.mean():+.4f}, p = {ttest_rel(values, base).pvalue:.3f}"
            )
            print(
                f"  {method:<26} average precision on the cut classes {np.mean(values):.4f}{test}", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
