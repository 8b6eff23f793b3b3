"""How good held-out answers are, and how sure that is: a score and its paired standard errors, for any metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.metrics import (
    accuracy,
    example_f1,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    jaccard,
    lca_f1,
    lca_precision,
    lca_recall,
    macro_f1,
    micro_f1,
    tree_loss,
    zero_one_loss,
)
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

Floats = npt.NDArray[np.float64]
_LOSSES = ("tree_loss", "zero_one_loss")
_FLAT = (accuracy, example_f1, jaccard, macro_f1, micro_f1, zero_one_loss)
_OF_TAXONOMIES = (
    tree_loss, hierarchical_f1, hierarchical_precision, hierarchical_recall, lca_f1, lca_precision, lca_recall,
)  # fmt: skip
_METRICS: dict[str, Callable[..., float]] = {metric.__name__: metric for metric in (*_FLAT, *_OF_TAXONOMIES)}
SCORINGS = tuple(_METRICS)
BALANCED = "balanced_f1"  # of several labels per row, where no metric is asked for
_BALANCED = (example_f1, micro_f1, macro_f1, hierarchical_f1)
_GROUPS = 10  # of rows, left out by turns, for metrics that are no means over rows


class Score:
    """A metric on held-out rows, and its parts: one per row, or one per group of rows left out by turns (jackknife),
    made when they are asked for.

    >>> one, other = (Score(v, lambda v=v: np.array([v, v]), np.ones(2)) for v in (0.5, 0.25))
    >>> one.better(other)
    0.25
    """

    def __init__(
        self, value: float, parts: Callable[[], Floats], weight: Floats, *, lower_is_better: bool = False
    ) -> None:
        self.value, self._parts, self.weight = value, parts, weight
        self.sign = -1.0 if lower_is_better else 1.0

    @cached_property
    def parts(self) -> Floats:
        """What the metric is the mean of."""
        return self._parts()

    def better(self, other: Score) -> float:
        """By how much this is better than another on the same rows."""
        return self.sign * (self.value - other.value)

    def errors_below(self, best: Score) -> float:
        """How many standard errors of their difference it is below another; minus infinity if it is not."""
        behind = best.better(self)
        if behind <= 0.0:
            return -np.inf
        error = _standard_error(best.parts - self.parts, self.weight)
        return behind / error if error > 0.0 else np.inf


def _standard_error(parts: Floats, weight: Floats) -> float:
    total = float(weight.sum())
    mean = float(weight @ parts) / total
    return float(np.sqrt(float(weight @ (parts - mean) ** 2)) / total)


@dataclass(frozen=True)
class Measure:
    """A metric by its name in `taxolearn.metrics`, for labels of a taxonomy or none; or BALANCED, the geometric mean
    of four F1 (of three without a taxonomy): a tenth of any of them counts the same, however small it is.

    >>> Measure("accuracy", None)(np.array(["a", "b"]), np.array(["a", "a"])).value
    0.5
    """

    name: str
    taxonomy: Taxonomy | None

    def __call__(self, truth: Any, predicted: Any, weight: Floats | None = None) -> Score:
        """The score of answers, in the forms that `predict` has."""
        weight = np.ones(len(truth)) if weight is None else weight
        lower = self.name in _LOSSES
        rows = self._rows(truth, predicted)
        if rows is not None:
            return Score(float(weight @ rows / weight.sum()), lambda: rows, weight, lower_is_better=lower)
        value = self._value(truth, predicted, weight)
        return Score(
            value,
            lambda: self._jackknife(value, truth, predicted, weight),
            np.ones(_GROUPS),
            lower_is_better=lower,
        )

    def _value(self, truth: Any, predicted: Any, weight: Floats) -> float:
        if self.name != BALANCED:
            return _METRICS[self.name](truth, predicted, self.taxonomy, sample_weight=weight)
        metrics = [one for one in _BALANCED if self.taxonomy is not None or one not in _OF_TAXONOMIES]
        found = [one(truth, predicted, self.taxonomy, sample_weight=weight) for one in metrics]
        return float(np.prod(found) ** (1.0 / len(found)))

    def _jackknife(self, value: float, truth: Any, predicted: Any, weight: Floats) -> Floats:
        """Pseudo-values of the metric: what each group of rows adds to it."""
        group, parts = np.arange(len(truth)) % _GROUPS, np.full(_GROUPS, value)
        for number in range(_GROUPS):
            rest = np.flatnonzero((group != number) & (weight > 0))
            if 0 < len(rest) < len(truth):
                some = _some(truth, rest), _some(predicted, rest)
                without = self._value(*some, weight[rest])
                parts[number] = _GROUPS * value - (_GROUPS - 1) * without
        return parts

    def _rows(self, truth: Any, predicted: Any) -> Floats | None:
        """A number per row, for some metrics that are means over rows."""
        if self.name == "example_f1" and isinstance(predicted, list):
            pairs = [(set(true), set(found)) for true, found in zip(truth, predicted, strict=True)]
            sizes = [(len(true & found), len(true) + len(found)) for true, found in pairs]
            return np.array([2.0 * both / total if total else 1.0 for both, total in sizes])
        if not isinstance(truth, np.ndarray) or not isinstance(predicted, np.ndarray) or truth.ndim != 1:
            return None
        if self.name == "accuracy":
            return np.asarray(truth == predicted, dtype=np.float64)
        if self.name == "tree_loss" and self.taxonomy is not None:
            true, found = (self.taxonomy.ids_of(names.tolist()) for names in (truth, predicted))
            return np.asarray(self.taxonomy.distance(true, found) / 2.0)
        return None


def _some(labels: Any, rows: npt.NDArray[np.intp]) -> Any:
    return labels[rows] if isinstance(labels, np.ndarray) else [labels[row] for row in rows.tolist()]


def check_scoring(scoring: Any, taxonomy: Taxonomy | None) -> str:
    """The name of a metric that labels of this taxonomy can be scored by.

    >>> check_scoring("accuracies", None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: scoring='accuracies' is not known; choose 'accuracy', 'example_f1', ...
    """
    if not isinstance(scoring, str) or scoring not in SCORINGS:
        raise DataError(f"scoring={show(scoring)} is not known; choose {', '.join(map(repr, SCORINGS))}")
    if _METRICS[scoring] in _OF_TAXONOMIES and taxonomy is None:
        raise DataError(f"scoring={scoring!r} needs a taxonomy; give one, or labels that spell one")
    return scoring
