"""Recovery: is a graph of classes found again from few rows, and does it help?

    python benchmarks/check_recovery.py [first seed]

Class centres are drawn with the covariance of a known graph (its Laplacian plus a ridge, inverted), and each class has
a few noisy rows around its centre. Compared on held-out rows: least squares with A = I, with the learned A, with the
true A, lambda being the same for all three; and how well learned weights rank true edges. All is learned at defaults.
Noise and rows per class were chosen on seeds 0 to 2, the defaults of the method on seeds 200 to 205; the 20 seeds from
400 on, which are run unless another first seed is given, were not looked at before.
Besides: areas with classes of 2 to 12 rows, with rows off the origin, with two rows per class, and with the structure
learned from the vectors of the classifier, as in the paper.
Exit code 1: the mean area under the ROC curve is below 0.9 for some lambda of the classifier, or under the largest the
learned matrix is not between identity and truth.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from taxolearn import TaxonomyLearningRidge, TaxonomyRidge

SEEDS = 20
N_CLASSES, WIDTH, ROWS, TEST_ROWS, NOISE = 24, 200, 4, 40, 3.0
STRENGTH, RIDGE = 4.0, 0.2
LAMBDAS = (0.1, 10.0, 1000.0)
STRUCTURES = ("sparse_graph", "spectral", "graphical_lasso")
LEAST_AREA = 0.9


def graph(rng: np.random.Generator) -> Any:
    """Families of four, 70 % of the pairs in each joined."""
    E = np.zeros((N_CLASSES, N_CLASSES))
    for i in range(N_CLASSES):
        for j in range(i):
            if i // 4 == j // 4 and rng.random() < 0.7:
                E[i, j] = E[j, i] = STRENGTH
    return E


def made(seed: int, rows: int | None = ROWS, shift: float = 0.0) -> tuple[Any, ...]:
    """Rows to learn from and held-out ones, the true A, and the graph; `rows` None: 2 to 12 for each class."""
    rng = np.random.default_rng(seed)
    E = graph(rng)
    A = np.linalg.inv(np.diag(E.sum(axis=1)) - E + RIDGE * np.eye(N_CLASSES))
    A /= np.mean(np.diag(A))
    centres = np.linalg.cholesky(A) @ rng.normal(size=(N_CLASSES, WIDTH))
    parts = []
    counts = rng.integers(2, 13, N_CLASSES) if rows is None else np.full(N_CLASSES, rows)
    for each in (counts, TEST_ROWS):
        y = np.repeat(np.arange(N_CLASSES), each)
        parts += [centres[y] + NOISE * rng.normal(size=(len(y), WIDTH)) + shift, y]
    return (*parts, A, E)


def area(model: Any, E: Any) -> float:
    """Under the ROC curve of the learned weights as a ranking of the true edges."""
    upper = np.triu_indices(N_CLASSES, 1)
    weights = -model.precision_
    if model.structure == "spectral":
        roots = np.sqrt(np.diag(model.covariance_))
        weights = model.covariance_ / np.outer(roots, roots)
    return float(roc_auc_score(E[upper] > 0, weights[upper]))


def recovered(seeds: range, lambda_: float) -> tuple[float, bool]:
    """The area of the sparse graph, and whether its accuracy is between that of I and that of the true A."""
    found: dict[str, list[list[float]]] = {structure: [] for structure in STRUCTURES}
    bounds = []
    for seed in seeds:
        X, y, X_test, y_test, A, E = made(seed)
        bounds.append(
            [
                TaxonomyRidge(covariance=one, lambda_=lambda_).fit(X, y).score(X_test, y_test)
                for one in (None, A)
            ]
        )
        for structure, rows in found.items():
            model = TaxonomyLearningRidge(structure=structure, lambda_=lambda_).fit(X, y)
            rows.append([area(model, E), model.score(X_test, y_test)])
    identity, truth = np.mean(bounds, axis=0)
    print(f"lambda {lambda_:g}: held-out accuracy of identity {identity:.4f}, of the true A {truth:.4f}")
    for structure, rows in found.items():
        of = np.array(rows)[:, 1] - np.array(bounds)[:, 0]
        error = of.std(ddof=1) / np.sqrt(len(of))
        print(
            f"  {structure}: area under the ROC curve {np.mean(rows, axis=0)[0]:.3f} (least "
            f"{np.min(rows, axis=0)[0]:.3f}), accuracy {np.mean(rows, axis=0)[1]:.4f}, over identity "
            f"{of.mean():+.4f} +- {error:.4f}",
            flush=True,
        )
    mean = np.mean(found["sparse_graph"], axis=0)
    return float(mean[0]), bool(identity <= mean[1] <= truth)


def elsewhere(seeds: range) -> None:
    """Areas of other rows and other settings, which are only shown."""
    cases: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "2 to 12 rows per class": ({"rows": None}, {}),
        "2 to 12 rows per class, all off the origin by 3": ({"rows": None, "shift": 3.0}, {}),
        "2 rows per class": ({"rows": 2}, {}),
    }
    for lambda_ in (0.1, 10.0, 100.0, 1000.0):
        cases[f"structure from the vectors of the classifier, lambda {lambda_:g}"] = (
            {},
            {"learned_from": "vectors", "lambda_": lambda_},
        )
    for name, (of_rows, settings) in cases.items():
        areas = []
        for seed in seeds:
            X, y, _, _, _, E = made(seed, **of_rows)
            areas.append(area(TaxonomyLearningRidge(**settings).fit(X, y), E))
        print(f"{name}: area {np.mean(areas):.3f} (least {np.min(areas):.3f})", flush=True)


def main() -> int:
    warnings.simplefilter("ignore")
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    seeds = range(first, first + SEEDS)
    print(
        f"{SEEDS} graphs of {N_CLASSES} classes from seed {first} on, {ROWS} rows per class, {WIDTH} features"
    )
    results = [recovered(seeds, lambda_) for lambda_ in LAMBDAS]
    elsewhere(seeds)
    least, between = min(result[0] for result in results), results[-1][1]
    print(
        f"sparse graph: area {least:.3f} (at least {LEAST_AREA}), accuracy with lambda {LAMBDAS[-1]:g} between "
        f"identity and truth: {'yes' if between else 'no'}"
    )
    return int(least < LEAST_AREA or not between)


if __name__ == "__main__":
    sys.exit(main())
