"""`TaxonomyClassifier()` beside one-vs-rest with tuned thresholds, several labels per row.

    python benchmarks/table_starter_sets.py FOLDER_OF_DATA [rcv1_subsets medline_mesh cellcycle_FUN ...]
        [--train ROWS] [--test ROWS]

The sets of hmc_fun_go are cellcycle_FUN, cellcycle_GO, derisi_FUN and so on; their rows are standardised and have
length one. The peer is `OneVsRestSVM(thresholds="tuned")`: the better of one threshold for example-F1 and one per
class, and the best of three C, all by example-F1 on a fifth of the training rows; it is then learned from all of them.
Above MANY_CLASSES its C is 1. At most so many rows are used as --train and --test say.

p: paired permutation tests, 1,000 draws; the two answers to a row change places by chance. Bars, on every set: none of
example-F1, micro-F1, macro-F1 and hierarchical F1 below that of the peer with p < .05, at least three above with
p < .05. Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
from _data import find
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize
from table_label_sets import closed, data
from table_multilabel import some

from taxolearn import OneVsRestSVM, TaxonomyClassifier
from taxolearn.datasets import read_edges, read_libsvm
from taxolearn.metrics import example_f1

SETS = ("cellcycle_FUN", "rcv1_subsets", "debtags_bookworm", "medline_mesh")
YEAST = ("cellcycle_FUN", "cellcycle_GO", "derisi_FUN", "derisi_GO", "pheno_FUN", "pheno_GO")
TRAIN_OF = {"medline_mesh": 8_000}
TEST_OF = {"medline_mesh": 3_000}
C_VALUES = (0.1, 1.0, 10.0)
MANY_CLASSES = 3_000
DRAWS = 1_000
LEVEL = 0.05
METRICS = ("example-F1", "micro-F1", "macro-F1", "hierarchical F1")


def load(folder: str, name: str) -> tuple[Any, Any, Any, Any, Any]:
    if name not in YEAST:
        return data(folder, name)
    place = find(folder, name)
    parts = [read_libsvm(place / f"{part}.svm", allow_nan=True) for part in ("train", "test")]
    width = max(part.X.shape[1] for part in parts)
    dense = [np.zeros((part.X.shape[0], width)) for part in parts]
    for block, part in zip(dense, parts, strict=True):
        block[:, : part.X.shape[1]] = part.X.toarray()
    means = np.nanmean(dense[0], axis=0)
    filled = [np.where(np.isnan(block), means, block) for block in dense]
    scaler = StandardScaler().fit(filled[0])
    train, test = (normalize(scaler.transform(block)) for block in filled)
    return train, parts[0].y, test, parts[1].y, read_edges(place / "hierarchy.edges")


def peer(X: Any, y: Any, taxonomy: Any, n_classes: int) -> Any:
    """One-vs-rest with tuned thresholds, all choices on a fifth of the rows."""

    def make(C: float, serve: str) -> Any:
        return OneVsRestSVM(taxonomy, C=C, thresholds="tuned", serve=serve, random_state=0)

    if n_classes > MANY_CLASSES:
        return make(1.0, "example").fit(X, y)
    held = np.random.default_rng(1).random(len(y)) < 0.2
    kept_rows, held_rows = np.flatnonzero(~held), np.flatnonzero(held)
    kept_y, held_y = [y[i] for i in kept_rows], [y[i] for i in held_rows]
    tried = []
    for C in C_VALUES:
        for serve in ("example", "macro"):
            model = make(C, serve).fit(X[kept_rows], kept_y)
            tried.append((example_f1(held_y, model.predict(X[held_rows]), taxonomy), -C, serve))
    _, C, serve = max(tried)
    return make(-C, serve).fit(X, y)


class Counts:
    """What the four F1 are made of: labels that are right, and labels there are and answered, by row and by class."""

    def __init__(self, y: Any, true: Any, found: list[Any], taxonomy: Any) -> None:
        answers = as_matrix(found, taxonomy)
        truth = as_matrix(y, taxonomy)
        self.right = sparse.csr_array(truth.multiply(answers))
        self.sizes = sparse.csr_array(truth + answers)
        whole = closed(found, taxonomy)
        self.right_above = np.asarray(true.multiply(whole).sum(axis=1)).ravel()
        self.sizes_above = np.asarray((true + whole).sum(axis=1)).ravel()
        self.known = np.asarray(truth.sum(axis=0)).ravel() > 0
        sizes = np.asarray(self.sizes.sum(axis=1)).ravel()
        self.example = ratio(2.0 * np.asarray(self.right.sum(axis=1)).ravel(), sizes)

    def figures(self) -> list[float]:
        return [float(value) for value in figures(self, None, np.ones(self.right.shape[0]))]


def as_matrix(y: Any, taxonomy: Any) -> Any:
    rows = np.repeat(np.arange(len(y)), [len(row) for row in y])
    nodes = np.asarray(taxonomy.ids_of([name for row in y for name in row]), dtype=np.int64)
    return sparse.csr_array((np.ones(len(rows)), (rows, nodes)), shape=(len(y), taxonomy.n_nodes))


def ratio(a: Any, b: Any) -> Any:
    return np.divide(a, b, out=np.ones_like(b), where=b > 0)


def figures(one: Counts, other: Counts | None, mine: Any) -> list[float]:
    """The four F1 of answers that are those of `one` where `mine` is 1, and of the other where it is 0."""
    parts = [(one, mine)] if other is None else [(one, mine), (other, 1.0 - mine)]

    def total(name: str) -> Any:
        return sum(weight @ getattr(counts, name) for counts, weight in parts)

    right, sizes = total("right"), total("sizes")
    known = one.known
    by_class = np.divide(2.0 * right, sizes, out=np.zeros_like(right), where=sizes > 0)
    return [
        total("example") / len(mine),
        2.0 * right.sum() / sizes.sum(),
        by_class[known].mean(),
        2.0 * total("right_above") / total("sizes_above"),
    ]


def p_values(ours: Counts, theirs: Counts) -> list[float]:
    rng = np.random.default_rng(0)
    seen = np.abs(np.array(ours.figures()) - theirs.figures())
    as_large = np.zeros(4)
    for _ in range(DRAWS):
        mine = rng.integers(0, 2, ours.right.shape[0]).astype(float)
        drawn = np.array(figures(ours, theirs, mine)) - figures(theirs, ours, mine)
        as_large += np.abs(drawn) >= seen - 1e-12
    return [float(value) for value in (1 + as_large) / (1 + DRAWS)]


def measure(folder: str, name: str, asked: Any) -> bool:
    X, y, X_test, y_test, taxonomy = load(folder, name)
    X, y = some(X, y, asked.train or TRAIN_OF.get(name, len(y)))
    X_test, y_test = some(X_test, y_test, asked.test or TEST_OF.get(name, len(y_test)))
    n_classes = len({label for row in y for label in row})
    print(
        f"\n{name}: {len(y):,} rows, {len(y_test):,} to test, {n_classes:,} classes\n"
        f"| method | {' | '.join(METRICS)} | CPU s |\n|---|---|---|---|---|---|",
        flush=True,
    )
    true = closed(y_test, taxonomy)
    found = []
    for told in ("one-vs-rest, tuned thresholds", "TaxonomyClassifier"):
        began = time.process_time()
        if told == "TaxonomyClassifier":
            model = TaxonomyClassifier(taxonomy, random_state=0).fit(X, y)
            best = model.trials_.best
            told += f" ({best.title.split('(')[0]}, C = {best.C:g}, {best.decision})"
        else:
            model = peer(X, y, taxonomy, n_classes)
            told += f" (C = {model.C:g}, {model.serve})"
        answers = [list(row) for row in model.predict(X_test)]
        found.append(Counts(y_test, true, answers, taxonomy))
        told_figures = " | ".join(f"{100 * value:.2f}" for value in found[-1].figures())
        print(f"| {told} | {told_figures} | {time.process_time() - began:.1f} |", flush=True)
    theirs, ours = found
    p = p_values(ours, theirs)
    print(f"| p | {' | '.join(f'{value:.3f}' for value in p)} | |", flush=True)
    better = np.array(ours.figures()) - theirs.figures()
    above = int(np.sum((better > 0) & (np.array(p) < LEVEL)))
    below = int(np.sum((better < 0) & (np.array(p) < LEVEL)))
    print(
        f"{name}: {above} of 4 above, {below} below; not above by figures: {int(np.sum(better <= 0))}",
        flush=True,
    )
    return above >= 3 and below == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--train", type=int)
    parser.add_argument("--test", type=int)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    missed = [name for name in asked.sets if not measure(asked.folder, name, asked)]
    print(f"\nbars missed on: {', '.join(missed) or 'none'}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
