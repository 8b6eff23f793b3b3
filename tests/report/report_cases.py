"""Small fitted models for the tests of reports: texts, features, trees, DAGs, none; one label and several."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from taxolearn import (
    NormalizedHierarchicalSVM,
    OneVsRestLogistic,
    OneVsRestSVM,
    RecursiveLogistic,
    Taxonomy,
    TextClassifier,
    TopDownSVM,
)
from taxolearn.text import TextFeatures

TREE = Taxonomy.from_paths(
    ["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Wolf", "Plant/Oak", "Plant/Rose", "Plant/Weed"]
)
DAG = Taxonomy.from_edges(
    [
        ("All", "Animal"),
        ("All", "Pet"),
        ("Animal", "Cat"),
        ("Pet", "Cat"),
        ("Animal", "Wolf"),
        ("Pet", "Rock"),
    ]
)
WORDS = {
    "Lion": "roar mane savanna paw",
    "Lynx": "ears snow paw fur",
    "Wolf": "howl moon fur pack",
    "Oak": "acorn leaf wood green",
    "Rose": "petal thorn leaf red",
    "Cat": "purr meow paw fur",
    "Rock": "stone grey hard still",
}


class Case(NamedTuple):
    """A fitted model and rows that it has not seen."""

    model: Any
    X: Any
    y: Any
    taxonomy: Taxonomy | None


def texts(names: list[str], n_rows: int, seed: int) -> tuple[list[str], list[str]]:
    drawn = np.random.default_rng(seed)
    y = [names[k] for k in drawn.integers(0, len(names), n_rows)]
    own = [WORDS[name].split() for name in y]
    everything = " ".join(WORDS[name] for name in names).split()
    rows = [" ".join([*drawn.choice(words, 2), *drawn.choice(everything, 2)]) for words in own]
    return rows, y


def _features(rows: list[str]) -> Any:
    vocabulary = sorted({word for words in WORDS.values() for word in words.split()})
    return np.array([[row.split().count(word) for word in vocabulary] for row in rows], dtype=float)


@cache
def case(name: str) -> Case:
    """A case by its name; fitted once."""
    leaves = ["Lion", "Lynx", "Wolf", "Oak", "Rose"]
    dag_names = ["Cat", "Wolf", "Rock"]
    if name == "texts":
        X, y = texts(leaves, 120, 0)
        model = TextClassifier(RecursiveLogistic(TREE), TextFeatures(word_ngrams=(1, 1))).fit(X, y)
        fresh = texts(leaves, 80, 1)
        return Case(model.calibrate(*texts(leaves, 60, 5)), *fresh, TREE)
    if name == "svm":
        X, y = texts(leaves, 120, 0)
        test, truth = texts(leaves, 80, 1)
        return Case(OneVsRestSVM(TREE).fit(_features(X), y), _features(test), truth, TREE)
    if name == "flat":
        X, y = texts(leaves, 120, 0)
        test, truth = texts(leaves, 80, 1)
        return Case(OneVsRestLogistic().fit(_features(X), y), _features(test), [*truth[:-1], "Moss"], None)
    if name == "dag":
        X, y = texts(dag_names, 90, 0)
        test, truth = texts(dag_names, 60, 1)
        return Case(NormalizedHierarchicalSVM(DAG).fit(_features(X), y), _features(test), truth, DAG)
    if name == "top down":
        X, y = texts(leaves, 120, 0)
        test, truth = texts(leaves, 80, 1)
        return Case(TopDownSVM(TREE).fit(_features(X), y), _features(test), truth, TREE)
    assert name in ("sets", "sets of a DAG", "flat sets")
    names, taxonomy = {
        "sets": (leaves, TREE),
        "sets of a DAG": (dag_names, DAG),
        "flat sets": (leaves, None),
    }[name]
    found = []
    for seed in (2, 4):
        first, a = texts(names, 90, seed)
        second, b = texts(names, 90, seed + 1)
        rows = [f"{one} {other}" for one, other in zip(first, second, strict=True)]
        found.append((_features(rows), [sorted({one, other}) for one, other in zip(a, b, strict=True)]))
    model = OneVsRestLogistic(taxonomy).fit(*found[0])
    return Case(model, *found[1], taxonomy)


CASES = ("texts", "svm", "flat", "dag", "top down", "sets", "sets of a DAG", "flat sets")
