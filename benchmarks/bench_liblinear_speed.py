"""CPU and wall time of OneVsRestSVM against LinearSVC one-vs-rest at an equal certified gap.

    python benchmarks/bench_liblinear_speed.py FOLDER_OF_DATA

For each data set and loss, LinearSVC (through OneVsRestClassifier where rows have several labels) is fitted at its
default tolerance. Its gap is measured against a lower bound from a much more precise taxolearn fit. taxolearn then
gets that gap as its `tol`, and must certify it with its own dual; the certificate is part of its time. Compilation is
not (one small fit first). Best of three, in turn, in one run. A second row does the same at a looser tolerance of
LinearSVC, for information: the limits are for its default.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _data import load
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer, label_binarize
from sklearn.svm import LinearSVC

from taxolearn import OneVsRestSVM

REPEATS = 3
FLOOR = 1e-11  # below this the two objectives differ by rounding
CPU_LIMIT, WALL_LIMIT = 1.0, 0.6
DEFAULT_TOL, LOOSE_TOL = 1e-4, 1e-2  # of LinearSVC, a bound on its projected gradient


def timed(fit: Callable[[], Any]) -> tuple[float, float, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    model = fit()
    return time.process_time() - cpu, time.perf_counter() - wall, model


def objective(coef: Any, intercept: Any, X: Any, Y: Any, loss: str) -> float:
    """LIBLINEAR's objective summed over the classes, C = 1, intercept_scaling = 1."""
    margins = np.where(Y, 1.0, -1.0) * (X @ coef.T + intercept)
    slack = np.maximum(0.0, 1.0 - margins)
    return float(
        0.5 * ((coef**2).sum() + (intercept**2).sum())
        + (slack**2 if loss == "squared_hinge" else slack).sum()
    )


def compare(folder: str, name: str, loss: str) -> tuple[float, float]:
    """Print one row for each tolerance of LinearSVC; the ratios of CPU and wall time at its default one."""
    X, y, *_ = load(folder, name)
    several = isinstance(y[0], list)
    if several:
        Y = MultiLabelBinarizer().fit_transform(y).astype(bool)
        target: Any = Y.astype(int)
    else:
        Y = label_binarize(y, classes=np.unique(y)).astype(bool)
        target = y

    def liblinear(tol: float) -> Any:
        model = LinearSVC(C=1.0, loss=loss, dual=True, tol=tol, random_state=0)
        return (OneVsRestClassifier(model) if several else model).fit(X, target)

    def ours(tol: float, n_jobs: int) -> OneVsRestSVM:
        return OneVsRestSVM(C=1.0, loss=loss, tol=tol, n_jobs=n_jobs, random_state=0).fit(X, target)

    few = slice(0, 700)
    OneVsRestSVM(loss=loss, tol=0.5).fit(X[few], target[few])  # compile
    fine = 1e-12 if loss == "squared_hinge" else 1e-8
    bound = (
        OneVsRestSVM(C=1.0, loss=loss, tol=fine, max_iter=20000, n_jobs=-1).fit(X, target).certificate_.dual
    )

    def ratios(tol: float) -> tuple[float, float]:
        runs: dict[str, list[tuple[float, float, Any]]] = {"liblinear": [], "one": [], "two": []}
        gap = 0.0
        for repeat in range(REPEATS):
            runs["liblinear"].append(timed(partial(liblinear, tol)))
            if repeat == 0:
                model = runs["liblinear"][0][2]
                parts = model.estimators_ if several else [model]
                coef = np.vstack([part.coef_ for part in parts])
                value = objective(coef, np.concatenate([part.intercept_ for part in parts]), X, Y, loss)
                gap = max((value - bound) / value, FLOOR)
            runs["one"].append(timed(partial(ours, gap, 1)))
            runs["two"].append(timed(partial(ours, gap, 2)))
        certified = max(run[2].certificate_.gap for run in runs["one"] + runs["two"])
        if certified > gap:
            sys.exit(f"{name} {loss}: the certified gap {certified:.2e} missed LinearSVC's {gap:.2e}")
        cpu = {key: min(run[0] for run in found) for key, found in runs.items()}
        wall = {key: min(run[1] for run in found) for key, found in runs.items()}
        found = cpu["one"] / cpu["liblinear"], wall["two"] / wall["liblinear"]
        print(
            f"{name:14} {loss:14} LinearSVC(tol={tol:g}): gap {gap:.1e} (certified {certified:.1e})  "
            f"LinearSVC cpu {cpu['liblinear']:6.2f} s  taxolearn cpu {cpu['one']:6.2f} s, "
            f"wall on two threads {wall['two']:6.2f} s  ratios: cpu {found[0]:.2f}, wall {found[1]:.2f}",
            flush=True,
        )
        return found

    at_default = ratios(DEFAULT_TOL)
    ratios(LOOSE_TOL)
    return at_default


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    ratios = [
        compare(sys.argv[1], name, loss)
        for name in ("lshtc1_dryrun", "rcv1_subsets")
        for loss in ("squared_hinge", "hinge")
    ]
    cpu, wall = max(r[0] for r in ratios), max(r[1] for r in ratios)
    print(
        f"worst ratio to LinearSVC: cpu on one thread {cpu:.2f} (limit {CPU_LIMIT}), "
        f"wall on two {wall:.2f} (limit {WALL_LIMIT})"
    )
    sys.exit(cpu > CPU_LIMIT or wall > WALL_LIMIT)


if __name__ == "__main__":
    main()
