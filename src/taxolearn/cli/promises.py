"""Options of answers that stop when unsure, and what is told of them: reached depth beside coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy

CoverageOption = Annotated[
    float | None,
    typer.Option(
        "--coverage",
        help="Stop at the deepest node that has the true label at or below it with this probability; see calibrate.",
    ),
]
RiskOption = Annotated[
    float | None,
    typer.Option("--risk", help="Stop where the expected tree loss is at most this; see calibrate."),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by", help="Coverage for the labels of each level, chapter or class, not only on average."
    ),
]
MaxNodes = Annotated[
    int | None,
    typer.Option("--max-nodes", min=1, help="Answer with so many nodes at most, which cover together."),
]


def promised(
    coverage: float | None, risk: float | None, by: str | None, max_nodes: int | None
) -> dict[str, Any]:
    """What was asked for, by name.

    >>> promised(0.95, None, None, None)
    {'coverage': 0.95}
    """
    given = {"coverage": coverage, "risk": risk, "by": by, "max_nodes": max_nodes}
    return {name: value for name, value in given.items() if value is not None}


class Reached:
    """How deep answers reach, added up over chunks of rows.

    >>> reached = Reached({"coverage": 0.9})
    >>> reached.summary()["rows"]
    0
    """

    def __init__(self, promise: dict[str, Any]) -> None:
        self._promise = promise
        self._rows = self._at_class = self._at_root = self._unlike = 0
        self._depth = 0.0
        self.answered: list[list[Any]] = []

    def add(self, stops: Any) -> None:
        """Count some more answers."""
        self._rows += len(stops.depth)
        self._depth += float(stops.depth.sum())
        self._at_class += int(stops.at_class.sum())
        self._at_root += int(stops.at_root.sum())
        self._unlike += int(stops.unlike.sum())
        self.answered += [[name for name in row if name is not None] for row in stops.names.tolist()]

    def summary(
        self, y_true: Sequence[Any] | None = None, taxonomy: Taxonomy | None = None
    ) -> dict[str, Any]:
        """What was asked, and what was reached; with true labels also how many of them are covered."""
        n = max(1, self._rows)
        found = {
            **self._promise,
            "rows": self._rows,
            "mean_depth": self._depth / n,
            "at_class": self._at_class / n,
            "at_root": self._at_root / n,
            "unlike_any": self._unlike,
        }
        if y_true is not None and taxonomy is not None:
            covered, loss = covered_and_loss(self.answered, y_true, taxonomy)
            found |= {"covered": covered, "tree_loss_of_wrong": loss}
        return found

    def line(self) -> str:
        """One line for people.

        >>> Reached({"coverage": 0.9}).line()
        'coverage 0.9: mean depth 0.00, 0% of rows at their class, 0% at the root'
        """
        found = self.summary()
        asked = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self._promise.items())
        unlike = f" ({self._unlike:,} unlike any calibration row)" if self._unlike else ""
        return (
            f"{asked}: mean depth {found['mean_depth']:.2f}, {found['at_class']:.0%} of rows at their class, "
            f"{found['at_root']:.0%} at the root{unlike}"
        )


_TITLES = {
    "coverage": "asked coverage",
    "risk": "asked risk",
    "covered": "covered",
    "tree_loss_of_wrong": "tree loss where not covered",
    "mean_depth": "mean depth of answers",
    "at_class": "answered at the class",
    "at_root": "answered by the root",
}


def reached_rows(found: dict[str, Any]) -> list[list[str]]:
    """The summary as rows of a printed table.

    >>> reached_rows({"coverage": 0.9, "covered": 0.91234, "rows": 3})
    [['asked coverage', '0.9'], ['covered', '0.9123']]
    """
    lines = []
    for name, title in _TITLES.items():
        if name in found:
            value = found[name]
            lines.append([title, f"{value:g}" if name in ("coverage", "risk") else f"{value:.4f}"])
    return lines


def covered_and_loss(
    answered: Sequence[Sequence[Any]], y_true: Sequence[Any], taxonomy: Taxonomy
) -> tuple[float, float]:
    """Share of rows whose label lies at or below an answer, and the mean tree loss, of rows that are covered zero.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> covered_and_loss([["Animal"], ["Cat"]], ["Dog", "Dog"], tree)
    (0.5, 0.5)
    """
    hits, total = 0, 0.0
    for names, label in zip(answered, y_true, strict=True):
        if set(taxonomy.ancestors(label, include_self=True)) & set(names):
            hits += 1
            continue
        to = taxonomy.ids_of([label] * len(names))
        total += float(taxonomy.distance(taxonomy.ids_of(list(names)), to).min()) / 2
    return hits / max(1, len(answered)), total / max(1, len(answered))
