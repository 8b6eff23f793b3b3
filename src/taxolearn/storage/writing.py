"""Fitted models to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taxolearn.errors import ModelError
from taxolearn.registry import method_of
from taxolearn.storage.folders import write_model

TEXT_CLASSIFIER = ("TextClassifier", "taxolearn.text.text_classifier")


def save_model(model: Any, folder: str | Path) -> None:
    """Write a fitted model to a folder; everything is checked before anything is written.

    >>> import tempfile, taxolearn
    >>> model = taxolearn.OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, folder)
    ...     taxolearn.load(folder).certificate_.gap == model.certificate_.gap
    True
    """
    kind = type(model)
    if not model.__sklearn_is_fitted__():
        raise ModelError(f"this {kind.__name__} is not fitted yet; call fit before save")
    if not is_own(kind):
        raise ModelError(f"{kind.__name__} is not one of taxolearn's methods; load could not make it")
    write_model(folder, *model._pack())


def is_own(kind: type) -> bool:
    """Whether a class is one that `load` can make: a method of the registry, or TextClassifier.

    >>> is_own(dict)
    False
    """
    if (kind.__name__, kind.__module__) == TEXT_CLASSIFIER:
        return True
    method = method_of(kind.__name__)
    return method is not None and kind.__module__ == method.home
