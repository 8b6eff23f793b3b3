"""The choice of settings by held-out score."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from taxolearn.errors import DataError
from taxolearn.text import TextFeatures, choose_text_features, default_candidates

TEXTS = [
    f"{side} {bone} case{i}" for i in range(10) for side in ("left", "right") for bone in ("femur", "hip")
]
LABELS = [text.split()[1] for text in TEXTS]


def n_features(X_train, y_train, X_valid, y_valid):
    return X_train.shape[1]


def test_the_best_score_wins_and_the_table_tells():
    features, table = choose_text_features(TEXTS, LABELS, n_features, random_state=0)
    best = max(range(len(table)), key=lambda i: table[i]["score"])
    assert features.get_params() == default_candidates()[best].get_params()
    assert not hasattr(features, "blocks_")
    assert [entry["n_features"] for entry in table] == [entry["score"] for entry in table]
    assert table[0]["settings"] == {"word_ngrams": (1, 1), "sublinear_tf": True}
    assert all(entry["seconds"] >= 0 and entry["problem"] is None for entry in table)


def test_of_equals_the_first_wins():
    features, _ = choose_text_features(TEXTS, LABELS, lambda *parts: 0.5)
    assert features.get_params() == default_candidates()[0].get_params()


def test_rows_are_split_once_for_all_and_labels_go_along():
    seen = []

    def fit_score(X_train, y_train, X_valid, y_valid):
        assert X_train.shape == (30, X_valid.shape[1])
        assert X_valid.shape[0] == len(y_valid) == 10
        seen.append((tuple(y_train), tuple(y_valid)))
        return 0.0

    candidates = [TextFeatures(), TextFeatures(analyzer="char")]
    choose_text_features(TEXTS, TEXTS, fit_score, candidates=candidates, random_state=1)
    assert seen[0] == seen[1]
    assert sorted(seen[0][0] + seen[0][1]) == sorted(TEXTS)
    assert TextFeatures().fit(seen[0][0]).transform(seen[0][1]).shape[0] == 10


def test_large_corpora_are_sampled():
    sizes = []

    def fit_score(X_train, y_train, X_valid, y_valid):
        sizes.append((X_train.shape[0], X_valid.shape[0]))
        return 0.0

    choose_text_features(TEXTS, LABELS, fit_score, candidates=[TextFeatures()], max_texts=20, held_out=0.5)
    arguments = {"candidates": [TextFeatures()], "held_out": 0.5}
    choose_text_features(["left hip"] * 9, ["x"] * 9, fit_score, max_characters=32, **arguments)
    choose_text_features(["left hip"] * 9, ["x"] * 9, fit_score, max_characters=1, **arguments)
    assert sizes == [(10, 10), (2, 2), (1, 1)]


@pytest.mark.parametrize(
    "make",
    [
        tuple,
        np.array,
        pd.Series,
        lambda y: pd.Series(y, index=range(100, 140)),
        lambda y: [[label, "bone"] for label in y],
        lambda y: sparse.csc_array(np.eye(len(y))),
        lambda y: pd.DataFrame({"level": y}),
    ],
    ids=["tuple", "array", "series", "indexed series", "lists", "sparse", "table"],
)
def test_forms_of_labels(make):
    def fit_score(X_train, y_train, X_valid, y_valid):
        size = y_train.shape[0] if hasattr(y_train, "shape") else len(y_train)
        assert size == X_train.shape[0]
        return 0.0

    choose_text_features(TEXTS, make(LABELS), fit_score, candidates=[TextFeatures()])


def test_a_candidate_without_features_is_skipped():
    candidates = [TextFeatures(min_df=1000), TextFeatures()]
    features, table = choose_text_features(TEXTS, LABELS, lambda *parts: -3.0, candidates=candidates)
    assert features.min_df == 1
    assert math.isnan(table[0]["score"])
    assert "min_df=1000" in table[0]["problem"]
    with pytest.raises(DataError, match="none of the candidates could be fitted"):
        choose_text_features(TEXTS, LABELS, n_features, candidates=candidates[:1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": ["one"], "labels": ["x"]}, "at least 2"),
        ({"labels": LABELS[:-1]}, "39 labels for 40 texts"),
        ({"labels": None}, "0 labels for 40 texts"),
        ({"texts": [*TEXTS[:-1], None]}, "row 39 of texts is missing"),
        ({"candidates": []}, "candidates is empty"),
        ({"candidates": ["word"]}, "candidates holds 'word'"),
        ({"held_out": 0.0}, "held_out=0.0"),
        ({"max_texts": 1}, "max_texts=1"),
        ({"fit_score": lambda *parts: float("nan")}, "fit_score returned nan"),
    ],
)
def test_what_cannot_be_used(arguments, message):
    with pytest.raises(DataError, match=message):
        choose_text_features(**{"texts": TEXTS, "labels": LABELS, "fit_score": n_features, **arguments})
