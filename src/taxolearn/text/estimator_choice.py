"""The choice of text features for an estimator, which is the judge itself."""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

from sklearn.base import clone

from taxolearn.errors import DataError, TaxolearnError
from taxolearn.methods.base import VectorClassifier
from taxolearn.structure.names import show
from taxolearn.text.choice import FitScore, choose_text_features
from taxolearn.text.embedder import STATIC
from taxolearn.text.embedders import embedder_of
from taxolearn.text.features import TextFeatures
from taxolearn.text.label_texts import LabelRows, label_names, label_rows
from taxolearn.text.mixture import KINDS, Trial, choose_mixture, rounds, table_of
from taxolearn.text.static_words import static_words_installed

# Texts that features are chosen on, at most: differences between candidates show on these as on all.
_MAX_TEXTS = 10_000


def choose_features(
    estimator: VectorClassifier, texts: list[str], y: Any, *, random_state: Any, verbose: int
) -> tuple[TextFeatures, list[dict[str, Any]]]:
    """The features, not fitted, on which the estimator is best on held-out texts, and what was tried.

    >>> from taxolearn import OneVsRestSVM
    >>> texts, y = ["left femur", "burnt skin", "right femur", "itching skin"] * 3, ["bone", "skin"] * 6
    >>> features, tried = choose_features(OneVsRestSVM(), texts, y, random_state=0, verbose=0)
    >>> features, len(tried)
    (TextFeatures(sublinear_tf=True, word_ngrams=(1, 1)), 5)
    """
    fit_score = _held_out_score(estimator, verbose)
    return choose_text_features(texts, y, fit_score, max_texts=_MAX_TEXTS, random_state=random_state)


class Prepared(NamedTuple):
    """What a text classifier is fitted with: features, not fitted; texts about classes and their weight; what was
    tried.

    >>> Prepared(TextFeatures(), None, 0.0, []).label_weight
    0.0
    """

    features: TextFeatures
    about: LabelRows | None
    label_weight: float
    tried: list[dict[str, Any]]


def prepare(model: Any, estimator: VectorClassifier, texts: list[str], y: Any) -> Prepared:
    """Choose what the parameters of a `TextClassifier` leave open.

    >>> from taxolearn import OneVsRestSVM, TextClassifier
    >>> model = TextClassifier(features=TextFeatures(), label_texts="names", label_weight=0.5)
    >>> prepared = prepare(model, OneVsRestSVM(), ["left femur", "burnt skin"], ["Bone", "Skin"])
    >>> prepared.about.texts, prepared.label_weight
    (['Bone', 'Skin'], 0.5)
    """
    about = None
    if model.label_texts is not None:
        about = label_rows(model.label_texts, estimator.taxonomy, label_names(y))
    given = model.label_weight
    tried: list[dict[str, Any]] = []
    weight = 0.0 if about is None else 1.0 if given is None else float(given)
    weigh_labels = about is not None and given is None and bool(texts)
    kind = _kind(model.features)
    embedder = None if kind is None else _embedder(model.embedder, kind)
    if kind is None:
        features = clone(model.features)
    elif kind == "embeddings":
        features = TextFeatures(analyzer=None, embedder=embedder)
    else:
        features = TextFeatures(sublinear_tf=True)
    if kind is not None and embedder is None and texts:
        seeds = {"random_state": model.random_state, "verbose": model.verbose}
        features, tried = choose_features(estimator, texts, y, **seeds)
    to_try = rounds("ngrams" if embedder is None or kind is None else kind, embedder, weigh_labels)
    start = Trial(features, weight)
    if not to_try:
        return Prepared(features, about, weight, tried)
    best, judged = choose_mixture(
        estimator,
        start,
        to_try,
        texts,
        y,
        about,
        max_texts=_MAX_TEXTS,
        random_state=model.random_state,
        verbose=model.verbose,
    )
    if judged:
        tried = [entry | {"chosen": False} for entry in tried] + table_of(judged)
    return Prepared(best.features, about, best.label_weight, tried)


def _kind(features: Any) -> str | None:
    """What is chosen among; None where the features are given."""
    if features is None:
        return "auto"
    if isinstance(features, TextFeatures):
        return None
    if isinstance(features, str) and features in KINDS:
        return features
    raise DataError(
        f"features={show(features)} is not valid; give a TextFeatures, 'auto', 'ngrams', 'embeddings' or 'both'"
    )


def _embedder(given: Any, kind: str) -> Any:
    """The embedder that candidates use; None where there is none, and none is needed."""
    if given is not None:
        embedder_of(given)  # says what is missing, before anything is learned
        return given
    if kind == "ngrams" or (kind == "auto" and not static_words_installed()):
        return None
    embedder_of(STATIC)
    return STATIC


def _held_out_score(estimator: VectorClassifier, verbose: int) -> FitScore:
    """The method itself as the judge of features, solved less exactly."""
    judge = estimator._judge()

    def fit_score(X_train: Any, y_train: Any, X_valid: Any, y_valid: Any) -> float:
        with warnings.catch_warnings():
            # On a part of the rows classes are missing; that is no news to the user.
            warnings.simplefilter("ignore")
            try:
                score = clone(judge).fit(X_train, y_train).score(X_valid, y_valid)
            except TaxolearnError:  # too few rows or classes; the fit on all rows says so if it cannot either
                score = 0.0
        if verbose:
            print(
                f"taxolearn: {X_train.shape[1]:,} features, held-out accuracy {score:.4f}",
                file=sys.stderr,
                flush=True,
            )
        return float(score)

    return fit_score
