"""Names of labels and nodes on their way from and to text files."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from taxolearn.datasets._files import PathLike, quoted
from taxolearn.errors import DataError, FileFormatError, LabelError, TaxonomyError

Structure = TypeVar("Structure")

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def name_reader(label_type: type) -> Callable[[str], Hashable]:
    """The function from a label's text to its name; it raises ValueError with what was expected.

    >>> name_reader(str)("07"), name_reader(int)("07")
    ('07', 7)
    """
    if label_type is str:
        return str
    if label_type is int:
        return _integer
    raise DataError(f"label_type must be str or int, found {label_type!r}")


def _integer(text: str) -> int:
    # int() also takes underscores and the digits of other scripts.
    if _INTEGER.fullmatch(text):
        return int(text)
    raise ValueError(f"expected an integer label, found {quoted(text)}; pass label_type=str to read names")


def name_texts(names: Iterable[Hashable], forbidden: re.Pattern[str], what: str) -> dict[Hashable, str]:
    """The text of each name; an error when the format cannot hold it or two names would become one.

    >>> name_texts(["a", 7], re.compile(r"[ ]"), "an edge file")
    {'a': 'a', 7: '7'}
    >>> name_texts(["a b"], re.compile(r"[ ]"), "an edge file")
    Traceback (most recent call last):
    ...
    taxolearn.errors.LabelError: the name 'a b' cannot be written to an edge file: ' ' has a meaning there
    """
    texts: dict[Hashable, str] = {}
    owners: dict[str, Hashable] = {}
    for name in names:
        if name in texts:
            continue
        text = str(name)
        found = forbidden.search(text)
        if not text or found:
            reason = f"{quoted(found[0])} has a meaning there" if found else "it is empty"
            raise LabelError(f"the name {quoted(text)} cannot be written to {what}: {reason}")
        if text in owners:
            raise LabelError(
                f"the names {owners[text]!r} and {name!r} would be one name in {what}; rename one"
            )
        texts[name] = text
        owners[text] = name
    return texts


def build(
    path: PathLike, line: int | None, builder: Callable[..., Structure], *args: Any, **options: Any
) -> Structure:
    """`builder(*args, **options)`; an invalid structure becomes an error about the file."""
    try:
        return builder(*args, **options)
    except TaxonomyError as error:
        raise FileFormatError(path, line, str(error)) from error
