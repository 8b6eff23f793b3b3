"""A fitted text classifier as the header and arrays of a model, and back: its parts side by side."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from taxolearn.errors import ModelError
from taxolearn.storage.classifiers import Arrays, entry, unpack_params
from taxolearn.storage.names import decode_names, encode_names
from taxolearn.text.features import TextFeatures


def pack_text_classifier(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a fitted text classifier.

    >>> from taxolearn import TextClassifier
    >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
    >>> header, arrays = pack_text_classifier(model)
    >>> header["method"], header["estimator"]["method"]
    ('TextClassifier', 'TaxonomyClassifier')
    >>> "text/word/idf" in arrays, "weights/intercept" in arrays
    (True, True)
    """
    estimator, arrays = model.estimator_._pack()
    features, feature_arrays = model.features_.pack()
    titles = None
    if model.titles is not None:
        titles = {"names": encode_names(model.titles), "titles": list(model.titles.values())}
    header = {
        "method": type(model).__name__,
        "params": {"random_state": model.random_state, "verbose": model.verbose},
        "titles": titles,
        # Whether the user chose the parts, so that fitting again chooses in the same way.
        "given": {"estimator": model.estimator is not None, "features": model.features is not None},
        "features": features,
        "tried": model.tried_,
        "estimator": estimator,
    }
    return header, arrays | feature_arrays


def unpack_text_classifier(kind: Any, header: dict[str, Any], arrays: Arrays, estimator: Any) -> Any:
    """Undo `pack_text_classifier`, given the estimator in it; whatever does not fit is a `ModelError`.

    >>> from taxolearn import TextClassifier
    >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
    >>> again = unpack_text_classifier(TextClassifier, *pack_text_classifier(model), model.estimator_)
    >>> again.predict(["femur"]).tolist()
    ['bone']
    """
    features = TextFeatures.unpack(entry(header, "features", dict), arrays)
    n_features = sum(len(block.vocabulary) for block in features.blocks_)
    if n_features != estimator.n_features_in_:
        columns = f"{estimator.n_features_in_:,} columns of weights"
        raise ModelError(f"{n_features:,} features of texts do not fit {columns}")
    given = entry(header, "given", dict)
    tried = entry(header, "tried", list)
    if not all(type(candidate) is dict for candidate in tried):
        raise ModelError("the header has no valid entry 'tried'")
    model = kind(
        clone(estimator) if entry(given, "estimator", bool) else None,
        clone(features) if entry(given, "features", bool) else None,
        **unpack_params(header, kind),
        titles=_titles(entry(header, "titles", dict | None)),
    )
    model.features_, model.estimator_, model.tried_ = features, estimator, tried
    return model


def _titles(stored: dict[str, Any] | None) -> dict[Any, str] | None:
    if stored is None:
        return None
    names, titles = decode_names(entry(stored, "names", list)), entry(stored, "titles", list)
    found = dict(zip(names, titles, strict=False))
    if not len(names) == len(titles) == len(found) or not all(type(title) is str for title in titles):
        raise ModelError("the titles are not strings, one a name")
    return found
