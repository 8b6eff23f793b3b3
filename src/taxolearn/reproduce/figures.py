"""The list of figures: what to run for each, where its output has it, and what is expected."""

from __future__ import annotations

import csv
import difflib
from functools import cache
from importlib import resources
from typing import NamedTuple

from taxolearn.errors import DataError


class Figure(NamedTuple):
    """One figure.

    `command` is a script of the folder `benchmarks` with its arguments, {data} standing for the folder of the data
    sets; `data` are the sets it reads. The figure is the number at `place` (from 1) behind the words `line` at the
    beginning of a line, below the line that begins with `section` (* being any text) if there is one. `expected` is
    what `page` says, `tolerance` how far a rerun may be from it, `published` what the paper says, where it does.

    >>> one = figures()[0]
    >>> one.command.split()[0].endswith(".py"), one.tolerance >= 0
    (True, True)
    """

    table: str
    figure: str
    command: str
    data: tuple[str, ...]
    section: str
    line: str
    place: int
    expected: float
    tolerance: float
    published: float | None
    page: str


@cache
def figures() -> tuple[Figure, ...]:
    """All figures, in the order of the file.

    >>> len(figures()) > 100
    True
    """
    with resources.files("taxolearn.reproduce").joinpath("figures.csv").open(encoding="utf-8") as file:
        return tuple(_figure(row) for row in csv.DictReader(file))


def _figure(row: dict[str, str]) -> Figure:
    return Figure(
        row["table"],
        row["figure"],
        row["command"],
        tuple(row["data"].split()),
        row["section"],
        row["line"],
        int(row["place"]),
        float(row["expected"]),
        float(row["tolerance"]),
        float(row["published"]) if row["published"] else None,
        row["page"],
    )


def of_table(name: str) -> tuple[Figure, ...]:
    """The figures of one table.

    >>> len(of_table("synthetic")) >= 10
    True
    >>> of_table("synthetik")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: there is no table synthetik; do you mean synthetic? `taxolearn reproduce` lists all
    """
    found = tuple(figure for figure in figures() if figure.table == name)
    if not found:
        near = difflib.get_close_matches(name, {figure.table for figure in figures()}, 1)
        guess = f"; do you mean {near[0]}?" if near else ";"
        raise DataError(f"there is no table {name}{guess} `taxolearn reproduce` lists all")
    return found
