"""Which of several doubts leads deepest at the same coverage, chosen by the rows that calibrate, with nothing lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.decoders.coverage import allowed_misses
from taxolearn.decoders.ladders import Floats, Ladders

# Steps that another doubt must lead deeper than the first, times the root of the misses that are allowed: where these
# are few, one row more or less decides.
_MARGIN = 0.25
_ENOUGH = 1000  # calibration rows below which a single one decides too often, and the first doubt is taken


class Deepest(NamedTuple):
    """The doubts that may be the deepest, by number, and the limit of each; answers stay below all of them.

    >>> Deepest((0,), (0.5,)).others
    False
    """

    numbers: tuple[int, ...]
    limits: tuple[float, ...]

    @property
    def others(self) -> bool:
        """Whether any but the first doubt is needed.

        >>> Deepest((0, 1), (0.5, 0.1)).others
        True
        """
        return self.numbers != (0,)

    def settled(self, ladders: Ladders, others: Floats) -> tuple[Ladders, Floats]:
        """The ladders with the doubt of each row that stops it first, and its limit, rows x rungs.

        >>> nodes, doubt = np.zeros((1, 2, 1), np.int32), np.array([[-np.inf, 0.3]])
        >>> ladders, limits = Deepest((0, 1), (0.5, 0.1)).settled(Ladders(nodes, doubt), np.array([[[-np.inf, 0.2]]]))
        >>> ladders.doubt.tolist(), limits.tolist()
        ([[-inf, 0.2]], [[0.1, 0.1]])
        """
        doubts = np.stack([ladders.doubt if number == 0 else others[number - 1] for number in self.numbers])
        rungs = np.stack(
            [
                Ladders(ladders.nodes, doubt).cut(limit)
                for doubt, limit in zip(doubts, self.limits, strict=True)
            ]
        )
        first = np.argmin(rungs, axis=0)
        limits = np.asarray(self.limits)[first]
        doubt = doubts[first, np.arange(len(first))]
        return Ladders(ladders.nodes, doubt), np.repeat(limits[:, None], doubt.shape[1], axis=1)


def deepest(
    doubts: Sequence[Floats], missed: npt.NDArray[np.bool_], coverage: float, most_steps: int
) -> Deepest:
    """The doubt that leads most steps down on the calibration rows; `missed` says at which rungs they are missed.

    The choice is one by all rows, the new one among them: the first doubt, unless there are a thousand rows and another
    leads deeper by a margin.
    What the new row may add is bounded: one rank of the limit, and a way of no step or of `most_steps`. Where it cannot
    change the choice, that doubt is taken; else all that may be chosen are, and answers stay below all their limits.
    So all rows are treated alike, and coverage holds as it does for a doubt that was fixed before. (Choosing by the
    calibration rows alone would not keep the promise; see Yang and Kuchibhotla 2025 on such choices.)

    >>> missed = np.zeros((1000, 2), dtype=bool)
    >>> missed[:100, 1] = True
    >>> poor, good = np.full((1000, 2), 0.5), np.where(missed, 0.9, 0.1)
    >>> poor[:, 0] = good[:, 0] = -np.inf
    >>> deepest([poor, good], missed, 0.9, 1)
    Deepest(numbers=(1,), limits=(0.9,))
    """
    n = len(missed)
    allowed = allowed_misses(n, coverage)
    doubts = doubts if n >= _ENOUGH else doubts[:1]
    limits, low, high = [], [], []
    for doubt in doubts:
        ranked = np.sort(np.where(missed, doubt, np.inf).min(axis=1))
        limit, below = (float(ranked[k - 1]) if k > 0 else -np.inf for k in (allowed, allowed - 1))
        limits.append(limit)
        low.append(_steps(doubt, below, most_steps) / (n + 1))
        high.append((_steps(doubt, limit, most_steps) + most_steps) / (n + 1))
    margin = _MARGIN / max(1.0, float(n + 1) * (1.0 - coverage)) ** 0.5
    may = [k for k in range(1, len(doubts)) if high[k] - low[0] > margin]
    may = [k for k in may if all(high[k] >= low[other] for other in may)]
    if not any(low[k] - high[0] > margin for k in may):
        may = [0, *may]
    return Deepest(tuple(may), tuple(limits[k] for k in may))


def _steps(doubt: Floats, limit: float, most_steps: int) -> float:
    """Steps down of all rows."""
    rungs = Ladders(np.zeros((*doubt.shape, 1), dtype=np.int32), doubt).cut(limit)
    return float(np.minimum(rungs, most_steps).sum())
