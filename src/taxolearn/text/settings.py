"""The settings of `TextFeatures`, checked in one place for `fit` and for models read from disk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from taxolearn.errors import DataError
from taxolearn.structure.names import show

# analyzer -> the kinds of features, in the order of their columns
KINDS: dict[str | None, tuple[str, ...]] = {
    "word": ("word",),
    "char": ("char",),
    "word+char": ("word", "char"),
    None: (),
}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise `DataError` for the first setting that is not valid.

    >>> check_settings({"analyzer": "words"})
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: analyzer='words' is not valid; use 'word', 'char', 'word+char' or None
    """
    for name, value in settings.items():
        valid, expected = _RULES[name]
        if not valid(value):
            raise DataError(f"{name}={show(value)} is not valid; use {expected}")
    if settings["weighting"] == "bm25" and settings["sublinear_tf"]:
        raise DataError(
            "sublinear_tf=True is for weighting='tfidf'; BM25 dampens counts by itself, through k1"
        )


def setting_names() -> tuple[str, ...]:
    """All settings there are.

    >>> "analyzer" in setting_names()
    True
    """
    return tuple(_RULES)


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return valid settings with Python's own types, as a model file holds them.

    >>> plain_settings({"min_df": np.int64(2), "word_ngrams": [1, 2], "dtype": np.float32})
    {'min_df': 2, 'word_ngrams': (1, 2), 'dtype': 'float32'}
    """
    return {name: _plain(name, value) for name, value in settings.items()}


def _plain(name: str, value: Any) -> Any:
    if name.endswith("_ngrams"):
        return tuple(int(n) for n in value)
    if name == "dtype":
        return np.dtype(value).name
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _one_of(*choices: str | None) -> tuple[Callable[[Any], bool], str]:
    *most, last = map(repr, choices)
    return lambda value: (value is None or isinstance(value, str)) and value in choices, (
        f"{', '.join(most)} or {last}"
    )


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not _is_flag(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not _is_flag(value) and math.isfinite(value)


def _is_range(value: Any) -> bool:
    pair = isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_whole, value))
    return pair and 1 <= value[0] <= value[1]


def _is_min_df(value: Any) -> bool:
    return value >= 1 if _is_whole(value) else _is_number(value) and 0 <= value <= 1


def _is_float_dtype(value: Any) -> bool:
    try:
        return np.dtype(value) in (np.float32, np.float64) and value is not None
    except TypeError:
        return False


_FLAG = (_is_flag, "True or False")
_RANGE = (_is_range, "a pair (shortest, longest) of whole numbers from 1 on")
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "analyzer": _one_of(*KINDS),
    "word_ngrams": _RANGE,
    "char_ngrams": _RANGE,
    "weighting": _one_of("tfidf", "bm25"),
    "sublinear_tf": _FLAG,
    "k1": (lambda value: _is_number(value) and value >= 0, "a number from 0 on"),
    "b": (lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1"),
    "min_df": (_is_min_df, "a whole number of texts from 1 on, or a share of them from 0.0 to 1.0"),
    "max_features": (
        lambda value: value is None or (_is_whole(value) and value >= 1),
        "None or a whole number from 1 on",
    ),
    "lowercase": _FLAG,
    "strip_accents": _one_of("ascii", "unicode", None),
    "norm": _one_of("l1", "l2", None),
    "dtype": (_is_float_dtype, "'float32' or 'float64'"),
}
