"""Softmax (multinomial logistic) loss: log sum_l exp(s_l) - s_y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taxolearn.losses.base import Array, LossFacts


@dataclass(frozen=True)
class Softmax:
    """loss(s, y) = log sum_l exp(s_l) - s_y over all classes l; dual term of c * loss: c sum_l p_l log p_l.

    One label y a row. A class without rows is in the sum all the same: its probability pushes its weights away from
    the rows of others. The dual of a row is a point p of the simplex, its weight in class l being c (1[l = y] - p_l).

    >>> Softmax().value(np.array([[0.0, 0.0], [5.0, 0.0]]), np.array([0, 0])).round(6).tolist()
    [0.693147, 0.006715]
    """

    @property
    def facts(self) -> LossFacts:
        """What callers branch on."""
        return LossFacts(
            "softmax",
            "softmax",
            smooth=True,
            sparse_dual=False,
            several_labels=False,
            likelihood=True,
            dual_grows_with_C=False,
        )

    def low_intercept(self, total_weight: float) -> float:
        """Classes are compared with each other: no one says no."""
        return 0.0

    def key(self) -> tuple[object, ...]:
        """All that makes this loss what it is."""
        return self.facts.kind, self

    def value(self, scores: npt.ArrayLike, own: npt.NDArray[np.integer]) -> Array:
        """The loss of each row; `scores` is rows x classes, `own` the class of each row."""
        s = np.asarray(scores, dtype=np.float64)
        top = s.max(axis=1)
        total = np.log(np.exp(s - top[:, None]).sum(axis=1))
        return np.asarray(total + (top - s[np.arange(len(s)), own]))

    def probabilities(self, scores: npt.ArrayLike) -> Array:
        """exp(s_l) / sum_k exp(s_k) of each row: the dual point that belongs to these scores.

        >>> Softmax().probabilities([[1.0, 1.0]]).tolist()
        [[0.5, 0.5]]
        """
        p = np.array(scores, dtype=np.float64)
        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=1, keepdims=True)
        return p

    def conjugate(self, p: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
        """(weight * loss)*(weight (p - e_y)) = weight sum_l p_l log p_l of each row; infinite for a negative p_l.

        >>> Softmax().conjugate([[1.0, 0.0]], 3.0).tolist()
        [0.0]
        """
        q = np.asarray(p, dtype=np.float64)
        terms = np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0)), np.where(q < 0, np.inf, 0.0))
        return np.asarray(terms.sum(axis=1) * np.asarray(weight, dtype=np.float64))
