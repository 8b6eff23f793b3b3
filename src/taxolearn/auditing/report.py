"""Audit: everything an audit found, in words, as tables and as a dict."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.auditing.findings import Loose, Misplaced, Move, Suspect, Twins, plain
from taxolearn.structure import ClassGraph

_ROWS_SHOWN = 10  # suspects that the text names


@dataclass(frozen=True)
class Table:
    """One list of an audit: a title, its columns and its rows of cells.

    >>> Table("moves", ("node",), [["Wolf"]]).columns
    ('node',)
    """

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]


@dataclass(frozen=True)
class Audit:
    """What `audit` found; every list holds only what is beyond noise, the surest first.

    - `misplaced`: nodes that share more with a distant branch than with their siblings;
    - `loose`: inner nodes whose children share nothing;
    - `twins`: pairs of classes that are hard to tell apart;
    - `suspects`: rows whose label looks wrong; `ranking` has all rows that were held out, the most doubtful label
      first, and `margins` their margins (NaN for rows that were not);
    - `moves`: what each proposed change did to held-out hierarchical F1; of these, `claimed` ones are beyond noise.

    `graph` is the structure learned from held-out rows, a `ClassGraph`, and `agreement` the chance that it ties a pair
    of siblings of the given taxonomy more than a pair that are none; both are None beyond 300 classes.
    `hierarchical_f1` and `accuracy` are those of the given taxonomy on held-out rows, `alpha` is the chance of a false
    finding that each list allows itself, and `skipped` names the classes with too few rows to be judged.

    >>> Audit(10, 2, 0.05, 0.9, 0.8).n_findings
    0
    """

    n_rows: int
    n_classes: int
    alpha: float
    hierarchical_f1: float
    accuracy: float
    misplaced: tuple[Misplaced, ...] = ()
    loose: tuple[Loose, ...] = ()
    twins: tuple[Twins, ...] = ()
    moves: tuple[Move, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    skipped: tuple[Hashable, ...] = ()
    ranking: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp), repr=False)
    margins: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)
    graph: ClassGraph | None = field(default=None, repr=False)
    agreement: float | None = None

    @property
    def n_findings(self) -> int:
        """How many things are wrong with the taxonomy, rows not counted.

        >>> Audit(10, 2, 0.05, 0.9, 0.8, twins=(Twins("Cat", "Puss", 0.5, 0.02, 0.6),)).n_findings
        1
        """
        return len(self.misplaced) + len(self.loose) + len(self.twins)

    def to_text(self) -> str:
        """The findings in words.

        >>> print(Audit(10, 2, 0.05, 0.9, 0.8).to_text())
        10 rows, 2 classes; held out: hierarchical F1 0.9000, accuracy 0.8000.
        Nothing in the taxonomy is out of place beyond noise.
        No label looks wrong beyond noise.
        """
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield (
            f"{self.n_rows:,} rows, {self.n_classes:,} classes; held out: hierarchical F1 "
            f"{self.hierarchical_f1:.4f}, accuracy {self.accuracy:.4f}."
        )
        if self.skipped:
            names = ", ".join(map(str, self.skipped[:5])) + (", ..." if len(self.skipped) > 5 else "")
            yield f"{len(self.skipped):,} classes have too few rows to be judged: {names}."
        if self.agreement is not None:
            yield (
                "The learned graph ties two siblings more strongly than two other classes in "
                f"{self.agreement:.0%} of cases."
            )
        for found in (self.misplaced, self.loose, self.twins, self.moves):
            for finding in found:
                yield finding.sentence
        if not self.n_findings:
            yield "Nothing in the taxonomy is out of place beyond noise."
        if not self.suspects:
            yield "No label looks wrong beyond noise."
            return
        one = len(self.suspects) == 1
        yield f"{len(self.suspects):,} {'label looks' if one else 'labels look'} wrong beyond noise."
        for suspect in self.suspects[:_ROWS_SHOWN]:
            yield suspect.sentence
        if len(self.suspects) > _ROWS_SHOWN:
            yield f"... and {len(self.suspects) - _ROWS_SHOWN:,} more, see suspects."

    def tables(self) -> list[Table]:
        """The findings as tables, without the empty ones.

        >>> Audit(10, 2, 0.05, 0.9, 0.8, twins=(Twins("Cat", "Puss", 0.5, 0.02, 0.6),)).tables()[0].rows
        [['Cat', 'Puss', '0.500', '0.020', '0.600']]
        """
        lists: list[tuple[Any, ...]] = [self.misplaced, self.loose, self.twins, self.moves, self.suspects]
        return [
            Table(found[0].title, found[0].columns, [one.cells for one in found]) for found in lists if found
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything but `ranking` and `margins`, for JSON.

        >>> Audit(10, 2, 0.05, 0.9, 0.8).to_dict()["misplaced"]
        []
        """
        facts: dict[str, Any] = {
            "rows": self.n_rows,
            "classes": self.n_classes,
            "alpha": self.alpha,
            "hierarchical_f1": self.hierarchical_f1,
            "accuracy": self.accuracy,
            "skipped": [str(name) for name in self.skipped],
            "agreement": self.agreement,
            "graph": None
            if self.graph is None
            else [[str(a), str(b), weight] for a, b, weight in self.graph.edges],
        }
        for name in ("misplaced", "loose", "twins", "moves", "suspects"):
            facts[name] = [plain(one) for one in getattr(self, name)]
        return facts

    def __str__(self) -> str:
        return self.to_text()
