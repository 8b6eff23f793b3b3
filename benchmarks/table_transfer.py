"""Tables 2 to 4 and 6 to 8 of Zhou, Xiao and Wu (2011) in form, on the RCV1 documents at hand; and CLEF.

    python benchmarks/table_transfer.py FOLDER_OF_DATA [SPLITS] [TABLE ...]

Documents with one leaf of CCAT, MCAT or ECAT, and their hierarchical subsets; random splits (20 unless given) at the
paper's share of training rows; all five methods without an intercept, as printed. First with the paper's C = 1 (the
library's C is C / N), then with C chosen for each method among 1 ... 10,000 on a quarter of the training rows. It is
not the paper's document set: there is no bar. Below each table stands which of the paper's orderings hold, by paired
t-tests at .01. CLEF comes last, C chosen on a fifth of the training rows, beside the published micro-F1. TABLE is any
of CCAT, MCAT, ECAT, CCAT.Hierarchical, MCAT.Hierarchical, ECAT.Hierarchical and CLEF; all of them unless given.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from _data import load
from _rcv1_tasks import DEEP_SHARE, SHARE, TOPS, tasks
from scipy.stats import ttest_rel

from taxolearn import MulticlassSVM, OrthogonalTransferSVM, Taxonomy, TopDownSVM, TransferSVM, TreeLossSVM

METHODS = {
    "FLATMULT": MulticlassSVM,
    "HIERMULT": TopDownSVM,
    "TRANSFER": TransferSVM,
    "TREELOSS": TreeLossSVM,
    "ORTHOGNL": OrthogonalTransferSVM,
}
GRID = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
PUBLISHED = {"ORTHOGNL": 73.84, "HIERMULT": 70.11}  # micro-F1 on CLEF
LEVEL = 0.01


def estimator(kind: Any, tree: Taxonomy, **given: Any) -> Any:
    """What all models have in common."""
    return kind(tree, **{"tol": 1e-3, "random_state": 0, "max_seconds": 60.0, **given})


def fitted(kind: Any, tree: Taxonomy, C: float, X: Any, y: Any, **given: Any) -> Any:
    """A model at the paper's C."""
    return estimator(kind, tree, C=C / len(y), **given).fit(X, y)


def chosen(kind: Any, tree: Taxonomy, X: Any, y: Any, held: Any, **given: Any) -> float:
    """The C of the best accuracy on the held-out rows, of equal ones the smallest."""
    if len(set(y[~held])) < 2:
        return GRID[0]
    kept = X[~held], y[~held]
    models = estimator(kind, tree, **given).fit_path(*kept, [C / len(kept[1]) for C in GRID])
    scores = {C: float(np.mean(m.predict(X[held]) == y[held])) for C, m in zip(GRID, models, strict=True)}
    return max(GRID, key=lambda C: (scores[C], -C))


def losses(tree: Taxonomy, y: Any, predicted: Any) -> tuple[float, float, float]:
    """0/1 loss, tree-induced loss and micro-F1, all times 100."""
    wrong = 100.0 * float(np.mean(y != predicted))
    ids, found = tree.ids_of(y.tolist()), tree.ids_of(predicted.tolist())
    return wrong, 50.0 * float(np.mean(tree.distance(ids, found))), 100.0 - wrong


def run(X: Any, y: Any, tree: Taxonomy, share: float, splits: int) -> dict[str, Any]:
    """The losses of every method and split, with C = 1 and with C chosen."""
    found: dict[str, Any] = {rule: {name: [] for name in METHODS} for rule in ("C = 1", "C chosen")}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: round(share * len(y))], order[round(share * len(y)) :]
        held = np.arange(len(train)) < len(train) // 4
        seen = np.unique(X[train].indices)  # vectors are zero at all other features
        few, rest = X[train][:, seen], X[test][:, seen]
        for name, kind in METHODS.items():
            best = chosen(kind, tree, few, y[train], held, fit_intercept=False)
            for rule, C in (("C = 1", 1.0), ("C chosen", best)):
                model = fitted(kind, tree, C, few, y[train], fit_intercept=False)
                found[rule][name].append(losses(tree, y[test], model.predict(rest)))
    return found


def show(title: str, found: dict[str, Any]) -> None:
    """One table, and whether orthogonal transfer is best and TREELOSS worst, as in the paper."""
    print(f"\n{title}\n{'':10}{'0/1 loss':>16}{'tree loss':>16}{'micro-F1':>16}")
    for name, rows in found.items():
        mean, deviation = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
        print(f"{name:10}" + "".join(f"{m:9.2f} ±{d:5.2f}" for m, d in zip(mean, deviation, strict=True)))
    for column, what in ((0, "0/1 loss"), (1, "tree loss")):
        for name in ("ORTHOGNL", "TREELOSS"):
            own, others = (np.array(found[name])[:, column], [other for other in METHODS if other != name])
            signs = ", ".join(compared(own, np.array(found[other])[:, column], other) for other in others)
            print(f"{what}: {name} {signs}", flush=True)


def compared(own: Any, other: Any, name: str) -> str:
    """Less, more, or no difference that a paired t-test finds."""
    if np.array_equal(own, other):
        return f"= {name}"
    test = ttest_rel(own, other)
    sign = "=" if test.pvalue >= LEVEL else "<" if test.statistic < 0 else ">"
    return f"{sign} {name} (p {test.pvalue:.0e})"


def clef(folder: str) -> None:
    """CLEF, its own split."""
    X, y, X_test, y_test, tree = load(folder, "clef")
    held = np.random.default_rng(0).random(len(y)) < 0.2
    print("\nCLEF, micro-F1, C chosen on a fifth of the training rows")
    for name, kind in METHODS.items():
        limits = {"tol": 1e-2, "max_iter": 200}
        C = chosen(kind, tree, X, y, held, **limits)
        model = fitted(kind, tree, C, X, y, **limits)
        score = 100.0 * float(np.mean(model.predict(X_test) == y_test))
        known = f"   published {PUBLISHED[name]}" if name in PUBLISHED else ""
        print(
            f"{name:10}{score:7.2f}   C {C:g}   certified gap {model.certificate_.gap:.1e}{known}", flush=True
        )


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    folder, *more = sys.argv[1:]
    splits = int(more.pop(0)) if more and more[0].isdigit() else 20
    every = [top + kind for kind in ("", ".Hierarchical") for top in TOPS] + ["CLEF"]
    if unknown := set(more) - set(every):
        sys.exit(f"there is no table {sorted(unknown)[0]}; choose from {', '.join(every)}")
    began = time.process_time()
    for table in more or every:
        if table == "CLEF":
            clef(folder)
            continue
        top, *deep = table.split(".")
        X, y, tree = tasks(folder, bool(deep))[top]
        share = (DEEP_SHARE if deep else SHARE)[top]
        found = run(X, y, tree, share, splits)
        for rule in found:
            show(f"{table} ({len(y)} rows, {round(share * len(y))} to train on), {rule}", found[rule])
    print(f"\n{time.process_time() - began:.0f} CPU s")


if __name__ == "__main__":
    main()
