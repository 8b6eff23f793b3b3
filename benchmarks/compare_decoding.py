"""Decisions of least expected cost beside the rules of thumb for reading answers off probabilities.

    python benchmarks/compare_decoding.py FOLDER_OF_DATA [SET ...]

One fit of softmax regression per set, the same probabilities for all. The rules of thumb are those that Plaud et al.
(To Each Metric Its Decoding, ICML 2025) compare with; answers are classes for

- the likeliest class; from the root down to the likeliest child; the class with the largest probability times that of
  its parent (HiE, Jain et al. 2023); the class of least expected tree loss unless one is likelier than 0.5 (Karthik et
  al. 2021, as Plaud et al. changed it);

and any nodes for

- the most informative node of probability 0.5 or more; plurality: down while no node aside is likelier; the largest
  probability times information (Deng et al. 2012); the likeliest node of so much information at least, the best of nine
  amounts by the test rows themselves, which favours this rule.

The information of a node is log(classes) - log(classes below it). Bars, by paired tests over the test rows (normal,
two-sided, p < .01): the tree loss of decision="tree_loss" is not above that of any rule for classes; with inner=True
neither is it above that of any rule, nor the F1 of paths by decision="hierarchical_f1" below it. Exits with 1 when a
bar is missed.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _data import load
from check_coverage import C_OF_SET
from scipy import stats

from taxolearn import RecursiveLogistic

SETS = ("clef", "trec_question", "lshtc1_dryrun", "20news_bydate")
LEVEL = 0.01
AMOUNTS = np.linspace(0.1, 0.9, 9)  # shares of the largest information


class Rows:
    """Probabilities of classes and nodes, and what answers cost; labels and answers are nodes of a tree."""

    def __init__(self, p: Any, classes: Any, labels: Any, tree: Any) -> None:
        self.p, self.classes, self.labels, self.tree = p, classes, labels, tree
        below = tree.ancestor_matrix(classes)
        self.chance = np.asarray(p @ below)
        size = np.asarray(below.sum(axis=0)).ravel()
        self.known = size > 0  # nodes that lead to a class
        self.information = np.log(len(classes)) - np.log(np.maximum(size, 1))
        self.children = [
            [c for c in tree.child_indices[a:b] if self.known[c]]
            for a, b in zip(tree.child_indptr[:-1], tree.child_indptr[1:], strict=True)
        ]

    def loss(self, nodes: Any) -> Any:
        return self.tree.distance(self.labels, nodes) / 2

    def f1(self, nodes: Any) -> Any:
        """F1 of the paths without the root, row by row; an answer of the root has no node."""
        true, found = self.tree.depth[self.labels], self.tree.depth[nodes]
        both = (true + found - self.tree.distance(self.labels, nodes)) / 2
        return 2 * both / np.maximum(true + found, 1)


def likeliest(rows: Rows) -> Any:
    return rows.classes[rows.p.argmax(axis=1)]


def downward(rows: Rows, aside: bool) -> Any:
    """To the likeliest child as far as it goes; with `aside` while no node that was passed by is likelier."""
    found = np.zeros(len(rows.p), dtype=np.intp)
    for row, chance in enumerate(rows.chance):
        node, passed = 0, 0.0
        while rows.children[node]:
            order = sorted(rows.children[node], key=lambda child: -chance[child])
            if aside and len(order) > 1:
                passed = max(passed, float(chance[order[1]]))
            if aside and chance[order[0]] < passed:
                break
            node = order[0]
        found[row] = node
    return found


def times_parent(rows: Rows) -> Any:
    return rows.classes[(rows.p * rows.chance[:, rows.tree.parent[rows.classes]]).argmax(axis=1)]


def unless_sure(rows: Rows, decided: Any) -> Any:
    return np.where(rows.p.max(axis=1) >= 0.5, likeliest(rows), decided)


def half(rows: Rows) -> Any:
    return np.where((rows.chance >= 0.5) & rows.known, rows.information + 1e-9 * rows.tree.depth, -1).argmax(
        axis=1
    )


def informative(rows: Rows) -> Any:
    return np.where(rows.known, rows.chance * rows.information, -1).argmax(axis=1)


def of_information(rows: Rows, share: float) -> Any:
    enough = rows.known & (rows.information >= share * rows.information.max())
    return np.where(enough, rows.chance + 1e-9 * rows.tree.depth, -1).argmax(axis=1)


def paired(one: Any, other: Any) -> float:
    """p of equal means of two columns."""
    difference = np.asarray(one, dtype=float) - other
    spread = difference.std() / np.sqrt(len(difference))
    return 1.0 if spread == 0 else float(2 * stats.norm.sf(abs(difference.mean()) / spread))


def measure(folder: str, name: str) -> list[str]:
    """Print the table of one set; what falls short."""
    X, y, X_test, y_test, tree = load(folder, name)
    began = time.process_time()
    model = RecursiveLogistic(tree, loss="softmax", C=C_OF_SET[name], tol=1e-2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    known = np.isin(y_test, model.classes_)
    X_test, y_test = X_test[known], y_test[known]

    def nodes(names: Any) -> Any:
        return np.asarray(tree.ids_of(np.asarray(names).tolist()), dtype=np.intp)

    rows = Rows(model.predict_proba(X_test), nodes(model.classes_), nodes(y_test), tree)
    ask: Callable[..., Any] = lambda **decision: nodes(model.predict(X_test, **decision))  # noqa: E731
    by_loss = ask(decision="tree_loss")
    of_classes = {
        "likeliest class": likeliest(rows),
        "from the root down": downward(rows, aside=False),
        "times its parent": times_parent(rows),
        "tree loss unless sure": unless_sure(rows, by_loss),
    }
    of_nodes = {
        "half": half(rows),
        "plurality": downward(rows, aside=True),
        "times information": informative(rows),
    }
    tried = [of_information(rows, share) for share in AMOUNTS]
    of_nodes["information, best for tree loss"] = min(tried, key=lambda found: rows.loss(found).mean())
    of_nodes["information, best for F1"] = max(tried, key=lambda found: rows.f1(found).mean())
    ours = {
        "tree_loss": by_loss,
        "hierarchical_f1": ask(decision="hierarchical_f1"),
        "tree_loss, inner": ask(decision="tree_loss", inner=True),
        "hierarchical_f1, inner": ask(decision="hierarchical_f1", inner=True),
    }
    print(f"\n| {name}, {len(y_test):,} test rows | accuracy | tree loss | F1 of paths |\n|---|---|---|---|")
    for title, found in {**of_classes, **of_nodes, **ours}.items():
        figures = np.mean(found == rows.labels), rows.loss(found).mean(), rows.f1(found).mean()
        print(f"| {title} | {100 * figures[0]:.1f} | {figures[1]:.4f} | {100 * figures[2]:.2f} |")
    short = []
    for title, found in {**of_classes, **of_nodes}.items():
        for kind in ["tree_loss"] * (title in of_classes) + ["tree_loss, inner"]:
            mine, theirs = rows.loss(ours[kind]), rows.loss(found)
            if mine.mean() > theirs.mean() and paired(mine, theirs) < LEVEL:
                short.append(f"{name}: {title} has less tree loss than {kind}")
        mine, theirs = rows.f1(ours["hierarchical_f1, inner"]), rows.f1(found)
        if mine.mean() < theirs.mean() and paired(mine, theirs) < LEVEL:
            short.append(f"{name}: {title} has a larger F1 than hierarchical_f1, inner")
    print(f"{time.process_time() - began:.0f} CPU s", flush=True)
    return short


def main() -> int:
    folder, names = sys.argv[1], sys.argv[2:] or SETS
    short = [line for name in names for line in measure(folder, name)]
    for line in short:
        print("SHORT", line)
    print(f"decoding: {len(names)} sets, {len(short)} checks short")
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())
