"""Texts as sequences of chunks (what stands between white space), each distinct chunk kept once.

Neither words nor character n-grams ever reach across white space, so all later work is done once per distinct
chunk instead of once per text: that is where the speed comes from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.structure.names import is_empty, show

# Texts split at a time: enough to keep Python's overhead away, few enough to keep memory flat.
_TEXTS_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class Chunks:
    """The distinct chunks of some texts, and each text as the ids of its chunks in order.

    >>> Chunks(["left", "femur"], ids=np.array([0, 1, 1]), lengths=np.array([2, 0, 1])).n_texts
    3
    """

    distinct: list[str]
    ids: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]

    @property
    def n_texts(self) -> int:
        """Number of texts, empty ones included."""
        return len(self.lengths)


def check_texts(texts: Any, what: str = "texts") -> list[str]:
    """Return the texts as a list of str, or say which row is something else.

    >>> check_texts(["a femur", None])
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: row 1 of texts is missing (None); drop the row or put "" there
    """
    if isinstance(texts, str | bytes):
        raise DataError(f"{what} is one {type(texts).__name__}; give a list of texts: [text]")
    if isinstance(texts, Mapping | Set) or hasattr(texts, "columns") or not isinstance(texts, Iterable):
        raise DataError(f"{what} is a {type(texts).__name__}; give a list, an array or one column of texts")
    try:
        rows = list(texts)
    except TypeError:  # an array without dimensions says it is iterable, but is not
        raise DataError(f"{what} cannot be iterated over; give a list of texts") from None
    if all(issubclass(kind, str) for kind in set(map(type, rows))):
        return rows
    row, culprit = next((row, text) for row, text in enumerate(rows) if not isinstance(text, str))
    if np.ndim(culprit) == 0 and is_empty(culprit):
        raise DataError(f'row {row} of {what} is missing ({culprit}); drop the row or put "" there')
    raise DataError(f"row {row} of {what} is {show(culprit)}, a {type(culprit).__name__}; give a str")


def check_one_label_each(n_labels: int, n_texts: int) -> None:
    """Raise `DataError` where there are not as many labels as texts.

    >>> check_one_label_each(1, 2)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: there are 1 labels for 2 texts; give one a text
    """
    if n_labels != n_texts:
        raise DataError(f"there are {n_labels} labels for {n_texts} texts; give one a text")


def text_cleaner(lowercase: bool, strip_accents: str | None) -> Callable[[str], str]:
    """Return the function that is applied to texts first: the same as that of scikit-learn's vectorizers.

    Nothing it does reaches across a blank, so texts may be joined by one and cleaned together.

    >>> text_cleaner(True, "unicode")("Fièvre")
    'fievre'
    """
    if strip_accents is None:
        return str.lower if lowercase else str
    # Only on demand: the module takes its time to import.
    from sklearn.feature_extraction.text import strip_accents_ascii, strip_accents_unicode

    strip = strip_accents_ascii if strip_accents == "ascii" else strip_accents_unicode

    def clean(text: str) -> str:
        if lowercase:
            text = text.lower()
        return text if text.isascii() else strip(text)

    return clean


def read_chunks(texts: list[str], clean: Callable[[str], str]) -> Chunks:
    """Split every text at white space.

    >>> chunks = read_chunks(["a b a", "", "c b"], str.lower)
    >>> chunks.distinct, chunks.ids.tolist(), chunks.lengths.tolist()
    (['a', 'b', 'c'], [0, 1, 0, 2, 1], [3, 0, 2])
    """
    mark = "\0"  # a chunk of its own after every text, so that many texts are cleaned and split at once
    while any(mark in text for text in texts):
        mark += "\0"
    # The loop over chunks runs inside map and fromiter, where a missing key takes the next number.
    table: defaultdict[str, int] = defaultdict(count().__next__)
    end = table[mark]
    parts = [np.empty(0, np.int64)]
    for first in range(0, len(texts), _TEXTS_AT_A_TIME):
        batch = texts[first : first + _TEXTS_AT_A_TIME]
        chunks = clean(f" {mark} ".join([*batch, ""])).split()
        parts.append(np.fromiter(map(table.__getitem__, chunks), np.int64, len(chunks)))
    ids = np.concatenate(parts)
    lengths = np.diff(np.flatnonzero(ids == end), prepend=-1) - 1
    return Chunks(list(table)[1:], ids[ids != end] - 1, lengths)
