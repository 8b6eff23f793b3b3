"""What a change of the taxonomy does to held-out hierarchical F1, tried by refitting."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.base import clone

from taxolearn.auditing.findings import Loose, Misplaced, Move
from taxolearn.auditing.folds import Array, Ids, held_out_models, pick
from taxolearn.auditing.places import dissolved, replaced
from taxolearn.metrics.ancestors import row_sizes
from taxolearn.problem import Problem, align_labels
from taxolearn.structure import Taxonomy


class Tried(NamedTuple):
    """A model's held-out answers: hierarchical F1, what each row adds to it, and which rows are right.

    `influence` is the derivative of F1 by the weight of a row, times the number of rows: to first order, F1 is a mean
    of F1 + influence.

    >>> score(Taxonomy.from_paths(["a/b", "a/c"]), ["b", "c"], ["b", "b"]).f1
    0.5
    """

    f1: float
    influence: Array
    right: Array


def score(tree: Taxonomy, y: Any, predicted: Any) -> Tried:
    """Hierarchical F1, micro-averaged, with its parts by rows.

    >>> tried = score(Taxonomy.from_paths(["a/b", "a/c"]), ["b", "c"], ["b", "b"])
    >>> tried.influence.tolist(), tried.right.tolist()
    ([0.5, -0.5], [1.0, 0.0])
    """
    both, of_true, of_predicted, _ = row_sizes("hierarchical_f1", y, predicted, tree, None)
    total = (of_true + of_predicted).astype(np.float64)
    f1 = float(2.0 * both.sum() / total.sum()) if total.sum() else 1.0
    influence = (2.0 * both - f1 * total) / total.mean() if total.sum() else np.zeros(len(total))
    true, found = align_labels(y, predicted, tree)
    wrong = np.asarray(abs(true.matrix() - found.matrix()).sum(axis=1)).ravel() > 0
    return Tried(f1, influence, (~wrong).astype(np.float64))


def attempt(
    estimator: Any, tree: Taxonomy, problem: Problem, y: Any, fold: Ids, told: Callable[[], None]
) -> Tried:
    """The estimator's held-out answers with this taxonomy, on the rows that some fold holds out."""
    several = not isinstance(y, np.ndarray)
    answers: list[Any] = [None] * problem.n_rows
    model = clone(estimator).set_params(taxonomy=tree)
    for fitted, held in held_out_models(model, problem, y, fold, told):
        for row, label in zip(held, fitted.predict(problem.X[held]), strict=True):
            answers[row] = label
    rows = np.flatnonzero(fold >= 0)
    given = [answers[row] for row in rows]
    return score(tree, pick(y, rows), given if several else names_of(given))


def names_of(names: Sequence[Hashable]) -> Any:
    """Names in an array of objects, so that tuples stay names.

    >>> names_of([("a", 1), "b"]).shape
    (2,)
    """
    found = np.empty(len(names), dtype=object)
    for number, name in enumerate(names):
        found[number] = name.item() if isinstance(name, np.generic) else name
    return found


def paired_error(difference: Array, n_folds: int) -> float:
    """The standard error of a mean of paired differences of held-out rows, K models having learned from shared rows.

    The factor 1 + K / (K - 1) on the variance is that of Nadeau and Bengio (2003), for J = K folds: the models of
    different folds have most of their rows in common, so that rows are not independent through them.

    >>> round(paired_error(np.array([1.0, -1.0] * 50), 5), 3)
    0.151
    """
    return float(np.sqrt((1.0 + n_folds / (n_folds - 1.0)) * difference.var(ddof=1) / len(difference)))


def try_moves(
    estimator: Any,
    tree: Taxonomy,
    problem: Problem,
    y: Any,
    fold: Ids,
    proposals: Sequence[Misplaced | Loose],
    alpha: float,
    before: Tried,
    told: Callable[[], None],
) -> list[Move]:
    """Each proposal tried; a change is claimed where it is not zero at the level `alpha` over all of them."""
    n_folds = int(fold.max()) + 1
    moves: list[Move] = []
    for proposal in proposals:
        if isinstance(proposal, Misplaced):
            parent, to = proposal.parent, proposal.better
            new = replaced(tree, proposal.node, parent, to)
        else:
            parent, to = tree.parents(proposal.node)[0], None
            new = dissolved(tree, proposal.node, set(problem.classes))
        after = attempt(estimator, new, problem, y, fold, told)
        change, error = after.f1 - before.f1, paired_error(after.influence - before.influence, n_folds)
        right = after.right - before.right
        least = float(stats.norm.isf(alpha / (2 * len(proposals)))) * error
        moves.append(
            Move(
                proposal.node,
                parent,
                to,
                before.f1,
                after.f1,
                change,
                error,
                abs(change) > max(least, 0.0),
                float(right.mean()),
                paired_error(right, n_folds),
            )
        )
    return moves
