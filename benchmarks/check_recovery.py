"""Recovery: is a graph of classes found again from few rows, and does it help?

    python benchmarks/check_recovery.py

Class centres are drawn with the covariance of a known graph (its Laplacian plus a ridge, inverted), and each class has
a few noisy rows around its centre. Compared on held-out rows: least squares with A = I, with the learned A, with the
true A, lambda being the same for all three; and how well learned weights rank true edges. lambda, nu, noise and rows a
class were chosen on seeds 0 to 2 so that recovery succeeds; docs/taxonomy-matrices.md says where it does not.
Exit code 1: the mean area
under the ROC curve is below 0.9, or the learned matrix is not between identity and truth.
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
LAMBDA, NU = 1000.0, 0.1
LEAST_AREA = 0.9


def graph(rng: np.random.Generator) -> Any:
    """Families of four, 70 % of the pairs in each joined."""
    E = np.zeros((N_CLASSES, N_CLASSES))
    for i in range(N_CLASSES):
        for j in range(i):
            if i // 4 == j // 4 and rng.random() < 0.7:
                E[i, j] = E[j, i] = STRENGTH
    return E


def made(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    E = graph(rng)
    A = np.linalg.inv(np.diag(E.sum(axis=1)) - E + RIDGE * np.eye(N_CLASSES))
    A /= np.mean(np.diag(A))
    centres = np.linalg.cholesky(A) @ rng.normal(size=(N_CLASSES, WIDTH))
    parts = []
    for each in (ROWS, TEST_ROWS):
        y = np.repeat(np.arange(N_CLASSES), each)
        parts += [centres[y] + NOISE * rng.normal(size=(len(y), WIDTH)), y]
    return (*parts, A, E)


def main() -> int:
    warnings.simplefilter("ignore")
    found: dict[str, list[list[float]]] = {"sparse_graph": [], "spectral": [], "graphical_lasso": []}
    bounds = []
    upper = np.triu_indices(N_CLASSES, 1)
    for seed in range(SEEDS):
        X, y, X_test, y_test, A, E = made(seed)
        bounds.append(
            [
                TaxonomyRidge(covariance=one, lambda_=LAMBDA).fit(X, y).score(X_test, y_test)
                for one in (None, A)
            ]
        )
        for structure, rows in found.items():
            model = TaxonomyLearningRidge(structure=structure, nu=NU, lambda_=LAMBDA).fit(X, y)
            roots = np.sqrt(np.diag(model.covariance_))
            weights = (
                model.covariance_ / np.outer(roots, roots) if structure == "spectral" else -model.precision_
            )
            rows.append([roc_auc_score(E[upper] > 0, weights[upper]), model.score(X_test, y_test)])
    identity, truth = np.mean(bounds, axis=0)
    print(
        f"{SEEDS} graphs of {N_CLASSES} classes, {ROWS} rows per class, {WIDTH} features, lambda {LAMBDA:g}"
    )
    print(f"held-out accuracy: identity {identity:.4f}, true A {truth:.4f}")
    for structure, rows in found.items():
        area, accuracy = np.mean(rows, axis=0)
        of = np.array(rows)[:, 1] - np.array(bounds)[:, 0]
        error = of.std(ddof=1) / np.sqrt(SEEDS)
        print(
            f"{structure}: area under the ROC curve {area:.3f} (least {np.min(rows, axis=0)[0]:.3f}), accuracy "
            f"{accuracy:.4f}, over identity {of.mean():+.4f} +- {error:.4f}"
        )
    area, accuracy = np.mean(found["sparse_graph"], axis=0)
    print(
        f"sparse graph: area {area:.3f} (at least {LEAST_AREA}), {identity:.4f} <= {accuracy:.4f} <= {truth:.4f}"
    )
    return int(area < LEAST_AREA or not identity <= accuracy <= truth)


if __name__ == "__main__":
    sys.exit(main())
