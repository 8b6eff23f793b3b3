"""The choice of text settings by held-out score, for those who do not want to choose."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from taxolearn.errors import DataError
from taxolearn.structure.names import show
from taxolearn.text.embedder import EmbedderError
from taxolearn.text.features import TextFeatures
from taxolearn.text.reading import check_one_label_each, check_texts

FitScore = Callable[[sparse.csr_array, Any, sparse.csr_array, Any], float]


def default_candidates() -> list[TextFeatures]:
    """The settings tried when none are given, the cheapest first.

    >>> [features.analyzer for features in default_candidates()]
    ['word', 'word', 'word', 'word+char', 'word+char']
    """
    return [
        TextFeatures(word_ngrams=(1, 1), sublinear_tf=True),
        TextFeatures(sublinear_tf=True),
        TextFeatures(weighting="bm25"),
        TextFeatures(analyzer="word+char", sublinear_tf=True, min_df=2),
        TextFeatures(analyzer="word+char", weighting="bm25", min_df=2),
    ]


def choose_text_features(
    texts: Iterable[str],
    labels: Any,
    fit_score: FitScore,
    *,
    candidates: Iterable[TextFeatures] | None = None,
    held_out: float = 0.25,
    max_texts: int = 20_000,
    max_characters: int = 5_000_000,
    random_state: Any = None,
) -> tuple[TextFeatures, list[dict[str, Any]]]:
    """Return the features with the best held-out score (not fitted), and a table of what was tried.

    Parameters
    ----------
    texts, labels
        The rows to learn from; labels may be a list, an array or a sparse matrix.
    fit_score : callable
        `fit_score(X_train, y_train, X_valid, y_valid)` fits a model on the first two and returns its score on
        the last two; more is better. It should be the method the features are for.
    candidates : iterable of TextFeatures, optional
        Settings to try, `default_candidates()` by default. Of equal scores the first one wins.
    held_out : float
        Share of the rows that scores are taken on.
    max_texts, max_characters : int
        Of a larger corpus, rows picked at random take part: at most so many, and at most so many characters.
    random_state : int, RandomState instance or None
        Decides the rows.

    Returns
    -------
    The chosen features, and for each candidate a dict of `settings` (those that are not the default),
    `score`, `n_features`, `seconds` and `problem` (None, or why the candidate could not be tried; its score
    is NaN then).

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> def fit_score(X_train, y_train, X_valid, y_valid):
    ...     return LinearSVC().fit(X_train, y_train).score(X_valid, y_valid)
    >>> texts = ["left femur", "right femur", "left tibia", "right tibia"] * 10
    >>> labels = [text.split()[1] for text in texts]
    >>> features, tried = choose_text_features(texts, labels, fit_score, random_state=0)
    >>> features, tried[0]["score"], len(tried)
    (TextFeatures(sublinear_tf=True, word_ngrams=(1, 1)), 1.0, 5)
    """
    rows = check_texts(texts)
    pick = row_picker(labels, len(rows))
    candidates = default_candidates() if candidates is None else list(candidates)
    _check(candidates, held_out, max_texts)
    chosen = _sample(rows, max_texts, max_characters, random_state)
    n_valid = min(max(round(held_out * len(chosen)), 1), len(chosen) - 1)
    # Sorted, so that rows keep their order.
    train, valid = sorted(chosen[n_valid:]), sorted(chosen[:n_valid])
    train_texts, valid_texts = ([rows[i] for i in part] for part in (train, valid))
    y_train, y_valid = pick(train), pick(valid)

    table: list[dict[str, Any]] = []
    for candidate in candidates:
        tried, start = clone(candidate), time.perf_counter()
        score, n_features, problem = math.nan, 0, None
        try:
            X_train = tried.fit_transform(train_texts)
        except EmbedderError:
            raise
        except DataError as error:  # a vocabulary may be empty on a part of the texts
            problem = str(error)
        else:
            n_features = X_train.shape[1]
            score = float(fit_score(X_train, y_train, tried.transform(valid_texts), y_valid))
            if not math.isfinite(score):
                raise DataError(f"fit_score returned {score} for {candidate}; it must return a finite number")
        table.append(
            {
                "settings": _unusual(candidate),
                "score": score,
                "n_features": n_features,
                "seconds": time.perf_counter() - start,
                "problem": problem,
            }
        )
    usable = [position for position, entry in enumerate(table) if entry["problem"] is None]
    if not usable:
        raise DataError(f"none of the candidates could be fitted; the first: {table[0]['problem']}")
    best = max(usable, key=lambda position: table[position]["score"])
    return clone(candidates[best]), table


def _check(candidates: list[TextFeatures], held_out: float, max_texts: int) -> None:
    if not candidates:
        raise DataError("candidates is empty; give at least one TextFeatures")
    for candidate in candidates:
        if not isinstance(candidate, TextFeatures):
            raise DataError(f"candidates holds {show(candidate)}; give TextFeatures only")
    if not 0 < held_out < 1:
        raise DataError(f"held_out={held_out} is not valid; use a share between 0 and 1")
    if max_texts < 2:
        raise DataError(f"max_texts={max_texts} is not valid; use a whole number from 2 on")


def _sample(rows: list[str], max_texts: int, max_characters: int, random_state: Any) -> list[int]:
    """Some rows in random order: as many as fit, and at least two."""
    if len(rows) < 2:
        raise DataError(f"there are {len(rows)} texts; a choice by held-out score needs at least 2")
    order: list[int] = check_random_state(random_state).permutation(len(rows))[:max_texts].tolist()
    sizes = np.cumsum([len(rows[row]) for row in order])
    return order[: max(int(np.searchsorted(sizes, max_characters, side="right")), 2)]


def row_picker(labels: Any, n_rows: int) -> Callable[[list[int]], Any]:
    """A function that takes some rows out of labels of any form.

    >>> row_picker(["a", "b", "c"], 3)([2, 0])
    ['c', 'a']
    """
    if isinstance(labels, list | tuple):
        n_labels, pick = len(labels), lambda part: [labels[i] for i in part]
    else:
        array = labels.tocsr() if sparse.issparse(labels) else np.asarray(labels)
        n_labels, pick = (array.shape or (0,))[0], lambda part: array[part]
    check_one_label_each(n_labels, n_rows)
    return pick


def _unusual(features: TextFeatures) -> dict[str, Any]:
    usual = TextFeatures().get_params()
    return {name: value for name, value in features.get_params().items() if value != usual[name]}
