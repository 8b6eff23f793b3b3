"""A small corpus under a small tree, and text classifiers fitted on it once a session."""

from __future__ import annotations

from functools import cache
from typing import Any

from taxolearn import OneVsRestSVM, Taxonomy, TextClassifier
from taxolearn.text import TextFeatures

TREE = Taxonomy.from_paths(["body/bone/femur", "body/bone/tibia", "body/skin", "mind/fear"])
TITLES = {"femur": "thigh bone", "fear": "phobia", "mind": "Mental disorders"}
TEXTS = [
    "fracture of left femur",
    "fracture of right femur, closed",
    "open fracture of the femur",
    "fracture of tibia",
    "left tibia, shaft, displaced",
    "tibia and fibula",
    "burn of skin",
    "itching skin and rash",
    "skin infection",
    "fear of heights",
    "fear of open places",
    "Fear, überall",
]
LABELS = ["femur"] * 3 + ["tibia"] * 3 + ["skin"] * 3 + ["fear"] * 3
SETS = [[name] if i % 4 else [name, "bone"] for i, name in enumerate(LABELS)]
NEW_TEXTS = [
    "a broken femur",
    "tibia",
    "rash of the skin",
    "fear, überall!",
    "",
    "nothing known",
    "Left FEMUR",
]


@cache
def text_model(labels: str = "names", analyzer: str = "word", titles: bool = True) -> TextClassifier:
    """A fitted text classifier; treat it as read-only."""
    features = TextFeatures(analyzer=analyzer, char_ngrams=(2, 3))
    estimator = OneVsRestSVM(taxonomy=TREE, C=3.0, random_state=0)
    model = TextClassifier(estimator, features, titles=TITLES if titles else None)
    y: Any = LABELS if labels == "names" else SETS
    return model.fit(TEXTS, y)
