"""Names of classes and nodes as JSON and back, each with its own type: 1, "1", True and (1,) stay apart."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any

from taxolearn.errors import ModelError
from taxolearn.storage.values import all_plain_text, decode_scalar, encode_scalar

_MAX_DEPTH = 20  # levels of tuples in a name


def encode_names(names: Iterable[Any]) -> list[Any]:
    """Return names as a JSON list; str, int, float and bool stand for themselves, the rest is tagged.

    Tuples of names are names. NumPy scalars are stored as the Python value they equal.

    >>> encode_names(["cat", 7, (1, "x"), b"ab"])
    ['cat', 7, {'tuple': [1, 'x']}, {'bytes': '6162'}]
    >>> encode_names(["cat", frozenset()])
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: name frozenset() is a frozenset, which a model file cannot hold; names \
may be str, int, float, bool, bytes and tuples of these
    """
    names = list(names)
    if all_plain_text(names):
        return names
    return [_encode(name, name, _MAX_DEPTH) for name in names]


def decode_names(encoded: Any) -> tuple[Any, ...]:
    """Undo `encode_names`; anything it cannot have written is a `ModelError`.

    >>> decode_names(["cat", 7, {"tuple": [1, "x"]}])
    ('cat', 7, (1, 'x'))
    """
    if type(encoded) is not list:
        raise ModelError("the names are not a list")
    if all(type(name) is str for name in encoded):
        return tuple(encoded)
    return tuple(_decode(name, _MAX_DEPTH) for name in encoded)


def _encode(name: Any, whole: Any, depth: int) -> Any:
    if type(name) is tuple:
        if depth == 0:
            raise ModelError(f"a name is a tuple nested more than {_MAX_DEPTH} levels deep")
        return {"tuple": [_encode(part, whole, depth - 1) for part in name]}
    try:
        return encode_scalar(name, "")
    except TypeError as error:
        shown = reprlib.repr(whole)
        what = f"name {shown} is" if name is whole else f"the tuple {shown} holds"
        raise ModelError(
            f"{what} a {error}, which a model file cannot hold; "
            "names may be str, int, float, bool, bytes and tuples of these"
        ) from None


def _decode(encoded: Any, depth: int) -> Any:
    if type(encoded) in (str, int, float, bool):
        return encoded
    if type(encoded) is not dict or len(encoded) != 1:
        raise ModelError(f"a {type(encoded).__name__} is not an encoded name")
    [(kind, payload)] = encoded.items()
    if kind != "tuple":
        return decode_scalar(kind, payload)
    if type(payload) is not list or depth == 0:
        raise ModelError("an encoded tuple is not a list, or is nested too deep")
    return tuple(_decode(part, depth - 1) for part in payload)
