"""Hierarchies that are in the digits of codes: HS, NAICS, NACE, UNSPSC and their like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from taxolearn.errors import TaxonomyError
from taxolearn.structure.names import show

_WIDEST = 1000  # codes that a range may stand for; NAICS has three
_RANGE = re.compile(r"(\w+)-(\w+)")


class DigitPaths:
    """Splits codes into paths after so many digits: 010121 with lengths 2, 4, 6 is 01, 0101, 010121.

    Letters count as digits; dots, blanks and other marks do not. A code that is a range stands for all codes in it,
    as NAICS has 31-33 above 311.

    >>> DigitPaths((2, 4, 6), ["0101.21"]).path("0101.21", 0)
    ['01', '0101', '0101.21']
    >>> DigitPaths((2, 3), ["31-33", "321"]).path("321", 1)
    ['31-33', '321']
    """

    def __init__(self, lengths: Sequence[int], codes: Iterable[object]) -> None:
        rising = [length for length in lengths if type(length) is int and length > 0]
        if not rising or rising != sorted(set(lengths)):
            raise TaxonomyError(
                f"sep must be a text, or rising numbers of digits as (2, 4, 6), not {lengths!r}"
            )
        self._lengths = rising
        self._ranges: dict[str, str] = {}
        given = [code.strip() for code in codes if isinstance(code, str)]
        for code in given:
            found = _RANGE.fullmatch(code)
            if found and len(found[1]) == len(found[2]) in rising and (found[1] + found[2]).isdigit():
                if int(found[2]) - int(found[1]) > _WIDEST:
                    raise TaxonomyError(f"the range {show(code)} stands for more than {_WIDEST:,} codes")
                for number in range(int(found[1]), int(found[2]) + 1):
                    self._ranges[f"{number:0{len(found[1])}}"] = code
        self._whole = set(self._ranges.values())
        for code in given:
            self._ranges.pop(code, None)  # what is there by itself needs no range

    def path(self, code: object, position: int) -> list[str]:
        """The codes from the top down to this one."""
        if isinstance(code, int) and not isinstance(code, bool):
            code = str(code)
        if not isinstance(code, str) or not code.strip():
            raise TaxonomyError(f"path {position}: expected a code, found {show(code)}")
        code = code.strip()
        if code in self._whole:
            return [code]
        ends = [place for place, mark in enumerate(code, 1) if mark.isalnum()]
        if len(ends) not in self._lengths:
            known = ", ".join(map(str, self._lengths))
            raise TaxonomyError(
                f"path {position}: the code {show(code)} has {len(ends)} digits; expected one of {known}"
            )
        parts = [code[: ends[length - 1]] for length in self._lengths if length < len(ends)] + [code]
        return [self._ranges.get(part, part) for part in parts]


def lengths_of(codes: Iterable[str]) -> tuple[int, ...]:
    """The numbers of digits that codes have, ranges as their ends.

    >>> lengths_of(["31-33", "311", "3111"])
    (2, 3, 4)
    """
    ends = (found[1] if (found := _RANGE.fullmatch(code)) else code for code in codes)
    return tuple(sorted({sum(mark.isalnum() for mark in code) for code in ends}))
