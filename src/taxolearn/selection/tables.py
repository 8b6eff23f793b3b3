"""The trials of a race as rows of a table."""

from __future__ import annotations

import math
from typing import Any

from taxolearn.selection.attempts import Attempt, Option
from taxolearn.selection.measures import Measure
from taxolearn.selection.search import Race
from taxolearn.selection.trials import SEVERAL, Trial


def trials_of(race: Race, chosen: Option) -> tuple[list[Trial], int]:
    """All trials, and the number of the chosen one; those that ended early have the scores of the folds they saw.

    >>> from taxolearn import TaxonomyClassifier  # which keeps them as `trials_`
    >>> model = TaxonomyClassifier(random_state=0).fit([[-1.0], [1.0], [-2.0], [2.0]], ["a", "b", "a", "b"])
    >>> model.trials_.best.rows
    4
    """
    found: list[Trial] = []
    number = 0
    for attempt in race.attempts:
        for decision in race.decisions:
            if (attempt, decision) == (chosen.attempt, chosen.decision):
                number = len(found)
            found.append(_trial(race, attempt, decision))
    return found, number


def _trial(race: Race, attempt: Attempt, decision: str) -> Trial:
    taxonomy = race.measure.taxonomy

    def value(name: str) -> float:
        return race.score(attempt, decision, Measure(name, taxonomy)).value

    sets: dict[str, Any] = {name: value(name) for name in SEVERAL if race.several}
    loss = value("tree_loss") if taxonomy is not None and not race.several else math.nan
    return Trial(
        attempt.candidate,
        race.title(attempt),
        1.0 / (2.0 * attempt.C),
        value("accuracy"),
        loss,
        attempt.gap,
        attempt.certified,
        attempt.seconds,
        **sets,
        decision=decision,
        score=value(race.measure.name),
        rows=race.n_rows(attempt),
    )
