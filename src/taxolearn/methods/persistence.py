"""Fitted models to a folder and back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import taxolearn
from taxolearn.errors import ModelError, TaxolearnError
from taxolearn.methods.base import TaxonomyClassifier
from taxolearn.methods.stored_classifier import Arrays, entry, pack_classifier, unpack_classifier
from taxolearn.methods.stored_text import pack_text_classifier, unpack_text_classifier
from taxolearn.methods.text_classifier import TextClassifier
from taxolearn.models import read_model, write_model


def save(model: TaxonomyClassifier | TextClassifier, folder: str | Path) -> None:
    """Write a fitted model to a folder; everything is checked before anything is written.

    >>> import tempfile
    >>> model = taxolearn.OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder)
    ...     load(folder).certificate_.gap == model.certificate_.gap
    True
    """
    if not model.__sklearn_is_fitted__():
        raise ModelError(f"this {type(model).__name__} is not fitted yet; call fit before save")
    if _method(type(model).__name__) is not type(model):
        raise ModelError(f"{type(model).__name__} is not one of taxolearn's methods; load could not make it")
    packed = pack_text_classifier(model) if isinstance(model, TextClassifier) else pack_classifier(model)
    write_model(folder, *packed)


def load(folder: str | Path, *, verify: Literal["full", "sizes"] = "full") -> Any:
    """The model that was saved in the folder, ready to predict; its arrays are read-only views of the mapped file.

    `verify="full"` compares the file with its checksum and looks at every entry, which reads it through once.
    `verify="sizes"` compares sizes, names, dtypes and shapes only, and checks the entries of large sparse node vectors
    when they are used: a model of gigabytes is ready at once, and only what predictions touch is ever read.

    >>> load("no such folder")
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: cannot load a model from no such folder: there is no model.json
    """
    if verify not in ("full", "sizes"):
        raise ModelError(f"verify={verify!r} is not known; choose 'full' or 'sizes'")
    full = verify == "full"
    header, arrays = read_model(folder, verify=full)
    try:
        return _unpack(header, arrays, full)
    except TaxolearnError as error:
        reason = str(error)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        reason = f"the header does not fit the arrays ({error}); save the model again"
    raise ModelError(f"cannot load a model from {os.fspath(folder)}: {reason}")


def _unpack(header: dict[str, Any], arrays: Arrays, full: bool) -> Any:
    kind = _method(entry(header, "method", str))
    if kind is TextClassifier:
        inner = entry(header, "estimator", dict)
        kind = _method(entry(inner, "method", str))
        if kind is TextClassifier:
            raise ModelError("a text classifier holds another one")
        return unpack_text_classifier(header, arrays, unpack_classifier(kind, inner, arrays, full=full))
    return unpack_classifier(kind, header, arrays, full=full)


def _method(name: str) -> Any:
    """The class of that name, if it is one of taxolearn's methods."""
    kind = getattr(taxolearn, name) if name in taxolearn.__all__ else None
    if not isinstance(kind, type) or not issubclass(kind, TaxonomyClassifier | TextClassifier):
        raise ModelError(f"the method {name[:40]!r} is not known to this version of taxolearn")
    return kind
