"""Tables 2 to 4 and 6 to 8 of Zhou, Xiao and Wu (2011) in form, on the RCV1 documents at hand; and CLEF.

    python benchmarks/table_transfer.py FOLDER_OF_DATA [SPLITS]

Documents with one leaf of CCAT, MCAT or ECAT, and their hierarchical subsets; random splits (20 unless given) at the
paper's share of training rows; all five methods without an intercept, as printed. First with the paper's C = 1 (the
library's C is C / N), then with C chosen for each method among 1 ... 10,000 on a quarter of the training rows. It is
not the paper's document set: there is no bar. The last lines say which of the paper's orderings hold, by paired
t-tests at .01. Then CLEF, C chosen on a fifth of the training rows, beside the published micro-F1.
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


def fitted(kind: Any, tree: Taxonomy, C: float, X: Any, y: Any, **given: Any) -> Any:
    """A model at the paper's C."""
    common = {"tol": 1e-3, "random_state": 0, "max_seconds": 60.0}
    return kind(tree, C=C / len(y), **{**common, **given}).fit(X, y)


def chosen(kind: Any, tree: Taxonomy, X: Any, y: Any, held: Any, **given: Any) -> float:
    """The C of the best accuracy on the held-out rows, of equal ones the smallest."""
    if len(set(y[~held])) < 2:
        return GRID[0]
    scores = {
        C: float(np.mean(fitted(kind, tree, C, X[~held], y[~held], **given).predict(X[held]) == y[held]))
        for C in GRID
    }
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


def show(title: str, found: dict[str, Any]) -> str:
    """One table, and whether orthogonal transfer is best."""
    print(f"\n{title}\n{'':10}{'0/1 loss':>16}{'tree loss':>16}{'micro-F1':>16}")
    for name, rows in found.items():
        mean, deviation = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
        print(f"{name:10}" + "".join(f"{m:9.2f} ±{d:5.2f}" for m, d in zip(mean, deviation, strict=True)))
    told = []
    for column, what in ((0, "0/1 loss"), (1, "tree loss")):
        own = np.array(found["ORTHOGNL"])[:, column]
        words = []
        for name in METHODS:
            other = np.array(found[name])[:, column]
            if name == "ORTHOGNL" or np.array_equal(own, other):
                continue
            test = ttest_rel(own, other)
            sign = "=" if test.pvalue >= LEVEL else "<" if test.statistic < 0 else ">"
            words.append(f"{sign} {name} (p {test.pvalue:.0e})")
        told.append(f"{what}: ORTHOGNL " + ", ".join(words))
    print("\n".join(told), flush=True)
    best = min(found, key=lambda name: float(np.mean(found[name], axis=0)[0]))
    worst = max(found, key=lambda name: float(np.mean(found[name], axis=0)[0]))
    return f"{title}: best {best}, worst {worst}; {told[0]}"


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
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    folder, splits = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 20
    began, told = time.process_time(), []
    for deep in (False, True):
        for top in TOPS:
            X, y, tree = tasks(folder, deep)[top]
            share = (DEEP_SHARE if deep else SHARE)[top]
            found = run(X, y, tree, share, splits)
            head = (
                f"{top}{'.Hierarchical' if deep else ''} ({len(y)} rows, {round(share * len(y))} to train on)"
            )
            told += [show(f"{head}, {rule}", found[rule]) for rule in found]
    print("\n" + "\n".join(told), flush=True)
    clef(folder)
    print(f"\n{time.process_time() - began:.0f} CPU s")


if __name__ == "__main__":
    main()
