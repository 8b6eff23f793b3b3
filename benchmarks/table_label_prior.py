"""What classes are called, as rows to learn from or as a prior mean of the class's vector: which is better?

    python benchmarks/table_label_prior.py FOLDER_OF_DATA [--sets trec,news,amazon,icd] [--rows 1,3,10] [--seeds 3]

On training rows alone: one half is learned from, with so many rows per class, the other is asked about (at most 800
rows, of at most 200 classes). Features are those that `TextClassifier` starts from, the method is least squares,
one-vs-rest, C = 1, where a prior mean is exact: with M the means, what is left of the labels, Y - X M', is learned.
Means
are the mean row of a class's label texts times a factor, or the model learned from the label texts alone.
Prints accuracy in percent; exits with 1 when rows of weight 1 are more than a point below the best mean, over all.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from table_words import read, sample

from taxolearn.text import TextFeatures
from taxolearn.text.label_texts import label_rows

Floats = np.ndarray[Any, np.dtype[np.float64]]
MOST_CLASSES, MOST_ASKED = 200, 800
MOST_BEHIND = 1.0  # points
FACTORS = (0.5, 1.0, 2.0)


def least_squares(products: Floats, asked: Floats, targets: Floats, weights: Any = 1.0) -> Floats:
    """Scores of the rows asked about; C = 1."""
    matrix = products + np.diag(0.5 / (weights * np.ones(len(products))))
    return asked @ np.linalg.solve(matrix, targets)


def accuracies(folder: str, name: str, rows: int, seed: int) -> dict[str, float]:
    data = read(folder, name)
    random = np.random.RandomState(1_000 + seed)
    order = random.permutation(len(data.y))
    half, other = order[: len(order) // 2], order[len(order) // 2 :]
    known = sorted(set(data.y[half].tolist()))
    classes = sorted(random.permutation(known)[:MOST_CLASSES].tolist())
    half, other = (part[np.isin(data.y[part], classes)] for part in (half, other))
    learned, asked = half[sample(data.y[half], rows, seed)], other[:MOST_ASKED]
    about = label_rows(data.label_texts, data.taxonomy, classes).of(classes)
    features = TextFeatures(analyzer="word+char", sublinear_tf=True, embedder="words")
    X = features.fit_transform([*(data.train[row] for row in learned), *about.texts])
    products = (X @ X.T).toarray()
    scored = (features.transform([data.train[row] for row in asked]) @ X.T).toarray()
    place = {label: k for k, label in enumerate(classes)}
    labels = [place[label] for label in [*data.y[learned], *about.labels]]
    has, n = np.eye(len(classes))[labels], len(learned)
    true = np.array([place[label] for label in data.y[asked]])
    told = slice(n, None)
    found = {"no names": least_squares(products[:n, :n], scored[:, :n], 2 * has[:n])}
    for weight in (0.3, 1.0, 2.0):
        weights = np.where(np.arange(len(has)) < n, 1.0, weight)
        found[f"rows of weight {weight:g}"] = least_squares(products, scored, 2 * has, weights)
    means = {f"mean x {factor:g}": factor * has[told] / has[told].sum(axis=0) for factor in FACTORS}
    means["learned mean"] = np.linalg.solve(
        products[told, told] + 0.5 * np.eye(len(about.texts)), 2 * has[told]
    )
    for kind, mean in means.items():
        left = 2 * has[:n] - products[:n, told] @ mean
        found[kind] = least_squares(products[:n, :n], scored[:, :n], left) + scored[:, told] @ mean
    return {kind: 100 * float(np.mean(scores.argmax(axis=1) == true)) for kind, scores in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--sets", default="trec,news,amazon,icd")
    parser.add_argument("--rows", default="1,3,10")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    lines: list[dict[str, float]] = []
    for name in asked.sets.split(","):
        for rows in map(int, asked.rows.split(",")):
            runs = [accuracies(asked.folder, name, rows, seed) for seed in range(asked.seeds)]
            lines.append({kind: float(np.mean([run[kind] for run in runs])) for kind in runs[0]})
            if len(lines) == 1:
                print(f"| set | rows per class | {' | '.join(lines[0])} |\n{'|---' * (len(lines[0]) + 2)}|")
            print(
                f"| {name} | {rows} | {' | '.join(f'{value:.1f}' for value in lines[-1].values())} |",
                flush=True,
            )
    over_all = {kind: float(np.mean([line[kind] for line in lines])) for kind in lines[0]}
    print(f"| all | | {' | '.join(f'{value:.1f}' for value in over_all.values())} |")
    best = max((kind for kind in over_all if "mean" in kind), key=over_all.__getitem__)
    behind = over_all[best] - over_all["rows of weight 1"]
    print(
        f"rows of weight 1 are {behind:+.1f} points behind the best prior mean ({best}); the bar is {MOST_BEHIND}"
    )
    return int(behind > MOST_BEHIND)


if __name__ == "__main__":
    sys.exit(main())
