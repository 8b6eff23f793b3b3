"""CPU of fit and predict on short texts: n-grams alone, and with static embeddings beside them.

    python benchmarks/bench_words.py [--texts 100000] [--fit-classes 200] [--classes 1000]

Texts are those of ICD-10-CM (shipped with the package), drawn again and again with words left out. By turns n-grams and
"both" are fitted by `OneVsRestSVM`; then "both" predicts texts it has not seen, with so many classes, on one core. At
last every method learns 4,000 texts of 40 classes both ways, by turns to a gap of 1e-2, the least of three.
Prints a table; exits with 1 when "both" takes more than 2 times the CPU seconds of n-grams alone with any method, or
fewer than 20,000 texts per CPU second are predicted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
from sklearn.base import clone

import taxolearn
from taxolearn import OneVsRestSVM, Taxonomy, TextClassifier
from taxolearn.datasets import load_icd10cm
from taxolearn.text import TextFeatures

MOST_TIMES_THE_CPU = 2.0
LEAST_TEXTS_PER_SECOND = 20_000
KEPT = 0.85  # of the words of a text
SMALL_TEXTS, SMALL_CLASSES, TURNS = 4_000, 40, 3
FLAT = ("OneVsRestSVM", "OneVsRestLogistic", "MulticlassSVM")
OF_TREES = (
    "HierarchicalSVM", "NormalizedHierarchicalSVM", "TopDownSVM", "RecursiveSVM", "RecursiveLogistic", "TreeLossSVM",
    "SharedSVM", "TransferSVM", "OrthogonalTransferSVM", "BayesianRecursiveLogistic",
)  # fmt: skip


def texts_of(n_texts: int, n_classes: int, seed: int) -> tuple[list[str], Any]:
    """Short texts of the most frequent classes."""
    random = np.random.RandomState(seed)
    data = load_icd10cm()
    kept = {label for label, _ in Counter(data.train.y).most_common(n_classes)}
    pairs = [pair for pair in zip(data.train.texts, data.train.y, strict=True) if pair[1] in kept]
    chosen = [pairs[row] for row in random.randint(0, len(pairs), n_texts)]
    texts = [" ".join(word for word in text.split() if random.rand() < KEPT) or text for text, _ in chosen]
    return texts, np.array([label for _, label in chosen])


def features(kind: str) -> TextFeatures:
    return TextFeatures(sublinear_tf=True, embedder="words" if kind == "both" else None)


def every_method() -> float:
    """CPU seconds of each method; returns how many times those of n-grams "both" takes at most."""
    texts, y = texts_of(SMALL_TEXTS, SMALL_CLASSES, 4)
    whole = load_icd10cm().taxonomy
    used = {node for label in set(y) for node in whole.path(label)}
    tree = Taxonomy.from_edges([edge for edge in whole.edges if set(edge) <= used])
    rows = {
        "ngrams": features("ngrams").fit_transform(texts),
        "both": features("both").set_params(embedding_columns=32).fit_transform(texts),  # as of many texts
    }
    worst = 0.0
    for name in (*FLAT, *OF_TREES):
        method = getattr(taxolearn, name)(**({} if name in FLAT else {"taxonomy": tree}), tol=1e-2)
        least = dict.fromkeys(rows, np.inf)
        for _ in range(TURNS):
            for kind, X in rows.items():
                started = time.process_time()
                clone(method).fit(X, y)
                least[kind] = min(least[kind], time.process_time() - started)
        ratio = least["both"] / least["ngrams"]
        worst = max(worst, ratio)
        print(
            f"{name}: ngrams {least['ngrams']:.2f}, both {least['both']:.2f} CPU s: {ratio:.2f} times",
            flush=True,
        )
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--fit-classes", type=int, default=200)
    parser.add_argument("--classes", type=int, default=1_000)
    asked = parser.parse_args()

    small, y_small = texts_of(500, 5, 0)
    for kind in ("ngrams", "both"):  # compiles, and reads the embedder's files
        TextClassifier(OneVsRestSVM(n_jobs=1), features(kind)).fit(small, y_small).predict(small)
    texts, y = texts_of(asked.texts, asked.fit_classes, 1)
    seconds = {}
    for kind in ("ngrams", "both"):
        started = time.process_time()
        TextClassifier(OneVsRestSVM(n_jobs=1, random_state=0), features(kind)).fit(texts, y)
        seconds[kind] = time.process_time() - started
        print(
            f"fit of {len(texts):,} texts, {asked.fit_classes} classes, {kind}: {seconds[kind]:.1f} CPU s",
            flush=True,
        )
    ratio = seconds["both"] / seconds["ngrams"]

    known, labels = texts_of(20 * asked.classes, asked.classes, 2)
    new, _ = texts_of(asked.texts, asked.classes, 3)
    rates = {}
    for kind in ("ngrams", "both"):
        model = TextClassifier(OneVsRestSVM(n_jobs=1, random_state=0, tol=0.1), features(kind)).fit(
            known, labels
        )
        started = time.process_time()
        model.predict(new)
        rates[kind] = len(new) / (time.process_time() - started)
        print(
            f"predict, {len(model.classes_):,} classes, {kind}: {rates[kind]:,.0f} texts per CPU s",
            flush=True,
        )
    print(f"both / ngrams: {ratio:.2f} times the CPU of fit; {rates['both']:,.0f} texts per second")
    worst = every_method()
    return int(max(ratio, worst) > MOST_TIMES_THE_CPU or rates["both"] < LEAST_TEXTS_PER_SECOND)


if __name__ == "__main__":
    sys.exit(main())
