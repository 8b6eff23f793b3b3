"""Models to serve, of every kind that answers differently."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from taxolearn import OneVsRestLogistic, OneVsRestSVM, Taxonomy, Term, TextClassifier
from taxolearn.text import TextFeatures

WORDS = {
    "Cat": ["purr", "meow", "whiskers", "fur"],
    "Dog": ["bark", "woof", "fetch", "fur"],
    "Oak": ["acorn", "leaf", "bark", "wood"],
    "Rose": ["petal", "thorn", "leaf", "red"],
}
TREE = Taxonomy.from_edges(
    [
        ("Life", "Animal"),
        ("Life", "Plant"),
        ("Animal", "Cat"),
        ("Animal", "Dog"),
        ("Plant", "Oak"),
        ("Plant", "Rose"),
    ]
).with_terms({"Cat": Term("House cat", "A.1", ("mouser",), id="http://example.org/cat")})


def pet_texts(n_rows: int, seed: int = 0) -> tuple[list[str], list[str]]:
    choice = random.Random(seed)
    labels = (list(WORDS) * (n_rows // len(WORDS) + 1))[:n_rows]
    return [" ".join(choice.choices(WORDS[label], k=4)) for label in labels], labels


def calibrated_pets(taxonomy: Taxonomy = TREE) -> Any:
    """Texts, one label each, with probabilities and calibrated."""
    model = TextClassifier(OneVsRestLogistic(taxonomy, C=10.0), TextFeatures(word_ngrams=(1, 1)))
    return model.fit(*pet_texts(80)).calibrate(*pet_texts(120, seed=1))


def plain_pets(taxonomy: Taxonomy | None = TREE) -> Any:
    """The same with scores alone."""
    return TextClassifier(OneVsRestSVM(taxonomy), TextFeatures(word_ngrams=(1, 1))).fit(*pet_texts(40))


def label_sets() -> Any:
    """Texts with several labels each."""
    texts, labels = pet_texts(80)
    both = [f"{one} {other}" for one, other in pairwise(texts)]
    y = [[one, other] for one, other in pairwise(labels)]
    model = TextClassifier(OneVsRestLogistic(TREE), TextFeatures(word_ngrams=(1, 1)))
    return model.fit(texts + both, [[label] for label in labels] + y)


def points() -> Any:
    """Rows of two numbers."""
    return OneVsRestSVM(TREE).fit(
        [[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [2.0, 1.0]], ["Cat", "Dog", "Oak", "Rose"]
    )
