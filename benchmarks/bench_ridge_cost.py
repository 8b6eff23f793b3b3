"""What least squares under a taxonomy matrix costs: seconds, memory, and how they grow with rows, features and classes.

    python benchmarks/bench_ridge_cost.py DATA

Made data: 63 classes, 10,000 rows, 80 features as in CLEF, and 500; A of a random tree, learned, and lambda by
leave-one-out. Real data: lshtc1_dryrun task 2 (1,139 classes, sparse rows) by conjugate gradients; nothing rows x rows
is made, which the peak of memory shows. Seconds are those of the processor, on one thread, so that other work on the
machine does not count. Exponents are slopes of log seconds over log size, from four sizes each, the better of two
fits.
Exit code 1: more than 10 s for 63 classes and 10,000 rows.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import _data
import numpy as np

from taxolearn import TaxonomyLearningRidge, TaxonomyRidge
from taxolearn.datasets import random_taxonomy

MOST_SECONDS = 10.0


def made(n: int, width: int, n_classes: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n_classes, width))[y] + 2.0 * rng.normal(size=(n, width)), y


def covariance(n_classes: int) -> Any:
    tree = random_taxonomy(n_classes + n_classes // 4, n_classes, random_state=0)
    P = tree.ancestor_matrix(tree.leaf_ids).toarray().astype(float)
    return P @ P.T


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def exponent(sizes: list[int], times: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def growth() -> None:
    n, d, T = [4_000, 8_000, 16_000, 32_000], [125, 250, 500, 1000], [63, 125, 250, 500]
    cases = {
        "n": (n, [made(size, 200, 63) for size in n]),
        "d": (d, [made(4_000, size, 63) for size in d]),
        "T": (T, [made(4_000, 200, size) for size in T]),
    }
    for name, (sizes, data) in cases.items():
        times = []
        for X, y in data:
            model = TaxonomyRidge(covariance=covariance(len(np.unique(y))), lambda_=0.1, n_jobs=1)
            fit = partial(model.fit, X, y)
            times.append(min(seconds(fit), seconds(fit)))  # other work on the machine takes its caches
        shown = ", ".join(f"{size:,}: {took:.2f} s" for size, took in zip(sizes, times, strict=True))
        print(f"seconds over {name} ({shown}): exponent {exponent(sizes, times):.2f}")


def main() -> int:
    warnings.simplefilter("ignore")
    worst = 0.0
    TaxonomyLearningRidge().fit(*made(200, 5, 4))  # loads what a first fit loads
    TaxonomyRidge(lambda_="loo").fit(*made(200, 5, 4))
    for width in (80, 500):
        X, y = made(10_000, width, 63)
        A = covariance(63)
        for name, model in {
            "given A": TaxonomyRidge(covariance=A, lambda_=0.1, n_jobs=1),
            "given A, lambda by leave-one-out": TaxonomyRidge(covariance=A, lambda_="loo", n_jobs=1),
            "learned A": TaxonomyLearningRidge(lambda_=100.0, n_jobs=1),
        }.items():
            took = seconds(lambda model=model, X=X, y=y: model.fit(X, y))
            worst = max(worst, took)
            print(f"63 classes, 10,000 rows, {width} features, {name}: {took:.2f} s, {model.certificate_!r}")
        path = TaxonomyRidge(covariance=A, n_jobs=1).fit_path(X, y, lambdas=np.logspace(-3, 2, 10).tolist())
        took = seconds(lambda path=path: [None for _ in path])
        print(
            f"63 classes, 10,000 rows, {width} features, a path of 10 lambdas, each certified: {took:.2f} s"
        )
    growth()
    if len(sys.argv) > 1:
        X, y, X_test, y_test, tree = _data.load(sys.argv[1], "lshtc1_dryrun")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model = TaxonomyRidge(tree, lambda_=1e-4, n_jobs=1)
        took = seconds(lambda: model.fit(X, y))
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        n, d = X.shape
        print(
            f"lshtc1_dryrun task 2, {len(model.classes_):,} classes, {n:,} rows, {d:,} features, given tree: "
            f"{took:.1f} s, {model.n_iter_} steps of conjugate gradients, {peak:,.0f} MB more at the peak "
            f"(vectors: {model.vectors_.n_bytes / 2**20:,.0f} MB), {model.certificate_!r}, "
            f"accuracy {model.score(X_test, y_test):.3f}"
        )
    print(f"the slowest fit of 63 classes and 10,000 rows: {worst:.2f} s (at most {MOST_SECONDS:g})")
    return int(worst > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
