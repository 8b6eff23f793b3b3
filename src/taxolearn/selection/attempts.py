"""What a search tries: candidates, attempts at one C, and the options that it chooses among."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from taxolearn.decoders import Link


class Candidate(NamedTuple):
    """An estimator, the C that its path begins with, and whether it is one of those that others must clearly beat
    (flat ones); simpler ones come first. `trial_tol` is the certified gap of the fits that are compared (the first of
    all has that of the last fit, and tells its cost). What is `dear` is tried when the others are at the end of their
    paths.

    >>> from taxolearn import OneVsRestSVM
    >>> Candidate(OneVsRestSVM(), 1.0).C
    1.0
    """

    estimator: Any
    C: float = 1.0
    plain: bool = False
    trial_tol: float = 1e-2
    dear: bool = False


@dataclass(eq=False)
class Attempt:
    """One candidate at one C: what it answered on the held-out rows of each fold, by decision.

    >>> Attempt(0, 1.0).n_folds
    0
    """

    candidate: int
    C: float
    answers: list[dict[str, Any]] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    thresholds: list[Any] = field(default_factory=list)  # several labels per row: tuned for the metric
    scores: list[Any] = field(default_factory=list)  # on the held-out rows, where they are kept for blends
    of: tuple[Attempt, ...] = ()  # what a blend is made of
    gap: float = 0.0
    certified: bool = True
    seconds: float = 0.0

    @property
    def n_folds(self) -> int:
        """Folds that it was tried on.

        >>> Attempt(0, 1.0, [{}]).n_folds
        1
        """
        return len(self.answers)


class Option(NamedTuple):
    """A decision of an attempt, with its scores: what is chosen among.

    >>> Option(Attempt(0, 1.0), "best", None, None).decision
    'best'
    """

    attempt: Attempt
    decision: str
    score: Any  # by the metric asked for
    second: Any  # among those about as good; None without a taxonomy
