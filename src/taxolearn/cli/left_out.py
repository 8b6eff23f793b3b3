"""Rows that cannot be used, with the reason: told one by one, all at once, or left out and written down."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import NamedTuple

_KEPT = 100_000  # problems that are remembered; more are only counted


class Problem(NamedTuple):
    """One thing wrong with one line; `kind` groups what is alike.

    >>> Problem("cells", 7, "expected 2 cells, found 3").line
    7
    """

    kind: str
    line: int | None
    message: str
    content: str = ""


@dataclass
class LeftOut:
    """What was found wrong with the rows of a file.

    >>> found = LeftOut()
    >>> found.add("cells", 7, "expected 2 cells, found 3")
    >>> found.count, found.problems[0].message
    (1, 'expected 2 cells, found 3')
    """

    problems: list[Problem] = field(default_factory=list)
    count: int = 0

    def add(self, kind: str, line: int | None, message: str, content: str = "") -> None:
        """Remember a problem."""
        self.count += 1
        if len(self.problems) < _KEPT:
            self.problems.append(Problem(kind, line, message, content))

    def others(self, name: str) -> str:
        """What is said after the first problem: how many more there are, and who lists them.

        >>> LeftOut([], 3).others("rows.csv")
        ' (and 2 other lines; `taxolearn check rows.csv` lists all)'
        """
        more = self.count - 1
        if not more:
            return ""
        return f" (and {more:,} other line{'s' * (more > 1)}; `taxolearn check {name}` lists all)"

    def write(self, path: str) -> None:
        """Write line, problem and content of what was left out as CSV."""
        from taxolearn.datasets._files import writing

        with writing(path) as stream:
            writer = csv.writer(stream, lineterminator="\r\n")
            writer.writerow(["line", "problem", "content"])
            for problem in self.problems:
                line = "" if problem.line is None else problem.line
                writer.writerow([line, problem.message, problem.content])
