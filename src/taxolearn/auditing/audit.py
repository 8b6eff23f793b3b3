"""`audit`: is the taxonomy, and are the labels, what the rows say?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from taxolearn.auditing.findings import Loose, Misplaced
from taxolearn.auditing.folds import deal, held_out_scores
from taxolearn.auditing.labels import Margins, margin_noise, margins_of, ranking, suspects
from taxolearn.auditing.means import ClassMeans
from taxolearn.auditing.moves import attempt, names_of, try_moves
from taxolearn.auditing.places import Places, loose, misplaced
from taxolearn.auditing.report import Audit
from taxolearn.auditing.sharing import affinities_of
from taxolearn.auditing.structure import graph_of, learned_ties
from taxolearn.auditing.twins import near_duplicates
from taxolearn.errors import DataError, EmptyClassWarning, LabelError, TaxonomyError
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.inputs import check_rows, check_seed, check_targets
from taxolearn.methods.one_vs_rest_svm import OneVsRestSVM
from taxolearn.methods.recursive_svm import RecursiveSVM
from taxolearn.problem import Problem, make_problem
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

_SCORER_TOL = 1e-2  # certified gap of the flat fits: a held-out score needs no more
_MOST_SCORES = 2**28  # rows x classes of held-out scores, 2 GB


def audit(
    X: Any,
    y: Any,
    taxonomy: Taxonomy,
    *,
    estimator: Any = None,
    scorer: Any = None,
    likeness: Any = None,
    n_folds: int = 5,
    alpha: float = 0.05,
    max_moves: int = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    on_fit: Callable[[int], None] | None = None,
) -> Audit:
    """Look for classes, inner nodes and labels that are out of place, on held-out rows; claim nothing within noise.

    What classes share is the covariance of their means, seen by held-out rows, and the sparse graph that is learned
    from it; which labels look wrong is read off held-out scores of a flat model; what a change of the taxonomy would do
    is tried by refitting `estimator`. Each list of the result allows itself a chance of `alpha` of a false finding, all
    its questions together; for rows it is the expected share of false ones. See docs/audit.md for the statistics.

    Parameters
    ----------
    X, y
        Rows and their labels, in any form that `fit` takes; labels may be inner nodes.
    taxonomy : Taxonomy
        Tree or DAG. In a DAG a node is compared with its siblings under each parent in turn, and a move replaces that
        parent only.
    estimator : taxolearn estimator, optional
        The method that is refitted; `RecursiveSVM()` by default. Its `taxonomy` does not matter.
    scorer : classifier, optional
        A flat method whose held-out `decision_function` says which labels look wrong and which classes can be told
        apart; `OneVsRestSVM(tol=1e-2)` by default. Any scikit-learn classifier with scores for all classes will do.
    likeness : classifier, optional
        Another one, whose held-out `decision_function` says how much rows resemble classes that they do not have;
        `ClassMeans()` by default. The structure that the given one is compared with is learned from them.
    n_folds : int
        Parts into which the rows are dealt, twice.
    alpha : float
        The chance of a false finding in each list.
    max_moves : int
        Changes tried by refitting, the surest first; 0 tries none.
    random_state : int, RandomState instance or None
        Deals the rows.
    n_jobs : int or None
        Threads of the default methods.
    on_fit : function, optional
        Called with the number of fits done so far.

    >>> rng = np.random.default_rng(0)
    >>> centres = dict(lion=[3.0, 0.0], lynx=[2.0, 1.0], wolf=[-3.0, 1.0], fox=[-2.0, 0.0], dingo=[-2.0, 2.0])
    >>> y = np.repeat(list(centres), 40)
    >>> X = np.array([centres[name] for name in y]) + rng.normal(size=(200, 2))
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/cat/wolf", "all/dog/fox", "all/dog/dingo"])
    >>> found = audit(X, y, tree)
    >>> [(one.node, one.better) for one in found.misplaced]
    [('wolf', 'dog')]
    """
    if not isinstance(taxonomy, Taxonomy):
        raise TaxonomyError(
            f"an audit needs the taxonomy of the labels, not {show(taxonomy)}; build one with from_edges"
        )
    _check_numbers(n_folds, alpha, max_moves)
    estimator = _check_estimator(RecursiveSVM(n_jobs=n_jobs) if estimator is None else estimator)
    scorer = OneVsRestSVM(tol=_SCORER_TOL, n_jobs=n_jobs, random_state=0) if scorer is None else scorer
    likeness = ClassMeans() if likeness is None else likeness
    seed = check_seed(random_state)
    problem = _problem(X, y, taxonomy)
    labels = _names(problem)
    n_fits = 0

    def told() -> None:
        nonlocal n_fits
        n_fits += 1
        if on_fit is not None:
            on_fit(n_fits)

    folds = [deal(problem, n_folds, seed), deal(problem, n_folds, seed + 1)]
    scores = [held_out_scores(scorer, problem, labels, fold, told) for fold in folds]
    mean = 0.5 * (scores[0] + scores[1])
    alike = held_out_scores(likeness, problem, labels, folds[0], told)
    affinities = affinities_of(alike, problem.targets)
    ties = learned_ties(alike, problem.targets, affinities.judged)
    graph = None if ties is None else graph_of(ties, problem.classes)
    places = Places(taxonomy, problem.class_nodes, affinities, ties)
    found = misplaced(places, alpha)
    slack = loose(places, alpha, [one.node for one in found])
    twins = near_duplicates(scorer, problem, folds[0], mean, affinities, alpha, told)
    before = attempt(estimator, taxonomy, problem, labels, folds[0], told)
    proposals: list[Misplaced | Loose] = [*found, *slack]
    moves = try_moves(
        estimator, taxonomy, problem, labels, folds[0], proposals[:max_moves], alpha, before, told
    )
    margins = margins_of(mean, problem.targets)
    noise = margin_noise(_of_same(scores[0], margins), _of_same(scores[1], margins), n_folds)
    return Audit(
        problem.n_rows,
        problem.n_classes,
        float(alpha),
        before.f1,
        float(before.right.mean()),
        tuple(found),
        tuple(slack),
        tuple(twins),
        tuple(moves),
        tuple(suspects(margins, noise, problem.classes, alpha)),
        tuple(name for name, judged in zip(problem.classes, affinities.judged, strict=True) if not judged),
        ranking(margins.margin),
        margins.margin,
        graph,
        None if graph is None else graph.compare(taxonomy).auc,
    )


def _of_same(scores: Any, margins: Margins) -> Any:
    """The margins of one deal between the same two classes as those of both."""
    rows = np.arange(len(scores))
    return scores[rows, margins.label] - scores[rows, margins.other]


def _problem(X: Any, y: Any, taxonomy: Taxonomy) -> Problem:
    checker = OneVsRestSVM(taxonomy=taxonomy)
    rows = check_rows(checker, X, reset=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClassWarning)  # a leaf without rows is nothing to judge
        problem = make_problem(rows, check_targets(checker, y), taxonomy, checked=True)
    if problem.n_rows * problem.n_classes > _MOST_SCORES:
        raise DataError(
            f"an audit keeps {problem.n_rows:,} rows x {problem.n_classes:,} classes of scores, which is too much; "
            "audit one branch at a time (taxonomy.sub), or fewer rows"
        )
    if problem.n_classes < 3:
        raise LabelError(f"y has {problem.n_classes} classes; an audit compares three at least")
    return problem


def _names(problem: Problem) -> Any:
    """The labels by name: an array where each row has one, else a list of lists."""
    labels = problem.labels
    found = [[labels.names[k] for k in labels.indices[a:b]] for a, b in pairwise(labels.indptr)]
    return found if labels.multilabel else names_of([row[0] for row in found])


def _check_estimator(estimator: Any) -> Any:
    if not isinstance(estimator, CertifiedClassifier) or "taxonomy" not in estimator.get_params(deep=False):
        raise DataError(f"estimator={show(estimator)} is no method over a taxonomy; try RecursiveSVM()")
    return clone(estimator)


def _check_numbers(n_folds: Any, alpha: Any, max_moves: Any) -> None:
    if isinstance(n_folds, bool) or not isinstance(n_folds, int | np.integer) or not 2 <= n_folds <= 20:
        raise DataError(f"n_folds={show(n_folds)} is not allowed; give a whole number from 2 to 20")
    if not isinstance(alpha, float) or not 0 < alpha <= 0.5:
        raise DataError(f"alpha={show(alpha)} is not allowed; give a chance above 0 and up to 0.5")
    if isinstance(max_moves, bool) or not isinstance(max_moves, int | np.integer) or max_moves < 0:
        raise DataError(f"max_moves={show(max_moves)} is not allowed; give a whole number, 0 for none")
