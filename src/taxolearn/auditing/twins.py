"""Near-duplicate classes: pairs that even a model made for the two cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from taxolearn.auditing.findings import Twins
from taxolearn.auditing.folds import Array, Ids, deal, held_out_models
from taxolearn.auditing.sharing import Affinities, Estimate
from taxolearn.problem import Problem, make_problem

_NEAREST = 3  # classes with the highest affinities that a class is compared with
_HARD = 0.7  # share of pairs of rows ordered rightly; below it two classes are hard to tell apart
_MOST_FITTED = 50  # pairs for which models of their own are fitted, those that look most alike


def auc(high: Array, low: Array) -> Estimate:
    """The chance that one of `high` is above one of `low`, ties counting half; standard error of DeLong et al. (1988).

    >>> round(auc(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0])).value, 3)
    0.75
    """
    both = np.concatenate([high, low])
    ranks = stats.rankdata(both)
    above = (ranks[: len(high)] - stats.rankdata(high)) / len(low)
    below = 1.0 - (ranks[len(high) :] - stats.rankdata(low)) / len(high)
    parts = above.var(ddof=1) / len(high), below.var(ddof=1) / len(low)
    # where all are ordered alike the spread is zero, and nothing is known but that: one pair in each could differ
    least = 0.25 / (len(high) * len(low))
    error = float(np.sqrt(max(sum(parts), least)))
    return Estimate(float(above.mean()), error, float(min(len(high), len(low)) - 1))


def near_duplicates(
    scorer: Any,
    problem: Problem,
    fold: Ids,
    scores: Array,
    affinities: Affinities,
    alpha: float,
    told: Callable[[], None],
) -> list[Twins]:
    """Pairs of classes that are hard to tell apart beyond doubt, though the two are told from all others.

    Of each class the nearest few are looked at. Where the held-out scores of all classes do not tell the two apart,
    models are fitted to the rows of the two alone, on the same folds. A pair is listed where the upper confidence bound
    of its AUC is below 0.7, at the level `alpha` divided by the number of all pairs (Bonferroni).
    """
    judged = np.flatnonzero(affinities.judged)
    n_pairs = len(judged) * (len(judged) - 1) / 2
    if len(judged) < 3:
        return []
    level = alpha / n_pairs
    looked_at: list[tuple[float, int, int]] = []
    for a, b in _near_pairs(affinities, judged):
        first, second = _only(problem, fold, a, b), _only(problem, fold, b, a)
        if min(len(first), len(second)) < 3:
            continue
        gap = scores[:, a] - scores[:, b]
        rough = auc(_known(gap[first]), _known(gap[second])).value
        if rough < _HARD and _told_from_others(problem, fold, scores, a, b):
            looked_at.append((rough, a, b))
    found: list[Twins] = []
    for _, a, b in sorted(looked_at)[:_MOST_FITTED]:
        estimate = _fitted(
            scorer, problem, fold, _only(problem, fold, a, b), _only(problem, fold, b, a), told
        )
        if estimate.upper(level) < _HARD:
            names = problem.classes[a], problem.classes[b]
            found.append(Twins(*names, estimate.value, estimate.error, estimate.upper(level)))
    return sorted(found, key=lambda one: one.upper)


def _near_pairs(affinities: Affinities, judged: Ids) -> list[tuple[int, int]]:
    near = affinities.pairs[np.ix_(judged, judged)].copy()
    np.fill_diagonal(near, -np.inf)
    nearest = np.argsort(-near, axis=1, kind="stable")[:, :_NEAREST]
    pairs = {
        (int(min(a, b)), int(max(a, b)))
        for a, row in zip(judged, judged[nearest], strict=True)
        for b in row
        if a != b
    }
    return sorted(pairs)


def _only(problem: Problem, fold: Ids, one: int, other: int) -> Ids:
    """Rows held out in some fold that have the one class and not the other."""
    targets: Any = problem.targets
    has = np.asarray(targets[:, [one, other]].toarray()) > 0
    return np.flatnonzero(has[:, 0] & ~has[:, 1] & (fold >= 0))


def _known(values: Array) -> Array:
    return values[~np.isnan(values)]


def _told_from_others(problem: Problem, fold: Ids, scores: Array, a: int, b: int) -> bool:
    """Whether the rows of two classes together are told from the rest: if they are not, nothing is learned at all."""
    targets: Any = problem.targets
    has = np.asarray(targets[:, [a, b]].sum(axis=1)).ravel() > 0
    best = np.fmax(scores[:, a], scores[:, b])
    inside, outside = _known(best[has & (fold >= 0)]), _known(best[~has & (fold >= 0)])
    return len(inside) >= 3 and len(outside) >= 3 and auc(inside, outside).value > _HARD


def _fitted(
    scorer: Any, problem: Problem, fold: Ids, first: Ids, second: Ids, told: Callable[[], None]
) -> Estimate:
    """The held-out AUC of models of two classes alone, fold by fold (their scores are not comparable), then joined."""
    rows = np.concatenate([first, second])
    y = np.repeat([0, 1], [len(first), len(second)])
    pair = make_problem(problem.X[rows], y)
    values, weights, variances = [], [], []
    for model, held in held_out_models(scorer, pair, y, deal(pair, int(fold.max()) + 1, seed=0), told):
        scores = np.asarray(model.decision_function(pair.X[held]), dtype=np.float64)
        high, low = scores[y[held] == 1], scores[y[held] == 0]
        if min(len(high), len(low)) < 2:
            continue
        one = auc(high, low)
        values.append(one.value)
        weights.append(len(high) * len(low) / (len(high) + len(low)))
        variances.append(one.error**2)
    if not values:
        return Estimate(1.0, 1.0, 1.0)
    share = np.array(weights) / np.sum(weights)
    error = float(np.sqrt((share**2) @ np.array(variances)))
    return Estimate(float(share @ np.array(values)), error, float(min(len(first), len(second)) - 1))
