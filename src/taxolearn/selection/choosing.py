"""Which of the options of a race is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from taxolearn.selection.attempts import Attempt, Option
from taxolearn.selection.measures import Score

CLEAR = 2.0  # standard errors by which the best plain option must be beaten
_EQUAL = 1e-12  # scores that differ by no more are equal


class Choice:
    """The rule, for options of these decisions; `plain` tells the attempts that others must beat, by so many standard
    errors as are `clear`.

    >>> from taxolearn.selection.measures import Measure
    >>> import numpy as np
    >>> truth, none = np.array(["a", "b"]), np.array(["c", "c"])
    >>> right, wrong = (Measure("accuracy", None)(truth, answers) for answers in (truth, none))
    >>> options = [Option(Attempt(k, 1.0), "best", score, None) for k, score in enumerate((wrong, right))]
    >>> Choice(("best",), lambda attempt: True).of(options, few=False).attempt.candidate
    1
    """

    def __init__(
        self, decisions: Sequence[str], plain: Callable[[Attempt], bool], clear: float = CLEAR
    ) -> None:
        self._decisions, self._plain, self._clear = decisions, plain, clear

    def of(self, options: Sequence[Option], *, few: bool) -> Option:
        """Of the options about as good as the best that with the best second score, then the simplest.

        About as good: not below by more than one standard error of the difference, row by row.
        None is looked at that is below the best plain option with the first decision.
        If that plain option is not clearly worse, by the metric or by the second, rows that were too `few` have told
        nothing, or there is nothing to tell: the same is looked for among the plain options, and at last it is taken
        itself. A blend must be clearly better than what would be chosen without any.
        """
        alone = [one for one in options if not one.attempt.of]
        found = self._of_one(alone, few=few)
        if few or len(alone) == len(options):
            return found
        first = [one for one in alone if self._plain(one.attempt) and one.decision == self._decisions[0]]
        safe = max(first, key=_safe_order, default=found)
        together = self._near_best([one for one in options if one.score.better(safe.score) >= -_EQUAL])
        return together if together.attempt.of and self._clearly_better(together, found) else found

    def _of_one(self, options: Sequence[Option], *, few: bool) -> Option:
        """Among methods that answer alone."""
        plain = [one for one in options if self._plain(one.attempt)]
        first = [one for one in plain if one.decision == self._decisions[0]]
        if not first:
            return self._near_best(options)
        safe = max(first, key=_safe_order)
        if few:
            return safe
        for some in (options, plain):
            found = self._near_best([one for one in some if one.score.better(safe.score) >= -_EQUAL])
            if self._clearly_better(found, safe):
                return found
        return safe

    def _near_best(self, options: Sequence[Option]) -> Option:
        best = max((option.score for option in options), key=goodness)
        return min((one for one in options if one.score.errors_below(best) <= 1.0), key=self._order)

    def _clearly_better(self, found: Option, safe: Option) -> bool:
        clear = safe.score.errors_below(found.score) >= self._clear
        if found.second is not None:
            clear |= safe.second.errors_below(found.second) >= self._clear
        return bool(clear)

    def _order(self, option: Option) -> tuple[float, ...]:
        second = 0.0 if option.second is None else -goodness(option.second)
        rank = self._decisions.index(option.decision)
        return (
            round(second, 12),
            -round(goodness(option.score), 12),
            option.attempt.candidate,
            rank,
            option.attempt.C,
        )


def _safe_order(option: Option) -> tuple[float, ...]:
    second = 0.0 if option.second is None else goodness(option.second)
    return (
        round(goodness(option.score), 12),
        round(second, 12),
        -option.attempt.candidate,
        -option.attempt.C,
    )


def goodness(score: Score) -> float:
    """A score that is larger where it is better.

    >>> import numpy as np
    >>> goodness(Score(0.5, lambda: np.zeros(1), np.ones(1), lower_is_better=True))
    -0.5
    """
    return score.sign * score.value
