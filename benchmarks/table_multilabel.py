"""Recursive regularization beside flat LIBLINEAR where rows have several labels, with paired tests.

    python benchmarks/table_multilabel.py FOLDER_OF_DATA [rcv1_subsets debtags_bookworm] [--rows 1000 4000]

C, and for the line "tuned" the scale of the inner nodes and the prior of the intercepts too, are chosen by micro-F1
on a fifth of the training rows; the choice is fitted on all of them (as in `table_recursive.py`, which has the
candidates). All methods predict the classes with a score above zero. p is that of a paired permutation test over the
test rows: in how many of 10,000 draws, in which the two methods change places at random rows, micro-F1 differs as much.

Prints the tables; there is no bar.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
from _data import find, load
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC
from table_recursive import C_VALUES, HOLDOUT, candidates, chosen, describe

from taxolearn.datasets import read_edges, read_jsonl
from taxolearn.metrics import hierarchical_f1, macro_f1, micro_f1

SETS = ("rcv1_subsets", "debtags_bookworm")
TRAIN, TEST = (1_000, 4_000), 4_000  # rows at most
LINES = (
    "  flat, hinge",
    "  flat, b0 = -1",
    "HR squared hinge",
    "HR hinge",
    "HR logistic",
    "  shared inner labels",
    "  low b0, squared hinge",
    "  low b0, hinge",
    "  a_n = 0.1, squared hinge",
    "  tuned, squared hinge",
)
DRAWS = 10_000


class Flat:
    """LinearSVC, one class against the rest, for lists of labels."""

    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: Any, y: list[Any]) -> Flat:
        self.labels = MultiLabelBinarizer(sparse_output=True)
        self.model = OneVsRestClassifier(LinearSVC(C=self.C, random_state=0))
        self.model.fit(X, self.labels.fit_transform(y))
        return self

    def predict(self, X: Any) -> list[Any]:
        return [list(row) for row in self.labels.inverse_transform(self.model.predict(X))]


def data_of(folder: str, name: str) -> tuple[Any, Any, Any, Any, Any]:
    if name != "debtags_bookworm":
        return load(folder, name)
    place = find(folder, name)
    parts = [read_jsonl(place / f"{part}.jsonl") for part in ("train", "test")]
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    train, test = vectorizer.fit_transform(parts[0].texts), vectorizer.transform(parts[1].texts)
    return train, parts[0].y, test, parts[1].y, read_edges(place / "hierarchy.edges")


def some(X: Any, y: Any, most: int) -> tuple[Any, list[list[Any]]]:
    """At most so many rows, at random."""
    rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:most])
    return X[rows], [list(y[i]) for i in rows]


def counts(y: list[Any], predicted: list[Any]) -> Any:
    """For each row twice the labels found, and the labels there are and those predicted together."""
    both = [2 * len(set(a) & set(b)) for a, b in zip(y, predicted, strict=True)]
    return np.array(both), np.array([len(set(a)) + len(set(b)) for a, b in zip(y, predicted, strict=True)])


def p_value(ours: Any, theirs: Any) -> float:
    """Of the difference in micro-F1, two-sided."""
    rng = np.random.default_rng(0)
    found, total = (np.stack(pair) for pair in zip(ours, theirs, strict=True))
    seen = abs(np.diff(found.sum(axis=1) / total.sum(axis=1))[0])
    swapped = rng.random((DRAWS, found.shape[1])) < 0.5
    first = [np.where(swapped, part[0], part[1]).sum(axis=1) for part in (found, total)]
    second = [np.where(swapped, part[1], part[0]).sum(axis=1) for part in (found, total)]
    drawn = np.abs(first[0] / first[1] - second[0] / second[1])
    return float((1 + np.sum(drawn >= seen - 1e-12)) / (1 + DRAWS))


def measure(folder: str, name: str, rows: int) -> None:
    X, y, X_test, y_test, taxonomy = data_of(folder, name)
    (X, y), (X_test, y_test) = some(X, y, rows), some(X_test, y_test, TEST)
    held = np.random.default_rng(0).random(len(y)) < HOLDOUT
    tried = [row for row, out in zip(y, held, strict=True) if not out]
    kept = [row for row, out in zip(y, held, strict=True) if out]
    print(
        f"\n{name}: {len(y)} rows, {len(y_test)} to test, {len(set().union(*y))} classes, {X.shape[1]} features, "
        f"{np.mean([len(row) for row in y]):.1f} labels a row\n"
        f"{'method':26} {'micro':>6} {'macro':>6} {'hier. F1':>8} {'gap':>8} {'to flat':>8} {'p':>6}  choice",
        flush=True,
    )
    lines = candidates(taxonomy, set().union(*y))
    flat = None
    for title, models in {
        "flat LIBLINEAR": [Flat(C) for C in C_VALUES],
        **{k: lines[k] for k in LINES if k in lines},
    }.items():
        began = time.process_time()
        model = chosen(models, lambda m: micro_f1(kept, m.fit(X[~held], tried).predict(X[held]), taxonomy))
        predicted = model.fit(X, y).predict(X_test)
        mine = counts(y_test, predicted)
        flat = mine if flat is None else flat
        micro = 100 * micro_f1(y_test, predicted, taxonomy)
        gap = f"{model.certificate_.gap:.1e}" if hasattr(model, "certificate_") else "-"
        print(
            f"{title:26} {micro:6.2f} {100 * macro_f1(y_test, predicted, taxonomy):6.2f} "
            f"{100 * hierarchical_f1(y_test, predicted, taxonomy):8.2f} {gap:>8} "
            f"{micro - 100 * flat[0].sum() / flat[1].sum():+8.2f} {p_value(mine, flat):6.4f}"
            f"  {describe(model)}  ({time.process_time() - began:.0f} s CPU)",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", help="all by default")
    parser.add_argument("--rows", nargs="+", type=int, default=TRAIN, help="to train on")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # fits cut short say so; their gaps are printed
    for name in arguments.sets or SETS:
        for rows in arguments.rows:
            measure(arguments.folder, name, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
