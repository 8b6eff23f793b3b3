"""What a text classifier is to be fitted with, where its parameters leave that open."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from sklearn.base import clone

from taxolearn.errors import DataError
from taxolearn.methods.base import VectorClassifier
from taxolearn.structure.names import show
from taxolearn.text.embedder import STATIC
from taxolearn.text.embedders import embedder_of
from taxolearn.text.features import TextFeatures
from taxolearn.text.label_texts import LabelRows, label_names, label_rows
from taxolearn.text.mixture import KINDS, Trial, choose_mixture, rounds, table_of, usual_ngrams
from taxolearn.text.static_words import static_words_installed


class Prepared(NamedTuple):
    """What a text classifier is fitted with: features, not fitted; texts about classes, their weight and the classes
    that have rows; what was tried.

    >>> Prepared(TextFeatures(), None, 0.0, [], []).label_weight
    0.0
    """

    features: TextFeatures
    about: LabelRows | None
    label_weight: float
    seen: list[Hashable]
    tried: list[dict[str, Any]]


def prepare(model: Any, estimator: VectorClassifier, texts: list[str], y: Any) -> Prepared:
    """Choose what the parameters of a `TextClassifier` leave open.

    >>> from taxolearn import OneVsRestSVM, TextClassifier
    >>> model = TextClassifier(features=TextFeatures(), label_texts="names", label_weight=0.5)
    >>> prepared = prepare(model, OneVsRestSVM(), ["left femur", "burnt skin"], ["Bone", "Skin"])
    >>> prepared.about.texts, prepared.label_weight
    (['Bone', 'Skin'], 0.5)
    """
    about, seen = None, []
    if model.label_texts is not None:
        seen = label_names(y, estimator.taxonomy)
        about = label_rows(model.label_texts, estimator.taxonomy, seen)
    given = model.label_weight
    weight = 0.0 if about is None else 1.0 if given is None else float(given)
    weigh_labels = about is not None and given is None and bool(texts)
    kind = _kind(model.features)
    embedder = _embedder(model.embedder, kind)
    if kind == "auto" and embedder is None:
        kind = "ngrams"
    if kind is None:
        features = clone(model.features)
    elif kind == "embeddings":
        features = TextFeatures(analyzer=None, embedder=embedder)
    else:
        features = usual_ngrams(texts).set_params(embedder=embedder)
    to_try = rounds(kind or "given", weigh_labels) if texts else []
    if not to_try:
        return Prepared(features, about, weight, seen, [])
    start = Trial(features, weight)
    seeds = {"random_state": model.random_state, "verbose": model.verbose}
    best, judged = choose_mixture(estimator, start, to_try, texts, y, about, **seeds)
    return Prepared(best.features, about, best.label_weight, seen, table_of(judged))


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


def _embedder(given: Any, kind: str | None) -> Any:
    """The embedder that candidates use; None where there is none, and none is needed."""
    if given is not None and kind in (None, "ngrams"):
        remedy = (
            "give TextFeatures(embedder=...)" if kind is None else "use 'both' or 'auto', or leave it out"
        )
        raise DataError(f"embedder={show(given)} has no part in these features; {remedy}")
    if kind is None:
        return None
    if given is not None:
        embedder_of(given)  # says what is missing, before anything is learned
        return given
    if kind == "ngrams" or (kind == "auto" and not static_words_installed()):
        return None
    embedder_of(STATIC)
    return STATIC
