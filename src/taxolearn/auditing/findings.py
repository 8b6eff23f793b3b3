"""What an audit finds, one plain record for each finding."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


def plain(record: Any) -> dict[str, Any]:
    """A record as a dict that JSON can hold: names that JSON has no form for become texts.

    >>> plain(Twins("Cat", ("Lion", 2), 0.5, 0.05, 0.6))["second"]
    "('Lion', 2)"
    """
    return {name: _plain(value) for name, value in asdict(record).items()}


def _short(*values: float | None) -> list[str]:
    return ["" if value is None else f"{value:.3f}" for value in values]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


@dataclass(frozen=True)
class Misplaced:
    """A node that shares more with the classes under `better` than with its siblings under `parent`.

    Affinities are in standard deviations of held-out scores; `tie_siblings` and `tie_better` are the mean weights of
    the learned graph, None where none was learned.

    >>> print(Misplaced("Wolf", "Cat", "Dog", 0.1, 1.1, 1.0, 0.1, 1e-9).sentence)
    Wolf (under Cat) shares more with the classes under Dog: affinity 1.10 there, 0.10 with its siblings, \
difference 1.00 ± 0.10.
    """

    title: ClassVar[str] = "classes that share more with a distant branch than with their siblings"
    columns: ClassVar[tuple[str, ...]] = (
        "node",
        "parent",
        "better",
        "with siblings",
        "with better",
        "difference",
        "± error",
        "p",
        "tie to siblings",
        "tie to better",
    )

    node: Hashable
    parent: Hashable
    better: Hashable
    with_siblings: float
    with_better: float
    difference: float
    error: float
    p_value: float
    tie_siblings: float | None = None
    tie_better: float | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether the learned graph ties the node more to the branch than to its siblings; None where none was learned.

        >>> Misplaced("Wolf", "Cat", "Dog", 0.1, 1.1, 1.0, 0.1, 1e-9, 0.0, 0.8).agrees
        True
        """
        if self.tie_siblings is None or self.tie_better is None:
            return None
        return self.tie_better > self.tie_siblings

    @property
    def cells(self) -> list[str]:
        """The finding as cells of a table."""
        return [
            *map(str, (self.node, self.parent, self.better)),
            *_short(self.with_siblings, self.with_better, self.difference, self.error),
            f"{self.p_value:.1e}",
            *_short(self.tie_siblings, self.tie_better),
        ]

    @property
    def sentence(self) -> str:
        """The finding in words."""
        said = (
            f"{self.node} (under {self.parent}) shares more with the classes under {self.better}: affinity "
            f"{self.with_better:.2f} there, {self.with_siblings:.2f} with its siblings, difference "
            f"{self.difference:.2f} ± {self.error:.2f}."
        )
        if self.tie_better is None:
            return said
        return (
            f"{said} Weight in the learned graph: {self.tie_better:.2f} there, {self.tie_siblings:.2f} here."
        )


@dataclass(frozen=True)
class Loose:
    """An inner node whose children share no more with one another than with the classes around them.

    `tie` is the mean weight of the learned graph between classes below different children, None where none was learned.

    >>> print(Loose("Misc", ("Cat", "Oak"), -0.1, 0.05, 0.1, 1.2).sentence)
    The children of Misc (Cat, Oak) share nothing: affinity -0.10 ± 0.05 beyond what they share with others, at most \
0.10, where children of a typical node share 1.20.
    """

    title: ClassVar[str] = "inner nodes whose children share nothing"
    columns: ClassVar[tuple[str, ...]] = (
        "node",
        "children",
        "affinity",
        "± error",
        "at most",
        "typical node",
        "tie",
    )

    node: Hashable
    children: tuple[Hashable, ...]
    affinity: float
    error: float
    upper: float
    typical: float
    tie: float | None = None

    @property
    def cells(self) -> list[str]:
        """The finding as cells of a table."""
        return [
            str(self.node),
            f"{len(self.children):,}",
            *_short(self.affinity, self.error, self.upper, self.typical, self.tie),
        ]

    @property
    def sentence(self) -> str:
        """The finding in words."""
        names = ", ".join(map(str, self.children[:5])) + (", ..." if len(self.children) > 5 else "")
        return (
            f"The children of {self.node} ({names}) share nothing: affinity {self.affinity:.2f} ± {self.error:.2f} "
            f"beyond what they share with others, at most {self.upper:.2f}, where children of a typical node share "
            f"{self.typical:.2f}."
            + ("" if self.tie is None else f" The learned graph ties them with mean weight {self.tie:.2f}.")
        )


@dataclass(frozen=True)
class Suspect:
    """A row whose label looks wrong: models that have not seen it score `suggestion` higher than `label`.

    `margin` is the score of its own label less the best score of another, `noise` its standard error.

    >>> print(Suspect(17, "Cat", "Dog", -1.5, 0.1).sentence)
    Row 17 is labelled Cat and looks like Dog: margin -1.50 ± 0.10.
    """

    title: ClassVar[str] = "rows whose label looks wrong, the most doubtful first"
    columns: ClassVar[tuple[str, ...]] = ("row", "label", "looks like", "margin", "± error")

    row: int
    label: Hashable
    suggestion: Hashable
    margin: float
    noise: float

    @property
    def cells(self) -> list[str]:
        """The finding as cells of a table."""
        return [*map(str, (self.row, self.label, self.suggestion)), *_short(self.margin, self.noise)]

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f"Row {self.row} is labelled {self.label} and looks like {self.suggestion}: margin {self.margin:.2f} ± "
            f"{self.noise:.2f}."
        )


@dataclass(frozen=True)
class Twins:
    """Two classes that models made for these two alone can hardly tell apart.

    `auc` is the chance that a held-out row of the one scores higher than one of the other; 0.5 is guessing.

    >>> print(Twins("Cat", "House cat", 0.52, 0.03, 0.61).sentence)
    Cat and House cat are hard to tell apart: a pair of held-out rows is ordered rightly in 52% ± 3% of cases, at most \
61%.
    """

    title: ClassVar[str] = "classes that are hard to tell apart"
    columns: ClassVar[tuple[str, ...]] = ("first", "second", "ordered rightly", "± error", "at most")

    first: Hashable
    second: Hashable
    auc: float
    error: float
    upper: float

    @property
    def cells(self) -> list[str]:
        """The finding as cells of a table."""
        return [str(self.first), str(self.second), *_short(self.auc, self.error, self.upper)]

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f"{self.first} and {self.second} are hard to tell apart: a pair of held-out rows is ordered rightly in "
            f"{100 * self.auc:.0f}% ± {100 * self.error:.0f}% of cases, at most {100 * self.upper:.0f}%."
        )


@dataclass(frozen=True)
class Move:
    """What a change of the taxonomy did to held-out hierarchical F1, tried by refitting.

    `to` is None where the node was dissolved: its children went to its parent. F1 is measured in the taxonomy of each
    fit; accuracy needs none. `claimed` says whether the change of F1 is beyond noise.

    >>> move = Move("Wolf", "Cat", "Dog", 0.80, 0.82, 0.02, 0.004, True, 0.01, 0.004)
    >>> print(move.sentence)
    Moving Wolf from Cat to Dog raises hierarchical F1 by 0.0200 ± 0.0040 (from 0.8000 to 0.8200); accuracy +0.0100 ± \
0.0040.
    """

    title: ClassVar[str] = "changes tried by refitting: held-out hierarchical F1 and accuracy"
    columns: ClassVar[tuple[str, ...]] = (
        "node",
        "from",
        "to",
        "F1 before",
        "F1 after",
        "change",
        "± error",
        "beyond noise",
        "accuracy",
        "± error",
    )

    node: Hashable
    parent: Hashable
    to: Hashable | None
    f1_before: float
    f1_after: float
    change: float
    error: float
    claimed: bool
    accuracy_change: float
    accuracy_error: float

    @property
    def cells(self) -> list[str]:
        """The finding as cells of a table."""
        return [
            str(self.node),
            str(self.parent),
            "(dissolved)" if self.to is None else str(self.to),
            f"{self.f1_before:.4f}",
            f"{self.f1_after:.4f}",
            f"{self.change:+.4f}",
            f"{self.error:.4f}",
            "yes" if self.claimed else "no",
            f"{self.accuracy_change:+.4f}",
            f"{self.accuracy_error:.4f}",
        ]

    @property
    def sentence(self) -> str:
        """The finding in words."""
        what = (
            f"Dissolving {self.node}"
            if self.to is None
            else f"Moving {self.node} from {self.parent} to {self.to}"
        )
        size = f"{abs(self.change):.4f} ± {self.error:.4f} (from {self.f1_before:.4f} to {self.f1_after:.4f})"
        also = f"; accuracy {self.accuracy_change:+.4f} ± {self.accuracy_error:.4f}."
        if not self.claimed:
            return f"{what} changes hierarchical F1 within noise: {self.change:+.4f} ± {self.error:.4f}{also}"
        return f"{what} {'raises' if self.change > 0 else 'lowers'} hierarchical F1 by {size}{also}"
