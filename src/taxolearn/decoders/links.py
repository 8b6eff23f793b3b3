"""From scores to probabilities, so that what a decoder puts first is also the most probable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit

from taxolearn.decoders.calibration import comparable, normalized
from taxolearn.errors import DataError

Array = npt.NDArray[np.float64]


class Link(Protocol):
    """How the scores of classes become probabilities.

    >>> link: Link = Temperature(1.0)
    >>> link.probabilities(np.zeros((1, 4))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    def probabilities(self, scores: Array) -> Array:
        """The probabilities of classes, rows x classes."""

    def arrays(self) -> dict[str, Array]:
        """What a stored model keeps; nothing for a link that is part of the loss."""


@dataclass(frozen=True)
class Temperature:
    """Classes of which exactly one applies: p_l is proportional to exp(slope s_l), or to the sigmoid of
    slope s_l + offset.

    The slope, 1 / temperature, is above zero and the same for all classes, so that the best score is the largest
    probability. Sigmoids are the likelihood of one class against the rest; far to the left they are exponential.
    `doubt` is a share of each row's probability that all classes have alike: few held-out rows can not tell that a
    model is never wrong, however far scores are apart.

    >>> Temperature(2.0).probabilities(np.array([[0.0, 0.5]])).round(3).tolist()
    [[0.269, 0.731]]
    >>> Temperature(2.0, doubt=0.1).probabilities(np.array([[0.0, 1000.0]])).round(3).tolist()
    [[0.05, 0.95]]
    """

    slope: float
    offset: float | None = None
    doubt: float = 0.0
    name: ClassVar[str] = "temperature"

    def __post_init__(self) -> None:
        numbers = [self.slope, 0.0 if self.offset is None else self.offset]
        if not np.isfinite(numbers).all() or self.slope <= 0:
            raise DataError(f"a temperature must be positive, and its numbers finite, not {numbers}")
        if not 0.0 <= self.doubt < 1.0:
            raise DataError(f"the doubt in probabilities must be a share below one, not {self.doubt}")

    def logits(self, scores: Array) -> Array:
        """What is added up in logarithms: log p_l but for what all classes of a row share.

        >>> Temperature(2.0).logits(np.array([[0.0, 0.5]])).tolist()
        [[-1.0, 0.0]]
        """
        if self.offset is not None:
            scores = np.asarray(log_expit(self.slope * scores.astype(np.float64) + self.offset))
            top, slope = scores.max(axis=1, keepdims=True), 1.0
        else:
            top, slope = scores.max(axis=1, keepdims=True), self.slope
        if not np.isfinite(top).all():  # the best classes have zero, also where scores are infinite
            with np.errstate(invalid="ignore"):
                return np.where(scores == top, 0.0, slope * (scores.astype(np.float64) - top))
        found: Array = scores - top
        found *= scores.dtype.type(slope)
        return found

    def probabilities(self, scores: Array) -> Array:
        """The probabilities of classes, rows x classes, which sum to one; as precise as the scores are.

        >>> Temperature(1.0, -2.0).probabilities(np.zeros((1, 2))).tolist()
        [[0.5, 0.5]]
        """
        p = self.logits(comparable(scores))
        np.exp(p, out=p)
        total = p.sum(axis=1, keepdims=True, dtype=np.float64)
        found = np.asarray(np.divide(p, total, out=p if p.dtype == np.float64 else None))
        if self.doubt:
            found *= 1.0 - self.doubt
            found += self.doubt / max(1, found.shape[1])
        return found

    def arrays(self) -> dict[str, Array]:
        """Slope and offset, and the doubt if there is any.

        >>> Temperature(2.0).arrays()
        {'temperature': array([2.])}
        """
        numbers = [self.slope] if self.offset is None else [self.slope, self.offset]
        doubt = {"doubt": np.array([self.doubt])} if self.doubt else {}
        return {"temperature": np.array(numbers), **doubt}


@dataclass(frozen=True, eq=False)
class Sigmoids:
    """One sigmoid per class, Platt's; of classes of which exactly one applies (`one`), scaled to sum to one.

    For several labels per row; models of older versions have it for one label, too.

    >>> Sigmoids(np.ones(2), np.zeros(2)).probabilities(np.array([[0.0, 1.0]])).round(3).tolist()
    [[0.5, 0.731]]
    """

    slopes: Array
    offsets: Array
    one: bool = False
    name: ClassVar[str] = "sigmoids"

    def probabilities(self, scores: Array) -> Array:
        """The probabilities of classes, rows x classes.

        >>> Sigmoids(np.ones(2), np.zeros(2), one=True).probabilities(np.zeros((1, 2))).tolist()
        [[0.5, 0.5]]
        """
        if not self.one:
            return np.asarray(expit(self.slopes * scores + self.offsets))
        return normalized(np.asarray(expit(self.slopes * comparable(scores) + self.offsets)))

    def arrays(self) -> dict[str, Array]:
        """Slopes and offsets.

        >>> sorted(Sigmoids(np.ones(2), np.zeros(2)).arrays())
        ['offsets', 'slopes']
        """
        return {"slopes": self.slopes, "offsets": self.offsets}


def link_of(arrays: Mapping[str, npt.NDArray[Any]], n_classes: int, several: bool) -> Link | None:
    """The link that a stored model keeps, None if it has none; a `DataError` tells what does not fit.

    >>> link_of({"temperature": np.array([2.0])}, 3, False)
    Temperature(slope=2.0, offset=None, doubt=0.0)
    """
    if not arrays:
        return None
    if "temperature" in arrays:
        numbers = arrays["temperature"]
        if several or numbers.shape not in ((1,), (2,)) or numbers.dtype != np.float64:
            raise DataError("the array 'calibration/temperature' should hold one or two float64 numbers")
        doubt = arrays.get("doubt", np.zeros(1))
        if doubt.shape != (1,) or doubt.dtype != np.float64:
            raise DataError("the array 'calibration/doubt' should hold one float64 number")
        offset = float(numbers[1]) if len(numbers) == 2 else None
        return Temperature(float(numbers[0]), offset, float(doubt[0]))
    found = []
    for name in ("slopes", "offsets"):
        array = arrays.get(name)
        if array is None or array.shape != (n_classes,) or array.dtype != np.float64:
            raise DataError(f"the array 'calibration/{name}' should hold {n_classes} float64 numbers")
        if not np.isfinite(array).all():
            raise DataError(f"the array 'calibration/{name}' should hold {n_classes} float64 numbers")
        found.append(array)
    return Sigmoids(found[0], found[1], one=not several)
