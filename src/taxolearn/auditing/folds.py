"""Rows dealt into folds, and their scores by models that have not seen them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from taxolearn.engines import Clock, running, spread, under
from taxolearn.errors import DataError, EmptyClassWarning
from taxolearn.problem import Problem

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]

FEWEST_ROWS = 3  # of a class that is judged: fewer have no standard error once some are held out


def deal(problem: Problem, n_folds: int, seed: int) -> Ids:
    """The fold of every row, -1 for rows that are always learned from: those of classes with too few rows.

    The rows of a class are dealt one by one, so that folds differ by one row of it at most; a row with several labels
    is dealt with its rarest.

    >>> from taxolearn.problem import make_problem
    >>> problem = make_problem([[0.0]] * 7, ["a", "a", "a", "b", "b", "b", "c"])
    >>> fold = deal(problem, 3, seed=0)
    >>> sorted(fold[:3].tolist()), sorted(fold[3:6].tolist()), int(fold[6])
    ([0, 1, 2], [0, 1, 2], -1)
    """
    targets = problem.targets
    counts = np.diff(targets.tocsc().indptr)
    rng = np.random.default_rng(seed)
    following = rng.integers(n_folds, size=problem.n_classes)
    fold = np.full(problem.n_rows, -1)
    for row in rng.permutation(problem.n_rows):
        labels = targets.indices[targets.indptr[row] : targets.indptr[row + 1]]
        if not len(labels):
            continue
        rarest = labels[np.argmin(counts[labels])]
        if counts[rarest] >= FEWEST_ROWS:
            fold[row] = following[rarest] % n_folds
            following[rarest] += 1
    if not (fold >= 0).any():
        raise DataError(f"no class has {FEWEST_ROWS} rows, and an audit holds rows out; give more rows")
    return fold


def splits(fold: Ids) -> Iterator[tuple[Ids, Ids]]:
    """Rows to learn from and rows held out, fold by fold.

    >>> [(kept.tolist(), held.tolist()) for kept, held in splits(np.array([0, 1, -1]))]
    [([1, 2], [0]), ([0, 2], [1])]
    """
    for number in range(int(fold.max()) + 1):
        held = np.flatnonzero(fold == number)
        if len(held):
            yield np.flatnonzero(fold != number), held


def pick(y: Any, rows: Ids) -> Any:
    """Some of the labels, given as an array of names or as a list of lists.

    >>> pick([["a"], ["b"], ["a", "b"]], np.array([0, 2]))
    [['a'], ['a', 'b']]
    """
    return y[rows] if isinstance(y, np.ndarray) else [y[row] for row in rows]


def held_out_models(
    model: Any, problem: Problem, y: Any, fold: Ids, told: Callable[[], None]
) -> Iterator[tuple[Any, Ids]]:
    """The model fitted without each fold in turn, and the rows of that fold.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.problem import make_problem
    >>> y = np.array(["a", "b"] * 3)
    >>> problem = make_problem([[-1.0], [1.0]] * 3, y)
    >>> fits = held_out_models(OneVsRestSVM(), problem, y, np.array([0, 0, 1, 1, 2, 2]), lambda: None)
    >>> [rows.tolist() for _, rows in fits]
    [[0, 1], [2, 3], [4, 5]]
    """
    parts = list(splits(fold))
    if spread(len(parts)) == 1:
        for kept, held in parts:
            fitted = _fitted(model, problem.X, y, kept)
            told()
            yield fitted, held
        return
    with running() as run:
        kept_rows = [kept for kept, _ in parts]
        shared = run.share((model, problem.X, y))
        fits = run.map(_fit_fold, shared, kept_rows, lambda *_: told(), anywhere=True)
        if run.over():
            raise KeyboardInterrupt
    yield from ((fitted, held) for fitted, (_, held) in zip(fits, parts, strict=True))


def _fit_fold(shared: tuple[Any, Any, Any], kept: Ids, clock: Clock) -> Any:
    with under(clock):
        model, X, y = shared
        model = clone(model)
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=1)  # other tasks have the other cores
        return _fitted(model, X, y, kept)


def _fitted(model: Any, X: Any, y: Any, kept: Ids) -> Any:
    """The model fitted on some rows."""
    fitted = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # an audit counts mistakes; a looser fit makes more
        warnings.simplefilter("ignore", EmptyClassWarning)
        fitted.fit(X[kept], pick(y, kept))
    return fitted


def held_out_scores(
    scorer: Any, problem: Problem, y: Any, fold: Ids, told: Callable[[], None] = lambda: None
) -> Array:
    """Rows x classes: what a model that has not seen a row says of it; NaN where no fold holds the row out.

    This is all that the audit knows of what classes share. `scorer` is any classifier with `decision_function` and
    `classes_`; another one is another idea of what sharing is.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.problem import make_problem
    >>> y = np.array(["a", "b", "c"] * 4)
    >>> problem = make_problem([[-1.0], [0.0], [1.0]] * 4, y)
    >>> held_out_scores(OneVsRestSVM(), problem, y, deal(problem, 2, seed=0)).shape
    (12, 3)
    """
    number = {name: k for k, name in enumerate(problem.classes)}
    found = np.full((problem.n_rows, problem.n_classes), np.nan)
    for model, held in held_out_models(scorer, problem, y, fold, told):
        scores = np.asarray(model.decision_function(problem.X[held]), dtype=np.float64)
        if scores.ndim == 1:  # two classes: the score of the second
            scores = np.column_stack([-scores, scores])
        names = model.classes_.tolist()
        own = np.array([k for k, name in enumerate(names) if name in number], dtype=np.intp)
        columns = np.array([number[names[k]] for k in own], dtype=np.intp)
        found[np.ix_(held, columns)] = scores[:, own]
    return found
