"""Header values as JSON and back, exactly: tuples stay tuples, infinities survive, bytes are allowed."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from taxolearn.errors import ModelError

_MAX_DEPTH = 50  # levels of lists and dicts in a header
_NON_FINITE = ("inf", "-inf", "nan")
_HEX_INTEGER = re.compile(r"-?0x[0-9a-f]+")
# Beyond 64 bits other JSON readers lose digits, and Python itself refuses more than 4,300 of them.
_PLAIN_INTEGERS = range(-(2**63), 2**63)


def encode_scalar(value: Any, mark: str) -> Any:
    """Return a str, int, float, bool or bytes as JSON; raise `TypeError` for any other type.

    What JSON cannot say becomes an object with the one key `mark` + type. NumPy scalars become the Python
    value they equal.

    >>> encode_scalar(b"ab", "$"), encode_scalar(float("inf"), ""), encode_scalar(np.int64(3), "")
    ({'$bytes': '6162'}, {'float': 'inf'}, 3)
    """
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if kind is bool:
        return value
    if kind is str:
        _check_unicode(value)
        return value
    if kind is int:
        return value if value in _PLAIN_INTEGERS else {f"{mark}int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {f"{mark}float": repr(value)}
    if kind is bytes:
        return {f"{mark}bytes": value.hex()}
    raise TypeError(kind.__qualname__)


def decode_scalar(kind: str, payload: Any) -> Any:
    """Undo the objects of `encode_scalar`, given the key without its mark.

    >>> decode_scalar("bytes", "6162")
    b'ab'
    """
    if isinstance(payload, str):
        if kind == "bytes":
            try:
                return bytes.fromhex(payload)
            except ValueError:
                raise ModelError(f"{payload[:40]!r} is not a hexadecimal string of bytes") from None
        if kind == "float" and payload in _NON_FINITE:
            return float(payload)
        if kind == "int" and _HEX_INTEGER.fullmatch(payload):
            return int(payload, 16)
    raise ModelError(f"an encoded value of kind {kind[:40]!r} is not understood")


def encode_header(header: dict[str, Any]) -> dict[str, Any]:
    """Return a header of plain values as JSON; an error names the entry that cannot be stored.

    >>> encode_header({"C": 1.0, "ngram_range": (1, 2)})
    {'C': 1.0, 'ngram_range': {'$tuple': [1, 2]}}
    >>> encode_header({"params": {"callback": len}})
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: header entry params.callback is a builtin_function_or_method, which a model \
file cannot hold; use plain numbers, strings, lists, tuples and dicts
    """
    if type(header) is not dict:
        raise ModelError(f"the header must be a dict, not {type(header).__qualname__}")
    encoded: dict[str, Any] = _encode(header, "", _MAX_DEPTH)
    return encoded


def decode_header(encoded: dict[str, Any]) -> dict[str, Any]:
    """Undo `encode_header`.

    >>> decode_header({"ngram_range": {"$tuple": [1, 2]}})
    {'ngram_range': (1, 2)}
    """
    header = _decode(encoded, _MAX_DEPTH + 1)
    if type(header) is not dict:
        raise ModelError("the header is not an object")
    return header


def all_plain_text(values: list[Any]) -> bool:
    """Whether all are str; then JSON holds them as they are, and a million names take no time.

    >>> all_plain_text(["cat", "dog"]), all_plain_text(["cat", 7])
    (True, False)
    """
    if not all(type(value) is str for value in values):
        return False
    _check_unicode("".join(values))
    return True


def _encode(value: Any, where: str, depth: int) -> Any:
    if depth < 0:
        raise ModelError(f"header entry {where[:80]} is nested more than {_MAX_DEPTH} levels deep")
    if value is None:
        return None
    if type(value) is dict:
        for key in value:
            if type(key) is not str or key.startswith("$"):
                raise ModelError(
                    f"header key {key!r} under {where or 'the top'} must be a string without a leading '$'"
                )
            _check_unicode(key)
        prefix = f"{where}." if where else ""
        return {key: _encode(entry, prefix + key, depth - 1) for key, entry in value.items()}
    if type(value) in (list, tuple):
        if type(value) is list and all_plain_text(value):
            return value
        entries = [_encode(entry, f"{where}[{i}]", depth - 1) for i, entry in enumerate(value)]
        return entries if type(value) is list else {"$tuple": entries}
    try:
        return encode_scalar(value, "$")
    except TypeError as error:
        raise ModelError(
            f"header entry {where} is a {error}, which a model file cannot hold; "
            "use plain numbers, strings, lists, tuples and dicts"
        ) from None


def _decode(value: Any, depth: int) -> Any:
    if depth < 0:
        raise ModelError("the header is nested too deep")
    if type(value) is list:
        if all(type(entry) is str for entry in value):
            return value
        return [_decode(entry, depth - 1) for entry in value]
    if type(value) is not dict:
        return value
    if not any(key.startswith("$") for key in value):
        return {key: _decode(entry, depth - 1) for key, entry in value.items()}
    if len(value) != 1:
        raise ModelError("an encoded value has more than one key")
    [(key, payload)] = value.items()
    if key != "$tuple":
        return decode_scalar(key[1:], payload)
    if type(payload) is not list:
        raise ModelError("an encoded tuple is not a list")
    return tuple(_decode(entry, depth - 1) for entry in payload)


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        culprit = text[max(error.start - 20, 0) : error.start + 20]
        raise ModelError(
            f"the text {culprit!r} holds a lone surrogate, which a model file cannot hold; clean it first"
        ) from None
