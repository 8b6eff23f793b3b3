"""Models from their folders."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from taxolearn.errors import ModelError, TaxolearnError
from taxolearn.registry import method_of
from taxolearn.storage.classifiers import Arrays, entry
from taxolearn.storage.folders import read_model
from taxolearn.storage.writing import TEXT_CLASSIFIER


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
    name = entry(header, "method", str)
    if name != TEXT_CLASSIFIER[0]:
        return _method(name)._unpack(header, arrays, full)
    inner = entry(header, "estimator", dict)
    estimator = _method(entry(inner, "method", str))._unpack(inner, arrays, full)
    return getattr(import_module(TEXT_CLASSIFIER[1]), name)._unpack(header, arrays, estimator)


def _method(name: str) -> Any:
    """The class of that name, if it is one of taxolearn's methods."""
    if name == TEXT_CLASSIFIER[0]:
        raise ModelError("a text classifier holds another one")
    method = method_of(name)
    if method is None:
        raise ModelError(f"the method {name[:40]!r} is not known to this version of taxolearn")
    return method.kind
