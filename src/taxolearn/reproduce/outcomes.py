"""What a rerun printed, held against what was expected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from taxolearn.reproduce.figures import Figure

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w])", re.I)
_ROUNDING = 1e-9  # figures are decimals: a difference that is the tolerance to the last digit is within it


class Outcome(NamedTuple):
    """A figure and what was found; None: the script did not print it.

    >>> from taxolearn.reproduce import figures
    >>> Outcome(figures()[0], figures()[0].expected).ok
    True
    """

    figure: Figure
    found: float | None

    @property
    def ok(self) -> bool:
        """Whether it was printed, and within the tolerance.

        >>> from taxolearn.reproduce import figures
        >>> Outcome(figures()[0], None).ok
        False
        """
        if self.found is None:
            return False
        return abs(self.found - self.figure.expected) <= self.figure.tolerance + _ROUNDING


def judge(figures: Iterable[Figure], printed: Sequence[str]) -> list[Outcome]:
    """Look for every figure in the lines that its script printed.

    >>> from taxolearn.reproduce import Figure
    >>> figure = Figure("t", "f", "x.py", (), "clef", "flat SVM", 2, 0.5, 0.01, None, "page.md")
    >>> [outcome] = judge([figure], ["flat SVM 9 9", "clef: 7 rows", "flat SVM 79.7 .505 3"])
    >>> outcome.found, outcome.ok
    (0.505, True)
    """
    return [Outcome(figure, _found(figure, printed)) for figure in figures]


def _found(figure: Figure, printed: Sequence[str]) -> float | None:
    below = not figure.section
    for line in printed:
        text = " ".join(line.strip().strip("|").split())
        if not below:
            below = fnmatchcase(text, f"{figure.section}*")
            continue
        if text.startswith(figure.line):
            numbers = _NUMBER.findall(text[len(figure.line) :])
            if len(numbers) >= figure.place:
                return float(numbers[figure.place - 1])
    return None
