"""Blends of what was tried: pairs of attempts whose scores are added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.selection.attempts import Attempt
from taxolearn.vectors import ClassVectors

MOST_SCORES = 2**22  # held-out rows times classes, of an attempt whose scores are kept
_MOST_MEMBERS = 4  # attempts that are blended with each other


def best_of_each(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The first attempt of every candidate.

    >>> [one.C for one in best_of_each([Attempt(0, 1.0), Attempt(1, 4.0), Attempt(0, 2.0)])]
    [1.0, 4.0]
    """
    found: dict[int, Attempt] = {}
    for one in attempts:
        found.setdefault(one.candidate, one)
    return list(found.values())


def pairs(
    attempts: Sequence[Attempt], n_candidates: int, is_likelihood: Callable[[Attempt], bool]
) -> list[Attempt]:
    """A blend, not scored yet, of every two candidates, each by its first attempt, of which one has a loss that is a
    likelihood and the other has not: of one kind they err alike. The best attempts come first.

    >>> three = [Attempt(0, 1.0), Attempt(1, 4.0), Attempt(1, 9.0), Attempt(2, 1.0)]
    >>> [[one.candidate for one in blend.of] for blend in pairs(three, 5, lambda one: one.candidate == 2)]
    [[0, 2], [1, 2]]
    >>> pairs([Attempt(0, 1.0), Attempt(1, 4.0)], 5, lambda one: one.candidate == 1)[0].C
    2.0
    """
    found: list[Attempt] = []
    for two in combinations(best_of_each(attempts)[:_MOST_MEMBERS], 2):
        if is_likelihood(two[0]) == is_likelihood(two[1]):
            continue
        middle = float(np.sqrt(two[0].C * two[1].C))
        gap, certified = max(one.gap for one in two), all(one.certified for one in two)
        found.append(Attempt(n_candidates + len(found), middle, of=two, gap=gap, certified=certified))
    return found


def shares_of(blend: Attempt) -> list[float]:
    """By what the scores of each member are multiplied: the mean slope of its links, over the number of members.

    >>> from taxolearn.decoders import Temperature
    >>> one, two = (Attempt(0, 1.0, links=[Temperature(slope)]) for slope in (3.0, 1.0))
    >>> shares_of(Attempt(2, 1.0, of=(one, two)))
    [1.5, 0.5]
    """
    slopes = [float(np.mean([link.arrays()["temperature"][0] for link in one.links])) for one in blend.of]
    return [slope / len(slopes) for slope in slopes]


def blended_scores(blend: Attempt, fold: int) -> npt.NDArray[Any]:
    """What a blend says about the held-out rows of a fold.

    >>> from taxolearn.decoders import Temperature
    >>> one = Attempt(0, 1.0, links=[Temperature(2.0)], scores=[np.array([[1.0, 3.0]])])
    >>> blended_scores(Attempt(1, 1.0, of=(one, one)), 0)
    array([[2., 6.]])
    """
    parts = zip(shares_of(blend), (one.scores[fold] for one in blend.of), strict=True)
    return np.asarray(sum(share * scores for share, scores in parts))


def stand_in(model: Any, scores: npt.NDArray[Any]) -> tuple[Any, Any]:
    """A model that answers as one with these scores would, and the rows to ask it about.

    `model` knows classes, taxonomy, decoder and label form; it is changed.

    >>> from taxolearn import OneVsRestSVM
    >>> model, rows = stand_in(OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]), np.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> model.predict(rows).tolist()
    ['a', 'b']
    """
    n = len(scores)
    model.vectors_ = ClassVectors(np.ascontiguousarray(scores.T), np.zeros(scores.shape[1]))
    model.n_features_in_ = n
    vars(model).pop("feature_names_in_", None)
    return model, sparse.csr_array(sparse.eye_array(n, format="csr", dtype=scores.dtype))
