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
    rows: int = 0  # that were passed over; one may have several bad lines

    def add(self, kind: str, line: int | None, message: str, content: str = "", *, rows: int = 1) -> None:
        """Remember a problem, for which so many rows are passed over."""
        self.count += 1
        self.rows += rows
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

    def tell(self, name: str, path: str) -> None:
        """Write what was left out of a file, and say how many rows that are.

        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     LeftOut([Problem("cells", 7, "expected 2 cells, found 3")], 1, 1).write(f"{folder}/bad.csv")
        ...     pathlib.Path(folder, "bad.csv").read_text()
        'line,problem,content\\n7,"expected 2 cells, found 3",\\n'
        """
        from taxolearn.cli.console import say

        self.write(path)
        if self.rows:
            say(f"{self.rows:,} row{'s' * (self.rows > 1)} of {name} left out, listed in {path}")

    def write(self, path: str) -> None:
        """Write line, problem and content of what was left out as CSV; nothing left out is a header alone."""
        from taxolearn.datasets._files import writing

        with writing(path) as stream:
            writer = csv.writer(stream, lineterminator="\r\n")
            writer.writerow(["line", "problem", "content"])
            for problem in self.problems:
                line = "" if problem.line is None else problem.line
                writer.writerow([line, problem.message, problem.content])
