"""What classes share, from held-out scores: affinities, contrasts of them, and their standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy import stats

from taxolearn.auditing.folds import FEWEST_ROWS, Array

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number, its standard error and the degrees of freedom of the latter.

    >>> Estimate(1.0, 0.1, 20.0).p_above_zero() < 1e-6
    True
    """

    value: float
    error: float
    freedom: float

    def p_above_zero(self) -> float:
        """The chance of a value as large as this where the truth is zero or below."""
        return float(stats.t.sf(self.value / self.error, self.freedom)) if self.error > 0 else 1.0

    def upper(self, level: float) -> float:
        """Above which the truth lies with a chance of `level` at most."""
        return self.value + float(stats.t.isf(level, self.freedom)) * self.error


@dataclass(frozen=True, eq=False)
class Affinities:
    """How much rows resemble the classes that they do not have.

    `rows` (rows x classes) are held-out scores, each column in units of its own: zero is what the rows of other classes
    get on average, all classes counting alike, and one their standard deviation. NaN: not held out, or the row's own
    class. `targets` says which row has which class.

    >>> scores = np.array([[1.0, -1.0], [1.0, -3.0], [-1.0, 1.0]])
    >>> affinities = affinities_of(scores, sp.csr_array([[1, 0], [1, 0], [0, 1]]))
    >>> affinities.rows[:2, 1].tolist()
    [1.0, -1.0]
    """

    rows: Array
    targets: sp.csr_array

    @cached_property
    def judged(self) -> npt.NDArray[np.bool_]:
        """Which classes have enough rows."""
        return np.asarray((self.targets > 0).sum(axis=0)).ravel() >= FEWEST_ROWS

    @cached_property
    def one_way(self) -> Array:
        """Classes x classes: the mean affinity of the rows of l to class k; NaN where none can be measured."""
        known = ~np.isnan(self.rows)
        sums = np.asarray(self.targets.T @ np.where(known, self.rows, 0.0))
        counts = np.asarray(self.targets.T @ known.astype(np.float64))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts > 0, sums / counts, np.nan)

    @cached_property
    def pairs(self) -> Array:
        """Classes x classes: the mean of both ways, zero on the diagonal and where nothing is known."""
        both = 0.5 * (self.one_way + self.one_way.T)
        both = np.where(np.isnan(both), 0.0, both)
        np.fill_diagonal(both, 0.0)
        return both

    def contrast(self, weights: sp.csr_array) -> Estimate:
        """sum over pairs l < k of weights[l, k] pairs[l, k]; `weights` is symmetric.

        To first order an affinity is a product of what was learned of two classes, so that the rows of both contribute
        to its variance: those of l by their affinities to k, and those of k by theirs to l. The variance is therefore
        the sum over classes l of var over rows i of l of (sum_k weights[l, k] rows[i, k]) / n_l. Rows that share a
        model are not independent through it; what the model owes to chance is in the second part.
        """
        value, variance, denominator = 0.0, 0.0, 0.0
        for number in np.flatnonzero(np.diff(weights.indptr)).tolist():
            span = slice(weights.indptr[number], weights.indptr[number + 1])
            others, weight = weights.indices[span], weights.data[span]
            value += 0.5 * float(self.pairs[number, others] @ weight)
            mine = self._of_class(number)
            parts = self.rows[np.ix_(mine, others)]
            parts = np.where(np.isnan(parts), self._means(number, others), parts) @ weight
            spread = float(parts.var(ddof=1)) / len(mine)
            variance += spread
            denominator += spread**2 / (len(mine) - 1)
        freedom = variance**2 / denominator if denominator > 0 else 1.0  # Welch, Satterthwaite
        return Estimate(value, float(np.sqrt(variance)), freedom)

    def _of_class(self, number: int) -> npt.NDArray[np.intp]:
        rows = self._columns.indices[self._columns.indptr[number] : self._columns.indptr[number + 1]]
        held: npt.NDArray[np.intp] = rows[~np.isnan(self.rows[rows]).all(axis=1)]
        return held

    def _means(self, number: int, others: npt.NDArray[np.intp]) -> Array:
        means = self.one_way[number, others]
        return np.where(np.isnan(means), 0.0, means)

    @cached_property
    def _columns(self) -> sp.csc_array:
        return sp.csc_array(self.targets)


def affinities_of(scores: Array, targets: sp.csr_array) -> Affinities:
    """Held-out scores as affinities: without those of a row's own classes, and each class in its own unit.

    >>> affinities_of(np.array([[1.0, -1.0], [1.0, -3.0]]), sp.csr_array([[1, 0], [1, 0]])).rows.tolist()
    [[nan, 1.0], [nan, -1.0]]
    """
    rows = np.where(np.asarray(targets.toarray()) > 0, np.nan, scores)
    centred = rows - _balanced(rows, targets)
    spread = np.sqrt(_balanced(centred**2, targets))
    return Affinities(centred / np.where(spread > 0, spread, 1.0), targets)


def _balanced(rows: Array, targets: sp.csr_array) -> Array:
    """The mean of each column over classes of their means over rows."""
    means = Affinities(rows, targets).one_way
    known = ~np.isnan(means)
    return np.asarray(np.where(known, means, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
