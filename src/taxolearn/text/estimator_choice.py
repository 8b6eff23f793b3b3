"""The choice of text features for an estimator, which is the judge itself."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from sklearn.base import clone

from taxolearn.errors import TaxolearnError
from taxolearn.methods.base import VectorClassifier
from taxolearn.text.choice import FitScore, choose_text_features
from taxolearn.text.features import TextFeatures

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
