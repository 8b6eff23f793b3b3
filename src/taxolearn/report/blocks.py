"""What pages are made of: sections of paragraphs, lists, tables and drawings, said once for HTML and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Score:
    """A number with an interval; `share`: it lies between 0 and 1, and can be drawn as a bar.

    >>> Score({"value": 0.5, "low": 0.25, "high": 0.75}).text
    '0.500 (0.250 to 0.750)'
    """

    measured: dict[str, Any]
    share: bool = True

    @property
    def text(self) -> str:
        """As people read it."""
        value, low, high = (self.measured[name] for name in ("value", "low", "high"))
        if low is None or high is None:
            return f"{value:.3f}"
        return f"{value:.3f} ({low:.3f} to {high:.3f})"


@dataclass(frozen=True)
class Place:
    """A node, by its number and what it is called.

    >>> Place({"node": 3, "label": "Cat"}).text
    'Cat'
    """

    place: dict[str, Any]

    @property
    def text(self) -> str:
        """What it is called."""
        label: str = self.place["label"]
        return label


Cell = str | Score | Place


def text_of(cell: Cell) -> str:
    """The plain text of a cell.

    >>> text_of("a"), text_of(Place({"node": 0, "label": "b"}))
    ('a', 'b')
    """
    return cell if isinstance(cell, str) else cell.text


@dataclass(frozen=True)
class Paragraph:
    """Some sentences; `quiet`: a remark beside the matter."""

    text: str
    quiet: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list with its heading."""

    title: str
    items: Sequence[str]


@dataclass(frozen=True)
class Figures:
    """A few numbers that are read first: name, value, and what it means."""

    caption: str
    rows: Sequence[tuple[str, Cell, str]]


@dataclass(frozen=True)
class Table:
    """A table; the first `n_words` columns hold words, the others numbers. What is cut says how much there is.

    >>> Table("Pairs", ("label",), [["a"]], shown=1, of=7).showing
    'Showing 1 of 7.'
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    n_words: int = 1
    shown: int | None = None
    of: int | None = None

    @property
    def showing(self) -> str | None:
        """How much is shown, where that is not all."""
        if self.shown is None or self.of is None or self.shown >= self.of:
            return None
        return f"Showing {self.shown:,} of {self.of:,}."


@dataclass(frozen=True)
class Drawing:
    """A small chart, as SVG without text of strangers; the table beside it says the same."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Example:
    """One row with the way to its answer."""

    entry: dict[str, Any]


@dataclass(frozen=True)
class Widget:
    """A place that the page's script fills; Markdown has nothing there."""

    name: str


Block = Paragraph | Bullets | Figures | Table | Drawing | Example | Widget


@dataclass(frozen=True)
class Section:
    """A heading, the name of its anchor, and what stands below.

    >>> Section("levels", "Levels", [Paragraph("None.")]).title
    'Levels'
    """

    anchor: str
    title: str
    blocks: Sequence[Block] = field(default_factory=list)
