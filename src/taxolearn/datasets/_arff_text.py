"""The lexical level of ARFF: quoted names, comma-separated values, sparse cells."""

from __future__ import annotations

import re

from taxolearn.datasets._files import PathLike, quoted
from taxolearn.errors import FileFormatError

_QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_NAME = re.compile(rf"""(?:{_QUOTED}|([^\s{{'"]+))\s*""", re.DOTALL)
_VALUE = re.compile(rf"""\s*(?:(?:{_QUOTED})\s*|([^,'"]*))(?:,|$)""", re.DOTALL)
_POSITION = re.compile(r"\s*([0-9]{1,9})\s+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_TO_ESCAPE = {"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def _unquoted(found: re.Match[str]) -> str:
    single, double, plain = found.groups()
    quotation = single if single is not None else double
    if quotation is None:
        return str(plain).strip()
    return _ESCAPED.sub(lambda escape: _LETTERS.get(escape[1], escape[1]), quotation)


def quote(text: str) -> str:
    r"""`text` as ARFF holds it: in single quotes unless it is a plain word.

    >>> print(quote("size"), quote("it's 5"))
    size 'it\'s 5'
    """
    if _PLAIN.fullmatch(text):
        return text
    return "'" + "".join(_TO_ESCAPE.get(letter, letter) for letter in text) + "'"


def split_name(text: str) -> tuple[str, str]:
    """The name that starts `text`, and the rest; the name is "" when there is none.

    >>> split_name("'my size' numeric")
    ('my size', 'numeric')
    """
    found = _NAME.match(text)
    return ("", text) if found is None else (_unquoted(found), text[found.end() :].strip())


def split_values(path: PathLike, line: int, text: str) -> list[str]:
    """The comma-separated values of `text`, without their quotes.

    >>> split_values("rows.arff", 1, "1, 'a, b' ,?")
    ['1', 'a, b', '?']
    """
    if "'" not in text and '"' not in text:
        return [part.strip() for part in text.split(",")]
    values = []
    at = 0
    while True:
        value, at, more = _next_value(path, line, text, at)
        values.append(value)
        if not more:
            return values


def split_cells(path: PathLike, line: int, text: str) -> dict[int, str]:
    """The cells `position value, position value` of a sparse row.

    >>> split_cells("rows.arff", 1, "0 1.5, 7 'a, b'")
    {0: '1.5', 7: 'a, b'}
    """
    cells: dict[int, str] = {}
    at, more = 0, bool(text.strip())
    while more:
        found = _POSITION.match(text, at)
        if found is None:
            raise FileFormatError(path, line, f"expected 'position value', found {quoted(text[at:].strip())}")
        position = int(found[1])
        if position in cells:
            raise FileFormatError(path, line, f"expected each position once, found {position} twice")
        cells[position], at, more = _next_value(path, line, text, found.end())
    return cells


def _next_value(path: PathLike, line: int, text: str, at: int) -> tuple[str, int, bool]:
    """The value at `at`, where the next one starts, and whether there is a next one."""
    found = _VALUE.match(text, at)
    if found is None:
        raise FileFormatError(path, line, f"expected a value and a comma, found {quoted(text[at:])}")
    return _unquoted(found), found.end(), found[0].endswith(",")
